"""OpenVINO's recurrent cells and sequences against numpy, and OpenVINO's own results."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino_layers
import pytest
from openvino_ir import Graph, Port
from openvino_layers import Case, Const

import scanloom

BATCH, STEPS, INPUT, HIDDEN = 3, 5, 4, 3
FUNCTIONS = {
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "tanh": lambda x, a, b: np.tanh(x),
    "relu": lambda x, a, b: np.maximum(x, 0),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
}


def randoms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + 7 * sum(shape)).standard_normal(shape).astype(np.float32)


class Cell:
    """The formulas of one direction; gates in the order of OpenVINO's weights."""

    usual: tuple[str, ...] = ()
    gates = 1
    states = 1

    def __init__(self, clip: float = 0, activations: Any = None, activations_alpha: Any = (),
                 activations_beta: Any = (), input_forget: bool = False, weights_format: str = "fico",
                 linear_before_reset: bool = False, hidden_size: int = HIDDEN, **_: Any):  # fmt: skip
        self.clip, self.input_forget, self.format = clip, input_forget, weights_format
        self.linear = linear_before_reset
        self.names = activations or self.usual
        self.alpha = list(activations_alpha) + [0.2] * 3
        self.beta = list(activations_beta) + [0.5] * 3

    def bias_rows(self) -> int:
        return self.gates

    def act(self, i: int, x: np.ndarray, clipped: bool = True) -> np.ndarray:
        x = np.clip(x, -self.clip, self.clip) if self.clip and clipped else x
        return FUNCTIONS[self.names[i]](x, self.alpha[i], self.beta[i])


class Lstm(Cell):
    usual, gates, states = ("sigmoid", "tanh", "tanh"), 4, 2

    def step(self, x, h, c, w, r, b, p=None):
        sums = dict(zip(self.format, np.split(x @ w.T + h @ r.T + b, 4, 1), strict=True))
        pi, po, pf = np.split(p, 3) if p is not None else (0, 0, 0)
        i = self.act(0, sums["i"] + pi * c)
        f = 1 - i if self.input_forget else self.act(0, sums["f"] + pf * c)
        c = f * c + i * self.act(1, sums["c"])
        o = self.act(0, sums["o"] + po * c)
        return o * self.act(2, c, False), c


class Gru(Cell):
    usual, gates = ("sigmoid", "tanh"), 3

    def bias_rows(self) -> int:
        return 4 if self.linear else 3

    def step(self, x, h, w, r, b):
        xz, xr, xn = np.split(x @ w.T, 3, 1)
        rz, rr, rn = np.split(r, 3)
        parts = np.split(b, self.bias_rows())
        z = self.act(0, xz + h @ rz.T + parts[0])
        reset = self.act(0, xr + h @ rr.T + parts[1])
        inner = reset * (h @ rn.T + parts[3]) if self.linear else (reset * h) @ rn.T
        return ((1 - z) * self.act(1, xn + inner + parts[2]) + z * h,)


class Rnn(Cell):
    usual = ("tanh",)

    def step(self, x, h, w, r, b):
        return (self.act(0, x @ w.T + h @ r.T + b),)


CELLS = {"LSTM": Lstm, "GRU": Gru, "RNN": Rnn}


def weights(cell: Cell, directions: int) -> list[np.ndarray]:
    rows = cell.gates * HIDDEN
    return [randoms(directions, rows, INPUT), randoms(directions, rows, HIDDEN),
            randoms(directions, cell.bias_rows() * HIDDEN)]  # fmt: skip


def data_of(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"hidden_size": HIDDEN, **{key: value for key, value in attributes.items()
                                      if key not in ("computed", "note", "lengths")}}  # fmt: skip


def cell_case(kind: str, version: int, differs: str = "", note: str = "", **attributes: Any) -> Case:
    cell = CELLS[kind](**attributes)
    state = [randoms(BATCH, HIDDEN, seed=i) for i in range(cell.states)]
    x, parts = randoms(BATCH, INPUT), [part[0] for part in weights(cell, 1)]
    wanted = cell.step(x, *state, *parts)
    return Case(kind + "Cell", version, [x, *state, *map(Const, parts)], list(wanted),
                data_of(attributes), differs, note=note or "-".join(attributes))  # fmt: skip


NO_HARDSIGMOID = "OpenVINO refuses hardsigmoid"
CELL_CASES = [
    cell_case("LSTM", 4),
    cell_case("LSTM", 1),
    cell_case("LSTM", 4, clip=0.5),
    cell_case("LSTM", 4, activations=["relu", "sigmoid", "tanh"]),
    cell_case("LSTM", 4, NO_HARDSIGMOID, activations=["hardsigmoid", "tanh", "relu"],
              activations_alpha=[0.3], activations_beta=[0.4]),
    cell_case("LSTM", 1, "OpenVINO ignores input_forget", input_forget=True),
    cell_case("LSTM", 1, "OpenVINO ignores weights_format", weights_format="iofc"),
    cell_case("GRU", 3),
    cell_case("GRU", 3, linear_before_reset=True),
    cell_case("GRU", 3, clip=0.4, linear_before_reset=True),
    cell_case("GRU", 3, NO_HARDSIGMOID, activations=["hardsigmoid", "relu"]),
    cell_case("RNN", 1),
    cell_case("RNN", 1, clip=0.3, activations=["relu"]),
]  # fmt: skip


