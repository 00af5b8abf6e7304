"""OpenVINO's pools over regions: PSROIPooling, DeformablePSROIPooling, ROIAlignRotated, and
ExperimentalDetectronROIFeatureExtractor."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable

import numpy as np
import pytest
from openvino_cases import (
    Case,
    case,
    check_here,
    check_peer,
    check_refused,
    compare,
    plain_model,
    run_model,
)

import scanloom

Report = Callable[[str], None]


def features(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def between(plane: np.ndarray, y: float, x: float) -> float:
    """The value at a position inside the plane."""
    top, left = int(math.floor(y)), int(math.floor(x))
    bottom, right = min(top + 1, plane.shape[0] - 1), min(left + 1, plane.shape[1] - 1)
    upper = plane[top, left] * (1 - (x - left)) + plane[top, right] * (x - left)
    lower = plane[bottom, left] * (1 - (x - left)) + plane[bottom, right] * (x - left)
    return float(upper * (1 - (y - top)) + lower * (y - top))


def away(x: float) -> float:
    """Rounds half away from zero."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def averages(x: np.ndarray, rois: np.ndarray, channels: int, size: int, scale: float) -> np.ndarray:
    y = np.zeros((len(rois), channels, size, size), np.float32)
    height, width = x.shape[2:]
    for n, roi in enumerate(rois):
        x0, y0, x1, y1 = (away(v) * scale for v in (roi[1], roi[2], roi[3] + 1, roi[4] + 1))
        for c, i, k in np.ndindex(channels, size, size):
            top = min(max(math.floor(y0 + i * (y1 - y0) / size), 0), height)
            left = min(max(math.floor(x0 + k * (x1 - x0) / size), 0), width)
            bottom = min(max(math.ceil(y0 + (i + 1) * (y1 - y0) / size), 0), height)
            right = min(max(math.ceil(x0 + (k + 1) * (x1 - x0) / size), 0), width)
            part = x[int(roi[0]), (c * size + i) * size + k, top:bottom, left:right]
            y[n, c, i, k] = part.mean() if part.size else 0
    return y


def bins(x: np.ndarray, rois: np.ndarray, channels: int, size: int, scale: float, down: int, along: int) -> np.ndarray:
    y = np.zeros((len(rois), channels, size, size), np.float32)
    height, width = x.shape[2:]

    def position(start: float, end: float, of_bin: int, count: int, cell: int, last: int) -> float:
        one = (end - start) / count
        at = start + of_bin * one
        return (2 * at + one) / 2 * last if size == 1 else cell * one * last / (size - 1) + at * last

    for n, roi in enumerate(rois):
        x0, y0, x1, y1 = (float(v) * scale for v in roi[1:])
        for c, i, k, a, b in np.ndindex(channels, size, size, down, along):
            row = position(y0, y1, a, down, i, height - 1)
            column = position(x0, x1, b, along, k, width - 1)
            if row < height and column < width:
                plane = x[int(roi[0]), (a * along + b) * channels + c]
                y[n, c, i, k] += between(plane, min(row, height - 1), min(column, width - 1)) / (down * along)
    return y


