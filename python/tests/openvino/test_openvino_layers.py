"""OpenVINO's products, normalizations, windows, samplings and orders against numpy's formulas, and
against OpenVINO's own results where its CPU plugin is right."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino_formulas as formulas
import openvino_layers
import pytest
from openvino_layers import Case, const

import scanloom


def randoms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + 7 * sum(shape)).standard_normal(shape).astype(np.float32)


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    exp = np.exp(x - x.max(axis, keepdims=True))
    return exp / exp.sum(axis, keepdims=True)


def matmul_cases() -> list[Case]:
    a, b, line = randoms(2, 3, 4), randoms(4, 5), randoms(4)
    at, bt = np.swapaxes(a, 1, 2).copy(), b.T.copy()
    return [
        Case("MatMul", 1, [a, b], a @ b),
        Case("MatMul", 1, [at, bt], a @ b, {"transpose_a": True, "transpose_b": True}, note="ab"),
        Case("MatMul", 1, [a, bt], a @ b, {"transpose_b": True}, note="b"),
        Case("MatMul", 1, [line, b], line @ b, {"transpose_a": True}, note="line"),
        Case("MatMul", 1, [a, line], a @ line, {"transpose_b": True}, note="by_line"),
        Case("MatMul", 1, [line, line], np.array(line @ line), note="lines"),
    ]


def attention(query: Any, key: Any, value: Any, bias: Any = 0, scale: Any = None) -> np.ndarray:
    scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * np.float32(scale)
    return softmax((scores + bias).astype(np.float32), -1) @ value


def attention_cases() -> list[Case]:
    kind, version = "ScaledDotProductAttention", 13
    q, k, v = randoms(2, 3, 4, 8), randoms(2, 3, 5, 8, seed=1), randoms(2, 3, 5, 6)
    mask = np.random.default_rng(5).random((4, 5)) < 0.7
    mask[:, 0] = True
    triangle = np.where(np.tri(4, 5, dtype=bool), 0, -np.inf).astype(np.float32)
    bias, scale = randoms(2, 1, 4, 5), np.float32(0.3)
    return [
        Case(kind, version, [q, k, v], attention(q, k, v), {"causal": False}),
        Case(kind, version, [q, k, v], attention(q, k, v, triangle), {"causal": True}, note="causal"),
        Case(kind, version, [q, k, v, mask], attention(q, k, v, np.where(mask, 0, -np.inf)),
             {"causal": False}, note="mask"),
        Case(kind, version, [q, k, v, bias, np.array(scale)], attention(q, k, v, bias, scale),
             {"causal": False}, note="scale"),
    ]  # fmt: skip


def product_cases() -> list[Case]:
    a, b, c = randoms(2, 3, 4), randoms(4, 5), randoms(5, 2)
    return [
        *matmul_cases(),
        *attention_cases(),
        Case("Einsum", 7, [a, b], np.einsum("bij,jk->bki", a, b), {"equation": "bij,jk->bki"}),
        Case("Einsum", 7, [a], np.einsum("bij->ji", a), {"equation": "bij->ji"}, note="sum"),
        Case("Einsum", 7, [a, b, c], np.einsum("bij,jk,kl->bil", a, b, c),
             {"equation": "bij,jk,kl->bil"}, note="chain"),
        Case("Softmax", 1, [a], softmax(a, 1), differs="OpenVINO takes a missing axis for 0, not 1"),
        Case("Softmax", 1, [a], softmax(a, 2), {"axis": 2}, note="axis"),
        Case("Softmax", 8, [a], softmax(a, -3), {"axis": -3}),
        Case("LogSoftmax", 5, [a], np.log(softmax(a, -1)), {"axis": -1}),
    ]  # fmt: skip


def convolution_cases() -> list[Case]:
    x, w = randoms(2, 3, 7, 8), randoms(4, 3, 3, 2)
    plain = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
    some = {"strides": [2, 1], "dilations": [1, 2], "pads_begin": [1, 0], "pads_end": [2, 1]}
    parted = randoms(2, 2, 3, 3, 2)
    line, line_w = randoms(1, 6, 9), randoms(2, 6, 3)
    wide = randoms(1, 6, 7, 8)
    return [
        Case("Convolution", 1, [x, w], formulas.convolution(x, w, [1, 1], [0, 0], [0, 0], [1, 1]), plain),
        Case("Convolution", 1, [x, w], formulas.convolution(x, w, [2, 1], [1, 0], [2, 1], [1, 2]), some,
             note="some"),
        Case("Convolution", 1, [x, w], formulas.convolution(x, w, [2, 2], [1, 0], [1, 0], [1, 1]),
             {**plain, "strides": [2, 2], "auto_pad": "same_upper"}, note="upper"),
        Case("Convolution", 1, [x, w], formulas.convolution(x, w, [1, 1], [1, 1], [1, 0], [1, 1]),
             {**plain, "auto_pad": "same_lower"}, note="lower"),
        Case("Convolution", 1, [line, line_w], formulas.convolution(line, line_w, [1], [1], [1], [1]),
             {"strides": [1], "dilations": [1], "pads_begin": [1], "pads_end": [1]}, note="line"),
        Case("GroupConvolution", 1, [wide, const(parted, np.float32)],
             formulas.convolution(wide, parted.reshape(4, 3, 3, 2), [2, 1], [1, 0], [2, 1], [1, 2], 2), some),
    ]  # fmt: skip


def transposed_cases() -> list[Case]:
    kind, x, w = "ConvolutionBackpropData", randoms(1, 3, 4, 5), randoms(3, 2, 3, 2)
    plain = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
    some = {"strides": [2, 3], "dilations": [2, 1], "pads_begin": [1, 0], "pads_end": [2, 1]}
    two = {**plain, "strides": [2, 2]}
    wide, parted = randoms(1, 6, 4, 5), randoms(2, 3, 2, 3, 2)
    back = formulas.transposed_convolution
    return [
        Case(kind, 1, [x, w], back(x, w, [1, 1], [0, 0], [6, 6], [1, 1]), plain),
        Case(kind, 1, [x, w], back(x, w, [2, 3], [1, 0], [8, 13], [2, 1]), some, note="some"),
        Case(kind, 1, [x, w], back(x, w, [2, 3], [1, 0], [9, 15], [2, 1]),
             {**some, "output_padding": [1, 2]}, note="more"),
        *(Case(kind, 1, [x, w, const([6, 7])], back(x, w, [2, 2], [begin, begin], [6, 7], [1, 1]),
               {**two, "auto_pad": pad}, note=pad) for pad, begin in (("same_upper", 2), ("same_lower", 1))),
        *(Case(kind, 1, [x, w, np.array([6, 7])], back(x, w, [2, 2], [begin, begin], [6, 7], [1, 1]),
               {**two, "auto_pad": pad}, "OpenVINO's CPU plugin needs constant sizes", note=pad + "-computed")
          for pad, begin in (("same_upper", 2), ("same_lower", 1))),
        Case(kind, 1, [x, w, const([7, 11])], back(x, w, [2, 2], [1, 0], [7, 11], [1, 1]),
             {**two, "pads_begin": [1, 0], "pads_end": [3, 3]}, note="sizes"),
        Case("GroupConvolutionBackpropData", 1, [wide, const(parted, np.float32)],
             back(wide, parted.reshape(6, 2, 3, 2), [2, 3], [1, 0], [8, 13], [2, 1], 2), some),
    ]  # fmt: skip


def mean(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # a window of padding alone has no mean
        return np.nansum(x, -1) / (~np.isnan(x)).sum(-1)


def rounded_pools() -> list[Case]:
    """Rounding up makes windows that reach beyond the pads. Where pads count, they divide by all of their
    kernel; without pads, by the elements that they have."""
    x = randoms(1, 2, 7, 8)
    kernel, strides, cases = [3, 4], [2, 3], []
    for version, rounding in ((1, "ceil"), (14, "ceil"), (14, "ceil_torch")):
        for begin, end in (([1, 0], [0, 0]), ([0, 0], [1, 2]), ([2, 1], [2, 3]), ([0, 0], [0, 0])):
            rooms = [n + b + e - k for n, b, e, k in zip(x.shape[2:], begin, end, kernel, strict=True)]
            sizes = [-(-room // s) + 1 for room, s in zip(rooms, strides, strict=True)]
            if rounding == "ceil_torch":
                sizes = [size - ((size - 1) * s >= n + b)
                         for size, s, n, b in zip(sizes, strides, x.shape[2:], begin, strict=True)]  # fmt: skip
            for excludes in (False, True):
                f = mean if excludes or not any(begin + end) else (lambda seen: np.nansum(seen, -1) / 12)
                data = {"kernel": kernel, "strides": strides, "pads_begin": begin, "pads_end": end,
                        "exclude-pad": excludes, "rounding_type": rounding}  # fmt: skip
                cases.append(Case("AvgPool", version, [x], formulas.pooled(x, kernel, strides, begin, end, sizes, f),
                                  data, note=f"{rounding}_{begin}_{end}_{'x' if excludes else 'all'}"))  # fmt: skip
    return cases


def pool_cases() -> list[Case]:
    x = randoms(2, 3, 7, 8)
    plain = {"kernel": [3, 2], "strides": [2, 2], "pads_begin": [1, 0], "pads_end": [0, 1]}
    avg = {**plain, "exclude-pad": True, "rounding_type": "floor"}
    whole = lambda seen: np.where(np.isnan(seen), 0, seen).sum(-1) / 6  # noqa: E731
    top = lambda seen: np.nanmax(seen, -1)  # noqa: E731

    def pooled(f: Any, sizes: Any, dilations: Any = None) -> np.ndarray:
        return formulas.pooled(x, [3, 2], [2, 2], [1, 0], [0, 1], sizes, f, dilations)

    numbers = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    def places(result: np.ndarray, span: int = x.size) -> np.ndarray:
        return np.array([numbers[np.isclose(x, value, 0, 0)][0] % span for value in result.flat],
                        np.int64).reshape(result.shape)  # fmt: skip

    most, dilated = pooled(top, [3, 4]), pooled(top, [2, 4], [2, 1])
    return [
        Case("AvgPool", 1, [x], pooled(mean, [3, 4]), avg),
        Case("AvgPool", 1, [x], pooled(whole, [3, 4]), {**avg, "exclude-pad": False}, note="pads"),
        Case("AvgPool", 1, [x], pooled(mean, [4, 5]), {**avg, "rounding_type": "ceil"}, note="ceil"),
        Case("AvgPool", 14, [x], pooled(mean, [4, 4]), {**avg, "rounding_type": "ceil_torch"}, note="torch"),
        *rounded_pools(),
        Case("AvgPool", 14, [x], pooled(mean, [4, 4]), {**avg, "auto_pad": "same_upper"}, note="upper"),
        Case("AvgPool", 16, [x], pooled(mean, [2, 4], [2, 1]), {**avg, "dilations": [2, 1]}),
        Case("MaxPool", 1, [x], most, {**plain, "rounding_type": "floor"}),
        Case("MaxPool", 8, [x], [dilated, places(dilated)],
             {**plain, "dilations": [2, 1], "index_element_type": "i64", "axis": 0}),
        Case("MaxPool", 8, [x], [most, places(most, 56).astype(np.int32)],
             {**plain, "dilations": [1, 1], "index_element_type": "i32", "axis": 2}, note="plane"),
        Case("MaxPool", 14, [x], [pooled(top, [4, 4]), places(pooled(top, [4, 4]))],
             {**plain, "dilations": [1, 1], "rounding_type": "ceil_torch", "index_element_type": "i64"}),
        Case("AdaptiveAvgPool", 8, [x, const([3, 5])], formulas.adaptive(x, [3, 5], mean)),
        Case("AdaptiveAvgPool", 8, [x[:, :, 0].copy(), const([1])],
             formulas.adaptive(x[:, :, 0], [1], mean), note="line"),
        Case("AdaptiveMaxPool", 8, [x, const([3, 5])],
             [formulas.adaptive(x, [3, 5], top), places(formulas.adaptive(x, [3, 5], top), 56).astype(np.int32)],
             {"index_element_type": "i32"}),
    ]  # fmt: skip


def normal(x: np.ndarray, axes: tuple[int, ...], eps: float, inside: bool = True) -> np.ndarray:
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    variance = (centred**2).mean(axes, keepdims=True)
    return (centred / (np.sqrt(variance + eps) if inside else np.sqrt(variance) + eps)).astype(x.dtype)


def normalization_cases() -> list[Case]:
    x = randoms(2, 6, 4, 5)
    gamma, beta, mean_, variance = randoms(6), randoms(6, seed=1), randoms(6, seed=2), randoms(6) ** 2
    spread = lambda one: one.reshape(6, 1, 1)  # noqa: E731
    batch = (x - spread(mean_)) / np.sqrt(spread(variance) + 0.01) * spread(gamma) + spread(beta)
    l2 = lambda eps, f: x / np.sqrt(f((x**2).sum((1, 2), keepdims=True), np.float32(eps)))  # noqa: E731
    groups = normal(x.reshape(2, 3, 2, 4, 5), (2, 3, 4), 0.01).reshape(x.shape)
    lrn = {"alpha": 0.5, "beta": 0.75, "bias": 1.0, "size": 3}
    low, high = np.float32([-1]).reshape(1, 1, 1, 1), np.float32(np.arange(1, 7) / 3).reshape(1, 6, 1, 1)
    out = [np.float32(-2).reshape(1, 1, 1, 1), np.float32(3).reshape(1, 1, 1, 1)]
    return [
        Case("BatchNormInference", 1, [gamma, beta, x, mean_, variance], batch, {"epsilon": 0.01}),
        Case("BatchNormInference", 5, [x, gamma, beta, mean_, variance], batch, {"epsilon": 0.01}),
        Case("MVN", 1, [x], normal(x, (2, 3), 0.1),
             {"across_channels": False, "normalize_variance": True, "eps": 0.1}),
        Case("MVN", 2, [x], normal(x, (1, 2, 3), 0.1),
             {"across_channels": True, "normalize_variance": True, "eps": 0.1}),
        Case("MVN", 2, [x], x - x.mean((2, 3), keepdims=True),
             {"across_channels": False, "normalize_variance": False, "eps": 0.1}, note="mean"),
        Case("MVN", 6, [x, const([2, 3])], normal(x, (2, 3), 0.1, False),
             {"eps": 0.1, "normalize_variance": True, "eps_mode": "outside_sqrt"}),
        Case("MVN", 6, [x, const([-3, -1])], normal(x, (1, 3), 0.1),
             {"eps": 0.1, "normalize_variance": True, "eps_mode": "inside_sqrt"}, note="inside"),
        Case("NormalizeL2", 1, [x, const([1, 2])], l2(0.5, np.add), {"eps": 0.5, "eps_mode": "add"}),
        Case("NormalizeL2", 1, [x, const([1, 2])], l2(9, np.maximum), {"eps": 9.0, "eps_mode": "max"}, note="max"),
        Case("GroupNormalization", 12, [x, gamma, beta], groups * spread(gamma) + spread(beta),
             {"num_groups": 3, "epsilon": 0.01}),
        Case("LRN", 1, [x, const([1])], formulas.local_response(x, [1], 3, 0.5, 0.75, 1), lrn),
        Case("LRN", 1, [x, const([1])], formulas.local_response(x, [1], 5, 0.5, 0.75, 1.5),
             {**lrn, "size": 5, "bias": 1.5}, "OpenVINO's CPU plugin takes any bias for 1", note="bias"),
        Case("LRN", 1, [x, const([2, 3])], formulas.local_response(x, [2, 3], 3, 0.5, 0.75, 1), lrn,
             note="plane"),
        Case("GRN", 1, [x], x / np.sqrt((x**2).sum(1, keepdims=True) + np.float32(0.5)), {"bias": 0.5}),
        Case("FakeQuantize", 1, [x, *(const(one, np.float32) for one in (low, high, *out))],
             formulas.fake_quantized(x, low, high, *out, 5), {"levels": 5}),
        Case("FakeQuantize", 1, [x, low, high, *out], formulas.fake_quantized(x, low, high, *out, 256),
             {"levels": 256}, note="computed"),
    ]  # fmt: skip


def interpolate_cases() -> list[Case]:
    x = randoms(1, 2, 5, 6)
    cases = []

    def add(note: str, version: int, sizes: Any, data: dict[str, Any], differs: str = "", scales: Any = None,
            **formula: Any) -> None:  # fmt: skip
        by_size = scales is None
        scales = [size / n for size, n in zip(sizes, x.shape[2:])] if by_size else scales
        wanted = formulas.resized(x, [2, 3], sizes, scales, **formula)
        if version == 1:
            operands, data = [x, const(sizes)], {"axes": [2, 3], **data}
        elif version == 4:
            operands = [x, const(sizes), const(scales, np.float32), const([2, 3])]
            data = {"shape_calculation_mode": "sizes" if by_size else "scales", **data}
        else:
            operands = [x, const(sizes) if by_size else const(scales, np.float32), const([2, 3])]
            data = {"shape_calculation_mode": "sizes" if by_size else "scales", **data}
        cases.append(Case("Interpolate", version, operands, wanted, data, differs, note=note))

    common = {"antialias": False, "pads_begin": [0, 0, 0, 0], "pads_end": [0, 0, 0, 0]}
    for mode in ("nearest", "linear", "cubic"):
        for align in (False, True):
            add(f"{mode}-{align}", 1, [8, 4], {"mode": mode, "align_corners": align, **common}, mode=mode,
                coordinates="align_corners" if align else "asymmetric", nearest_mode="simple")
    for place in ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"):
        for mode in ("nearest", "linear_onnx", "cubic"):
            add(f"{mode}-{place}", 4, [8, 4], {"mode": mode, "coordinate_transformation_mode": place, **common},
                mode="linear" if mode == "linear_onnx" else mode, coordinates=place)
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"):
        add(nearest, 11, [10, 3], {"mode": "nearest", "nearest_mode": nearest,
                                   "coordinate_transformation_mode": "half_pixel", **common}, nearest_mode=nearest)
    add("linear", 4, [3, 9], {"mode": "linear", "coordinate_transformation_mode": "half_pixel", **common},
        mode="linear")
    add("antialias", 4, [2, 3], {"mode": "linear", "coordinate_transformation_mode": "half_pixel", **common,
                                 "antialias": True}, "OpenVINO's CPU plugin leaves out antialias",
        mode="linear", antialias=True)
    add("scales", 4, [8, 3], {"mode": "linear_onnx", "coordinate_transformation_mode": "half_pixel", **common},
        scales=[1.7, 0.6], mode="linear")
    add("cube", 11, [8, 4], {"mode": "cubic", "cube_coeff": -0.5, "coordinate_transformation_mode": "half_pixel",
                             **common}, mode="cubic", a=-0.5)
    for pillow in ("bilinear", "bicubic"):
        add(pillow, 11, [3, 9], {"mode": pillow + "_pillow", "cube_coeff": -0.5, "shape_calculation_mode": "sizes",
                                 "coordinate_transformation_mode": "half_pixel", **common},
            mode="linear" if pillow == "bilinear" else "cubic", a=-0.5, antialias=True)
    return cases


def sampling_cases() -> list[Case]:
    x, grid = randoms(2, 3, 5, 6), np.clip(randoms(2, 4, 3, 2) * 0.9, -1.7, 1.7)
    cases = [
        Case("GridSample", 9, [x, grid], formulas.grid_sample(x, grid, mode, padding, align),
             {"mode": mode, "padding_mode": padding, "align_corners": align}, note=f"{mode}-{padding}-{align}")
        for mode in ("bilinear", "bicubic", "nearest") for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    ]  # fmt: skip
    corners = np.float32([[0, 0, 4, 4], [1, 0.5, 9, 7], [2, 3, 2.5, 3.5]])
    images = np.array([0, 1, 1], np.int64)
    pooled = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.5}

    def aligned(mode: str, kind: str, shift: float = 0) -> np.ndarray:
        return formulas.by_onnx("RoiAlign", [x, corners + np.float32(shift), images], mode=mode, output_height=2,
                                output_width=3, sampling_ratio=2, spatial_scale=0.5,
                                coordinate_transformation_mode=kind)  # fmt: skip

    operands = [x, corners, images.astype(np.int32)]
    cases += [
        Case("ROIAlign", 3, operands, aligned("avg", "output_half_pixel"), {**pooled, "mode": "avg"}),
        Case("ROIAlign", 3, operands, formulas.greatest_samples(x, corners, images, 2, 3, 2, 0.5),
             {**pooled, "mode": "max"}, "OpenVINO's CPU plugin knows no maximum below 0", note="max"),
        Case("ROIAlign", 3, [np.abs(x), *operands[1:]],
             formulas.greatest_samples(np.abs(x), corners, images, 2, 3, 2, 0.5), {**pooled, "mode": "max"},
             note="max-above-0"),
        *(Case("ROIAlign", 9, operands, aligned("avg", mode, shift),
               {**pooled, "mode": "avg", "aligned_mode": word}, note=word)
          for word, mode, shift in (("asymmetric", "output_half_pixel", 0), ("half_pixel_for_nn", "half_pixel", 0),
                                    ("half_pixel", "half_pixel", 0.5))),
    ]  # fmt: skip
    return cases


def order_cases() -> list[Case]:
    x, cases = randoms(3, 6, 4), []
    for version, mode, sort, dtype in [(1, "max", "value", "i32"), (3, "min", "value", "i64"),
                                       (3, "max", "index", "i32"), (11, "min", "index", "i64"),
                                       (11, "max", "value", "i32")]:  # fmt: skip
        order = np.argsort(-x if mode == "max" else x, 1, kind="stable")[:, :3]
        order = np.sort(order, 1) if sort == "index" else order
        data = {"axis": 1, "mode": mode, "sort": sort}
        if version > 1:
            data["index_element_type"] = dtype
        if version == 11:
            data["stable"] = True
        cases.append(Case("TopK", version, [x, const(3)], [
            np.take_along_axis(x, order, 1), order.astype(np.int64 if dtype == "i64" else np.int32)], data,
            note=f"{mode}-{sort}"))  # fmt: skip
    return cases + suppression_cases()


def suppression_cases() -> list[Case]:
    rng = np.random.default_rng(7)
    boxes = np.sort(rng.random((2, 9, 2, 2)), 2).reshape(2, 9, 4).astype(np.float32)
    scores = rng.random((2, 3, 9)).astype(np.float32)
    limits = [const(4), const(0.4, np.float32), const(0.2, np.float32)]
    cases = []
    for version, encoding, descending in [(1, "corner", False), (3, "corner", True), (4, "center", False),
                                          (5, "corner", True), (9, "corner", False)]:  # fmt: skip
        rows = formulas.by_onnx("NonMaxSuppression", [boxes, scores, np.array([4]), np.float32([0.4]),
                                np.float32([0.2])], center_point_box=int(encoding == "center"))  # fmt: skip
        score = scores[tuple(rows.T)]
        if descending:
            order = np.argsort(-score, kind="stable")
            rows, score = rows[order], score[order]
        dtype = np.int32 if version in (3, 9) else np.int64
        data: dict[str, Any] = {"box_encoding": encoding, "sort_result_descending": descending}
        if version > 1:
            data["output_type"] = "i32" if dtype == np.int32 else "i64"
        wanted = [rows.astype(dtype)]
        if version >= 5:
            wanted += [np.concatenate([rows[:, :2], score[:, None]], 1).astype(np.float32),
                       np.array([len(rows)], dtype)]  # fmt: skip
        cases.append(Case("NonMaxSuppression", version, [boxes, scores, *limits], wanted, data,
                          note=f"{encoding}-{descending}"))  # fmt: skip
    return cases


def pairs(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def spectrum_cases() -> list[Case]:
    x, real = randoms(2, 5, 6, 2), randoms(2, 5, 6)
    z = x[..., 0] + 1j * x[..., 1]
    half = np.fft.rfftn(real, axes=(1, 2))
    return [
        Case("DFT", 7, [x, const([1])], pairs(np.fft.fft(z, axis=1))),
        Case("DFT", 7, [x, const([-1, 0])], pairs(np.fft.fftn(z, axes=(2, 0))), note="axes"),
        Case("DFT", 7, [x, const([1, 2]), const([-1, 4])], pairs(np.fft.fftn(z, (5, 4), (1, 2))), note="size"),
        Case("DFT", 7, [x, const([1, 2]), np.array([8, -1])], pairs(np.fft.fftn(z, (8, 6), (1, 2))),
             note="computed"),
        Case("IDFT", 7, [x, const([1, 2])], pairs(np.fft.ifftn(z, axes=(1, 2)))),
        Case("RDFT", 9, [real, const([1, 2])], pairs(half)),
        Case("RDFT", 9, [real, const([2, -2]), const([8, 4])], pairs(np.fft.rfftn(real, (8, 4), (2, 1))),
             differs="OpenVINO's CPU plugin has no longer signals", note="size"),
        Case("IRDFT", 9, [pairs(half), const([1, 2])], np.fft.irfftn(half, axes=(1, 2)).astype(np.float32)),
        Case("IRDFT", 9, [pairs(half), const([1, 2]), const([5, 5])],
             np.fft.irfftn(half, (5, 5), (1, 2)).astype(np.float32), note="odd"),
    ]  # fmt: skip


def random_cases() -> list[Case]:
    cases = []
    for dtype, word, low, high in [(np.float32, "f32", -1, 3), (np.int32, "i32", -5, 9), (np.int64, "i64", 3, 100),
                                   (np.float16, "f16", 0, 1), (np.float64, "f64", 0, 2)]:  # fmt: skip
        wanted = formulas.uniform([3, 5], low, high, dtype, 150, 10)
        differs = "" if word in ("f32", "i32") else f"OpenVINO's CPU plugin draws {word} as another type"
        cases.append(Case("RandomUniform", 8, [const([3, 5]), const(low, dtype), const(high, dtype)], wanted,
                          {"output_type": word, "global_seed": 150, "op_seed": 10}, differs, note=word))  # fmt: skip
    return cases


def patch_cases() -> list[Case]:
    x, columns = randoms(2, 3, 7, 8), randoms(2, 12, 12)
    square = randoms(2, 4, 4) + 4 * np.eye(4, dtype=np.float32)
    inverse = np.linalg.inv(square.astype(np.float64))
    taken = {"sizes": [3, 2], "strides": [2, 3], "rates": [1, 2]}
    folds = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
    return [
        Case("ExtractImagePatches", 3, [x], formulas.patches(x, *taken.values(), [0, 0], [0, 0]),
             {**taken, "auto_pad": "valid"}),
        Case("ExtractImagePatches", 3, [x], formulas.patches(x, *taken.values(), [1, 0], [1, 1]),
             {**taken, "auto_pad": "same_upper"}, note="upper"),
        Case("ExtractImagePatches", 3, [x], formulas.patches(x, *taken.values(), [1, 1], [1, 0]),
             {**taken, "auto_pad": "same_lower"}, note="lower"),
        Case("Col2Im", 15, [columns, const([4, 5]), const([2, 2])],
             formulas.folded(columns, [4, 5], [2, 2], *folds.values()), folds),
        Case("Col2Im", 15, [columns[0].copy(), const([5, 6]), const([2, 2])],
             formulas.folded(columns[:1], [5, 6], [2, 2], [2, 2], [2, 1], [1, 1], [1, 1])[0],
             {"strides": [2, 2], "dilations": [2, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}, note="alone"),
        Case("Inverse", 14, [square], inverse.astype(np.float32), {"adjoint": False}),
        Case("Inverse", 14, [square], inverse.swapaxes(1, 2).astype(np.float32), {"adjoint": True}, note="adjoint"),
    ]  # fmt: skip


def deformed_cases() -> list[Case]:
    x, w = randoms(1, 4, 6, 7), randoms(2, 2, 3, 2)
    plain = {"strides": [2, 1], "pads_begin": [1, 0], "pads_end": [1, 1], "dilations": [1, 2],
             "group": 2, "deformable_group": 2}  # fmt: skip
    offsets, mask = 1.5 * randoms(1, 24, 3, 6), np.abs(randoms(1, 12, 3, 6))
    args = [[2, 1], [1, 0], [1, 2], 2, 2]
    lower = {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1],
             "auto_pad": "same_lower", "group": 1, "deformable_group": 1}  # fmt: skip
    few, one = randoms(1, 12, 3, 4), randoms(2, 4, 3, 2)
    return [
        Case("DeformableConvolution", 1, [x, offsets, w], formulas.deformed(x, offsets, w, None, *args, False), plain),
        Case("DeformableConvolution", 8, [x, offsets, w, mask],
             formulas.deformed(x, offsets, w, mask, *args, True), {**plain, "bilinear_interpolation_pad": True}),
        Case("DeformableConvolution", 8, [x, offsets, w, mask],
             formulas.deformed(x, offsets, w, mask, *args, False), plain, note="inside"),
        Case("DeformableConvolution", 1, [x, few, one],
             formulas.deformed(x, few, one, None, [2, 2], [1, 1], [1, 1], 1, 1, False), lower, note="lower"),
    ]  # fmt: skip


def decoder_cases() -> list[Case]:
    scores = np.abs(np.random.default_rng(3).random((7, 3, 4))).astype(np.float32)
    lengths = np.array([7, 4, 5])
    mask = (np.arange(7)[:, None] < lengths).astype(np.float32)
    best = scores.argmax(2).T
    rows = np.swapaxes(scores, 0, 1).copy()
    cases = []
    for merges in (True, False):
        classes, _ = formulas.decoded(best, lengths, 3, merges)
        cases.append(Case("CTCGreedyDecoder", 1, [scores, mask],
                          classes.reshape(3, 7, 1, 1).astype(np.float32),
                          {"ctc_merge_repeated": merges}, note=str(merges)))  # fmt: skip
        for blank in (3, 0):
            classes, counts = formulas.decoded(best, lengths, blank, merges)
            operands = [rows, lengths.astype(np.int32)] + ([const([blank], np.int32)] if blank != 3 else [])
            cases.append(Case("CTCGreedyDecoderSeqLen", 6, operands, [
                classes.astype(np.int32), counts.astype(np.int32)], {
                    "merge_repeated": merges, "classes_index_type": "i32", "sequence_length_type": "i32"},
                note=f"{merges}-{blank}"))  # fmt: skip
    return cases


def more_cases() -> list[Case]:
    x, rois = randoms(2, 3, 7, 8), np.float32([[0, 1, 2, 9, 8], [1, 0, 0, 15, 13], [1, 4, 5, 4.4, 12]])
    signal, window = randoms(2, 21), np.hanning(6).astype(np.float32)
    at = np.arange(0, 21 - 8 + 1, 3)[:, None] + np.arange(8)
    wanted = pairs(np.fft.rfft(signal[:, at] * np.pad(window, 1), axis=2))
    # The example of the specification.
    documented = np.array([[5.65927959, 4.23122376], [2.67008206, 2.36423758]])
    return [
        Case("ROIPooling", 2, [x, rois], formulas.pooled_regions(x, rois, [2, 3], 0.5),
             {"pooled_h": 2, "pooled_w": 3, "spatial_scale": 0.5, "method": "max"}),
        Case("STFT", 15, [signal, window, const(8), const(3)], wanted, {"transpose_frames": False}),
        Case("STFT", 15, [signal[0].copy(), window, const(8), const(3)], wanted[0].swapaxes(0, 1).copy(),
             {"transpose_frames": True}, note="line"),
        Case("RandomUniform", 8, [const([2, 2]), const(2, np.float64), const(10, np.float64)], documented,
             {"output_type": "f64", "global_seed": 80, "op_seed": 100},
             "OpenVINO's CPU plugin draws f64 as another type", note="documented"),
    ]  # fmt: skip


CASES = [*product_cases(), *convolution_cases(), *transposed_cases(), *pool_cases(),
         *normalization_cases(), *interpolate_cases(), *sampling_cases(), *order_cases(), *spectrum_cases(), *random_cases(), *patch_cases(), *deformed_cases(), *decoder_cases(), *more_cases()]  # fmt: skip


def test_counts(report: Callable[[str], None]) -> None:
    openvino_layers.count(report, "layers", CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_openvino(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check_peer(case, CASES, tmp_path)


def typed_cases() -> list[Case]:
    """Other element types; f16 is computed in f32 where sums are long, and rounded once."""
    cases = []
    for dtype, tolerance in ((np.float64, 1e-12), (np.float16, 4e-3)):
        a, b = randoms(2, 3, 4).astype(dtype), randoms(4, 5).astype(dtype)
        image, w = randoms(1, 2, 6, 6).astype(dtype), randoms(2, 2, 3, 3).astype(dtype)
        wide = image.astype(np.float64)
        plain = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
        note, why = np.dtype(dtype).name, "OpenVINO's CPU plugin computes in f32"
        low, high = const(-1, dtype), const(1, dtype)
        made = [
            Case("MatMul", 1, [a, b], a.astype(np.float64) @ b),
            Case("Softmax", 8, [a], softmax(a.astype(np.float64), 1), {"axis": 1}),
            Case("Convolution", 1, [image, w], formulas.convolution(wide, w, [1, 1], [0, 0], [0, 0], [1, 1]), plain),
            Case("ConvolutionBackpropData", 1, [image, w], formulas.transposed_convolution(
                wide, w.astype(np.float64), [1, 1], [0, 0], [8, 8], [1, 1]), plain),
            Case("MVN", 6, [image, const([2, 3])], normal(wide, (2, 3), 0.1),
                 {"eps": 0.1, "normalize_variance": True, "eps_mode": "inside_sqrt"}),
            Case("FakeQuantize", 1, [image, low, high, low, high],
                 formulas.fake_quantized(wide, -1.0, 1.0, -1.0, 1.0, 5), {"levels": 5}),
            Case("AdaptiveAvgPool", 8, [image, const([2, 4])], formulas.adaptive(wide, [2, 4], mean)),
            Case("Interpolate", 11, [image, const([9, 4]), const([2, 3])],
                 formulas.resized(wide, [2, 3], [9, 4], [9 / 6, 4 / 6], "linear"),
                 {"mode": "linear", "shape_calculation_mode": "sizes"}),
        ]  # fmt: skip
        for case in made:
            case.wanted, case.tolerance = case.wanted.astype(dtype), tolerance
            case.note, case.differs = note, why
        cases += made
    whole = np.arange(12).reshape(3, 4)
    for dtype in (np.int32, np.int64):
        cases.append(Case("MatMul", 1, [whole.astype(dtype), whole.T.copy().astype(dtype)],
                          (whole @ whole.T).astype(dtype), note=np.dtype(dtype).name))  # fmt: skip
    return cases


@pytest.mark.parametrize("case", typed_cases(), ids=str)
def test_types(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check(case, tmp_path)


X = randoms(1, 4, 6, 7)
PLAIN = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
REFUSED = [
    (Case("MatMul", 1, [randoms(2, 3), randoms(4, 5)], X), "3.*4"),
    (Case("Einsum", 7, [randoms(2, 3)], X, {"equation": "ij,jk->ik"}), "2 operands.*1 inputs"),
    (Case("Softmax", 8, [randoms(2, 3)], X, {"axis": 2}), "axis"),
    (Case("Convolution", 1, [X, randoms(2, 3, 3, 3)], X, PLAIN), "4.*3"),
    (Case("Convolution", 1, [X, randoms(2, 4, 3, 3)], X, {**PLAIN, "pads_begin": [1]}),
     "'pads_begin' has 1 numbers, 'pads_end' has 2"),
    (Case("GroupConvolution", 1, [X, randoms(3, 1, 2, 3, 3)], X, PLAIN), "4.*6|6.*4|4.*3"),
    (Case("AvgPool", 1, [X], X, {"kernel": [3, 3], "strides": [1], "pads_begin": [0, 0], "pads_end": [0, 0]}),
     "'strides' has 1 numbers for 2 axes"),
    (Case("MaxPool", 1, [X], X, {"strides": [1, 1]}), "attribute 'kernel' is missing"),
    (Case("MaxPool", 1, [X], X, {"kernel": [1, 1], "strides": [1, 2**63 - 1], "pads_end": [1, 1],
                                 "pads_begin": [0, 0], "rounding_type": "ceil"}), "'strides' has 9223372036854775807"),
    (Case("AvgPool", 16, [X], X, {"kernel": [3, 3], "pads_begin": [0, -1], "pads_end": [0, 0]}),
     "'pads_begin' has -1, outside"),
    (Case("AdaptiveAvgPool", 8, [X, const([2])], X), "1 sizes for the 2 axes"),
    (Case("GroupNormalization", 12, [X, randoms(4), randoms(4)], X, {"num_groups": 3, "epsilon": 0.1}),
     "'num_groups' is 3, input 0 has 4 channels"),
    (Case("NormalizeL2", 1, [X, const([4])], X, {"eps": 0.1, "eps_mode": "add"}), r"axis 4 is outside \[-4, 4\)"),
    (Case("FakeQuantize", 1, [X, *(randoms(1) for _ in range(4))], X, {"levels": 1}), "'levels' is 1"),
    (Case("Interpolate", 11, [X, const([1, 2, 3]), const([2, 3])], X, {"mode": "nearest"}), "3 elements for 2 axes"),
    (Case("Interpolate", 4, [X, const([1, 2]), const([1, 2], np.float32), const([2, 3])], X, {"mode": "area"}),
     "attribute 'mode' is 'area'"),
    (Case("TopK", 11, [X, const(9)], [X, X], {"axis": 1, "mode": "max", "sort": "value"}), "k is 9.*4"),
    (Case("NonMaxSuppression", 5, [randoms(1, 3, 4), randoms(1, 1, 3), const(1), const(0.5, np.float32),
                                   const(0, np.float32), const([0.5, 1], np.float32)], [X, X, X]), "2 elements"),
    (Case("DFT", 7, [randoms(2, 3), const([0])], X), "3 elements, not 2"),
    (Case("RDFT", 9, [randoms(2, 3), const([1, -1])], X), "axis 1 twice"),
    (Case("ExtractImagePatches", 3, [X], X, {"sizes": [2, 2], "strides": [0, 1], "rates": [1, 1],
                                             "auto_pad": "valid"}), "'strides' has 0"),
    (Case("RandomUniform", 8, [const([2]), const(0, np.float32), const(1, np.float32)], X,
          {"output_type": "u8"}), "'output_type' is u8"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "words"), REFUSED, ids=str)
def test_refused(case: Case, words: str, tmp_path: pathlib.Path) -> None:
    openvino_layers.refused(case, tmp_path, words)


@pytest.mark.parametrize(("dtype", "word"), [(np.float32, "f32"), (np.int64, "i64")])
def test_numbers_without_a_seed(dtype: Any, word: str, tmp_path: pathlib.Path) -> None:
    case = Case("RandomUniform", 8, [np.array([4000]), const(-2, dtype), const(6, dtype)], X[0, 0, 0].astype(dtype),
                {"output_type": word})  # fmt: skip
    session = scanloom.InferenceSession(openvino_layers.write(case, tmp_path))
    first, second = (session.run(None, openvino_layers.feeds(case))[0] for _ in range(2))
    assert first.dtype == dtype and not np.array_equal(first, second)
    for numbers in (first, second):
        assert -2 <= numbers.min() and numbers.max() < 6
        # Uniform: the means of eight equal ranges, within five deviations.
        counts = np.histogram(numbers, 8, (-2, 6))[0]
        assert abs(counts - 500).max() < 5 * 21


@pytest.mark.parametrize("logs", [False, True], ids=["weights", "logs"])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_classes_with_replacement(dtype: str, logs: bool, tmp_path: pathlib.Path) -> None:
    weights = np.float32([[1, 2, 0, 5], [3, 0, 3, 0]])
    with np.errstate(divide="ignore"):
        given = np.log(weights) if logs else weights
    case = Case("Multinomial", 13, [given, const(4000)], X, {
        "convert_type": dtype, "with_replacement": True, "log_probs": logs})  # fmt: skip
    (picked,) = scanloom.InferenceSession(openvino_layers.write(case, tmp_path)).run(None, openvino_layers.feeds(case))
    assert (picked.shape, picked.dtype.name) == ((2, 4000), dtype.replace("i", "int"))
    for row, line in zip(picked, weights / weights.sum(1, keepdims=True), strict=True):
        wanted = 4000 * line
        assert (abs(np.bincount(row, minlength=4) - wanted) <= 5 * np.sqrt(wanted * (1 - line))).all()


def test_classes_without_replacement(tmp_path: pathlib.Path) -> None:
    weights = np.tile(np.float32([1, 2, 0, 5]), (4000, 1))
    case = Case("Multinomial", 13, [weights, const([3])], X, {
        "convert_type": "i64", "with_replacement": False, "log_probs": False})  # fmt: skip
    (picked,) = scanloom.InferenceSession(openvino_layers.write(case, tmp_path)).run(None, openvino_layers.feeds(case))
    assert (np.sort(picked, 1) == [0, 1, 3]).all()
    first = np.bincount(picked[:, 0], minlength=4)
    wanted = 4000 * weights[0] / 8
    assert (abs(first - wanted) <= 5 * np.sqrt(wanted * (1 - weights[0] / 8))).all()


OPERATIONS = {(case.kind, case.version): case for case in CASES}


@pytest.mark.parametrize("case", OPERATIONS.values(), ids=str)
def test_missing_operands(case: Case, tmp_path: pathlib.Path) -> None:
    """No edge leads to the first input; the others are there."""
    case = dataclasses.replace(case, operands=[None, *case.operands[1:]])
    openvino_layers.refused(case, tmp_path, "input 0 is missing")
