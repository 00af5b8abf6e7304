"""ONNX models and IRs of OpenVINO written as IRs: with the same results, and equal in OpenVINO's CPU
plugin where that is right."""

from __future__ import annotations

import fnmatch
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import converted
import openvino_ir
import openvino_layers
import real_models
import scanloom
import test_convert_onnx as as_onnx
import test_openvino_elementwise
import test_openvino_layers
import test_openvino_loops
import test_openvino_recurrent
import test_openvino_shapes

pytest.importorskip("openvino", reason="needs the package openvino")

import converted_openvino  # noqa: E402

Report = Callable[[str], None]

# Cases in which OpenVINO differs, by their names, or the beginnings of these.
DIFFERENT_THERE = {
    "node/test_dynamicquantizelinear": "quotients rounded otherwise there",
    "node/test_dynamicquantizelinear_expanded": "quotients rounded otherwise there",
    "node/test_equal_string*": "no comparison of strings there",
    "node/test_nonmaxsuppression_iou_threshold_boundary": "boxes kept that overlap by the threshold",
    "node/test_reduce_max_empty_set": "another greatest element of none there",
    "node/test_reduce_sum_empty_axes_input_noop*": "no sums over no axes there",
    "node/test_tile": "no computed repeats there",
}


def known_of(name: str) -> str:
    return next((why for one, why in DIFFERENT_THERE.items() if fnmatch.fnmatch(name, one)), "")


def check_all(title: str, models: Any, folder: pathlib.Path, report: Report) -> converted_openvino.Tally:
    """`models`: names with paths and feeds."""
    tally, failures = converted_openvino.Tally(), []
    for name, path, feeds in models:
        try:
            converted_openvino.check(path, feeds, folder, tally, known=known_of(name), name=name)
        except Exception as error:  # whatever happens, the others are tried
            failures.append(f"{name}: {str(error).strip()[:600]}")
    tally.settle()
    failures += tally.failures
    report(tally.line(title))
    assert not failures, f"{len(failures)}:\n" + "\n".join(failures)
    return tally


def test_the_backend_suite(backend_suite_folder, tmp_path, report):
    models = as_onnx.backend_models(backend_suite_folder)
    tally = check_all("ONNX's backend suite", models, tmp_path, report)
    assert tally.models >= 1600


@pytest.mark.parametrize("name", real_models.SHARED_MODELS)
def test_shared_models(shared, name, tmp_path, report):
    feeds = real_models.feeds_for(name, 17)
    tally = check_all(name, [(name, shared / name, feeds)], tmp_path, report)
    # OpenVINO runs the original of silero_vad no more than its IR: ranks that a branch leaves open.
    assert tally.models == tally.equal_there + (name == "silero_vad.onnx") == 1


def test_many_overlapping_slices(tmp_path, report):
    """Their indices are computed: a list of them would be longer than what is sliced."""
    graph = openvino_ir.Graph()
    x = graph.parameter("x", "float32", [3000])
    body = graph.body()
    part = body.parameter("part", "float32", [500])
    row = body.result(body.add("ReduceMax", [part, body.constant(np.array([0]))], keep_dims=True))
    loop = graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": part.layer, "axis": 0, "stride": 3, "part_size": 500, "start": 7},
        {"kind": "output", "port": 0, "layer": row, "axis": 0}])  # fmt: skip
    graph.result(loop)
    feeds = {"x": np.random.default_rng(3).normal(size=3000).astype("f")}
    tally = check_all("many overlapping slices", [("slices", graph.save(tmp_path), feeds)], tmp_path, report)
    assert tally.equal_there == 1
    assert (tmp_path / "converted.bin").stat().st_size < 1000


@pytest.mark.parametrize("module", [test_openvino_elementwise, test_openvino_shapes], ids=lambda x: x.__name__)
def test_operations_of_openvino(module, tmp_path, report):
    check_all(f"{module.__name__[5:]}", as_onnx.table_models(module, tmp_path), tmp_path, report)


@pytest.mark.parametrize("module", [test_openvino_layers, test_openvino_recurrent], ids=lambda x: x.__name__)
def test_layers_of_openvino(module, tmp_path, report):
    check_all(f"{module.__name__[5:]}", as_onnx.layer_models(module.CASES, tmp_path), tmp_path, report)


@pytest.mark.parametrize("test", as_onnx.LOOPS, ids=lambda test: test.__name__)
def test_loops_of_openvino(test, tmp_path, report, monkeypatch):
    """The models of the other suite, each of which it hands to `runs`."""
    tally = converted_openvino.Tally()

    def runs(path: str, feeds: dict[str, np.ndarray]) -> list[Any]:
        converted_openvino.check(path, feeds, tmp_path, tally)
        return [scanloom.InferenceSession(path).run(None, feeds)]

    monkeypatch.setattr(test_openvino_loops, "runs", runs)
    for arguments in converted.calls_of(test):
        test(tmp_path, **arguments)
    tally.settle()
    assert not tally.failures, "\n".join(tally.failures)
    assert tally.models > 0 and not tally.unsupported
    report(tally.line(test.__name__[5:].replace("_", " ")))
