"""Variables whose element type or sizes ReadValue leaves open, as OpenVINO's Python API writes them
by default: they come from the first value, from Assign, or from what reads them."""

from __future__ import annotations

import itertools
import pathlib
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

try:
    import openvino
    from openvino import opset3, opset8
except ImportError:
    openvino = None

EXECUTIONS = ["automatic", "interpreted", "compiled"]
WINDOW = {"axis": 0, "start": 0, "end": -1, "stride": 1, "part_size": 1}
# How ReadValue says that it does not know.
OPEN: dict[str, dict[str, str]] = {
    "by default": {"variable_type": "dynamic", "variable_shape": "..."},
    "undefined": {"variable_type": "undefined", "variable_shape": "..."},
    "type alone": {"variable_type": "dynamic"},
    "nothing": {},
    "sizes known": {"variable_type": "dynamic", "variable_shape": "1,2"},
    "one size known": {"variable_type": "dynamic", "variable_shape": "?,2"},
    "an interval": {"variable_type": "dynamic", "variable_shape": "0..4,2"},
    "type known": {"variable_type": "f32", "variable_shape": "..."},
    "type and one size known": {"variable_type": "f32", "variable_shape": "1,?"},
}  # fmt: skip


def precise(port: Port, graph: Graph, precision: str, *dims: int) -> Port:
    """The output port says that element type, and sizes if there are any."""
    element = graph.layers[port.layer].find("output").find("port")
    element.set("precision", precision)
    for dim in dims:
        ElementTree.SubElement(element, "dim").text = str(dim)
    return port


def accumulating(how: dict[str, str], first: str, version: int = 6, dtype: Any = np.float32) -> Graph:
    """total = memory + x, which is assigned. `first`: "constant", "computed", "input" or "none"."""
    graph = Graph()
    x = graph.parameter("x", dtype, (1, 2))
    inputs = []
    if first == "constant":
        inputs = [graph.constant(np.full((1, 2), 10), dtype)]
    elif first != "none":
        begin = graph.parameter("first", dtype, (1, 2))
        inputs = [begin if first == "input" else graph.add("Multiply", [begin, graph.constant(np.array(10, dtype))])]
    memory = graph.add("ReadValue", inputs, version=version, variable_id="memory", precision="UNSPECIFIED", **how)
    word = {"float32": "FP32", "int64": "I64", "float16": "FP16"}[np.dtype(dtype).name]
    total = precise(graph.add("Add", [memory, x]), graph, word, 1, 2)
    graph.add("Assign", [total], version=version, variable_id="memory", precision=word)
    graph.result(graph.add("Multiply", [total, graph.constant(np.array(1, dtype))]))
    return graph


def check_streams(path: str, first: str, dtype: Any) -> None:
    one, start = np.ones((1, 2), dtype), np.array([[1, 2]], dtype)
    scale = {"constant": 0, "none": 0, "input": 1, "computed": 10}[first]
    fixed = 10 if first == "constant" else 0

    def begins(times: int) -> np.ndarray:
        return (fixed + scale * times * start).astype(dtype)

    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(path, execution=execution)
        assert [state.name for state in session.get_states()] == ["memory"]

        def feeds(times: int) -> dict[str, np.ndarray]:
            return {"x": one, "first": (times * start).astype(dtype)} if scale else {"x": one}

        for _ in range(2):  # a run keeps nothing
            assert session.run(None, feeds(1))[0].tolist() == (begins(1) + 1).tolist()
        stream = session.stream()
        results = [stream.push(feeds(1)), stream.push(feeds(0)), stream.push(feeds(7))]
        assert [r.tolist() for r in results] == [(begins(1) + k).tolist() for k in (1, 2, 3)]
        assert results[0].dtype == dtype and stream.get("memory").dtype == dtype
        stream.reset_state()
        assert stream.push(feeds(2)).tolist() == (begins(2) + 1).tolist()
        stream.set("memory", np.full((1, 2), 5, dtype))
        assert stream.get("memory").tolist() == [[5, 5]]
        assert stream.push(feeds(1)).tolist() == [[6, 6]]
        assert stream.get("memory").tolist() == [[6, 6]]


@pytest.mark.parametrize("first", ["constant", "computed", "input", "none"])
@pytest.mark.parametrize("how", OPEN)
def test_version_6(how: str, first: str, tmp_path: pathlib.Path) -> None:
    if first == "none" and how in ("one size known", "an interval", "type and one size known"):
        return  # zeros of open sizes are none
    check_streams(accumulating(OPEN[how], first).save(tmp_path), first, np.float32)


