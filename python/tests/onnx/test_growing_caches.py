"""Decoders whose cache grows by a position per run: every run has other sizes, and takes over from
the run before what they leave the same."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import scanloom

HEADS, SIZE, WIDTH = 2, 4, 8


def decoder():
    """A causal layer over a past of keys and values, with sizes computed from shapes, and a
    cube, as in the usual approximation of Gelu."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((WIDTH, 3 * WIDTH)).astype(np.float32) / 3,
        "scale": np.float32(0.5),
        "three": np.float32(3),
        "none": np.int64(0),
        "one": np.int64(1),
        "axis": np.array([1], np.int64),
        "heads": np.array([0, 0, HEADS, SIZE], np.int64),
        "joined": np.array([0, 0, WIDTH], np.int64),
        "low": np.float32(-1e9),
        "zero": np.float32(0),
    }
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["all"]),
             node("Split", ["all"], list("qkv"), axis=2, num_outputs=3)]
    for name in "qkv":
        nodes += [node("Reshape", [name, "heads"], [name + "4"]),
                  node("Transpose", [name + "4"], [name + "h"], perm=[0, 2, 1, 3])]
    nodes += [
        node("Concat", ["past_k", "kh"], ["keys"], axis=2),
        node("Concat", ["past_v", "vh"], ["values"], axis=2),
        node("Transpose", ["keys"], ["turned"], perm=[0, 1, 3, 2]),
        node("MatMul", ["qh", "turned"], ["raw"]),
        node("Mul", ["raw", "scale"], ["scaled"]),
        node("Shape", ["keys"], ["key_sizes"]),
        node("Shape", ["x"], ["x_sizes"]),
        node("Gather", ["key_sizes", "two"], ["total"]),
        node("Gather", ["x_sizes", "one"], ["new"]),
        node("Sub", ["total", "new"], ["past"]),
        node("Range", ["none", "total", "one"], ["columns"]),
        node("Range", ["past", "total", "one"], ["rows"]),
        node("Unsqueeze", ["rows", "axis"], ["row"]),
        node("LessOrEqual", ["columns", "row"], ["seen"]),
        node("Where", ["seen", "zero", "low"], ["mask"]),
        node("Add", ["scaled", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["soft"], axis=-1),
        node("MatMul", ["soft", "values"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "joined"], ["flat"]),
        node("Pow", ["flat", "three"], ["cube"]),
        node("Add", ["cube", "x"], ["y"]),
    ]
    weights["two"] = np.int64(2)
    value = helper.make_tensor_value_info
    cache = ["batch", HEADS, "past", SIZE]
    graph = helper.make_graph(
        nodes, "decoder",
        [value("x", TensorProto.FLOAT, ["batch", "new", WIDTH]),
         value("past_k", TensorProto.FLOAT, cache), value("past_v", TensorProto.FLOAT, cache)],
        [value(name, TensorProto.FLOAT, None) for name in ("y", "keys", "values")],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model.SerializeToString(), weights["w"]


def expected(w, x, past_k, past_v):
    batch, new, _ = x.shape
    q, k, v = (part.reshape(batch, new, HEADS, SIZE).transpose(0, 2, 1, 3)
               for part in np.split(x.astype(np.float64) @ w, 3, axis=2))
    keys, values = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    scores = q @ keys.transpose(0, 1, 3, 2) / 2
    seen = np.arange(keys.shape[2]) <= np.arange(past_k.shape[2], keys.shape[2])[:, None]
    scores = np.exp(np.where(seen, scores, -np.inf) - scores.max())
    mixed = (scores / scores.sum(-1, keepdims=True)) @ values
    return mixed.transpose(0, 2, 1, 3).reshape(x.shape) ** 3 + x, keys, values


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_of_ever_new_sizes(threads):
    model, w = decoder()
    session = scanloom.InferenceSession(model, threads=threads)
    rng = np.random.default_rng(1)

    def normal(*sizes):
        return rng.standard_normal(sizes).astype(np.float32)

    # A prompt, steps, another batch, steps over an empty cache, a size from before.
    sizes = [(1, 7, 0), *((1, 1, 7 + i) for i in range(40)), (3, 2, 5), (3, 1, 7), (2, 1, 0),
             (1, 1, 9), (1, 7, 0)]
    for batch, new, past in sizes:
        feeds = {"x": normal(batch, new, WIDTH), "past_k": normal(batch, HEADS, past, SIZE),
                 "past_v": normal(batch, HEADS, past, SIZE)}
        found = session.run(None, feeds)
        fresh = scanloom.InferenceSession(model, threads=threads).run(None, feeds)
        plain = scanloom.InferenceSession(model, execution="interpreted").run(None, feeds)
        for a, b, c, d in zip(found, fresh, plain, expected(w, *feeds.values()), strict=True):
            np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))
            np.testing.assert_array_equal(a.view(np.uint32), c.view(np.uint32))
            np.testing.assert_allclose(a, d, rtol=2e-5, atol=2e-6)
