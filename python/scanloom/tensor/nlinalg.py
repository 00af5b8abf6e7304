"""Functions of matrices."""

from __future__ import annotations

from typing import Any

from .._variable import TensorVariable
from ._shaping import diag, diagonal

extract_diag = diagonal
alloc_diag = diag


def trace(x: Any) -> TensorVariable:
    """The sum of the diagonal of a matrix."""
    return diagonal(x).sum()
