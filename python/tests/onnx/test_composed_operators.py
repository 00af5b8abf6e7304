"""Operators that are made of others, against numpy."""

import math

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from single_node import REALS, SYMBOLIC, by_reference, close, randoms, refused, run

# Trigonometry.

FUNCTIONS = {
    "Acos": (np.arccos, -1, 1),
    "Acosh": (np.arccosh, 1, 50),
    "Asin": (np.arcsin, -1, 1),
    "Asinh": (np.arcsinh, -50, 50),
    "Atan": (np.arctan, -50, 50),
    "Atanh": (np.arctanh, -0.99, 0.99),
    "Cosh": (np.cosh, -10, 10),
    "Sinh": (np.sinh, -10, 10),
}


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_trigonometry(op, dtype):
    function, low, high = FUNCTIONS[op]
    x = np.linspace(low, high, 999).reshape(9, 111).astype(dtype)
    x = x.astype(dtype) if op != "Acosh" else np.maximum(x, np.array(1, dtype))
    wanted = function(x.astype(np.float64))
    (result,) = run(op, [x], opset=22)
    assert result.dtype == dtype
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(result.astype(np.float64), wanted, rtol=4 * epsilon, atol=1e-12)


GELUS = {
    "none": lambda x: x / 2 * np.vectorize(math.erfc)(-x / math.sqrt(2)),
    "tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("approximate", GELUS)
def test_gelu(approximate, dtype):
    """Below zero the result is the small difference of two large numbers, of which f16 and bf16 have
    too few bits: they are computed in f32 and rounded once."""
    x = np.linspace(-9, 9, 1999).astype(dtype)
    (result,) = run("Gelu", [x], approximate=approximate, opset=20)
    assert result.dtype == dtype
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    least = max(float(ml_dtypes.finfo(dtype).smallest_subnormal), 9 / 2 * min(epsilon, 2**-23))
    np.testing.assert_allclose(result.astype(np.float64), GELUS[approximate](x.astype(np.float64)),
                               rtol=epsilon, atol=least)  # fmt: skip
    large = np.array([float(ml_dtypes.finfo(dtype).max)] * 2).astype(dtype)
    (kept,) = run("Gelu", [large], approximate=approximate, opset=20)
    assert kept.tobytes() == large.tobytes()


# Losses.


@SYMBOLIC
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("extra", [(), (3,), (2, 3)], ids=len)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, 1, -7])
def test_losses(reduction, extra, weighted, ignored, symbolic):
    rng = np.random.default_rng(4)
    scores = randoms(4, 5, *extra)
    labels = rng.integers(0, 5, (4, *extra))
    if ignored is not None and labels.size:
        labels.reshape(-1)[0] = ignored
    weights = rng.random(5).astype(np.float32) if weighted else None
    attributes = {"reduction": reduction, "symbolic": symbolic, "opset": 13}
    if ignored is not None:
        attributes["ignore_index"] = ignored
    log_prob = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    (loss,) = run("NegativeLogLikelihoodLoss", [log_prob, labels, weights], **attributes)
    close(loss, loss_by_hand(log_prob, labels, weights, reduction, ignored))
    both = run("SoftmaxCrossEntropyLoss", [scores, labels, weights], 2, **attributes)
    close(both[0], loss_by_hand(log_prob, labels, weights, reduction, ignored))
    close(both[1], log_prob)


def loss_by_hand(log_prob, labels, weights, reduction, ignored):
    losses = np.zeros(labels.shape, np.float64)
    factors = np.zeros(labels.shape, np.float64)
    for at in np.ndindex(labels.shape):
        label = labels[at]
        if label == ignored:
            continue
        factors[at] = 1 if weights is None else weights[label]
        losses[at] = -log_prob[(at[0], label, *at[1:])] * factors[at]
    if reduction == "sum":
        losses = losses.sum()
    if reduction == "mean":
        losses = losses.sum() / factors.sum()
    return np.asarray(losses, np.float32)


