"""The operators in steps of random scans (scan_programs): each once for expressions and once for
numpy. In numpy, numbers may be complex: derivatives are their imaginary parts, and decisions use
the real parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np

Shape = tuple[int, ...]
Made = Optional[tuple[list[int], Shape, Any]]  # what is read, the shape of the result, numbers


class Operator(NamedTuple):
    make: Callable[[Any, list[int]], Made]
    apply: Callable[..., Any]  # (module, how, *values)


class Numpy:
    """The functions that programs use, over complex arrays."""

    def __init__(self, decisions: list[Any]) -> None:
        self.decisions = decisions
        self.tanh, self.sin, self.cos, self.exp, self.log = np.tanh, np.sin, np.cos, np.exp, np.log
        self.sqrt, self.dot, self.outer, self.concatenate = np.sqrt, np.dot, np.outer, np.concatenate
        self.stack, self.roll, self.cumsum = np.stack, np.roll, np.cumsum

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def softplus(x: Any) -> Any:
        return np.log(1 + np.exp(x))

    @staticmethod
    def softmax(x: Any) -> Any:
        powers = np.exp(x)
        return powers / powers.sum(axis=-1, keepdims=True)

    def switch(self, x: Any, limit: float, a: Any, b: Any) -> Any:
        above = np.real(x) > limit
        self.decisions.append(above)
        return np.where(above, a, b)

    branch = switch

    def maximum(self, a: Any, b: Any) -> Any:
        return self.switch(a - b, 0, a, b)

    def greatest(self, x: Any, axis: int) -> Any:
        at = np.expand_dims(np.real(x).argmax(axis=axis), axis)
        self.decisions.append(at)
        return np.take_along_axis(x, at, axis).squeeze(axis)

    def absolute(self, x: Any) -> Any:
        return self.switch(x, 0, x, -x)

    @staticmethod
    def set_part(x: Any, at: Any, part: Any) -> Any:
        made = np.array(np.broadcast_to(x, np.shape(x)), np.result_type(x, part))
        made[at] = part
        return made

    @staticmethod
    def increase_part(x: Any, at: Any, part: Any) -> Any:
        made = np.array(x, np.result_type(x, part))
        np.add.at(made, at, part)
        return made


class Expressions:
    """The same as Scanloom's expressions."""

    def __init__(self) -> None:
        import scanloom.tensor as T
        from scanloom.ifelse import ifelse

        self.T, self.ifelse = T, ifelse
        self.tanh, self.sin, self.cos, self.exp, self.log = T.tanh, T.sin, T.cos, T.exp, T.log
        self.sqrt, self.dot, self.outer, self.concatenate = T.sqrt, T.dot, T.outer, T.concatenate
        self.stack, self.roll, self.cumsum = T.stack, T.roll, T.cumsum
        self.sigmoid, self.softplus = T.nnet.sigmoid, T.nnet.softplus
        self.maximum, self.absolute = T.maximum, T.abs_

    def softmax(self, x: Any) -> Any:
        return self.T.nnet.softmax(x)[0] if x.ndim == 1 else self.T.nnet.softmax(x)

    def switch(self, x: Any, limit: float, a: Any, b: Any) -> Any:
        return self.T.switch(self.T.gt(x, limit), a, b)

    def branch(self, x: Any, limit: float, a: Any, b: Any) -> Any:
        return self.ifelse(self.T.gt(x, limit), a, b)

    def greatest(self, x: Any, axis: int) -> Any:
        return x.max(axis=axis)

    def set_part(self, x: Any, at: Any, part: Any) -> Any:
        return self.T.set_subtensor(x[self._index(at)], part)

    def increase_part(self, x: Any, at: Any, part: Any) -> Any:
        return self.T.inc_subtensor(x[self._index(at)], part)

    def _index(self, at: Any) -> Any:
        return self.T.constant(np.array(at)) if isinstance(at, list) else at


def expression(node: Any, values: dict[int, Any]) -> Any:
    made = [values[name] for name in node.inputs]
    return OPERATORS[node.operator].apply(Expressions(), node.how, *made)


def computed(node: Any, values: dict[int, Any], decisions: list[Any]) -> Any:
    made = [values[name] for name in node.inputs]
    result = OPERATORS[node.operator].apply(Numpy(decisions), node.how, *made)
    return np.asarray(result)


# --- which operands an operator takes -----------------------------------------------------------


def _one(fits: Callable[[Shape], bool], shape: Callable[[Shape], Shape], how: Any = None) -> Any:
    def make(maker: Any, seen: list[int]) -> Made:
        name = maker.value(seen, fits)
        if name is None:
            return None
        size = maker.shapes[name]
        return [name], shape(size), how(maker.source, size) if how else None

    return make