def sequence_case(kind: str, version: int, direction: str, lengths: Any = (5, 2, 3),
                  differs: str = "", computed: bool = True, note: str = "",
                  **attributes: Any) -> Case:  # fmt: skip
    cell = CELLS[kind](**attributes)
    directions = 2 if direction == "bidirectional" else 1
    state = [randoms(BATCH, directions, HIDDEN, seed=i) for i in range(cell.states)]
    x, parts = randoms(BATCH, STEPS, INPUT), weights(cell, directions)
    y = np.zeros((BATCH, directions, STEPS, HIDDEN), np.float32)
    last = [np.array(one) for one in state]
    for d in range(directions):
        backwards = direction == "reverse" or d == 1
        for row in range(BATCH):
            now = [one[row : row + 1, d] for one in state]
            steps = range(lengths[row])
            for t in reversed(steps) if backwards else steps:
                now = cell.step(x[row : row + 1, t], *now, *(part[d] for part in parts))
                y[row, d, t] = now[0][0]
            for one, value in zip(last, now, strict=True):
                one[row, d] = value[0]
    length = np.array(lengths, np.int32)
    operands = [x, *state, length if computed else Const(length), *map(Const, parts)]
    return Case(kind + "Sequence", version, operands, [y, *last],
                data_of({"direction": direction, "activations": list(cell.names), **attributes}), differs,
                note=note or "-".join([direction, *attributes]))  # fmt: skip


FULL = (STEPS,) * BATCH
SEQUENCE_CASES = [
    *(sequence_case(kind, 5, direction) for kind in CELLS
      for direction in ("forward", "reverse", "bidirectional")),
    *(sequence_case(kind, 5, "bidirectional", FULL, computed=False, note="full") for kind in CELLS),
    sequence_case("LSTM", 5, "forward", clip=0.5),
    sequence_case("LSTM", 5, "bidirectional", activations=["sigmoid", "relu", "tanh"]),
    sequence_case("LSTM", 5, "reverse", differs=NO_HARDSIGMOID,
                  activations=["hardsigmoid", "relu", "tanh"]),
    sequence_case("GRU", 5, "reverse", linear_before_reset=True),
    sequence_case("GRU", 5, "bidirectional", FULL, linear_before_reset=True, clip=0.5),
    sequence_case("RNN", 5, "forward", activations=["relu"]),
    sequence_case("LSTM", 1, "forward", input_forget=True, weights_format="ifoc",
                  differs="OpenVINO no longer reads LSTMSequence-1"),
]  # fmt: skip
CASES = CELL_CASES + SEQUENCE_CASES


