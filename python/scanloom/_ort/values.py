"""OrtValue: a tensor that owns its memory or refers to the caller's, as in onnxruntime."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from .. import _native
from .._arrays import array_from_dlpack, dtype_of, onnx_name_of
from .._errors import InvalidArgument, Unsupported

Array = np.ndarray[Any, Any]

# ONNX names of element types, by number (TensorProto.DataType), starting at 1.
_NAMES = (
    *("float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16"),
    *("double", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn"),
    *("float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1"),
    *("float8e8m0", "uint2", "int2"),
)


class OrtDevice:
    """The device of a tensor. The CPU is the only one."""

    __module__ = "scanloom._values"  # the former module, which pickles name

    def __init__(self, name: str = "cpu", device_id: int = 0) -> None:
        require_cpu(name, device_id)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> "OrtDevice":
        return OrtDevice(ort_device_name, device_id)

    def device_id(self) -> int:
        return 0

    def device_type(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return 0

    def device_mem_type(self) -> int:
        return 0


def require_cpu(device_type: str, device_id: int) -> None:
    """Raises Unsupported for any device except the CPU."""
    if not isinstance(device_type, str) or device_type.lower() != "cpu" or device_id != 0:
        raise Unsupported(
            f"there is no device '{device_type}' {device_id}: models run on the CPU",
            ("write device_type='cpu', device_id=0",),
        )


def dtype_from(element_type: Any) -> np.dtype[Any]:
    """The numpy dtype of a numpy type or of an ONNX type number. Raises InvalidArgument."""
    if isinstance(element_type, (int, np.integer)) and not isinstance(element_type, np.bool_):
        number = int(element_type)
        if not 1 <= number <= len(_NAMES) or _NAMES[number - 1] == "string":
            raise InvalidArgument(
                f"element type {number} is unknown, or its elements have no fixed size"
            )
        return dtype_of(_NAMES[number - 1])
    try:
        dtype: np.dtype[Any] = np.dtype(element_type)
        onnx_name_of(dtype)
        return dtype
    except TypeError:
        raise InvalidArgument(f"{element_type!r} is not an element type of models") from None


def sizes_from(shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes as integers. Raises InvalidArgument."""
    try:
        sizes = tuple(operator.index(size) for size in shape)
    except TypeError:
        raise InvalidArgument(f"the shape {shape!r} must be a list of integers") from None
    if any(size < 0 for size in sizes) or math.prod(sizes) > 2**40:
        raise InvalidArgument(f"sizes {list(sizes)}: negative, or more than 2^40 elements")
    return sizes


def array_at(pointer: int, element_type: Any, shape: Sequence[int]) -> Array:
    """An array over memory at an address, which must outlive the array; nothing is copied."""
    dtype, sizes = dtype_from(element_type), sizes_from(shape)
    size = math.prod(sizes) * dtype.itemsize
    try:
        address = operator.index(pointer)
    except TypeError:
        raise InvalidArgument(f"the address {pointer!r} must be an integer") from None
    if size == 0:
        return np.empty(sizes, dtype)
    if not 0 < address < 2**63:
        raise InvalidArgument(f"sizes {list(sizes)} at the address {address}")
    memory = memoryview((ctypes.c_ubyte * size).from_address(address))
    array: Array = np.frombuffer(memory, np.uint8).view(dtype).reshape(sizes)
    return array


class OrtValue:
    """A tensor that runs can read and write in place.

    Use the class methods to make one from an array or a shape. As in onnxruntime, they do not copy.
    """

    __module__ = "scanloom._values"  # the former module, which pickles name

    def __init__(self, value: Any, type: str = "") -> None:
        self._value = value
        self._type = type  # as declared by the model, for values that are not tensors

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Array, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> "OrtValue":
        """Shares the memory of the array; copies only arrays that are not row-major."""
        require_cpu(device_type, device_id)
        array = np.asarray(numpy_obj)
        return cls(np.ascontiguousarray(array).reshape(array.shape))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: Array, /, onnx_element_type: int
    ) -> "OrtValue":
        """Shares the memory of the array, reinterpreted as another type of the same size."""
        dtype = dtype_from(operator.index(onnx_element_type))
        if data.dtype.itemsize != dtype.itemsize:
            raise InvalidArgument(
                f"elements of {data.dtype} have {data.dtype.itemsize} bytes,"
                f" those of {dtype} {dtype.itemsize}"
            )
        return cls(np.ascontiguousarray(data).view(dtype).reshape(data.shape))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> "OrtValue":
        """A tensor of zeros. The type is numpy's or an ONNX number (onnx.TensorProto.BFLOAT16)."""
        require_cpu(device_type, device_id)
        return cls(np.zeros(sizes_from(shape), dtype_from(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> "OrtValue":
        """Shares the memory of a DLPack exporter or of a DLPack capsule."""
        return cls(array_from_dlpack(data))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: Any) -> "OrtValue":
        raise Unsupported("sparse tensors exist only inside models")

    def as_sparse_tensor(self) -> Any:
        raise InvalidArgument("the value is not a sparse tensor")

    def numpy(self) -> Array:
        """The elements as an array over the same memory."""
        return self._tensor()

    def __array__(self, dtype: Any = None, copy: Union[bool, None] = None) -> Array:
        array = self._tensor()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **arguments: Any) -> Any:
        array = self._tensor()
        if array.dtype.isbuiltin == 1:
            given = {key: value for key, value in arguments.items() if value is not None}
            return array.__dlpack__(**given)
        bits = array.view(f"uint{8 * array.dtype.itemsize}")
        return _native.to_dlpack(bits, onnx_name_of(array.dtype))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def update_inplace(self, data: Any) -> None:
        """Copies an array or OrtValue of the same type and sizes into this tensor's memory."""
        source = data._tensor() if isinstance(data, OrtValue) else data
        if not isinstance(source, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue")
        require_room(self._tensor(), source, "the value")
        np.copyto(self._tensor(), source)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._tensor().ctypes.data)

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> list[int]:
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """The type as text, for example "tensor(float)"."""
        if not self.is_tensor():
            return self._type
        return f"tensor({_name_of(self._value.dtype)})"

    def element_type(self) -> int:
        """The ONNX number of the element type."""
        return _NAMES.index(_name_of(self._tensor().dtype)) + 1

    def tensor_size_in_bytes(self) -> int:
        return self._tensor().nbytes

    def has_value(self) -> bool:
        """Whether there is a value; False for an empty optional."""
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def _tensor(self) -> Array:
        if not isinstance(self._value, np.ndarray):
            raise InvalidArgument("the value is not a tensor")
        return self._value


def _name_of(dtype: np.dtype[Any]) -> str:
    """The ONNX name of a dtype; arrays of objects hold strings."""
    return "string" if dtype.kind in "OUST" else onnx_name_of(dtype)


def value_of(held: Any) -> Any:
    """Unwraps an OrtValue; returns anything else unchanged."""
    return held._value if isinstance(held, OrtValue) else held


def require_room(target: Array, source: Array, what: str) -> None:
    """Raises InvalidArgument unless the elements of `source` can be written to `target`."""
    if target.dtype != source.dtype or target.shape != source.shape:
        raise InvalidArgument(
            f"{what} is {target.dtype}{list(target.shape)}, but the data is"
            f" {source.dtype}{list(source.shape)}"
        )
    if not target.flags.writeable:
        raise InvalidArgument(f"{what} is in read-only memory")


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Copies each source into the destination at the same position."""
    if len(src) != len(dst):
        raise InvalidArgument(f"there are {len(src)} sources and {len(dst)} destinations")
    for source, target in zip(src, dst):
        target.update_inplace(source)
