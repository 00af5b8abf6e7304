"""Operators that are read as compositions of others, against onnx's evaluator and numpy."""

import math

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scanloom
from single_node import by_reference, feeds, model, run

REALS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
TOLERANCE = {
    np.dtype(np.float64): 1e-6,
    np.dtype(np.float32): 2e-5,
    np.dtype(np.float16): 4e-3,
    np.dtype(ml_dtypes.bfloat16): 3e-2,
}
SYMBOLIC = pytest.mark.parametrize("symbolic", [False, True], ids=["sizes", "symbols"])


def randoms(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def close(result, wanted, scale=1):
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
    tolerance = scale * TOLERANCE.get(wanted.dtype, 0)
    np.testing.assert_allclose(
        result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance
    )


def same_as_reference(op, inputs, outputs=1, scale=1, **rest):
    results = run(op, inputs, outputs, **rest)
    for result, wanted in zip(results, by_reference(op, inputs, outputs, **rest)):
        close(result, np.asarray(wanted), scale)


def refused(op, inputs, words, outputs=1, **rest):
    with pytest.raises(scanloom.Error, match=words):
        proto = model(op, inputs, outputs, **rest)
        scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))


# Trigonometry.

FUNCTIONS = {
    "Acos": (np.arccos, -1, 1),
    "Acosh": (np.arccosh, 1, 50),
    "Asin": (np.arcsin, -1, 1),
    "Asinh": (np.arcsinh, -50, 50),
    "Atan": (np.arctan, -50, 50),
    "Atanh": (np.arctanh, -0.999, 0.999),
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
    refused("SoftmaxCrossEntropyLoss", [randoms(3), labels], "has 1 axes, at least 2", opset=13)


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


# Attention.


def qkv(heads=4, shared=4, queries=3, keys=5, size=8, value_size=8, dtype=np.float32):
    return (
        randoms(2, heads, queries, size, dtype=dtype),
        randoms(2, shared, keys, size, dtype=dtype, seed=1),
        randoms(2, shared, keys, value_size, dtype=dtype, seed=2),
    )


@SYMBOLIC
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("shared", [4, 2, 1])
@pytest.mark.parametrize("mask", [None, "boolean", "float", "short", "heads"])
def test_attention(mask, shared, mode, symbolic):
    inputs = list(qkv(shared=shared, value_size=6))
    rng = np.random.default_rng(1)
    masks = {
        "boolean": rng.random((3, 5)) < 0.7,
        "float": randoms(2, 1, 3, 5),
        "short": rng.random((3, 4)) < 0.7,
        "heads": randoms(4, 3, 5),
    }
    if mask is not None:
        inputs.append(masks[mask])
    attributes = {"qk_matmul_output_mode": mode, "is_causal": shared % 2, "scale": 0.4}
    results = run("Attention", inputs, 4, opset=24, symbolic=symbolic, **attributes)
    wanted = by_reference("Attention", inputs, 4, opset=24, **attributes)
    for result, expected in zip(results, wanted):
        close(result, expected)


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
def test_attention_types(dtype):
    inputs = qkv(dtype=dtype)
    attributes = {"softcap": 2.0, "softmax_precision": int(TensorProto.FLOAT)}
    results = run("Attention", inputs, opset=23, **attributes)
    wide = [x.astype(np.float64) for x in inputs]
    scores = 2 * np.tanh(wide[0] @ wide[1].swapaxes(-1, -2) / math.sqrt(8) / 2)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    close(results[0], (weights @ wide[2]).astype(dtype), scale=2)


@SYMBOLIC
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("packed", [False, True])
def test_attention_with_a_cache(packed, causal, symbolic):
    q, k, v = qkv(shared=2)
    past = (randoms(2, 2, 4, 8, seed=5), randoms(2, 2, 4, 8, seed=6))
    attributes = {"is_causal": causal}
    if packed:
        q, k, v = (x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1).copy() for x in (q, k, v))
        attributes |= {"q_num_heads": 4, "kv_num_heads": 2}
    inputs = [q, k, v, None, *past]
    results = run("Attention", inputs, 3, opset=23, symbolic=symbolic, **attributes)
    for result, wanted in zip(results, by_reference("Attention", inputs, 3, opset=23, **attributes)):
        close(result, wanted)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_padded_keys(causal):
    inputs = [*qkv(), None, None, None, np.array([4, 2])]
    attributes = {"is_causal": causal}
    (result,) = run("Attention", inputs, opset=24, **attributes)
    close(result, by_reference("Attention", inputs, opset=24, **attributes)[0])


