"""A recording to listen to: read sentences with pauses of faint noise before, between and after."""

import pathlib
import wave

import numpy as np

RATE = 16000
PAUSE_SECONDS = 2.0
NOISE = 0.0005  # of full scale
SEED = 1


def read_wav(path: pathlib.Path) -> np.ndarray:
    """Samples between -1 and 1 of a mono recording at 16 kHz."""
    with wave.open(str(path)) as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
            raise ValueError(f"{path}: not one channel of 16 bits at {RATE} Hz")
        promised = 2 * file.getnframes()
        frames = file.readframes(file.getnframes())
    if len(frames) != promised:
        raise ValueError(f"{path}: cut off, its header promises {promised} bytes of samples,"
                         f" it holds {len(frames)}")
    return np.frombuffer(frames, "<i2").astype(np.float32) / 32768


def with_pauses(recordings: list[np.ndarray]) -> np.ndarray:
    noise = np.random.default_rng(SEED)

    def pause() -> np.ndarray:
        return (noise.standard_normal(int(PAUSE_SECONDS * RATE)) * NOISE).astype(np.float32)

    parts = [pause()]
    for recording in recordings:
        parts += [recording, pause()]
    return np.concatenate(parts)
