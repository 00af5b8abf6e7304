"""Pooling: maxima, sums and means of windows over the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Union

import numpy as np

from ... import _native
from ..._errors import InvalidArgument
from ..._theano.variable import TensorVariable, as_tensor_variable
from .._elementwise import maximum
from .._shaping import alloc, ones, set_subtensor

_MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def pool_2d(
    input: Any,  # noqa: A002
    ws: Any = None, ignore_border: Any = None, stride: Any = None, pad: Any = (0, 0),
    mode: str = "max", ds: Any = None, st: Any = None, padding: Any = None,
) -> TensorVariable:
    """Pools windows of ws rows and columns; the default stride is ws.

    ignore_border: False (Theano's default) keeps windows that reach beyond the end, and uses only
        their elements inside.
    mode: "max", "sum", "average_inc_pad" or "average_exc_pad", with or without the zeros of `pad`.
    """
    return _pool(input, 2, ws if ds is None else ds, ignore_border, stride if st is None else st,
                 pad if padding is None else padding, mode)  # fmt: skip


def pool_3d(
    input: Any,  # noqa: A002
    ws: Any = None, ignore_border: Any = None, stride: Any = None, pad: Any = (0, 0, 0),
    mode: str = "max", ds: Any = None, st: Any = None, padding: Any = None,
) -> TensorVariable:
    """Same as pool_2d, but over the last three axes."""
    return _pool(input, 3, ws if ds is None else ds, ignore_border, stride if st is None else st,
                 pad if padding is None else padding, mode)  # fmt: skip


def max_pool_2d(
    input: Any,  # noqa: A002
    ds: Any, ignore_border: Any = None, st: Any = None, padding: Any = (0, 0), mode: str = "max",
) -> TensorVariable:
    """The former name of pool_2d."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


def _pool(
    given: Any, axes: int, window: Any, ignore: Any, stride: Any, pad: Any, mode: str
) -> TensorVariable:
    x = as_tensor_variable(given)
    if x.ndim < axes:
        raise InvalidArgument(f"a pool over {axes} axes of {x}, which has {x.ndim}")
    if mode not in _MODES:
        raise InvalidArgument(f"mode is {mode!r}, but must be one of {', '.join(_MODES)}")
    sizes = _numbers("ws", window, axes, 1)
    steps = sizes if stride is None else _numbers("stride", stride, axes, 1)
    around = _numbers("pad", pad, axes, 0)
    if any(around) and not ignore:
        raise InvalidArgument("a pool with pad needs ignore_border=True")
    if any(p >= w for p, w in zip(around, sizes)):
        raise InvalidArgument(f"pad {tuple(around)} must be smaller than ws {tuple(sizes)}")
    counts = [
        _windows(x.shape[x.ndim - axes + i], sizes[i], steps[i], around[i], bool(ignore))
        for i in range(axes)
    ]
    if mode == "max":
        least = -np_limit(x.dtype)
        return _joined(_framed(x, least, counts, sizes, steps, around), counts, sizes, steps, True)
    total = _joined(_framed(x, 0, counts, sizes, steps, around), counts, sizes, steps, False)
    if mode == "sum":
        return total
    whole = 1
    for size in sizes:
        whole *= size
    if mode == "average_inc_pad" and ignore:
        return total / whole
    inside = ones([x.shape[x.ndim - axes + i] for i in range(axes)], x.dtype)
    number = _joined(_framed(inside, 0, counts, sizes, steps, around), counts, sizes, steps, False)
    return total / number


def np_limit(dtype: str) -> Any:
    """The greatest value of a dtype."""
    if dtype in ("float16", "float32", "float64", "bfloat16"):
        return float("inf")
    return int(np.iinfo(dtype).max)


def _numbers(name: str, given: Any, count: int, least: int) -> list[int]:
    listed = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(listed) != count or not all(isinstance(n, int) and n >= least for n in listed):
        raise InvalidArgument(f"pool: {name} is {given!r}, but must be {count} integers")
    return listed


def _windows(size: Any, window: int, step: int, pad: int, ignore: bool) -> Any:
    """The number of windows along an axis."""
    if ignore:
        return (size + 2 * pad - window) // step + 1
    if step >= window:
        return (size - 1) // step + 1
    more = TensorVariable(_native.maximum((size - 1 - window + step)._expr, _native.whole(0)))
    return more // step + 1


def _framed(
    x: TensorVariable, value: Any, counts: Sequence[Any], sizes: list[int], steps: list[int],
    around: list[int],
) -> TensorVariable:
    """Pads x with `value` so that it ends with the last window, or further out."""
    axes = len(sizes)
    first = x.ndim - axes
    shape: list[Any] = [x.shape[i] for i in range(first)]
    inside: list[Any] = [slice(None)] * first
    for i in range(axes):
        begin, size = around[i], x.shape[first + i]
        end = (counts[i] - 1) * steps[i] + sizes[i]
        shape.append(TensorVariable(_native.maximum(end._expr, (begin + size)._expr)))
        inside.append(slice(begin, begin + size))
    frame = alloc(as_tensor_variable(value).astype(x.dtype), *shape)
    return set_subtensor(frame[tuple(inside)], x)


def _joined(
    x: TensorVariable, counts: Sequence[Any], sizes: list[int], steps: list[int], greatest: bool
) -> TensorVariable:
    """The maximum, or the sum, over all positions within a window."""
    made: Union[TensorVariable, None] = None
    for place in product(*(range(size) for size in sizes)):
        index = [slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(place, counts, steps)]
        part = x[(..., *index)]
        made = part if made is None else maximum(made, part) if greatest else made + part
    assert made is not None
    return made