@pytest.mark.parametrize("left, right", [(-1, -1), (1, -1), (-1, 0), (2, 1), (0, 0)])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_windows(left, right, causal):
    inputs = qkv(queries=5)
    attributes = {"left_window_size": left, "right_window_size": right, "is_causal": causal}
    (result,) = run("Attention", inputs, opset=25, **attributes)
    close(result, by_reference("Attention", inputs, opset=25, **attributes)[0])


def test_attention_rows_without_keys_are_zero():
    mask = np.zeros((3, 5), bool)
    mask[1] = True
    results = run("Attention", [*qkv(), mask], 4, opset=24, qk_matmul_output_mode=3)
    assert not results[0][:, :, [0, 2]].any() and not results[3][:, :, [0, 2]].any()
    assert results[0][:, :, 1].all()


def test_attention_errors():
    q, k, v = qkv(shared=3)
    refused("Attention", [q, k, v], "4 heads of queries cannot share 3 heads")
    refused("Attention", [q[0], k[0], v[0]], "'q_num_heads' is 0", opset=23)
    q, k, v = qkv()
    refused("Attention", [q, k, v], "output_mode' is 4, not 0 to 3", qk_matmul_output_mode=4)
    refused("Attention", [q, k, v, None, k], "past key and past value, there is only one")
    refused("Attention", [q, k, v], "softmax_precision' is int64", softmax_precision=7)


# Rotary embeddings, caches.


@SYMBOLIC
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 4])
@pytest.mark.parametrize("form", ["heads", "packed"])
@pytest.mark.parametrize("positions", [False, True])
def test_rotary_embedding(interleaved, turned, form, positions, symbolic):
    half = (turned or 8) // 2
    x = randoms(2, 3, 5, 8)
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": turned}
    if form == "packed":
        x = x.transpose(0, 2, 1, 3).reshape(2, 5, 24).copy()
        attributes["num_heads"] = 3
    shape = (50, half) if positions else (2, 5, half)
    inputs = [x, randoms(*shape, seed=1), randoms(*shape, seed=2)]
    if positions:
        inputs.append(np.random.default_rng(0).integers(0, 50, (2, 5)))
    (result,) = run("RotaryEmbedding", inputs, opset=23, symbolic=symbolic, **attributes)
    (wanted,) = by_reference("RotaryEmbedding", inputs, opset=23, **attributes)
    close(result, np.asarray(wanted, np.float32))


def test_rotary_embedding_errors():
    inputs = [randoms(2, 5, 24), randoms(2, 5, 4), randoms(2, 5, 4)]
    refused("RotaryEmbedding", inputs, "'num_heads' is 0", opset=23)
    refused("RotaryEmbedding", inputs, "'num_heads' is 5", opset=23, num_heads=5)
    refused("RotaryEmbedding", inputs, "is 3, not an even", num_heads=3, rotary_embedding_dim=3)


@SYMBOLIC
@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_tensor_scatter(mode, axis, symbolic):
    cache = randoms(2, 5, 6, 5)
    update = np.take(randoms(2, 5, 6, 5, seed=3), range(3), axis)
    starts = np.array([2, 0] if mode == "linear" else [4, 11])
    attributes = {"mode": mode, "axis": axis}
    inputs = [cache, update, starts]
    (result,) = run("TensorScatter", inputs, opset=24, symbolic=symbolic, **attributes)
    (wanted,) = by_reference("TensorScatter", inputs, opset=24, **attributes)
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.complex64, ml_dtypes.int4])
def test_tensor_scatter_of_any_type_from_the_start(dtype):
    cache, update = np.arange(6).reshape(2, 3).astype(dtype), np.ones((2, 2)).astype(dtype)
    (result,) = run("TensorScatter", [cache, update], opset=24, axis=1)
    wanted = np.concatenate([update, cache[:, 2:]], 1)
    assert (result.dtype, result.tolist()) == (wanted.dtype, wanted.tolist())


def test_tensor_scatter_errors():
    inputs = [randoms(2, 5), randoms(2, 2)]
    refused("TensorScatter", inputs, "'axis' is 0, the axis of the batch", axis=0)
    refused("TensorScatter", inputs, "'mode' is 'round'", axis=1, mode="round")


# Recurrences.


