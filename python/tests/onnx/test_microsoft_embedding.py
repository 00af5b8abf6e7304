"""Embeddings, positions, mixtures of experts and n-grams of com.microsoft."""

from __future__ import annotations

import math

import numpy as np
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, case, feeds_of, model_of
from single_node import SYMBOLIC, close, randoms, refused, run, run_every_way

B, S, D = 2, 5, 8
I32 = np.int32


def numbers(*shape, below, dtype=I32, seed=0):
    return np.random.default_rng(seed).integers(0, below, shape).astype(dtype)


def embedding(name, *, segments=True, mask=None, positions=None, outputs=2, **attributes):
    inputs = [numbers(B, S, below=20), numbers(B, S, below=2) if segments else None,
              randoms(20, D), randoms(9, D), randoms(2, D) if segments else None, randoms(D),
              randoms(D, seed=1), mask, positions]
    while inputs[-1] is None:
        inputs.pop()
    constants = [i for i in range(2, 7) if inputs[i] is not None]  # onnxruntime needs their sizes
    return case(name, "EmbedLayerNormalization", *inputs, outputs=outputs, constants=constants,
                scale=4, **attributes)


def experts(name, *, shape=(B, S, D), count=4, width=6, double=False, biases=True, third=False,
            **attributes):
    tokens, inner = math.prod(shape[:-1]), width * (2 if double else 1)
    layers = [randoms(count, inner, D) / 2, randoms(count, inner) if biases else None,
              randoms(count, D, width) / 2, randoms(count, D) if biases else None]
    if third:
        layers += [randoms(count, width, D, seed=4) / 2, randoms(count, width, seed=5)]
    inputs = [randoms(*shape), randoms(tokens, count, seed=9), *layers]
    while inputs[-1] is None:
        inputs.pop()
    return case(name, "MoE", *inputs, scale=8, **attributes)


def block(name, size, length=9, rows=3):
    return case(name, "NGramRepeatBlock", numbers(rows, length, below=4, dtype=np.int64),
                randoms(rows, 6), ngram_size=size)


def merged(name, source, tokens, start, predicted=None, **attributes):
    lists = [source, tokens, [start]] + ([] if predicted is None else [predicted])
    return case(name, "BifurcationDetector", *(np.array(x, np.int64) for x in lists), outputs=2,
                **{"min_ngram_size": 1, "max_ngram_size": 3, **attributes})


