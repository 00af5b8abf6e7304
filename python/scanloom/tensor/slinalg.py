"""Functions of matrices that scipy has."""

from __future__ import annotations

from typing import Any

from .._errors import InvalidArgument
from .._variable import TensorVariable, as_tensor_variable
from ._elimination import eliminated, factored, matrix_of


def solve(a: Any, b: Any) -> TensorVariable:
    """x of a x = b, for a vector b or for every column of a matrix."""
    matrix, right = matrix_of(a, "solve"), as_tensor_variable(b)
    if right.ndim not in (1, 2):
        raise InvalidArgument(f"solve for {right}, which has {right.ndim} axes, not 1 or 2")
    if right.ndim == 2:
        return eliminated(matrix, right)[0]
    return eliminated(matrix, right.dimshuffle(0, "x"))[0][:, 0]


def cholesky(x: Any) -> TensorVariable:
    """The lower triangle L of L L^T = x; only the lower triangle of x is read."""
    return factored(matrix_of(x, "cholesky"))