@SYMBOLIC
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("shared", [1, 2, 4])
@pytest.mark.parametrize("past", [False, True])
def test_linear_attention(rule, shared, past, symbolic):
    batch, steps, heads, key_size, value_size = 2, 6, 4, 3, 5
    inputs = [
        randoms(batch, steps, heads * key_size),
        randoms(batch, steps, shared * key_size, seed=1) / 2,
        randoms(batch, steps, shared * value_size, seed=2),
        randoms(batch, shared, key_size, value_size, seed=3) if past else None,
        -np.abs(randoms(batch, steps, shared * key_size, seed=4)) if "gated" in rule else None,
        np.abs(randoms(batch, steps, shared, seed=5)) / 3 if "delta" in rule else None,
    ]
    attributes = {"q_num_heads": heads, "kv_num_heads": shared, "update_rule": rule}
    results = run("LinearAttention", inputs, 2, opset=27, symbolic=symbolic, **attributes)
    wanted = by_reference("LinearAttention", inputs, 2, opset=27, **attributes)
    for result, expected in zip(results, wanted):
        close(result, expected)


def test_linear_attention_without_positions_keeps_its_state():
    empty, past = np.zeros((2, 0, 6), np.float32), randoms(2, 2, 3, 3)
    attributes = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear", "scale": 1.0}
    rows, state = run("LinearAttention", [empty, empty, empty, past], 2, opset=27, **attributes)
    assert rows.shape == (2, 0, 6)
    np.testing.assert_array_equal(state, past)


def test_linear_attention_errors():
    x = randoms(1, 2, 4)
    attributes = {"opset": 27, "q_num_heads": 2, "kv_num_heads": 2}
    refused("LinearAttention", [x, x, x], "'gated_delta' needs input 4", 2, **attributes)
    refused("LinearAttention", [x, x, x], "'cubic'", 2, update_rule="cubic", **attributes)
    attributes["kv_num_heads"] = 3
    refused("LinearAttention", [x, x, x], "share 3 heads", 2, update_rule="linear", **attributes)


@pytest.mark.parametrize("activation", ["none", "silu"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_causal_conv_with_state(activation, past, length):
    inputs = [
        randoms(2, 3, length),
        randoms(3, 1, 4, seed=1),
        randoms(3, seed=2),
        randoms(2, 3, 3, seed=3) if past else None,
    ]
    results = run("CausalConvWithState", inputs, 2, opset=27, activation=activation)
    wanted = by_reference("CausalConvWithState", inputs, 2, opset=27, activation=activation)
    for result, expected in zip(results, wanted):
        close(result, expected)


# Signals.


def parts(values):
    return np.stack([values.real, values.imag], -1)


@SYMBOLIC
@pytest.mark.parametrize("axis", [1, 2, -2])
@pytest.mark.parametrize("length", [None, 4, 9])
@pytest.mark.parametrize("kind", ["real", "complex", "inverse", "onesided", "inverse_onesided"])
@pytest.mark.parametrize("opset", [17, 20])
def test_dft(kind, length, axis, opset, symbolic):
    real = kind in ("real", "onesided")
    x = randoms(2, 5, 7, 1 if real else 2)
    values = x[..., 0] if real else x[..., 0] + 1j * x[..., 1]
    at = axis if axis > 0 else 2
    functions = {
        "real": np.fft.fft,
        "complex": np.fft.fft,
        "inverse": np.fft.ifft,
        "onesided": np.fft.rfft,
        "inverse_onesided": np.fft.irfft,
    }
    wanted = functions[kind](values, length, axis=at)
    wanted = wanted[..., None] if kind == "inverse_onesided" else parts(wanted)
    attributes = {"inverse": int("inverse" in kind), "onesided": int("onesided" in kind)}
    inputs = [x, None if length is None else np.array(length)]
    proto = model("DFT", inputs, opset=opset, symbolic=symbolic, **attributes)
    if symbolic:  # the last axis tells real from complex numbers
        proto.graph.input[0].type.tensor_type.shape.dim[3].dim_value = x.shape[-1]
    if opset == 17:
        proto.graph.node[0].attribute.append(helper.make_attribute("axis", at))
    else:
        tensor = onnx.numpy_helper.from_array(np.array(axis), "axis")
        proto.graph.initializer.append(tensor)
        node = proto.graph.node[0]
        node.input[:] = [*node.input, "axis"]
    (result,) = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
    close(result, wanted.astype(np.float32))


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -4])
def test_dft_along_a_computed_axis(axis):
    x = randoms(3, 4, 5, 1)
    inputs = [x, np.array(6), np.array(axis)]
    (result,) = run("DFT", inputs, opset=20, onesided=1)
    at = axis if axis >= 0 else axis + 4
    close(result, parts(np.fft.rfft(x[..., 0], 6, axis=at)).astype(np.float32))