SWIGLU = {"activation_type": "swiglu", "swiglu_fusion": 1, "double": True}
CASES = [
    embedding("embedding"),
    embedding("embedding without segments", segments=False),
    embedding("embedding, mask", mask=numbers(B, S, below=2), outputs=3, epsilon=1e-3),
    embedding("embedding, positions", positions=numbers(B, S, below=9), mask=numbers(B, S, below=2)),
    embedding("embedding, shared positions", positions=numbers(1, S, below=9)),
    *(experts(f"experts, {kind}", activation_type=kind, k=2)
      for kind in ("relu", "gelu", "silu", "identity")),
    experts("experts, the best"),
    experts("experts, packed tokens", shape=(7, D), k=3, normalize_routing_weights=1),
    experts("experts, all", k=4, biases=False, normalize_routing_weights=1),
    experts("experts, swiglu", k=2, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.8,
            **SWIGLU),
    experts("experts, one token", shape=(1, D), k=2, **SWIGLU),
    *(block(f"runs of {size}", size) for size in (1, 2, 3, 4)),
    block("runs longer than the tokens", 5, length=3),
    merged("merged", [2, 3, 4, 5, 6], [7, 2], 1, [3, 4, 9, 9, 9]),
    merged("merged to the end", [2, 3, 4, 5, 6], [7, 2], 1, [3, 4, 5, 6, 8]),
    merged("merged from another token", [2, 3, 4, 5, 6], [7, 2], 0, [1, 1, 1, 1, 1, 1]),
    merged("no prediction", [2, 3, 4, 5, 6], [7, 2, 3], 0),
    merged("repeated", [2, 3, 2, 3, 4, 2], [9, 2, 3], 0),
    merged("longer is unique", [2, 3, 5, 3, 4], [2, 3], 0),
    merged("never found", [2, 3, 5], [9], 0, min_ngram_size=2, max_ngram_size=4),
]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = model_of(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


def test_gates_of_their_own_layer():
    """A third layer, which onnxruntime has only for GPUs, and both layouts of one that holds both."""
    for kind in ("silu", "swiglu"):
        one = experts("", third=True, activation_type=kind, k=2)
        first, third = (one.inputs[i] for i in (2, 6))
        bias, third_bias = (one.inputs[i] for i in (3, 7))
        [result] = run_every_way(model_of(one), feeds_of(one))
        for fusion in (1, 2):
            axis = 2 if fusion == 1 else 1
            together = [np.stack(pair, axis).reshape(4, 12, *pair[0].shape[2:])
                        for pair in ((first, third), (bias, third_bias))]
            other = case("", "MoE", *one.inputs[:2], *together, *one.inputs[4:6], k=2,
                         activation_type="swiglu", swiglu_fusion=fusion)
            close(run_every_way(model_of(other), feeds_of(other))[0], result, 8)


def bucket(distance, count, farthest, both_ways):
    """As in transformers' T5."""
    first = 0
    if both_ways:
        count //= 2
        first = count if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = count // 2
    if distance < exact:
        return first + distance
    far = exact + int(math.log(distance / exact) / math.log(farthest / exact) * (count - exact))
    return first + min(far, count - 1)


@pytest.mark.parametrize("both_ways", [0, 1])
def test_relative_position_bias(both_ways):
    buckets, heads, length = 16, 3, 40
    table = randoms(buckets, heads)
    inputs = [table, np.array([length], np.int64), np.array([length], np.int64)]
    (result,) = run("RelativePositionBias", inputs, domain=DOMAIN, opset=1, max_distance=20,
                    is_bidirectional=both_ways)
    by_head = table.reshape(heads, buckets)
    rows = np.array([[bucket(k - q, buckets, 20, both_ways) for k in range(length)]
                     for q in range(length)])
    np.testing.assert_array_equal(result, by_head[:, rows][None])


@SYMBOLIC
def test_gated_relative_position_bias(symbolic):
    heads, size, width = 2, 4, 6
    inputs = [randoms(B, S, heads * size), randoms(heads * size), randoms(1, heads, S, S),
              randoms(size, width), randoms(width), randoms(1, heads, 1, 1)]
    (result,) = run("GatedRelativePositionBias", inputs, domain=DOMAIN, opset=1, num_heads=heads,
                    symbolic=symbolic)
    query, bias, positions, weight, offset, factor = (x.astype(np.float64) for x in inputs)
    x = (query + bias).reshape(B, S, heads, size).transpose(0, 2, 1, 3) @ weight + offset
    update, reset = np.split(1 / (1 + np.exp(-x.reshape(B, heads, S, 2, -1).sum(-1))), 2, -1)
    close(result, ((update * (reset * factor - 1) + 2) * positions).astype(np.float32), 4)


X = randoms(B, S, D)
MISTAKES = [
    ("MoE", [X, randoms(10, 4), randoms(4, 6, D), None, randoms(4, D, 6)], "'k' is 5", {"k": 5}),
    ("MoE", [X, randoms(10, 4), randoms(4, 6, D), None, randoms(4, D, 6)], "is 'tanh'",
     {"activation_type": "tanh"}),
    ("MoE", [X, randoms(10, 4), randoms(6, D), None, randoms(4, D, 6)], "2 axes", {}),
    ("MoE", [X, randoms(9, 4), randoms(4, 6, D), None, randoms(4, D, 6)], "", {}),
    ("MoE", [X, randoms(10, 4), randoms(3, 6, D), None, randoms(4, D, 6)], "3.*4|4.*3", {}),
    ("NGramRepeatBlock", [numbers(2, 5, below=3, dtype=np.int64), randoms(2, 6)], "is 0, not 1",
     {"ngram_size": 0}),
    ("NGramRepeatBlock", [numbers(2, 5, below=9, dtype=np.int64), randoms(2, 3)], "outside",
     {"ngram_size": 1}),
    ("BifurcationDetector", [np.array([1, 2]), np.array([1]), np.array([3]), np.array([1])],
     "predicted tokens", {}),
    ("BifurcationDetector", [np.array([1, 2]), np.array([1]), np.array([-1]), np.array([1] * 4)],
     "previous match must be at least", {}),
    ("RelativePositionBias", [randoms(2, 3), np.array([4]), np.array([4])], "no buckets",
     {"max_distance": 1}),
    ("GatedRelativePositionBias", [X, randoms(D), randoms(1, 3, S, S), randoms(2, 6), randoms(6),
                                   randoms(1, 3, 1, 1)], "'num_heads' is 3", {"num_heads": 3}),
    ("EmbedLayerNormalization", [numbers(B, S, below=20), None, randoms(20, D), randoms(9, D),
                                 randoms(2, D), randoms(D), randoms(D)], "only one of", {}),
    ("EmbedLayerNormalization", [numbers(B, S, below=20) + 9, None, randoms(20, D), randoms(9, D),
                                 None, randoms(D), randoms(D)], "index .* outside", {}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)
