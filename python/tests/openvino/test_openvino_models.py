"""Models in OpenVINO's IR: one shared next to the project, and the examples of the specification of
TensorIterator."""

from __future__ import annotations

import pathlib
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import openvino_ir
import openvino_layers
import pytest
import test_openvino_recurrent as recurrent
from places import SHARED

import scanloom

SPECIFICATION = SHARED.parent / "specs" / "openvino-tensoriterator-1.ja.txt"
STEPS, INPUT, HIDDEN = 25, 512, 256
WEIGHTS = 3149864


def feeds() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = ((1, STEPS, INPUT), (1, HIDDEN), (1, HIDDEN))
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def weights(joined: bool) -> tuple[bytes, np.ndarray, np.ndarray, np.ndarray]:
    """The .bin that both models have: shapes at its ends, W, R and B between them. `joined`: W and R
    are one matrix."""
    rng = np.random.default_rng(2)
    w, r = (rng.standard_normal((4 * HIDDEN, size), np.float32) / 16 for size in (INPUT, HIDDEN))
    b = rng.standard_normal(4 * HIDDEN, np.float32)
    matrices = [np.concatenate([w, r], 1)] if joined else [w, r]
    parts = [np.array([1, INPUT]), *matrices, b, np.array([1, 1, HIDDEN])]
    data = b"".join(part.tobytes() for part in parts)
    assert len(data) == WEIGHTS
    return data, w, r, b


