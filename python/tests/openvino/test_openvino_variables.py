"""Variables of ReadValue and Assign in bodies: each step reads the value that the previous step
assigned, and a region that does not run assigns nothing."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

WINDOW = {"axis": 0, "start": 0, "end": -1, "stride": 1, "part_size": 1}
OF = {"variable_type": "f32", "variable_shape": "1,2"}
EXECUTIONS = ["automatic", "interpreted", "compiled"]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


def read(graph: Graph, variable: str, first: float = 0.0, version: int = 6) -> Port:
    data = OF if version == 6 else {}
    return graph.add("ReadValue", [graph.constant(np.full((1, 2), first), "float32")], version=version,
                     variable_id=variable, **data)  # fmt: skip


def assign(graph: Graph, variable: str, value: Port, version: int = 6) -> Port:
    return graph.add("Assign", [value], version=version, variable_id=variable, **(OF if version == 6 else {}))


def summing(graph: Graph, x: Port, variable: str, version: int = 6, scale: float = 1.0) -> Port:
    """A TensorIterator whose steps add their slice, scaled, to the variable; the rows it has had
    before that. Nothing but the variable is carried."""
    body = graph.body()
    row = body.parameter("row", shape=(1, 2))
    before = read(body, variable, 0.5, version)
    scaled = body.add("Multiply", [row, body.constant(np.full((1, 2), scale), "float32")])
    assign(body, variable, body.add("Add", [before, scaled]), version)
    rows = body.result(body.add("Abs", [before]))
    return graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": rows, **WINDOW}])  # fmt: skip


def run_all(graph: Graph, folder: pathlib.Path) -> list[scanloom.InferenceSession]:
    path = graph.save(folder)
    return [scanloom.InferenceSession(path, execution=execution) for execution in EXECUTIONS]


@pytest.mark.parametrize("version", [3, 6])
def test_steps_read_what_the_step_before_has_assigned(version: int, tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    graph.result(summing(graph, x, "sum", version))
    values = numbers(7, 2)
    sums = np.cumsum(np.concatenate([np.full((1, 2), 0.5, np.float32), values]), 0, np.float32)
    for session in run_all(graph, tmp_path):
        assert [state.name for state in session.get_states()] == ["sum"]
        np.testing.assert_allclose(session.run(None, {"x": values})[0], np.abs(sums[:-1]), rtol=1e-6)
        stream = session.stream()
        parts = [stream.push({"x": values[first:last]}) for first, last in ((0, 3), (3, 3), (3, 7))]
        np.testing.assert_allclose(np.concatenate(parts), np.abs(sums[:-1]), rtol=1e-6)
        np.testing.assert_allclose(stream.get("sum"), sums[-1:], rtol=1e-6)
        stream.reset_state()
        assert stream.push({"x": values[:1]}).tolist() == [[0.5, 0.5]]


def test_no_step_changes_nothing(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    graph.result(summing(graph, x, "sum"))
    for session in run_all(graph, tmp_path):
        stream = session.stream()
        stream.set("sum", np.array([[3, 4]], np.float32))
        assert stream.push({"x": np.zeros((0, 2), np.float32)}).shape == (0, 2)
        assert stream.get("sum").tolist() == [[3, 4]]


def test_readers_see_the_value_before_the_run(tmp_path: pathlib.Path) -> None:
    """Reads in the main graph and in another loop, before and after the loop that assigns the
    variable."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    graph.result(graph.add("Abs", [read(graph, "sum", 0.5)]))
    graph.result(summing(graph, x, "sum"))
    body = graph.body()
    row = body.parameter("row", shape=(1, 2))
    rows = body.result(body.add("Add", [row, read(body, "sum", 0.5)]))
    graph.result(graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
    values = numbers(4, 2)
    for session in run_all(graph, tmp_path):
        stream = session.stream()
        kept = np.full((1, 2), 0.5, np.float32)
        for _ in range(3):
            before, _, shifted = stream.push({"x": values})
            np.testing.assert_allclose(before, np.abs(kept), rtol=1e-5)
            np.testing.assert_allclose(shifted, values + kept, rtol=1e-5)
            kept = kept + values.sum(0, keepdims=True)
            np.testing.assert_allclose(stream.get("sum"), kept, rtol=1e-5)


def chosen(other: str | None) -> Graph:
    """An If of which one side adds x to 'kept', and the other assigns `other`, or nothing."""
    graph = Graph()
    choice, x = graph.parameter("choice", "bool", ()), graph.parameter("x", shape=(1, 2))
    sides = []
    for variable in ("kept", other):
        side = graph.body()
        value = side.parameter("value", shape=(1, 2))
        total = value
        if variable is not None:
            total = side.add("Add", [read(side, variable), value])
            assign(side, variable, total)
        result = side.result(side.add("Tanh", [total]))
        sides.append((side, [{"kind": "input", "port": 1, "layer": value.layer},
                             {"kind": "output", "port": 0, "layer": result}]))  # fmt: skip
    graph.result(graph.branch([choice, x], 1, sides))
    return graph


@pytest.mark.parametrize("other", [None, "other", "kept"])
def test_a_side_that_does_not_run_assigns_nothing(other: str | None, tmp_path: pathlib.Path) -> None:
    for session in run_all(chosen(other), tmp_path):
        stream = session.stream()
        kept = {"kept": 0.0, "other": 0.0}
        for step, choice in enumerate([True, False, False, True, False], 1):
            result = stream.push({"choice": np.array(choice), "x": np.full((1, 2), step, np.float32)})
            name = "kept" if choice else other
            total = step + (kept[name] if name else 0.0)
            if name:
                kept[name] = total
            np.testing.assert_allclose(result, np.tanh(np.full((1, 2), total)), rtol=1e-6)
            for state in session.get_states():
                assert stream.get(state.name)[0, 0] == kept[state.name]


def test_a_branch_in_a_loop_in_a_loop(tmp_path: pathlib.Path) -> None:
    """Outer steps walk over x, inner ones over the outer slice, of which those that are positive are
    added to 'sum'; the outer body counts its steps in 'steps'."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, -1, 1, 2))
    outer = graph.body()
    rows = outer.parameter("rows", shape=(1, -1, 1, 2))
    inner = outer.body()
    row = inner.parameter("row", shape=(1, 1, 1, 2))
    flat = inner.add("Reshape", [row, inner.constant([1, 2], "int64")], special_zero=False)
    least = inner.add("ReduceMin", [flat, inner.constant([0, 1], "int64")], keep_dims=False)
    positive = inner.add("Greater", [least, inner.constant(np.float32(0))], precision="BOOL")
    sides = []
    for adds in (True, False):
        side = inner.body()
        value = side.parameter("value", shape=(1, 2))
        if adds:
            assign(side, "sum", side.add("Add", [read(side, "sum"), value]))
        result = side.result(side.add("Abs", [value]))
        sides.append((side, [{"kind": "input", "port": 1, "layer": value.layer},
                             {"kind": "output", "port": 0, "layer": result}]))  # fmt: skip
    made = inner.result(inner.branch([positive, flat], 1, sides))
    loop = outer.loop("TensorIterator", inner, [rows], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW, "axis": 1},
        {"kind": "output", "port": 0, "layer": made, **WINDOW}])  # fmt: skip
    assign(outer, "steps", outer.add("Add", [read(outer, "steps"), outer.constant(np.ones((1, 2)), "float32")]))
    out = outer.result(loop)
    graph.result(graph.loop("TensorIterator", outer, [x], 1, [
        {"kind": "input", "port": 0, "layer": rows.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": out, **WINDOW}]))  # fmt: skip
    values = numbers(3, 5, 1, 2)
    flat_values = values.reshape(-1, 2)
    wanted = flat_values[flat_values.min(1) > 0].sum(0, keepdims=True)
    for session in run_all(graph, tmp_path):
        stream = session.stream()
        for count in (1, 2):
            result = stream.push({"x": values})
            np.testing.assert_allclose(result, np.abs(flat_values), rtol=1e-6)
            np.testing.assert_allclose(stream.get("sum"), count * wanted, rtol=1e-5)
            assert stream.get("steps").tolist() == [[3 * count] * 2]


def test_low_latency_leaves_them_as_they_are(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    graph.result(summing(graph, x, "sum"))
    session = scanloom.InferenceSession(graph.save(tmp_path), low_latency=True)
    assert [state.name for state in session.get_states()] == ["sum"]
    values = numbers(6, 2)
    (whole,) = session.run(None, {"x": values})
    stream = session.stream()
    parts = [stream.push({"x": values[at : at + 1]}) for at in range(6)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def twice_in_a_step() -> Graph:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    graph.result(summing(graph, x, "sum"))
    graph.result(summing(graph, x, "sum"))
    return graph


def computed() -> Graph:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    body = graph.body()
    row = body.parameter("row", shape=(1, 2))
    before = body.add("ReadValue", [row], version=6, variable_id="sum", **OF)
    assign(body, "sum", body.add("Add", [before, row]))
    rows = body.result(before)
    graph.result(graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
    return graph


def another_type() -> Graph:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2))
    body = graph.body()
    row = body.parameter("row", shape=(1, 2))
    before = read(body, "sum")
    assign(body, "sum", body.add("Convert", [before], precision="I64", destination_type="i64"))
    rows = body.result(body.add("Add", [before, row]))
    graph.result(graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
        {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
    return graph


BROKEN: dict[str, tuple[Callable[[], Graph], Any, str]] = {
    "twice": (twice_in_a_step, scanloom.InvalidModel, "layer 3 .*variable 'sum' is assigned twice in a run"),
    "computed": (computed, scanloom.Unsupported, "ReadValue.*'sum' is used in bodies, but its initial value is computed"),
    "type": (another_type, scanloom.InvalidModel, "Assign.*'sum' is f32.*, but is assigned i64"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_mistakes_are_named(name: str, tmp_path: pathlib.Path) -> None:
    make, kind, words = BROKEN[name]
    with pytest.raises(kind, match=words):
        scanloom.InferenceSession(make().save(tmp_path))


@pytest.mark.parametrize("version", [3, 6])
def test_what_nobody_reads_is_refused(version: int, tmp_path: pathlib.Path) -> None:
    """OpenVINO refuses it, too. A variable that only a dead layer reads is kept all the same."""
    for reads in (False, True):
        graph = Graph()
        x = graph.parameter("x", shape=(-1, 2))
        body = graph.body()
        row = body.parameter("row", shape=(1, 2))
        assign(body, "never", row, version)
        if reads:
            read(body, "never", version=version)
        rows = body.result(body.add("Abs", [row]))
        graph.result(graph.loop("TensorIterator", body, [x], 1, [
            {"kind": "input", "port": 0, "layer": row.layer, **WINDOW},
            {"kind": "output", "port": 0, "layer": rows, **WINDOW}]))  # fmt: skip
        if not reads:
            with pytest.raises(scanloom.InvalidModel, match=r"\(Assign\): variable 'never' is assigned, but no ReadValue"):
                scanloom.InferenceSession(graph.save(tmp_path))
            continue
        session = scanloom.InferenceSession(graph.save(tmp_path))
        assert [state.name for state in session.get_states()] == ["never"]
        np.testing.assert_array_equal(session.run(None, {"x": numbers(3, 2)})[0], np.abs(numbers(3, 2)))
