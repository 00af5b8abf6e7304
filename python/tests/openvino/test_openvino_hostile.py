"""Malformed and hostile IRs: each is an error that names the layer and the numbers, and nothing is
lost, hung or crashed."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

CASES: dict[str, tuple[Callable[[], tuple[bytes, bytes | None]], str]] = {}


def case(pattern: str, name: str | None = None):
    """A function that makes XML, or a graph, or both XML and weights."""

    def register(make):
        def made() -> tuple[bytes, bytes | None]:
            found = make()
            if isinstance(found, Graph):
                return found.xml(), bytes(found.weights)
            return found if isinstance(found, tuple) else (found, b"")

        CASES[name or make.__name__] = (made, pattern)
        return make

    return register


def identity_of(graph: Graph, port: Port) -> Graph:
    graph.result(port)
    return graph


def simple() -> Graph:
    """y = x + 1."""
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    return identity_of(graph, graph.add("Add", [x, graph.constant([1, 1], "float32")]))


def counting_loop(outputs, inputs=()) -> Graph:
    """A Loop that counts to 5, with further entries: None is the body's Parameter or condition."""
    graph = Graph()
    h, body = graph.parameter("h", "float32", [1]), graph.body()
    state = body.parameter("state", "float32", [1])
    after = body.add("Add", [state, body.constant([1], "float32")])
    result = body.result(after)
    going = body.result(body.add("Less", [after, body.constant([3], "float32")]))
    further = [{**entry, "layer": state.layer} for entry in inputs]
    further += [{**entry, "layer": going} for entry in outputs]
    count = 1 + sum(entry["port"] >= 0 for entry in outputs)
    port = graph.loop("Loop", body, [graph.constant(5, "int64"), graph.constant(True), h], count, [
        {"kind": "input", "port": 2, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": result}, *further], [(result, state.layer)])  # fmt: skip
    graph.result(port)
    if count > 1:
        graph.result(Port(port.layer, 1))
    return graph


def iterator(size: int = 6, back_edges=None, outputs: int = 1, **entry) -> Graph:
    """A TensorIterator over `size` rows of two, whose sliced entry is as given."""
    graph = Graph()
    x, h = graph.parameter("x", "float32", [size, 2]), graph.parameter("h", "float32", [1, 2])
    body = graph.body()
    row, state = body.parameter("row", "float32", [-1, 2]), body.parameter("state", "float32", [1, 2])
    result = body.result(body.add("Add", [row, state]))
    port = graph.loop("TensorIterator", body, [x, h], outputs, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0, **entry},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": result}],
        [(result, state.layer)] if back_edges is None else back_edges)  # fmt: skip
    return identity_of(graph, port)


def edited(graph: Graph, *pairs: tuple[str, str]) -> tuple[bytes, bytes]:
    """The XML with texts replaced, each once."""
    text = graph.xml().decode()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text.encode(), bytes(graph.weights)


# The XML itself.

for name, text in {
    "no_xml": "<", "cut": "<net name='x' version='11'><layers>", "two_roots": "<net/><net/>",
    "unclosed_attribute": "<net name='x", "closing_another": "<net></layers>",
}.items():  # fmt: skip
    case(r"XML|not 'net'|version|layers", name)(lambda text=text: text.encode())


@case("holds 'graph', not 'net'")
def another_root():
    return b"<graph></graph>"


@case("web page")
def a_web_page():
    return b"<html></html>"


@case("document type declaration")
def entity_expansion():
    return (b"<!DOCTYPE net [<!ENTITY a 'aaaaaaaaaa'>" +
            b"".join(b"<!ENTITY %c '%s'>" % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(20)) +
            b"]><net name='&u;' version='11'><layers/></net>")  # fmt: skip


@case("document type declaration")
def external_entity():
    return (b"<!DOCTYPE net [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
            b"<net name='&a;' version='11'><layers/></net>")  # fmt: skip


@case("attribute 'version' is missing")
def no_version():
    return b"<net name='x'><layers/></net>"


@case("has version 7, but only versions 10 and 11")
def old_version():
    return b"<net name='x' version='7'><layers/></net>"


@case("is 99999999999999999999, which needs more than 64 bits")
def version_beyond_64_bits():
    return b"<net name='x' version='99999999999999999999'><layers/></net>"


@case("has no 'layers'")
def no_layers():
    return b"<net name='x' version='11'/>"


@case("has no Result")
def no_result():
    return b"<net name='x' version='11'><layers/></net>"


@case("XML|nested|no 'layers'")
def nested_elements():
    return b"<net name='x' version='11'>" + b"<a>" * 200_000


@case("nested deeper than 64")
def nested_bodies():
    text = "<net name='x' version='11'>"
    for depth in range(100):
        text += f"<layers><layer id='{depth}' name='' type='TensorIterator' version='opset1'><body>"
    text += "<layers/>" + "</body></layer></layers>" * 100 + "</net>"
    return text.encode()


# Layers and edges.


@case(r"layer 'x' \(Parameter\): attribute 'id' is missing")
def layer_without_id():
    return edited(simple(), ('layer id="0"', "layer"))


@case("is 'zero', but an integer")
def layer_id_no_number():
    return edited(simple(), ('layer id="0"', 'layer id="zero"'))


@case("no attribute 'type'")
def layer_without_type():
    return edited(simple(), ('type="Add"', ""))


@case("layer 0 'Const_1'.* has the same id as layer 0 'x'")
def layer_id_twice():
    return edited(simple(), ('layer id="1"', 'layer id="0"'))


@case(r"1 operation cannot be read: Frobnicate \(layer 2 'Add_2'\)")
def unknown_operation():
    return edited(simple(), ('type="Add"', 'type="Frobnicate"'))


@case(r"1 operation cannot be read: Frobnicate \(layer 1 'Frobnicate_1', layer 2 .*, layer 5 'Frobnicate_5' and 2 more\)")
def many_unknown_operations():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    for _ in range(7):
        x = graph.add("Frobnicate", [x])
    return identity_of(graph, x)


@case(r"layer 2 'Add_2' \(Add\): its operation set is 'opsetX'")
def unknown_opset():
    return edited(simple(), ('type="Add" version="opset1"', 'type="Add" version="opsetX"'))


@case(r"layer 2 'Add_2' \(Add\): its operation set is 'opset-3'")
def negative_opset():
    return edited(simple(), ('type="Add" version="opset1"', 'type="Add" version="opset-3"'))


@case(r"If was added in opset8, but the layer is of opset1")
def operation_newer_than_its_opset():
    return edited(simple(), ('type="Add"', 'type="If"'))


@case(r"edge from layer 0 to layer 9 enters a layer that does not exist")
def edge_to_nowhere():
    return edited(simple(), ('to-layer="2"', 'to-layer="9"'))


@case(r"edge from layer 9 to layer 2 leaves a layer that does not exist")
def edge_from_nowhere():
    return edited(simple(), ('from-layer="0"', 'from-layer="9"'))


@case(r"layer 0 'x' \(Parameter\) has no output port 7: it has 0")
def edge_from_no_port():
    return edited(simple(), ('from-port="0"', 'from-port="7"'))


@case(r"layer 2 'Add_2' \(Add\) has no input port 7: it has 0, 1")
def edge_to_no_port():
    return edited(simple(), ('to-port="0"', 'to-port="7"'))


@case(r"two edges lead to input port 0 of layer 2 'Add_2' \(Add\), from layers 0 and 1")
def two_edges_to_a_port():
    return edited(simple(), ('to-layer="2" to-port="1"', 'to-layer="2" to-port="0"'))


@case(r"input 1 is missing: no edge leads to it")
def missing_edge():
    graph = Graph()
    return identity_of(graph, graph.add("Add", [graph.parameter("x", "float32", [2]), None]))


@case(r"the edge from layer '0' to layer '2': attribute 'to-port' is 'none', but an integer is needed")
def edge_to_no_number():
    return edited(simple(), ('to-port="0"', 'to-port="none"'))


@case(r"attribute 'to-port' is 99999999999999999999, which needs more than 64 bits")
def edge_to_a_large_number():
    return edited(simple(), ('to-port="0"', 'to-port="99999999999999999999"'))


@case(r"layers read each other in a cycle, among them layer 2 'Add_2' \(Add\)$")
def cycle_of_one():
    return edited(simple(), ('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"'))


@case(r"cycle, among them layer \d+ 'Add_\d+'")
def cycle_of_many():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    for _ in range(1000):
        x = graph.add("Add", [x, x])
    return edited(identity_of(graph, x), ('from-layer="0" from-port="0"', 'from-layer="900" from-port="2"'))


@case(r"it has 1 inputs, but Add takes 2")
def too_few_inputs():
    graph = Graph()
    return identity_of(graph, graph.add("Add", [graph.parameter("x", "float32", [2])]))


@case(r"layer 1 'Result_1' \(Result\): no edge leads to it")
def result_of_nothing():
    graph = Graph()
    graph.parameter("x", "float32", [2])
    graph.add("Result", [None], 0)
    return graph


@case(r"'x' also belongs to another Parameter")
def name_twice():
    graph = Graph()
    x, y = graph.parameter("x", "float32", [2]), graph.parameter("x", "float32", [2])
    return identity_of(graph, graph.add("Add", [x, y]))


@case(r"unknown element type 'f33'")
def unknown_element_type():
    return edited(simple(), ('element_type="f32"', 'element_type="f33"'))


@case(r"attribute 'shape' is '2,x', in which 'x' is not a size")
def shape_no_number():
    return edited(simple(), ('shape="2"', 'shape="2,x"'))


@case(r"attribute 'shape' is '-7', in which '-7' is not a size")
def shape_negative():
    return edited(simple(), ('shape="2"', 'shape="-7"'))


@case(r"axes")
def shape_of_many_axes():
    return edited(simple(), ('shape="2"', f'shape="{",".join(["1"] * 5000)}"'))


@case(r"sizes|broadcast|elements")
def sizes_that_do_not_fit():
    graph = Graph()
    x, y = graph.parameter("x", "float32", [2]), graph.parameter("y", "float32", [3])
    return identity_of(graph, graph.add("Add", [x, y]))


@case(r"float32.*int64|f32.*i64")
def element_types_that_do_not_fit():
    graph = Graph()
    x, y = graph.parameter("x", "float32", [2]), graph.parameter("y", "int64", [2])
    return identity_of(graph, graph.add("Add", [x, y]))


@case(r"attribute 'auto_broadcast' is 'sometimes', but must be one of")
def unknown_broadcast():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    return identity_of(graph, graph.add("Add", [x, x], auto_broadcast="sometimes"))


# Weights.


@case(r"its 8 bytes begin at byte 8 of 'model.bin', which has 8 bytes")
def weights_past_the_end():
    return edited(simple(), ('offset="0"', 'offset="8"'))


@case(r"its \d+ bytes begin at byte \d+ of 'model.bin', which has 8 bytes")
def weights_offset_huge():
    return edited(simple(), ('offset="0"', 'offset="9223372036854775800"'))


@case(r"attribute .offset. is -8, but a number of bytes must be at least 0")
def weights_offset_negative():
    return edited(simple(), ('offset="0"', 'offset="-8"'))


@case(r"weights have 4 bytes, but f32 of sizes \[2\] need 8")
def weights_too_few():
    return edited(simple(), ('size="8"', 'size="4"'))


@case(r"elements|bytes")
def weights_of_too_many_elements():
    return edited(simple(), ('shape="2" offset="0"', 'shape="4294967296,4294967296" offset="0"'))


@case(r"needs 8 bytes of weights, but there is no weights file")
def no_weights():
    return simple().xml(), None


@case(r"holds 100 strings, but its shape \[2\] needs 2")
def strings_of_another_count():
    graph = simple()
    graph.weights[0:4] = (100).to_bytes(4, "little")
    return edited(graph, ('element_type="f32" shape="2" offset', 'element_type="string" shape="2" offset'))


# Loops.


@case(r"port_map input 0: stride is 0")
def stride_0():
    return iterator(stride=0)


@case(r"port_map input 0: part_size is 0, but must be at least 1")
def part_size_0():
    return iterator(part_size=0)


@case(r"port_map input 0: part_size is -3, but must be at least 1")
def part_size_negative():
    return iterator(part_size=-3)


@case(r"start is 6, outside the 6 elements of axis 0")
def start_outside():
    return iterator(start=6)


@case(r"end is -7, outside the 6 elements of axis 0")
def end_outside():
    return iterator(end=-7)


@case(r"start 4 is beyond end 2 for stride 1")
def start_behind_end():
    return iterator(start=4, end=2)


@case(r"port_map input 0: axis is 2, outside \[-2, 2\)")
def axis_outside():
    return edited(iterator(), ('axis="0"', 'axis="2"'))


@case(r"is '1.5', but an integer")
def axis_no_integer():
    return edited(iterator(), ('axis="0"', 'axis="1.5"'))


@case(r"external_port_id is 9, which is not an input port")
def external_port_outside():
    return edited(iterator(), ('input external_port_id="1"', 'input external_port_id="9"'))


@case(r"layer 77 is not a Parameter of the body")
def internal_layer_outside():
    return edited(iterator(), ('external_port_id="1" internal_layer_id="1"',
                               'external_port_id="1" internal_layer_id="77"'), ('to-layer="1"', 'to-layer="77"'))  # fmt: skip


@case(r"a back edge leads to layer 5, but port_map has no entry for its first value")
def back_edge_to_nothing():
    return iterator(back_edges=[(3, 5)])


@case(r"layer 9 is not a Result of the body")
def back_edge_from_nothing():
    return iterator(back_edges=[(9, 1)])


@case(r"back edges from layers 3 and 3 both lead to Parameter 1")
def back_edge_twice():
    return iterator(back_edges=[(3, 1), (3, 1)])


@case(
    r"port_map input 0 slices input port 0 for Parameter 0, which also has the back edge from layer 3"
)
def back_edge_to_a_slice():
    return iterator(back_edges=[(3, 0)])


@case(r"port_map input 0 and port_map input 1 both lead to Parameter 0")
def two_entries_for_a_parameter():
    return edited(iterator(), ('external_port_id="1" internal_layer_id="1"',
                               'external_port_id="1" internal_layer_id="0"'))  # fmt: skip


@case(r"no port_map entry refers to it")
def parameter_without_entry():
    graph = iterator(back_edges=[])
    return edited(graph, ('<input external_port_id="1" internal_layer_id="1" />', ""))


@case(r"layer 1 'state' \(Parameter\) of the body declares f32, but port_map gives it f64")
def parameter_of_another_type():
    return edited(iterator(), ('name="h" type="Parameter" version="opset1"><data element_type="f32"',
                               'name="h" type="Parameter" version="opset1"><data element_type="f64"'))  # fmt: skip


@case(r"output port 2 has an entry already")
def two_entries_for_an_output():
    graph = iterator()
    entry = '<output external_port_id="2" internal_layer_id="3" />'
    return edited(graph, (entry, entry + entry))


@case(r"port_map has no entry for output port 3")
def output_without_entry():
    return iterator(outputs=2)


@case(r"no body")
def no_body():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    return identity_of(graph, graph.add("TensorIterator", [x]))


@case(r"so the number of steps is unknown")
def no_slices():
    graph = iterator()
    return edited(graph, ('axis="0"', ""))


@case(r"6 slices|slices")
def unequal_counts():
    graph = Graph()
    x, y = graph.parameter("x", "float32", [6, 2]), graph.parameter("y", "float32", [5, 2])
    body = graph.body()
    a, b = body.parameter("a", "float32", [1, 2]), body.parameter("b", "float32", [1, 2])
    result = body.result(body.add("Add", [a, b]))
    port = graph.loop("TensorIterator", body, [x, y], 1, [
        {"kind": "input", "port": 0, "layer": a.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": b.layer, "axis": 0},
        {"kind": "output", "port": 0, "layer": result, "axis": 0}])  # fmt: skip
    return identity_of(graph, port)


@case(r"trip count, is .*float32|f32")
def trip_count_of_floats():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    body = graph.body()
    state = body.parameter("x", "float32", [2])
    result = body.result(state)
    port = graph.loop("Loop", body, [graph.constant(3.0, "float32"), graph.constant(True), x], 1, [
        {"kind": "input", "port": 2, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": result}], [(result, state.layer)])  # fmt: skip
    return identity_of(graph, port)


@case(r"purpose is 'sometimes'")
def unknown_purpose():
    graph = iterator()
    return edited(graph, ('<input external_port_id="1"',
                          '<input external_port_id="-1" internal_layer_id="1" purpose="sometimes" /><input external_port_id="1"'))  # fmt: skip


@case(r"port_map output 1: purpose is 'sometimes', but execution_condition is the one of outputs")
def unknown_purpose_of_an_output():
    return counting_loop([{"kind": "output", "port": -1, "layer": None, "purpose": "sometimes"}])


@case(r"current_iteration and port_map input 0 both lead to Parameter 0")
def counter_and_a_value():
    return counting_loop([], [{"kind": "input", "port": -1, "layer": None, "purpose": "current_iteration"}])


@case(r"start is -9223372036854775808, outside \[-281474976710656, 281474976710656\]")
def start_that_overflows():
    return iterator(size=-1, start=-(2**63), end=-1)


@case(r"end is 9223372036854775807, outside")
def end_that_overflows():
    return iterator(size=-1, start=0, end=2**63 - 1)


@case(r"part_size is 9223372036854775807, more than 281474976710656")
def part_size_that_overflows():
    return iterator(size=-1, part_size=2**63 - 1)


@case(r"its operation set is 'opset99', not one of opset1 to opset16")
def future_opset():
    return edited(simple(), ('type="Add" version="opset1"', 'type="Add" version="opset99"'))


@case(r"no else_body")
def half_an_if():
    graph = Graph()
    choice, x = graph.parameter("choice", "bool", []), graph.parameter("x", "float32", [2])
    sides = []
    for _ in range(2):
        side = graph.body()
        same = side.parameter("x", "float32", [2])
        result = side.result(side.add("Add", [same, same]))
        sides.append((side, [{"kind": "input", "port": 1, "layer": same.layer},
                             {"kind": "output", "port": 0, "layer": result}]))  # fmt: skip
    graph = identity_of(graph, graph.branch([choice, x], 1, sides))
    return edited(graph, ("<else_body>", "<other_body>"), ("</else_body>", "</other_body>"))


def variable_of(shape: str, first: tuple[int, ...] | None, assigned: tuple[int, ...] = (2,)) -> Graph:
    """A variable that begins with what an input of the size `first` gives."""
    graph = Graph()
    data = {"variable_id": "v", "variable_type": "f32", "variable_shape": shape}
    begins = [] if first is None else [graph.parameter("x", "float32", list(first))]
    value = graph.add("ReadValue", begins, version=6, **data)
    graph.add("Assign", [graph.parameter("next", "float32", list(assigned))], version=6, **data)
    return identity_of(graph, value)


@case(r"variable 'v' is f32\[2147483648\], but begins as f32\[.*,6\]")
def variable_of_other_axes():
    return variable_of("2147483648", (-1, 6))


@case(r"variable 'v' is f32\[7,9\], but begins as f32\[.*,6\]")
def variable_of_other_sizes():
    return variable_of("7,9", (-1, 6))


@case(r"variable 'v' is i32\[2\] here, but f32\[2\] where it was read before")
def variable_of_two_types():
    graph = variable_of("2", None)
    other = {"variable_id": "v", "variable_type": "i32", "variable_shape": "2"}
    graph.result(graph.add("ReadValue", [], version=6, **other))
    return graph


def cropped(begins: list[int], ends: list[int], kind: str = "BatchToSpace") -> Graph:
    graph = Graph()
    x = graph.parameter("x", "float32", [2, 3])
    operands = [graph.constant(np.array(one), "int64") for one in ([1, 2], begins, ends)]
    return identity_of(graph, graph.add(kind, [x, *operands], version=2))


@case(r"BatchToSpace.*input 2 has -1 for axis 1, outside \[0, 1099511627776\]")
def negative_crop():
    return cropped([0, -1], [0, 0])


@case(r"BatchToSpace.*4 and 3 elements are cropped from the 6 of axis 1")
def more_crops_than_elements():
    return cropped([0, 4], [0, 3])


@case(r"SpaceToBatch.*input 3 has 1 for axis 0, outside \[0, 0\]")
def pads_of_the_batch():
    return cropped([0, 0], [1, 1], "SpaceToBatch")


@case(r"variable 'v' is f32\[2\], but is assigned f32\[3\]")
def variable_assigned_other_sizes():
    return variable_of("2", None, (3,))


@case(r"variable 'v' begins with \[2147483648\] zeros, but at most 268435456 are allowed")
def huge_variable():
    return variable_of("2147483648", None, (-1,))


@case(r"variable 'v' is assigned twice")
def variable_assigned_twice():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    for _ in range(2):
        graph.add("Assign", [x], version=6, variable_id="v")
    return identity_of(graph, graph.add("ReadValue", [x], version=6, variable_id="v"))


@case(r"attribute 'variable_id' is missing")
def variable_without_id():
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    return identity_of(graph, graph.add("ReadValue", [x], version=6))


def save(folder: pathlib.Path, name: str) -> str:
    xml, weights = CASES[name][0]()
    path = folder / "model.xml"
    path.write_bytes(xml)
    if weights is not None:
        (folder / "model.bin").write_bytes(weights)
    return str(path)


@pytest.mark.parametrize("name", CASES)
def test_errors(tmp_path, name):
    with pytest.raises(scanloom.Error) as caught:
        session = scanloom.InferenceSession(save(tmp_path, name))
        # What only sizes show is said by the run.
        session.run(None, {end.name: np.zeros([max(size, 0) if isinstance(size, int) else 2
                                               for size in end.shape], "f") for end in session.get_inputs()})  # fmt: skip
    assert re.search(CASES[name][1], str(caught.value), re.S), str(caught.value)


def test_there_are_enough():
    assert len(CASES) >= 50


def test_damaged_bytes(tmp_path):
    """Bytes changed, left out and doubled: an error, or a model."""
    random = np.random.default_rng(3)
    sound = iterator()
    whole = sound.xml()
    (tmp_path / "model.bin").write_bytes(bytes(sound.weights))
    path = tmp_path / "model.xml"
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(int(random.integers(1, 4))):
            at = int(random.integers(len(data)))
            choice = random.integers(3)
            if choice == 0:
                data[at] = int(random.integers(256))
            elif choice == 1:
                del data[at : at + int(random.integers(1, 30))]
            else:
                data[at:at] = data[at : at + 20]
        path.write_bytes(bytes(data))
        try:
            scanloom.InferenceSession(str(path))
        except scanloom.Error:
            continue


@pytest.mark.parametrize(("start", "end", "size"), [(6, -1, 5), (0, 7, 7), (-5, -1, 4), (-1, 3, 3)])
def test_windows_that_only_the_run_knows(tmp_path, start, end, size):
    graph = iterator(start=start, end=end, stride=1 if start >= 0 or end < 0 else -1)
    xml, weights = edited(graph, ('shape="6,2"', 'shape="?,2"'))
    (tmp_path / "model.xml").write_bytes(xml)
    (tmp_path / "model.bin").write_bytes(weights)
    session = scanloom.InferenceSession(str(tmp_path / "model.xml"))
    h = np.ones((1, 2), "f")
    with pytest.raises(scanloom.Error, match=f"axis 0 has {size} elements, a window from {start} to {end}"):
        session.run(None, {"x": np.zeros((size, 2), "f"), "h": h})
    (state,) = session.run(None, {"x": np.zeros((0, 2), "f"), "h": h})
    assert np.array_equal(state, h)


def test_a_condition_may_be_an_output_too(tmp_path):
    entry = {"kind": "output", "port": 1, "layer": None, "purpose": "execution_condition"}
    session = scanloom.InferenceSession(counting_loop([entry]).save(tmp_path))
    count, going = session.run(None, {"h": np.zeros(1, "f")})
    assert count.tolist() == [3] and not going.any()


def test_outputs_of_branches_may_be_counted_from_0(tmp_path):
    """Although some of these numbers are ports of the layer."""
    graph = Graph()
    choice, x = graph.parameter("choice", "bool", []), graph.parameter("x", "float32", [2])
    sides = []
    for kinds in (("Abs", "Negative", "Exp"), ("Exp", "Abs", "Negative")):
        side = graph.body()
        p = side.parameter("p", "float32", [2])
        sides.append((side, [{"kind": "input", "port": 1, "layer": p.layer}, *(
            {"kind": "output", "port": i, "layer": side.result(side.add(kind, [p]))}
            for i, kind in enumerate(kinds))]))  # fmt: skip
    branch = graph.branch([choice, x], 3, sides)
    for side in ("then", "else"):
        for i, entry in enumerate(graph.layers[branch.layer].find(f"{side}_port_map").findall("output")):
            entry.set("external_port_id", str(i))
    for i in range(3):
        graph.result(Port(branch.layer, i))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    value = np.array([-1, 2], "f")
    for chosen, functions in ((True, (np.abs, np.negative, np.exp)), (False, (np.exp, np.abs, np.negative))):
        found = session.run(None, {"choice": np.array(chosen), "x": value})
        for one, function in zip(found, functions, strict=True):
            np.testing.assert_allclose(one, function(value), rtol=1e-6)


def test_a_backslash_in_a_name_stays(tmp_path):
    graph = simple()
    graph.layers[-2].find("output").find("port").set("names", "a\\b,c\\,d")
    session = scanloom.InferenceSession(graph.save(tmp_path))
    assert [end.name for end in session.get_outputs()] == ["a\\b"]
    session.run(["c,d"], {"x": np.zeros(2, "f")})


def test_wrong_feeds(tmp_path):
    session = scanloom.InferenceSession(simple().save(tmp_path))
    for feeds in ({}, {"y": np.zeros(2, "f")}, {"x": np.zeros(2)}, {"x": np.zeros(3, "f")},
                  {"x": np.zeros((1, 2), "f")}, {"x": None}):  # fmt: skip
        with pytest.raises(scanloom.Error):
            session.run(None, feeds)


def test_files_that_are_cut_off_say_so(tmp_path: pathlib.Path) -> None:
    graph, path = iterator(), tmp_path / "model.xml"
    whole = graph.xml()
    for size in [*range(0, len(whole) - 1, 61), len(whole) - 1]:
        path.write_bytes(whole[:size])
        what = "is empty: it has 0 bytes" if size == 0 else f"of its {size}; it seems to be truncated"
        with pytest.raises(scanloom.Error, match=what):
            scanloom.InferenceSession(str(path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty: it has 0 bytes"),
        (b"no model", "is a text of 8 bytes that begins with 'no model'"),
        (b"PK\x03\x04\x00", "is not XML: its first byte is 80, not '<'"),
        ("<net/>".encode("utf-16"), "is UTF-16 text"),
        (b"<svg/>", "holds 'svg', not 'net'"),
    ],
)
def test_files_that_are_no_ir_say_what_they_are(content: bytes, words: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.xml"
    path.write_bytes(content)
    with pytest.raises(scanloom.Error, match=re.escape(words)):
        scanloom.InferenceSession(str(path))
