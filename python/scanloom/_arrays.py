"""Conversion between Python values and arrays: byte orders, ml_dtypes, lists, strings, DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._errors import InvalidArgument, Unsupported

# ONNX's name of an element type: numpy's name, where the two differ.
_NUMPY_NAMES = {"float": "float32", "double": "float64"}
_ONNX_NAMES = {numpy: onnx for onnx, numpy in _NUMPY_NAMES.items()}

# ONNX name -> name in ml_dtypes.
_ML_NAMES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "uint4": "uint4",
    "int4": "int4",
    "uint2": "uint2",
    "int2": "int2",
}
_ONNX_OF_ML = {ml: onnx for onnx, ml in _ML_NAMES.items()}


def _ml_dtype(onnx_name: str) -> np.dtype[Any]:
    """The dtype from ml_dtypes of an element type that numpy lacks."""
    try:
        import ml_dtypes  # optional, and rarely needed

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _ML_NAMES[onnx_name]))
        return dtype
    except (ImportError, KeyError, AttributeError):
        raise Unsupported(
            "numpy has no element type "
            f"{onnx_name}", ("the package ml_dtypes provides most of them",)
        ) from None


def dtype_of(onnx_name: str) -> np.dtype[Any]:
    """The numpy dtype of an element type. Raises Unsupported if there is none."""
    if onnx_name in _ML_NAMES:
        return _ml_dtype(onnx_name)
    return np.dtype(_NUMPY_NAMES.get(onnx_name, onnx_name))


def onnx_name_of(dtype: np.dtype[Any]) -> str:
    """The ONNX name of a numpy dtype. Raises InvalidArgument if ONNX has no such type."""
    if dtype.name in _ONNX_OF_ML:
        return _ONNX_OF_ML[dtype.name]
    if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype == np.longdouble:
        raise InvalidArgument(f"numpy's {dtype} is not an element type of models")
    return _ONNX_NAMES.get(dtype.name, dtype.name)


def array_from_dlpack(data: Any) -> np.ndarray[Any, Any]:
    """An array over the memory of a DLPack exporter or of a DLPack capsule."""
    array, onnx_name = _native.from_dlpack(data)
    # Old exporters declare booleans as uint8, so check the dtype of the source.
    kind = getattr(data, "dtype", None)
    if onnx_name == "uint8" and getattr(kind, "name", str(kind)) in ("bool", "torch.bool"):
        return array.view(np.bool_)
    return narrow(array, onnx_name) if onnx_name in _ML_NAMES else array


def _from_python(value: Any, name: str, wanted: str) -> np.ndarray[Any, Any]:
    """Converts numbers and lists to the type of the input, unless that would change their kind."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            return array
        if wanted and wanted != "string":
            dtype = dtype_of(wanted)
            if array.size == 0 or np.can_cast(array.dtype, dtype, "same_kind"):
                return np.asarray(value, dtype=dtype)
    except (OverflowError, TypeError, ValueError) as error:
        why = str(error).rstrip(".")
        raise InvalidArgument(f"feed '{name}' cannot be read as a tensor: {why}") from None
    return array


def plain(value: Any, name: str, wanted: str) -> tuple[np.ndarray[Any, Any], str]:
    """Returns the value as an array with a C-readable buffer, and the ONNX name of its type."""
    if value is None:
        raise InvalidArgument(f"feed '{name}' is None, but must be a tensor")
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = _from_dlpack(value, name)
    array = value if hasattr(value, "dtype") else _from_python(value, name, wanted)
    array = np.asarray(array)
    if array.dtype == object:
        _refuse_objects(array, name)
    if array.dtype.kind in "UST":
        wants = f", but must be of type {wanted}" if wanted else ""
        raise InvalidArgument(f"feed '{name}' holds strings{wants}")
    if array.dtype.name in _ONNX_OF_ML:
        bits = np.dtype(f"uint{8 * array.dtype.itemsize}")
        return _aligned(array).view(bits), _ONNX_OF_ML[array.dtype.name]
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or array.dtype == np.longdouble:
        raise InvalidArgument(f"feed '{name}' is of type {array.dtype}, which models do not have")
    array = _aligned(array.astype(array.dtype.newbyteorder("="), copy=False))
    return array, _ONNX_NAMES.get(array.dtype.name, array.dtype.name)


def texts(value: Any, name: str) -> tuple[list[bytes], tuple[int, ...]]:
    """Returns the elements of an array of strings, encoded as UTF-8, and its shape."""
    if value is None:
        raise InvalidArgument(f"feed '{name}' is None, but must be a string tensor")
    array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    if array.dtype.kind not in "OUST" and array.size > 0:
        raise InvalidArgument(f"feed '{name}' is of type {array.dtype}, but must hold strings")
    return [_utf8(element, name) for element in array.flat], array.shape


def has_utf8(text: str) -> bool:
    """Whether the text can be encoded, i.e. has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _utf8(element: Any, name: str) -> bytes:
    if isinstance(element, str):
        try:
            return element.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise InvalidArgument(
                f"feed '{name}' holds a string that is not UTF-8: {element!r:.80}"
            ) from None
    if isinstance(element, bytes):
        return element
    raise InvalidArgument(
        f"feed '{name}' holds a {type(element).__name__}, but must hold strings (str or bytes)"
    )


def objects(elements: list[str], shape: list[int]) -> np.ndarray[Any, Any]:
    """Converts a string result to an array of str."""
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape)


def _from_dlpack(value: Any, name: str) -> np.ndarray[Any, Any]:
    try:
        return array_from_dlpack(value)
    except (BufferError, InvalidArgument, Unsupported, RuntimeError, TypeError) as error:
        raise InvalidArgument(f"feed '{name}' cannot be read through DLPack: {error}") from None


def _refuse_objects(array: np.ndarray[Any, Any], name: str) -> None:
    """Raises an error that says what an array of Python objects holds instead of numbers."""
    kinds = {type(element).__name__ for element in array.flat}
    if kinds and kinds <= {"str", "bytes"}:
        raise InvalidArgument(f"feed '{name}' holds strings, but must hold numbers")
    held = f" ({', '.join(sorted(kinds)[:4])})" if kinds else ""
    raise InvalidArgument(
        f"feed '{name}' is an array of Python objects{held}, but must hold numbers",
        ("if they are numbers, convert them with array.astype(...)",),
    )


def _aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    strides_fit = all(stride % array.dtype.itemsize == 0 for stride in array.strides)
    return array if array.flags.aligned and strides_fit else array.copy()


def narrow(bits: np.ndarray[Any, Any], onnx_name: str) -> np.ndarray[Any, Any]:
    """Reinterprets the bytes of a result as an element type of ml_dtypes."""
    return bits.view(_ml_dtype(onnx_name))
