"""Formulas of OpenVINO's operations over windows in plain numpy, element by element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, reference

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


def coordinate(o: int, scale: float, size: int, out: int, mode: str) -> float:
    if mode == "align_corners":
        return 0 if out == 1 else o * (size - 1) / (out - 1)
    if mode == "asymmetric":
        return o / scale
    if mode == "tf_half_pixel_for_nn":
        return (o + 0.5) / scale
    return 0 if mode == "pytorch_half_pixel" and out == 1 else (o + 0.5) / scale - 0.5


def nearest(x: float, mode: str, scale: float) -> int:
    half = x - np.floor(x) == 0.5
    if mode == "simple":
        return int(np.ceil(x) if scale < 1 else np.trunc(x))
    if mode == "round_prefer_floor":
        return int(np.floor(x) if half else np.floor(x + 0.5))
    return int({"round_prefer_ceil": np.floor(x + 0.5), "floor": np.floor(x), "ceil": np.ceil(x)}[mode])


def cubic(t: float, a: float) -> float:
    t = abs(t)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0


def resized(x: np.ndarray, axes: Ints, sizes: Ints, scales: Sequence[float], mode: str = "nearest",
            coordinates: str = "half_pixel", nearest_mode: str = "round_prefer_floor", a: float = -0.75,
            antialias: bool = False) -> np.ndarray:  # fmt: skip
    """Filters are normalised. They cover only elements inside x if `antialias` is set."""
    y = x.astype(np.float64)
    for axis, out, scale in zip(axes, sizes, scales, strict=True):
        size = y.shape[axis]
        matrix = np.zeros((out, size))
        for o in range(out):
            place = coordinate(o, scale, size, out, coordinates)
            if mode == "nearest":
                matrix[o, np.clip(nearest(place, nearest_mode, scale), 0, size - 1)] = 1
                continue
            stretch = min(scale, 1.0) if antialias else 1.0
            reach = int(np.ceil(2 / stretch)) + 1
            for i in range(int(np.floor(place)) - reach, int(np.floor(place)) + reach + 1):
                if antialias and not 0 <= i < size:
                    continue
                t = (i - place) * stretch
                weight = cubic(t, a) if mode == "cubic" else max(0.0, 1 - abs(t))
                matrix[o, np.clip(i, 0, size - 1)] += weight
            matrix[o] /= matrix[o].sum()
        y = np.moveaxis(np.tensordot(matrix, y, [[1], [axis]]), 0, axis)
    return y.astype(x.dtype)


def greatest_samples(x: np.ndarray, corners: np.ndarray, images: Ints, height: int, width: int,
                     ratio: int, scale: float) -> np.ndarray:  # fmt: skip
    """ROIAlign's mode max: of the bilinear samples of every cell, the greatest."""
    y = np.zeros((len(corners), x.shape[1], height, width), x.dtype)
    for n, (box, image) in enumerate(zip(corners * scale, images, strict=True)):
        steps = [max(box[3] - box[1], 1) / height, max(box[2] - box[0], 1) / width]
        for i, j in itertools.product(range(height), range(width)):
            samples = []
            for a, b in itertools.product(range(ratio), repeat=2):
                places = [box[1] + steps[0] * (i + (a + 0.5) / ratio), box[0] + steps[1] * (j + (b + 0.5) / ratio)]
                sample = x[image]
                for place, size in zip(places, x.shape[2:], strict=True):
                    place = min(max(place, 0), size - 1)
                    low = min(int(place), size - 2)
                    sample = sample[:, low] * (1 - place + low) + sample[:, low + 1] * (place - low)
                samples.append(sample)
            y[n, :, i, j] = np.max(samples, 0)
    return y


def by_onnx(op: str, inputs: Sequence[np.ndarray], opset: int = 20, **attributes: Any) -> np.ndarray:
    """Returns the result of onnx's own evaluator for one node."""
    names = [f"x{i}" for i in range(len(inputs))]
    declared = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                for name, value in zip(names, inputs, strict=True)]  # fmt: skip
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "one", declared,
                              [onnx.ValueInfoProto(name="y")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return reference.ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))[0]


