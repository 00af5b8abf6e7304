"""Outputs of TensorIterator and Loop without an axis that are no states: values of the last step, whose
sizes may differ from those of the steps before."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

X = np.float32([[1, 0], [0, 3], [5, 6], [0, 0]])
START = np.float32([[7, 8]])
EXECUTIONS = ("automatic", "stepped", "interpreted", "compiled")

Row = Callable[[Graph, Port, Port], Port]
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]


def doubled(body: Graph, _row: Port, grown: Port) -> Port:
    return body.add("Multiply", [grown, body.constant(np.float32(2))])


def places(body: Graph, row: Port, _grown: Port) -> Port:
    return body.add("NonZero", [row], 1, 3, output_type="i64")


def squeezed(body: Graph, _row: Port, grown: Port) -> Port:
    """The number of axes is unknown: one after the first step, two after later steps."""
    first = body.add("Slice", [grown, *(body.constant(np.array([at])) for at in (1, 10**6, 1))], 1, 8)
    return body.add("Squeeze", [first])


def is_positive(body: Graph, _row: Port, grown: Port) -> Port:
    return body.add("Greater", [grown, body.constant(np.float32(0))])


def total(body: Graph, row: Port, _grown: Port) -> Port:
    """The same sizes in every step."""
    return body.add("ReduceSum", [row, body.constant(np.array([0, 1]))], keep_dims=False)


ROWS: dict[Row, Formula] = {
    doubled: lambda _row, grown: 2 * grown,
    places: lambda row, _grown: np.array(np.nonzero(row), np.int64),
    squeezed: lambda _row, grown: grown[1:].squeeze(),
    is_positive: lambda _row, grown: grown > 0,
    total: lambda row, _grown: np.sum(row, dtype=np.float32),
}


def grown_rows(graph: Graph, rows: Sequence[Row], kind: str = "TensorIterator", read: bool = True) -> Port:
    """A loop over the rows of x, which a state grows by; its outputs are the state and `rows`. A Loop
    also counts its steps."""
    x, start = graph.parameter("x", "float32", [-1, 2]), graph.parameter("h", "float32", [-1, 2])
    body = graph.body()
    row, state = body.parameter("row", "float32", [1, 2]), body.parameter("state", "float32", [-1, 2])
    grown = body.add("Concat", [state, row], axis=0)
    results = [body.result(grown), *(body.result(make(body, row, grown)) for make in rows)]
    port_map: list[dict[str, Any]] = []
    inputs = [x, start]
    if kind == "Loop":
        inputs = [graph.constant(np.array(-1)), graph.constant(np.array(True)), *inputs]
        step = body.parameter("step", "int32", [1])
        results.append(body.result(step))
        goes_on = body.result(body.add("Less", [step, body.constant(np.array([2], np.int32))]))
        port_map = [
            {"kind": "input", "port": -1, "layer": step.layer, "purpose": "current_iteration"},
            {"kind": "output", "port": -1, "layer": goes_on, "purpose": "execution_condition"},
        ]
    port_map += [{"kind": "input", "port": len(inputs) - 2, "layer": row.layer, "axis": 0},
                 {"kind": "input", "port": len(inputs) - 1, "layer": state.layer},
                 *({"kind": "output", "port": i, "layer": at} for i, at in enumerate(results))]  # fmt: skip
    port = graph.loop(kind, body, inputs, len(results), port_map, [(results[0], state.layer)])
    for i in range(len(results) if read else 1):
        graph.result(Port(port.layer, i))
    return port


def run(path: str, x: np.ndarray, execution: str) -> list[np.ndarray]:
    return scanloom.InferenceSession(path, execution=execution).run(None, {"x": x, "h": START})


@pytest.mark.parametrize("kind", ["TensorIterator", "Loop"])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", [[row] for row in ROWS] + [list(ROWS)], ids=lambda rows: rows[-1].__name__)
def test_rows_of_the_last_step(rows: list[Row], steps: int, kind: str, tmp_path: pathlib.Path) -> None:
    graph = Graph()
    grown_rows(graph, rows, kind)
    path = graph.save(tmp_path)
    taken = min(steps, 3) if kind == "Loop" else steps
    grown = np.concatenate([START, X[:taken]])
    expected = [grown, *(ROWS[row](X[taken - 1 : taken], grown) for row in rows)]
    if kind == "Loop":
        expected.append(np.array([taken - 1], np.int32))
    for execution in EXECUTIONS:
        results = run(path, X[:steps], execution)
        for result, wanted in zip(results, expected, strict=True):
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("row", [doubled, places, squeezed, total], ids=lambda row: row.__name__)
def test_without_a_step_there_is_none(row: Row, execution: str, tmp_path: pathlib.Path) -> None:
    graph = Graph()
    grown_rows(graph, [row])
    with pytest.raises(scanloom.Error, match=r"TensorIterator.*index -1 is outside an axis of 0 elements"):
        run(graph.save(tmp_path), X[:0], execution)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_nobody_misses_what_nobody_reads(execution: str, tmp_path: pathlib.Path) -> None:
    graph = Graph()
    grown_rows(graph, list(ROWS), read=False)
    (state,) = run(graph.save(tmp_path), X[:0], execution)
    np.testing.assert_array_equal(state, START)


def test_rows_in_a_nest(tmp_path: pathlib.Path) -> None:
    """The inner loop's last row is a row of the outer one, whose last row is read."""
    graph = Graph()
    x = graph.parameter("x", "float32", [-1, -1, 2])
    outer = graph.body()
    block = outer.parameter("block", "float32", [1, -1, 2])
    rows = outer.add("Squeeze", [block, outer.constant(np.array([0]))])
    inner = outer.body()
    row, state = inner.parameter("row", "float32", [1, 2]), inner.parameter("state", "float32", [-1, 2])
    grown = inner.add("Concat", [state, row], axis=0)
    results = [inner.result(grown), inner.result(doubled(inner, row, grown))]
    made = outer.loop("TensorIterator", inner, [rows, outer.constant(START)], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": results[1]}], [(results[0], state.layer)])  # fmt: skip
    last = outer.result(outer.add("Add", [made, outer.constant(np.float32(1))]))
    graph.result(graph.loop("TensorIterator", outer, [x], 1, [
        {"kind": "input", "port": 0, "layer": block.layer, "axis": 0},
        {"kind": "output", "port": 0, "layer": last}]))  # fmt: skip
    path = graph.save(tmp_path)
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(path, execution=execution)
        for value in (X.reshape(2, 2, 2), X.reshape(1, 4, 2)):
            (result,) = session.run(None, {"x": value})
            np.testing.assert_array_equal(result, 2 * np.concatenate([START, value[-1]]) + 1)


def test_as_openvino(tmp_path: pathlib.Path) -> None:
    openvino = pytest.importorskip("openvino", reason="needs the package openvino")
    graph = Graph()
    grown_rows(graph, [doubled, is_positive])
    path = graph.save(tmp_path)
    compiled = openvino.Core().compile_model(path, "CPU")
    theirs = compiled([X, START])
    for result, output in zip(run(path, X, "automatic"), compiled.outputs, strict=True):
        np.testing.assert_array_equal(result, theirs[output])
