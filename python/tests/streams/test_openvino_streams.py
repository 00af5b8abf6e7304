"""Low latency: the carried values of an IR's loops are states, and a sequence in pieces gives the
bits of the whole."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from loop_models import parse
from openvino_ir import Graph, Port

import scanloom

STEPS = 17
FORWARDS = {"start": 0, "end": -1, "stride": 1, "part_size": 1}
BACKWARDS = {"start": -1, "end": 0, "stride": -1, "part_size": 1}


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


def add_iterator(
    graph: Graph,
    x: Port,
    first: Sequence[Port],
    shape: Sequence[int],
    axis: int = 0,
    kind: str = "TensorIterator",
    window: dict[str, int] = FORWARDS,
    before: Sequence[Port] = (),
    name: str | None = None,
) -> list[Port]:
    """A loop over slices `shape` of x: its state 0 is tanh of the sum so far, state k the sum of
    state k - 1. Results: the rows of the last state, and what each state ends as."""
    body = graph.body()
    row = body.parameter("row", shape=shape)
    states = [body.parameter(f"s{i}", shape=shape) for i in range(len(first))]
    value = body.add("Tanh", [body.add("Add", [states[0], row])])
    results = [body.result(value, "next0")]
    for i, state in enumerate(states[1:], 1):
        value = body.add("Add", [state, value])
        results.append(body.result(value, f"next{i}"))
    entries = [
        {"kind": "input", "port": len(before), "layer": row.layer, "axis": axis, **window},
        *({"kind": "input", "port": len(before) + 1 + i, "layer": state.layer}
          for i, state in enumerate(states)),
        {"kind": "output", "port": 0, "layer": results[-1], "axis": axis, **window},
        *({"kind": "output", "port": 1 + i, "layer": result} for i, result in enumerate(results)),
    ]  # fmt: skip
    if kind == "Loop":
        go = body.result(body.constant(True), "go")
        entries.append({"kind": "output", "port": -1, "layer": go, "purpose": "execution_condition"})
    made = graph.loop(kind, body, [*before, x, *first], 1 + len(first), entries,
                      [(result, state.layer) for result, state in zip(results, states)])  # fmt: skip
    if name is not None:
        graph.layers[made.layer].set("name", name)
    return [Port(made.layer, i) for i in range(1 + len(first))]


def finish(graph: Graph, results: Sequence[Port]) -> Graph:
    for i, result in enumerate(results):
        graph.result(result, f"result_{i}")
    return graph


def iterator(states: int = 1, shape: Sequence[int] = (-1, 2, 3), axis: int = 0, **rest: Any) -> Graph:
    graph = Graph()
    x = graph.parameter("x", shape=shape)
    row = [1 if at == axis else size for at, size in enumerate(shape)]
    first = [graph.constant(np.full(row, i / 4), "float32") for i in range(states)]
    return finish(graph, add_iterator(graph, x, first, row, axis, name="loop", **rest))


def first_from_input() -> Graph:
    graph = Graph()
    x, h = graph.parameter("x", shape=(-1, 2, 3)), graph.parameter("h", shape=(1, 2, 3))
    twice = graph.add("Add", [h, h])
    return finish(graph, add_iterator(graph, x, [h, twice], (1, 2, 3), name="loop"))


def counted() -> Graph:
    """A Loop that takes as many steps as x has rows."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2, 3))
    sizes = graph.add("ShapeOf", [x], version=3, precision="I64", output_type="i64")
    zero = graph.constant(0, "int64")
    count = graph.add("Gather", [sizes, zero, zero], version=8, precision="I64")
    first = graph.constant(np.zeros((1, 2, 3)), "float32")
    go = graph.constant(True)
    return finish(graph, add_iterator(graph, x, [first], (1, 2, 3), 0, "Loop", before=[count, go], name="loop"))