def test_an_ignored_infinite_score_is_no_nan():
    log_prob = np.array([[-np.inf, -1], [-2, -0.5]], np.float32)
    labels = np.array([-1, 1])
    (loss,) = run(
        "NegativeLogLikelihoodLoss", [log_prob, labels], opset=13, ignore_index=-1, reduction="sum"
    )
    assert loss == np.float32(0.5)


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_loss_types(dtype, index):
    scores, labels = randoms(3, 4, dtype=dtype), np.array([3, 0, 2], index)
    wide = scores.astype(np.float64)
    log_prob = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    (loss,) = run("SoftmaxCrossEntropyLoss", [scores, labels], opset=13)
    close(loss, np.asarray(-log_prob[range(3), labels].mean()).astype(dtype))


def test_loss_errors():
    scores, labels = randoms(2, 3), np.array([0, 5])
    refused("NegativeLogLikelihoodLoss", [scores, labels], "index 5", opset=13)
    refused(
        "NegativeLogLikelihoodLoss", [scores, labels], "'reduction' is 'max'", reduction="max"
    )
    refused("SoftmaxCrossEntropyLoss", [randoms(3), labels], "has 1 axes, but at least 2", opset=13)


# Normalisations.


def normalised(x, axes, epsilon=1e-5):
    x = x.astype(np.float64)
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def channels(values, rank):
    return values.astype(np.float64).reshape(-1, *[1] * (rank - 2))


@SYMBOLIC
@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", [(2, 4, 5), (1, 4, 3, 2), (3, 4, 1, 2, 2)], ids=str)
def test_instance_normalization(shape, dtype, symbolic):
    x = randoms(*shape, dtype=dtype)
    scale, bias = randoms(4, dtype=dtype, seed=1), randoms(4, dtype=dtype, seed=2)
    axes = tuple(range(2, len(shape)))
    wanted = normalised(x, axes) * channels(scale, len(shape)) + channels(bias, len(shape))
    (result,) = run("InstanceNormalization", [x, scale, bias], opset=22, symbolic=symbolic)
    close(result, wanted.astype(dtype))


@SYMBOLIC
@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("shape", [(2, 4, 5), (1, 4, 3, 2), (2, 4)], ids=str)
def test_group_normalization(shape, groups, opset, symbolic):
    x, count = randoms(*shape), groups if opset == 18 else 4
    scale, bias = randoms(count, seed=1), randoms(count, seed=2)
    repeats = 4 // count
    grouped = x.reshape(shape[0], groups, -1)
    wanted = normalised(grouped, (2,)).reshape(shape)
    wanted *= channels(np.repeat(scale, repeats), len(shape))
    wanted += channels(np.repeat(bias, repeats), len(shape))
    (result,) = run(
        "GroupNormalization", [x, scale, bias], opset=opset, num_groups=groups, symbolic=symbolic
    )
    close(result, wanted.astype(np.float32))


def test_group_normalization_of_an_empty_batch():
    x, ones = np.zeros((0, 4, 3), np.float32), np.ones(4, np.float32)
    (result,) = run("GroupNormalization", [x, ones, ones], opset=21, num_groups=2)
    assert result.shape == (0, 4, 3)


def test_group_normalization_errors():
    x, ones = randoms(2, 4, 3), np.ones(4, np.float32)
    refused("GroupNormalization", [x, ones, ones], "'num_groups' is 3, .* 4", num_groups=3)
    refused("GroupNormalization", [x, ones, ones], "'num_groups' is 0", num_groups=0)
    refused("GroupNormalization", [x, ones, ones], "'num_groups' is missing")


