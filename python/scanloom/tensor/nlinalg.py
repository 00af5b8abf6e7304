"""Functions of matrices."""

from __future__ import annotations

from typing import Any

from .._variable import TensorVariable, as_tensor_variable
from ._elimination import eliminated, matrix_of
from ._reductions import dot
from ._shaping import diag, diagonal, eye

extract_diag = diagonal
alloc_diag = diag


def trace(x: Any) -> TensorVariable:
    """The sum of the diagonal of a matrix."""
    return diagonal(x).sum()


def matrix_inverse(x: Any) -> TensorVariable:
    """Of a matrix that has none, infinities or NaN."""
    matrix = matrix_of(x, "matrix_inverse")
    return eliminated(matrix, eye(matrix.shape[0], dtype=matrix.dtype))[0]


def det(x: Any) -> TensorVariable:
    """The determinant."""
    matrix = matrix_of(x, "det")
    return eliminated(matrix, matrix[:, :0])[1]


def matrix_dot(*matrices: Any) -> TensorVariable:
    """The product of all arguments."""
    product = as_tensor_variable(matrices[0])
    for matrix in matrices[1:]:
        product = dot(product, matrix)
    return product
