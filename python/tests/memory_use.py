"""Measures how much memory a run takes, in a process of its own."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

import new_process

_CLEAR = pathlib.Path("/proc/self/clear_refs")
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
# Prints what measure(name) of a test module gives.
_CHILD = """
import importlib, json, sys
sys.path[:0] = sys.argv[1:3]
print(json.dumps(importlib.import_module(sys.argv[3]).measure(sys.argv[4])))
"""


def needs_peak() -> None:
    """Skips the test on systems without the peak memory of a process."""
    if not _CLEAR.exists():
        pytest.skip("this system does not tell the most memory of a process")


def _resident(which: str) -> int:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) * 1024


def predicted(text: str) -> float:
    """Returns the most that explain() names, in bytes."""
    found = re.findall(r"^memory (?:at least )?([0-9.e+]+) (\w?)B for a run", text, re.M)
    return max(float(number) * UNITS[unit] for number, unit in found)


def growth(run: Callable[[], object]) -> int:
    """Returns by how many bytes this process grows at most in the call, with its result."""
    _CLEAR.write_text("5")
    before = _resident("VmRSS")
    result = run()
    grown = _resident("VmHWM") - before
    del result
    return grown


def measured(test: str, name: str, timeout: float = 120) -> Any:
    """Returns what measure(name) of a test module gives in a new process. `test`: its file."""
    needs_peak()
    file = pathlib.Path(test)
    folders = [str(file.parent), str(file.parent.parent)]
    return json.loads(new_process.run(_CHILD, *folders, file.stem, name, timeout=timeout))
