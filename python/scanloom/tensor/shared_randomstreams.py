"""Streams of random numbers, whose states are shared variables."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .. import _native
from .._errors import InvalidArgument, InvalidType
from .._missing import STREAMS, lacking
from .._theano.config import config
from .._theano.scan import scan
from .._theano.shared import SharedVariable, shared_variable
from .._theano.step import until
from .._theano.types import dtype_name
from .._theano.variable import TensorVariable, as_tensor_variable, expr_of, sizes_of
from ._reductions import all as every, max as greatest
from ._shaping import arange, concatenate, shape_padright, zeros


class RandomStreams:
    """Random draws from one seed; without a seed, from one of the system.

    Each draw is a separate stream (Philox 4x32-10), which does not depend on the machine or the
    number of threads. It advances with every call of a function and with every step of a loop; in a
    loop only if the function is passed the loop's updates.

    Numbers and arrays as parameters are checked when the draw is written. Variables are not
    checked: for example, a negative deviation mirrors the distribution.
    """

    def __init__(self, seed: Union[int, None] = None) -> None:
        self._native = _native.RandomStreams(_seed(seed))

    def uniform(
        self, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None,
    ) -> TensorVariable:
        """Uniform in [low, high). The default size is the shape that low and high broadcast to."""
        name = _real(dtype)
        _check_range("uniform", low, high)
        bits = TensorVariable(self._native.uniform(_shape(size, ndim, low, high), name))
        least, greatest = _as(low, name), _as(high, name)
        return bits if _are(low, 0.0) and _are(high, 1.0) else least + bits * (greatest - least)

    def normal(
        self, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None,
    ) -> TensorVariable:
        """Normal, with that mean and deviation."""
        name = _real(dtype)
        deviation = _number(std)
        if deviation is not None and not np.all(deviation >= 0):
            raise InvalidArgument(f"normal: std is {_shown(deviation)}, but must not be negative")
        bits = TensorVariable(self._native.normal(_shape(size, ndim, avg, std), name))
        return bits if _are(avg, 0.0) and _are(std, 1.0) else _as(avg, name) + bits * _as(std, name)

    def binomial(
        self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: Union[int, None] = None,
        dtype: Any = "int64", prob: Any = None,
    ) -> TensorVariable:
        """The number of successes in n trials with probability p each; n is one integer, possibly a
        variable."""
        trials = self._trials(n)
        chance = as_tensor_variable(p if prob is None else prob)
        known = _number(chance)
        if known is not None and not np.all((known >= 0) & (known <= 1)):
            raise InvalidArgument(f"binomial: p is {_shown(known)}, but must be between 0 and 1")
        real = "float32" if chance.dtype == "float32" else "float64"
        shape = _shape(size, ndim, chance)
        if not isinstance(n, TensorVariable) and n == 1:
            hits = TensorVariable(self._native.uniform(shape, real)) < chance
        else:
            every = _native.shape_of([trials, shape])
            draws = TensorVariable(self._native.uniform(every, real)) < chance
            hits = draws.astype("int64").sum(axis=0)
        return hits.astype(dtype_name(dtype))

    @staticmethod
    def _trials(n: Any) -> _native.Expr:
        if isinstance(n, TensorVariable):
            if n.ndim != 0 or not n.dtype.startswith(("int", "uint")):
                raise InvalidType(f"binomial: n is {n}, {n.type}, but must be one integer")
            return n._expr
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidArgument(f"binomial: n is {n!r:.80}, but must be one positive integer")
        return _native.whole(int(n))

    def random_integers(
        self, size: Any = None, low: Any = 0, high: Any = 1, ndim: Union[int, None] = None,
        dtype: Any = "int64",
    ) -> TensorVariable:
        """Integers from low to high, inclusive."""
        _check_range("random_integers", low, high)
        bits = TensorVariable(self._native.uniform(_shape(size, ndim, low, high), "float64"))
        least, greatest = _as(low, "float64"), _as(high, "float64")
        span = greatest - least + 1.0
        return TensorVariable(_native.floor((least + bits * span)._expr)).astype(dtype_name(dtype))

    def poisson(
        self, size: Any = None, lam: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = "int64",
    ) -> TensorVariable:
        """The number of events if lam are expected, found by a loop of about lam steps."""
        known = _number(lam)
        if known is not None and not (np.all(known >= 0) and np.all(np.isfinite(known))):
            raise InvalidArgument(f"poisson: lam is {_shown(known)}, but must be at least 0")
        rate = _as(lam, "float64")
        bits = TensorVariable(self._native.uniform(_shape(size, ndim, rate), "float64"))
        return _first_above(bits, rate + bits * 0.0).astype(dtype_name(dtype))

    def multinomial(
        self, size: Any = None, n: Any = 1, pvals: Any = None, ndim: Union[int, None] = None,
        dtype: Any = "int64",
    ) -> TensorVariable:
        """How many of n draws fall into each class, with the probabilities in the last axis of
        pvals.

        size: the number of such rows, if pvals is a vector.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidArgument(f"multinomial: n is {n!r}, but must be a positive integer")
        chances = as_tensor_variable([[0.5, 0.5]] if pvals is None else pvals)
        if chances.ndim == 0:
            raise InvalidArgument("multinomial: pvals is one number, but must be a list of them")
        upper = chances.cumsum(axis=chances.ndim - 1)
        if size is None:
            rows = _native.shape(chances[..., 0]._expr)
        else:
            rows = _shape(size, None if chances.ndim == 1 else chances.ndim - 1)
        every = _native.shape_of([_native.whole(int(n)), rows])
        bits = TensorVariable(self._native.uniform(every, _floats_of(chances)))
        at = _class_of(bits, upper)
        classes = _native.shape_of([expr_of(chances.shape[chances.ndim - 1])])
        numbers = arange(TensorVariable(classes)[0])
        hits = TensorVariable(_native.eq(shape_padright(at)._expr, numbers._expr))
        return hits.astype("int64").sum(axis=0).astype(dtype_name(dtype))

    def choice(
        self, size: Any = None, a: Any = 2, replace: bool = True, p: Any = None,
        ndim: Union[int, None] = None, dtype: Any = "int64",
    ) -> TensorVariable:
        """Numbers below a, or elements of the vector a; equally likely or with probabilities p."""
        among = as_tensor_variable(a)
        if among.ndim > 1:
            raise InvalidArgument(f"choice: a has {among.ndim} axes, but must be a number or vector")
        count = among.shape[0] if among.ndim == 1 else among.astype("int64")
        shape = _shape(() if size is None else size, ndim)
        if replace and p is None:
            bits = TensorVariable(self._native.uniform(shape, "float64"))
            at = TensorVariable(_native.floor((bits * count)._expr)).astype("int64")
        elif replace:
            bits = TensorVariable(self._native.uniform(shape, "float64"))
            at = _class_of(bits, as_tensor_variable(p).cumsum(axis=0))
        else:
            # Ordered by exponential clocks with the rates p.
            every = self._native.uniform(_native.shape_of([expr_of(count)]), "float64")
            clock = -TensorVariable(_native.log1p((-TensorVariable(every))._expr))
            order = (clock if p is None else clock / as_tensor_variable(p)).argsort()
            sizes = TensorVariable(shape)
            at = order[: sizes.prod()].reshape(sizes, ndim=shape.sizes[0])
        return (among[at] if among.ndim == 1 else at).astype(
            among.dtype if among.ndim == 1 else dtype_name(dtype)
        )

    def permutation(
        self, size: Any = None, n: Any = 1, ndim: Union[int, None] = None, dtype: Any = "int64"
    ) -> TensorVariable:
        """Random permutations of the numbers below n, `size` of them."""
        rows = _shape(() if size is None else size, ndim)
        every = _native.shape_of([rows, expr_of(as_tensor_variable(n).astype("int64"))])
        bits = TensorVariable(self._native.uniform(every, "float64"))
        return bits.argsort(axis=-1).astype(dtype_name(dtype))

    def shuffle_row_elements(self, input: Any) -> TensorVariable:  # noqa: A002 - Theano's name
        """Shuffles the elements of a vector, or of each row along the last axis."""
        made = as_tensor_variable(input)
        if made.ndim not in (1, 2):
            raise InvalidArgument(f"shuffle_row_elements of {made.ndim} axes, not 1 or 2")
        bits = TensorVariable(self._native.uniform(_native.shape(made._expr), "float64"))
        order = bits.argsort(axis=-1)
        if made.ndim == 1:
            return made[order]
        return made[arange(made.shape[0]).dimshuffle(0, "x"), order]

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            return lacking("a stream", name, STREAMS, dir(self))

    def updates(self) -> list[tuple[SharedVariable, TensorVariable]]:
        """All streams with their next states, as pairs."""
        return [
            (shared_variable(stream), TensorVariable(value))
            for stream, value in self._native.updates()
        ]

    def seed(self, seed: Union[int, None] = None) -> None:
        """Restarts all streams from a new seed."""
        self._native.seed(_seed(seed))


