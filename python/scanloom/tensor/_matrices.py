"""Checks of matrix arguments."""

from __future__ import annotations

from typing import Any

from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable


def matrix_of(x: Any, what: str) -> TensorVariable:
    """Converts x to a matrix, or a batch of them along the first axes. Raises InvalidArgument."""
    made = as_tensor_variable(x)
    if made.ndim < 2:
        raise InvalidArgument(f"{what} of {made}, which has {made.ndim} axes, not 2")
    return made
