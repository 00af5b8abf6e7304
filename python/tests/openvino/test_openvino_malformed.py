"""IRs that say too little, or what cannot be: OpenVINO refuses them or warns, and so does Scanloom,
at loading where the file alone tells, at the run where a feed does."""

from __future__ import annotations

import pathlib
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

WINDOW = {"axis": 0, "start": 0, "end": -1, "stride": 1, "part_size": 1}
Make = Callable[[], Graph]


def data(graph: Graph, layer: int, **changes: Any) -> Graph:
    """Attributes of a layer's data set otherwise; None takes one away."""
    attributes = graph.layers[layer].find("data").attrib
    for name, value in changes.items():
        attributes.pop(name, None)
        if value is not None:
            attributes[name] = str(value)
    return graph


def port(graph: Graph, layer: int, precision: str | None) -> Graph:
    element = graph.layers[layer].find("output").find("port")
    element.attrib.pop("precision")
    if precision is not None:
        element.set("precision", precision)
    return graph


def sum_of(shape: Any = (2,), value: Any = (1.0, 1.0), dtype: str = "float32") -> Graph:
    """x + value: layers x, Const_1, Add_2."""
    graph = Graph()
    x = graph.parameter("x", dtype, shape)
    graph.result(graph.add("Add", [x, graph.constant(value, dtype)]))
    return graph


def absolute(shape: Any) -> Graph:
    graph = Graph()
    graph.result(graph.add("Abs", [graph.parameter("x", "float32", shape)]))
    return graph


def iterator(size: int = 6, rows: dict[str, Any] | None = None, kind: str = "TensorIterator", **entry: Any) -> Graph:
    """Over `size` rows of two, each doubled; `entry` and `rows` are of the input and the output."""
    graph = Graph()
    x, body = graph.parameter("x", "float32", [size, 2]), graph.body()
    row = body.parameter("row", "float32", [-1, 2])
    result = body.result(body.add("Add", [row, row]))
    inputs = [x] if kind == "TensorIterator" else [graph.constant(size, "int64"), graph.constant(True), x]
    port_map = [{"kind": "input", "port": len(inputs) - 1, "layer": row.layer, **WINDOW, **entry},
                {"kind": "output", "port": 0, "layer": result, **WINDOW, **(rows or {})}]  # fmt: skip
    if kind == "Loop":
        port_map.append({"kind": "output", "port": -1, "layer": body.result(body.constant(True)),
                         "purpose": "execution_condition"})  # fmt: skip
    graph.result(graph.loop(kind, body, inputs, 1, port_map))
    return graph


