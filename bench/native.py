"""The plain C loops of baseline/, compiled for this machine at startup."""

import ctypes
import functools
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence

import numpy as np

from harness import Engine

SOURCES = sorted(pathlib.Path(__file__).with_name("baseline").glob("*.c"))
FLAGS = ["-O3", "-march=native", "-fPIC", "-std=c11"]
FAST = ["-ffast-math"]


def compiler() -> str:
    """The C compiler for the baseline. Raises FileNotFoundError if there is none."""
    for name in ("gcc", "cc", "clang"):
        if shutil.which(name):
            return name
    raise FileNotFoundError("no C compiler (gcc, cc or clang) to make the baseline with")


def _make_library(folder: pathlib.Path, name: str, flags: Sequence[str]) -> ctypes.CDLL:
    """Links without the flags: with -ffast-math, the linker adds code that disables denormals in
    the whole process."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in SOURCES:
        objects.append(str(folder / f"{name}_{source.stem}.o"))
        subprocess.run([compiler(), *FLAGS, *flags, "-c", str(source), "-o", objects[-1]], check=True)
    library = folder / f"lib{name}.so"
    subprocess.run([compiler(), "-shared", *objects, "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


class Baseline:
    """Calls the loops, which are compiled on first use. The caller provides the output arrays, so
    nothing is allocated."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    @functools.cached_property
    def _calls(self) -> ctypes.CDLL:
        calls = _make_library(self._folder, "baseline", [])
        i64, f32, pointer = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
        _declare(calls, "counter", [i64, i64, i64], i64)
        _declare(calls, "counter_rows", [i64, i64, i64, pointer], i64)
        _declare(calls, "ema", [i64, f32, f32, f32, pointer, pointer], f32)
        _declare(calls, "biquad", [i64, pointer, pointer, pointer, pointer], None)
        return calls

    @functools.cached_property
    def _fast_calls(self) -> ctypes.CDLL:
        return _make_library(self._folder, "baseline_fast", FAST)

    def counter(self, steps: int, start: int) -> list[np.ndarray]:
        return [np.int64(self._calls.scanloom_counter(steps, start, 1))]

    def counter_rows(self, steps: int, start: int, rows: np.ndarray) -> list[np.ndarray]:
        last = self._calls.scanloom_counter_rows(steps, start, 1, rows.ctypes.data)
        return [np.int64(last), rows]

    def ema(
        self, start: float, keep: float, take: float, x: np.ndarray, y: np.ndarray
    ) -> list[np.ndarray]:
        last = self._calls.scanloom_ema(x.size, start, keep, take, x.ctypes.data, y.ctypes.data)
        return [np.array([last], np.float32), y]

    def biquad(
        self, coefficients: np.ndarray, history: np.ndarray, x: np.ndarray, y: np.ndarray
    ) -> list[np.ndarray]:
        self._calls.scanloom_biquad(
            x.size, coefficients.ctypes.data, history.ctypes.data, x.ctypes.data, y.ctypes.data
        )
        return [y]

    def engine(
        self, name: str, arguments: Sequence, results: Sequence[np.ndarray], fast: bool = False
    ) -> Engine:
        """The C function scanloom_<name>, or its -ffast-math build, as an engine.

        Arguments are converted once: arrays to pointers, int to int64_t, float to double. The
        results are those arguments that the function writes."""
        function = getattr(self._fast_calls if fast else self._calls, f"scanloom_{name}")
        function.argtypes = [_ctype(argument) for argument in arguments]
        function.restype = None
        values = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]

        def run(_alive=tuple(arguments)) -> list[np.ndarray]:
            function(*values)
            return list(results)

        return Engine("C fast" if fast else "C loop", run)


def _declare(calls: ctypes.CDLL, name: str, arguments: list[type], result: type | None) -> None:
    function = getattr(calls, f"scanloom_{name}")
    function.argtypes = arguments
    function.restype = result


def _ctype(argument) -> Callable:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p
    return ctypes.c_int64 if isinstance(argument, int) else ctypes.c_double
