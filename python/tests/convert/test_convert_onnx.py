"""ONNX models and IRs of OpenVINO written as ONNX: valid, with the same results, and equal in
onnxruntime where that has the element types."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import backend_suite
import converted
import digests
import openvino_cases
import openvino_layers
import real_models
import scan_models
import scanloom
import test_openvino_elementwise
import test_openvino_layers
import test_openvino_loops
import test_openvino_recurrent
import test_openvino_shapes

Report = Callable[[str], None]


def check_all(title: str, models: Any, folder: pathlib.Path, report: Report) -> converted.Tally:
    """`models`: names with paths and feeds."""
    tally = converted.Tally()
    failures = []
    for name, path, feeds in models:
        try:
            converted.check(path, feeds, folder, tally)
        except Exception as error:  # whatever happens, the others are tried
            failures.append(f"{name}: {str(error).strip()[:600]}")
    report(tally.line(title))
    assert not failures, f"{len(failures)}:\n" + "\n".join(failures)
    return tally


def backend_models(suite: pathlib.Path) -> Any:
    for name in backend_suite.read_table():
        model = onnx.load(suite / name / "model.onnx", load_external_data=False)
        for data in sorted((suite / name).glob("test_data_set_*")):
            yield name, suite / name / "model.onnx", backend_suite.feeds(model.graph, data)


def test_the_backend_suite(backend_suite_folder, tmp_path, report):
    tally = check_all("ONNX's backend suite", backend_models(backend_suite_folder), tmp_path, report)
    # Factors that a policy has changed fit no sizes, of one axis alone.
    assert all("resample, by factors that its sizes" in each for each in tally.unsupported)
    assert len(tally.unsupported) == 4


@pytest.mark.parametrize("name", real_models.SHARED_MODELS)
def test_shared_models(shared, name, tmp_path, report):
    feeds = real_models.feeds_for(name, 17)
    tally = check_all(name, [(name, shared / name, feeds)], tmp_path, report)
    assert tally.models == tally.same_bits == tally.equal_there == 1


def test_loops_of_onnx(tmp_path, report):
    """The loops of the other suites: all combinations of ports, filters, nests, branches.
    onnxruntime runs some of them differently from the specification."""

    def models() -> Any:
        for case in digests.all_cases():
            (tmp_path / "model.onnx").write_bytes(case.model)
            yield case.name, tmp_path / "model.onnx", case.feeds

    tally = check_all("loops of ONNX models", models(), tmp_path, report)
    assert tally.models == tally.same_bits and not tally.unsupported


def test_scans_of_every_type(tmp_path, report):
    """Each element type in one form, and one form of many in one element type."""

    def models() -> Any:
        forms = scan_models.forms()
        pairs = list(scan_models.pairs((25,)))
        chosen = [(forms[i % len(forms)], *pair) for i, pair in enumerate(pairs)]
        chosen += [(form, *pairs[0]) for form in forms[:: len(forms) // 60]]
        for form, opset, kind in chosen:
            for length in (1, 4):
                (tmp_path / "model.onnx").write_bytes(scan_models.model(form, kind, opset))
                yield f"{form}, {kind}, {opset}", tmp_path / "model.onnx", scan_models.feeds_of(form, kind, length)

    tally = check_all("scans of every element type", models(), tmp_path, report)
    assert tally.models == tally.same_bits and not tally.unsupported


def table_models(module: Any, folder: pathlib.Path) -> Any:
    for cases in module.TABLES.values():
        for one in cases:
            for form, make in openvino_cases.FORMS.items():
                if one.sized and form == "unknown sizes":
                    continue
                feeds = {f"x{i}": x for i, x in enumerate(one.feeds)}
                yield f"{one.name}, {form}", make(one).save(folder), feeds


def layer_models(cases: Any, folder: pathlib.Path) -> Any:
    for case in cases:
        for symbolic in (False, True) if case.symbolic else (False,):
            path = openvino_layers.write(case, folder, symbolic)
            yield f"{case} {'of open sizes' if symbolic else ''}", path, openvino_layers.feeds(case)


# What ONNX has no form for: strings packed and unpacked; factors of matrices, regions that take
# samples, padding of deformed convolutions that follows from sizes.
WITHOUT_FORM = {test_openvino_shapes: 9, test_openvino_layers: 10}


@pytest.mark.parametrize("module", [test_openvino_elementwise, test_openvino_shapes], ids=lambda x: x.__name__)
def test_operations_of_openvino(module, tmp_path, report):
    tally = check_all(module.__name__[5:], table_models(module, tmp_path), tmp_path, report)
    assert len(tally.unsupported) == WITHOUT_FORM.get(module, 0), tally.unsupported


@pytest.mark.parametrize("module", [test_openvino_layers, test_openvino_recurrent], ids=lambda x: x.__name__)
def test_layers_of_openvino(module, tmp_path, report):
    tally = check_all(module.__name__[5:], layer_models(module.CASES, tmp_path), tmp_path, report)
    assert len(tally.unsupported) == WITHOUT_FORM.get(module, 0), tally.unsupported


LOOPS = [
    test_openvino_loops.test_windows, test_openvino_loops.test_several_sliced_inputs,
    test_openvino_loops.test_back_edges, test_openvino_loops.test_loops,
    test_openvino_loops.test_nothing_to_walk_along, test_openvino_loops.test_nests,
    test_openvino_loops.test_states_whose_sizes_change, test_openvino_loops.test_invariants_and_constants,
]  # fmt: skip


@pytest.mark.parametrize("test", LOOPS, ids=lambda test: test.__name__)
def test_loops_of_openvino(test, tmp_path, report, monkeypatch):
    """The models of the other suite, each of which it hands to `runs`."""
    tally = converted.Tally()

    def runs(path: str, feeds: dict[str, np.ndarray]) -> list[Any]:
        converted.check(path, feeds, tmp_path, tally)
        return [scanloom.InferenceSession(path).run(None, feeds)]

    monkeypatch.setattr(test_openvino_loops, "runs", runs)
    for arguments in converted.calls_of(test):
        test(tmp_path, **arguments)
    assert tally.models > 0 and not tally.unsupported
    report(tally.line(test.__name__[5:].replace("_", " ")))
