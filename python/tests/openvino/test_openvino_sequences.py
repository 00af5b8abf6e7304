"""OpenVINO's operations on beams, segments, frames and regions that are composed of several operators,
and attention with sinks."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
import pytest
from openvino_cases import Case, Sized, case, check_here, check_peer, fixed, plain_model

import scanloom

RNG = np.random.default_rng(29)
Report = Callable[[str], None]


def randoms(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# GatherTree.


def beams(tokens: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: float) -> np.ndarray:
    y = np.full_like(tokens, end)
    steps, batch, width = tokens.shape
    for b in range(batch):
        for beam in range(width):
            at = beam
            for t in reversed(range(min(steps, int(lengths[b])))):
                y[t, b, beam] = tokens[t, b, at]
                at = int(parents[t, b, at])
            ended = np.flatnonzero(y[:, b, beam] == end)
            if len(ended):
                y[ended[0] :, b, beam] = end
    return y


def beam_cases() -> list[Case]:
    cases = []
    for steps, batch, width in ((5, 3, 4), (1, 2, 2), (4, 1, 1)):
        for dtype in (np.float32, np.int32):
            tokens = RNG.integers(0, 6, (steps, batch, width)).astype(dtype)
            parents = RNG.integers(0, width, (steps, batch, width)).astype(dtype)
            end = np.array(3, dtype)
            for lengths in (np.full(batch, steps + 2), RNG.integers(1, steps + 1, batch), np.zeros(batch)):
                differs = "" if lengths[0] else "the plugin leaves sequences without a step as they happen to be"
                cases.append(case("GatherTree", 1, [tokens, parents, lengths.astype(dtype), end],
                                  beams(tokens, parents, lengths, 3), differs=differs))  # fmt: skip
    return cases


# Segments.


def segment_max(data: np.ndarray, segments: list[int], count: int, fill: float) -> np.ndarray:
    y = np.full((count, *data.shape[1:]), fill, data.dtype)
    for segment in range(count):
        rows = [row for row, at in zip(data, segments, strict=True) if at == segment]
        if rows:
            y[segment] = np.max(rows, 0)
    return y


def segment_cases() -> list[Case]:
    cases = []
    segments = [0, 0, 2, 3, 3, 3]
    for dtype in (np.float32, np.int32, np.int64):
        data = RNG.integers(-9, 9, (6, 2, 3)).astype(dtype)
        low = np.finfo(dtype).min if dtype == np.float32 else np.iinfo(dtype).min
        narrows = "the plugin computes with 32 bits" if dtype == np.int64 else ""
        for fill, value in (("ZERO", 0), ("LOWEST", low)):
            differs = narrows if value else ""
            cases += [
                case("SegmentMax", 16, [data, fixed(segments, np.int32)], segment_max(data, segments, 4, value),
                     fill_mode=fill, differs=differs),
                case("SegmentMax", 16, [data, np.array(segments), fixed(6)], segment_max(data, segments, 6, value),
                     fill_mode=fill, differs=differs),
                case("SegmentMax", 16, [data[:, 0, 0], fixed(segments), np.array(3)],
                     segment_max(data[:, 0, 0], segments, 3, value), fill_mode=fill, differs=differs),
            ]  # fmt: skip
    return cases


def sparse_cases() -> list[Case]:
    kind, cases = "SparseFillEmptyRows", []
    for dtype in (np.int32, np.int64):
        indices = np.array([[0, 1], [0, 3], [2, 0], [3, 1]], dtype)
        whole = np.array([[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]], dtype)
        for value_dtype in (np.float32, np.int32):
            values, more = np.array([5, 6, 7, 8], value_dtype), np.array([5, 6, -1, 7, 8, -1], value_dtype)
            cases.append(case(kind, 16, [values, np.array([5, 6], dtype), indices, np.array(-1, value_dtype)],
                              whole, more, np.array([False, True, False, False, True])))  # fmt: skip
        full = np.array([[0, 0], [1, 2]], dtype)
        cases.append(case(kind, 16, [np.float32([1, 2]), fixed([2, 3], dtype), full, np.float32(9)],
                          full, np.float32([1, 2]), np.zeros(2, bool)))  # fmt: skip
    return cases


# Frames.


def istft(x: np.ndarray, window: np.ndarray, size: int, step: int, length: int | None, center: bool,
          normalized: bool) -> np.ndarray:  # fmt: skip
    if x.ndim == 3:
        return istft(x[None], window, size, step, length, center, normalized)[0]
    frames = x.shape[2]
    before = (size - len(window)) // 2
    weights = np.pad(window.astype(np.float64), (before, size - len(window) - before))
    whole = (frames - 1) * step + size
    y, sums = np.zeros((len(x), whole)), np.zeros(whole)
    for i in range(frames):
        frame = np.fft.irfft(x[:, :, i, 0] + 1j * x[:, :, i, 1], size)
        y[:, i * step : i * step + size] += frame * weights
        sums[i * step : i * step + size] += weights**2
    y /= np.where(sums == 0, 1, sums)
    if normalized:
        y *= np.sqrt(size)
    margin = size // 2 if center else 0
    length = whole - 2 * margin if length is None else length
    return np.pad(y, ((0, 0), (0, max(0, margin + length - whole))))[:, margin : margin + length].astype(np.float32)


def istft_cases() -> list[Case]:
    cases = []
    for size, step, width in ((8, 4, 8), (9, 3, 7), (6, 6, 6)):
        window = (0.5 + RNG.random(width)).astype(np.float32)
        x = randoms(2, size // 2 + 1, 5, 2)
        for center, normalized, length in ((False, False, None), (True, True, None), (True, False, 14),
                                           (False, True, 40)):  # fmt: skip
            operands = [x, window, fixed(size), fixed(step, np.int32)]
            operands += [] if length is None else [fixed(length)]
            for one in (x, x[0]):
                operands[0] = one
                cases.append(case("ISTFT", 16, list(operands),
                                  istft(one, window, size, step, length, center, normalized),
                                  center=center, normalized=normalized, tolerance=1e-5))  # fmt: skip
    return cases


# Attention.


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray, sink: np.ndarray) -> np.ndarray:
    scores = q.astype(np.float64) @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + bias
    scores = np.concatenate([scores, np.broadcast_to(sink, [*scores.shape[:-1], 1])], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return ((weights / weights.sum(-1, keepdims=True))[..., :-1] @ v).astype(np.float32)


def attention_cases() -> list[Case]:
    kind = "ScaledDotProductAttention"
    q, k, v = randoms(2, 3, 4, 8), randoms(2, 3, 5, 8), randoms(2, 3, 5, 6)
    bias, scale = randoms(2, 1, 4, 5), np.float32(1 / np.sqrt(8))
    causal = np.where(np.tri(4, 5, dtype=bool), 0, -np.inf)
    cases = []
    for sink in (randoms(1, 3, 1, 1), randoms(2, 3, 4, 1)):
        differs = "the plugin takes one sink for all queries" if sink.shape[2] > 1 else ""
        cases += [case(kind, 13, [q, k, v, bias, scale, sink], attention(q, k, v, bias, sink), causal=False,
                       differs=differs),
                  case(kind, 13, [q, k, v, bias, scale, sink], attention(q, k, v, causal, sink), causal=True,
                       differs=differs)]  # fmt: skip
    return cases


# Regions.


def between(x: np.ndarray, rois: np.ndarray, height: int, width: int) -> np.ndarray:
    y = np.zeros((len(rois), x.shape[1], height, width), np.float32)

    def place(low: float, high: float, i: int, count: int, size: int) -> float:
        last = np.float32(size - 1)
        if count == 1:
            return (low + high) * np.float32(0.5) * last
        return np.float32(i) * ((high - low) * last / np.float32(count - 1)) + low * last

    for n, (image, x0, y0, x1, y1) in enumerate(rois):
        for i in range(height):
            for k in range(width):
                row, column = place(y0, y1, i, height, x.shape[2]), place(x0, x1, k, width, x.shape[3])
                if not (0 <= row <= x.shape[2] - 1 and 0 <= column <= x.shape[3] - 1):
                    continue
                top, left = int(row), int(column)
                down, right = min(top + 1, x.shape[2] - 1), min(left + 1, x.shape[3] - 1)
                image_of = x[int(image)].astype(np.float64)
                upper = image_of[:, top, left] * (1 - column + left) + image_of[:, top, right] * (column - left)
                lower = image_of[:, down, left] * (1 - column + left) + image_of[:, down, right] * (column - left)
                y[n, :, i, k] = upper * (1 - row + top) + lower * (row - top)
    return y


def region_cases() -> list[Case]:
    x = randoms(2, 3, 6, 7)
    rois = np.float32([[0, 0.1, 0.2, 0.7, 0.9], [1, 0, 0, 1, 1], [1, 0.3, 0.3, 0.3, 0.3], [0, -0.5, 0.2, 0.5, 1.4]])
    return [case("ROIPooling", 2, [x, rois], between(x, rois, *size), output_size=list(size), method="bilinear",
                 spatial_scale=1.0, tolerance=1e-5)
            for size in ((3, 4), (1, 2), (2, 1), (1, 1))]  # fmt: skip


GROUPS = {"beams": beam_cases(), "segments": segment_cases(), "sparse rows": sparse_cases(), "frames": istft_cases(),
          "sinks": attention_cases(), "bilinear regions": region_cases()}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


def test_a_parent_that_is_no_beam_is_told(tmp_path: pathlib.Path) -> None:
    one = beam_cases()[0]  # every length is longer than the five steps
    session = scanloom.InferenceSession(plain_model(one).save(tmp_path))
    feeds = {f"x{i}": x.copy() for i, x in enumerate(one.feeds)}
    feeds["x1"][4] = 9
    with pytest.raises(scanloom.Error, match=r"GatherTree.*index 9 is outside an axis of 4 elements"):
        session.run(None, feeds)


def test_lengths_of_frames_that_only_the_run_knows(tmp_path: pathlib.Path) -> None:
    x, window = randoms(2, 5, 5, 2), np.ones(8, np.float32)
    one = case("ISTFT", 16, [x, window, Sized(np.array(8)), Sized(np.array(4)), Sized(np.array(21))],
               istft(x, window, 8, 4, 21, True, False), center=True, normalized=False, tolerance=1e-5)  # fmt: skip
    check_here([one], "frames of computed sizes", tmp_path, lambda _text: None)


@pytest.mark.parametrize("length, step, message", [
    (8, 0, "at least 1 is needed as input 3, not 0"),
    (8, -2**31, "at least 1 is needed as input 3, not -2147483648"),
    (-1, 4, "at least 1 is needed as input 2, not -1"),
    (2**25, 4, "at most 16777216 elements, not 33554432"),
])  # fmt: skip
def test_steps_and_lengths_that_are_fed_are_checked(
    length: int, step: int, message: str, tmp_path: pathlib.Path
) -> None:
    signal, window = randoms(1, 48), np.ones(8, np.float32)
    one = case("STFT", 15, [signal, window, np.array(length), np.array(step)],
               np.zeros((1, 5, 11, 2), np.float32), transpose_frames=False)  # fmt: skip
    session = scanloom.InferenceSession(plain_model(one).save(tmp_path))
    with pytest.raises(scanloom.Error, match=message):
        session.run(None, {f"x{i}": x.copy() for i, x in enumerate(one.feeds)})
