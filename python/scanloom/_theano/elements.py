"""The elements of a constant that a program writes as a number, a list or an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import InvalidArgument
from .config import config
from .types import as_array


def elements_of(x: Any) -> np.ndarray[Any, Any]:
    """Returns an array. A Python number takes the smallest type that holds it; an empty list takes
    floatX. Raises InvalidArgument, InvalidType."""
    if type(x) is int:
        for dtype in (np.int8, np.int16, np.int32, np.int64):
            if np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
                return np.asarray(x, dtype)
        size = "large" if x > 0 else "small"
        raise InvalidArgument(
            f"{x} is too {size} for int64, which goes from -2**63 to 2**63 - 1",
            ("write float(...) for a float64" + (", numpy.uint64(...) for a uint64" if 0 < x < 2**64 else ""),),
        )
    if type(x) is float:
        with np.errstate(over="ignore"):
            narrow = np.float32(x)
        return np.asarray(narrow if float(narrow) == x or x != x else x)
    array = as_array(x, "a variable")
    if array.size == 0 and isinstance(x, (list, tuple)):
        return array.astype(config.floatX)
    return array
