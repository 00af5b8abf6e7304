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
    """Three functions, each with other names; the innermost call is in a loop in a branch."""
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
    with pytest.raises(scanloom.InvalidModel, match="'inside' is not produced by any node"):
        scanloom.InferenceSession(proto.SerializeToString())


# --- inputs of bodies that are initialisers too ------------------------------------------------


def warned(proto: onnx.ModelProto) -> list[str]:
    return scanloom.InferenceSession(proto.SerializeToString()).warnings()


def with_default(body: onnx.GraphProto, at: int, name: str, number: float) -> onnx.GraphProto:
    infos = [*body.input]
    infos.insert(at, value(name, shape=(1,)))
    del body.input[:]
    body.input.extend(infos)
    body.initializer.append(helper.make_tensor(name, TensorProto.FLOAT, [1], [number]))
    return body


@pytest.mark.parametrize("version", [3, 4, 8, 11])
@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_loop_leaves_a_default_wherever_it_stands(version: int, at: int) -> None:
    body = with_default(loop_body([add("v", "by", "w")]), at, "by", 5)
    proto = model([helper.make_node("Loop", ["m", "", "x"], ["u"], body=body, name="turns")], ["u"], [])
    proto.ir_version = version
    check(proto, [X + 15])
    warnings = warned(proto)
    assert len(warnings) == (0 if version < 4 else 1)
    if warnings:
        assert "'turns' (Loop-16)" in warnings[0] and f"input {at} 'by'" in warnings[0]


@pytest.mark.parametrize("version", [3, 8])
def test_what_is_fed_and_an_initialiser_is_an_error(version: int) -> None:
    body = with_default(loop_body([add("v", "by", "w"), helper.make_node("Identity", ["by"], ["by2"])]), 3, "by", 5)
    body.output.append(value("by2", shape=None))
    proto = model([helper.make_node("Loop", ["m", "", "x", "x"], ["u", "rest"], body=body, name="turns")], ["u"], [])
    proto.ir_version = version
    with pytest.raises(scanloom.InvalidModel) as caught:
        scanloom.InferenceSession(proto.SerializeToString())
    for words in ("'turns' (Loop-16)", "'by'", "3 inputs, but 4 are needed", "initialiser"):
        assert words in str(caught.value)


@pytest.mark.parametrize("opset", [8, 9, 17])
def test_a_scan_with_a_default(opset: int) -> None:
    body = scan_body()
    body.input.insert(1, value("k", shape=()))
    body.initializer.append(helper.make_tensor("k", TensorProto.FLOAT, [], [0.5]))
    batched = opset == 8
    inputs = ["", "h0", "xs"] if batched else ["h0", "xs"]
    shape = [1, 4] if batched else [4]
    graph = helper.make_graph(
        [helper.make_node("Scan", inputs, ["last", "rows"], body=body, num_scan_inputs=1)], "g",
        [value("h0", shape=shape[:-1]), value("xs", shape=shape)], [value("last", shape=None), value("rows", shape=None)],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    xs = np.array([1, 2, 3, 4], np.float32)
    rows, h = [], np.float32(0)
    for x in xs:
        h = h * np.float32(0.5) + x
        rows.append(h)
    feeds = {"h0": np.zeros(shape[:-1], np.float32), "xs": xs.reshape(shape)}
    last, found = run_every_way(proto, feeds)
    np.testing.assert_array_equal(found.ravel(), rows)
    assert last.ravel() == rows[-1]
    (warning,) = warned(proto)
    assert "input 1 'k' of the body" in warning


def test_branches_maps_and_functions_with_defaults() -> None:
    branch = helper.make_graph([add("x", "k", "t")], "t", [value("k", shape=(1,))], [value("t")],
                               [helper.make_tensor("k", TensorProto.FLOAT, [1], [2.0])])  # fmt: skip
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [], [value("e")])
    choose = helper.make_node("If", ["go"], ["y"], then_branch=branch, else_branch=other, name="choice")
    chooser = function("chooser", ["go", "x"], ["y"], [choose])
    nodes = [call("chooser", ["go", "x"], ["a"]), call("chooser", ["go", "a"], ["b"])]
    proto = model(nodes, ["b"], [chooser])
    check(proto, [X + 4])
    (warning,) = warned(proto)
    assert "'choice' (If-16)" in warning and "input 0 'k' of the then_branch" in warning

    each = helper.make_graph([add("e", "k", "r")], "b", [value("e"), value("k", shape=(1,))], [value("r")],
                             [helper.make_tensor("k", TensorProto.FLOAT, [1], [2.0])])  # fmt: skip
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("SequenceMap", ["s"], ["t"], body=each, name="map"),
        helper.make_node("ConcatFromSequence", ["t"], ["u"], axis=0),
    ]
    proto = model(nodes, ["u"], [])
    check(proto, [np.concatenate([X + 2, X + 2])])
    assert "input 1 'k' of the body" in warned(proto)[0]


def test_a_default_of_a_body_that_a_call_hands_in() -> None:
    body = with_default(loop_body([add("v", "by", "w")]), 3, "by", 5)
    proto = model([call("repeat", ["m", "x"], ["u"], what=body)], ["u"], [REPEAT])
    check(proto, [X + 15])
    assert "input 3 'by' of the body" in warned(proto)[0]
