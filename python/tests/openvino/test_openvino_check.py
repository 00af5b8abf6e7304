"""`check` finds all faults of an IR at once, including those in bodies, after unknown operations
and in layers that nothing reads; errors of the XML include the location."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

WINDOW = {"axis": 0, "start": 0, "end": -1, "stride": 1, "part_size": 1}


def texts(graph: Graph, folder: pathlib.Path) -> list[str]:
    path = graph.save(folder)
    report = scanloom.check(path)
    assert not report.ok
    # Loading stops with the first, and counts the others.
    with pytest.raises(scanloom.Error) as raised:
        scanloom.InferenceSession(path)
    assert (f"{len(report.errors) - 1} more" in str(raised.value)) == (len(report.errors) > 1)
    return [str(error) for error in report.errors]


def all_found(found: list[str], *patterns: str) -> None:
    """Each pattern once, and nothing else."""
    for pattern in patterns:
        assert sum(re.search(pattern, text, re.S) is not None for text in found) == 1, (pattern, found)
    assert len(found) == len(patterns), found


def iterator(graph: Graph, x: Port, body: Graph, row: Port, result: int, back: tuple = (), **entry) -> Port:
    return graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW, **entry},
        {"kind": "output", "port": 0, "layer": result, **WINDOW}], back)  # fmt: skip


def test_unknown_operations_and_a_wrong_back_edge(tmp_path: pathlib.Path) -> None:
    """The loop reads what an unknown operation makes, and has one in its body."""
    graph = Graph()
    x, body = graph.parameter("x", "float32", [6, 2]), graph.body()
    row = body.parameter("row", "float32", [1, 2])
    result = body.result(body.add("Frobnicate", [row]))
    loop = iterator(graph, graph.add("Grumble", [x]), body, row, result, [(result, 77)])
    graph.result(loop)
    all_found(texts(graph, tmp_path),
              r"2 operations cannot be read: Frobnicate \(layer 1 .*\), Grumble \(layer 1 ",
              r"\(TensorIterator\): a back edge leads to layer 77, but port_map has no entry")  # fmt: skip


def test_everything_in_one_loop(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x, body = graph.parameter("x", "float32", [6, 2]), graph.body()
    row, other = body.parameter("row", "float32", [1, 2]), body.parameter("other", "float32", [1, 2])
    outside = body.constant([1.0, 2.0], "float32")
    body.layers[outside.layer].find("data").set("offset", "4000")
    body.add("Abs", [row], version=99)
    result = body.result(body.add("Add", [body.add("Add", [row, other]), outside]))
    body.edges[0] = (55, 0, *body.edges[0][2:])
    loop = iterator(graph, x, body, row, result, [(result, row.layer), (9, other.layer)], stride=0)
    graph.layers[loop.layer].find("port_map").find("output").set("internal_layer_id", "1")
    graph.result(loop)
    all_found(texts(graph, tmp_path),
              r"port_map input 0: stride is 0", r"port_map output 0: layer 1 is not a Result of the body",
              r"slices input port 0 for Parameter 0, which also has the back edge", r"a back edge: layer 9 is not a Result",
              r"a back edge leads to layer 1, but port_map has no entry", r"its 8 bytes begin at byte 4000 of",
              r"\(Abs\): its operation set is 'opset99'", r"edge from layer 55 to layer 3 leaves")  # fmt: skip


def test_constants_beyond_their_file_and_sizes_that_do_not_match(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x, y = graph.parameter("x", "float32", [2]), graph.parameter("y", "float32", [3])
    graph.result(graph.add("Add", [x, y]))
    beyond = graph.constant(np.zeros(5), "float32")
    graph.layers[beyond.layer].find("data").set("size", "400")
    graph.result(graph.add("Abs", [beyond]))
    unread = graph.constant(np.zeros(5), "float32")
    graph.layers[unread.layer].find("data").set("offset", "10000")
    graph.result(graph.add("MatMul", [graph.parameter("z", "float32", [4, 5]), graph.parameter("w", "float32", [4, 5])]))
    all_found(texts(graph, tmp_path), r"\(Add\).*sizes 2 and 3|\(Add\).*\[2\].*\[3\]",
              r"its 400 bytes begin at byte 0 of 'model.bin', which has 40 bytes",
              r"its 20 bytes begin at byte 10000 of", r"\(MatMul\).*5.*4")  # fmt: skip


@pytest.mark.parametrize("taken", [True, False, None])
def test_sizes_that_a_body_makes_not_match(taken: bool | None, tmp_path: pathlib.Path) -> None:
    """In a loop; in the side of a branch that runs, that does not, and of which only a run knows."""
    graph = Graph()
    x = graph.parameter("x", "float32", [6, 2])
    choice = graph.parameter("choice", "bool", []) if taken is None else graph.constant(taken)
    sides = []
    for wrong in (True, False):
        side = graph.body()
        value = side.parameter("value", "float32", [6, 2])
        other = side.constant(np.zeros(5 if wrong else 2), "float32")
        sides.append((side, [{"kind": "input", "port": 1, "layer": value.layer},
                             {"kind": "output", "port": 0, "layer": side.result(side.add("Add", [value, other]))}]))  # fmt: skip
    graph.result(graph.branch([choice, x], 1, sides))
    report = scanloom.check(graph.save(tmp_path))
    if taken:
        assert len(report.errors) == 1 and "Add" in str(report.errors[0])
    else:
        assert report.ok


def test_numbers_of_slices_that_differ(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x, y = graph.parameter("x", "float32", [6, 2]), graph.parameter("y", "float32", [5, 2])
    body = graph.body()
    a, b = body.parameter("a", "float32", [1, 2]), body.parameter("b", "float32", [1, 2])
    result = body.result(body.add("Add", [a, b]))
    graph.result(graph.loop("TensorIterator", body, [x, y], 1, [
        {"kind": "input", "port": 0, "layer": a.layer, **WINDOW},
        {"kind": "input", "port": 1, "layer": b.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": result, **WINDOW}]))  # fmt: skip
    report = scanloom.check(graph.save(tmp_path))
    assert len(report.errors) == 1 and re.search("6.*5|5.*6", str(report.errors[0]))


def test_what_nothing_reads(tmp_path: pathlib.Path) -> None:
    """OpenVINO reads it all, and refuses it."""
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    graph.result(graph.add("Abs", [x]))
    graph.add("Add", [x])
    body = graph.body()
    row = body.parameter("row", "float32", [1])
    inner = body.constant([1.0], "float32")
    body.layers[inner.layer].find("data").attrib.pop("offset")
    iterator(graph, x, body, row, body.result(body.add("Add", [row, inner])), part_size=0)
    all_found(texts(graph, tmp_path), r"it has 1 inputs, but Add takes 2", r"part_size is 0", r"'offset' is missing")


def test_edges_ids_and_cycles(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", "float32", [2])
    a = graph.add("Add", [x, x])
    b = graph.add("Add", [a, x])
    graph.result(b)
    graph.result(graph.add("Abs", [x]))
    graph.add("Result", [None], 0)
    graph.edges[1] = (b.layer, 2, a.layer, 1)
    graph.edges.append((x.layer, 9, b.layer, 0))
    graph.edges.append((x.layer, 0, 99, 0))
    all_found(texts(graph, tmp_path), r"has no output port 9", r"layer 99 enters a layer that does not exist",
              r"in a cycle, among them", r"\(Result\): no edge leads to it",
              r"two edges lead to input port 0")  # fmt: skip


def test_a_sound_model_has_nothing(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x, body = graph.parameter("x", "float32", [6, 2]), graph.body()
    row = body.parameter("row", "float32", [1, 2])
    graph.result(iterator(graph, x, body, row, body.result(body.add("Abs", [row]))))
    assert scanloom.check(graph.save(tmp_path)) == ([], [])


TEXT = """<?xml version="1.0"?>
<net name="model" version="11">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data element_type="f32" shape="2"/>
      <output><port id="0" precision="FP32"/></output>
    </layer>
    <layer id="1" name="y" type="Result" version="opset1">
      <input><port id="0"/></input>
    </layer>
  </layers>
  <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""

