"""Warnings that onnxruntime prints when a model is loaded are Python warnings here."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterator

import numpy as np
import onnx
import pytest

import scanloom
from loop_models import SUM, parse

ODD = onnx.load_model_from_string(parse("g (float[N] x) => (float[N] y) { y = Neg(x) }"))
ODD.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -99  # onnxruntime runs it
MODEL = ODD.SerializeToString()


@pytest.fixture(autouse=True)
def default_severity() -> Iterator[None]:
    """Other tests may have set it."""
    scanloom.set_default_logger_severity(2)
    yield
    scanloom.set_default_logger_severity(2)


def heard(*arguments: object, **options: object) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = scanloom.InferenceSession(*arguments, **options)
        session.run(None, {"x": np.ones(2, np.float32)})
        session.run(None, {"x": np.ones(2, np.float32)})
    return caught


def test_each_load_warns_once() -> None:
    for _ in range(2):
        (one,) = heard(MODEL)
        assert one.category is scanloom.ModelWarning
        assert issubclass(one.category, UserWarning)
        assert "99" in str(one.message)
        assert one.filename == __file__


def test_a_provider_that_is_not_here_is_told() -> None:
    messages = [str(one.message) for one in heard(MODEL, providers=["CUDAExecutionProvider"])]
    assert len(messages) == 2 and "CUDAExecutionProvider" in messages[0]


def test_settings_without_meaning_are_only_noted() -> None:
    options = scanloom.SessionOptions()
    options.inter_op_num_threads = 3
    session = scanloom.InferenceSession(SUM, options)
    assert any("inter_op_num_threads" in text for text in session.warnings())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scanloom.InferenceSession(SUM, options)


@pytest.mark.parametrize("level, expected", [(-1, 1), (0, 1), (2, 1), (3, 0), (4, 0)])
def test_severity_decides(level: int, expected: int) -> None:
    options = scanloom.SessionOptions()
    options.log_severity_level = level
    assert len(heard(MODEL, options)) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scanloom.ModelWarning)
        session = scanloom.InferenceSession(MODEL, options)
    assert any("99" in text for text in session.warnings())


def test_the_default_severity_counts_where_options_leave_it_open() -> None:
    scanloom.set_default_logger_severity(4)
    assert heard(MODEL) == []
    options = scanloom.SessionOptions()
    options.log_severity_level = 2
    assert len(heard(MODEL, options)) == 1


def test_warnings_can_be_filtered() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", scanloom.ModelWarning)
        scanloom.InferenceSession(MODEL)
        warnings.simplefilter("error", scanloom.ModelWarning)
        with pytest.raises(scanloom.ModelWarning):
            scanloom.InferenceSession(MODEL)


def test_the_optimised_model_is_written(tmp_path: pathlib.Path) -> None:
    options = scanloom.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "sum.onnx")
    session = scanloom.InferenceSession(SUM, options)
    assert session.warnings() == []
    model = onnx.load(tmp_path / "sum.onnx")
    onnx.checker.check_model(model)
    assert {node.op_type for node in model.graph.node} & {"Scan", "Loop"}
    again = scanloom.InferenceSession(tmp_path / "sum.onnx")
    feeds = {"x": np.ones((4, 2), np.float32), "h0": np.zeros(2, np.float32)}
    for found, wanted in zip(again.run(None, feeds), session.run(None, feeds)):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("path, words", [("sum.ort", "ends in .onnx|end in .onnx"), ("none/sum.onnx", "cannot be written")])
def test_a_path_that_cannot_be_written_is_an_error(tmp_path: pathlib.Path, path: str, words: str) -> None:
    options = scanloom.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / path)
    with pytest.raises(scanloom.Error, match=words):
        scanloom.InferenceSession(SUM, options)