@pytest.mark.parametrize("axes", [None, [1], [0, -1], [2, 3]])
def test_mean_variance_normalization(axes):
    x = randoms(2, 3, 4, 5)
    wanted = normalised(x, tuple(axes or (0, 2, 3)), 0).astype(np.float32)
    attributes = {} if axes is None else {"axes": axes}
    (result,) = run("MeanVarianceNormalization", [x], opset=13, **attributes)
    close(result, wanted)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_normalization(p, axis):
    x = randoms(3, 4, 2)
    x[0] = 0
    x[:, 1] = 0
    norm = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
    wanted = np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)
    (result,) = run("LpNormalization", [x], opset=22, p=p, axis=axis)
    close(result, wanted)


def test_lp_normalization_errors():
    refused("LpNormalization", [randoms(2, 2)], "'p' is 3, neither 1 nor 2", opset=22, p=3)
    refused("LpNormalization", [randoms(2, 2)], "axis 2", opset=22, axis=2)


@SYMBOLIC
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_lrn(size, symbolic):
    x = randoms(2, 5, 3, 2)
    wanted = np.empty_like(x, np.float64)
    for channel in range(5):
        low, high = max(0, channel - (size - 1) // 2), min(4, channel + math.ceil((size - 1) / 2))
        squares = (x[:, low : high + 1].astype(np.float64) ** 2).sum(1)
        wanted[:, channel] = x[:, channel] / (1.5 + 0.3 / size * squares) ** 0.6
    attributes = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    (result,) = run("LRN", [x], opset=13, symbolic=symbolic, **attributes)
    close(result, wanted.astype(np.float32))


def test_lrn_errors():
    refused("LRN", [randoms(1, 2, 2)], "'size' is 0", opset=13, size=0)
    refused("LRN", [randoms(1, 2, 2)], "windows of", opset=13, size=10**9, symbolic=True)
    refused("LRN", [randoms(1, 2, 2)], "'size' is missing", opset=13)


# Frames and grids.


@SYMBOLIC
@pytest.mark.parametrize("target", [(4, 5, 3), (7, 2, 3), (1, 9, 0)], ids=str)
def test_center_crop_pad(target, symbolic):
    x = randoms(4, 5, 3)
    inputs = [x, np.array(target)]
    (result,) = run("CenterCropPad", inputs, opset=18, symbolic=symbolic)
    assert result.shape == target
    np.testing.assert_array_equal(result, by_reference("CenterCropPad", inputs, opset=18)[0])
    inputs = [x, np.array(target[1:2], np.int32)]
    (result,) = run("CenterCropPad", inputs, opset=18, axes=[-2], symbolic=symbolic)
    wanted = by_reference("CenterCropPad", inputs, opset=18, axes=[-2])[0]
    np.testing.assert_array_equal(result, wanted)


def test_center_crop_pad_errors():
    x = randoms(2, 3)
    refused("CenterCropPad", [x, np.array([1])], "1 entries for 2 axes", opset=18)
    refused("CenterCropPad", [x, np.array([1])], "'axes' has 2, outside", opset=18, axes=[2])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 2, 4)], ids=len)
def test_affine_grid(size, corners):
    axes = len(size) - 2
    inputs = [randoms(2, axes, axes + 1), np.array(size)]
    (result,) = run("AffineGrid", inputs, opset=20, align_corners=corners)
    (wanted,) = by_reference("AffineGrid", inputs, opset=20, align_corners=corners)
    close(result, np.asarray(wanted, np.float32))


# Bits.


@pytest.mark.parametrize(
    "source, target",
    [(np.float32, np.int32), (np.int64, np.float64), (np.uint16, np.float16), (np.int8, np.uint8)],
)
def test_bit_cast(source, target):
    x = np.random.default_rng(2).integers(0, 100, (3, 4)).astype(source)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    (result,) = run("BitCast", [x], opset=26, to=kind)
    np.testing.assert_array_equal(result, x.view(target))


def test_bit_cast_errors():
    refused("BitCast", [randoms(2)], "have 32 bits, those of type i64", opset=26, to=7)
    refused("BitCast", [randoms(2)], "'to' is missing", opset=26)
