"""W11: the voice detector silero_vad, per chunk of 512 samples and from loading to the first
result. It runs as in applications: one call per chunk, carrying the state and the last 64
samples."""

import wave

import numpy as np

import engines
from harness import Engine, Peer, Question, Skip

NAMES = ("silero_vad",)

RATE, CHUNK, CONTEXT = 16_000, 512, 64
CHUNKS = 1_000
PER_CHUNK_TARGET, LOAD_TARGET = 0.66, 1.5
TOLERANCE = 1e-4


def _model(place):
    for path in (place.cache / "silero-vad" / "silero_vad.onnx", place.shared / "silero_vad.onnx"):
        if path.exists():
            return path
    raise Skip("silero_vad.onnx is not in build/cache; `make demo` fetches it")


def _samples(place):
    """Recorded speech if available, repeated as necessary; otherwise noise with a swelling tone."""
    recordings = [
        place.shared / "audio" / "speech.wav",
        *sorted((place.cache / "recordings").glob("*.wav")),
    ]
    for path in recordings:
        if path.exists():
            with wave.open(str(path)) as file:
                raw = file.readframes(CHUNKS * CHUNK)
            samples = np.frombuffer(raw, np.int16).astype(np.float32) / 32768
            if samples.size:
                return np.resize(samples, CHUNKS * CHUNK)
    time = np.arange(CHUNKS * CHUNK) / RATE
    noise = np.random.default_rng(9).standard_normal(time.size) * 0.01
    return (np.sin(400 * time) * np.sin(time) * 0.3 + noise).astype(np.float32)


def _chunks(samples):
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples])
    return [padded[start : start + CONTEXT + CHUNK][None]
            for start in range(0, samples.size, CHUNK)]


def _follow(session, chunks):
    state, rate = np.zeros((2, 1, 128), np.float32), np.array(RATE, np.int64)
    probabilities = []
    for chunk in chunks:
        output, state = session.run(None, {"input": chunk, "state": state, "sr": rate})
        probabilities.append(output[0, 0])
    return [np.array(probabilities), state]


def questions(place, clock):
    path = _model(place)
    chunks = _chunks(_samples(place))
    ours, peer = engines.scanloom_session(path), engines.onnxruntime_session(path)
    reference = engines.onnxruntime_session(path, optimize=False)
    yield Question(
        name="silero_vad/chunk",
        about="one call per chunk of 512 samples at 16 kHz, state carried",
        unit="chunk",
        units=len(chunks),
        ours=Engine("scanloom", lambda: _follow(ours, chunks)),
        peers=[Peer(Engine("onnxruntime", lambda: _follow(peer, chunks)), PER_CHUNK_TARGET)],
        reference=_follow(reference, chunks),
        reference_name="onnxruntime without rewrites",
        tolerance=TOLERANCE,
    )
    feeds = {
        "input": chunks[0],
        "state": np.zeros((2, 1, 128), np.float32),
        "sr": np.array(RATE, np.int64),
    }
    first = reference.run(None, feeds)
    yield Question(
        name="silero_vad/load_again",
        about="a new session and its first result, in a process that has made sessions before",
        unit="load",
        units=1,
        ours=Engine("scanloom", lambda: engines.scanloom_session(path).run(None, feeds)),
        peers=[
            Peer(
                Engine("onnxruntime", lambda: engines.onnxruntime_session(path).run(None, feeds)),
                LOAD_TARGET,
            )
        ],
        reference=first,
        reference_name="onnxruntime without rewrites",
        tolerance=TOLERANCE,
    )
    feeds_path = place.build / "silero_feeds.npz"
    np.savez(feeds_path, **feeds)
    yield Question(
        name="silero_vad/load_fresh",
        about="session and first result in a fresh process, after the import",
        unit="load",
        units=1,
        ours=engines.fresh_process("scanloom", path, feeds_path, clock),
        peers=[Peer(engines.fresh_process("onnxruntime", path, feeds_path, clock), LOAD_TARGET)],
        reference=first,
        reference_name="onnxruntime without rewrites",
        tolerance=TOLERANCE,
    )
