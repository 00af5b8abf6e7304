"""Scanloom in one process with other libraries, imported in every order: neighbours.py says what each
does. `make test-long` installs those that the other tests do without."""

import importlib.util
import subprocess
import sys

import pytest

import neighbours
from loop_models import parse
from places import PROJECT

INSTALLED = [name for name in neighbours.NAMES if importlib.util.find_spec(name) is not None]
ABSENT = "{} is not installed (make test-long installs all but torch)"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neighbours")
    paths = [folder / "loop.onnx", folder / "product.onnx"]
    for path, text in zip(paths, (neighbours.LOOP, neighbours.PRODUCT)):
        path.write_bytes(parse(text, opset=20))
    return [str(path) for path in paths]


def checksum(models, *names):
    """Runs neighbours.py in a process of its own."""
    command = [sys.executable, str(PROJECT / "python/tests/neighbours.py"), *models, *names]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return int(answer.stdout.splitlines()[-1])  # the others may print, too


@pytest.fixture(scope="module")
def alone(models):
    return checksum(models, "scanloom")


@pytest.mark.parametrize("name", neighbours.NAMES)
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "ours last"])
def test_a_pair(name, ours_first, models, alone):
    if name not in INSTALLED:
        pytest.skip(ABSENT.format(name))
    order = ["scanloom", name] if ours_first else [name, "scanloom"]
    assert checksum(models, *order) == alone


def orders():
    """All that are installed, with Scanloom first, in the middle and last."""
    middle = len(INSTALLED) // 2
    return [["scanloom", *INSTALLED], [*INSTALLED[:middle], "scanloom", *INSTALLED[middle:]],
            [*reversed(INSTALLED), "scanloom"]]  # fmt: skip


@pytest.mark.parametrize("order", orders(), ids=" ".join)
def test_all_at_once(order, models, alone):
    if len(INSTALLED) < 2:
        pytest.skip(ABSENT.format("more than one other library"))
    assert checksum(models, *order) == alone