def philox(blocks: int, key: int, counter: int) -> np.ndarray:
    """[blocks, 4] words of Philox4x32-10, of which the block's number is the lower half counter."""
    mask, words = (1 << 32) - 1, []
    for block in range(blocks):
        c = [block & mask, block >> 32, counter & mask, counter >> 32]
        k = [key & mask, key >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
            k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
        words.append(c)
    return np.array(words, np.uint64)


def uniform(shape: Ints, low: float, high: float, dtype: Any, key: int, counter: int) -> np.ndarray:
    count, dtype = int(np.prod(shape)), np.dtype(dtype)
    words = philox(count, key, counter).ravel()
    if dtype.itemsize == 8:
        words = (words[0::2] << np.uint64(32)) | words[1::2]
    words = words[:count].reshape(shape)
    if dtype.kind == "i":
        return (words % np.uint64(high - low)).astype(dtype) + dtype.type(low)
    bits = {2: 10, 4: 23, 8: 52}[dtype.itemsize]
    fraction = ((words & np.uint64((1 << bits) - 1)) / 2.0**bits).astype(dtype)
    return fraction * dtype.type(high - low) + dtype.type(low)


def patches(x: np.ndarray, sizes: Ints, strides: Ints, rates: Ints, begin: Ints, end: Ints) -> np.ndarray:
    x = padded(x, begin, end)
    counts = [(n - (k - 1) * r - 1) // s + 1
              for n, k, s, r in zip(x.shape[2:], sizes, strides, rates, strict=True)]  # fmt: skip
    y = np.zeros((x.shape[0], sizes[0] * sizes[1] * x.shape[1], *counts), x.dtype)
    for at in itertools.product(*map(range, counts)):
        seen = x[(slice(None), slice(None), *window(at, sizes, strides, rates))]
        y[(slice(None), slice(None), *at)] = seen.transpose(0, 2, 3, 1).reshape(x.shape[0], -1)
    return y


def folded(x: np.ndarray, image: Ints, kernel: Ints, strides: Ints, dilations: Ints, begin: Ints,
           end: Ints) -> np.ndarray:  # fmt: skip
    """Col2Im: columns [batch, channels * elements of a block, blocks] added up to an image."""
    channels = x.shape[1] // (kernel[0] * kernel[1])
    whole = np.zeros((x.shape[0], channels, *(n + b + e for n, b, e in zip(image, begin, end))), x.dtype)
    counts = [(n - (k - 1) * d - 1) // s + 1
              for n, k, s, d in zip(whole.shape[2:], kernel, strides, dilations, strict=True)]  # fmt: skip
    for number, at in enumerate(itertools.product(*map(range, counts))):
        whole[(slice(None), slice(None), *window(at, kernel, strides, dilations))] += (
            x[:, :, number].reshape(x.shape[0], channels, *kernel))  # fmt: skip
    return whole[:, :, begin[0] : begin[0] + image[0], begin[1] : begin[1] + image[1]]


def sampled(plane: np.ndarray, y: float, x: float, pads: bool) -> float:
    """Between elements, linear. Outside 0, into which `pads` interpolates, too."""
    height, width = plane.shape
    if not pads:
        if not (0 <= y < height and 0 <= x < width):
            return 0.0
        y, x = min(y, height - 1), min(x, width - 1)
    total, top, left = 0.0, int(np.floor(y)), int(np.floor(x))
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= i < height and 0 <= j < width:
            total += (1 - abs(y - i)) * (1 - abs(x - j)) * plane[i, j]
    return total


def deformed(x: np.ndarray, offsets: np.ndarray, w: np.ndarray, mask: np.ndarray | None, strides: Ints,
             begin: Ints, dilations: Ints, groups: int, offset_groups: int, pads: bool) -> np.ndarray:  # fmt: skip
    batch, channels = x.shape[:2]
    filters, own, height, width = w.shape
    rows, columns = offsets.shape[2:]
    moved = offsets.reshape(batch, offset_groups, height, width, 2, rows, columns)
    factor = np.ones((batch, offset_groups, height, width, rows, columns)) if mask is None else mask.reshape(
        batch, offset_groups, height, width, rows, columns)  # fmt: skip
    y = np.zeros((batch, filters, rows, columns))
    for n, f, i, j in itertools.product(range(batch), range(filters), range(rows), range(columns)):
        for k, a, b in itertools.product(range(own), range(height), range(width)):
            channel = f // (filters // groups) * own + k
            g = channel // (channels // offset_groups)
            place = [i * strides[0] - begin[0] + a * dilations[0] + moved[n, g, a, b, 0, i, j],
                     j * strides[1] - begin[1] + b * dilations[1] + moved[n, g, a, b, 1, i, j]]  # fmt: skip
            y[n, f, i, j] += w[f, k, a, b] * factor[n, g, a, b, i, j] * sampled(x[n, channel], *place, pads)
    return y.astype(x.dtype)


def decoded(best: np.ndarray, lengths: Ints, blank: int, merges: bool) -> tuple[np.ndarray, np.ndarray]:
    """CTC: classes [batch, steps], -1 after the last one, and how many there are."""
    y, counts = np.full(best.shape, -1), []
    for row, (line, length) in enumerate(zip(best, lengths, strict=True)):
        kept = [one for t, one in enumerate(line[:length])
                if one != blank and not (merges and t > 0 and one == line[t - 1])]  # fmt: skip
        y[row, : len(kept)] = kept
        counts.append(len(kept))
    return y, np.array(counts)


def pooled_regions(x: np.ndarray, rois: np.ndarray, size: Ints, scale: float) -> np.ndarray:
    y = np.zeros((len(rois), x.shape[1], *size), x.dtype)
    for n, (image, *corners) in enumerate(rois):
        x0, y0, x1, y1 = (int(np.floor(corner * scale + 0.5)) for corner in corners)
        for i, j in itertools.product(*map(range, size)):
            limits = [(at + int(np.floor(k * length / count)), at + int(np.ceil((k + 1) * length / count)))
                      for at, k, count, length in ((y0, i, size[0], y1 - y0 + 1), (x0, j, size[1], x1 - x0 + 1))]
            seen = x[(int(image), slice(None), *(slice(max(a, 0), max(b, 0)) for a, b in limits))]  # fmt: skip
            y[n, :, i, j] = seen.max((1, 2)) if seen.size else 0
    return y


def inside(at: float, size: int, padding: str, align: bool) -> float:
    """A place, or an element, of an axis as the padding moves it; "zeros" leaves it where it is."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        turns, rest = divmod(abs(at - low), high - low) if high > low else (0.0, 0.0)
        at = low + rest if turns % 2 == 0 else high - rest
    return min(max(at, 0.0), size - 1.0)


def cubic_weight(distance: float) -> float:
    a, t = -0.75, abs(distance)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def taps(at: float, size: int, mode: str, padding: str, align: bool) -> list[tuple[int, float]]:
    """Returns elements along one axis and their weights. The position is moved inside before it is
    rounded or interpolated, except for bicubic, where each of the four elements is moved
    instead."""
    if mode == "nearest":
        return [(int(np.rint(inside(at, size, padding, align))), 1.0)]
    if mode == "bilinear":
        at = inside(at, size, padding, align)
        low = int(np.floor(at))
        return [(low, 1 - (at - low)), (low + 1, at - low)]
    low = int(np.floor(at))
    return [(int(inside(low + i, size, padding, align)), cubic_weight(at - low - i)) for i in (-1, 0, 1, 2)]


def grid_sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool) -> np.ndarray:
    """The rule of OpenVINO and of torch.nn.functional.grid_sample."""
    y = np.zeros((*x.shape[:2], *grid.shape[1:3]))
    for n, row, column in np.ndindex(*grid.shape[:3]):
        axes = []
        for coordinate, size in zip(grid[n, row, column, ::-1].astype(float), x.shape[2:], strict=True):
            at = (coordinate + 1) / 2 * (size - 1) if align else ((coordinate + 1) * size - 1) / 2
            axes.append([(i, w) for i, w in taps(at, size, mode, padding, align) if 0 <= i < size])
        for (i, wi), (j, wj) in itertools.product(*axes):
            y[n, :, row, column] += x[n, :, i, j].astype(float) * wi * wj
    return y.astype(x.dtype)
