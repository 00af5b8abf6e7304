"""Models that onnxruntime's quantizer and optimizer write are read and give its results."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from microsoft_cases import by_onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from quantized_models import MODELS
from single_node import run_every_way

import scanloom

NAMES = pytest.mark.parametrize("name", MODELS)
TYPES = pytest.mark.parametrize("dtype", [QuantType.QInt8, QuantType.QUInt8], ids=["i8", "u8"])
PER_CHANNEL = pytest.mark.parametrize("per_channel", [False, True], ids=["whole", "channels"])


@pytest.fixture(autouse=True)
def quiet():
    """The quantizer recommends preprocessing in the log."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


class OneInput(CalibrationDataReader):
    def __init__(self, fed):
        self.inputs = iter([fed])

    def get_next(self):
        return next(self.inputs, None)


def saved(name, folder):
    model, fed = MODELS[name]()
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path, fed


def optimized(path, level="ORT_ENABLE_EXTENDED"):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path.with_suffix(".optimized.onnx"))
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    onnxruntime.InferenceSession(str(path), options)
    return onnx.load(options.optimized_model_filepath)


def operators(model, domain="com.microsoft"):
    return {node.op_type for node in model.graph.node if node.domain == domain}


def assert_agrees(model, fed, tolerance=2e-6):
    for result, wanted in zip(run_every_way(model, fed), by_onnxruntime(model, fed)):
        np.testing.assert_allclose(result, wanted, rtol=0, atol=tolerance)


@NAMES
@TYPES
@PER_CHANNEL
def test_dynamically_quantized_models(name, dtype, per_channel, tmp_path):
    path, fed = saved(name, tmp_path)
    quantize_dynamic(path, tmp_path / "q.onnx", weight_type=dtype, per_channel=per_channel,
                     reduce_range=True)  # onnxruntime: see microsoft_cases.ends_of
    model = onnx.load(tmp_path / "q.onnx")
    assert operators(model) == ({"DynamicQuantizeLSTM"} if name == "recurrent" else set())
    assert_agrees(model, fed)
    assert_agrees(optimized(tmp_path / "q.onnx"), fed)


@NAMES
@TYPES
@PER_CHANNEL
@pytest.mark.parametrize("form", [QuantFormat.QOperator, QuantFormat.QDQ], ids=["operators", "qdq"])
def test_statically_quantized_models(name, dtype, per_channel, form, tmp_path):
    path, fed = saved(name, tmp_path)
    quantize_static(path, tmp_path / "q.onnx", OneInput(fed), quant_format=form,
                    activation_type=dtype, weight_type=QuantType.QInt8, per_channel=per_channel,
                    reduce_range=True)  # onnxruntime: see microsoft_cases.ends_of
    model = onnx.load(tmp_path / "q.onnx")
    if form == QuantFormat.QOperator:
        assert "QLinearAdd" in operators(model) and "QLinearSoftmax" in operators(model)
    # Convolutions of floats round differently, which may move a result by one quantum of softmax.
    assert_agrees(model, fed, 1 / 255 + 1e-6 if name == "convolutional" else 2e-6)
    assert_agrees(optimized(tmp_path / "q.onnx"), fed)


def test_the_quantizer_writes_every_quantized_operator(tmp_path):
    path, fed = saved("convolutional", tmp_path)
    quantize_static(path, tmp_path / "q.onnx", OneInput(fed), quant_format=QuantFormat.QOperator)
    assert operators(onnx.load(tmp_path / "q.onnx")) == {
        "QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool",
        "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid", "QLinearSoftmax"}


@NAMES
def test_optimized_models(name, tmp_path):
    path, fed = saved(name, tmp_path)
    model = optimized(path)
    assert operators(model) == {
        "recurrent": set(), "convolutional": {"FusedConv"},
        "transformer": {"FusedMatMul", "SkipLayerNormalization", "Gelu"}}[name]
    assert_agrees(model, fed)


def test_layouts_of_one_machine_are_refused(tmp_path):
    path, _ = saved("convolutional", tmp_path)
    model = optimized(path, "ORT_ENABLE_ALL")
    if not operators(model, "com.microsoft.nchwc"):
        pytest.skip("onnxruntime keeps the layout on this machine")
    with pytest.raises(scanloom.Error, match="(?s)nchwc.Conv.*ORT_ENABLE_EXTENDED"):
        scanloom.InferenceSession(model.SerializeToString())
