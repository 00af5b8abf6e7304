"""Attention and what surrounds it, against onnx's evaluator."""

import math

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from single_node import REALS, SYMBOLIC, by_reference, close, randoms, refused, run

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
    refused("Attention", [q, k, v, None, k], "only one of inputs 4 and 5")
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


def test_tensor_scatter_stays_inside():
    for starts in ([4, 0], [0, -1]):
        inputs = [randoms(2, 5), randoms(2, 2), np.array(starts)]
        refused("TensorScatter", inputs, "1 elements outside the cache", axis=1)
        run("TensorScatter", inputs, opset=24, axis=1, mode="circular")
    refused("TensorScatter", [randoms(2, 3), randoms(2, 5)], "2 elements outside", axis=1)


def test_a_mask_of_one_column_stands_for_all_keys_in_version_23():
    mask = np.array([[True], [False], [True]])
    wide = np.broadcast_to(mask, (3, 5)).copy()
    (result,) = run("Attention", [*qkv(), mask], opset=23)
    np.testing.assert_array_equal(result, run("Attention", [*qkv(), wide], opset=23)[0])


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