def test_dft_along_no_axis():
    for axis in (3, -1, 7):
        with pytest.raises(scanloom.Error):
            run("DFT", [randoms(3, 4, 5, 1), None, np.array(axis)], opset=20)


def test_dft_of_a_long_signal():
    x = randoms(1, 1000, 1)
    (result,) = run("DFT", [x], opset=20)
    close(result, parts(np.fft.fft(x[..., 0])).astype(np.float32), scale=10)


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
def test_dft_types(dtype):
    x = randoms(2, 6, 2, dtype=dtype)
    wide = x.astype(np.float64)
    wanted = parts(np.fft.fft(wide[..., 0] + 1j * wide[..., 1]))
    (result,) = run("DFT", [x], opset=20)
    close(result, wanted.astype(dtype), scale=2)


def test_dft_errors():
    refused("DFT", [randoms(2, 5, 3)], "has 3 elements, not 1 or 2", opset=20)
    refused("DFT", [randoms(2, 5, 2)], "one-sided spectrum needs a real", opset=20, onesided=1)
    refused("DFT", [randoms(2, 5, 1)], "axis 2 is none", opset=17, axis=2)


@SYMBOLIC
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("length", [20, 8, 7])
def test_stft(onesided, window, length, symbolic):
    signal, step, size = randoms(2, length, 1), 3, 8
    weights = np.hanning(size).astype(np.float32) if window else np.ones(size, np.float32)
    inputs = [signal, np.array(step), weights if window else None, np.array(size)]
    count = max(0, (length - size) // step + 1)
    frames = np.zeros((2, count, size), np.float32)
    for i in range(count):
        frames[:, i] = signal[:, i * step : i * step + size, 0] * weights
    wanted = (np.fft.rfft if onesided else np.fft.fft)(frames)
    proto = model("STFT", inputs, opset=17, onesided=onesided, symbolic=symbolic)
    if symbolic:
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1
    (result,) = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
    close(result, parts(wanted).astype(np.float32))


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size", [0, 2, 10])
def test_windows(op, periodic, size):
    n = np.arange(size)
    turns = 2 * np.pi * n / (size if periodic else size - 1)
    wanted = {
        "HannWindow": 0.5 - 0.5 * np.cos(turns),
        "HammingWindow": 25 / 46 - 21 / 46 * np.cos(turns),
        "BlackmanWindow": 0.42 - 0.5 * np.cos(turns) + 0.08 * np.cos(2 * turns),
    }[op]
    for dtype in (np.float32, np.float64, np.float16):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        attributes = {"periodic": periodic, "output_datatype": kind}
        (result,) = run(op, [np.array(size)], opset=17, **attributes)
        close(result, wanted.astype(dtype))


def test_mel_weight_matrix():
    inputs = [
        np.array(8, np.int32),
        np.array(64, np.int32),
        np.array(16000, np.int32),
        np.array(60, np.float32),
        np.array(7600, np.float32),
    ]
    (result,) = run("MelWeightMatrix", inputs, opset=17)
    close(result, by_reference("MelWeightMatrix", inputs, opset=17)[0])


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


# Machine learning.

ML = "ai.onnx.ml"


def test_binarizer_and_scaler():
    x = randoms(3, 4)
    (result,) = run("Binarizer", [x], opset=3, domain=ML, threshold=0.25)
    close(result, (x > 0.25).astype(np.float32))
    attributes = {"offset": [0.5, 1.0, -1.0, 2.0], "scale": [2.0, 3.0, 0.5, 1.0]}
    (result,) = run("Scaler", [x], opset=3, domain=ML, **attributes)
    close(result, ((x - attributes["offset"]) * attributes["scale"]).astype(np.float32))


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm):
    x = np.abs(randoms(3, 4))
    x[1] = 0
    divisor = {"MAX": x.max(1), "L1": x.sum(1), "L2": np.sqrt((x**2).sum(1))}[norm][:, None]
    (result,) = run("Normalizer", [x], opset=3, domain=ML, norm=norm)
    close(result, np.where(divisor == 0, x, x / np.where(divisor == 0, 1, divisor)))


