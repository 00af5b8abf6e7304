"""Models in OpenVINO's IR: one that is shared beside the project, and the examples of the
specification of TensorIterator."""

from __future__ import annotations

import pathlib
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import openvino_ir
import openvino_layers
import pytest
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
    """Gates f, i, c, o; the states of all steps, each where its input stood."""
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
    if openvino_layers.openvino is not None:
        names = ("data1", "data2", "data3")
        (theirs,) = openvino_layers.run_peer(str(path), dict(zip(names, feeds(), strict=True)))
        close(result, theirs)


def test_loop_that_adds(shared: pathlib.Path) -> None:
    """ONNX's Loop in its IR: the sums of all steps are stacked. Its constants lie unaligned."""
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
    if openvino_layers.openvino is not None:
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
    """The dots behind types stand for what every layer has."""
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
    """Example 1 with the least body that fits it: state' = state + x. Its dots in port_map and
    back_edges stand for nothing; layer 1, from which its back edge leads, is the Result of the new
    state here, and has the id 3, since 1 is already the Parameter that it leads to."""
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
    if openvino_layers.openvino is not None:
        (theirs,) = openvino_layers.run_peer(str(path), {"data0": x, "data1": state})
        close(y, theirs)
