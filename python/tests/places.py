"""The folders of models and recordings."""

from __future__ import annotations

import pathlib
import wave

import numpy as np

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared" / "models"
SHARED_ABSENT = "needs the models of ../shared/models, which are absent"


def read_wave(path: pathlib.Path) -> np.ndarray:
    """The samples of a 16 kHz mono recording, -1 to 1."""
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    return samples.astype(np.float32) / 32768