@pytest.mark.parametrize("first", ["constant", "computed", "input"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_version_3_has_no_type_of_its_own(dtype: Any, first: str, tmp_path: pathlib.Path) -> None:
    check_streams(accumulating({}, first, 3, dtype).save(tmp_path), first, dtype)


@pytest.mark.parametrize("first", ["constant", "computed", "input", "none"])
@pytest.mark.parametrize("dtype", [np.int64, np.float16])
def test_other_element_types(dtype: Any, first: str, tmp_path: pathlib.Path) -> None:
    check_streams(accumulating(OPEN["by default"], first, 6, dtype).save(tmp_path), first, dtype)


def delay(where: str) -> Graph:
    """Hands out what x was in the run before. `where`: who says that it is i64."""
    graph = Graph()
    x = graph.parameter("x", "int64", (3,))
    memory = graph.add("ReadValue", [], version=6, variable_id="before", precision="UNSPECIFIED",
                       variable_type="dynamic", variable_shape="3")  # fmt: skip
    dark = {"precision": "UNSPECIFIED"}
    if where == "assign":
        shown = graph.add("Abs", [memory], **dark)
        graph.add("Assign", [x], version=6, variable_id="before", **dark)
    elif where == "assigned through a chain":
        shown = graph.add("Abs", [memory], **dark)
        turned = graph.add("Reshape", [graph.add("Negative", [x], **dark), graph.constant([3], "int64")], **dark)
        graph.add("Assign", [graph.add("Negative", [turned], **dark)], version=6, variable_id="before", **dark)
    elif where == "reader's other operand":
        shown = graph.add("Subtract", [graph.add("Add", [memory, x], **dark), x], **dark)
        graph.add("Assign", [graph.add("Subtract", [graph.add("Add", [x, memory], **dark), memory], **dark)],
                  version=6, variable_id="before", **dark)  # fmt: skip
    elif where == "reader's port":
        shown = graph.add("Abs", [memory], precision="I64")
        graph.add("Assign", [x], version=6, variable_id="before", **dark)
    else:
        shown = graph.add("Abs", [precise(memory, graph, "I64")], **dark)
        graph.add("Assign", [x], version=6, variable_id="before", **dark)
    graph.result(shown)
    return graph


@pytest.mark.parametrize("where", ["assign", "assigned through a chain", "reader's other operand",
                                   "reader's port", "own port"])  # fmt: skip
def test_without_a_first_value(where: str, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(delay(where).save(tmp_path))
    stream, xs = session.stream(), [np.array([k, k + 1, 2 * k]) for k in range(4)]
    shown = [stream.push({"x": x}) for x in xs]
    assert shown[0].dtype == np.int64
    assert [y.tolist() for y in shown] == [[0, 0, 0], *(x.tolist() for x in xs[:-1])]


def test_nothing_says_the_type(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    memory = graph.add("ReadValue", [], version=6, variable_id="m", precision="UNSPECIFIED", variable_type="dynamic")
    graph.add("Assign", [memory], version=6, variable_id="m", precision="UNSPECIFIED")
    graph.result(memory)
    with pytest.raises(scanloom.InvalidModel, match="the element type of variable 'm' is unknown: give its "
                       "ReadValue the attribute 'variable_type'"):  # fmt: skip
        scanloom.InferenceSession(graph.save(tmp_path))


def test_an_element_type_that_assign_contradicts(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    first = graph.parameter("first", "float32", (2,))
    memory = graph.add("ReadValue", [first], version=6, variable_id="m", variable_type="dynamic")
    graph.add("Assign", [graph.parameter("next", "int64", (2,))], version=6, variable_id="m")
    graph.result(memory)
    with pytest.raises(scanloom.InvalidModel, match=r"variable 'm' is f32\[2\], but is assigned i64\[2\]"):
        scanloom.InferenceSession(graph.save(tmp_path))


@pytest.mark.parametrize("first", ["constant", "input"])
def test_a_state_that_grows(first: str, tmp_path: pathlib.Path) -> None:
    """A cache of keys: only Assign shows that one size changes; the other one stays."""
    graph = Graph()
    x = graph.parameter("x", "float32", (1, 1, 2))
    begin = (graph.constant(np.zeros((1, 1, 2)), "float32") if first == "constant"
             else graph.parameter("first", "float32", (1, 1, 2)))  # fmt: skip
    memory = graph.add("ReadValue", [begin], version=6, variable_id="keys", **OPEN["by default"])
    keys = graph.add("Concat", [memory, x], axis=1)
    graph.add("Assign", [keys], version=6, variable_id="keys")
    graph.result(keys)
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(graph.save(tmp_path), execution=execution)
        (state,) = session.get_states()
        assert [size if isinstance(size, int) else None for size in state.shape] == [1, None, 2]
        stream, rows = session.stream(), [np.zeros((1, 1, 2), np.float32)]
        for step in range(1, 5):
            rows.append(np.full((1, 1, 2), step, np.float32))
            feeds = {"x": rows[-1]} | ({"first": rows[0]} if first == "input" else {})
            np.testing.assert_array_equal(stream.push(feeds), np.concatenate(rows, 1))
        stream.reset_state()
        assert stream.push(feeds).shape == (1, 2, 2)


def test_sizes_that_follow_from_an_input(tmp_path: pathlib.Path) -> None:
    """[1, 2] at first, then as many rows as x has had."""
    graph = Graph()
    x, begin = graph.parameter("x", "float32", (-1, 2)), graph.parameter("first", "float32", (1, 2))
    memory = graph.add("ReadValue", [begin], version=6, variable_id="m", **OPEN["by default"])
    total = graph.add("Add", [memory, x])
    graph.add("Assign", [total], version=6, variable_id="m")
    graph.result(total)
    stream = scanloom.InferenceSession(graph.save(tmp_path)).stream()
    feeds = {"x": np.ones((3, 2), np.float32), "first": np.ones((1, 2), np.float32)}
    assert [stream.push(feeds).tolist() for _ in range(2)] == [[[k, k]] * 3 for k in (2, 3)]
    with pytest.raises(scanloom.Error):
        stream.push({**feeds, "x": np.ones((4, 2), np.float32)})


def test_a_rank_that_changes(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", "float32", (2, 2))
    memory = graph.add("ReadValue", [graph.constant([1.0, 2.0], "float32")], version=6, variable_id="m",
                       **OPEN["by default"])  # fmt: skip
    total = graph.add("Add", [memory, x])
    graph.add("Assign", [total], version=6, variable_id="m")
    graph.result(total)
    stream = scanloom.InferenceSession(graph.save(tmp_path)).stream()
    one = np.ones((2, 2), np.float32)
    assert [stream.push({"x": one}).tolist() for _ in range(2)] == [[[2, 3]] * 2, [[3, 4]] * 2]


def test_several_variables_that_follow_each_other(tmp_path: pathlib.Path) -> None:
    """Each is assigned the one before; the first one grows, so all of them do, one reading later each."""
    graph, count = Graph(), 12
    x = graph.parameter("x", "float32", (1, 2))
    first = graph.constant(np.zeros((1, 2)), "float32")
    reads = [graph.add("ReadValue", [first], version=6, variable_id=f"m{i}", **OPEN["by default"]) for i in range(count)]
    grown = graph.add("Concat", [reads[0], x], axis=0)
    graph.add("Assign", [grown], version=6, variable_id="m0")
    for before, (i, _) in itertools.pairwise(enumerate(reads)):
        graph.add("Assign", [before[1]], version=6, variable_id=f"m{i}")
    graph.result(graph.add("Abs", [reads[-1]]))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    stream = session.stream()
    rows = [len(stream.push({"x": np.ones((1, 2), np.float32)})) for _ in range(count + 3)]
    assert rows == [1] * count + [2, 3, 4]
    assert [len(stream.get(f"m{i}")) for i in (0, 1, count - 1)] == [count + 4, count + 3, 5]


@pytest.mark.parametrize("version", [3, 6])
@pytest.mark.parametrize("how", ["by default", "nothing", "type alone", "one size known"])
def test_in_a_loop(how: str, version: int, tmp_path: pathlib.Path) -> None:
    """Each step adds its row to the variable and shows what it was; its first value is a constant."""
    if version == 3 and how != "nothing":
        return
    for dtype in ("float32", "int64"):
        graph = Graph()
        x, body = graph.parameter("x", dtype, (-1, 2)), graph.body()
        row = body.parameter("row", dtype, (1, 2))
        memory = body.add("ReadValue", [body.constant(np.full((1, 2), 3), dtype)], version=version,
                          variable_id="sum", precision="UNSPECIFIED", **OPEN[how])  # fmt: skip
        body.add("Assign", [body.add("Add", [memory, row])], version=version, variable_id="sum")
        rows = body.result(body.add("Abs", [memory]))
        graph.result(graph.loop("TensorIterator", body, [x], 1, [
            {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
            {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
        values = np.arange(10).reshape(5, 2).astype(dtype)
        sums = np.concatenate([np.full((1, 2), 3, dtype), 3 + np.cumsum(values, 0)]).astype(dtype)
        for execution in EXECUTIONS:
            session = scanloom.InferenceSession(graph.save(tmp_path), execution=execution)
            stream = session.stream()
            np.testing.assert_array_equal(session.run(None, {"x": values})[0], sums[:-1])
            parts = [stream.push({"x": values[:2]}), stream.push({"x": values[2:]})]
            np.testing.assert_array_equal(np.concatenate(parts), sums[:-1])
            np.testing.assert_array_equal(stream.get("sum"), sums[-1:])


@pytest.mark.skipif(openvino is None, reason="openvino is not installed")
@pytest.mark.parametrize("version", [3, 6])
@pytest.mark.parametrize("computed", [True, False])
def test_models_of_openvino_itself(version: int, computed: bool) -> None:
    """In memory, compared with OpenVINO's own results."""
    op = opset3 if version == 3 else opset8
    x, first = (opset8.parameter([1, 2], np.float32, name=name) for name in ("x", "first"))
    begin = opset8.multiply(first, opset8.constant(np.float32(10))) if computed else first
    total = opset8.add(op.read_value(begin, "memory"), x)
    shown = opset8.result(opset8.multiply(total, opset8.constant(np.float32(1))))
    model = openvino.Model([shown], [op.assign(total, "memory")], [x, first], "state")
    stream = scanloom.InferenceSession(model).stream()
    request = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for step in range(4):
        if step == 3:
            stream.reset_state()
            request.reset_state()
        feeds = {"x": np.full((1, 2), step, np.float32), "first": np.array([[step, 5]], np.float32)}
        wanted = next(iter(request.infer(feeds).values()))
        np.testing.assert_array_equal(stream.push(feeds), wanted)