def test_imputer():
    x = np.array([[1, np.nan], [np.nan, 4]], np.float32)
    attributes = {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": float("nan")}
    (result,) = run("Imputer", [x], opset=3, domain=ML, **attributes)
    assert result.tolist() == [[1, 8], [7, 4]]
    attributes = {"imputed_value_int64s": [9], "replaced_value_int64": 2}
    (result,) = run("Imputer", [np.array([[1, 2], [2, 3]])], opset=3, domain=ML, **attributes)
    assert result.tolist() == [[1, 9], [9, 3]]


def test_label_encoder():
    attributes = {"keys_int64s": [3, 5, 3], "values_floats": [0.5, 1.5, 2.5]}
    (result,) = run("LabelEncoder", [np.array([[3, 4], [5, 3]])], opset=4, domain=ML, **attributes)
    assert result.tolist() == [[2.5, 0.0], [1.5, 2.5]]
    attributes = {"keys_floats": [float("nan"), 1.0], "values_int64s": [10, 20]}
    x = np.array([1, np.nan, 2], np.float32)
    (result,) = run("LabelEncoder", [x], opset=4, domain=ML, default_int64=-3, **attributes)
    assert result.tolist() == [20, 10, -3]


def test_linear_regressor():
    x, weights = randoms(3, 4), randoms(2, 4, seed=1)
    attributes = {"targets": 2, "coefficients": weights.reshape(-1).tolist()}
    (result,) = run("LinearRegressor", [x], opset=1, domain=ML, intercepts=[1.0, 2.0], **attributes)
    close(result, (x @ weights.T + [1, 2]).astype(np.float32))
    attributes["targets"] = 3
    refused("LinearRegressor", [x], "8 entries for 3 targets", opset=1, domain=ML, **attributes)


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


def trees(**changes):
    """Two trees over two features; leaves 0 to 4."""
    tensor = onnx.numpy_helper.from_array
    attributes = {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 1],
        "nodes_splits": tensor(np.array([0.5, -1, 0], np.float32)),
        "nodes_modes": tensor(np.array([0, 3, 1], np.uint8)),
        "nodes_truenodeids": [1, 1, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [0, 2, 4],
        "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": [0, 1, 0, 1, 0],
        "leaf_weights": tensor(np.array([1, 2, 4, 8, 16], np.float32)),
    }
    return {**attributes, **changes}


def test_tree_ensemble():
    x = np.array([[0, 0], [0, -2], [1, -2], [np.nan, 3]], np.float32)
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees())
    # Leaves: (1, 4), (2, 3), (0, 3), (0, 4).
    assert result.tolist() == [[16, 2], [4, 8], [1, 8], [17, 0]]
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees(aggregate_function=0))
    assert result.tolist() == [[8, 1], [2, 4], [0.5, 4], [8.5, 0]]
    tracks = trees(nodes_missing_value_tracks_true=[1, 0, 0])
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **tracks)
    assert result[3].tolist() == [16, 2]


def test_tree_ensemble_members():
    members = onnx.numpy_helper.from_array(np.array([3, 5, np.nan], np.float32))
    modes = onnx.numpy_helper.from_array(np.array([6, 3, 1], np.uint8))
    changes = {"nodes_modes": modes, "membership_values": members}
    x = np.array([[3, 0], [4, 0], [5, 0]], np.float32)
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees(**changes))
    assert result.tolist() == [[16, 2], [17, 0], [16, 2]]


def test_tree_ensemble_errors():
    x = randoms(2, 2)

    def broken(words, **changes):
        refused("TreeEnsemble", [x], words, opset=5, domain=ML, **trees(**changes))

    broken("leads back to itself", nodes_truenodeids=[0, 1, 3])
    broken("leads to leaf 9 of 5", nodes_falsenodeids=[0, 9, 4])
    broken("node 7 of 3", tree_roots=[7])
    broken("target 4 of 2", leaf_targetids=[0, 1, 0, 1, 4])
    broken("'nodes_trueleafs' has 2 entries, there are 3", nodes_trueleafs=[0, 1])
    with pytest.raises(scanloom.Error, match="index 9 is outside"):
        run("TreeEnsemble", [x], opset=5, domain=ML, **trees(nodes_featureids=[0, 1, 9]))
