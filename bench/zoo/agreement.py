"""How far the results of two engines are apart."""

from collections.abc import Sequence

import numpy as np

TOLERANCE = 1e-4  # of the largest magnitude of a result
TOLERANCE_F16 = 1e-2  # for results of f16 and bf16, and of models that round to f16
MIN_NORMAL_F16 = 2.0**-14  # smaller numbers lose digits, and may become 0
# For models that round to bytes while they run. A step is 4e-3 of the range; a number that is
# rounded the other way, because a sum before it differs in the last bit, changes those after it.
TOLERANCE_BYTES = 2e-2


def flat(value: object) -> list[np.ndarray]:
    """The arrays of a result: sequences in order, maps as keys and values, None as nothing."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [*flat(np.array(list(value.keys()))), *flat(np.array(list(value.values())))]
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in flat(item)]
    array = np.asarray(value)
    if array.dtype == object:
        return [array.astype(str)]
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16",):
        return [array.astype(np.float32)]
    return [array]


def difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray],
               tolerance: float = TOLERANCE, least: float = 0) -> float:
    """The largest difference of a pair, in tolerances; infinite if they cannot be compared. A
    tolerance is a part of the largest magnitude, or of `least` if that is larger."""
    if len(got) != len(want):
        return float("inf")
    return max((_one(a, b, tolerance, least) for a, b in zip(got, want)), default=0.0)


def _one(got: np.ndarray, want: np.ndarray, tolerance: float, least: float) -> float:
    if got.shape != want.shape or got.dtype.kind != want.dtype.kind:
        return float("inf")
    if want.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, want) else float("inf")
    if want.dtype.itemsize == 2:
        tolerance = max(tolerance, TOLERANCE_F16)
    got, want = got.astype(np.complex128), want.astype(np.complex128)
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return float("inf")
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return float("inf")
    scale = np.abs(want[finite]).max(initial=least)
    apart = np.abs(got[finite] - want[finite]).max(initial=0)
    return float(apart / (tolerance * scale)) if scale else (float("inf") if apart else 0.0)
