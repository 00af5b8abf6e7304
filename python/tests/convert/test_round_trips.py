"""Round trips: IR to ONNX to IR, and ONNX to IR to ONNX. Results stay, and each model on the way is
valid and runs in the format's own implementation."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import converted
import loop_models
import real_models
import scanloom
import test_openvino_loops
import test_openvino_models

pytest.importorskip("openvino", reason="needs the package openvino")

import converted_openvino  # noqa: E402
import test_convert_onnx as as_onnx  # noqa: E402

Report = Callable[[str], None]


# Cases of which onnxruntime makes results of other sizes.
ZERO_STEPS = {name: "rows of no steps without their sizes there" for name in ("scan_sum_0", "scan_reverse_0")}


# By test: models that put rows end to end whose sizes are not known to be equal.
SEQUENCES = {"test_back_edges": 6, "test_states_whose_sizes_change": 1}


class Trips:
    """There and back again, with counts of both ways."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.onnx, self.openvino = converted.Tally(), converted_openvino.Tally()
        self.models = self.same_bits = self.sequences = 0

    def go(self, path: str | pathlib.Path, feeds: dict[str, Any], known: str = "", name: str = "") -> None:
        """From a file of one format to the other and back. `name`: in failures of OpenVINO."""
        back = self.folder / "back"
        back.mkdir(exist_ok=True)
        to_onnx = lambda one, folder: converted.check(one, feeds, folder, self.onnx, known=known)  # noqa: E731
        to_ir = lambda one, folder: converted_openvino.check(one, feeds, folder, self.openvino, name=name)  # noqa: E731
        if str(path).endswith(".xml"):
            to_onnx(path, self.folder)
            to_ir(self.folder / "converted.onnx", back)
            final = back / "converted.xml"
            if any("sequences and optionals have no form" in each for each in self.openvino.unsupported):
                # Rows whose sizes change from step to step are a sequence in ONNX.
                self.openvino.unsupported.clear()
                self.sequences += 1
                return
        else:
            to_ir(path, self.folder)
            to_onnx(self.folder / "converted.xml", back)
            final = back / "converted.onnx"
        assert not self.onnx.unsupported and not self.openvino.unsupported
        wanted, found = (scanloom.InferenceSession(one).run(None, feeds) for one in (path, final))
        self.models += 1
        self.same_bits += all(map(converted.same_bits, found, wanted))
        converted.compare(found, wanted, 2e-6, "there and back")

    def line(self, title: str) -> str:
        return (
            f"Round trips of {title}: {self.models} models, {self.same_bits} with the same bits at the end, "
            f"{self.sequences} with sequences on the way, which end there; "
            f"{self.onnx.line('on the way')}; {self.openvino.line('on the way')}"
        )


def go_all(title: str, models: Iterator[tuple[str, Any, dict[str, Any]]], folder: pathlib.Path, report: Report) -> Trips:
    """`models`: names with paths and feeds."""
    trips, failures = Trips(folder), []
    for name, path, feeds in models:
        try:
            trips.go(path, feeds, ZERO_STEPS.get(name, ""), name)
        except Exception as error:  # whatever happens, the others are tried
            failures.append(f"{name}: {str(error).strip()[:600]}")
    trips.openvino.settle()
    failures += trips.openvino.failures
    report(trips.line(title))
    assert not failures, f"{len(failures)}:\n" + "\n".join(failures)
    return trips


def written(cases: Any, folder: pathlib.Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for case in cases:
        path = folder / "model.onnx"
        path.write_bytes(case.model)
        yield case.name, path, case.feeds


@pytest.mark.parametrize("name", real_models.SHARED_MODELS)
def test_shared_models(shared, name, tmp_path, report):
    models = iter([(name, shared / name, real_models.feeds_for(name, 17))])
    assert go_all(name, models, tmp_path, report).models == 1


def test_shared_irs(shared, tmp_path, report):
    lstm = tmp_path / "lstm.xml"
    shutil.copyfile(shared / "openvino" / "ti_negative_stride.xml", lstm)
    lstm.with_suffix(".bin").write_bytes(test_openvino_models.weights(joined=False)[0])
    fed = dict(zip(("data1", "data2", "data3"), test_openvino_models.feeds(), strict=True))
    loop = shared / "openvino" / "loop_2d_add.xml"
    values = {
        each.name: np.ones([size if isinstance(size, int) and size > 0 else 3 for size in each.shape], np.float32)
        for each in scanloom.InferenceSession(loop).get_inputs()
    }
    models = [("ti_negative_stride.xml", lstm, fed), ("loop_2d_add.xml", loop, values)]
    assert go_all("shared IRs", iter(models), tmp_path, report).models == 2


def test_loops_of_onnx(tmp_path, report):
    trips = go_all("ONNX's loops", written(loop_models.cases(), tmp_path), tmp_path, report)
    assert trips.models == len(loop_models.cases())


@pytest.mark.parametrize("test", as_onnx.LOOPS, ids=lambda test: test.__name__)
def test_loops_of_openvino(test, tmp_path, report, monkeypatch):
    """The models of the other suite, each of which it hands to `runs`."""
    trips = Trips(tmp_path)

    def runs(path: str, feeds: dict[str, np.ndarray]) -> list[Any]:
        trips.go(path, feeds)
        return [scanloom.InferenceSession(path).run(None, feeds)]

    monkeypatch.setattr(test_openvino_loops, "runs", runs)
    for arguments in converted.calls_of(test):
        test(tmp_path, **arguments)
    trips.openvino.settle()
    assert not trips.openvino.failures, "\n".join(trips.openvino.failures)
    assert trips.models + trips.sequences > 0
    assert trips.sequences <= SEQUENCES.get(test.__name__, 0)
    report(trips.line(test.__name__[5:].replace("_", " ")))
