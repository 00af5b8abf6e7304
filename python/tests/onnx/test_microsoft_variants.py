"""Operators of com.microsoft that resemble those of ONNX, and quantized layers of transformers:
against onnxruntime and, where it has no kernel for CPUs, numpy."""

from __future__ import annotations

import numpy as np
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, bytes_of, case, feeds_of, model_of, one_run
from single_node import SYMBOLIC, close, randoms, refused, run_every_way

F32 = np.float32


def i64(*values):
    return np.array(values, np.int64)


def i32(*values):
    return np.array(values, np.int32)


def shape_cases():
    x = randoms(3, 4, 5)
    for axis in (0, 2, -1, 3):
        yield case(f"expand dims {axis}", "ExpandDims", x, np.array(axis, np.int32), constants=[1])
    for k in (-1, 0, 2):
        for upper in (0, 1):
            yield case(f"trilu {k} {upper}", "Trilu", x, np.array(k, np.int64), upper=upper)
    yield case("trilu without k", "Trilu", x)
    yield case("pad", "Pad", x, i64(0, 1, 2, 1, 0, 1), np.array(2.5, F32))
    yield case("pad with amounts in a row", "Pad", x, i64([0, 1, -1, 1, 0, 1]), np.array([2.5], F32))
    for mode in ("reflect", "edge"):
        yield case(f"pad {mode}", "Pad", x, i64(0, 1, 2, 1, 0, 1), mode=mode)
    for dtype in (F32, np.float64, np.int16, np.int32, np.int64):
        name = np.dtype(dtype).name
        yield case(f"range {name}", "Range", *(np.array(v, dtype) for v in (2, 20, 3)))
        yield case(f"range {name} without a step", "Range", *(np.array([v], dtype) for v in (2, 9)))
    yield case("gather nd", "GatherND", x, i64([0, 1], [2, 3]))
    yield case("gather nd by int32", "GatherND", x, np.zeros((1, 1), np.int32))
    image, grid = randoms(2, 3, 5, 6), randoms(2, 4, 3, 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            yield case(f"grid {mode} {padding}", "GridSample", image, grid, mode=mode,
                       padding_mode=padding, align_corners=int(mode != "nearest"), scale=4)
    yield case("unique", "Unique", np.array([2, 1, 1, 3, 4, 3], F32), outputs=3)
    for dim in (-1, 0, 1):
        yield case(f"unfold {dim}", "UnfoldTensor", x, dim=dim, size=2)
    yield case("unfold with steps", "UnfoldTensor", x, size=3, step=2)
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.5, 0.2, 0.5, 1.3], [1, 1, 0, 0]], F32)
    for mode in ("bilinear", "nearest"):
        yield case(f"crop {mode}", "CropAndResize", image, boxes, i32(0, 1, 1, 0), i32(4, 3),
                   mode=mode, extrapolation_value=7.5)
        yield case(f"crop {mode} to one", "CropAndResize", image, boxes, i32(0, 1, 1, 0), i32(1, 1),
                   mode=mode)


def algebra_cases():
    matrices = randoms(2, 4, 4) + 3 * np.eye(4, dtype=F32)
    for dtype, scale in ((F32, 4), (np.float64, 1), (np.float16, 4)):
        yield case(f"inverse {np.dtype(dtype).name}", "Inverse", matrices.astype(dtype), scale=scale)
    for dtype in (F32, np.float64):
        for metric in ("euclidean", "sqeuclidean"):
            yield case(f"distances {metric} {np.dtype(dtype).name}", "CDist",
                       randoms(4, 3).astype(dtype), randoms(5, 3).astype(dtype), metric=metric,
                       scale=4)


def attention(name, mask=None, weights=np.int8, past=0, by_column=False, present=False, **given):
    batch, steps, inputs, heads, size = 2, 3, 8, 2, 4
    width = 3 * heads * size
    scale = np.abs(randoms(width)) / 100 + F32(0.002) if by_column else np.array(0.01, F32)
    zero = np.zeros(width, weights) if by_column else np.array(3, weights)
    history = randoms(2, batch, heads, past, size) if past else None
    inputs_ = [bytes_of(np.uint8, batch, steps, inputs), bytes_of(weights, inputs, width),
               randoms(width), np.array(0.02, F32), scale, mask, np.array(128, np.uint8), zero,
               history]
    return case(name, "QAttention", *inputs_, outputs=1 + present, num_heads=heads, scale=4, **given)


def attention_cases():
    yield attention("attention")
    yield attention("attention uint8 weights", weights=np.uint8)
    yield attention("attention by column", by_column=True)
    yield attention("attention with ends", i32(3, 2))
    yield attention("attention with ends and starts", i32(3, 2, 1, 0))
    yield attention("attention with a mask", i32([1, 1, 0], [1, 0, 1]))
    yield attention("attention with a mask of pairs", bytes_of(np.uint8, 2, 3, 3).astype(np.int32) % 2)
    yield attention("causal attention", unidirectional=1)
    yield attention("causal attention with a mask", i32([1, 1, 0], [1, 0, 1]), unidirectional=1)
    yield attention("attention with a past", past=2, present=True, unidirectional=1)
    yield attention("attention with a past and a mask", i32([1, 1, 1, 0, 1], [1, 0, 1, 1, 1]),
                    past=2, present=True)
    yield attention("attention with a filter", i32(3, 1), mask_filter_value=-2.0)


