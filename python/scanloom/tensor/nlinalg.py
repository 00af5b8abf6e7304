"""Functions of matrices. Those of square ones take batches, too, along the first axes."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._errors import InvalidArgument
from .._variable import TensorVariable, as_tensor_variable
from ._matrices import matrix_of
from ._reductions import dot
from ._shaping import diag, diagonal, eye

extract_diag = diagonal
alloc_diag = diag


def trace(x: Any) -> TensorVariable:
    """The sum of the diagonal of a matrix."""
    return diagonal(x).sum()


class MatrixInverse:
    """The inverse. When it runs, scanloom.SingularMatrix for a matrix that has none."""

    def __call__(self, x: Any) -> TensorVariable:
        return TensorVariable(_native.inverse(matrix_of(x, "matrix_inverse")._expr))


class Det:
    """The determinant."""

    def __call__(self, x: Any) -> TensorVariable:
        return TensorVariable(_native.det(matrix_of(x, "det")._expr))


matrix_inverse = inv = MatrixInverse()
det = Det()


def slogdet(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """The sign of the determinant and the logarithm of its magnitude, as numpy's."""
    sign, log = _native.slogdet(matrix_of(x, "slogdet")._expr)
    return TensorVariable(sign), TensorVariable(log)


def matrix_dot(*matrices: Any) -> TensorVariable:
    """The product of all arguments."""
    product = as_tensor_variable(matrices[0])
    for matrix in matrices[1:]:
        product = dot(product, matrix)
    return product


def matrix_power(M: Any, n: int) -> TensorVariable:
    """M multiplied n times; a negative power is one of the inverse."""
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
