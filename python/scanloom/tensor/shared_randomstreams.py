"""Streams of random numbers, whose state is shared variables."""

from __future__ import annotations

import secrets
from typing import Any, Union

import numpy as np

from .. import _native
from .._config import config
from .._errors import InvalidArgument, InvalidType
from .._shared import SharedVariable
from .._types import dtype_name
from .._variable import TensorVariable, as_tensor_variable, expr_of, sizes_of


class RandomStreams:
    """Draws from one seed; without one, from a seed of the system.

    Every draw is a stream of its own, the same on every machine and for any number of threads
    (Philox 4x32-10). It advances with every call of a function and every step of a loop, in a loop
    only where the function is given the loop's updates.

    Parameters that are numbers or arrays are checked where the draw is written; of variables the
    formula gives what it gives: a negative deviation mirrors a draw.
    """

    def __init__(self, seed: Union[int, None] = None) -> None:
        self._native = _native.RandomStreams(_seed(seed))

    def uniform(
        self, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None,
    ) -> TensorVariable:
        """In [low, high). Without a size of the shape that low and high broadcast to."""
        name = _real(dtype)
        _check_range("uniform", low, high)
        bits = TensorVariable(self._native.uniform(_shape(size, ndim, low, high), name))
        least, greatest = _as(low, name), _as(high, name)
        return bits if (low, high) == (0.0, 1.0) else least + bits * (greatest - least)

    def normal(
        self, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None,
    ) -> TensorVariable:
        """Of that mean and deviation."""
        name = _real(dtype)
        deviation = _number(std)
        if deviation is not None and not np.all(deviation >= 0):
            raise InvalidArgument(f"normal: std is {_shown(deviation)}, but must not be negative")
        bits = TensorVariable(self._native.normal(_shape(size, ndim, avg, std), name))
        return bits if (avg, std) == (0.0, 1.0) else _as(avg, name) + bits * _as(std, name)

    def binomial(
        self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: Union[int, None] = None,
        dtype: Any = "int64", prob: Any = None,
    ) -> TensorVariable:
        """How many of n trials succeed, each with probability p."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidArgument(f"binomial: n is {n!r}, but must be a positive integer")
        chance = as_tensor_variable(p if prob is None else prob)
        known = _number(chance)
        if known is not None and not np.all((known >= 0) & (known <= 1)):
            raise InvalidArgument(f"binomial: p is {_shown(known)}, but must lie between 0 and 1")
        real = "float32" if chance.dtype == "float32" else "float64"
        shape = _shape(size, ndim, chance)
        if n == 1:
            hits = TensorVariable(self._native.uniform(shape, real)) < chance
        else:
            every = _native.shape_of([_native.whole(int(n)), shape])
            draws = TensorVariable(self._native.uniform(every, real)) < chance
            hits = draws.astype("int64").sum(axis=0)
        return hits.astype(dtype_name(dtype))

    def random_integers(
        self, size: Any = None, low: Any = 0, high: Any = 1, ndim: Union[int, None] = None,
        dtype: Any = "int64",
    ) -> TensorVariable:
        """From low to high, both included."""
        _check_range("random_integers", low, high)
        bits = TensorVariable(self._native.uniform(_shape(size, ndim, low, high), "float64"))
        least, greatest = _as(low, "float64"), _as(high, "float64")
        span = greatest - least + 1.0
        return TensorVariable(_native.floor((least + bits * span)._expr)).astype(dtype_name(dtype))

    def updates(self) -> list[tuple[SharedVariable, TensorVariable]]:
        """All streams and what a draw makes of them, as pairs."""
        return [
            (SharedVariable(stream), TensorVariable(value))
            for stream, value in self._native.updates()
        ]

    def seed(self, seed: Union[int, None] = None) -> None:
        """Begins all streams anew."""
        self._native.seed(_seed(seed))


def _seed(seed: Any) -> int:
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InvalidType(f"a seed is an integer, not {seed!r}")
    return int(seed) % 2**64


def _real(dtype: Any) -> str:
    name = config.floatX if dtype is None else dtype_name(dtype)
    if name not in ("float32", "float64", "float16", "bfloat16"):
        raise InvalidType(f"a draw of reals has the dtype {name}, but must have one of reals")
    return name


def _as(value: Any, dtype: str) -> TensorVariable:
    return TensorVariable(_native.cast(expr_of(value), dtype))


def _number(value: Any) -> Any:
    """The elements of a constant or of what is no variable; None where only a run knows them."""
    return getattr(as_tensor_variable(value), "data", None)


def _shown(elements: Any) -> str:
    if elements.size == 1:
        return str(elements)
    return f"an array from {elements.min()} to {elements.max()}"


def _check_range(what: str, low: Any, high: Any) -> None:
    least, greatest = _number(low), _number(high)
    if least is None or greatest is None or np.all(least <= greatest):
        return
    raise InvalidArgument(
        f"{what}: low is {_shown(least)} and high {_shown(greatest)}, but low must not be greater"
    )


def _shape(size: Any, ndim: Union[int, None], *parameters: Any) -> _native.Expr:
    """The shape of a draw; without a size that of its parameters together."""
    if size is None:
        together = as_tensor_variable(parameters[0])
        for other in parameters[1:]:
            together = together * as_tensor_variable(other)
        shape = _native.shape(together._expr)
    else:
        shape = sizes_of(size)
    if ndim is not None and shape.sizes[0] not in (-1, ndim):
        raise InvalidArgument(f"a draw of {ndim} axes has a size with {shape.sizes[0]}")
    if shape.sizes[0] < 0:
        if ndim is None:
            raise InvalidArgument("the number of axes of a draw is not known; say ndim=")
        sizes = TensorVariable(shape)
        shape = _native.shape_of([sizes[i]._expr for i in range(ndim)])
    return shape
