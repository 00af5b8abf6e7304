"""OpenVINO's colours of video frames and the parts of detectors that are read."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from openvino_cases import Case, case, check_here, check_peer, check_refused, fixed

RNG = np.random.default_rng(31)
Report = Callable[[str], None]


# Colours.


def coloured(y: np.ndarray, u: np.ndarray, v: np.ndarray, order: str) -> np.ndarray:
    bright = 1.164 * (y.astype(np.float64) - 16)
    u, v = (np.repeat(np.repeat(x.astype(np.float64) - 128, 2, 1), 2, 2) for x in (u, v))
    parts = {"R": bright + 1.596 * v, "G": bright - 0.391 * u - 0.813 * v, "B": bright + 2.018 * u}
    picture = np.clip(np.concatenate([parts[name] for name in order], 3), 0, 255)
    return np.rint(picture).astype(y.dtype) if y.dtype == np.uint8 else picture.astype(y.dtype)


def colour_cases() -> list[Case]:
    cases = []
    for dtype in (np.uint8, np.float32):
        y = RNG.integers(0, 256, (2, 4, 6, 1)).astype(dtype)
        u, v = (RNG.integers(0, 256, (2, 2, 3, 1)).astype(dtype) for _ in range(2))
        pairs = np.concatenate([u, v], 3)
        planes = np.concatenate([y.reshape(2, -1), u.reshape(2, -1), v.reshape(2, -1)], 1).reshape(2, 6, 6, 1)
        paired = np.concatenate([y, pairs.reshape(2, 2, 6, 1)], 1)
        for order in ("RGB", "BGR"):
            expected = coloured(y, u, v, order)
            cases += [case(f"NV12to{order}", 8, [y, pairs], expected, tolerance=1e-4),
                      case(f"NV12to{order}", 8, [paired], expected, tolerance=1e-4),
                      case(f"I420to{order}", 8, [y, u, v], expected, tolerance=1e-4),
                      case(f"I420to{order}", 8, [planes], expected, tolerance=1e-4)]  # fmt: skip
    return cases


# YOLO.


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def regions(x: np.ndarray, count: int, coords: int, classes: int, soft: bool) -> np.ndarray:
    y = x.astype(np.float64).reshape(len(x), count, coords + 1 + classes, *x.shape[2:])
    y[:, :, :2] = sigmoid(y[:, :, :2])
    y[:, :, coords] = sigmoid(y[:, :, coords])
    scores = y[:, :, coords + 1 :]
    if soft:
        scores[:] = np.exp(scores - scores.max(2, keepdims=True))
        scores /= scores.sum(2, keepdims=True)
    else:
        scores[:] = sigmoid(scores)
    return y.reshape(x.shape).astype(np.float32)


def region_cases() -> list[Case]:
    x = RNG.standard_normal((2, 3 * (4 + 1 + 5), 2, 3)).astype(np.float32)
    plain: dict[str, Any] = {"coords": 4, "classes": 5, "num": 3, "anchors": [1.0, 2.0]}
    soft = regions(x, 3, 4, 5, True)
    return [
        case("RegionYolo", 1, [x], soft.reshape(2, -1), axis=1, end_axis=3, do_softmax=True, **plain),
        case("RegionYolo", 1, [x], soft.reshape(2, 30, 6), axis=2, end_axis=3, do_softmax=True, **plain),
        case("RegionYolo", 1, [x], regions(x, 3, 4, 5, False), axis=1, end_axis=3, do_softmax=False,
             mask=[0, 1, 2], **(plain | {"num": 9})),
    ]  # fmt: skip


def reorganised(x: np.ndarray, stride: int) -> np.ndarray:
    batch, channels, height, width = x.shape
    fewer = channels // stride**2
    y = np.zeros_like(x)
    picture = x.reshape(batch, fewer, height * stride, width * stride)
    for channel in range(channels):
        place, plane = divmod(channel, fewer)
        down, right = divmod(place, stride)
        y[:, channel] = picture[:, plane, down::stride, right::stride]
    return y.reshape(batch, channels * stride**2, height // stride, width // stride)


def reorg_cases() -> list[Case]:
    return [case("ReorgYolo", version, [x], reorganised(x, stride), stride=[stride])
            for version, stride, x in ((2, 2, RNG.standard_normal((2, 8, 4, 6)).astype(np.float32)),
                                       (2, 3, RNG.standard_normal((1, 9, 3, 6)).astype(np.float32)),
                                       (2, 1, RNG.standard_normal((1, 2, 2, 2)).astype(np.float32)))]  # fmt: skip


# Boxes.


def prior_grid(priors: np.ndarray, height: int, width: int, down: float, right: float) -> np.ndarray:
    y = np.zeros((height, width, len(priors), 4), np.float32)
    for i in range(height):
        for k in range(width):
            middle = np.array([(k + 0.5) * right, (i + 0.5) * down] * 2)
            y[i, k] = priors + middle
    return y


def grid_cases() -> list[Case]:
    kind = "ExperimentalDetectronPriorGridGenerator"
    priors = np.float32([[-8, -4, 8, 4], [-2, -2, 2, 2], [0, 0, 1, 3]])
    maps, image = np.zeros((1, 2, 3, 4), np.float32), np.zeros((1, 3, 30, 60), np.float32)
    whole = prior_grid(priors, 3, 4, 10, 15)
    return [
        case(kind, 6, [priors, maps, image], whole.reshape(-1, 4), flatten=True, h=0, w=0, stride_x=0.0, stride_y=0.0),
        case(kind, 6, [priors, maps, image], whole, flatten=False, h=0, w=0, stride_x=0.0, stride_y=0.0),
        case(kind, 6, [priors, maps, image], prior_grid(priors, 2, 5, 4, 3).reshape(-1, 4), flatten=True,
             h=2, w=5, stride_x=3.0, stride_y=4.0, differs="the plugin has as many boxes as the maps have cells"),
    ]  # fmt: skip


def clustered(cells: Sequence[int], image: Sequence[int], widths: Sequence[float], heights: Sequence[float],
              steps: Sequence[float], offset: float, clip: bool, variance: Sequence[float]) -> np.ndarray:  # fmt: skip
    boxes = []
    for i in range(cells[0]):
        for k in range(cells[1]):
            y, x = (i + offset) * steps[0], (k + offset) * steps[1]
            for width, height in zip(widths, heights, strict=True):
                boxes.append([(x - width / 2) / image[1], (y - height / 2) / image[0],
                              (x + width / 2) / image[1], (y + height / 2) / image[0]])  # fmt: skip
    corners = np.array(boxes)
    corners = np.clip(corners, 0, 1) if clip else corners
    spread = np.broadcast_to(variance, corners.shape)
    return np.stack([corners.ravel(), spread.ravel()]).astype(np.float32)


def clustered_cases() -> list[Case]:
    widths, heights = [8.0, 5.0, 20.0], [4.0, 9.0, 11.0]
    cases = []
    for dtype in (np.int64, np.int32):
        operands = [fixed([2, 3], dtype), fixed([20, 45], dtype)]
        plain: dict[str, Any] = {"width": widths, "height": heights, "offset": 0.5}
        cases += [
            case("PriorBoxClustered", 1, operands, clustered([2, 3], [20, 45], widths, heights, [10, 15], 0.5, True,
                 [0.1, 0.1, 0.2, 0.2]), clip=True, variance=[0.1, 0.1, 0.2, 0.2], **plain),
            case("PriorBoxClustered", 1, operands, clustered([2, 3], [20, 45], widths, heights, [7, 6], 0.5, False,
                 [0.3]), clip=False, step_h=7.0, step_w=6.0, variance=[0.3], **plain),
            case("PriorBoxClustered", 1, operands, clustered([2, 3], [20, 45], widths, heights, [4, 4], 0.5, False,
                 [0.1]), clip=False, step=4.0, **plain),
        ]  # fmt: skip
    return cases


def best_cases() -> list[Case]:
    rois, scores = RNG.standard_normal((6, 4)).astype(np.float32), np.float32([3, 9, 1, 7, 8, 2])
    return [case("ExperimentalDetectronTopKROIs", 6, [rois, scores], rois[np.argsort(-scores)[:count]],
                 max_rois=count) for count in (1, 4, 6)]  # fmt: skip


GROUPS = {"colours": colour_cases(), "regions of YOLO": region_cases(), "reorganised planes": reorg_cases(),
          "grids": grid_cases(), "clustered boxes": clustered_cases(), "best regions": best_cases()}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


PLANE = np.zeros((1, 4, 4, 1), np.float32)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (case("I420toRGB", 8, [PLANE, PLANE], PLANE), "it has 2 inputs, but 1 or 3 are needed"),
        (case("NV12toRGB", 8, [PLANE[0]], PLANE), "input 0 has 3 axes, but 4 are needed"),
        (case("ReorgYolo", 2, [PLANE], PLANE, stride=[0]), "the stride is 0: 4 and 1 to"),
        (case("RegionYolo", 1, [PLANE], PLANE, coords=1, classes=3, num=1), "1 coordinates, 3 classes and 1 regions"),
        (case("RegionYolo", 1, [PLANE], PLANE, coords=4, classes=3, num=1), "an input of 16 elements cannot have the 32"),
        (case("PriorBoxClustered", 1, [fixed([2, 2]), fixed([9, 9])], PLANE, width=[1.0], height=[1.0, 2.0]),
         "'width' and 'height' have 1 and 2 numbers"),
        (case("PriorBoxClustered", 1, [fixed([2, 2]), fixed([9, 9])], PLANE, width=[1.0], height=[1.0],
              variance=[1.0, 2.0]), "'variance' has 2 numbers, not 1 or 4"),
        (case("ExperimentalDetectronTopKROIs", 6, [PLANE[0, :, :, 0], PLANE[0, 0, :, 0]], PLANE, max_rois=-1),
         "'max_rois' is -1"),
    ],
    ids=lambda value: value.kind if isinstance(value, Case) else None,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)
