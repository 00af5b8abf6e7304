"""Makes the helpers of the Python tests importable, and prints figures."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "batch")]


@pytest.fixture
def report(capsys):
    """Prints a line at once."""

    def line(text):
        with capsys.disabled():
            print(f"\n{text}")

    return line
