"""Matrix functions of scipy. They also take batches along the first axes."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._errors import InvalidArgument
from .._missing import SLINALG, refuse
from .._theano.variable import TensorVariable, as_tensor_variable
from ._matrices import matrix_of

_STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular")


class Solve:
    """Solves a x = b for x, with a vector b or for each column of a matrix b.

    Reads only the triangle of `a` if it is triangular. The run raises scanloom.SingularMatrix if
    `a` has no inverse.
    """

    def __init__(
        self,
        A_structure: str = "general",
        lower: bool = False,
        overwrite_A: bool = False,
        overwrite_b: bool = False,
    ) -> None:
        if A_structure not in _STRUCTURES:
            raise InvalidArgument(f"Solve: A_structure is {A_structure!r}, not one of {_STRUCTURES}")
        self.A_structure = A_structure
        self.lower = A_structure == "lower_triangular"

    def __call__(self, A: Any, b: Any) -> TensorVariable:
        matrix, right = matrix_of(A, "solve"), as_tensor_variable(b)
        if right.ndim == 0:
            raise InvalidArgument(f"solve for {right}, which has no axis")
        if self.A_structure in ("general", "symmetric"):
            return TensorVariable(_native.solve(matrix._expr, right._expr))
        return TensorVariable(
            _native.triangular_solve(matrix._expr, right._expr, self.lower, False, False)
        )


class Cholesky:
    """The triangular L with L L^T = x, or U with U^T U = x; reads only that triangle of x.

    The run raises scanloom.SingularMatrix if x is not positive definite.
    """

    def __init__(
        self, lower: bool = True, destructive: bool = False, on_error: str = "raise"
    ) -> None:
        if on_error != "raise":
            raise InvalidArgument(f"Cholesky: on_error is {on_error!r}, but must be 'raise'")
        self.lower = bool(lower)

    def __call__(self, x: Any) -> TensorVariable:
        return TensorVariable(_native.cholesky(matrix_of(x, "cholesky")._expr, self.lower))


solve = Solve()
solve_symmetric = Solve("symmetric")
solve_lower_triangular = Solve("lower_triangular")
solve_upper_triangular = Solve("upper_triangular")
cholesky = Cholesky()


def kron(a: Any, b: Any) -> TensorVariable:
    """The Kronecker product of two matrices or vectors."""
    left, right = as_tensor_variable(a), as_tensor_variable(b)
    if max(left.ndim, right.ndim) != 2 or min(left.ndim, right.ndim) < 1:
        raise InvalidArgument(f"kron of {left.ndim} and {right.ndim} axes: two of 2, or one of 1")
    if left.ndim == 1:
        left = left.dimshuffle("x", 0)
    if right.ndim == 1:
        right = right.dimshuffle("x", 0)
    blocks = left.dimshuffle(0, "x", 1, "x") * right.dimshuffle("x", 0, "x", 1)
    return blocks.reshape((left.shape[0] * right.shape[0], left.shape[1] * right.shape[1]))


def __getattr__(name: str) -> Any:
    return refuse("T.slinalg", name, SLINALG, globals())
