"""Attention, MultiHeadAttention, DecoderMaskedMultiHeadAttention and rotary embeddings of
com.microsoft against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, case, feeds_of, model_of, trimmed
from onnx import TensorProto, helper, numpy_helper
from single_node import SYMBOLIC, close, randoms, refused, run_every_way

import scanloom
import scanloom.tensor as st

B, S, N, H = 2, 3, 4, 8
D = N * H


def bits(*shape, seed=0):
    """A mask with at least one key in each row."""
    mask = np.random.default_rng(seed).integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


def attention(name, *, mask=None, past=0, bias=True, scores=None, width=D, values=D, outputs=None,
              steps=S, **attributes):
    weights = randoms(12, 2 * width + values) / 4
    state = randoms(2, B, N, past, H, seed=7) if past else None
    inputs = [randoms(B, steps, 12), weights, randoms(2 * width + values) if bias else None, mask,
              state, scores]
    if values != width:
        attributes["qkv_hidden_sizes"] = [width, width, values]
    return case(name, "Attention", *trimmed(inputs), outputs=outputs or (2 if past else 1),
                num_heads=N, scale=4, **attributes)


ATTENTION = [
    attention("attention"),
    attention("attention, scaled", scores=randoms(B, N, S, S)),
    attention("attention, shared terms", scores=randoms(1, 1, S, S), unidirectional=1),
    attention("attention, other values", values=24),
    attention("attention, causal", unidirectional=1),
    attention("attention, past", past=5),
    attention("attention, past of none", past=5, steps=1, unidirectional=1),
    attention("attention, causal past", past=5, unidirectional=1),
    attention("attention, present without a past", outputs=2),
    attention("attention, ends", mask=np.array([2, 3], np.int32)),
    attention("attention, ends and starts", mask=np.array([3, 2, 1, 0], np.int32)),
    attention("attention, ends with a past", mask=np.array([7, 4], np.int32), past=5),
    attention("attention, packed lengths", mask=np.array([2, 3, 0, 3, 6, 0, 3, 6], np.int32)),
    attention("attention, keys", mask=bits(B, S)),
    attention("attention, keys with a past", mask=bits(B, S + 5), past=5, unidirectional=1),
    attention("attention, queries", mask=bits(B, S, S)),
    attention("attention, causal queries", mask=bits(B, S, S + 2), past=2, unidirectional=1),
    attention("attention, no keys", mask=np.zeros((B, S), np.int32)),
    attention("attention, filter", mask=bits(B, S), mask_filter_value=-3.0, unidirectional=1,
              scores=randoms(B, 1, S, S)),
]


def heads(*shape, seed=0):
    return randoms(*shape, seed=seed)


def multi_head(name, query, key=None, value=None, bias=None, mask=None, scores=None, past=0,
               outputs=None, **attributes):
    state = [randoms(B, N, past, H, seed=i) if past else None for i in (7, 8)]
    inputs = [query, key, value, bias, mask, scores, *state]
    return case(name, "MultiHeadAttention", *trimmed(inputs), outputs=outputs or (3 if past else 1),
                num_heads=N, scale=4, **attributes)


Q, K, V = randoms(B, S, D), randoms(B, 5, D, seed=1), randoms(B, 5, D, seed=2)
K3, V3 = K[:, :S].copy(), V[:, :S].copy()
BIAS = randoms(3 * D, seed=3)
MULTI_HEAD = [
    multi_head("heads", Q, K, V),
    multi_head("heads, bias", Q, K, V, BIAS),
    multi_head("heads, other values", Q, K, randoms(B, 5, 24), randoms(2 * D + 24)),
    multi_head("heads, causal", Q, K3, V3, unidirectional=1),
    multi_head("heads, ends", Q, K, V, mask=np.array([2, 4], np.int32)),
    multi_head("heads, keys", Q, K, V, mask=bits(B, 5)),
    multi_head("heads, queries", Q, K, V, mask=bits(B, S, 5)),
    multi_head("heads, scores", Q, K, V, scores=randoms(B, N, S, 5)),
    multi_head("heads, shared scores", Q, K, V, mask=bits(B, 5), scores=randoms(1, 1, S, 5)),
    multi_head("heads, past", Q, K3, V3, BIAS, past=4),
    multi_head("heads, one token", Q[:, :1].copy(), K[:, :1].copy(), V[:, :1].copy(), past=4,
               unidirectional=1),
    multi_head("heads, causal past", Q, K3, V3, past=4, unidirectional=1),
    multi_head("heads, masked past", Q, K3, V3, past=4, mask=bits(B, S + 4)),
    multi_head("heads, present", Q, K, V, BIAS, outputs=3),
    multi_head("heads, scores shown", Q, K, V, BIAS, outputs=4),
    multi_head("heads, masked scores shown", Q, K, V, mask=bits(B, 5), outputs=4,
               scores=randoms(B, N, S, 5)),
    multi_head("heads, cross", Q, heads(B, N, 6, H), heads(B, N, 6, H, seed=4)),
    multi_head("heads, masked cross", Q, heads(B, N, 6, H), heads(B, N, 6, H, seed=4),
               mask=bits(B, 6), outputs=1),
]


def decoder_masked(name, *, mask=None, scores=None, packed=False, bias=None, length=3, capacity=6,
                   indirection=None, outputs=3, **attributes):
    one = [randoms(B, 1, D, seed=i) for i in range(3)]
    qkv = [np.concatenate(one, -1), None, None] if packed else one
    state = [randoms(B, N, capacity, H, seed=i) for i in (7, 8)]
    beams = None if indirection is None else np.array([indirection.shape[1]], np.int32)
    inputs = [*qkv, mask, scores, *state, np.array([length], np.int32), beams, indirection, bias]
    return case(name, "DecoderMaskedMultiHeadAttention", *trimmed(inputs), outputs=outputs,
                num_heads=N, past_present_share_buffer=1, scale=4, **attributes)


DECODER = [
    decoder_masked("decoder"),
    decoder_masked("decoder, mask", mask=bits(B, 4), bias=BIAS),
    decoder_masked("decoder, terms", mask=bits(B, 4), scores=randoms(1, N, 1, 4)),
    decoder_masked("decoder, first", length=0),
    decoder_masked("decoder, scores shown", outputs=4, output_qk=1),
    decoder_masked("decoder, beams", mask=bits(B, 4), scores=randoms(1, N, 1, 4),
                   indirection=np.random.default_rng(0).integers(0, 2, (1, 2, 6)).astype(np.int32)),
    case("decoder, cross", "DecoderMaskedMultiHeadAttention", randoms(B, 1, D), heads(B, N, 6, H),
         heads(B, N, 6, H, seed=4), bits(B, 6), num_heads=N, scale=4),
]


def rotary(name, op="RotaryEmbedding", *, at, packed=True, half=4, rows=20, **attributes):
    x = randoms(B, S, N * H) if packed else randoms(B, N, S, H)
    angles = randoms(rows, half)
    return case(name, op, x, np.asarray(at, np.int64), np.cos(angles), np.sin(angles), **attributes)


EACH = [[3, 0, 7], [1, 19, 4]]
STREAMS = np.random.default_rng(1).integers(0, 20, (3, B, S))
ROTARY = [
    rotary("rotary", at=EACH),
    rotary("rotary, offset", at=[5]),
    rotary("rotary, interleaved", at=EACH, interleaved=1),
    rotary("rotary, heads first", at=EACH, packed=False),
    rotary("rotary, heads first, offset", at=[5], packed=False, interleaved=1),
    rotary("rotary, partial", at=EACH, half=2, rotary_embedding_dim=4, num_heads=N),
    rotary("rotary, partial, interleaved", at=[2], half=2, rotary_embedding_dim=4, num_heads=N,
           interleaved=1),
    rotary("rotary, partial, heads first", at=EACH, half=2, rotary_embedding_dim=4, num_heads=N,
           packed=False),
    rotary("three positions", "MRotaryEmbedding", at=STREAMS, mrope_section=[2, 1, 1],
           num_heads=N),
    rotary("three positions, interleaved", "MRotaryEmbedding", at=STREAMS, mrope_section=[2, 1, 1],
           mrope_layout=1, packed=False),
    rotary("three positions, one section", "MRotaryEmbedding", at=STREAMS, mrope_section=[4, 0, 0],
           interleaved=1, num_heads=N),
]
CASES = [*ATTENTION, *MULTI_HEAD, *DECODER, *ROTARY]


def typed_model(one, symbolic=False):
    """onnxruntime cannot infer the type of the scores."""
    proto = model_of(one, symbolic)
    if one.outputs == 4:
        proto.graph.output[3].type.tensor_type.elem_type = TensorProto.FLOAT
    return proto


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = typed_model(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


# Forms that onnxruntime has only for GPUs, or computes wrongly, compared with other forms.


def same_results(one, other):
    results, wanted = (run_every_way(model_of(x), feeds_of(x)) for x in (one, other))
    for result, right in zip(results, wanted):
        close(result, right, 4)


def test_packed_queries_keys_and_values():
    parts = [x.reshape(B, S, N, H) for x in (Q, K3, V3)]
    packed = np.stack(parts, 3)
    for bias in (None, BIAS):
        same_results(multi_head("", packed, None, None, bias), multi_head("", Q, K3, V3, bias))


def test_packed_keys_and_values():
    packed = np.stack([x.reshape(B, 5, N, H) for x in (K, V)], 3)
    same_results(multi_head("", Q, packed), multi_head("", Q, K, V))


def test_a_decoder_with_packed_operands():
    same_results(decoder_masked("", packed=True, mask=bits(B, 4)),
                 decoder_masked("", mask=bits(B, 4)))


def test_a_past_in_a_buffer():
    """A past of 5 positions, of which 3 hold keys, is the past of these 3."""
    k, v = (randoms(B, N, 5, H, seed=i) for i in (7, 8))
    buffer = case("", "MultiHeadAttention", Q[:, :1].copy(), K[:, :1].copy(), V[:, :1].copy(), None,
                  None, None, k, v, np.array([3], np.int32), outputs=3, num_heads=N)
    list_ = case("", "MultiHeadAttention", *buffer.inputs[:6], k[:, :, :3].copy(),
                 v[:, :, :3].copy(), outputs=3, num_heads=N)
    results, wanted = (run_every_way(model_of(x), feeds_of(x)) for x in (buffer, list_))
    close(results[0], wanted[0])
    for result, right, past in zip(results[1:], wanted[1:], (k, v)):
        close(result[:, :, :4], right)
        close(result[:, :, 4:], past[:, :, 4:])


def test_a_mask_of_all_positions():
    mask = np.tril(np.ones((B, 1, 9, 9), np.int32))
    one = attention("", mask=mask, past=5)
    other = attention("", mask=mask[:, 0, 5:8, :8].copy(), past=5)
    same_results(one, other)


def test_attention_without_a_bias():
    one = attention("", bias=False)
    zero = case("", "Attention", *one.inputs, np.zeros(3 * D, np.float32), num_heads=N)
    same_results(one, zero)


# Where they run.


def test_attention_over_a_cache_inside_a_loop():
    """A Loop that decodes 4 tokens, each with the keys of those before, is one causal attention."""
    tokens = 4
    step = helper.make_graph(
        [
            helper.make_node("Gather", ["data", "i"], ["x"], axis=1),
            helper.make_node("Unsqueeze", ["x", "one"], ["query"]),
            helper.make_node("Identity", ["go"], ["goes"]),
            helper.make_node("MultiHeadAttention", ["query", "query", "query", "bias", "", "", "k",
                                                    "v"],
                             ["y", "k_next", "v_next"], domain=DOMAIN, num_heads=N),
        ],
        "step",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("k", TensorProto.FLOAT, [B, N, "past", H]),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [B, N, "past", H])],
        [helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
         helper.make_tensor_value_info("k_next", TensorProto.FLOAT, [B, N, "keys", H]),
         helper.make_tensor_value_info("v_next", TensorProto.FLOAT, [B, N, "keys", H]),
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [B, 1, D])],
    )
    empty = np.zeros((B, N, 0, H), np.float32)
    data, bias = randoms(B, tokens, D), BIAS
    graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "", "empty", "empty"], ["keys", "values", "rows"],
                          body=step)],
        "decoding",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, data.shape)],
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in [
            ("count", np.array(tokens)), ("empty", empty), ("bias", bias), ("one", np.array([1]))]],
    )
    proto = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)])
    [rows] = run_every_way(proto, {"data": data})
    one = multi_head("", data, data, data, bias, unidirectional=1)
    [wanted] = by_onnxruntime(model_of(one), feeds_of(one))
    close(rows[:, :, 0].swapaxes(0, 1), wanted, 4)


def test_gradients_pass_through_attention():
    """Differences of the sum of the results, in f64, along a random direction."""
    q, k, v = (randoms(1, 3, 8, dtype=np.float64, seed=i) for i in range(3))
    one = case("", "MultiHeadAttention", q, k, v, num_heads=2, unidirectional=1)
    proto = model_of(one)
    x = st.tensor3("x")
    made = scanloom.from_onnx(proto.SerializeToString())
    total_of = (made(x, x, v) * k).sum()
    gradient = scanloom.function([x], scanloom.grad(total_of, x))(q)
    session = scanloom.InferenceSession(proto.SerializeToString())

    def total(at):
        [y] = session.run(None, {"x0": at, "x1": at, "x2": v})
        return (y * k).sum()

    direction, small = randoms(1, 3, 8, dtype=np.float64, seed=9), 1e-6
    slope = (total(q + small * direction) - total(q - small * direction)) / (2 * small)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6)


MISTAKES = [
    ("MultiHeadAttention", [Q, K, V], "'num_heads' is 5", {"num_heads": 5}),
    ("MultiHeadAttention", [Q, K, V], "'num_heads' is 0", {"num_heads": 0}),
    ("MultiHeadAttention", [Q, K, V], "'num_heads' is missing", {}),
    ("MultiHeadAttention", [Q, K], "a value is missing", {"num_heads": N}),
    ("MultiHeadAttention", [Q, None, V], "no key", {"num_heads": N}),
    ("MultiHeadAttention", [Q], "num_heads|without keys", {"num_heads": 5}),
    ("MultiHeadAttention", [Q, K, V, randoms(3, D)], "", {"num_heads": N}),
    ("MultiHeadAttention", [Q, K, V, None, np.zeros(3, np.int32)], "3 elements, but the batch has 2",
     {"num_heads": N}),
    ("MultiHeadAttention", [Q, K, V, None, np.zeros((B, 4), np.int32)], "4 elements on axis 1",
     {"num_heads": N}),
    ("MultiHeadAttention", [Q, K3, V3, None, None, None, randoms(B, N, 4, H)], "only one of a past",
     {"num_heads": N}),
    ("MultiHeadAttention", [randoms(B, S, N, 2, H)], "2 elements on axis 3, but 3", {"num_heads": N}),
    ("Attention", [randoms(B, S, 12), randoms(12, 95)], "95 columns", {"num_heads": N}),
    ("Attention", [randoms(B, S, 12), randoms(12, 96)], "adds up to 90",
     {"num_heads": 2, "qkv_hidden_sizes": [32, 32, 26]}),
    ("Attention", [randoms(B, S, 12), randoms(12, 96)], "the first two equal",
     {"num_heads": 2, "qkv_hidden_sizes": [30, 34, 32]}),
    ("Attention", [randoms(B, S, 12), randoms(12, 96)], "'do_rotary'",
     {"num_heads": N, "do_rotary": 1}),
    ("Attention", [randoms(B, S, 12), randoms(11, 96)], "11|12", {"num_heads": N}),
    ("DecoderMaskedMultiHeadAttention", [Q, K3, V3], "3 positions, but this operator decodes 1",
     {"num_heads": N}),
    ("RotaryEmbedding", [Q, np.array([[0, 1, 2]] * B), randoms(2, 4), randoms(2, 4)],
     "index 2 is outside", {}),
    ("RotaryEmbedding", [Q, np.array([0]), randoms(9, 2), randoms(9, 2)], "'num_heads' is 0",
     {"rotary_embedding_dim": 4}),
    ("RotaryEmbedding", [Q, np.array([0]), randoms(9, 4), randoms(9, 4)], "'is_packed_batching'",
     {"is_packed_batching": 1}),
    ("MRotaryEmbedding", [Q, STREAMS[:2].copy(), randoms(20, 4), randoms(20, 4)], "3 elements",
     {"num_heads": N, "mrope_section": [4, 0, 0]}),
    ("MRotaryEmbedding", [Q, STREAMS, randoms(20, 4), randoms(20, 4)], "'mrope_section'",
     {"num_heads": N, "mrope_section": [4, 0]}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)


def test_a_buffer_that_is_full():
    one = decoder_masked("", length=6)
    refused(one.op, one.inputs, "1 positions outside the cache", 3, domain=DOMAIN, opset=1,
            **one.attributes)
    one = decoder_masked("", length=-1)
    refused(one.op, one.inputs, "positions outside the cache", 3, domain=DOMAIN, opset=1,
            **one.attributes)
