"""The plain C loops of baseline.c, compiled for this machine when the benchmark starts."""

import ctypes
import pathlib
import shutil
import subprocess

import numpy as np

SOURCE = pathlib.Path(__file__).with_name("baseline.c")
FLAGS = ["-O3", "-march=native", "-fPIC", "-shared", "-std=c11"]


def compiler() -> str:
    """The C compiler that makes the baseline; raises FileNotFoundError when there is none."""
    for name in ("gcc", "cc", "clang"):
        if shutil.which(name):
            return name
    raise FileNotFoundError("no C compiler (gcc, cc or clang) to make the baseline with")


class Baseline:
    """Calls into the compiled loops. Outputs are the caller's arrays, so nothing is allocated."""

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "libbaseline.so"
        subprocess.run([compiler(), *FLAGS, str(SOURCE), "-o", str(library)], check=True)
        self._calls = ctypes.CDLL(str(library))
        i64, f32, pointer = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
        self._declare("counter", [i64, i64, i64], i64)
        self._declare("counter_rows", [i64, i64, i64, pointer], i64)
        self._declare("ema", [i64, f32, f32, f32, pointer, pointer], f32)
        self._declare("biquad", [i64, pointer, pointer, pointer, pointer], None)

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

    def _declare(self, name: str, arguments: list[type], result: type | None) -> None:
        function = getattr(self._calls, f"scanloom_{name}")
        function.argtypes = arguments
        function.restype = result