def _pointwise(function: Callable[[Any, Any], Any]) -> Operator:
    return Operator(_one(lambda s: True, lambda s: s), lambda m, how, x: function(m, x))


def _pair(function: Callable[[Any, Any, Any], Any]) -> Operator:
    """Two operands of one shape, or one of which broadcasts."""

    def make(maker: Any, seen: list[int]) -> Made:
        a = maker.value(seen)
        wide = maker.shapes[a]
        b = maker.value(seen, lambda s: len(s) <= len(wide) and s == wide[len(wide) - len(s) :])
        swapped = maker.source.chance(1, 2)
        return ([b, a] if swapped else [a, b]), wide, None

    return Operator(make, lambda m, how, a, b: function(m, a, b))


def _product(maker: Any, seen: list[int]) -> Made:
    a = maker.value(seen, lambda s: len(s) in (1, 2))
    if a is None:
        return None
    left = maker.shapes[a]
    b = maker.value(seen, lambda s: len(s) in (1, 2) and s[0] == left[-1])
    return None if b is None else ([a, b], left[:-1] + maker.shapes[b][1:], None)


def _vectors(maker: Any, seen: list[int]) -> Made:
    a, b = (maker.value(seen, lambda s: len(s) == 1 and s[0] < 4) for _ in range(2))
    return None if a is None else ([a, b], maker.shapes[a] + maker.shapes[b], None)


def _same(count: int) -> Any:
    """Operands of one shape that has axes."""

    def make(maker: Any, seen: list[int]) -> Made:
        a = maker.value(seen, lambda s: len(s) > 0)
        if a is None:
            return None
        shape = maker.shapes[a]
        rest = [maker.value(seen, lambda s: s == shape) for _ in range(count - 1)]
        return [a, *rest], shape, maker.source.pick(shape[0])

    return make


def _choice(maker: Any, seen: list[int], decides: Callable[[Shape, Shape], bool]) -> Made:
    a = maker.value(seen)
    shape = maker.shapes[a]
    b = maker.value(seen, lambda s: s == shape)
    test = maker.value(seen, lambda s: decides(s, shape))
    limit = maker.source.of((0.0371, -0.2113, 0.4177))
    return None if test is None else ([test, a, b], shape, limit)


def _row(maker: Any, seen: list[int]) -> Made:
    """A value and one of its rows, to be written there."""
    a = maker.value(seen, lambda s: len(s) > 0)
    if a is None:
        return None
    shape = maker.shapes[a]
    part = maker.value(seen, lambda s: s == shape[1:])
    return None if part is None else ([a, part], shape, maker.source.pick(2 * shape[0]) - shape[0])


def _counted(maker: Any, seen: list[int]) -> Made:
    """A row that the number of the step says."""
    if maker.counter is None:
        return None
    a = maker.value(seen, lambda s: len(s) > 0)
    if a is None:
        return None
    how = (1 + maker.source.pick(2), maker.source.pick(3), maker.shapes[a][0])
    return [maker.counter, a], maker.shapes[a][1:], how


def _counted_row(m: Any, how: Any, counter: Any, x: Any) -> Any:
    factor, term, size = how
    return x[(factor * counter + term) % size]


def _indices(source: Any, shape: Shape) -> list[int]:
    return [source.pick(shape[0]) for _ in range(shape[0])]


def _picked_rows(m: Any, how: list[int], x: Any) -> Any:
    return x[m._index(how)] if isinstance(m, Expressions) else x[how]


def _greatest_of(maker: Any, seen: list[int]) -> Made:
    name = maker.value(seen, _has_axes)
    if name is None:
        return None
    shape = maker.shapes[name]
    axis = maker.source.of((0, len(shape) - 1))
    return [name], shape[:axis] + shape[axis + 1 :], (axis, len(shape), shape[axis])


def _greatest(m: Any, how: Any, x: Any) -> Any:
    axis, rank, size = how
    # Where several elements are the greatest, there is no derivative.
    apart = 0.0371 * np.arange(size).reshape([-1 if i == axis else 1 for i in range(rank)])
    return m.greatest(x + apart, axis)


def _has_axes(shape: Shape) -> bool:
    return len(shape) > 0


def _without(shape: Shape, axis: int) -> Shape:
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


def _along(function: Callable[[Any, Any, int], Any]) -> Operator:
    """Over one axis, the last or the first."""

    def make(maker: Any, seen: list[int]) -> Made:
        name = maker.value(seen, _has_axes)
        if name is None:
            return None
        axis = maker.source.of((-1, 0))
        return [name], _without(maker.shapes[name], axis), axis

    return Operator(make, lambda m, axis, x: function(m, x, axis))