def counting(counter: str | None = None, shape: Any = (), entries: Any = ()) -> Graph:
    """A Loop of five steps that adds 1 to h, or the number of the step, of that type. `entries` are
    further ones, for the state and for the condition."""
    graph = Graph()
    h, body = graph.parameter("h", "float32", [1]), graph.body()
    state = body.parameter("state", "float32", [1])
    amount, port_map = body.constant([1.0], "float32"), []
    if counter is not None:
        step = body.parameter("step", counter, shape)
        amount = body.add("Convert", [step], destination_type="f32")
        port_map.append({"kind": "input", "port": -1, "layer": step.layer, "purpose": "current_iteration"})
    result = body.result(body.add("Add", [state, amount]))
    going = body.result(body.constant(True))
    if not entries:
        port_map.append({"kind": "output", "port": -1, "layer": going, "purpose": "execution_condition"})
    for entry in entries:
        port_map.append({"layer": state.layer if entry["kind"] == "input" else going, **entry})
    graph.result(graph.loop("Loop", body, [graph.constant(5, "int64"), graph.constant(True), h], 1, [
        {"kind": "input", "port": 2, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": result}, *port_map], [(result, state.layer)]))  # fmt: skip
    return graph


def assigning(version: int, in_body: bool = False) -> Graph:
    graph = Graph()
    x = graph.parameter("x", "float32", [-1, 2])
    if not in_body:
        graph.add("Assign", [x], version=version, variable_id="v")
        graph.result(graph.add("Abs", [x]))
        return graph
    body = graph.body()
    row = body.parameter("row", "float32", [1, 2])
    body.add("Assign", [row], version=version, variable_id="v")
    rows = body.result(body.add("Abs", [row]))
    graph.result(graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
    return graph


def attribute(graph: Graph, layer: int, name: str, value: str | None) -> Graph:
    graph.layers[layer].attrib.pop(name)
    if value is not None:
        graph.layers[layer].set(name, value)
    return graph


class WithoutFromPort(Graph):
    """Its first edge says only which layer it leaves."""

    def write(self, parent: ElementTree.Element) -> None:
        super().write(parent)
        parent.find("edges")[0].attrib.pop("from-port")


def edges_from_nowhere() -> Graph:
    graph = WithoutFromPort()
    x = graph.parameter("x", "float32", [2])
    graph.result(graph.add("Add", [x, graph.constant([1.0, 1.0], "float32")]))
    return graph


def body_parameter_without_data() -> Graph:
    graph = iterator()
    row = next(layer for layer in graph.layers[1].iter("layer") if layer.get("name") == "row")
    row.remove(row.find("data"))
    return graph


def last_port(graph: Graph, precision: str | None) -> Graph:
    return port(graph, 2, precision)


REFUSED: dict[str, tuple[Make, str]] = {
    "constant without offset": (lambda: data(sum_of(), 1, offset=None), "Const_1.*attribute 'offset' is missing"),
    "constant without size": (lambda: data(sum_of(), 1, size=None), "Const_1.*attribute 'size' is missing"),
    "constant without both": (lambda: data(sum_of(), 1, size=None, offset=None), "Const_1.*'offset' is missing"),
    "constant whose port does not say its type either": (
        lambda: port(data(sum_of(), 1, element_type=None), 1, "UNSPECIFIED"), "Const_1.*unknown element type 'UNSPECIFIED'"),
    "constant that ends beyond the file": (
        lambda: data(sum_of(), 1, size=16), r"Const_1.*its 16 bytes begin at byte 0 of 'model.bin', which has 8 bytes"),
    "size of all bits": (
        lambda: data(sum_of(), 1, size=2**64 - 1),
        "Const_1.*its 18446744073709551615 bytes begin at byte 0 of 'model.bin', which has 8 bytes"),
    "size of 63 bits": (
        lambda: data(sum_of(), 1, size=2**63 - 1), "Const_1.*its 9223372036854775807 bytes begin at byte 0 of"),
    "offset of all bits": (
        lambda: data(sum_of(), 1, offset=2**64 - 1), "its 8 bytes begin at byte 18446744073709551615 of"),
    "size beyond 64 bits": (lambda: data(sum_of(), 1, size=2**64), "attribute 'size' is 18446744073709551616"),
    "offset and size beyond 64 bits": (
        lambda: data(sum_of(), 1, offset=2**63 - 1, size=2**63 - 1),
        "its 9223372036854775807 bytes begin at byte 9223372036854775807 of 'model.bin'"),
    "negative size": (lambda: data(sum_of(), 1, size=-8), "Const_1.*attribute 'size' is -8, but a number of bytes must be at least 0"),
    "constant of text without size": (
        lambda: data(sum_of(), 1, element_type="string", size=None), "Const_1.*attribute 'size' is missing"),
    "port without precision": (
        lambda: last_port(sum_of(), None), r"Add_2.*output port 2 has no attribute 'precision'.*<port> at line 2"),
    "Parameter's port without precision": (
        lambda: port(sum_of(), 0, None), "'x'.*output port 0 has no attribute 'precision'"),
    "constant's port without precision": (
        lambda: port(sum_of(), 1, None), "Const_1.*output port 0 has no attribute 'precision'"),
    **{f"port of precision {word!r}": (
        lambda word=word: last_port(sum_of(), word),
        rf"Add_2.*output port 2 has precision '{re.escape(word)}', which is not an element type: write one such as FP32")
       for word in ("abc", "7", "..", "FP32x", " FP32")},
    "Parameter's port of such a precision": (
        lambda: port(sum_of(), 0, "abc"), "'x'.*output port 0 has precision 'abc'"),
    **{f"{kind} without {name}": (
        lambda layer=layer, name=name: attribute(sum_of(), layer, name, None),
        rf"layer .*\({kind}\).*: attribute '{name}' is missing.*<layer> at line 2")
       for layer, kind in enumerate(("Parameter", "Const", "Add", "Result")) for name in ("name", "version")},
    **{f"{kind} of the operation set {version!r}": (
        lambda layer=layer, version=version: attribute(sum_of(), layer, "version", version),
        rf"layer {layer} .*\({kind}\): its operation set is '{version}', not one of opset1 to opset16")
       for layer, kind in enumerate(("Parameter", "Const", "Add", "Result"))
       for version in ("abc", "", "1", "opset0", "opset99")},
    "edge without from-port": (
        edges_from_nowhere, r"the edge from layer '0' to layer '2': attribute 'from-port' is missing"),
    "body's Parameter without data": (
        body_parameter_without_data, r"layer 'row' \(Parameter\): it has no <data> with .* no sizes either"),
    "Parameter without element type": (
        lambda: data(sum_of(), 0, element_type=None), "'x'.*attribute 'element_type' is missing"),
    "Parameter of a dynamic type": (
        lambda: data(sum_of(), 0, element_type="dynamic"), "'element_type' is 'dynamic', the element type must be known"),
    "interval the wrong way round": (
        lambda: absolute(["8..2"]), r"'x'.*'shape' is '8..2', in which '8..2' begins above its end"),
    "such an interval of a later axis": (
        lambda: absolute([1, "1..", "3..1"]), r"in which '3..1' begins above its end"),
    "such an interval in a body": (
        lambda: in_body_declares("5..4"), r"'row'.*in which '5..4' begins above its end"),
    "part_size above the axis": (
        lambda: iterator(part_size=7, stride=7), r"port_map input 0: part_size is 7, more than the 6 elements"),
    "part_size above a window": (
        lambda: iterator(start=1, end=3, part_size=4), "part_size is 4, more than the 3 elements from 1 to 3"),
    "part_size above a window of any axis": (
        lambda: iterator(-1, start=1, end=3, part_size=4), "part_size is 4, more than the 3 elements from 1 to 3"),
    "part_size above a reverse window": (
        lambda: iterator(start=-2, end=-4, stride=-1, part_size=5), "part_size is 5, more than the 3 elements"),
    "part_size of a Loop": (
        lambda: iterator(kind="Loop", part_size=7), r"part_size is 7, more than the 6 elements"),
    "part_size of an output": (
        lambda: iterator(rows={"part_size": 2}), "output port 1: part_size is 2, each step makes 1 along axis 0"),
    "part_size of an output, too small": (
        lambda: iterator(part_size=2, stride=2, rows={"part_size": 1}), "part_size is 1, each step makes 2"),
    "part_size 0 of an output": (
        lambda: iterator(rows={"part_size": 0}), "port_map output 1?0?: part_size is 0, but must be at least 1"),
    "output stride 0": (lambda: iterator(rows={"stride": 0}), "port_map output 0: stride is 0"),
    "output stride 0 of a Loop": (
        lambda: iterator(kind="Loop", rows={"stride": 0}), "port_map output 0: stride is 0"),
    "output port -1 without purpose": (
        lambda: counting(entries=[{"kind": "output", "port": -1}]),
        "port_map output 1: external_port_id is -1 without a purpose, but execution_condition"),
    "input port -1 without purpose": (
        lambda: counting(entries=[{"kind": "input", "port": -1}]),
        "port_map input 1: external_port_id is -1 without a purpose, but current_iteration"),
    "output port -1 with an input's purpose": (
        lambda: counting(entries=[{"kind": "output", "port": -1, "purpose": "current_iteration"}]),
        "purpose is 'current_iteration', but execution_condition is the one of outputs"),
    "Assign-6 without ReadValue": (
        lambda: assigning(6), r"\(Assign\): variable 'v' is assigned, but no ReadValue reads it"),
    "Assign-3 without ReadValue": (lambda: assigning(3), "variable 'v' is assigned, but no ReadValue reads it"),
    "Assign without ReadValue in a body": (
        lambda: assigning(6, in_body=True), "variable 'v' is assigned, but no ReadValue reads it"),
    **{f"current iteration of {dtype}": (
        lambda dtype=dtype: counting(dtype), rf"'step'.*the current iteration, declares {word}, but i64 or i32 is needed")
       for dtype, word in (("float32", "f32"), ("float64", "f64"), ("bool", "boolean"), ("uint8", "u8"))},
    "current iteration of two elements": (
        lambda: counting("int64", [2]), r"'step'.*declares i64\[2\], but one element is needed"),
    "current iteration of two axes": (
        lambda: counting("int32", [1, 1]), r"declares i32\[1,1\], but one element is needed"),
}  # fmt: skip


def in_body_declares(shape: str) -> Graph:
    graph = Graph()
    x, body = graph.parameter("x", "float32", [6, 2]), graph.body()
    row = body.parameter("row", "float32", [shape, 2])
    result = body.result(body.add("Add", [row, row]))
    graph.result(graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": result, **WINDOW}]))  # fmt: skip
    return graph


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: pathlib.Path) -> None:
    make, words = REFUSED[name]
    path = make().save(tmp_path)
    with pytest.raises(scanloom.Error, match=f"(?s){words}"):
        scanloom.InferenceSession(path)
    report = scanloom.check(path)
    assert len(report.errors) == 1 and not report.ok


WARNED: dict[str, tuple[Make, str, Any, Any]] = {
    "constant without element type": (
        lambda: data(sum_of(), 1, element_type=None),
        "Const_1.*attribute 'element_type' is missing, so that of its port is used", [1, 1], [2, 2]),
    "constant without shape": (
        lambda: data(sum_of(value=1.0), 1, shape=None),
        "Const_1.*attribute 'shape' is missing, so that of its port is used", [1, 1], [2, 2]),
    "constant with more bytes than it needs": (
        lambda: data(sum_of(value=(1.0, 2.0, 3.0)), 1, shape="2"),
        "Const_1.*its weights have 12 bytes, but f32 of sizes [2] need 8: the rest is ignored", [1, 1], [2, 3]),
    "Parameter without shape": (
        lambda: data(sum_of(), 0, shape=None), "'x'.*attribute 'shape' is missing", 1, [2, 2]),
    "part_size of an output of a Loop": (
        lambda: iterator(kind="Loop", rows={"part_size": 2}),
        "output port 3: part_size is 2, each step makes 1 along axis 0, which is used",
        np.ones((6, 2)), np.full((6, 2), 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNED)
def test_warned_of(name: str, tmp_path: pathlib.Path) -> None:
    make, words, x, wanted = WARNED[name]
    path = make().save(tmp_path)
    (warning,) = scanloom.check(path).warnings
    for part in words.split(".*"):
        assert part in warning, warning
    (y,) = scanloom.InferenceSession(path).run(None, {"x": np.array(x, np.float32)})
    np.testing.assert_array_equal(y, np.array(wanted, np.float32))


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_number_of_the_step(dtype: str, shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(counting(dtype, shape).save(tmp_path))
    assert session.run(None, {"h": np.zeros(1, np.float32)})[0].tolist() == [0 + 1 + 2 + 3 + 4]


INTERVALS = {"2..4": (2, 4), "..3": (0, 3), "2..": (2, 9), "3..3": (3, 3), "0..0": (0, 0)}


@pytest.mark.parametrize("text", INTERVALS)
@pytest.mark.parametrize("axis", [0, 1])
def test_feeds_stay_in_declared_intervals(text: str, axis: int, tmp_path: pathlib.Path) -> None:
    low, high = INTERVALS[text]
    path = absolute([text, 2] if axis == 0 else [2, text]).save(tmp_path)
    for execution in ("automatic", "interpreted", "compiled"):
        session = scanloom.InferenceSession(path, execution=execution)
        for size in range(10):
            x = np.full((size, 2) if axis == 0 else (2, size), -1, np.float32)
            if low <= size <= high:
                assert session.run(None, {"x": x})[0].tolist() == np.abs(x).tolist()
                continue
            declared = f"{low} or more" if text.endswith("..") else f"{low} to {high}"
            words = rf"feed 'x' has sizes .*: axis {axis} has {size} elements?, the model declares {declared}$"
            with pytest.raises(scanloom.InvalidArgument, match=words):
                session.run(None, {"x": x})


def test_intervals_hold_for_every_input_and_stream(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    a, b = graph.parameter("a", "float32", ["1..2"]), graph.parameter("b", "float32", ["?", "2..3"])
    graph.result(graph.add("Add", [a, b]))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    good = {"a": np.ones(2, np.float32), "b": np.ones((5, 2), np.float32)}
    assert session.run(None, good)[0].shape == (5, 2)
    for name, shape in (("a", 3), ("b", (5, 4)), ("b", (0, 1))):
        with pytest.raises(scanloom.InvalidArgument, match=f"feed '{name}'"):
            session.run(None, {**good, name: np.ones(shape, np.float32)})


def test_a_window_that_a_feed_is_too_short_for(tmp_path: pathlib.Path) -> None:
    """From the second element to the last but one, in slices of three: five are the least."""
    session = scanloom.InferenceSession(iterator(-1, start=1, end=-2, part_size=3, rows={"part_size": 3}).save(tmp_path))
    for size in (5, 6, 7):
        x = np.arange(2.0 * size, dtype=np.float32).reshape(size, 2)
        wanted = np.concatenate([2 * x[i : i + 3] for i in range(1, size - 3)])
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], wanted)
    for size in (1, 2, 3, 4):
        with pytest.raises(scanloom.Error, match=f"axis 0 has {size} elements, a window from 1 to -2 needs 5"):
            session.run(None, {"x": np.zeros((size, 2), np.float32)})


def test_ports_may_leave_their_type_open(tmp_path: pathlib.Path) -> None:
    """OpenVINO writes such types itself; the type of the layer applies."""
    for word in ("UNSPECIFIED", "dynamic", "undefined"):
        session = scanloom.InferenceSession(last_port(sum_of(), word).save(tmp_path))
        assert session.run(None, {"x": np.ones(2, np.float32)})[0].tolist() == [2, 2]


@pytest.mark.parametrize("version", [1, 3])
def test_shape_of_without_output_type(version: int, tmp_path: pathlib.Path) -> None:
    """ShapeOf-1 has none, and that of ShapeOf-3 has a default, i64, by its specification."""
    graph = Graph()
    graph.result(graph.add("ShapeOf", [graph.parameter("x", "float32", [2, -1])], version=version, precision="I64"))
    (sizes,) = scanloom.InferenceSession(graph.save(tmp_path)).run(None, {"x": np.zeros((2, 3), np.float32)})
    assert sizes.dtype == np.int64 and sizes.tolist() == [2, 3]


def test_reading_by_port_stays_possible(tmp_path: pathlib.Path) -> None:
    """A Result has no output, and input ports need no precision."""
    graph = Graph()
    graph.result(Port(graph.parameter("x", "float32", [1]).layer))
    assert scanloom.check(graph.save(tmp_path)).ok