def embedding(name, dtype, segments=True, mask=True):
    batch, steps, width = 2, 4, 8

    def scale(value):
        return np.array(value, F32)

    def zero(value):
        return np.array(value, dtype)

    ids = i32([0, 3, 2, 1], [4, 4, 0, 1])
    inputs = [
        ids, ids % 2 if segments else None, bytes_of(dtype, 5, width), bytes_of(dtype, 6, width),
        bytes_of(dtype, 2, width) if segments else None, bytes_of(dtype, width),
        bytes_of(dtype, width, seed=1), i32([1, 1, 1, 0], [1, 0, 0, 0]) if mask else None,
        scale(0.1), scale(0.2), scale(0.3) if segments else None, scale(0.05), scale(0.01),
        zero(3), zero(5), zero(7) if segments else None, zero(1), zero(2)]
    assert len(inputs[0]) == batch and inputs[0].shape[1] == steps
    return case(name, "QEmbedLayerNormalization", *inputs, outputs=2, epsilon=1e-4, scale=2)


CASES = [
    *shape_cases(), *algebra_cases(), *attention_cases(),
    embedding("embedding uint8", np.uint8), embedding("embedding int8", np.int8),
    embedding("embedding without segments", np.uint8, segments=False),
    embedding("embedding without a mask", np.uint8, mask=False),
]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = model_of(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(model_of(one), fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


def as_complex(x):
    return x[..., 0] + 1j * x[..., 1]


def as_parts(x):
    return np.stack([x.real, x.imag], -1).astype(F32)


def test_operators_without_a_kernel_in_onnxruntime():
    a, b = randoms(3, 4, 2), randoms(4, 2)
    [result] = one_run("ComplexMul", [a, b])
    close(result, as_parts(as_complex(a) * as_complex(b)))
    [result] = one_run("ComplexMulConj", [a, b])
    close(result, as_parts(as_complex(a) * as_complex(b).conj()))
    for size in (8, 10):
        x = randoms(3, size)
        [spectrum] = one_run("Rfft", [x], signal_ndim=1)
        close(spectrum, as_parts(np.fft.rfft(x)), 4)
        [back] = one_run("Irfft", [spectrum], signal_ndim=1)
        close(back, x, 4)
    table, ids = randoms(5, 3), i64([0, 4], [2, 2])
    [result] = one_run("TorchEmbedding", [table, ids])
    close(result, table[ids])


def test_whether_everything_is_finite():
    fine, nan, inf = randoms(3), np.array([1, np.nan], F32), np.array([[-np.inf]], F32)
    for inputs, attributes, wanted in (
        ([fine], {}, True), ([fine, nan], {}, False), ([fine, inf], {}, False),
        ([nan], {"isinf_only": 1}, True), ([inf], {"isinf_only": 1}, False),
        ([nan], {"isnan_only": 1}, False), ([inf], {"isnan_only": 1}, True),
    ):
        [result] = one_run("IsAllFinite", inputs, **attributes)
        assert result.dtype == bool and result.shape == () and bool(result) == wanted


X = randoms(2, 3)
MISTAKES = [
    ("CDist", [X, X], "'cosine'", {"metric": "cosine"}),
    ("CDist", [X, randoms(2, 3, 3)], "has 3 axes, not 2", {}),
    ("Inverse", [X], "2.*3|3.*2", {}),
    ("Inverse", [np.zeros((2, 2), F32)], "singular|pivot", {}),
    ("ComplexMul", [X, X], "has 3 elements, not 2", {}),
    ("Rfft", [X], "'signal_ndim' is 2", {"signal_ndim": 2}),
    ("Irfft", [X], "has 3 elements, not 2", {"signal_ndim": 1}),
    ("UnfoldTensor", [X], "'size' and 'step' are 4 and 1, on an axis with 3", {"size": 4}),
    ("UnfoldTensor", [X], "'size' and 'step' are 1 and 0", {"size": 1, "step": 0}),
    ("UnfoldTensor", [X], "'size' is missing", {}),
    ("Unique", [X], "has 2 axes, not 1", {}),
    ("CropAndResize", [randoms(1, 1, 2, 2), np.zeros((1, 4), F32), i32(1), i32(2, 2)],
     "index 1 is outside", {}),
    ("CropAndResize", [randoms(1, 1, 2, 2), np.zeros((1, 5), F32), i32(0), i32(2, 2)],
     "rows of 4", {}),
    ("CropAndResize", [randoms(1, 1, 2, 2), np.zeros((1, 4), F32), i32(0), i32(2, 2)],
     "'cubic'", {"mode": "cubic"}),
    ("ExpandDims", [X, np.array(4, np.int32)], "4", {}),
    ("QAttention", attention("").inputs, "'num_heads' is 5", {"num_heads": 5}),
    ("QAttention", attention("").inputs, "'do_rotary'", {"num_heads": 2, "do_rotary": 1}),
    ("IsAllFinite", [X], "both", {"isnan_only": 1, "isinf_only": 1}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)
