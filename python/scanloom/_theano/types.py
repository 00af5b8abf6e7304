"""Names of element types, and conversion of values to arrays of a given type."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from .._arrays import array_from_dlpack, dtype_of
from .._errors import InvalidArgument, InvalidType
from .._suggest import did_you_mean
from .config import config
from .unpack import refuse_misread


def dtype_name(dtype: Any) -> str:
    """The name of an element type, which is given by name, as a numpy dtype or as a type.

    "floatX" is config.floatX. Raises InvalidType for anything else.
    """
    if dtype == "floatX":
        return config.floatX
    if isinstance(dtype, str) and dtype in _PLAIN:
        return dtype
    try:
        name = np.dtype(dtype).name if dtype is not None else ""
    except TypeError:
        name = str(dtype)
    if name not in _PLAIN:
        known = sorted(_PLAIN)
        raise InvalidType(
            f"unknown dtype {dtype!r}{did_you_mean(name, known)}",
            (f"the dtypes are: {', '.join(known)}",),
        )
    return name


_PLAIN = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    " complex64 complex128 bfloat16".split()
)


def is_real(dtype: str) -> bool:
    """Whether the dtype is floating point."""
    return dtype in ("float16", "float32", "float64", "bfloat16")


def fitted(
    value: Any, dtype: str, ndim: int, what: str, downcast: Union[bool, None] = None,
    strict: bool = False,
) -> np.ndarray[Any, Any]:
    """Converts the value to an array of that dtype and rank.

    Lists and numbers are converted if no value changes, arrays if their dtype is narrower. With
    `downcast` True everything is converted; with False not even a Python number to config.floatX.
    Raises InvalidType, which names `what`.
    """
    if type(value) is np.ndarray and value.dtype.name == dtype:
        array = value
    else:
        array = _converted(value, dtype, what, downcast, strict)
    if array.ndim != ndim:
        raise InvalidType(
            f"{what} has {ndim} axes, but the value has {array.ndim}, shape {list(array.shape)}"
        )
    return array


def _converted(
    value: Any, dtype: str, what: str, downcast: Union[bool, None], strict: bool
) -> np.ndarray[Any, Any]:
    array = as_array(value, what)
    if array.dtype.name == dtype:
        return array
    if strict:
        raise InvalidType(
            f"{what} is {dtype} and strict, but the value is {array.dtype}",
            (f"convert it with numpy.asarray(value, '{dtype}')",),
        )
    wanted = np.dtype(_ml_name(dtype))
    if array.dtype.kind not in "biufc" or (array.dtype.kind == "c" and wanted.kind != "c"):
        part = ".real" if array.dtype.kind == "c" else ""
        raise InvalidType(
            f"{what} is {dtype}, but the value is {array.dtype}",
            (f"convert it with value{part}.astype('{dtype}')",) if array.dtype.kind in "biufc" else (),
        )
    is_typed = hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0
    if downcast or np.can_cast(array.dtype, wanted, "safe"):
        return array.astype(wanted)
    if array.size == 0 and not is_typed:
        return array.astype(wanted)
    if downcast is None and type(value) is float and dtype == config.floatX:
        return array.astype(wanted)
    if not is_typed:
        with np.errstate(all="ignore"):
            near = array.astype(wanted)
        if np.array_equal(near, array, equal_nan=array.dtype.kind in "fc"):
            return near
    raise InvalidType(
        f"{what} is {dtype}, but the value is {array.dtype}, which would lose precision",
        (f"convert it with .astype('{dtype}'), or set allow_input_downcast=True",),
    )


def _ml_name(dtype: str) -> Any:
    if dtype != "bfloat16":
        return dtype
    return dtype_of(dtype)


def as_array(value: Any, what: str) -> np.ndarray[Any, Any]:
    """Converts an array, a list, a number or a DLPack exporter to an array. Raises InvalidType."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise InvalidType(
                f"{what}: the value is a masked array, but tensors have no masks",
                ("write .filled(number), or give data and mask as two values",),
            )
        return np.ma.getdata(value)
    if isinstance(value, np.ndarray):
        return value
    refuse_misread(value, what)
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise InvalidType(f"{what} needs an array or a number, not {value!r:.80}")
    if type(value).__module__.startswith("scanloom."):
        raise InvalidType(
            f"{what} needs an array or a number, not the variable {value}",
            ("a compiled function takes values; symbolic variables are its inputs",),
        )
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        try:
            return array_from_dlpack(value)
        except (BufferError, InvalidArgument, RuntimeError, TypeError) as error:
            raise InvalidType(f"{what}: the value cannot be read through DLPack: {error}") from None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidType(f"{what}: the value is not an array: {str(error).rstrip('.')}") from None
    if array.dtype == object:
        raise InvalidType(f"{what} needs an array or a number, not {value!r:.80}")
    return array
