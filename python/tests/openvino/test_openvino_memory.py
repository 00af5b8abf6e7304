"""IRs that are not files: bytes with separate weights, and models of OpenVINO."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from openvino_ir import Graph

import scanloom

X = np.float32([1, 2, 3])


def scaled() -> Graph:
    graph = Graph()
    x = graph.parameter("x", "float32", [3])
    graph.result(graph.add("Multiply", [x, graph.constant(np.float32([2, 3, 4]))]))
    return graph


def result(session: scanloom.InferenceSession) -> list[float]:
    (y,) = session.run(None, {"x": X})
    return y.tolist()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_weights_of_bytes(kind):
    graph = scaled()
    weights = kind(bytes(graph.weights))
    assert result(scanloom.InferenceSession(graph.xml(), weights=weights)) == [2, 6, 12]
    assert scanloom.check(graph.xml(), scanloom.SessionOptions(weights=weights)).ok


def test_they_are_copied():
    """The session lives on when the options and their weights are gone."""
    graph = scaled()
    options = scanloom.SessionOptions(weights=bytes(graph.weights))
    session = scanloom.InferenceSession(graph.xml(), options)
    del options
    assert result(session) == [2, 6, 12]


def test_given_weights_come_before_the_file(tmp_path):
    graph = scaled()
    path = graph.save(tmp_path)
    weights = np.float32([1, 10, 100]).tobytes()
    assert result(scanloom.InferenceSession(path, weights=weights)) == [1, 20, 300]
    (tmp_path / "model.bin").unlink()
    assert result(scanloom.InferenceSession(path, weights=weights)) == [1, 20, 300]


def test_conversion(tmp_path):
    graph = scaled()
    for name in ("model.onnx", "model.xml"):
        path = tmp_path / name
        scanloom.convert(graph.xml(), path, options=scanloom.SessionOptions(weights=bytes(graph.weights)))
        assert result(scanloom.InferenceSession(path)) == [2, 6, 12]


def test_errors(tmp_path: pathlib.Path):
    graph = scaled()
    with pytest.raises(scanloom.Error, match="needs 12 bytes of weights, .* give its bytes as the option 'weights'"):
        scanloom.InferenceSession(graph.xml())
    with pytest.raises(scanloom.Error, match=r"its 12 bytes begin at byte 0 of 'the given weights', which has 11 bytes"):
        scanloom.InferenceSession(graph.xml(), weights=bytes(11))
    with pytest.raises(scanloom.Error, match=r"its 12 bytes begin at byte 0 of 'the given weights', which has 0 bytes"):
        scanloom.InferenceSession(graph.xml(), weights=b"")
    with pytest.raises(scanloom.InvalidArgument, match="weights is a <class 'list'>, but must be bytes"):
        scanloom.InferenceSession(graph.xml(), weights=[1])
    scanloom.convert(graph.xml(), tmp_path / "a.onnx", options=scanloom.SessionOptions(weights=bytes(graph.weights)))
    with pytest.raises(scanloom.InvalidArgument, match="12 bytes of weights are given, but the model is not an OpenVINO IR"):
        scanloom.InferenceSession(tmp_path / "a.onnx", weights=bytes(12))


def test_models_of_openvino(tmp_path):
    openvino = pytest.importorskip("openvino")
    model = openvino.Core().read_model(scaled().save(tmp_path))
    assert result(scanloom.InferenceSession(model)) == [2, 6, 12]
    assert scanloom.check(model).ok
    scanloom.convert(model, tmp_path / "out.onnx")
    assert result(scanloom.InferenceSession(tmp_path / "out.onnx")) == [2, 6, 12]


def test_models_of_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    scanloom.convert(scaled().save(tmp_path), tmp_path / "out.onnx")
    assert result(scanloom.InferenceSession(onnx.load(tmp_path / "out.onnx"))) == [2, 6, 12]
