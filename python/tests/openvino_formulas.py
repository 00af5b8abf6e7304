"""What OpenVINO's operations over windows mean, in plain numpy, element by element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Ints = Sequence[int]


def padded(x: np.ndarray, begin: Ints, end: Ints, value: float = 0) -> np.ndarray:
    return np.pad(x, [(0, 0), (0, 0), *zip(begin, end, strict=True)], constant_values=value)


def window(at: Ints, kernel: Ints, strides: Ints, dilations: Ints) -> tuple[slice, ...]:
    return tuple(slice(i * s, i * s + (k - 1) * d + 1, d)
                 for i, k, s, d in zip(at, kernel, strides, dilations, strict=True))  # fmt: skip


def convolution(x: np.ndarray, w: np.ndarray, strides: Ints, begin: Ints, end: Ints,
                dilations: Ints, groups: int = 1) -> np.ndarray:  # fmt: skip
    """w is [groups * filters, channels, ...]."""
    x, kernel = padded(x, begin, end), w.shape[2:]
    sizes = [(n - (k - 1) * d - 1) // s + 1
             for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)]  # fmt: skip
    y = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    channels, filters = w.shape[1], w.shape[0] // groups
    for g in range(groups):
        own = slice(g * filters, (g + 1) * filters)
        for at in itertools.product(*map(range, sizes)):
            seen = x[(slice(None), slice(g * channels, (g + 1) * channels),
                      *window(at, kernel, strides, dilations))]  # fmt: skip
            axes = range(1, x.ndim)
            y[(slice(None), own, *at)] = np.tensordot(seen, w[own], [list(axes), list(axes)])
    return y


def transposed_convolution(x: np.ndarray, w: np.ndarray, strides: Ints, begin: Ints, sizes: Ints,
                           dilations: Ints, groups: int = 1) -> np.ndarray:  # fmt: skip
    """w is [channels, filters, ...]; the result has `sizes`, from `begin` on, of the whole."""
    kernel = w.shape[2:]
    whole = [max((n - 1) * s + (k - 1) * d + 1, b + size) for n, k, s, d, b, size
             in zip(x.shape[2:], kernel, strides, dilations, begin, sizes, strict=True)]  # fmt: skip
    filters, channels = w.shape[1], w.shape[0] // groups
    y = np.zeros((x.shape[0], filters * groups, *whole), x.dtype)
    for g in range(groups):
        own = slice(g * channels, (g + 1) * channels)
        for at in itertools.product(*map(range, x.shape[2:])):
            y[(slice(None), slice(g * filters, (g + 1) * filters),
               *window(at, kernel, strides, dilations))] += np.tensordot(
                x[(slice(None), own, *at)], w[own], 1)  # fmt: skip
    return y[(slice(None), slice(None),
              *(slice(b, b + size) for b, size in zip(begin, sizes, strict=True)))]  # fmt: skip


def pooled(x: np.ndarray, kernel: Ints, strides: Ints, begin: Ints, end: Ints, sizes: Ints,
           f: Callable[[np.ndarray], np.ndarray], dilations: Ints | None = None) -> np.ndarray:  # fmt: skip
    """f of every window, whose padding is NaN; `sizes` of the result."""
    dilations = dilations or [1] * len(kernel)
    room = [(size - 1) * s + (k - 1) * d + 1 for size, s, k, d
            in zip(sizes, strides, kernel, dilations, strict=True)]  # fmt: skip
    more = [max(r - n - b, e) for r, n, b, e in zip(room, x.shape[2:], begin, end, strict=True)]
    x = padded(x, begin, more, np.nan)
    y = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for at in itertools.product(*map(range, sizes)):
        seen = x[(slice(None), slice(None), *window(at, kernel, strides, dilations))]
        y[(slice(None), slice(None), *at)] = f(seen.reshape(*x.shape[:2], -1))
    return y


def adaptive(x: np.ndarray, sizes: Ints, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    y = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for at in itertools.product(*map(range, sizes)):
        seen = x[(slice(None), slice(None), *(
            slice(i * n // size, -(-(i + 1) * n // size))
            for i, n, size in zip(at, x.shape[2:], sizes, strict=True)))]  # fmt: skip
        y[(slice(None), slice(None), *at)] = f(seen.reshape(*x.shape[:2], -1))
    return y


def local_response(x: np.ndarray, axes: Ints, size: int, alpha: float, beta: float, bias: float) -> Any:
    squares = x.astype(np.float64) ** 2
    for axis in axes:
        moved = np.moveaxis(squares, axis, 0)
        reach = (size - 1) // 2
        sums = [moved[max(i - reach, 0) : i + reach + 1].sum(0) for i in range(len(moved))]
        squares = np.moveaxis(np.stack(sums), 0, axis)
    return (x / (bias + alpha / size ** len(axes) * squares) ** beta).astype(x.dtype)


def fake_quantized(x: Any, low: Any, high: Any, out_low: Any, out_high: Any, levels: int) -> Any:
    level = np.round((x - low) / (high - low) * (levels - 1))
    inside = level / (levels - 1) * (out_high - out_low) + out_low
    y = np.where(x <= np.minimum(low, high), out_low,
                 np.where(x > np.maximum(low, high), out_high, inside))  # fmt: skip
    return y.astype(x.dtype)
