"""Makes the helpers of the Python tests importable, and prints figures."""

import os
import pathlib
import secrets
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "batch")]

# Drivers prove to the Ray of the tests with a token that they may connect. Ray reads it when it is imported.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
os.environ["RAY_worker_niceness"] = "0"  # other programs on the machine must not starve the workers


@pytest.fixture
def report(capsys):
    """Prints a line at once."""

    def line(text):
        with capsys.disabled():
            print(f"\n{text}")

    return line
