"""GroupQueryAttention and SparseAttention of com.microsoft against onnxruntime."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, case, feeds_of, model_of, trimmed, with_input
from single_node import SYMBOLIC, close, randoms, refused, run_every_way

import scanloom

N, G, H = 4, 2, 16
I32 = np.int32


def grouped(name, *, steps=1, totals=(6,), past=None, packed=False, rotary=0, positions=None,
            scores=None, sink=None, norms=False, dtype=np.float32, heads=(N, G), outputs=3,
            constant=False, size=H, **attributes):
    """`past` is the capacity of the past, by default what it holds; `rotary` the width of the
    tables."""
    batch, most = len(totals), max(totals)
    many, few = heads
    q = randoms(batch, steps, many * size)
    k, v = (randoms(batch, steps, few * size, seed=i) for i in (1, 2))
    qkv = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    past = most - steps if past is None else past
    state = [randoms(batch, few, past, size, seed=i) for i in (7, 8)] if past else [None, None]
    angles = randoms(most + 2, rotary) if rotary else None
    tables = [np.cos(angles), np.sin(angles)] if rotary else [None, None]
    weights = [1 + randoms(size, seed=i) / 4 for i in (3, 4)] if norms else [None, None]
    ends = np.array(totals, I32) - 1
    inputs = [*qkv, *state, ends, np.array(most, I32), *tables, positions, scores, sink, None, None,
              *weights]
    inputs = [x.astype(dtype) if x is not None and x.dtype == np.float32 else x for x in inputs]
    if rotary:
        attributes["do_rotary"] = 1
    return case(name, "GroupQueryAttention", *trimmed(inputs), outputs=outputs, num_heads=many,
                kv_num_heads=few, scale=4, constants=[6] if constant else [], **attributes)


CASES = [
    grouped("prompt", steps=5, totals=(5,)),
    grouped("prompt, known length", steps=5, totals=(5,), constant=True),
    grouped("prompts", steps=5, totals=(5, 5)),
    grouped("prompt, packed", steps=5, totals=(5,), packed=True),
    grouped("prompt in a buffer", steps=5, totals=(5,), past=9),
    grouped("token"),
    grouped("token, known length", constant=True),
    grouped("tokens of different lengths", totals=(6, 4, 2)),
    grouped("token in a buffer", totals=(6, 4), past=9, packed=True),
    grouped("second prompt", steps=3, totals=(7,)),
    grouped("second prompt in a buffer", steps=3, totals=(7,), past=9),
    grouped("rotary prompt", steps=5, totals=(5,), rotary=8),
    grouped("rotary tokens", totals=(6, 4), rotary=8, packed=True),
    grouped("rotary second prompt", steps=3, totals=(7,), rotary=8, rotary_interleaved=1),
    grouped("partly rotated", steps=5, totals=(5, 5), rotary=8, packed=True, size=32),
    grouped("rotary, positions", totals=(6, 4), rotary=8, positions=np.array([[3], [7]])),
    grouped("window", steps=6, totals=(6, 6), local_window_size=3),
    grouped("window of tokens", totals=(9, 3), local_window_size=4),
    grouped("softcap", steps=5, totals=(5,), softcap=0.5),
    grouped("smooth", totals=(6, 4), smooth_softmax=1),
    grouped("sink", steps=3, totals=(7,), sink=randoms(N), local_window_size=2),
    grouped("scores", totals=(6,), scores=randoms(1, N, 1, 6)),
    grouped("shared scores", steps=5, totals=(5, 5), scores=randoms(1, 1, 5, 5), softcap=2.0),
    grouped("scale", steps=3, totals=(7,)),
    grouped("heads of their own", steps=3, totals=(7,), heads=(2, 2)),
    grouped("one shared head", totals=(6, 4), heads=(4, 1)),
    grouped("both directions", steps=5, totals=(5,), causal=0),
    grouped("f16", steps=3, totals=(7,), dtype=np.float16, rotary=8),
    grouped("f16 tokens", totals=(6, 4), dtype=np.float16, packed=True),
    grouped("scores shown", totals=(6, 6), outputs=4, qk_output=1, softcap=0.7),
    grouped("probabilities shown", steps=3, totals=(7,), outputs=4, qk_output=2),
]


def sparse(name, *, steps, totals, capacity, packed=False, rotary=0, layouts=2, **attributes):
    batch, most, block = len(totals), max(totals), 16
    q, k, v = (randoms(batch, steps, n * H, seed=n + i) for i, n in enumerate((N, G, G)))
    qkv = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    state = [randoms(batch, G, capacity, H, seed=i) for i in (7, 8)]
    blocks = capacity // block
    mask = np.tril(np.random.default_rng(2).integers(0, 2, (layouts, blocks, blocks)))
    mask |= np.eye(blocks, dtype=mask.dtype)
    rows = np.concatenate([np.zeros((layouts, 1)), mask.sum(-1).cumsum(-1)], -1).astype(I32)
    columns = np.full((layouts, mask.sum((1, 2)).max()), -1, I32)
    for layout, one in zip(columns, mask):
        layout[: one.sum()] = np.nonzero(one)[1]
    angles = randoms(capacity, 8)
    tables = [np.cos(angles), np.sin(angles)] if rotary else []
    return case(name, "SparseAttention", *qkv, *state, rows, columns, np.array([most], I32),
                np.array(totals, I32), *tables, outputs=3, num_heads=N, kv_num_heads=G, scale=4,
                sparse_block_size=block, do_rotary=int(bool(rotary)), **attributes)


SPARSE = [
    sparse("sparse prompt", steps=40, totals=(40,), capacity=64),
    sparse("sparse token", steps=1, totals=(37, 50), capacity=64, packed=True),
    sparse("sparse token, rotary", steps=1, totals=(37,), capacity=64, rotary=8),
    sparse("sparse prompt, one layout", steps=20, totals=(20, 20), capacity=48, layouts=1, rotary=8,
           rotary_interleaved=1),
]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = model_of(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


def by_onnxruntime_in_place(proto, fed):
    """onnxruntime wants the past and the present in one buffer."""
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    binding = session.io_binding()
    kept = {name: value.copy() for name, value in fed.items()}  # values refer to these
    state = {name: onnxruntime.OrtValue.ortvalue_from_numpy(kept[name]) for name in ("x3", "x4")}
    for name, value in kept.items():
        binding.bind_ortvalue_input(
            name, state.get(name) or onnxruntime.OrtValue.ortvalue_from_numpy(value)
        )
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", state["x3"])
    binding.bind_ortvalue_output("y2", state["x4"])
    session.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


def row_of(one, row):
    """The node with one row of the batch only."""
    total = one.inputs[8][row : row + 1]
    rows = [None if x is None else x[row : row + 1].copy() for x in one.inputs[:5]]
    inputs = [*rows, *one.inputs[5:7], total, total, *one.inputs[9:]]
    return dataclasses.replace(one, inputs=tuple(inputs))


@SYMBOLIC
@pytest.mark.parametrize("one", SPARSE, ids=[one.name for one in SPARSE])
def test_sparse_attention(one, symbolic):
    """Row by row: onnxruntime mixes up the heads of rows that are shorter than others."""
    results = run_every_way(model_of(one, symbolic), feeds_of(one))
    for row, total in enumerate(one.inputs[8]):
        alone = row_of(one, row)
        wanted = by_onnxruntime_in_place(model_of(alone), feeds_of(alone))
        close(results[0][row : row + 1], wanted[0], one.scale)
        # After the new rows, the buffer of onnxruntime keeps what it held.
        for result, right in zip(results[1:], wanted[1:]):
            close(result[row, :, :total], right[0, :, :total])


def test_norms_of_heads():
    """Normalized queries and keys, which onnxruntime has only for GPUs."""
    one = grouped("", steps=3, totals=(7,), norms=True, rotary=8)
    q, k = ((x.reshape(1, 3, -1, H) ** 2).mean(-1, keepdims=True) for x in one.inputs[:2])
    scaled = [
        (x.reshape(1, 3, -1, H) / np.sqrt(square + 1e-6) * weight).reshape(x.shape)
        for x, square, weight in zip(one.inputs[:2], (q, k), one.inputs[14:])
    ]
    other = case("", "GroupQueryAttention", *scaled, *one.inputs[2:9], outputs=3, **one.attributes)
    results, wanted = (run_every_way(model_of(x), feeds_of(x)) for x in (one, other))
    for result, right in zip(results, wanted):
        close(result, right, 4)


def test_head_sink_takes_part_in_the_softmax_only():
    sink = np.full(N, 40, np.float32)
    [result, *_] = run_every_way(*(f(grouped("", sink=sink)) for f in (model_of, feeds_of)))
    assert np.abs(result).max() < 1e-12


MISTAKES = [
    ({"heads": (4, 3)}, "'num_heads' is 4"),
    ({"totals": (6, 7), "past": 3}, "earlier positions are needed, but the past has 3"),
    ({"steps": 5, "totals": (3, 7)}, "-2 positions come before"),
    ({"sliding_window_cache": 1}, "'sliding_window_cache' is not supported"),
    ({"k_quant_type": "PER_TENSOR"}, "quantized caches are not supported"),
    ({"qk_output": 3}, "'qk_output' is 3"),
    ({"causal": 0, "local_window_size": 2}, "must be -1 without 'causal'"),
]


@pytest.mark.parametrize("options, words", MISTAKES)
def test_mistakes_are_errors(options, words):
    one = grouped("", **options)
    with pytest.raises(scanloom.Error, match=words):
        scanloom.InferenceSession(model_of(one).SerializeToString()).run(None, feeds_of(one))


def test_operands_that_do_not_fit():
    one = grouped("")
    given = {"domain": DOMAIN, "opset": 1, **one.attributes}

    refused("GroupQueryAttention", with_input(one, 2, None), "only one of inputs 1 and 2", 3, **given)
    refused("GroupQueryAttention", with_input(one, 4, None), "only one of inputs 3 and 4", 3, **given)
    refused("GroupQueryAttention", with_input(one, 0, randoms(1, 1, 63)), "63 columns", 3, **given)
    refused("GroupQueryAttention", with_input(one, 3, randoms(1, 3, 5, H)), "has 3 heads", 3, **given)
    refused("GroupQueryAttention", with_input(one, 3, randoms(1, 2, 5, 8)), "", 3, **given)
