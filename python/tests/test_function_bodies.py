"""Local functions with attributes that are graphs, and bodies with inputs that are initialisers."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper

import scanloom
from single_node import run_every_way

X = np.array([1, -2], np.float32)
STEPS = np.array(3)
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]


def value(name: str, kind: int = TensorProto.FLOAT, shape: Optional[Sequence[Any]] = (2,)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def taking(node: onnx.NodeProto, **references: str) -> onnx.NodeProto:
    """The node, with graphs that are attributes of the function around it."""
    for name, of in references.items():
        kind = AttributeProto.INT if name == "num_scan_inputs" else AttributeProto.GRAPH
        node.attribute.append(AttributeProto(name=name, ref_attr_name=of, type=kind))
    return node


def function(name: str, inputs: list[str], outputs: list[str], nodes: list[onnx.NodeProto],
             attributes: Sequence[str] = (), defaults: Sequence[AttributeProto] = ()) -> onnx.FunctionProto:  # fmt: skip
    return helper.make_function("local", name, inputs, outputs, nodes, OPSETS, list(attributes), list(defaults))


def call(name: str, inputs: list[str], outputs: list[str], **graphs: onnx.GraphProto) -> onnx.NodeProto:
    return helper.make_node(name, inputs, outputs, domain="local", **graphs)


REPEAT = function("repeat", ["m", "x"], ["y"],
                  [taking(helper.make_node("Loop", ["m", "", "x"], ["y"], name="turns"), body="what")], ["what"])  # fmt: skip


def loop_body(nodes: list[onnx.NodeProto], **numbers: float) -> onnx.GraphProto:
    """v -> w of one step."""
    return helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), *nodes],
        "b",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()), value("v")],
        [value("c2", TensorProto.BOOL, ()), value("w")],
        [helper.make_tensor(name, TensorProto.FLOAT, [1], [number]) for name, number in numbers.items()],
    )


def model(nodes: list[onnx.NodeProto], outputs: Sequence[str], functions: Sequence[onnx.FunctionProto],
          **numbers: float) -> onnx.ModelProto:  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [value("m", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("x")],
        [value(name, shape=None) for name in outputs],
        [helper.make_tensor(name, TensorProto.FLOAT, [1], [number]) for name, number in numbers.items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, functions=list(functions), ir_version=10)


def check(proto: onnx.ModelProto, wanted: Sequence[np.ndarray], go: bool = True) -> None:
    results = run_every_way(proto, {"m": STEPS, "go": np.array(go), "x": X})
    assert len(results) == len(wanted)
    for result, right in zip(results, wanted):
        np.testing.assert_allclose(result, np.asarray(right, np.float32), rtol=1e-6)


def mul(a: str, b: str, out: str) -> onnx.NodeProto:
    return helper.make_node("Mul", [a, b], [out])


def add(a: str, b: str, out: str) -> onnx.NodeProto:
    return helper.make_node("Add", [a, b], [out])


def test_a_body_per_call():
    nodes = [
        call("repeat", ["m", "x"], ["z"], what=loop_body([mul("v", "k", "w")], k=2)),
        call("repeat", ["m", "z"], ["u"], what=loop_body([mul("v", "k", "w")], k=-1)),
    ]
    check(model(nodes, ["z", "u"], [REPEAT]), [X * 8, X * -8])


def test_bodies_read_the_callers_names_where_the_function_has_the_same():
    # x is an input of both, and the function makes a k of its own.
    inner = function(
        "repeat", ["m", "x"], ["y"],
        [helper.make_node("Neg", ["x"], ["k"]), helper.make_node("Neg", ["k"], ["again"]),
         taking(helper.make_node("Loop", ["m", "", "again"], ["y"]), body="what")],
        ["what"],
    )  # fmt: skip
    body = loop_body([add("v", "k", "s"), add("s", "x", "w")])
    proto = model([add("x", "x", "z"), call("repeat", ["m", "z"], ["u"], what=body)], ["u"], [inner], k=10)
    check(proto, [2 * X + 3 * (10 + X)])


def scan_body(**numbers: float) -> onnx.GraphProto:
    return helper.make_graph(
        [mul("h", "k", "part"), add("part", "e", "n"), helper.make_node("Identity", ["n"], ["r"])],
        "b", [value("h", shape=()), value("e", shape=())], [value("n", shape=()), value("r", shape=())],
        [helper.make_tensor(name, TensorProto.FLOAT, [], [number]) for name, number in numbers.items()],
    )  # fmt: skip


def test_a_scan_takes_its_body_and_its_count():
    node = helper.make_node("Scan", ["h0", "xs"], ["last", "rows"])
    fold = function("fold", ["h0", "xs"], ["last", "rows"],
                    [taking(node, body="step", num_scan_inputs="count")], ["step", "count"])  # fmt: skip
    nodes = [
        helper.make_node("Constant", [], ["zero"], value_float=0.0),
        helper.make_node("fold", ["zero", "x"], ["last", "rows"], domain="local", step=scan_body(k=0.5), count=1),
    ]
    check(model(nodes, ["last", "rows"], [fold]), [np.float32(-1.5), [1, -1.5]])


@pytest.mark.parametrize("go", [True, False])
def test_branches(go):
    either = function("either", ["go", "x"], ["y"],
                      [taking(helper.make_node("If", ["go"], ["y"]), then_branch="yes", else_branch="no")],
                      ["yes", "no"])  # fmt: skip
    yes = helper.make_graph([mul("x", "k", "t")], "t", [], [value("t")])
    no = helper.make_graph([add("z", "k", "e")], "e", [], [value("e")])
    nodes = [mul("x", "x", "z"), call("either", ["go", "x"], ["u"], yes=yes, no=no)]
    check(model(nodes, ["u"], [either], k=3), [X * 3 if go else X * X + 3], go)


@pytest.mark.parametrize("go", [True, False])
def test_handed_on_through_functions_loops_and_branches(go):
    """Three functions, each with other names; the innermost call stands in a loop in a branch."""
    inner_loop = helper.make_graph(
        [helper.make_node("Identity", ["cc"], ["cc2"]), taking(call("repeat", ["n", "u"], ["r"]), what="f")],
        "in_loop", [value("j", TensorProto.INT64, ()), value("cc", TensorProto.BOOL, ()), value("u")],
        [value("cc2", TensorProto.BOOL, ()), value("r")],
    )  # fmt: skip
    then = helper.make_graph(
        [helper.make_node("Constant", [], ["two"], value_int=2),
         helper.make_node("Loop", ["two", "", "a"], ["t"], body=inner_loop)],
        "then", [], [value("t")],
    )  # fmt: skip
    otherwise = helper.make_graph([helper.make_node("Neg", ["a"], ["e"])], "else", [], [value("e")])
    middle = function("middle", ["n", "a", "c"], ["b"],
                      [helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=otherwise)], ["f"])  # fmt: skip
    outer = function("outer", ["m", "v", "k"], ["w"], [taking(call("middle", ["m", "v", "k"], ["w"]), f="g")], ["g"])
    nodes = [mul("x", "x", "n"), call("outer", ["m", "x", "go"], ["u"], g=loop_body([add("v", "n", "w")]))]
    check(model(nodes, ["u"], [REPEAT, middle, outer]), [X + 6 * X * X if go else -X], go)


def default(name: str, graph: onnx.GraphProto) -> AttributeProto:
    return helper.make_attribute(name, graph)


def test_default_values():
    """The default reads a name of the function; what the call gives takes its place."""
    repeat = function(
        "repeat", ["m", "x"], ["y"],
        [mul("x", "x", "square"), taking(helper.make_node("Loop", ["m", "", "x"], ["y"]), body="what")],
        defaults=[default("what", loop_body([add("v", "square", "w")]))],
    )  # fmt: skip
    nodes = [
        call("repeat", ["m", "x"], ["a"]),
        call("repeat", ["m", "x"], ["b"], what=loop_body([add("v", "k", "w")])),
    ]
    check(model(nodes, ["a", "b"], [repeat], k=4), [X + 3 * X * X, X + 12])


def test_a_body_with_a_loop_that_captures_the_callers_values():
    inner = helper.make_graph(
        [helper.make_node("Identity", ["c3"], ["c4"]), add("p", "far", "q")], "inner",
        [value("i2", TensorProto.INT64, ()), value("c3", TensorProto.BOOL, ()), value("p")],
        [value("c4", TensorProto.BOOL, ()), value("q")],
    )  # fmt: skip
    body = loop_body([helper.make_node("Loop", ["m", "", "v"], ["w"], body=inner)])
    nodes = [mul("x", "k", "far"), call("repeat", ["m", "x"], ["u"], what=body)]
    check(model(nodes, ["u"], [REPEAT], k=0.5), [X + 9 * X * 0.5])


def test_sequence_map():
    each = function("each", ["s"], ["t"],
                    [taking(helper.make_node("SequenceMap", ["s"], ["t"]), body="what")], ["what"])  # fmt: skip
    body = helper.make_graph([add("e", "x", "r")], "b", [value("e")], [value("r")])
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "z"], ["s"]),
        mul("x", "x", "z"),
        call("each", ["s"], ["t"], what=body),
        helper.make_node("ConcatFromSequence", ["t"], ["u"], axis=0),
    ]
    nodes = [nodes[1], nodes[0], *nodes[2:]]
    check(model(nodes, ["u"], [each]), [np.concatenate([X + X, X * X + X])])


def test_names_of_the_function_are_none_of_the_bodys():
    proto = model([call("repeat", ["m", "x"], ["u"], what=loop_body([add("v", "inside", "w")]))], ["u"],
                  [function("repeat", ["m", "x"], ["y"],
                            [helper.make_node("Neg", ["x"], ["inside"]),
                             taking(helper.make_node("Loop", ["m", "", "x"], ["y"]), body="what")], ["what"])])  # fmt: skip
    with pytest.raises(scanloom.InvalidModel, match="'inside' is made by nothing before it"):
        scanloom.InferenceSession(proto.SerializeToString())
