"""NullNode: OpenVINO's reader of ONNX makes it of an empty name, so that operands in the middle may
be left out. It means that the value is absent, wherever it is read."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

try:
    import openvino
except ImportError:
    openvino = None

EXECUTIONS = ["automatic", "interpreted", "compiled"]


def left_out(graph: Graph) -> Port:
    port = graph.add("NullNode", (), 1, None, precision="UNSPECIFIED")
    graph.layers[port.layer].set("version", "extension")
    return port


def runs(graph: Graph, folder: pathlib.Path, feeds: dict[str, np.ndarray], wanted: np.ndarray) -> None:
    path = graph.save(folder)
    assert scanloom.check(path) == ([], [])
    for execution in EXECUTIONS:
        (y,) = scanloom.InferenceSession(path, execution=execution).run(None, feeds)
        np.testing.assert_allclose(y, wanted, rtol=1e-6)


X = np.arange(1, 9, dtype=np.float32).reshape(2, 4)


def test_the_last_operand(tmp_path: pathlib.Path) -> None:
    """It is the same as one that is not there."""
    graph = Graph()
    x = graph.parameter("x", "float32", (2, 4))
    graph.result(graph.add("Squeeze", [graph.add("Unsqueeze", [x, graph.constant([0], "int64")]), left_out(graph)]))
    runs(graph, tmp_path, {"x": X}, X)


def test_an_operand_in_the_middle(tmp_path: pathlib.Path) -> None:
    """ScaledDotProductAttention without a mask, and with a scale."""
    graph = Graph()
    q, k, v = (graph.parameter(name, "float32", (1, 2, 4)) for name in "qkv")
    graph.result(graph.add("ScaledDotProductAttention", [q, k, v, left_out(graph), graph.constant(np.float32(0.5))],
                           version=13, causal=False))  # fmt: skip
    scores = 0.5 * X @ (X + 1).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    wanted = weights / weights.sum(1, keepdims=True) @ (X - 3)
    runs(graph, tmp_path, {"q": X[None], "k": X[None] + 1, "v": X[None] - 3}, wanted[None])


def test_several_operands_left_out(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    q, k, v = (graph.parameter(name, "float32", (1, 2, 4)) for name in "qkv")
    graph.result(graph.add("ScaledDotProductAttention", [q, k, v, left_out(graph), left_out(graph)],
                           version=13, causal=False))  # fmt: skip
    scores = X @ X.T / 2
    weights = np.exp(scores - scores.max(1, keepdims=True))
    wanted = weights / weights.sum(1, keepdims=True) @ X
    runs(graph, tmp_path, {"q": X[None], "k": X[None], "v": X[None]}, wanted[None])


@pytest.mark.parametrize("clamps", [True, False])
def test_into_a_branch(clamps: bool, tmp_path: pathlib.Path) -> None:
    """An If hands an operand that is left out on to either side."""
    graph = Graph()
    choice, x = graph.parameter("choice", "bool", ()), graph.parameter("x", "float32", (1, 2, 4))
    sides = []
    for kind in ("Abs", "Squeeze"):
        side = graph.body()
        value, axes = side.parameter("value", "float32", (1, 2, 4)), side.parameter("axes", "int64", (1,))
        result = side.add("Squeeze", [value, axes if kind == "Squeeze" else side.constant([0], "int64")])
        sides.append((side, [{"kind": "input", "port": 1, "layer": value.layer},
                             {"kind": "input", "port": 2, "layer": axes.layer},
                             {"kind": "output", "port": 0, "layer": side.result(result)}]))  # fmt: skip
    graph.result(graph.branch([choice, x, left_out(graph)], 1, sides))
    runs(graph, tmp_path, {"choice": np.array(clamps), "x": X[None]}, X)


def loop(reads: str) -> Graph:
    """A Loop of m steps that doubles, whose body has a Parameter for which nothing is handed in.
    `reads`: "nothing" of it; the "condition", which it is the state of; an "operand" that may be
    left out; or a "needed" one."""
    graph = Graph()
    m, x, body = graph.parameter("m", "int64", ()), graph.parameter("x", "float32", (2, 4)), graph.body()
    value, extra = body.parameter("value", "float32", (2, 4)), body.parameter("extra", "bool", ())
    body.layers[extra.layer].find("data").set("element_type", "dynamic")
    body.layers[extra.layer].find("data").set("shape", "...")
    doubled = body.add("Add", [value, value])
    if reads == "operand":
        doubled = body.add("Squeeze", [body.add("Unsqueeze", [doubled, body.constant([0], "int64")]), extra])
    elif reads == "needed":
        doubled = body.add("Add", [doubled, extra])
    result = body.result(doubled)
    small = body.add("Less", [body.add("ReduceMax", [doubled, body.constant([0, 1], "int64")]),
                              body.constant(np.float32(100))], precision="BOOL")  # fmt: skip
    going = body.result(body.add("LogicalAnd", [small, extra], precision="BOOL") if reads == "condition" else small)
    edges = [(result, value.layer)] + ([(going, extra.layer)] if reads in ("nothing", "condition") else [])
    graph.result(graph.loop("Loop", body, [m, graph.constant(True), left_out(graph), x], 1, [
        {"kind": "input", "port": 2, "layer": extra.layer},
        {"kind": "input", "port": 3, "layer": value.layer},
        {"kind": "output", "port": 0, "layer": result},
        {"kind": "output", "port": -1, "layer": going, "purpose": "execution_condition"}], edges))  # fmt: skip
    return graph


@pytest.mark.parametrize("reads", ["nothing", "condition", "operand"])
def test_into_a_loop(reads: str, tmp_path: pathlib.Path) -> None:
    for steps, taken in ((0, 0), (2, 2), (9, 4)):
        runs(loop(reads), tmp_path, {"m": np.array(steps), "x": X}, X * 2**taken)


def test_an_operand_that_is_needed(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    graph.result(graph.add("Add", [graph.parameter("x", "float32", (2,)), left_out(graph)]))
    with pytest.raises(scanloom.InvalidModel, match=r"layer \d 'Add_\d' \(Add\): input 1 is omitted, but is needed"):
        scanloom.InferenceSession(graph.save(tmp_path))
    graph = loop("needed")
    with pytest.raises(scanloom.InvalidModel, match=r"\(Add\): input 1 is omitted"):
        scanloom.InferenceSession(graph.save(tmp_path))


def test_a_node_that_nothing_reads(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    left_out(graph)
    graph.result(graph.add("Abs", [graph.parameter("x", "float32", (2, 4))]))
    runs(graph, tmp_path, {"x": -X}, X)


@pytest.mark.skipif(openvino is None, reason="openvino is not installed")
@pytest.mark.parametrize("going", ["Identity(c)", "Constant <value = bool {1}> ()", "Less(last, limit)"])
def test_models_in_memory(going: str) -> None:
    """OpenVINO's reader leaves a NullNode where the condition of ONNX's Loop is left out."""
    from onnx.parser import parse_model

    model = openvino.Core().read_model(parse_model(f"""
        <ir_version: 8, opset_import: ["" : 13]>
        g (int64 m, float start) => (float last, float[N] rows)
        {{
          last, rows = Loop (m, , start) <body = b (int64 i, bool c, float v) => (bool going, float last, float row)
            {{ one = Constant <value_float = 1.0> () limit = Constant <value_float = 100.0> ()
               last = Add (v, one) row = Identity (v) going = {going} }}>
        }}
    """).SerializeToString())
    feeds = {"m": np.array(3), "start": np.array(2, np.float32)}
    for execution in EXECUTIONS:
        found = scanloom.InferenceSession(model, execution=execution).run(["last", "rows"], feeds)
        assert [y.tolist() for y in found] == [5, [2, 3, 4]]