def _class_of(bits: TensorVariable, upper: TensorVariable) -> TensorVariable:
    """The class whose share of [0, 1) each draw falls into; the last class takes the rest."""
    below = _native.ge(shape_padright(bits)._expr, upper[..., :-1]._expr)
    return TensorVariable(below).astype("int64").sum(axis=-1)


def _first_above(bits: TensorVariable, rate: TensorVariable) -> TensorVariable:
    """The smallest number at which the Poisson distribution function exceeds `bits`."""
    log_rate = TensorVariable(_native.log(rate._expr))
    most = greatest(concatenate([rate.flatten(), zeros((1,), "float64")]))
    # The remaining probability is less than 2^-53.
    steps = (most + 10.0 * most**0.5 + 40.0).astype("int64")

    def step(k: Any, log_term: Any, total: Any, found: Any, bits: Any, log_rate: Any) -> Any:
        # In logarithms, because the first terms of a large rate would underflow, and so all others.
        total = total + TensorVariable(_native.exp(log_term._expr))
        above = TensorVariable(_native.ge(bits._expr, total._expr))
        log_term = log_term + log_rate - TensorVariable(_native.log((k + 1.0)._expr))
        found = found + above.astype("int64")
        return (log_term, total, found), until(every(TensorVariable(_native.invert(above._expr))))

    count = TensorVariable(_native.cast(arange(steps)._expr, "float64"))
    begin = [-rate, rate * 0.0, (rate * 0.0).astype("int64")]
    # Pass as non_sequences, or each step would draw again.
    (_, _, found), _ = scan(step, count, begin, [bits, log_rate], name="poisson")
    last: TensorVariable = found[-1]
    return last