def beside_a_variable() -> Graph:
    """One loop begins with a variable, which is assigned what it ends as, the other with zeros; a
    second variable is read and never changed."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2, 3))
    zeros = graph.constant(np.zeros((1, 2, 3)), "float32")
    of = {"variable_type": "f32", "variable_shape": "1,2,3"}
    kept = graph.add("ReadValue", [zeros], version=6, variable_id="kept", **of)
    scale = graph.add("ReadValue", [graph.constant(np.full((1, 2, 3), 0.5), "float32")], version=6,
                      variable_id="scale", **of)  # fmt: skip
    one = add_iterator(graph, graph.add("Multiply", [x, scale]), [kept], (1, 2, 3), name="one")
    graph.add("Assign", [one[1]], version=6, variable_id="kept", **of)
    graph.add("Assign", [scale], version=6, variable_id="scale", **of)
    two = add_iterator(graph, one[0], [zeros], (1, 2, 3), name="two")
    return finish(graph, [*one, *two])


def last_row() -> Graph:
    """A model whose output is a value of the body's last step that is no state."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2, 3))
    body = graph.body()
    row, state = body.parameter("row", shape=(1, 2, 3)), body.parameter("s", shape=(1, 2, 3))
    total = body.add("Add", [row, state])
    following = body.result(total)
    last = body.result(body.add("Sin", [total]))
    first = graph.constant(np.zeros((1, 2, 3)), "float32")
    made = graph.loop("TensorIterator", body, [x, first], 2, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0, **FORWARDS},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": following, "axis": 0, **FORWARDS},
        {"kind": "output", "port": 1, "layer": last},
    ], [(following, state.layer)])  # fmt: skip
    return finish(graph, [Port(made.layer, 0), Port(made.layer, 1)])


