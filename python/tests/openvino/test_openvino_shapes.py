"""OpenVINO's operations that shape, pick, join, move and scatter elements."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable

import numpy as np
import openvino_ir
import pytest
from openvino_cases import (
    Case,
    Sized,
    case,
    check_here,
    check_peer,
    check_refused,
    fixed,
    plain_model,
    run_model,
)

import scanloom

RNG = np.random.default_rng(11)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
WIDE = RNG.uniform(-3, 3, (3, 5, 2, 4)).astype(np.float32)
WHOLE = RNG.integers(-9, 9, (4, 6)).astype(np.int32)
LINE = np.arange(10, dtype=np.float32)


def i64(*values) -> np.ndarray:
    return np.array(values, np.int64)


def i32(*values) -> np.ndarray:
    return np.array(values, np.int32)


SHAPES = [
    case("Reshape", 1, [X, fixed([4, -1])], X.reshape(4, 6), special_zero=False),
    case("Reshape", 1, [X, fixed([0, 0, 2, -1])], X.reshape(2, 3, 2, 2), special_zero=True),
    case("Reshape", 1, [X, i32(6, 4)], X.reshape(6, 4), special_zero=False),
    case("Reshape", 1, [X[:0], fixed([0, 12])], np.zeros((0, 12), np.float32), special_zero=False),
    case("Reshape", 1, [X, fixed([24], np.int32)], X.reshape(24), special_zero=True),
    case("Squeeze", 1, [X[:1, :, :1], fixed([0, -1])], X[0, :, 0]),
    case("Squeeze", 1, [X[:1, :, :1], fixed(2, np.int32)], X[:1, :, 0]),
    case("Squeeze", 1, [X[:1, :, :1]], X[0, :, 0], sized=True),
    case("Squeeze", 15, [X[:1, :, :1], fixed([0])], X[0, :, :1], allow_axis_skip=False),
    case("Squeeze", 15, [X[:1], fixed([0, 1])], X[0], allow_axis_skip=True, sized=True),
    case("Squeeze", 1, [X[:1], fixed([0, 1])], X[0], sized=True),
    case("Squeeze", 1, [X, fixed([1])], X, sized=True),
    case("Squeeze", 15, [X[:1], fixed([-1, -3])], X[0], allow_axis_skip=False, sized=True),
    case("Unsqueeze", 1, [X, fixed([0, -1])], X[None, ..., None]),
    case("Unsqueeze", 1, [X, fixed(1)], X[:, None]),
    case("Transpose", 1, [X, fixed([2, 0, 1])], X.transpose(2, 0, 1)),
    case("Transpose", 1, [X, i64(2, 0, 1)], X.transpose(2, 0, 1)),
    case("Transpose", 1, [X[:, :0], i32(0, 2, 1)], X[:, :0].transpose(0, 2, 1)),
    case("Transpose", 1, [WHOLE, i64(1, 0)], WHOLE.T),
    case("Transpose", 1, [LINE, i64(0)], LINE),
    case("Transpose", 1, [X, fixed([], np.int64)], X.T, differs="it reads no constant without elements"),
    case("ShapeOf", 1, [X], i64(2, 3, 4)),
    case("ShapeOf", 3, [X], i64(2, 3, 4), differs="its reader needs output_type"),
    case("ShapeOf", 3, [X], i64(2, 3, 4), output_type="i64"), case("ShapeOf", 3, [X], i32(2, 3, 4), output_type="i32"),
    case("Identity", 16, [X], X),
    case("Tile", 1, [X, fixed([1, 2, 3])], np.tile(X, (1, 2, 3))),
    case("Tile", 1, [X, fixed([2, 2])], np.tile(X, (2, 2))),
    case("Tile", 1, [X, fixed([2, 1, 1, 3])], np.tile(X, (2, 1, 1, 3))),
    case("Tile", 1, [X, Sized(i64(2, 1, 2))], np.tile(X, (2, 1, 2))),
    *(case("Broadcast", version, [X[:, :1], fixed([5, 2, 3, 4])], np.broadcast_to(X[:, :1], (5, 2, 3, 4)))
      for version in (1, 3)),
    case("Broadcast", 3, [X[:, :1], i64(2, 3, 4)], np.broadcast_to(X[:, :1], (2, 3, 4)), mode="numpy"),
    *(case("Broadcast", version, [X[0], fixed([3, 2, 4]), fixed([0, 2])],
           np.broadcast_to(X[0][:, None], (3, 2, 4)), mode="explicit") for version in (1, 3)),
    case("Broadcast", 1, [LINE[:3], fixed([3, 2]), fixed([0])],
         np.broadcast_to(LINE[:3, None], (3, 2)), mode="explicit"),
    case("Broadcast", 3, [X[:, :1], fixed([3, 1])], np.broadcast_to(X[:, :1], (2, 3, 4)),
         mode="bidirectional"),
    case("Broadcast", 3, [X[0], fixed([7, 1, 4])], np.broadcast_to(X[0], (7, 3, 4)), mode="bidirectional"),
    case("Broadcast", 1, [X[0, :, 0], fixed([2, 3, 4])], np.broadcast_to(X[0, :, :1], (2, 3, 4)),
         mode="pdpd", axis=1, differs="its reader takes no axis of pdpd but 0"),
]  # fmt: skip

# Parts and orders.


def splits() -> list[Case]:
    cases = [case("Split", 1, [WIDE, fixed(axis)], *np.split(WIDE, parts, axis), num_splits=parts)
             for axis, parts in ((0, 3), (1, 5), (-1, 2), (2, 1))]  # fmt: skip
    for lengths in ([1, 3, 1], [2, -1, 1], [-1], [0, 5], [1, 1, -1]):
        sizes = [5 - sum(x for x in lengths if x >= 0) if x < 0 else x for x in lengths]
        parts = np.split(WIDE, np.cumsum(sizes)[:-1], 1)
        for operand in (fixed(lengths), fixed(lengths, np.int32)):
            cases.append(case("VariadicSplit", 1, [WIDE, fixed(1), operand], *parts))
    computed = Sized(i64(2, -1, 1))
    cases.append(case("VariadicSplit", 1, [WIDE, fixed(1), computed], *np.split(WIDE, [2, 4], 1)))  # fmt: skip
    return cases


def reversed_rows(x: np.ndarray, lengths: list[int], batch: int, time: int) -> np.ndarray:
    y = x.copy()
    for row, length in enumerate(lengths):
        for step in range(length):
            to = [slice(None)] * x.ndim
            to[batch], to[time] = row, step
            source = list(to)
            source[time] = length - 1 - step
            y[tuple(to)] = x[tuple(source)]
    return y


def summed(x: np.ndarray, axis: int, exclusive: bool, backwards: bool) -> np.ndarray:
    x = np.flip(x, axis) if backwards else x
    y = np.cumsum(x, axis, dtype=x.dtype)
    y = y - x if exclusive else y
    return np.flip(y, axis) if backwards else y


PICKED = np.array([3.0, 1, 3, 2, 1, 1, 7], np.float32)

PARTS = [
    case("Concat", 1, [X, X[:, :1]], np.concatenate([X, X[:, :1]], 1), axis=1),
    case("Concat", 1, [X, X, X], np.concatenate([X, X, X], -1), axis=-1),
    *splits(),
    *(case("CumSum", 3, [WHOLE, fixed(axis)], summed(WHOLE, axis, exclusive, backwards),
           exclusive=exclusive, reverse=backwards)
      for axis in (0, 1, -2) for exclusive in (False, True) for backwards in (False, True)),
    case("CumSum", 3, [X, fixed(1, np.int32)], np.cumsum(X, 1), tolerance=1e-5),
    case("NonZero", 3, [WHOLE], np.array(np.nonzero(WHOLE), np.int64)),
    case("NonZero", 3, [X > 0], np.array(np.nonzero(X > 0), np.int32), output_type="i32"),
    case("Reverse", 1, [X, fixed([0, 2])], X[::-1, :, ::-1], mode="index"),
    case("Reverse", 1, [X, fixed([-2])], X[:, ::-1], mode="index"),
    case("Reverse", 1, [X, fixed([False, True, True], np.bool_)], X[:, ::-1, ::-1], mode="mask"),
    case("ReverseSequence", 1, [X, fixed([1, 3], np.int32)], reversed_rows(X, [1, 3], 0, 1),
         batch_axis=0, seq_axis=1),
    case("ReverseSequence", 1, [X, i64(2, 4, 1)], reversed_rows(X, [2, 4, 1], 1, 2),
         batch_axis=1, seq_axis=2),
    case("ReverseSequence", 1, [X, fixed([2, 1, 2])], reversed_rows(X, [2, 1, 2], 1, 0),
         batch_axis=1, seq_axis=0),
    *(case("Roll", 7, [X, fixed(shift), fixed(axes)], np.roll(X, shift, axes))
      for shift, axes in (([1], [2]), ([-5], [2]), ([2, -1], [0, 1]), ([1, 1], [-1, 1]))),
    case("Roll", 7, [X, fixed(1), fixed([0, 1])], np.roll(X, (1, 1), (0, 1)),
         differs="the plugin needs a shift for every axis"),
    case("Roll", 7, [X, fixed([1, 2]), fixed([2, 2])], np.roll(X, 3, 2)),
    case("Unique", 10, [PICKED], i32(1, 2, 3, 7).astype(np.float32), i64(1, 3, 0, 6),
         i64(2, 0, 2, 1, 0, 0, 3), i64(3, 1, 2, 1)),
    case("Unique", 10, [PICKED], i32(3, 1, 2, 7).astype(np.float32), i32(0, 1, 3, 6),
         i32(0, 1, 0, 2, 1, 1, 3), i32(2, 3, 1, 1), sorted=False, index_element_type="i32",
         count_element_type="i32"),
    case("Unique", 10, [np.stack([PICKED, PICKED * 2]), fixed(1)],
         np.array([[1, 2, 3, 7], [2, 4, 6, 14]], np.float32), i64(1, 3, 0, 6),
         i64(2, 0, 2, 1, 0, 0, 3), i64(3, 1, 2, 1)),
]  # fmt: skip

# Slices.


def strided(index, begin, end, strides=None, x=WIDE, differs="", fed_differs="", **masks) -> list[Case]:
    """The bounds as constants, and fed."""
    y = x[index]
    rest = [] if strides is None else [fixed(strides)]
    masks = {"begin_mask": [0] * len(begin), "end_mask": [0] * len(begin), **masks}
    return [
        case("StridedSlice", 1, [x, fixed(begin), fixed(end), *rest], y, differs=differs, **masks),
        case("StridedSlice", 1, [x, Sized(i64(*begin)), Sized(i64(*end)), *rest], y,
             differs=differs or fed_differs, **masks),
    ]


FULL = slice(None)

SLICES = [
    *strided((slice(0, 2), slice(1, 4)), [0, 1], [2, 4]),
    *strided((slice(0, 3, 2), slice(4, 0, -2)), [0, 4], [3, 0], [2, -2]),
    *strided((FULL, slice(1, 4)), [7, 1], [7, 4], [1, 1], begin_mask=[1, 0], end_mask=[1, 0]),
    *strided((slice(None, None, -1), slice(3, None)), [7, 3], [7, 7], [-1, 1],
             begin_mask=[1, 0], end_mask=[1, 1]),
    *strided((1, slice(1, 4)), [1, 1], [2, 4], [1, 1], shrink_axis_mask=[1, 0]),
    *strided((FULL, -1, FULL, 2), [0, -1, 0, 2], [0, 0, 0, 3], [1, 1, 1, 1], begin_mask=[1, 0, 1, 0],
             end_mask=[1, 0, 1, 0], shrink_axis_mask=[0, 1, 0, 1]),
    *strided((1, 2, 1), [1, 2, 1], [2, 3, 2], [1, 1, 1], shrink_axis_mask=[1, 1, 1],
             fed_differs="the plugin cannot take an element"),
    *strided((slice(1, 3), None, slice(0, 2)), [1, 0, 0], [3, 0, 2], [1, 1, 1], new_axis_mask=[0, 1, 0]),
    *strided((Ellipsis, slice(1, 3)), [0, 1], [0, 3], [1, 1], ellipsis_mask=[1, 0]),
    *strided((slice(1, 2), Ellipsis, 3), [1, 0, 3], [2, 0, 4], [1, 1, 1], ellipsis_mask=[0, 1, 0],
             shrink_axis_mask=[0, 0, 1]),
    *strided((0, Ellipsis, None, slice(0, 4, 3)), [0, 0, 0, 0], [1, 0, 0, 4], [1, 1, 1, 3],
             ellipsis_mask=[0, 1, 0, 0], new_axis_mask=[0, 0, 1, 0], shrink_axis_mask=[1, 0, 0, 0],
             fed_differs="the plugin infers other sizes"),
    *strided((0, slice(1, 3)), [0, 1], [1, 3], [1, 1], shrink_axis_mask=[1],
             differs="it needs masks of equal length"),
    *strided((None, FULL, None), [0, 0, 0], [0, 0, 0], [1, 1, 1], LINE, begin_mask=[1, 1, 1],
             end_mask=[1, 1, 1], new_axis_mask=[1, 0, 1]),
    *strided((slice(-3, -1),), [-3], [-1], [1], LINE),
    *strided((slice(2, 100),), [2], [100], [1], LINE),
    *strided((slice(5, 2),), [5], [2], [1], LINE, "the plugin divides by the size 0"),
    *(case("Slice", 8, [x, make(start), make(stop), make(step), *([make(axes)] if axes else [])],
           x[index])
      for x, start, stop, step, axes, index in (
          (LINE, [1], [8], [3], None, (slice(1, 8, 3),)),
          (LINE, [-2], [0], [-2], [0], (slice(-2, 0, -2),)),
          (WIDE, [1, 0], [4, 2], [1, 1], [1, 3], (FULL, slice(1, 4), FULL, slice(0, 2))),
          (WIDE, [0, 1], [100, -1], [2, 1], [-1, 1], (FULL, slice(1, -1), FULL, slice(0, 100, 2))),
          (LINE, [20], [-20], [-1], [0], (slice(20, -20, -1),)),
      ) for make in (fixed, lambda values: i32(*values))),
]  # fmt: skip


def slice_scatter(x, updates, index, start, stop, step, axes=None) -> list[Case]:
    y = x.copy()
    y[index] = updates
    bounds = [bound for bound in (start, stop, step, axes) if bound]
    return [
        case("SliceScatter", 15, [x, updates, *(fixed(bound) for bound in bounds)], y),
        case("SliceScatter", 15, [x, updates, *(i64(*bound) for bound in bounds)], y,
             differs="the plugin scatters nothing between fed bounds"),
    ]  # fmt: skip


SLICES += [
    *slice_scatter(LINE, -LINE[:3], slice(1, 8, 3), [1], [8], [3]),
    *slice_scatter(WIDE, -WIDE[:, 1:4, :, :2], (FULL, slice(1, 4), FULL, slice(0, 2)), [1, 0], [4, 2],
                   [1, 1], [1, 3]),
    *slice_scatter(WHOLE, WHOLE[:, :3] * 2, (FULL, slice(5, 0, -2)), [5], [0], [-2], [1]),
]  # fmt: skip

# Gathers and scatters.


def gathered(data, indices, axis, batch) -> np.ndarray:
    """By the definition, place by place."""
    axis %= data.ndim
    batch %= indices.ndim + 1
    shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
    y = np.empty(shape, data.dtype)
    own = indices.ndim - batch
    for at in np.ndindex(*shape):
        picked = indices[at[:batch] + at[axis : axis + own]]
        y[at] = data[at[:axis] + (picked,) + at[axis + own :]]
    return y


def gathers() -> list[Case]:
    cases = []
    for version, index, axis in itertools.product((1, 7, 8), ([1], [[0, 2], [1, 1]], 1), (1, -3)):
        indices = np.array(index, np.int32)
        y = np.take(WIDE, indices, axis)
        cases.append(case("Gather", version, [WIDE, indices, fixed(axis)], y))
    cases.append(case("Gather", 8, [LINE, i64(-1, 0, -10), fixed(0)], LINE[[-1, 0, -10]]))
    indices = RNG.integers(0, 2, (3, 5, 3)).astype(np.int32)
    for version, axis, batch in ((7, 1, 1), (7, 2, 1), (8, 3, 1), (8, 2, 2), (8, 3, 2), (7, 2, -2), (8, -1, -1)):
        picks = indices[:, :, 0] if batch == -1 else indices
        batch_axes = batch + picks.ndim if batch < 0 else batch
        y = gathered(WIDE, picks, axis, batch_axes)
        cases.append(case("Gather", version, [WIDE, picks, fixed(axis)], y, batch_dims=batch))
    for axis in (0, 1, -1):
        shape = list(WIDE.shape)
        shape[axis] = 2
        picks = RNG.integers(0, WIDE.shape[axis], shape).astype(np.int64)
        y = np.take_along_axis(WIDE, picks, axis)
        cases.append(case("GatherElements", 6, [WIDE, picks], y, axis=axis))
    pairs = np.array([[0, 1], [2, 4], [1, 0]], np.int32)
    for version in (5, 8):
        cases.append(case("GatherND", version, [WIDE, pairs], WIDE[pairs[:, 0], pairs[:, 1]]))
        cases.append(case("GatherND", version, [WIDE, np.array([[1], [0], [1]], np.int64)],
                          WIDE[np.arange(3), [1, 0, 1]], batch_dims=1))  # fmt: skip
        two = RNG.integers(0, 2, (3, 5, 1)).astype(np.int32)
        y = np.take_along_axis(WIDE, two[..., None], 2)[:, :, 0]
        y = y.reshape(15, 4) if version == 5 else y
        cases.append(case("GatherND", version, [WIDE, two], y, batch_dims=2))
    return cases


REDUCED = {"none": lambda old, new: new, "sum": lambda old, new: old + new,
           "sub": lambda old, new: old - new, "prod": lambda old, new: old * new,
           "min": min, "max": max}  # fmt: skip


def scattered_elements(data, indices, updates, axis, kind="none", uses_data=True) -> np.ndarray:
    """By the definition, update by update."""
    y, seen = data.copy(), {}
    for at in np.ndindex(*indices.shape):
        place = at[:axis] + (indices[at] % data.shape[axis],) + at[axis + 1 :]
        seen.setdefault(place, [data[place]] if uses_data else []).append(updates[at])
    for place, values in seen.items():
        if kind == "mean":
            total = sum(values[1:], values[0])
            y[place] = total // len(values) if data.dtype.kind == "i" else total / len(values)
        elif kind == "none":
            y[place] = values[-1]
        else:
            result = values[0]
            for value in values[1:]:
                result = REDUCED[kind](result, value)
            y[place] = result
    return y


def scattered_nd(data, indices, updates, kind="none") -> np.ndarray:
    y = data.copy()
    for at in np.ndindex(*indices.shape[:-1]):
        place = tuple(indices[at])
        for inner in np.ndindex(*data.shape[len(place) :]):
            y[place + inner] = REDUCED[kind](y[place + inner], updates[at + inner])
    return y


def scatters() -> list[Case]:
    cases = []
    for index, axis in itertools.product(([1, 0], [[0], [1]], 1), (0, 1, -1)):
        indices = np.array(index, np.int32)
        shape = WIDE.shape[: axis % 4] + indices.shape + WIDE.shape[axis % 4 + 1 :]
        updates = RNG.uniform(-3, 3, shape).astype(np.float32)
        y = WIDE.copy()
        y[(FULL,) * (axis % 4) + (indices,)] = updates
        cases.append(case("ScatterUpdate", 3, [WIDE, indices, updates, fixed(axis)], y,
                          differs="" if indices.ndim else "the plugin takes no scalar"))  # fmt: skip
    unique = np.array([[0, 1], [2, 3], [3, 0]], np.int32)
    doubled = np.array([[1, 1, 3], [0, 2, 2]], np.int64)
    for data, axis in ((WHOLE, 1), (WHOLE.astype(np.float32), 0)):
        updates = np.array([[5, -7], [2, 9], [4, 1]]).astype(data.dtype)
        y = scattered_elements(data, unique, updates, axis)
        for version in (3, 12):
            cases.append(case("ScatterElementsUpdate", version, [data, unique, updates, fixed(axis)], y))
        updates = np.array([[5, -7, 3], [2, 9, -4]]).astype(data.dtype)
        for kind, uses_data in itertools.product(("sum", "prod", "min", "max", "mean"), (True, False)):
            y = scattered_elements(data, doubled, updates, axis, kind, uses_data)
            cases.append(case("ScatterElementsUpdate", 12, [data, doubled, updates, fixed(axis)], y,
                              reduction=kind, use_init_val=uses_data))  # fmt: skip
    once = np.array([[1, 2], [0, 0], [3, 5]], np.int32)
    twice = np.array([[1], [3], [1]], np.int64)
    for data in (WHOLE, WHOLE.astype(np.float32)):
        for version in (4, 15):
            y = scattered_nd(data, once, data[0, :3])
            cases.append(case("ScatterNDUpdate", version, [data, once, data[0, :3].copy()], y))
        for kind in ("none", "sum", "sub", "prod", "min", "max"):
            updates = data[:3] + data.dtype.type(1)
            y = scattered_nd(data, twice, updates, kind)
            cases.append(case("ScatterNDUpdate", 15, [data, twice, updates], y, reduction=kind))
    return cases


# Positions.


def one_hot(indices, depth, on, off, axis, wraps=False) -> np.ndarray:
    classes = np.arange(depth)
    picks = np.where((indices < 0) & wraps, indices + depth, indices)
    return np.moveaxis(np.where(picks[..., None] == classes, on, off), -1, axis)


HOT = np.array([[0, 2, -1], [3, 1, -3]], np.int64)
SORTED = np.array([-2, 0, 0.5, 0.5, 2], np.float32)
ROWS = np.sort(RNG.integers(0, 9, (2, 3, 5)), -1).astype(np.int32)
WANTED = RNG.integers(-1, 10, (2, 3, 4)).astype(np.int32)


def rows_searched(side: str) -> np.ndarray:
    return np.stack([np.searchsorted(row, wanted, side) for row, wanted in
                     zip(ROWS.reshape(6, 5), WANTED.reshape(6, 4), strict=True)]).reshape(2, 3, 4)  # fmt: skip


def hot(version: int, indices: np.ndarray, axis: int, on=5.0, off=-1.0, dtype=np.float32, **data) -> Case:
    y = one_hot(indices, 4, on, off, axis, data.get("negative_indices_mode") == "normalize")
    return case("OneHot", version, [indices, fixed(4), fixed(on, dtype), fixed(off, dtype)],
                y.astype(dtype), axis=axis, **data)  # fmt: skip


POSITIONS = [
    case("Range", 1, [fixed(1), fixed(9), fixed(3)], i64(1, 4, 7)),
    case("Range", 1, [i32(9)[0], i32(1)[0], i32(-3)[0]], i32(9, 6, 3)),
    case("Range", 4, [fixed(0), np.array(5, np.int64), fixed(2)], np.array([0, 2, 4], np.float32),
         output_type="f32"),
    case("Range", 4, [fixed(0.5, np.float32), fixed(2.5, np.float32), fixed(0.5, np.float32)],
         np.array([0.5, 1, 1.5, 2], np.float32), output_type="f32"),
    case("Range", 4, [fixed(1.7, np.float32), fixed(5.9, np.float32), fixed(1.2, np.float32)],
         i32(1, 2, 3, 4), output_type="i32"),
    *(hot(version, np.abs(HOT), axis) for version in (1, 16) for axis in (-1, 0, 1)),
    hot(1, HOT, -1), hot(16, HOT, -1, negative_indices_mode="ignore_negative"),
    hot(16, HOT, 1, negative_indices_mode="normalize"),
    hot(1, np.abs(HOT).astype(np.int32), 1, 7, 2, np.int32),
    case("OneHot", 1, [np.array(2, np.int64), fixed(4), fixed(True, np.bool_), fixed(False, np.bool_)],
         np.arange(4) == 2, axis=0),
    *(case("Eye", 9, [fixed(3), fixed(4), fixed(k)], np.eye(3, 4, k, dtype), output_type=word)
      for k in (-4, -1, 0, 2) for word, dtype in (("f32", np.float32), ("i32", np.int32))),
    case("Eye", 9, [fixed([2]), fixed([2]), fixed([0]), fixed([3, 1])],
         np.broadcast_to(np.eye(2, dtype=np.float32), (3, 1, 2, 2)), output_type="f32"),
    case("Eye", 9, [i64(3)[0], i64(2)[0], fixed(-1)], np.eye(3, 2, -1, np.int64), output_type="i64"),
    case("Bucketize", 3, [X, fixed(SORTED)], np.searchsorted(SORTED, X, "left"), output_type="i64"),
    case("Bucketize", 3, [X, fixed(SORTED)], np.searchsorted(SORTED, X, "left"),
         differs="its reader needs output_type"),
    case("Bucketize", 3, [np.array([[0, 0.5], [2, 3]], np.float32), fixed(SORTED)],
         np.array([[1, 2], [4, 5]], np.int32), output_type="i32", with_right_bound=True),
    case("Bucketize", 3, [np.array([[0, 0.5], [2, -9]], np.float32), fixed(SORTED)],
         np.array([[2, 4], [5, 0]], np.int32), output_type="i32", with_right_bound=False),
    case("Bucketize", 3, [WHOLE, fixed([-5, 0, 5], np.int64)],
         np.searchsorted([-5, 0, 5], WHOLE, "right"), with_right_bound=False,
         output_type="i64"),
    case("SearchSorted", 15, [SORTED, X], np.searchsorted(SORTED, X, "left")),
    case("SearchSorted", 15, [SORTED, np.array([0.5, 0], np.float32)], i64(4, 2), right_mode=True),
    case("SearchSorted", 15, [ROWS, WANTED], rows_searched("left")),
    case("SearchSorted", 15, [ROWS, WANTED], rows_searched("right"), right_mode=True),
]  # fmt: skip

PAD_MODES = ("constant", "edge", "reflect", "symmetric")


def pads() -> list[Case]:
    cases = []
    for version, mode in itertools.product((1, 12), PAD_MODES):
        amounts = ((1, 0), (0, 2), (2, 1))
        begins, ends = [a for a, _ in amounts], [b for _, b in amounts]
        y = np.pad(X, amounts, mode)
        cases.append(case("Pad", version, [X, fixed(begins), fixed(ends)], y, pad_mode=mode))
        if version == 1:
            cases.append(case("Pad", 1, [X, Sized(i64(*begins)), Sized(i64(*ends))], y, pad_mode=mode))
        else:
            cut = np.pad(X[:, 1:, :3], ((1, 0), (0, 1), (2, 0)), mode)
            cases.append(case("Pad", 12, [X, fixed([1, -1, 2]), fixed([0, 1, -1])], cut, pad_mode=mode))
    y = np.pad(WHOLE, ((2, 1), (0, 1)), constant_values=7)
    cases.append(case("Pad", 1, [WHOLE, fixed([2, 0]), fixed([1, 1]), fixed(7, np.int32)], y,
                      pad_mode="constant"))  # fmt: skip
    y = np.pad(WHOLE[2:, :-1], ((0, 1), (0, 0)), constant_values=7)
    for value, differs in ((fixed(7, np.int32), ""), (np.array(7, np.int32), "the plugin takes a fed value for 0")):
        cases.append(case("Pad", 12, [WHOLE, fixed([-2, 0]), fixed([1, -1]), value], y, differs=differs,
                          pad_mode="constant"))  # fmt: skip
    return cases


# Blocks.

CHANNELS = RNG.uniform(-3, 3, (2, 8, 2, 3)).astype(np.float32)
SPACE = RNG.uniform(-3, 3, (2, 3, 4, 6)).astype(np.float32)
VOLUME = RNG.uniform(-3, 3, (1, 8, 2, 3, 1)).astype(np.float32)


def to_space(x: np.ndarray, block: int, mode: str) -> np.ndarray:
    """Place by place: which channel an element of the result comes from."""
    spatial = x.ndim - 2
    depth = x.shape[1] // block**spatial
    y = np.empty((x.shape[0], depth, *(n * block for n in x.shape[2:])), x.dtype)
    for at in np.ndindex(*y.shape):
        inside = int(np.ravel_multi_index([i % block for i in at[2:]], (block,) * spatial))
        channel = inside * depth + at[1] if mode == "blocks_first" else at[1] * block**spatial + inside
        y[at] = x[(at[0], channel, *(i // block for i in at[2:]))]
    return y


def from_space(x: np.ndarray, block: int, mode: str) -> np.ndarray:
    spatial = x.ndim - 2
    depth = x.shape[1]
    y = np.empty((x.shape[0], depth * block**spatial, *(n // block for n in x.shape[2:])), x.dtype)
    for at in np.ndindex(*y.shape):
        inside, channel = divmod(at[1], depth)
        if mode == "depth_first":
            channel, inside = divmod(at[1], block**spatial)
        offsets = np.unravel_index(inside, (block,) * spatial)
        y[at] = x[(at[0], channel, *(i * block + o for i, o in zip(at[2:], offsets, strict=True)))]
    return y


def shuffled(x: np.ndarray, axis: int, groups: int) -> np.ndarray:
    order = np.arange(x.shape[axis]).reshape(groups, -1).T.ravel()
    return np.take(x, order, axis)


def space_to_batch(x: np.ndarray, block: list[int], begins: list[int], ends: list[int]) -> np.ndarray:
    x = np.pad(x, list(zip(begins, ends, strict=True)))
    parts = [x[(FULL, *(slice(o, None, b) for o, b in zip(at, block[1:], strict=True)))]
             for at in np.ndindex(*block[1:])]  # fmt: skip
    return np.concatenate(parts)


def batch_to_space(x: np.ndarray, block: list[int], begins: list[int], ends: list[int]) -> np.ndarray:
    parts = np.split(x, int(np.prod(block)))
    y = np.empty((parts[0].shape[0], *(n * b for n, b in zip(x.shape[1:], block[1:], strict=True))), x.dtype)
    for at, part in zip(np.ndindex(*block[1:]), parts, strict=True):
        y[(FULL, *(slice(o, None, b) for o, b in zip(at, block[1:], strict=True)))] = part
    return y[tuple(slice(b, n - e) for b, e, n in zip(begins, ends, y.shape, strict=True))]


BATCHES = RNG.uniform(-3, 3, (12, 2, 3, 2)).astype(np.float32)

BLOCKS = [
    *(case("DepthToSpace", 1, [x], to_space(x, 2, mode), mode=mode, block_size=2)
      for x in (CHANNELS, VOLUME) for mode in ("blocks_first", "depth_first")),
    *(case("SpaceToDepth", 1, [x], from_space(x, block, mode), mode=mode, block_size=block)
      for x, block in ((SPACE, 2), (SPACE.reshape(1, 6, 4, 6, 1)[..., [0, 0]], 2))
      for mode in ("blocks_first", "depth_first")),
    *(case("ShuffleChannels", 1, [CHANNELS], shuffled(CHANNELS, axis, groups), axis=axis, group=groups)
      for axis, groups in ((1, 2), (1, 4), (-1, 3), (0, 1))),
    *(case("SpaceToBatch", 2, [SPACE, fixed(block), fixed(begins), fixed(ends)],
           space_to_batch(SPACE, block, begins, ends))
      for block, begins, ends in (([1, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0]),
                                  ([1, 2, 3, 1], [0, 1, 2, 0], [0, 0, 0, 0]))),
    *(case("BatchToSpace", 2, [BATCHES, fixed(block), fixed(begins), fixed(ends)],
           batch_to_space(BATCHES, block, begins, ends))
      for block, begins, ends in (([1, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0]),
                                  ([1, 3, 2, 1], [0, 1, 0, 1], [0, 2, 1, 0]))),
]  # fmt: skip

# Element types: what moves elements takes all of them.

TYPES = ("float16", "float64", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def of_all_types() -> list[Case]:
    cases = []
    for name in TYPES:
        x = (np.arange(24).reshape(2, 3, 4) % 5).astype(name)
        row = x[:, :1]
        cases += [
            case("Concat", 1, [x, row], np.concatenate([x, row], 1), axis=1),
            case("Gather", 8, [x, i64(2, 0), fixed(1)], x[:, [2, 0]]),
            case("Transpose", 1, [x, fixed([1, 2, 0])], x.transpose(1, 2, 0)),
            *strided((FULL, slice(0, 3, 2)), [0, 0], [2, 3], [1, 2], x)[:1],
            case("Tile", 1, [x, fixed([1, 2, 1])], np.tile(x, (1, 2, 1))),
            case("Broadcast", 3, [row, fixed([2, 3, 4])], np.broadcast_to(row, (2, 3, 4))),
            case("ScatterUpdate", 3, [x, i64(1), row, fixed(1)],
                 np.concatenate([x[:, :1], row, x[:, 2:]], 1)),
            case("Reshape", 1, [x, fixed([4, 6])], x.reshape(4, 6), special_zero=False),
            case("Pad", 1, [x, fixed([0, 1, 0]), fixed([0, 0, 1])], np.pad(x, ((0, 0), (1, 0), (0, 1))),
                 pad_mode="constant"),
        ]  # fmt: skip
    return cases


# Embeddings.

TABLE = RNG.uniform(-3, 3, (5, 3)).astype(np.float32)
BAGS = np.array([[0, 2], [4, 4], [1, 0]], np.int32)
WEIGHTS = RNG.uniform(0.5, 2, (3, 2)).astype(np.float32)
FLAT = np.array([0, 2, 3, 4, 1], np.int32)
FACTORS = RNG.uniform(0.5, 2, 5).astype(np.float32)


def bags(segments: list[int], count: int, fallback: int, weights=None, mean: bool = False) -> np.ndarray:
    y = np.zeros((count, 3), np.float32)
    for bag in range(count):
        own = [i for i, segment in enumerate(segments) if segment == bag]
        if not own and fallback >= 0:
            y[bag] = TABLE[fallback]
        for i in own:
            y[bag] += TABLE[FLAT[i]] * (1 if weights is None else weights[i]) / (len(own) if mean else 1)
    return y


OFFSETS = np.array([0, 2, 2], np.int32)
OF_OFFSETS = [0, 0, 2, 2, 2]
SEGMENTS = np.array([0, 0, 2, 2, 2], np.int32)

EMBEDDINGS = [
    case("EmbeddingBagPackedSum", 3, [TABLE, BAGS], TABLE[BAGS].sum(1)),
    case("EmbeddingBagPackedSum", 3, [TABLE, BAGS, WEIGHTS], (TABLE[BAGS] * WEIGHTS[..., None]).sum(1)),
    case("EmbeddingBagPacked", 15, [TABLE, BAGS], TABLE[BAGS].sum(1), reduction="sum"),
    case("EmbeddingBagPacked", 15, [TABLE, BAGS], TABLE[BAGS].mean(1), reduction="mean"),
    case("EmbeddingBagOffsetsSum", 3, [TABLE, FLAT, OFFSETS], bags(OF_OFFSETS, 3, -1)),
    case("EmbeddingBagOffsetsSum", 3, [TABLE, FLAT, OFFSETS, fixed(1, np.int32), FACTORS],
         bags(OF_OFFSETS, 3, 1, FACTORS)),
    case("EmbeddingBagOffsetsSum", 3, [TABLE, FLAT, i32(0, 0, 3, 5), fixed(4, np.int32)],
         bags([1, 1, 1, 2, 2], 4, 4), differs="the plugin lets no bag begin after the indices"),
    case("EmbeddingBagOffsets", 15, [TABLE, FLAT, OFFSETS, fixed(-1, np.int32)], bags(OF_OFFSETS, 3, -1),
         reduction="sum"),
    case("EmbeddingBagOffsets", 15, [TABLE, FLAT, OFFSETS, fixed(2, np.int32)],
         bags(OF_OFFSETS, 3, 2, mean=True), reduction="mean"),
    case("EmbeddingSegmentsSum", 3, [TABLE, FLAT, SEGMENTS, fixed(4, np.int32)], bags(OF_OFFSETS, 4, -1)),
    case("EmbeddingSegmentsSum", 3, [TABLE, FLAT, SEGMENTS, fixed(4, np.int32), fixed(0, np.int32), FACTORS],
         bags(OF_OFFSETS, 4, 0, FACTORS)),
]  # fmt: skip

WORDS = np.array([["hi", "", "all"], ["\u00e9t\u00e9", "x", "yz"]], object)
LETTERS = np.frombuffer("".join(WORDS.flat).encode(), np.uint8)
BEGINS, ENDS = i32(0, 2, 2, 5, 10, 11).reshape(2, 3), i32(2, 2, 5, 10, 11, 13).reshape(2, 3)

STRINGS = [
    case("StringTensorPack", 15, [BEGINS, ENDS, LETTERS], WORDS),
    case("StringTensorPack", 15, [i64(0, 1), i64(2, 2), LETTERS], np.array(["hi", "i"], object)),
    case("StringTensorUnpack", 15, [WORDS], BEGINS, ENDS, LETTERS),
]  # fmt: skip

TABLES = {"shapes": SHAPES, "strings": STRINGS, "parts": PARTS, "slices": SLICES, "gathers": gathers(), "scatters": scatters(),
          "positions": POSITIONS, "pads": pads(), "blocks": BLOCKS, "embeddings": EMBEDDINGS,
          "element types": of_all_types()}  # fmt: skip


@pytest.mark.parametrize("title", TABLES)
def test_numpy(title: str, tmp_path: pathlib.Path, report: Callable[[str], None]) -> None:
    check_here(TABLES[title], title, tmp_path, report)


@pytest.mark.parametrize("title", TABLES)
def test_openvino(title: str, tmp_path: pathlib.Path, report: Callable[[str], None]) -> None:
    check_peer(TABLES[title], title, tmp_path, report)


def refused(message: str, kind: str, version: int, operands: list, outputs: int = 1, **data) -> tuple[Case, str]:
    return case(kind, version, operands, *[np.zeros(0)] * outputs, **data), message


REFUSED = [
    refused("'num_splits' is 4, but the layer has 1 outputs", "Split", 1, [X, fixed(0)], num_splits=4),
    refused("input 0 has size 3 on axis 1, which is not divisible into 2 parts", "Split", 1, [X, fixed(1)], 2,
            num_splits=2),
    refused(r"input 2, the axis, is 3, outside \[-3, 3\)", "Gather", 8, [X, i32(0), fixed(3)]),
    refused("'batch_dims' is 2, but the axis 1 comes before its end", "Gather", 8, [X, i32(0, 0).reshape(1, 2), fixed(1)],
            batch_dims=2),
    refused("input 1 is f32", "Gather", 8, [X, LINE, fixed(0)]),
    refused("input 1 has 40 entries, but input 0 has 3 axes", "StridedSlice", 1,
            [X, fixed([0] * 40), fixed([1] * 40)]),
    refused(r"'batch_dims' is 1000000000000, outside \[0, 16\]", "GatherND", 5, [X, WHOLE],
            batch_dims=10**12),
    refused(r"input 2 has lengths of more than 2\^40", "VariadicSplit", 1,
            [X, fixed(0), fixed([2**62, 2**62, 2**62])], 3),
    refused("inputs 1, 2 and 3 have 1, 2 and 1 entries", "StridedSlice", 1,
            [X, fixed([0]), fixed([1, 1]), fixed([1])]),
    refused("entry 0 of input 3 is 0", "StridedSlice", 1, [X, fixed([0]), fixed([1]), fixed([0])]),
    refused("have entries for 4 axes, but input 0 has 3", "StridedSlice", 1, [X, fixed([0] * 4), fixed([1] * 4)]),
    refused("marks more than one entry", "StridedSlice", 1, [X, fixed([0, 0]), fixed([1, 1])],
            ellipsis_mask=[1, 1]),
    refused("input 1 names axis 0 twice", "Reverse", 1, [X, fixed([0, -3])], mode="index"),
    refused("input 1 has 3 shifts, but input 2 names 2 axes", "Roll", 7, [X, fixed([1, 2, 3]), fixed([0, 1])]),
    refused("input 1 names 2 axes, but input 0 has 3", "Transpose", 1, [X, i64(0, 1)]),
    refused("input 2 maps 1 axes, but input 0 has 3", "Broadcast", 3, [X, fixed([2, 3, 4]), fixed([0])],
            mode="explicit"),
    refused("'mode' is 'bidirectional', but must be one of numpy, explicit, none, pdpd", "Broadcast", 1, [X, fixed([2, 3, 4])],
            mode="bidirectional"),
    refused("input 0 has size 3 on axis 1, which is not divisible by 4", "DepthToSpace", 1, [SPACE], block_size=2),
    refused("input 0 has size 3 on axis 1, which is not divisible by 2", "ShuffleChannels", 1, [SPACE], group=2),
    refused("'block_size' is 0, outside", "SpaceToDepth", 1, [SPACE], block_size=0),
    refused("input 1 has block size 2 for the batch, not 1", "SpaceToBatch", 2,
            [SPACE, fixed([2, 1, 1, 1]), fixed([0] * 4), fixed([0] * 4)]),
    refused("input 1 has 2 pads, but input 0 has 3 axes", "Pad", 1, [X, fixed([0, 0]), fixed([0, 0])],
            pad_mode="symmetric"),
    refused("input 3, the value, is i32.*input 0 is f32", "Pad", 1,
            [X, fixed([0] * 3), fixed([0] * 3), fixed(1, np.int32)], pad_mode="constant"),
    refused("attribute 'output_type' is f32, but a type of integers", "ShapeOf", 3, [X], output_type="f32"),
    refused("input 1 has 2 axes, not 1", "Bucketize", 3, [X, WHOLE]),
    refused(r"symbols is i64\[2\], but must be a list of u8", "StringTensorPack", 15, [i64(0, 1), i64(1, 2), i64(97, 98)]),
    refused("input 0 is f32.*integers are needed", "StringTensorPack", 15, [LINE, i64(0), LETTERS]),
    refused("input 0 has 2 axes, input 1 has 3", "SearchSorted", 15, [WHOLE, X.astype(np.int32)]),
    refused("input 3, the axis, is 2, outside", "ScatterUpdate", 3, [WHOLE, i32(0), WHOLE, fixed(2)]),
    refused("'reduction' is 'sub', but must be one of none, sum, prod, min, max, mean", "ScatterElementsUpdate", 12,
            [WHOLE, WHOLE, WHOLE, fixed(0)], reduction="sub"),
    refused("input 2 has 2 negative lengths", "VariadicSplit", 1, [X, fixed(0), fixed([-1, -1])], 2),
]  # fmt: skip


@pytest.mark.parametrize(("one", "message"), REFUSED)
def test_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)


FOUND_WHEN_RUN = [
    ("the parts have 4 elements, but the axis has 5", "Split", 1, [LINE[:5], fixed(0)], 2, {"num_splits": 2}),
    ("string 1 is \\[1, 9\\), outside the 2 symbols", "StringTensorPack", 15,
     [i32(0, 1), i32(1, 9), np.frombuffer(b"ab", np.uint8)], 1, {}),
    ("index 7 .* 3", "Gather", 8, [X, i64(7), fixed(1)], 1, {}),
    ("order of axes has 0 where a permutation has 1", "Transpose", 1, [X, i64(0, 2, 0)], 1, {}),
    ("order of axes has 3 where a permutation has 2", "Transpose", 1, [X, i64(3, 0, 1)], 1, {}),
    ("sequence length 5 is outside the 3 steps", "ReverseSequence", 1, [X, i64(1, 5)], 1, {}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "kind", "version", "operands", "outputs", "data"), FOUND_WHEN_RUN)
def test_found_when_run(message: str, kind: str, version: int, operands: list, outputs: int, data: dict,
                        tmp_path: pathlib.Path) -> None:  # fmt: skip
    """Sizes that the model leaves open are checked with the feeds; the error names the layer."""
    one = case(kind, version, operands, *[np.zeros(0)] * outputs, **data)
    with pytest.raises(scanloom.Error, match=message) as caught:
        run_model(one, plain_model(one, "unknown").save(tmp_path))
    assert f"({kind})" in str(caught.value)


@pytest.mark.parametrize("sizes", [X.shape, (-1, -1, -1)])
def test_an_order_that_follows_from_the_number_of_axes(sizes: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    graph = openvino_ir.Graph()
    x = graph.parameter("x0", X.dtype, sizes)
    shape = graph.add("ShapeOf", [x], 1, 3, precision="I64", output_type="i64")
    rank = graph.add("ShapeOf", [shape], 1, 3, precision="I64", output_type="i64")
    scalar = graph.add("Squeeze", [rank, graph.constant(0, "int64")], precision="I64")
    last = graph.add("Subtract", [scalar, graph.constant(1, "int64")], precision="I64")
    order = graph.add("Range", [last, graph.constant(-1, "int64"), graph.constant(-1, "int64")], 1, 4,
                      precision="I64", output_type="i64")  # fmt: skip
    graph.result(graph.add("Transpose", [x, order]))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    np.testing.assert_array_equal(session.run(None, {"x0": X})[0], X.T)
    assert "gather" not in session.ir() and "transpose" in session.ir()
