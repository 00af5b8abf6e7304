"""The tangent, which is a quotient, of every number of f16 and bf16: rounded once, whoever asks."""

from __future__ import annotations

import pathlib

import ml_dtypes
import numpy as np
import openvino_ir
import pytest
from onnx import helper

import scanloom
import scanloom.tensor as T


def of_onnx(x: np.ndarray, folder: pathlib.Path) -> np.ndarray:
    number = helper.np_dtype_to_tensor_dtype(x.dtype)
    values = [helper.make_tensor_value_info(name, number, [len(x)]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Tan", ["x"], ["y"])], "tan", values[:1], values[1:])
    opset = helper.make_opsetid("", 22)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    return scanloom.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


def of_openvino(x: np.ndarray, folder: pathlib.Path) -> np.ndarray:
    graph = openvino_ir.Graph()
    graph.result(graph.add("Tan", [graph.parameter("x", x.dtype, [len(x)])]))
    return scanloom.InferenceSession(graph.save(folder)).run(None, {"x": x})[0]


def of_expression(x: np.ndarray, folder: pathlib.Path) -> np.ndarray:
    of = T.vector("x", dtype=x.dtype.name)
    return scanloom.function([of], T.tan(of))(x)


@pytest.mark.parametrize("tangent", [of_onnx, of_openvino, of_expression])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(tangent, dtype, tmp_path):
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    finite = np.isfinite(every.astype(np.float64))
    y = tangent(every, tmp_path)
    assert y.dtype == dtype
    assert np.isnan(y[~finite].astype(np.float64)).all()
    exact, found = np.tan(every[finite].astype(np.float64)), y[finite].astype(np.float64)
    limits = ml_dtypes.finfo(dtype)
    least = np.log2(float(limits.smallest_normal))
    exponent = np.maximum(np.frexp(exact)[1] - 1, least)
    ulp = np.ldexp(float(limits.eps), exponent.astype(int))
    fits = np.abs(exact) < float(limits.max) * (1 + float(limits.eps) / 4)
    assert np.all(np.abs(found[fits] - exact[fits]) <= 0.501 * ulp[fits])
    assert np.all(np.isinf(found[~fits]))
