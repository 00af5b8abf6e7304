"""Systems of linear equations, as loops over columns: their gradients are those of the loops."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._errors import InvalidArgument
from .._scan import scan
from .._variable import TensorVariable, as_tensor_variable
from ._elementwise import abs_, eq, ge, sqrt, switch
from ._reductions import argmax, dot, outer
from ._shaping import arange, concatenate, set_subtensor, stack


def matrix_of(x: Any, what: str) -> TensorVariable:
    """A matrix of reals. Raises InvalidArgument."""
    made = as_tensor_variable(x)
    if made.ndim != 2:
        raise InvalidArgument(f"{what} of {made}, which has {made.ndim} axes, not 2")
    return made if made.dtype in ("float32", "float64") else made.astype("float64")


def eliminated(left: TensorVariable, right: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """(left^-1 right, the determinant of left), by elimination with the greatest pivots."""
    count = left.shape[0]
    rows = arange(count)

    def step(k: TensorVariable, both: TensorVariable) -> list[TensorVariable]:
        column = abs_(both[:, k])
        pivot = argmax(switch(ge(rows, k), column, -1.0))
        order = switch(eq(rows, k), pivot, switch(eq(rows, pivot), k, rows))
        swapped = both[order]
        value = swapped[k, k]
        line = swapped[k] / value
        rest = set_subtensor((swapped - outer(swapped[:, k], line))[k], line)
        return [rest, switch(eq(pivot, k), value, -value)]

    (states, pivots), _ = scan(
        step, rows, [concatenate([left, right], axis=1), None], name="elimination", n_steps=count
    )
    return states[-1][:, count:], pivots.prod()


def factored(matrix: TensorVariable) -> TensorVariable:
    """The lower triangle L of L L^T = matrix, column by column."""
    count = matrix.shape[0]
    rows = arange(count)

    def step(k: TensorVariable, done: TensorVariable) -> TensorVariable:
        rest = matrix[:, k] - dot(done, done[k])
        column = switch(ge(rows, k), rest, 0.0) / sqrt(rest[k])
        return set_subtensor(done[:, k], column)

    begin = TensorVariable(_native.zeros(stack([count, count])._expr, matrix.dtype))
    states, _ = scan(step, rows, begin, name="cholesky", n_steps=count)
    last: TensorVariable = states[-1]
    return last
