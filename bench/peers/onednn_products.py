"""oneDNN: float32 matrix products, from Debian's library. Each call may pack its operands anew."""

import ctypes
import ctypes.util

import numpy as np

from peers import settings


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("dnnl"))


def is_installed() -> bool:
    return ctypes.util.find_library("dnnl") is not None


def version() -> str:
    function = _library().dnnl_version
    function.restype = ctypes.POINTER(_Version)
    found = function().contents
    return f"{found.major}.{found.minor}.{found.patch}"


def product(left, right):
    """Multiplies rows of `left` by `right`, into memory that is reused."""
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(settings.threads)
    function = _library().dnnl_sgemm
    size, number, pointer = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
    function.argtypes = [ctypes.c_char, ctypes.c_char, size, size, size, number, pointer, size,
                         pointer, size, number, pointer, size]
    m, k, n = *left.shape, right.shape[1]
    result = np.empty((m, n), np.float32)

    def run():
        status = function(b"N", b"N", m, n, k, 1.0, left.ctypes.data, k, right.ctypes.data, n, 0.0,
                          result.ctypes.data, n)
        if status:
            raise RuntimeError(f"dnnl_sgemm returns {status}")
        return [result]

    return run
