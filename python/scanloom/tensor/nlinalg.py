"""Functions of matrices. Those of square matrices also take batches along the first axes."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable
from .._missing import NLINALG, refuse
from ._matrices import matrix_of
from ._reductions import dot
from ._reductions import norm as _norm
from ._shaping import diag, diagonal, eye

extract_diag = diagonal
alloc_diag = diag


def trace(x: Any) -> TensorVariable:
    """The sum of the diagonal of a matrix, or of each matrix of a batch."""
    return diagonal(matrix_of(x, "trace"), 0, -2, -1).sum(axis=-1)


class MatrixInverse:
    """The inverse. The run raises scanloom.SingularMatrix if a matrix has none."""

    def __call__(self, x: Any) -> TensorVariable:
        return TensorVariable(_native.inverse(matrix_of(x, "matrix_inverse")._expr))


class Det:
    """The determinant."""

    def __call__(self, x: Any) -> TensorVariable:
        return TensorVariable(_native.det(matrix_of(x, "det")._expr))


matrix_inverse = inv = MatrixInverse()
det = Det()


def slogdet(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """The sign of the determinant and the logarithm of its magnitude, as in numpy."""
    sign, log = _native.slogdet(matrix_of(x, "slogdet")._expr)
    return TensorVariable(sign), TensorVariable(log)


def matrix_dot(*matrices: Any) -> TensorVariable:
    """The product of all arguments."""
    product = as_tensor_variable(matrices[0])
    for matrix in matrices[1:]:
        product = dot(product, matrix)
    return product


def matrix_power(M: Any, n: int) -> TensorVariable:
    """The n-th power of a matrix; a negative power uses the inverse."""
    if not isinstance(n, int):
        raise InvalidArgument(f"matrix_power: the power is {n!r}, but must be an integer")
    base = matrix_of(M, "matrix_power")
    if base.ndim != 2:
        raise InvalidArgument(f"matrix_power of {base}, which has {base.ndim} axes, not 2")
    if n < 0:
        base, n = matrix_inverse(base), -n
    result: Union[TensorVariable, None] = None
    while n > 0:
        if n % 2 == 1:
            result = base if result is None else dot(result, base)
        n //= 2
        if n > 0:
            base = dot(base, base)
    return eye(base.shape[0], dtype=base.dtype) if result is None else result


def norm(x: Any, ord: Any = None) -> TensorVariable:  # noqa: A002 - Theano's name
    """The norm of a vector or matrix as in numpy.linalg.norm, except those of singular values.

    ord: None or "fro", the root of the sum of squares; for a vector also a number, inf, -inf or 0;
    for a matrix also 1, -1, inf or -inf.
    """
    made = as_tensor_variable(x)
    if made.ndim not in (1, 2):
        raise InvalidArgument(f"norm of {made}, which has {made.ndim} axes, not 1 or 2")
    if ord is None or (ord == "fro" and made.ndim == 2):
        return (made * made).sum() ** 0.5
    if made.ndim == 1:
        if not isinstance(ord, (int, float)):
            raise InvalidArgument(f"norm of a vector: ord is {ord!r}, but must be a number")
        if abs(ord) == float("inf"):
            return abs(made).max() if ord > 0 else abs(made).min()
        if ord == 0:
            return TensorVariable(_native.neq(made._expr, _native.whole(0))).sum()
        return _norm(made, ord)
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise InvalidArgument(
            f"norm of a matrix: ord is {ord!r}, but must be None, 'fro', 1, -1, inf or -inf",
            ("norms of singular values are not supported",),
        )
    sums = abs(made).sum(axis=0 if abs(ord) == 1 else 1)
    return sums.max() if ord > 0 else sums.min()


def __getattr__(name: str) -> Any:
    return refuse("T.nlinalg", name, NLINALG, globals())
