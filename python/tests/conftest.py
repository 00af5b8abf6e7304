"""Locates models, recordings and test data, and prints the figures of the tests at the end."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from places import PROJECT, SHARED, SHARED_ABSENT, read_wave

sys.path.insert(0, str(PROJECT / "demo"))
# Conversions and round trips take the programs of these tests.
sys.path += [str(PROJECT / "python/tests" / folder) for folder in ("convert", "onnx", "openvino", "theano")]

onnxruntime.set_default_logger_severity(4)

# Files of tests that take tens of seconds each. They begin first, so that at the end no worker waits for
# another.
LONG = ("test_convert_openvino.py", "test_convert_onnx.py", "test_batch_clusters.py", "test_random_programs.py",
        "test_theano_random_gradients.py")  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of models shared next to the project; the test is skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(SHARED_ABSENT)
    return SHARED


@pytest.fixture(scope="session")
def voice_models() -> pathlib.Path:
    """The folder of the voice detectors, fetched once."""
    import fetch_models

    return fetch_models.fetch_models()


@pytest.fixture(scope="session")
def backend_suite_folder() -> pathlib.Path:
    """ONNX's backend tests, <kind>/<case>/; the test is skipped without cache and network."""
    import fetch_models

    try:
        return fetch_models.fetch_backend_suite()
    except fetch_models.Missing as missing:
        pytest.skip(str(missing))


_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes a line that is printed after all tests: counts that readers of a log look for."""
    return request.config.stash.setdefault(_FIGURES, []).append


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands the lines of a worker process to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["figures"] = session.config.stash.get(_FIGURES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    lines = getattr(node, "workeroutput", {}).get("figures", [])
    node.config.stash.setdefault(_FIGURES, []).extend(lines)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    lines = config.stash.get(_FIGURES, [])
    if lines:
        terminalreporter.section("figures")
    for line in sorted(lines):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def recording() -> np.ndarray:
    """Some seconds of read speech at 16 kHz, -1 to 1."""
    import fetch_models

    return read_wave(fetch_models.fetch_recordings()[0])