def lstm(x: np.ndarray, h: np.ndarray, c: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray,
         backwards: bool = False) -> np.ndarray:  # fmt: skip
    """Gates f, i, c, o. Returns the states of all steps, each at the position of its input."""
    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    y = np.zeros((1, x.shape[1], h.shape[1]), np.float64)
    for t in reversed(range(x.shape[1])) if backwards else range(x.shape[1]):
        f, i, g, o = np.split(x[:, t] @ w.T + h @ r.T + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        y[:, t] = h
    return y


def close(result: np.ndarray, wanted: np.ndarray) -> None:
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def run(path: pathlib.Path) -> np.ndarray:
    """The same bits in every way."""
    first = b""
    for execution in openvino_layers.EXECUTIONS:
        for threads in (1, 2):
            options = scanloom.SessionOptions(execution=execution, threads=threads)
            session = scanloom.InferenceSession(str(path), options)
            names = [one.name for one in session.get_inputs()]
            (result,) = session.run(None, dict(zip(names, feeds(), strict=True)))
            first = first or result.tobytes()
            assert result.tobytes() == first
    return result


def test_lstm_with_negative_stride(shared: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.xml"
    shutil.copyfile(shared / "openvino" / "ti_negative_stride.xml", path)
    data, *matrices = weights(joined=False)
    path.with_suffix(".bin").write_bytes(data)
    result = run(path)
    close(result, lstm(*feeds(), *matrices, backwards=True))
    if openvino_layers.openvino_peer is not None:
        names = ("data1", "data2", "data3")
        (theirs,) = openvino_layers.run_peer(str(path), dict(zip(names, feeds(), strict=True)))
        close(result, theirs)


def test_loop_that_adds(shared: pathlib.Path) -> None:
    """ONNX's Loop in its IR: the sums of all steps are stacked. Its constants are stored
    unaligned."""
    path = shared / "openvino" / "loop_2d_add.xml"
    bits = path.with_suffix(".bin").read_bytes()
    steps = int(np.frombuffer(bits, np.int64, 1)[0])
    last, added = np.frombuffer(bits, np.float32, 1, 9), np.frombuffer(bits, np.float32, 2, 13)
    a = np.array([[0.5, -2]], np.float32)
    sums = a + added * np.arange(1, steps + 1, dtype=np.float32)[:, None, None]
    session = scanloom.InferenceSession(str(path))
    results = session.run(None, {"a_init": a})
    assert [one.name for one in session.get_outputs()] == ["a_final", "a_values"]
    for result, wanted in zip(results, (sums[-1] + last, sums + last), strict=True):
        close(result, wanted)
    if openvino_layers.openvino_peer is not None:
        for result, theirs in zip(results, openvino_layers.run_peer(str(path), {"a_init": a}), strict=True):
            close(result, theirs)


def example(number: int) -> str:
    """The layer that the specification shows."""
    if not SPECIFICATION.is_file():
        pytest.skip(f"needs ../shared/specs/{SPECIFICATION.name}, which is absent")
    text = SPECIFICATION.read_text(encoding="utf-8")
    return re.findall(r"<layer type=\"TensorIterator\".*?</body>\s*</layer>", text, re.DOTALL)[number - 1]


def net(layer: str, shapes: list[tuple[int, ...]], version: int = 10) -> str:
    """The layer between its Parameters and Results, one for each of its ports."""
    iterator = ElementTree.fromstring(layer)
    ports = [int(port.get("id")) for port in iterator.findall("input/port")]
    results = [int(port.get("id")) for port in iterator.findall("output/port")]
    layers, edges = [], []
    for i, (port, shape) in enumerate(zip(ports, shapes, strict=True)):
        layers.append(f'<layer id="{i}" name="data{i}" type="Parameter" version="opset1"><data element_type="f32" '
                      f'shape="{openvino_ir.shape_text(shape)}"/><output><port id="0" precision="FP32"/></output>'
                      "</layer>")  # fmt: skip
        edges.append(f'<edge from-layer="{i}" from-port="0" to-layer="100" to-port="{port}"/>')
    layers.append(layer)
    for i, port in enumerate(results):
        layers.append(f'<layer id="{200 + i}" name="y{i}" type="Result" version="opset1"><input><port id="0"/>'
                      "</input></layer>")  # fmt: skip
        edges.append(f'<edge from-layer="100" from-port="{port}" to-layer="{200 + i}" to-port="0"/>')
    return (f'<?xml version="1.0"?><net name="example" version="{version}"><layers>{"".join(layers)}</layers>'
            f'<edges>{"".join(edges)}</edges></net>')  # fmt: skip


def completed(layer: str) -> str:
    """Replaces the dots after types by the attributes that every layer has."""
    layer = layer.replace('type="TensorIterator" ...', 'id="100" name="ti" type="TensorIterator" version="opset1"')
    return re.sub(r'<layer id="(\d+)" type="(\w+)" \.\.\.>', r'<layer id="\1" name="\2_\1" type="\2" version="opset1">',
                  layer)  # fmt: skip


def test_complete_example(tmp_path: pathlib.Path) -> None:
    """Example 2, in which layers have nothing but what is shown: types and sizes are those of ports,
    W and R one matrix."""
    path = tmp_path / "model.xml"
    path.write_text(net(completed(example(2)), [(1, STEPS, INPUT), (1, HIDDEN), (1, HIDDEN)]))
    data, *matrices = weights(joined=True)
    path.with_suffix(".bin").write_bytes(data)
    close(run(path), lstm(*feeds(), *matrices))


def test_typical_example(tmp_path: pathlib.Path) -> None:
    """Example 1 with the smallest body that fits it: state' = state + x. Its dots in port_map and
    back_edges are dropped. Layer 1, where its back edge starts, is the Result of the new state
    here, and has the id 3, since 1 is already the Parameter at the end of the edge."""
    parameter = ('<layer id="{0}" name="p{0}" type="Parameter" version="opset1"><data element_type="f32" shape="{1}"/>'
                 '<output><port id="0" precision="FP32"/></output></layer>')  # fmt: skip
    result = ('<layer id="{0}" name="r{0}" type="Result" version="opset1"><input><port id="0"/></input></layer>')
    layers = [parameter.format(0, "2,1,3"), parameter.format(1, "2,1,3"), result.format(2), result.format(3),
              '<layer id="4" name="sum" type="Add" version="opset1"><data auto_broadcast="numpy"/><input><port id="0"/>'
              '<port id="1"/></input><output><port id="2" precision="FP32"/></output></layer>']  # fmt: skip
    edges = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>'
                    for a, b, c, d in ((0, 0, 4, 0), (1, 0, 4, 1), (4, 2, 2, 0), (4, 2, 3, 0)))  # fmt: skip
    layer = completed(example(1))
    for dots, text in (("<input> ...</input>", '<input><port id="0"/><port id="1"/></input>'),
                       ("<output>\n ...</output>", '<output><port id="3" precision="FP32"/></output>'),
                       ('from-layer="1"', 'from-layer="3"'), ("<layers> ...</layers>", f"<layers>{''.join(layers)}</layers>"),
                       ("<edges> ...</edges>", f"<edges>{edges}</edges>"), ("...", "")):  # fmt: skip
        assert dots in layer
        layer = layer.replace(dots, text)
    path = tmp_path / "model.xml"
    path.write_text(net(layer, [(2, 4, 3), (2, 1, 3)]))
    x, state = (np.random.default_rng(3).standard_normal(shape, np.float32) for shape in ((2, 4, 3), (2, 1, 3)))
    (y,) = scanloom.InferenceSession(str(path)).run(None, {"data0": x, "data1": state})
    close(y, state + x[:, ::-1].cumsum(1)[:, ::-1])
    if openvino_layers.openvino_peer is not None:
        (theirs,) = openvino_layers.run_peer(str(path), {"data0": x, "data1": state})
        close(y, theirs)


def loop_over_cells(kind: str, cell: openvino_layers.Case, backwards: bool, sizes: bool) -> openvino_ir.Graph:
    """A TensorIterator over [batch, steps, input], and the sequence operation over the same."""
    graph = openvino_ir.Graph()
    body, states = graph.body(), recurrent.CELLS[kind].states
    batch = recurrent.BATCH if sizes else -1
    x = graph.parameter("x", np.float32, (batch, recurrent.STEPS if sizes else -1, recurrent.INPUT))
    initial = [graph.parameter(f"s{i}", np.float32, (batch, recurrent.HIDDEN)) for i in range(states)]
    row = body.parameter("row", np.float32, (batch, 1, recurrent.INPUT))
    before = [body.parameter(f"s{i}", np.float32, (batch, recurrent.HIDDEN)) for i in range(states)]
    parts = [body.constant(openvino_layers.value_of(one)) for one in cell.operands[1 + states :]]
    step = body.add("Squeeze", [row, body.constant([1], np.int64)])
    made = body.add(cell.kind, [step, *before, *parts], states, cell.version, **cell.data)
    after = [body.result(openvino_ir.Port(made.layer, i)) for i in range(states)]
    shown = body.result(body.add("Unsqueeze", [openvino_ir.Port(made.layer), body.constant([1], np.int64)]))
    window = {"axis": 1, "start": -1, "end": 0, "stride": -1} if backwards else {"axis": 1}
    port_map = [{"kind": "input", "port": 0, "layer": row.layer, **window},
                *({"kind": "input", "port": 1 + i, "layer": one.layer} for i, one in enumerate(before)),
                {"kind": "output", "port": 0, "layer": shown, **window},
                *({"kind": "output", "port": 1 + i, "layer": one} for i, one in enumerate(after))]  # fmt: skip
    loop = graph.loop("TensorIterator", body, [x, *initial], 1 + states, port_map,
                      [(one, to.layer) for one, to in zip(after, before, strict=True)])  # fmt: skip
    for i in range(1 + states):
        graph.result(openvino_ir.Port(loop.layer, i), f"y{i}")
    return graph


@pytest.mark.parametrize("sizes", [True, False], ids=["sizes", "symbols"])
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_cells_in_a_loop(kind: str, backwards: bool, sizes: bool, tmp_path: pathlib.Path) -> None:
    """They give what the sequence operation does, and OpenVINO."""
    version = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    cell = recurrent.cell_case(kind, version)
    direction = "reverse" if backwards else "forward"
    sequence = recurrent.sequence_case(kind, 5, direction, recurrent.FULL)
    states = recurrent.CELLS[kind].states
    arrays = [openvino_layers.value_of(one) for one in sequence.operands]
    # The cell has the weights of the sequence.
    cell.operands = [*cell.operands[: 1 + states], *(openvino_layers.Const(one[0]) for one in arrays[2 + states :])]
    fed = {"x": arrays[0], **{f"s{i}": arrays[1 + i][:, 0].copy() for i in range(states)}}
    path = loop_over_cells(kind, cell, backwards, sizes).save(tmp_path)
    for execution in openvino_layers.EXECUTIONS:
        session = scanloom.InferenceSession(path, scanloom.SessionOptions(execution=execution, threads=2))
        results = session.run(None, fed)
        for result, wanted in zip(results, sequence.results, strict=True):
            close(result, wanted[:, 0])
    if openvino_layers.openvino_peer is not None:
        for result, theirs in zip(results, openvino_layers.run_peer(path, fed), strict=True):
            close(result, theirs)
