"""Where models and recordings come from, and how results are compared."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import onnxruntime
import pytest
from places import PROJECT, SHARED, SHARED_ABSENT, read_wave

sys.path.insert(0, str(PROJECT / "demo"))

onnxruntime.set_default_logger_severity(4)


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of models that is shared beside the project; the test is skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(SHARED_ABSENT)
    return SHARED


@pytest.fixture(scope="session")
def voice_models() -> pathlib.Path:
    """The folder of the voice detectors, fetched once."""
    import fetch_models

    return fetch_models.fetch_models()


@pytest.fixture(scope="session")
def recording() -> np.ndarray:
    """Some seconds of read speech at 16 kHz, -1 to 1."""
    import fetch_models

    return read_wave(fetch_models.fetch_recordings()[0])