def deformed(x: np.ndarray, rois: np.ndarray, offsets: np.ndarray | None, channels: int, size: int, scale: float,
             down: int, along: int, factor: float) -> np.ndarray:  # fmt: skip
    y = np.zeros((len(rois), channels, size, size), np.float32)
    height, width = x.shape[2:]
    for n, roi in enumerate(rois):
        x0, y0, x1, y1 = (away(v) * scale - 0.5 for v in (roi[1], roi[2], roi[3] + 1, roi[4] + 1))
        tall, wide = max(y1 - y0, 0.1), max(x1 - x0, 0.1)
        for c, i, k in np.ndindex(channels, size, size):
            top, left = y0 + i * tall / size, x0 + k * wide / size
            if offsets is not None:
                part = offsets.shape[2]
                group = c // (channels // (offsets.shape[1] // 2))
                by = offsets[n, 2 * group : 2 * group + 2, i * part // size, k * part // size] * factor
                left, top = left + by[0] * wide, top + by[1] * tall
            samples = []
            for a, b in np.ndindex(down, along):
                row, column = top + a * tall / size / down, left + b * wide / size / along
                if -0.5 <= row <= height - 0.5 and -0.5 <= column <= width - 0.5:
                    plane = x[int(roi[0]), (c * size + i) * size + k]
                    samples.append(between(plane, min(max(row, 0), height - 1), min(max(column, 0), width - 1)))
            y[n, c, i, k] = np.mean(samples) if samples else 0
    return y


def position_sensitive_cases() -> list[Case]:
    cases = []
    rois = np.float32([[0, 0, 0, 4, 4], [1, 1, 1.4, 5, 3.6], [1, 2, 3, 2, 3], [0, 3, 4, 30, 20]])
    for channels, size in ((2, 2), (3, 1), (1, 3)):
        x = features(channels, 2, channels * size * size, 6, 7)
        for scale in (1.0, 0.5):
            cases.append(case("PSROIPooling", 1, [x, rois], averages(x, rois, channels, size, scale), tolerance=1e-5,
                              output_dim=channels, group_size=size, spatial_scale=scale, mode="average",
                              spatial_bins_x=1, spatial_bins_y=1))  # fmt: skip
    relative = np.float32([[0, 0, 0, 1, 1], [1, 0.2, 0.1, 0.9, 0.6], [0, 0.5, 0.5, 0.5, 0.5]])
    for channels, size, down, along in ((2, 3, 2, 2), (3, 1, 3, 2), (1, 2, 1, 1)):
        x = features(size, 2, channels * down * along, 6, 7)
        for scale in (1.0, 0.5):
            made = bins(x, relative, channels, size, scale, down, along)
            cases.append(case("PSROIPooling", 1, [x, relative], made, tolerance=1e-5, output_dim=channels,
                              group_size=size, spatial_scale=scale, mode="bilinear", spatial_bins_x=along,
                              spatial_bins_y=down))  # fmt: skip
    return cases


def deformable_cases() -> list[Case]:
    cases = []
    rois = np.float32([[0, 0, 0, 4, 4], [1, 1, 1.4, 5, 3.6], [1, 2, 3, 2, 3], [0, 3, 4, 9, 8]])
    for channels, size, groups, part in ((2, 2, 1, 2), (4, 3, 2, 3), (2, 1, 2, 1)):
        x = features(part, 2, channels * size * size, 6, 7)
        offsets = features(size, len(rois), 2 * groups, part, part)
        for given in (None, offsets):
            made = deformed(x, rois, given, channels, size, 0.75, 2, 3, 0.1)
            cases.append(case("DeformablePSROIPooling", 1, [x, rois] + ([] if given is None else [given]), made,
                              tolerance=1e-5, output_dim=channels, group_size=size, spatial_scale=0.75,
                              mode="bilinear_deformable", spatial_bins_x=3, spatial_bins_y=2, trans_std=0.1,
                              part_size=part))  # fmt: skip
    return cases


def sampled(plane: np.ndarray, y: float, x: float) -> float:
    """0 more than one element outside; otherwise the nearest position inside."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0
    return between(plane, min(max(y, 0), height - 1), min(max(x, 0), width - 1))


def turned(x: np.ndarray, rois: np.ndarray, images: np.ndarray, height: int, width: int, ratio: int, scale: float,
           clockwise: bool) -> np.ndarray:  # fmt: skip
    y = np.zeros((len(rois), x.shape[1], height, width), np.float32)
    for n, (roi, image) in enumerate(zip(rois, images)):
        middle_x, middle_y, wide, tall = (float(v) * scale for v in roi[:4])
        angle = float(-roi[4] if clockwise else roi[4])
        down = ratio or math.ceil(tall / height)
        along = ratio or math.ceil(wide / width)
        for c, i, k, a, b in np.ndindex(x.shape[1], height, width, down, along):
            own_y = tall * ((i + (a + 0.5) / down) / height - 0.5)
            own_x = wide * ((k + (b + 0.5) / along) / width - 0.5)
            row = own_y * math.cos(angle) - own_x * math.sin(angle) + middle_y - 0.5
            column = own_y * math.sin(angle) + own_x * math.cos(angle) + middle_x - 0.5
            y[n, c, i, k] += sampled(x[image, c], row, column) / (down * along)
    return y


def turned_cases() -> list[Case]:
    x = features(5, 2, 3, 8, 9)
    rois = np.float32([[4, 4, 3, 5, 0.3], [2, 6, 6, 3, -2.5], [3, 3, 1, 1, 0], [8, 1, 7, 7, 1.2]])
    images = np.array([0, 1, 1, 0])
    cases = []
    for clockwise in (False, True):
        for height, width, ratio, scale, dtype in ((2, 3, 2, 1.0, np.int32), (3, 2, 0, 0.75, np.int64)):
            made = turned(x, rois, images, height, width, ratio, scale, clockwise)
            cases.append(case("ROIAlignRotated", 15, [x, rois, images.astype(dtype)], made, tolerance=2e-5,
                              pooled_h=height, pooled_w=width, sampling_ratio=ratio, spatial_scale=scale,
                              clockwise_mode=clockwise))  # fmt: skip
    return cases


def extracted(rois: np.ndarray, levels: list[np.ndarray], scales: list[int], size: int, ratio: int,
              aligned: bool) -> np.ndarray:  # fmt: skip
    y = np.zeros((len(rois), levels[0].shape[1], size, size), np.float32)
    for n, roi in enumerate(rois):
        area = float(roi[2] - roi[0]) * float(roi[3] - roi[1])
        if area <= 0:
            continue
        level = min(max(math.floor(2 + math.log2(math.sqrt(area) / 224 + 1e-6)), 0), len(levels) - 1)
        x0, y0, x1, y1 = (float(v) / scales[level] - (0.5 if aligned else 0) for v in roi)
        tall, wide = max(y1 - y0, 1), max(x1 - x0, 1)
        down, along = ratio or math.ceil(tall / size), ratio or math.ceil(wide / size)
        for c, i, k, a, b in np.ndindex(*y.shape[1:], down, along):
            row = y0 + tall * (i + (a + 0.5) / down) / size
            column = x0 + wide * (k + (b + 0.5) / along) / size
            y[n, c, i, k] += sampled(levels[level][0, c], row, column) / (down * along)
    return y


def extractor_cases() -> list[Case]:
    rois = np.float32([[0, 0, 300, 200], [5, 5, 60, 80], [1, 1, 1, 1], [10, 20, 130, 150], [2, 3, 9, 8],
                       [0, 0, 250, 255], [30, 30, 85, 86]])  # fmt: skip
    cases = []
    for count in (1, 2, 3):
        levels = [features(count + i, 1, 3, 64 >> i, 72 >> i) for i in range(count)]
        scales = [4, 8, 16][:count]
        for ratio, aligned, size in ((2, False, 2), (0, True, 3)):
            made = extracted(rois, levels, scales, size, ratio, aligned)
            cases.append(case("ExperimentalDetectronROIFeatureExtractor", 6, [rois, *levels], made, rois,
                              tolerance=1e-4, output_size=size, sampling_ratio=ratio, pyramid_scales=scales,
                              aligned=aligned))  # fmt: skip
    return cases


GROUPS = {"position-sensitive pools": position_sensitive_cases(), "deformable pools": deformable_cases(),
          "turned regions": turned_cases(), "pyramids": extractor_cases()}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


X, ROIS = features(1, 1, 8, 4, 4), np.float32([[0, 0, 0, 3, 3]])
PLAIN = {"output_dim": 2, "group_size": 2, "spatial_scale": 1.0}


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (case("PSROIPooling", 1, [X, ROIS], X, **(PLAIN | {"output_dim": 3})), "x has 8 channels, but 3 times 4"),
        (case("PSROIPooling", 1, [X, ROIS], X, **(PLAIN | {"group_size": 0})), "the result is 0 by 0"),
        (case("PSROIPooling", 1, [X, ROIS], X, mode="max", **PLAIN), "'mode'"),
        (case("PSROIPooling", 1, [X, ROIS[:, :4]], X, **PLAIN), "rois has 4 numbers per region, not 5"),
        (case("PSROIPooling", 1, [X, ROIS], X, mode="bilinear", spatial_bins_x=0, **PLAIN), "0 bins along an axis"),
        (case("DeformablePSROIPooling", 1, [X, ROIS, features(1, 1, 2, 3, 3)], X, part_size=2, **PLAIN),
         "'part_size' is 2, but input 2 has size 3"),
        (case("DeformablePSROIPooling", 1, [X, ROIS, features(1, 1, 6, 2, 2)], X, part_size=2, **PLAIN),
         "offsets has 6 channels, which do not fit 2"),
        (case("ROIAlignRotated", 15, [X, ROIS[:, :4], np.array([0])], X, pooled_h=1, pooled_w=1, spatial_scale=1.0),
         "input 1 has 4 numbers per region, not 5"),
        (case("ExperimentalDetectronROIFeatureExtractor", 6, [ROIS[:, 1:], X, X], X, ROIS, output_size=2,
              pyramid_scales=[4]), "'pyramid_scales' has 1 numbers, but there are 2 levels"),
    ],
    ids=lambda value: value.kind if isinstance(value, Case) else None,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)


@pytest.mark.parametrize("title", ["position-sensitive pools", "deformable pools"])
def test_written_again(title: str, tmp_path: pathlib.Path) -> None:
    for one in GROUPS[title]:
        written = tmp_path / "written.xml"
        scanloom.convert(plain_model(one).save(tmp_path), str(written))
        assert f'type="{one.kind}"' in written.read_text()
        compare(one, run_model(one, str(written)))


def test_a_region_of_no_image(tmp_path: pathlib.Path) -> None:
    one = case("PSROIPooling", 1, [X, np.float32([[1, 0, 0, 3, 3]])], X, **PLAIN)
    session = scanloom.InferenceSession(plain_model(one).save(tmp_path))
    with pytest.raises(scanloom.Error, match="region 0 names an image outside the 1 images of x"):
        session.run(None, {f"x{i}": x for i, x in enumerate(one.feeds)})