def test_counts(report: Callable[[str], None]) -> None:
    openvino_layers.count(report, "recurrent", CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_openvino(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check_peer(case, CASES, tmp_path)


def test_cell_with_joined_weights(tmp_path: pathlib.Path) -> None:
    """Weights as the specification of TensorIterator shows them: W and R concatenated, then B."""
    case = cell_case("LSTM", 1)
    w, r = (openvino_layers.value_of(one) for one in case.operands[3:5])
    case.operands = [*case.operands[:3], Const(np.concatenate([w, r], 1)), case.operands[5]]
    openvino_layers.check(case, tmp_path)


def test_cell_without_bias(tmp_path: pathlib.Path) -> None:
    case = cell_case("LSTM", 4)
    x, h, c, w, r, _ = map(openvino_layers.value_of, case.operands)
    case.wanted = list(Lstm().step(x, h, c, w, r, np.zeros(4 * HIDDEN, np.float32)))
    case.operands = case.operands[:5]
    openvino_layers.check(case, tmp_path)


def test_peepholes(tmp_path: pathlib.Path) -> None:
    case, p = cell_case("LSTM", 1), randoms(3 * HIDDEN)
    case.wanted = list(Lstm().step(*map(openvino_layers.value_of, case.operands), p))
    case.operands = [*case.operands, Const(p)]
    openvino_layers.check(case, tmp_path)


@pytest.mark.parametrize(
    ("kind", "at", "shape", "words"),
    [
        ("LSTM", 1, (BATCH, 4), "input 1 has 4 elements on axis 1, not 3"),
        ("LSTM", 1, (1, HIDDEN), "input 1 has 1 rows, X has 3"),
        ("LSTM", 2, (2, HIDDEN), "input 2 has 2 rows, X has 3"),
        ("GRU", 0, (1, INPUT), "input 1 has 3 rows, X has 1"),
        ("RNN", 1, (4, HIDDEN), "input 1 has 4 rows, X has 3"),
        ("LSTM", 3, (13, INPUT), "input 3 has 13 elements on axis 0, not 12"),
        ("GRU", 4, (10,), "input 4 has 10 elements on axis 0, not 9"),
        ("RNN", 0, (BATCH, 2, INPUT), "input 0 has 3 axes, not 2"),
    ],
)
def test_wrong_cells(kind: str, at: int, shape: Any, words: str, tmp_path: pathlib.Path) -> None:
    case = cell_case(kind, 4)
    case.operands = [*case.operands]
    case.operands[at] = Const(randoms(*shape))
    openvino_layers.refused(case, tmp_path, words)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("execution", ["automatic", "interpreted", "compiled"])
def test_rows_that_only_the_run_knows(kind: str, execution: str, tmp_path: pathlib.Path) -> None:
    """In a loop of any batch: a single row of a state is not spread over those of X."""
    graph, cell = Graph(), CELLS[kind]()
    x = graph.parameter("x", shape=(-1, -1, INPUT))
    states = [graph.parameter(f"s{i}", shape=(-1, HIDDEN)) for i in range(cell.states)]
    body = graph.body()
    row = body.parameter("row", shape=(1, -1, INPUT))
    inner = [body.parameter(f"h{i}", shape=(-1, HIDDEN)) for i in range(cell.states)]
    parts = [body.constant(part[0], "float32") for part in weights(cell, 1)]
    step = body.add("Squeeze", [row, body.constant(np.array([0]), "int64")])
    made = body.add(f"{kind}Cell", [step, *inner, *parts], cell.states, 4 if kind == "LSTM" else 3,
                    "cell", hidden_size=HIDDEN)  # fmt: skip
    results = [body.result(Port(made.layer, i)) for i in range(cell.states)]
    graph.result(graph.loop("TensorIterator", body, [x, *states], 1, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0, "start": 0, "end": -1, "stride": 1,
         "part_size": 1},
        *({"kind": "input", "port": i + 1, "layer": one.layer} for i, one in enumerate(inner)),
        {"kind": "output", "port": 0, "layer": results[0]}],
        [(result, one.layer) for result, one in zip(results, inner, strict=True)]))  # fmt: skip
    session = scanloom.InferenceSession(graph.save(tmp_path), execution=execution)

    def feeds(batch: int, *rows: int) -> dict[str, np.ndarray]:
        return {"x": randoms(2, batch, INPUT)} | {f"s{i}": randoms(n, HIDDEN) for i, n in enumerate(rows)}

    for wrong in range(cell.states):
        rows = [1 if i == wrong else BATCH for i in range(cell.states)]
        with pytest.raises(scanloom.Error, match=f"'cell'.*input {wrong + 1} has 1 rows, X has {BATCH}"):
            session.run(None, feeds(BATCH, *rows))
    with pytest.raises(scanloom.Error, match=f"'cell'.*input 1 has {BATCH} rows, X has 1"):
        session.run(None, feeds(1, *[BATCH] * cell.states))
    given = feeds(BATCH, *[BATCH] * cell.states)
    now = [given[f"s{i}"] for i in range(cell.states)]
    for t in range(2):
        now = cell.step(given["x"][t], *now, *(part[0] for part in weights(cell, 1)))
    np.testing.assert_allclose(session.run(None, given)[0], now[0], rtol=1e-5, atol=1e-6)


def test_wrong_sequences(tmp_path: pathlib.Path) -> None:
    case = sequence_case("GRU", 5, "bidirectional")
    case.data = {**case.data, "direction": "forward"}
    openvino_layers.refused(case, tmp_path, "input 1 has 2 elements on axis 1, not 1")
    case.data = {**case.data, "direction": "sideways"}
    openvino_layers.refused(case, tmp_path, "attribute 'direction' is 'sideways'")
    case.data = {**case.data, "direction": "bidirectional", "activations": ["gelu", "tanh"]}
    openvino_layers.refused(case, tmp_path, "activation 'gelu'")


def test_activations_may_be_left_out(tmp_path: pathlib.Path) -> None:
    case = sequence_case("GRU", 5, "bidirectional")
    del case.data["activations"]
    openvino_layers.check(case, tmp_path)


def test_full_lengths_cost_nothing(tmp_path: pathlib.Path) -> None:
    # Lengths that are computed stay an operand of the layer.
    for computed, operands in ((False, "_, %1, %2"), (True, "%3, %1, %2")):
        case = sequence_case("LSTM", 5, "forward", FULL, computed=computed)
        session = scanloom.InferenceSession(openvino_layers.write(case, tmp_path))
        assert operands in session.ir()