_KEEP = (lambda s: s)

OPERATORS: dict[str, Operator] = {
    "tanh": _pointwise(lambda m, x: m.tanh(x)),
    "sin": _pointwise(lambda m, x: m.sin(x)),
    "cos": _pointwise(lambda m, x: m.cos(1.1 * x)),
    "sigmoid": _pointwise(lambda m, x: m.sigmoid(2 * x)),
    "softplus": _pointwise(lambda m, x: m.softplus(x)),
    "square": _pointwise(lambda m, x: 0.5 * x**2),
    "inverse": _pointwise(lambda m, x: 1 / (1.5 + x * x)),
    "root": _pointwise(lambda m, x: m.sqrt(1 + x * x)),
    "logarithm": _pointwise(lambda m, x: m.log(2 + x * x)),
    "bell": _pointwise(lambda m, x: m.exp(-x * x)),
    "power": _pointwise(lambda m, x: (1.2 + x * x) ** 1.5),
    "absolute": _pointwise(lambda m, x: m.absolute(x + 0.0371)),
    "settle": _pointwise(lambda m, x: m.tanh(0.9 * x)),
    "add": _pair(lambda m, a, b: a + b),
    "subtract": _pair(lambda m, a, b: a - 0.5 * b),
    "multiply": _pair(lambda m, a, b: a * b),
    "divide": _pair(lambda m, a, b: a / (2 + b * b)),
    "maximum": _pair(lambda m, a, b: m.maximum(a, b + 0.0371)),
    "dot": Operator(_product, lambda m, how, a, b: m.tanh(m.dot(a, b))),
    "dot alone": Operator(_product, lambda m, how, a, b: m.dot(a, b)),
    "outer": Operator(_vectors, lambda m, how, a, b: m.outer(a, b)),
    "sum": _along(lambda m, x, axis: x.sum(axis=axis)),
    "mean": _along(lambda m, x, axis: x.mean(axis=axis)),
    "product": _along(lambda m, x, axis: x.prod(axis=axis)),
    "greatest": Operator(_greatest_of, _greatest),
    "total": Operator(_one(_has_axes, lambda s: ()), lambda m, how, x: 0.5 * x.sum()),
    "norm": Operator(_one(_has_axes, lambda s: ()), lambda m, how, x: m.sqrt(0.1 + (x * x).sum())),
    "softmax": Operator(_one(lambda s: len(s) in (1, 2), _KEEP), lambda m, how, x: m.softmax(x)),
    "cumsum": Operator(_one(_has_axes, _KEEP), lambda m, how, x: m.cumsum(x, axis=0)),
    "transpose": Operator(_one(lambda s: len(s) == 2, lambda s: s[::-1]), lambda m, how, x: x.T),
    "reverse": Operator(_one(_has_axes, _KEEP), lambda m, how, x: x[::-1]),
    "row": Operator(
        _one(_has_axes, lambda s: s[1:], lambda source, s: source.pick(2 * s[0]) - s[0]),
        lambda m, how, x: x[how],
    ),
    "rows": Operator(_one(_has_axes, _KEEP, _indices), _picked_rows),
    "row by step": Operator(_counted, _counted_row),
    "roll": Operator(_same(1), lambda m, how, x: m.roll(x, how, axis=0)),
    "shifted": Operator(
        _same(2), lambda m, how, a, b: m.concatenate([a[how:], b[:how]], axis=0)
    ),
    "stacked": Operator(_same(2), lambda m, how, a, b: m.stack([a, b], axis=0).mean(axis=0)),
    "column": Operator(
        _one(lambda s: len(s) == 1 and s[0] < 4, lambda s: (s[0], s[0])),
        lambda m, how, x: x[:, None] * m.cos(x),
    ),
    "set": Operator(_row, lambda m, how, x, part: m.set_part(x, how, part)),
    "increase": Operator(_row, lambda m, how, x, part: m.increase_part(x, how, part)),
    "increase rows": Operator(
        _one(_has_axes, _KEEP, _indices),
        lambda m, how, x: m.increase_part(m.sin(x), how, x * x),
    ),
    "switch": Operator(
        lambda maker, seen: _choice(maker, seen, lambda s, shape: s in ((), shape)),
        lambda m, limit, test, a, b: m.switch(test, limit, a, b),
    ),
    "branch": Operator(
        lambda maker, seen: _choice(maker, seen, lambda s, shape: s == ()),
        lambda m, limit, test, a, b: m.branch(test, limit, m.sin(a), m.exp(-b * b)),
    ),
}  # fmt: skip
NAMES = [name for name in OPERATORS if name != "settle"]