def _floats_of(x: TensorVariable) -> str:
    return "float32" if x.dtype == "float32" else "float64"


def _seed(seed: Any) -> int:
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InvalidType(f"a seed must be an integer, not {seed!r}")
    return int(seed) % 2**64


def _real(dtype: Any) -> str:
    name = config.floatX if dtype is None else dtype_name(dtype)
    if name not in ("float32", "float64", "float16", "bfloat16"):
        raise InvalidType(
            "the dtype of these random samples must be float16, bfloat16, float32 or float64, "
            f"not {name}"
        )
    return name


def _as(value: Any, dtype: str) -> TensorVariable:
    return TensorVariable(_native.cast(expr_of(value), dtype))


def _are(value: Any, number: float) -> bool:
    """Whether the value is exactly this number, so that a scale or shift by it changes nothing."""
    return isinstance(value, (int, float)) and value == number


def _number(value: Any) -> Any:
    """The elements of a constant or plain value; None if known only at run time."""
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
    """The shape of a draw; the default is the shape that its parameters broadcast to."""
    if size is None:
        together = as_tensor_variable(parameters[0])
        for other in parameters[1:]:
            together = together * as_tensor_variable(other)
        shape = _native.shape(together._expr)
    else:
        shape = sizes_of(size)
    if ndim is not None and shape.sizes[0] not in (-1, ndim):
        raise InvalidArgument(f"random samples with {ndim} axes have a size with {shape.sizes[0]}")
    if shape.sizes[0] < 0:
        if ndim is None:
            raise InvalidArgument("the number of axes of the samples is unknown; pass ndim=")
        sizes = TensorVariable(shape)
        shape = _native.shape_of([sizes[i]._expr for i in range(ndim)])
    return shape
