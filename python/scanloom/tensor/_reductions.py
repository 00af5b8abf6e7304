"""Reductions along axes, and products of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from .. import _native
from .._errors import InvalidArgument
from .._variable import TensorVariable, as_tensor_variable, expr_of


def sum(  # noqa: A001
    input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
) -> TensorVariable:
    """Along an axis, several, or all; of booleans and integers int64."""
    return as_tensor_variable(input).sum(axis, dtype, keepdims, acc_dtype)


def prod(
    input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None,
    no_zeros_in_input: bool = False,
) -> TensorVariable:
    return as_tensor_variable(input).prod(axis, dtype, keepdims, acc_dtype)


def mean(
    input: Any, axis: Any = None, dtype: Any = None, op: bool = False, keepdims: bool = False,
    acc_dtype: Any = None,
) -> TensorVariable:
    """Of integers float64."""
    return as_tensor_variable(input).mean(axis, dtype, keepdims, acc_dtype)


def var(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    return as_tensor_variable(input).var(axis, ddof, keepdims)


def std(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    return as_tensor_variable(input).std(axis, ddof, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    return as_tensor_variable(x).max(axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    return as_tensor_variable(x).min(axis, keepdims)


def argmax(x: Any, axis: Union[int, None] = None, keepdims: bool = False) -> TensorVariable:
    return as_tensor_variable(x).argmax(axis, keepdims)


def argmin(x: Any, axis: Union[int, None] = None, keepdims: bool = False) -> TensorVariable:
    return as_tensor_variable(x).argmin(axis, keepdims)


def max_and_argmax(
    a: Any, axis: Union[int, None] = None, keepdims: bool = False
) -> list[TensorVariable]:
    return [max(a, axis, keepdims), argmax(a, axis, keepdims)]


def any(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    return as_tensor_variable(x).any(axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    return as_tensor_variable(x).all(axis, keepdims)


def ptp(a: Any, axis: Union[int, None] = None) -> TensorVariable:
    """The greatest element less the smallest one."""
    return max(a, axis) - min(a, axis)


def cumsum(x: Any, axis: Union[int, None] = None) -> TensorVariable:
    """Without an axis of the flattened tensor."""
    return as_tensor_variable(x).cumsum(axis)


def cumprod(x: Any, axis: Union[int, None] = None) -> TensorVariable:
    return as_tensor_variable(x).cumprod(axis)


def sort(
    a: Any, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None
) -> TensorVariable:
    """In ascending order, NaN last."""
    sorted_: TensorVariable = as_tensor_variable(a).sort(axis)
    return sorted_


def argsort(
    a: Any, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None
) -> TensorVariable:
    """Where the sorted elements stood; equal ones in their order."""
    return as_tensor_variable(a).argsort(axis)


def nonzero(a: Any) -> tuple[TensorVariable, ...]:
    """By axis the indices of the elements that are not 0."""
    return as_tensor_variable(a).nonzero()


def dot(a: Any, b: Any) -> TensorVariable:
    """numpy.dot: of vectors their inner product, of matrices theirs."""
    return TensorVariable(_native.dot(expr_of(a), expr_of(b)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> TensorVariable:
    """Sums over the last axes of a and the first of b, as many as `axes` says, or over the pairs
    that ([axes of a], [axes of b]) names."""
    left, right = as_tensor_variable(a), as_tensor_variable(b)
    if isinstance(axes, int):
        if axes > left.ndim or axes > right.ndim:
            raise InvalidArgument(f"tensordot over {axes} axes of {left.ndim} and {right.ndim}")
        of_left = list(range(left.ndim - axes, left.ndim))
        of_right = list(range(axes))
    else:
        of_left, of_right = (
            list(side) if isinstance(side, Sequence) else [side] for side in axes
        )
    return TensorVariable(_native.tensordot(left._expr, right._expr, of_left, of_right))


def outer(x: Any, y: Any) -> TensorVariable:
    return TensorVariable(_native.outer(expr_of(x), expr_of(y)))


def batched_dot(a: Any, b: Any) -> TensorVariable:
    """The product of every pair along the first axis of both."""
    left, right = as_tensor_variable(a), as_tensor_variable(b)
    spec = {
        (2, 2): "na,na->n",
        (2, 3): "na,nab->nb",
        (3, 2): "nab,nb->na",
        (3, 3): "nab,nbc->nac",
    }.get((left.ndim, right.ndim))
    if spec is None:
        raise InvalidArgument(f"batched_dot of tensors with {left.ndim} and {right.ndim} axes")
    return TensorVariable(_native.contract(left._expr, right._expr, spec))
