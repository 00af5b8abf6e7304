"""Theano's extra_ops module: functions of sequences, indices and repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from .. import _native
from .._arguments import axis_of, whole
from .._theano.config import config
from .._errors import InvalidArgument
from .._missing import TENSOR, refuse
from .._theano.types import dtype_name
from .._theano.variable import TensorVariable, as_tensor_variable, checked_equal, expr_of, minimum_of
from ._reductions import cumprod, cumsum
from ._shaping import alloc, arange, concatenate, ones_like, repeat, set_subtensor, squeeze, zeros
from ._shaping import _mended, inc_subtensor as _added

__all__ = [
    "bincount", "compress", "cumprod", "cumsum", "diff", "fill_diagonal", "fill_diagonal_offset",
    "inverse_permutation", "ravel_multi_index", "repeat", "squeeze", "to_one_hot", "unique",
    "unravel_index",
]  # fmt: skip


def diff(x: Any, n: int = 1, axis: int = -1) -> TensorVariable:
    """The n-th differences of neighbours along an axis."""
    made = as_tensor_variable(x)
    axis = axis_of(made, axis)
    if whole(n, "n") < 0:
        raise InvalidArgument(f"diff {n} times, but the number must not be negative")
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = made[(*before, slice(1, None))], made[(*before, slice(None, -1))]
        differs = made.dtype == "bool"
        made = TensorVariable(_native.neq(later._expr, earlier._expr)) if differs else (
            later - earlier
        )
    return made


def bincount(
    x: Any, weights: Any = None, minlength: Any = None, assert_nonneg: bool = False
) -> TensorVariable:
    """Counts how often each number from 0 to the maximum occurs in a vector, or sums its weights.

    A negative number is a run-time error.
    """
    numbers = as_tensor_variable(x)
    if numbers.ndim != 1 or numbers.dtype not in _WHOLE:
        raise InvalidArgument(
            f"bincount counts in a vector of integers, not in {numbers.dtype} with {numbers.ndim}"
            " axes"
        )
    numbers = numbers.astype("int64")
    least = as_tensor_variable(0 if minlength is None else minlength).astype("int64")
    count = concatenate([numbers + 1, least.dimshuffle("x")]).max()
    # A negative number would be read as an index from the end.
    count = count + checked_equal(
        minimum_of(numbers, 0), 0, "the vector holds {}, but numbers are at least {}", "bincount"
    )
    each = ones_like(numbers) if weights is None else as_tensor_variable(weights)
    return _added(zeros((count,), each.dtype)[numbers], each)


_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> TensorVariable:
    """The distinct elements in ascending order, as a vector."""
    if return_index or return_inverse or return_counts:
        raise InvalidArgument("unique returns only the elements, without indices or counts")
    ordered = as_tensor_variable(ar).flatten().sort()
    first = TensorVariable(_native.eq(ordered[:1]._expr, ordered[:1]._expr)) | True
    differs = TensorVariable(_native.neq(ordered[1:]._expr, ordered[:-1]._expr))
    found: TensorVariable = ordered[concatenate([first, differs])]
    return found


def compress(condition: Any, x: Any, axis: Union[int, None] = None) -> TensorVariable:
    """The slices along an axis where the condition is nonzero; by default of the flattened
    tensor."""
    made = as_tensor_variable(x)
    mask = as_tensor_variable(condition)
    if mask.ndim != 1:
        raise InvalidArgument(f"compress takes a vector as condition, not {mask.ndim} axes")
    if axis is None:
        made, axis = made.flatten(), 0
    return made.take(mask.nonzero()[0], axis)


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> TensorVariable:
    """A matrix with one row per element of the vector y: zeros with a one at that index. As in
    Theano, negative numbers count from the end."""
    numbers = as_tensor_variable(y)
    if numbers.ndim != 1:
        raise InvalidArgument(f"to_one_hot takes a vector, not {numbers.ndim} axes")
    name = config.floatX if dtype is None else dtype_name(dtype)
    rows = zeros((numbers.shape[0], nb_class), name)
    return set_subtensor(rows[arange(numbers.shape[0]), numbers], as_tensor_variable(1).astype(name))


def fill_diagonal(a: Any, val: Any) -> TensorVariable:
    """The tensor with `val` at the elements whose indices are all equal."""
    made = as_tensor_variable(a)
    if made.ndim < 2:
        raise InvalidArgument(f"fill_diagonal of {made.ndim} axes, but needs at least two")
    sizes = [made.shape[i]._expr for i in range(made.ndim)]
    count = sizes[0]
    for size in sizes[1:]:
        count = _native.minimum(count, size)
    along = arange(TensorVariable(count))
    return set_subtensor(made[(along,) * made.ndim], as_tensor_variable(val).astype(made.dtype))


def fill_diagonal_offset(a: Any, val: Any, offset: Any) -> TensorVariable:
    """The matrix with `val` where the column is the row plus `offset`."""
    made, shift = as_tensor_variable(a), as_tensor_variable(offset).astype("int64")
    if made.ndim != 2:
        raise InvalidArgument(f"fill_diagonal_offset of {made.ndim} axes, but needs two")
    zero = _native.whole(0)
    skipped = TensorVariable(_native.maximum((-shift)._expr, zero))
    first = TensorVariable(_native.maximum(shift._expr, zero))
    count = _native.minimum((made.shape[0] - skipped)._expr, (made.shape[1] - first)._expr)
    along = arange(TensorVariable(count))
    value = as_tensor_variable(val).astype(made.dtype)
    return set_subtensor(made[along + skipped, along + first], value)


def inverse_permutation(perm: Any) -> TensorVariable:
    """The inverse of a permutation of 0 to n - 1, a vector."""
    numbers = as_tensor_variable(perm)
    return set_subtensor(
        zeros(numbers.shape, numbers.dtype)[numbers], arange(numbers.shape[0]).astype(numbers.dtype)
    )


def unravel_index(indices: Any, dims: Any, order: str = "C") -> tuple[TensorVariable, ...]:
    """Converts flat indices to indices of a tensor with the sizes `dims`, one result per axis."""
    sizes = _sizes(dims, order)
    count = as_tensor_variable(1).astype("int64")
    for size in sizes:
        count = count * size
    left = _mended(as_tensor_variable(indices).astype("int64"), count, "raise")
    found = []
    for size in sizes if order == "F" else sizes[::-1]:
        found.append(left % size)
        left = left // size
    return tuple(found if order == "F" else found[::-1])


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Any, mode: str = "raise", order: str = "C"
) -> TensorVariable:
    """Converts indices, one tensor per axis, to flat indices. An index out of bounds is corrected
    with mode "wrap" or "clip", and is a run-time error with "raise"."""
    sizes = _sizes(dims, order)
    if len(multi_index) != len(sizes):
        raise InvalidArgument(f"{len(multi_index)} indices, but {len(sizes)} sizes")
    pairs = list(zip(multi_index, sizes))
    number = as_tensor_variable(0).astype("int64")
    for index, size in pairs[::-1] if order == "F" else pairs:
        number = number * size + _mended(as_tensor_variable(index), size, mode)
    return number


def _sizes(dims: Any, order: str) -> list[Any]:
    if order not in ("C", "F"):
        raise InvalidArgument(f"order is {order!r}, but must be 'C' or 'F'")
    if isinstance(dims, TensorVariable):
        if dims.ndim != 1 or dims._expr.sizes[0] < 0:
            raise InvalidArgument("the number of sizes in dims must be known: write them as a list")
        return [dims[i] for i in range(dims._expr.sizes[0])]
    return list(dims) if isinstance(dims, (list, tuple, np.ndarray)) else [whole(dims, "dims")]


def __getattr__(name: str) -> Any:
    return refuse("T.extra_ops", name, TENSOR, globals())