def wide_rows() -> Graph:
    """Each step adds two rows to the result."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2, 3))
    body = graph.body()
    row, state = body.parameter("row", shape=(1, 2, 3)), body.parameter("s", shape=(1, 2, 3))
    total = body.add("Add", [row, state])
    following = body.result(total)
    both = body.result(body.add("Concat", [total, row], axis=0))
    first = graph.constant(np.zeros((1, 2, 3)), "float32")
    made = graph.loop("TensorIterator", body, [x, first], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0, **FORWARDS},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": both, "axis": 0, **FORWARDS},
    ], [(following, state.layer)])  # fmt: skip
    return finish(graph, [graph.add("Abs", [made])])


def layer(kind: str, gates: int) -> Graph:
    """A sequence operator with the batch first, the lengths being those of the sequence."""
    graph = Graph()
    x = graph.parameter("x", shape=(2, -1, 3))
    sizes = graph.add("ShapeOf", [x], version=3, precision="I32", output_type="i32")
    steps = graph.add("Gather", [sizes, graph.constant([1], "int64"), graph.constant(0, "int64")],
                      version=8, precision="I32")  # fmt: skip
    lengths = graph.add("Broadcast", [steps, graph.constant([2], "int64")], version=3, precision="I32",
                        mode="numpy")  # fmt: skip
    first = [graph.constant(np.full((2, 1, 4), 0.25), "float32") for _ in range(1 + (kind == "LSTM"))]
    w, r = (graph.constant(numbers(1, gates * 4, size) / 3, "float32") for size in (3, 4))
    b = graph.constant(numbers(1, gates * 4), "float32")
    made = graph.add(f"{kind}Sequence", [x, *first, lengths, w, r, b], 1 + len(first), 5, "layer",
                     direction="forward", hidden_size=4)  # fmt: skip
    return finish(graph, [Port(made.layer, i) for i in range(1 + len(first))])


MODELS: dict[str, tuple[Callable[[], Graph], int, list[str]]] = {
    "one_state": (iterator, 0, ["loop/s0/variable_0"]),
    "three_states": (lambda: iterator(3), 0, [f"loop/s{i}/variable_{i}" for i in range(3)]),
    "another_axis": (lambda: iterator(2, (2, -1, 3), 1), 1, [f"loop/s{i}/variable_{i}" for i in range(2)]),
    "first_from_input": (first_from_input, 0, [f"loop/s{i}/variable_{i}" for i in range(2)]),
    "trip_count": (counted, 0, ["loop/s0/variable_0"]),
    "beside_a_variable": (beside_a_variable, 0, ["scale", "kept", "two/s0/variable_0"]),
    "last_row": (last_row, 0, ["TensorIterator_2/s/variable_0"]),
    "wide_rows": (wide_rows, 0, ["TensorIterator_2/s/variable_0"]),
    "lstm": (lambda: layer("LSTM", 4), 1, ["layer/initial_h/variable_0", "layer/initial_c/variable_1"]),
    "gru": (lambda: layer("GRU", 3), 1, ["layer/initial_h/variable_0"]),
    "rnn": (lambda: layer("RNN", 1), 1, ["layer/initial_h/variable_0"]),
}  # fmt: skip


def feeds_of(session: scanloom.InferenceSession) -> dict[str, np.ndarray]:
    return {end.name: numbers(*(size if isinstance(size, int) else STEPS for size in end.shape))
            for end in session.get_inputs()}  # fmt: skip


def cuts(seed: int) -> list[tuple[int, int]]:
    """Pieces of one step each, or of random sizes, none among them where a step is one."""
    if seed == 0:
        return [(at, at + 1) for at in range(STEPS)]
    inner = sorted(np.random.default_rng(seed).choice(np.arange(1, STEPS), 4, False).tolist())
    return list(zip([0, *inner], [*inner, STEPS]))


def steps_axis(shape: Sequence[int]) -> int | None:
    found = [axis for axis, size in enumerate(shape) if size in (STEPS, 2 * STEPS)]
    return found[0] if found else None


def check_whole(parts: Sequence[Sequence[np.ndarray]], whole: Sequence[np.ndarray]) -> None:
    for index, wanted in enumerate(whole):
        axis = steps_axis(wanted.shape)
        got = parts[-1][index] if axis is None else np.concatenate([part[index] for part in parts], axis)
        assert got.shape == wanted.shape
        assert got.tobytes() == wanted.tobytes(), index


def piece(feeds: dict[str, np.ndarray], axis: int, first: int, last: int) -> dict[str, np.ndarray]:
    return {**feeds, "x": np.take(feeds["x"], range(first, last), axis)}


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
@pytest.mark.parametrize("name", MODELS)
def test_pieces_give_the_bits_of_the_whole(name: str, execution: str, tmp_path: pathlib.Path) -> None:
    make, axis, states = MODELS[name]
    path = make().save(tmp_path)
    plain = scanloom.InferenceSession(path, execution=execution)
    session = scanloom.InferenceSession(path, execution=execution, low_latency=True)
    names = [end.name for end in plain.get_outputs()]
    assert [end.name for end in session.get_outputs()] == names
    assert [end.name for end in session.get_inputs()] == [end.name for end in plain.get_inputs()]
    assert [state.name for state in session.get_states()] == states
    feeds = feeds_of(session)
    whole = plain.run(None, feeds)
    for got, wanted in zip(session.run(None, feeds), whole, strict=True):
        assert got.tobytes() == wanted.tobytes()
    stream = session.stream()
    for seed in range(4):
        check_whole([stream.push(piece(feeds, axis, *cut), names) for cut in cuts(seed)], whole)
        stream.reset_state()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "beside_a_variable"])
def test_streams_of_plain_sessions(name: str, tmp_path: pathlib.Path) -> None:
    make, axis, _ = MODELS[name]
    session = scanloom.InferenceSession(make().save(tmp_path))
    names = [end.name for end in session.get_outputs()]
    feeds = feeds_of(session)
    begin = {key: feeds.pop(key) for key in list(feeds) if key != "x"}
    whole = session.run(None, {**feeds, **begin})
    for seed in range(3):
        stream = session.stream()
        parts = [stream.push({**piece(feeds, axis, *cut), **(begin if cut[0] == 0 else {})}, names)
                 for cut in cuts(seed)]  # fmt: skip
        check_whole(parts, whole)


def test_states_can_be_read_and_set(tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(iterator(2).save(tmp_path), low_latency=True)
    names = [end.name for end in session.get_outputs()]
    states = [state.name for state in session.get_states()]
    assert [state.shape for state in session.get_states()] == [[1, 2, 3]] * 2
    feeds = feeds_of(session)
    whole = session.run(None, feeds)
    one, two = session.stream(), session.stream()
    assert one.get(states[1]).tobytes() == np.full((1, 2, 3), 0.25, np.float32).tobytes()
    first = one.push(piece(feeds, 0, 0, 5), names)
    for index, state in enumerate(states):
        assert one.get(state).tobytes() == first[1 + index].tobytes()
        two.set(state, one.get(state))
    check_whole([first, two.push(piece(feeds, 0, 5, STEPS), names)], whole)
    with pytest.raises(scanloom.InvalidArgument, match="size 3 on axis 2"):
        two.set(states[0], np.zeros((1, 2, 4), np.float32))
    with pytest.raises(scanloom.NotFound, match="loop/s9"):
        two.get("loop/s9/variable_0")


def test_first_values_are_those_of_the_first_piece(tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(first_from_input().save(tmp_path), low_latency=True)
    names = [end.name for end in session.get_outputs()]
    feeds = feeds_of(session)
    whole = session.run(None, feeds)
    stream = session.stream()
    with pytest.raises(scanloom.NotFound, match="the first push computes"):
        stream.get("loop/s1/variable_1")
    first = stream.push(piece(feeds, 0, 0, 3), names)
    other = {**piece(feeds, 0, 3, STEPS), "h": np.full((1, 2, 3), 9, np.float32)}
    check_whole([first, stream.push(other, names)], whole)


def test_walking_backwards_is_refused(tmp_path: pathlib.Path) -> None:
    path = iterator(window=BACKWARDS).save(tmp_path)
    with pytest.raises(scanloom.Unsupported, match="layer 2 'loop' .TensorIterator. computes across.*backwards"):
        scanloom.InferenceSession(path, low_latency=True)


def test_variables_of_their_own_are_refused(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 2, 3))
    zeros = graph.constant(np.zeros((1, 2, 3)), "float32")
    runs = graph.add("ReadValue", [zeros], version=6, variable_id="runs", variable_type="f32", variable_shape="1,2,3")
    graph.add("Assign", [graph.add("Exp", [runs])], version=6, variable_id="runs")
    finish(graph, add_iterator(graph, graph.add("Add", [x, runs]), [zeros], (1, 2, 3)))
    with pytest.raises(scanloom.Unsupported, match="variable 'runs' is assigned once per run"):
        scanloom.InferenceSession(graph.save(tmp_path), low_latency=True)


def test_other_states_are_not_named_besides(tmp_path: pathlib.Path) -> None:
    with pytest.raises(scanloom.InvalidArgument, match="states .'x'. cannot be named as well"):
        scanloom.InferenceSession(iterator().save(tmp_path), low_latency=True, states={"x": "y"})


# What an IR can be written of.
LOOPS = [name for name in MODELS if name not in ("lstm", "gru", "rnn")]


def converted(name: str, folder: pathlib.Path, target: str) -> tuple[str, dict[str, np.ndarray], Any]:
    """The path of the model, written with its states; the feeds, and the results of the whole."""
    path = MODELS[name][0]().save(folder)
    out = str(folder / target)
    scanloom.convert(path, out, stream=True)
    session = scanloom.InferenceSession(path)
    feeds = feeds_of(session)
    return out, feeds, session.run(None, feeds)


def close(parts: Sequence[Sequence[np.ndarray]], whole: Sequence[np.ndarray]) -> None:
    for index, wanted in enumerate(whole):
        axis = steps_axis(wanted.shape)
        got = parts[-1][index] if axis is None else np.concatenate([part[index] for part in parts], axis)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LOOPS)
def test_an_ir_with_its_states(name: str, tmp_path: pathlib.Path) -> None:
    axis = MODELS[name][1]
    path, feeds, whole = converted(name, tmp_path, "stream.xml")
    session = scanloom.InferenceSession(path)
    assert sorted(state.name for state in session.get_states()) == sorted(MODELS[name][2])
    names = [end.name for end in session.get_outputs()]
    stream = session.stream()
    for seed in range(3):
        check_whole([stream.push(piece(feeds, axis, *cut), names) for cut in cuts(seed)], whole)
        stream.reset_state()


@pytest.mark.parametrize("name", LOOPS)
def test_an_ir_with_its_states_in_openvino(name: str, tmp_path: pathlib.Path) -> None:
    openvino = pytest.importorskip("openvino")
    axis = MODELS[name][1]
    path, feeds, whole = converted(name, tmp_path, "stream.xml")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    assert sorted(state.name for state in request.query_state()) == sorted(MODELS[name][2])
    for seed in range(2):
        parts = []
        for cut in cuts(seed):
            results = request.infer(piece(feeds, axis, *cut))
            parts.append([results[end].copy() for end in compiled.outputs])
        close(parts, whole)
        request.reset_state()


SUMS = """g (float[T,3] x, float[3] h0) => (float[3] h, float[T,3] y) {
  FIRST
  h, y = Scan <num_scan_inputs = 1,
    body = step (float[3] a, float[3] b) => (float[3] c, float[3] d) {
      c = Add(a, b)
      d = Tanh(c)
    }> (first, x)
}"""


@pytest.mark.parametrize("first", ["Add(h0, h0)", "Constant <value = float[3] {1,2,3}> ()"])
def test_an_onnx_model_with_its_states(first: str, tmp_path: pathlib.Path) -> None:
    model = parse(SUMS.replace("FIRST", f"first = {first}"))
    path = str(tmp_path / "stream.onnx")
    scanloom.convert(model, path, stream=True)
    onnx.checker.check_model(path, full_check=True)
    feeds = {"x": numbers(STEPS, 3), "h0": numbers(3)}
    whole = scanloom.InferenceSession(model).run(None, feeds)
    computed = "h0" in first
    for session in (scanloom.InferenceSession(path),
                    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])):  # fmt: skip
        names = [end.name for end in session.get_outputs()]
        assert names == ["h", "y", "step/a/variable_0 (next)"]
        kept = np.full(3, 99, np.float32) if computed else np.array([1, 2, 3], np.float32)
        parts = []
        for cut in cuts(2):
            given = {**piece(feeds, 0, *cut), "step/a/variable_0": kept}
            if computed:
                given["step/a/variable_0/kept"] = np.array(cut[0] > 0)
            *part, kept = session.run(names, given)
            parts.append(part)
        close(parts, whole)


def test_functions_keep_no_states_of_loops(tmp_path: pathlib.Path) -> None:
    x = scanloom.tensor.fvector("x")
    function = scanloom.function([x], 2 * x)
    with pytest.raises(scanloom.Unsupported, match="only for models"):
        scanloom.convert(function, tmp_path / "stream.onnx", stream=True)
    function.save(tmp_path / "saved.scanloom")
    with pytest.raises(scanloom.Unsupported, match="is a saved function"):
        scanloom.convert(tmp_path / "saved.scanloom", tmp_path / "stream.onnx", stream=True)


@pytest.mark.parametrize("kind", ["GRUSequence", "GRUCell"])
def test_another_batch_than_before(kind: str, tmp_path: pathlib.Path) -> None:
    """The error blames the feed, not the model, and the kept state is unchanged."""
    graph = Graph()
    x = graph.parameter("x", shape=(-1, 3) if kind == "GRUCell" else (-1, 2, 3))
    shape = (-1, 4) if kind == "GRUCell" else (-1, 1, 4)
    first = graph.parameter("first", shape=shape)
    kept = {"variable_id": "v", "variable_type": "f32", "variable_shape": ",".join(map(str, shape)).replace("-1", "?")}
    state = graph.add("ReadValue", [first], version=6, **kept)
    if kind == "GRUCell":
        parts = [graph.constant(numbers(*sizes), "float32") for sizes in ((12, 3), (12, 4))]
        found = graph.add(kind, [x, state, *parts], 1, 3, "gru", hidden_size=4)
        last = found
    else:
        parts = [graph.constant(numbers(1, *sizes), "float32") for sizes in ((12, 3), (12, 4), (12,))]
        lengths = graph.parameter("lengths", "int32", (-1,))
        found = graph.add(kind, [x, state, lengths, *parts], 2, 5, "gru", hidden_size=4, direction="forward")
        last = Port(found.layer, 1)
    graph.add("Assign", [last], version=6, **kept)
    graph.result(found)
    stream = scanloom.InferenceSession(graph.save(tmp_path)).stream()

    def feeds(batch: int) -> dict[str, np.ndarray]:
        made = {"x": numbers(batch, 3) if kind == "GRUCell" else numbers(batch, 2, 3),
                "first": np.zeros((batch, *[abs(size) for size in shape[1:]]), np.float32)}  # fmt: skip
        return made if kind == "GRUCell" else {**made, "lengths": np.full(batch, 2, np.int32)}

    stream.push(feeds(1))
    before = stream.get("v").copy()
    with pytest.raises(scanloom.InvalidArgument, match=r"layer \d+ 'gru'.*(1 rows, X has 3|size 1 on axis 0, not 3)"):
        stream.push(feeds(3))
    np.testing.assert_array_equal(stream.get("v"), before)
    stream.push(feeds(1))
    stream.reset()
    stream.push(feeds(3))
