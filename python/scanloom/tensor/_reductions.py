"""Reductions over axes, and tensor products."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._arguments import axis_numbers
from .._errors import InvalidArgument, InvalidType
from .._theano.variable import TensorVariable, as_tensor_variable, expr_of
from ._elementwise import isclose


def sum(  # noqa: A001
    input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
) -> TensorVariable:
    """The sum over an axis, several, or all. Integers give 64 bits; an empty sum is 0."""
    return as_tensor_variable(input).sum(axis, dtype, keepdims, acc_dtype)


def prod(
    input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None,
    no_zeros_in_input: bool = False,
) -> TensorVariable:
    """The product over an axis, several, or all. Integers give 64 bits; an empty product is 1."""
    return as_tensor_variable(input).prod(axis, dtype, keepdims, acc_dtype)


def mean(
    input: Any, axis: Any = None, dtype: Any = None, op: bool = False, keepdims: bool = False,
    acc_dtype: Any = None,
) -> TensorVariable:
    """The mean over an axis, several, or all. Integers give float64; an empty mean is NaN."""
    return as_tensor_variable(input).mean(axis, dtype, keepdims, acc_dtype)


def var(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    """The variance over an axis, several, or all: the sum of squares divided by (count - ddof)."""
    return as_tensor_variable(input).var(axis, ddof, keepdims)


def std(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    """The square root of the variance; see var."""
    return as_tensor_variable(input).std(axis, ddof, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    """The maximum over an axis, several, or all. NaN propagates; if empty, the dtype's lowest
    value."""
    return as_tensor_variable(x).max(axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    """The minimum over an axis, several, or all. NaN propagates; if empty, the dtype's highest
    value."""
    return as_tensor_variable(x).min(axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """The int64 index of the first maximum along an axis. Several axes, or all, are flattened in
    the tensor's order."""
    return as_tensor_variable(x).argmax(axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """The int64 index of the first minimum; axes as in argmax."""
    return as_tensor_variable(x).argmin(axis, keepdims)


def max_and_argmax(
    a: Any, axis: Any = None, keepdims: bool = False
) -> list[TensorVariable]:
    """[max, argmax] along one axis, or of all elements."""
    return [max(a, axis, keepdims), argmax(a, axis, keepdims)]


def any(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    """Whether any element over an axis, several, or all is nonzero; False if empty."""
    return as_tensor_variable(x).any(axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001
    """Whether all elements over an axis, several, or all are nonzero; True if empty."""
    return as_tensor_variable(x).all(axis, keepdims)


def ptp(a: Any, axis: Union[int, None] = None) -> TensorVariable:
    """The maximum minus the minimum."""
    return max(a, axis) - min(a, axis)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """log(sum(exp(x))), without overflow."""
    powers = TensorVariable(_native.exp(expr_of(x)))
    return TensorVariable(_native.log(sum(powers, axis, keepdims=keepdims)._expr))


def cumsum(x: Any, axis: Union[int, None] = None) -> TensorVariable:
    """The cumulative sum along an axis; without an axis, of the flattened tensor."""
    return as_tensor_variable(x).cumsum(axis)


def cumprod(x: Any, axis: Union[int, None] = None) -> TensorVariable:
    """The cumulative product along an axis; without an axis, of the flattened tensor."""
    return as_tensor_variable(x).cumprod(axis)


def sort(
    a: Any, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None
) -> TensorVariable:
    """Sorts in ascending order, NaN last."""
    sorted_: TensorVariable = as_tensor_variable(a).sort(axis, kind, order)
    return sorted_


def argsort(
    a: Any, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None
) -> TensorVariable:
    """The indices that sort the tensor; the order of equal elements is kept."""
    return as_tensor_variable(a).argsort(axis, kind, order)


def nonzero(a: Any, return_matrix: bool = False) -> Any:
    """The indices of the nonzero elements, one vector per axis, or as rows of a matrix."""
    found = as_tensor_variable(a).nonzero()
    return as_tensor_variable(list(found)) if return_matrix else found


def flatnonzero(a: Any) -> TensorVariable:
    """The row-major indices of the nonzero elements."""
    return as_tensor_variable(a).flatten().nonzero()[0]


def nonzero_values(a: Any) -> TensorVariable:
    """The nonzero elements, as a vector."""
    return as_tensor_variable(a).nonzero_values()


def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> TensorVariable:
    """Whether all elements are close; see isclose."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
    """The sum of the diagonal; with more than two axes, of every matrix along axis1 and axis2."""
    return as_tensor_variable(a).trace(offset, axis1, axis2)


def norm(x: Any, ord: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:  # noqa: A002
    """The norm of order `ord`; see the method of variables."""
    return as_tensor_variable(x).norm(ord, axis, keepdims)


def smallest(*args: Any) -> TensorVariable:
    """The elementwise minimum of the arguments."""
    made = expr_of(args[0])
    for other in args[1:]:
        made = _native.minimum(made, expr_of(other))
    return TensorVariable(made)


def largest(*args: Any) -> TensorVariable:
    """The elementwise maximum of the arguments."""
    made = expr_of(args[0])
    for other in args[1:]:
        made = _native.maximum(made, expr_of(other))
    return TensorVariable(made)


def matmul(a: Any, b: Any) -> TensorVariable:
    """numpy.matmul."""
    return TensorVariable(_native.matmul(expr_of(a), expr_of(b)))


def dot(a: Any, b: Any) -> TensorVariable:
    """numpy.dot: the inner product of vectors, the matrix product of matrices."""
    return TensorVariable(_native.dot(expr_of(a), expr_of(b)))


def _pairs(axes: Any) -> tuple[list[int], list[int]]:
    """The axes of both operands, each one number or a list. Raises InvalidType."""
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise InvalidType(f"axes is {axes!r:.80}, but must be a number or (axes of a, axes of b)")
    left, right = map(axis_numbers, axes)
    return left, right


def tensordot(a: Any, b: Any, axes: Any = 2) -> TensorVariable:
    """Sums over the last axes of a and the first of b if `axes` is their number, or over the pairs
    of axes in ([axes of a], [axes of b])."""
    left, right = as_tensor_variable(a), as_tensor_variable(b)
    if isinstance(axes, int):
        if axes > left.ndim or axes > right.ndim:
            raise InvalidArgument(f"tensordot over {axes} axes of {left.ndim} and {right.ndim}")
        of_left = list(range(left.ndim - axes, left.ndim))
        of_right = list(range(axes))
    else:
        of_left, of_right = _pairs(axes)
    return TensorVariable(_native.tensordot(left._expr, right._expr, of_left, of_right))


def batched_tensordot(x: Any, y: Any, axes: Any = 2) -> TensorVariable:
    """tensordot of each pair along the first axis of both; `axes` counts that axis, too."""
    left, right = as_tensor_variable(x), as_tensor_variable(y)
    if isinstance(axes, int):
        of_left = list(range(left.ndim - axes, left.ndim))
        of_right = list(range(1, 1 + axes))
    else:
        of_left, of_right = _pairs(axes)
    if len(of_left) != len(of_right) or 0 in of_left or 0 in of_right:
        raise InvalidArgument(f"batched_tensordot over the axes {of_left} and {of_right}")
    letters = iter("bcdefghijklmopqrstuvwxyz")
    names_left = ["n", *(next(letters) for _ in range(left.ndim - 1))]
    names_right = ["n", *(next(letters) for _ in range(right.ndim - 1))]
    for i, j in zip(of_left, of_right):
        if i >= left.ndim or j >= right.ndim:
            raise InvalidArgument(
                f"batched_tensordot over the axes {i} and {j} of {left.ndim} and {right.ndim}"
            )
        names_right[j] = names_left[i]
    kept = [n for i, n in enumerate(names_left) if i not in of_left]
    kept += [n for j, n in enumerate(names_right) if j not in of_right and j > 0]
    spec = f"{''.join(names_left)},{''.join(names_right)}->{''.join(kept)}"
    return TensorVariable(_native.contract(left._expr, right._expr, spec))


def outer(x: Any, y: Any) -> TensorVariable:
    """The matrix of the products of every element of x with every element of y."""
    return TensorVariable(_native.outer(expr_of(x), expr_of(y)))


def batched_dot(a: Any, b: Any) -> TensorVariable:
    """The matrix product of each pair along the first axis of both."""
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
