"""TensorIterator and Loop of OpenVINO: every attribute of port maps and back edges compared with
plain numpy, and with OpenVINO where it is right."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

RANDOM = np.random.default_rng(7)


@dataclasses.dataclass(frozen=True)
class Window:
    start: int = 0
    end: int = -1
    stride: int = 1
    part: int = 1

    def entry(self) -> dict[str, int]:
        return {"start": self.start, "end": self.end, "stride": self.stride, "part_size": self.part}

    def slices(self, array: np.ndarray, axis: int) -> list[np.ndarray]:
        """By the rule: end inclusive, negative numbers from the end; slice k begins at start + k *
        stride, with a negative stride it ends there; a remainder is left out."""
        size = array.shape[axis]
        start, end = (at + size if at < 0 else at for at in (self.start, self.end))
        found = []
        at = start
        while True:
            low, high = (at, at + self.part - 1) if self.stride > 0 else (at - self.part + 1, at)
            outside = high > end if self.stride > 0 else low < end
            if outside or low < 0 or high >= size:
                return found
            found.append(np.take(array, range(low, high + 1), axis))
            at += self.stride


FORWARDS = [
    Window(), Window(1), Window(0, 6), Window(2, -2), Window(-5, -1), Window(0, -1, 2, 2),
    Window(0, -1, 2, 1), Window(0, -1, 1, 3), Window(1, 7, 3, 2), Window(0, -1, 3, 3), Window(0, -1, 20, 1),
    Window(0, 7, 2, 2), Window(4, 4),
]  # fmt: skip
BACKWARDS = [
    Window(-1, 0, -1), Window(-1, 0, -2, 2), Window(-1, 0, -2, 1), Window(-1, 0, -1, 3), Window(-2, 1, -1),
    Window(6, 0, -1), Window(-1, -5, -1), Window(-1, 0, -3, 2), Window(7, 2, -2, 2), Window(-1, 0, -20, 1),
]  # fmt: skip


def total(graph: Graph, value: Port, axis: int) -> Port:
    """The sum along an axis, which stays with one element."""
    return graph.add("ReduceSum", [value, graph.constant([axis], "int64")], keep_dims=True)


def concatenated(rows: Sequence[np.ndarray], axis: int, backwards: bool) -> np.ndarray:
    return np.concatenate(list(reversed(rows)) if backwards else list(rows), axis)


def runs(path: str, feeds: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
    """The results on one and on two threads, and without machine code."""
    return [
        scanloom.InferenceSession(path, threads=threads, execution=execution).run(None, feeds)
        for threads, execution in ((1, "automatic"), (2, "automatic"), (1, "interpreted"), (1, "compiled"))
    ]


def check(graph: Graph, folder: pathlib.Path, feeds: dict[str, np.ndarray], expected: Sequence[Any]) -> None:
    for results in runs(graph.save(folder), feeds):
        assert len(results) == len(expected)
        for result, value in zip(results, expected, strict=True):
            assert result.shape == np.shape(value)
            np.testing.assert_allclose(result, value, rtol=2e-6, atol=1e-6)


def shape_of(array: np.ndarray, dynamic: bool) -> list[int]:
    return [-1] * array.ndim if dynamic else list(array.shape)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("window", FORWARDS + BACKWARDS, ids=str)
def test_windows(tmp_path, window, axis, dynamic):
    shape = [2, 3, 4]
    shape[axis] = 9
    x = RANDOM.standard_normal(shape).astype("f")
    graph = Graph()
    outer = graph.parameter("x", "float32", shape_of(x, dynamic))
    body = graph.body()
    inner = body.parameter("slice", "float32", [-1, -1, -1])
    doubled = body.result(body.add("Multiply", [inner, body.constant(2, "float32")]))
    port = graph.loop("TensorIterator", body, [outer], 3, [
        {"kind": "input", "port": 0, "layer": inner.layer, "axis": axis, **window.entry()},
        {"kind": "output", "port": 0, "layer": doubled, "axis": axis, "stride": 1},
        {"kind": "output", "port": 1, "layer": doubled, "axis": axis, "start": -1, "end": 0, "stride": -1},
        {"kind": "output", "port": 2, "layer": doubled}])  # fmt: skip
    for output in range(3):
        graph.result(Port(port.layer, output))
    rows = [2 * part for part in window.slices(x, axis)]
    check(graph, tmp_path, {"x": x},
          [concatenated(rows, axis, False), concatenated(rows, axis, True), rows[-1]])  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        (Window(), Window(0, -1, 2, 2), Window(-1, 0, -1)),
        (Window(-1, 0, -1), Window(-1, 0, -2, 2), Window(0, 8)),
        (Window(0, -1, 3, 2), Window(8, 0, -3), Window(1, 3)),
        (Window(2, -2), Window(-1, 5, -1, 1), Window(0, -1, 2, 1)),
    ],
)
def test_several_sliced_inputs(tmp_path, first, second, third, dynamic):
    counts = {}
    arrays = {}
    for name, window, axis in (("a", first, 0), ("b", second, 1), ("c", third, 2)):
        for size in range(1, 40):
            shape = [2, 3, 4]
            shape[axis] = size
            probe = np.zeros(shape)
            try:
                count = len(window.slices(probe, axis))
            except IndexError:
                continue
            counts.setdefault(name, {}).setdefault(count, size)
    common = max(set(counts["a"]) & set(counts["b"]) & set(counts["c"]))
    assert common >= 2
    for name, axis in (("a", 0), ("b", 1), ("c", 2)):
        shape = [2, 3, 4]
        shape[axis] = counts[name][common]
        arrays[name] = RANDOM.standard_normal(shape).astype("f")
    windows = {"a": first, "b": second, "c": third}
    graph = Graph()
    outer = [graph.parameter(name, "float32", shape_of(arrays[name], dynamic)) for name in "abc"]
    body = graph.body()
    inner = [body.parameter(name, "float32", [-1, -1, -1]) for name in "abc"]
    sums = [total(body, total(body, total(body, value, 0), 1), 2) for value in inner]
    result = body.result(body.add("Add", [body.add("Add", sums[:2]), sums[2]]))
    port = graph.loop("TensorIterator", body, outer, 1, [
        *({"kind": "input", "port": i, "layer": inner[i].layer, "axis": i, **windows[name].entry()}
          for i, name in enumerate("abc")),
        {"kind": "output", "port": 0, "layer": result, "axis": 0}])  # fmt: skip
    graph.result(port)
    parts = [windows[name].slices(arrays[name], axis) for axis, name in enumerate("abc")]
    expected = [sum(float(p.sum()) for p in step) for step in zip(*parts, strict=True)]
    check(graph, tmp_path, arrays, [np.reshape(np.float32(expected), (-1, 1, 1))])


# Back edges: (from state, to state), by position; what the body makes of its states and the slice.
PATTERNS = {
    "one state": (1, [(0, 0)]),
    "two states": (2, [(0, 0), (1, 1)]),
    "swapped": (2, [(0, 1), (1, 0)]),
    "one result to two states": (2, [(0, 0), (0, 1)]),
    "delay line": (3, [(0, 0), (3, 1), (4, 2)]),
    "rotation": (3, [(0, 1), (1, 2), (2, 0)]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("window", [Window(), Window(-1, 0, -1), Window(0, -1, 2, 2)], ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_back_edges(tmp_path, pattern, window, dynamic):
    count, edges = PATTERNS[pattern]
    x = RANDOM.standard_normal((2, 8)).astype("f")
    starts = [RANDOM.standard_normal((2, 1)).astype("f") for _ in range(count)]
    graph = Graph()
    outer = [graph.parameter("x", "float32", shape_of(x, dynamic))]
    outer += [graph.parameter(f"s{i}", "float32", shape_of(s, dynamic)) for i, s in enumerate(starts)]
    body = graph.body()
    inner = body.parameter("slice", "float32", [-1, -1])
    states = [body.parameter(f"s{i}", "float32", [-1, -1]) for i in range(count)]
    row = total(body, inner, 1)
    made = [body.add("Add", [body.add("Multiply", [state, body.constant(0.5, "float32")]), row])
            for state in states]  # fmt: skip
    # Behind them the states as they are: a delay line hands them on.
    results = [body.result(value) for value in made + states]
    entries = [{"kind": "input", "port": 0, "layer": inner.layer, "axis": 1, **window.entry()}]
    entries += [{"kind": "input", "port": 1 + i, "layer": s.layer} for i, s in enumerate(states)]
    entries += [{"kind": "output", "port": i, "layer": results[i]} for i in range(count)]
    entries += [{"kind": "output", "port": count, "layer": results[0], "axis": 1, "stride": -1}]
    port = graph.loop("TensorIterator", body, outer, count + 1, entries,
                      [(results[a], states[b].layer) for a, b in edges])  # fmt: skip
    for i in range(count + 1):
        graph.result(Port(port.layer, i))
    now = list(starts)
    rows, values = [], []
    for part in window.slices(x, 1):
        total_of_part = part.sum(axis=1, keepdims=True)
        values = [0.5 * state + total_of_part for state in now] + now
        rows.append(values[0])
        after = list(now)
        for source, target in edges:
            after[target] = values[source]
        now = after
    feeds = {"x": x, **{f"s{i}": s for i, s in enumerate(starts)}}
    check(graph, tmp_path, feeds, [*values[:count], concatenated(rows, 1, True)])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("trips", [0, 1, 5, -1])
@pytest.mark.parametrize("computed", [False, True])
def test_loops(tmp_path, trips, shape, dtype, computed):
    """A counter, a condition that ends the loop, scalars and lists of one element."""
    graph = Graph()
    x = graph.parameter("x", "float32", [1, 2])
    count = (graph.parameter("trips", dtype, shape) if computed
             else graph.constant(np.full(shape, trips), dtype))  # fmt: skip
    go = graph.constant(np.ones(shape, bool))
    body = graph.body()
    step = body.parameter("step", dtype, shape)
    state = body.parameter("state", "float32", [1, 2])
    real = body.add("Convert", [step], destination_type="f32")
    after = body.add("Add", [state, real])
    condition = body.add("Less", [step, body.constant(np.full(shape, 6), dtype)])
    ends = [body.result(value) for value in (condition, after)]
    port = graph.loop("Loop", body, [count, go, x], 2, [
        {"kind": "input", "port": 2, "layer": state.layer},
        {"kind": "input", "port": -1, "layer": step.layer, "purpose": "current_iteration"},
        {"kind": "output", "port": -1, "layer": ends[0], "purpose": "execution_condition"},
        {"kind": "output", "port": 0, "layer": ends[1]},
        {"kind": "output", "port": 1, "layer": ends[1], "axis": 0},
    ], [(ends[1], state.layer)])  # fmt: skip
    graph.result(port)
    graph.result(Port(port.layer, 1))
    start = np.float32([[1, 2]])
    rows, now = [], start
    # The step that turns the condition false counts.
    for i in range(7 if trips < 0 else trips):
        now = now + np.float32(i)
        rows.append(now)
    stacked = np.concatenate(rows) if rows else np.zeros((0, 2), "f")
    feeds = {"x": start} | ({"trips": np.full(shape, trips, dtype)} if computed else {})
    check(graph, tmp_path, feeds, [now, stacked])


@pytest.mark.parametrize("kind", ["TensorIterator", "Loop"])
def test_nothing_to_walk_along(tmp_path, kind):
    """An axis of length 0: no step, states keep their first values, rows are none."""
    graph = Graph()
    x = graph.parameter("x", "float32", [-1, 2])
    h = graph.parameter("h", "float32", [1, 2])
    body = graph.body()
    inner, state = body.parameter("x", "float32", [1, 2]), body.parameter("h", "float32", [1, 2])
    result = body.result(body.add("Add", [inner, state]))
    first = 2 if kind == "Loop" else 0
    inputs = [graph.constant(-1, "int64"), graph.constant(True)] if first else []
    port = graph.loop(kind, body, [*inputs, x, h], 2, [
        {"kind": "input", "port": first, "layer": inner.layer, "axis": 0},
        {"kind": "input", "port": first + 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": result},
        {"kind": "output", "port": 1, "layer": result, "axis": 0}], [(result, state.layer)])  # fmt: skip
    graph.result(port)
    graph.result(Port(port.layer, 1))
    start = np.float32([[3, 4]])
    check(graph, tmp_path, {"x": np.zeros((0, 2), "f"), "h": start}, [start, np.zeros((0, 2), "f")])


def test_nests(tmp_path):
    """A TensorIterator in a Loop in an If, each side of which has another number of layers."""
    graph = Graph()
    choice = graph.parameter("choice", "bool", [])
    x = graph.parameter("x", "float32", [3, 2])
    then = graph.body()
    outer = then.parameter("x", "float32", [3, 2])
    loop_body = graph.body()
    carried = loop_body.parameter("x", "float32", [3, 2])
    inner_body = graph.body()
    row, state = inner_body.parameter("row", "float32", [1, 2]), inner_body.parameter("s", "float32", [1, 2])
    made = inner_body.result(inner_body.add("Add", [row, state]))
    zero = loop_body.constant(np.zeros((1, 2)), "float32")
    inner = loop_body.loop("TensorIterator", inner_body, [carried, zero], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": made, "axis": 0}], [(made, state.layer)])  # fmt: skip
    yes = loop_body.result(loop_body.constant(True))
    after = loop_body.result(inner)
    loop = then.loop("Loop", loop_body, [then.constant(3, "int64"), then.constant(True), outer], 1, [
        {"kind": "input", "port": 2, "layer": carried.layer},
        {"kind": "output", "port": -1, "layer": yes, "purpose": "execution_condition"},
        {"kind": "output", "port": 0, "layer": after}], [(after, carried.layer)])  # fmt: skip
    then_result = then.result(loop)
    otherwise = graph.body()
    same = otherwise.parameter("x", "float32", [3, 2])
    else_result = otherwise.result(otherwise.add("Add", [same, same]))
    branch = graph.branch([choice, x], 1, [
        (then, [{"kind": "input", "port": 1, "layer": outer.layer},
                {"kind": "output", "port": 0, "layer": then_result}]),
        (otherwise, [{"kind": "input", "port": 1, "layer": same.layer},
                     {"kind": "output", "port": 0, "layer": else_result}])])  # fmt: skip
    graph.result(branch)
    value = np.arange(6, dtype="f").reshape(3, 2)
    expected = value
    for _ in range(3):
        expected = np.cumsum(expected, axis=0)
    check(graph, tmp_path, {"choice": np.array(True), "x": value}, [expected])
    check(graph, tmp_path, {"choice": np.array(False), "x": value}, [2 * value])


def test_states_whose_sizes_change(tmp_path):
    graph = Graph()
    x, h = graph.parameter("x", "float32", [4, 2]), graph.parameter("h", "float32", [-1, 2])
    body = graph.body()
    row, state = body.parameter("row", "float32", [1, 2]), body.parameter("state", "float32", [-1, 2])
    longer = body.result(body.add("Concat", [state, row], axis=0))
    port = graph.loop("TensorIterator", body, [x, h], 2, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": longer},
        {"kind": "output", "port": 1, "layer": longer, "axis": 0}], [(longer, state.layer)])  # fmt: skip
    graph.result(port)
    graph.result(Port(port.layer, 1))
    value, start = np.arange(8, dtype="f").reshape(4, 2), np.ones((1, 2), "f")
    states = [np.concatenate([start, value[: n + 1]]) for n in range(4)]
    check(graph, tmp_path, {"x": value, "h": start}, [states[-1], np.concatenate(states)])


def test_invariants_and_constants(tmp_path):
    """One external port for two Parameters, a constant handed in, a value used whole and sliced."""
    graph = Graph()
    x = graph.parameter("x", "float32", [4, 2])
    scale = graph.constant(np.float32([[10, 100]]))
    body = graph.body()
    row = body.parameter("row", "float32", [1, 2])
    whole = body.parameter("whole", "float32", [4, 2])
    factor = body.parameter("factor", "float32", [1, 2])
    result = body.result(
        body.add("Add", [body.add("Multiply", [row, factor]), total(body, whole, 0)])
    )
    port = graph.loop("TensorIterator", body, [x, scale], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0},
        {"kind": "input", "port": 0, "layer": whole.layer},
        {"kind": "input", "port": 1, "layer": factor.layer},
        {"kind": "output", "port": 0, "layer": result, "axis": 0}])  # fmt: skip
    graph.result(port)
    value = np.arange(8, dtype="f").reshape(4, 2)
    check(graph, tmp_path, {"x": value}, [value * [[10, 100]] + value.sum(axis=0, keepdims=True)])


def test_every_window_agrees_with_the_rule():
    """The reference itself, on the examples that OpenVINO's own tests pin: 40 elements, parts of 2."""
    line = np.arange(40)
    for end, count in ((39, 20), (-1, 20), (38, 19), (-2, 19)):
        assert len(Window(0, end, 2, 2).slices(line, 0)) == count
    for window, size in itertools.product(FORWARDS + BACKWARDS, (9,)):
        assert window.slices(np.arange(size), 0)
