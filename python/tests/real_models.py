"""The real models and their feeds."""

from __future__ import annotations

import numpy as np

import loop_models
from places import SHARED

LENGTHS = (1, 2, 17, 300)
SHARED_MODELS = ("silero_vad.onnx", "qlstm/model.onnx", "cntk_bilstm_scan.onnx", "knn_cdist_scan.onnx")

CHUNK, CONTEXT, RATE = 512, 64, 16000


def randoms(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def feeds_for(name: str, steps: int) -> loop_models.Feeds:
    """Feeds for a model of ../shared/models, `steps` long where its length is free."""
    if name == "silero_vad.onnx":
        state = randoms(2, 1, 128, seed=2) / 10
        return {"input": randoms(1, CHUNK + CONTEXT) / 10, "state": state, "sr": np.array(RATE)}
    if name == "qlstm/model.onnx":
        return {"input": randoms(steps, 3)}
    if name == "cntk_bilstm_scan.onnx":
        return {"Input13165": randoms(steps, 1, 3)}
    assert name == "knn_cdist_scan.onnx"
    return {"input": randoms(steps, 4)}


def shared_cases() -> list[loop_models.Case]:
    """Empty where ../shared/models is absent."""
    return [
        loop_models.Case(name, (SHARED / name).read_bytes(), feeds_for(name, 17))
        for name in SHARED_MODELS
        if SHARED.is_dir()
    ]


def chunks(samples: np.ndarray) -> np.ndarray:
    """Rows of 576 samples: the last 64 of the chunk before, then 512 new ones."""
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples])
    starts = range(0, len(samples) // CHUNK * CHUNK, CHUNK)
    return np.stack([padded[start : start + CONTEXT + CHUNK] for start in starts])