# An edit, and what the error says.
XML = {
    "an attribute without quotes": ('element_type="f32"', "element_type=f32",
                                    r"cannot be read at line 5, column \d+, in <data>"),
    "a closing tag of another element": ("</layer>\n    <layer id=\"1\"", "</layers>\n    <layer id=\"1\"",
                                         r"cannot be read at line 7, column \d+, in <layer>"),
    "a stray sign": ('<output><port id="0"', '<output>< <port id="0"', r"at line 6, column \d+, in <output>"),
    "an attribute missing": ('id="1" name="y"', 'name="y"', r"attribute 'id' is missing.*<layer> at line 8, column 5"),
    "no integer": ('to-layer="1"', 'to-layer="one"',
                   r"attribute 'to-layer' is 'one', but an integer is needed.*<edge> at line 12, column 10"),
    "a port without id": ('<input><port id="0"/>', "<input><port/>", r"'id' is missing.*<port> at line 9, column 14"),
    "a type missing": (' type="Result"', "", r"layer 1 has no attribute 'type'.*<layer> at line 8, column 5"),
    "another version": ('version="11"', 'version="9"', r"has version 9.*<net> at line 2, column 1"),
    "names in letters of several bytes": ('name="x" type', 'name="\u00e4\u00f6\u00fc" typ=3',
                                          r"at line 4, column 3\d, in <layer>"),
}  # fmt: skip


@pytest.mark.parametrize("name", XML)
def test_errors_of_the_xml_say_where(name: str, tmp_path: pathlib.Path) -> None:
    old, new, words = XML[name]
    assert old in TEXT
    path = tmp_path / "model.xml"
    path.write_text(TEXT.replace(old, new, 1), "utf-8")
    (error,) = scanloom.check(str(path)).errors
    assert re.search(words, str(error), re.S), str(error)


def test_all_errors_of_the_xml(tmp_path: pathlib.Path) -> None:
    text = TEXT
    for name in ("an attribute missing", "no integer", "another version"):
        text = text.replace(*XML[name][:2], 1)
    path = tmp_path / "model.xml"
    path.write_text(text.replace('type="Parameter"', 'type="Frobnicate"'), "utf-8")
    all_found([str(error) for error in scanloom.check(str(path)).errors], "'id' is missing", "'to-layer' is 'one'",
              "has version 9", "1 operation cannot be read: Frobnicate")  # fmt: skip


def test_a_file_that_is_cut_off(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(TEXT[: TEXT.index(' name="y"')], "utf-8")
    (error,) = scanloom.check(str(path)).errors
    words = r"cannot be read at line 8, column 17, in <layer>: .* at byte \d+ of its \d+; it seems to be truncated"
    assert re.search(words, str(error)), str(error)
