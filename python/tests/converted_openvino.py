"""Models written as IRs of OpenVINO and run again: what Scanloom and OpenVINO's CPU plugin make of
them."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import openvino

import converted
import scanloom

PRECISE = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": "1"}

# Why OpenVINO does not run an IR that is valid: what its messages say.
NOT_THERE = {
    "is_dynamic()": "values of an unknown number of axes, which it does not run",
    "could not broadcast input array": "elements narrower than a byte, packed in its Python interface",
    "ptr is Null": "no form for computed axes there",
    "Unsupported operation of type": "no such operation in its CPU plugin",
    "getElementType": "no such element type in its CPU plugin",
}  # fmt: skip


class Tally(converted.Tally):
    def line(self, title: str) -> str:
        return super().line(title).replace("as ONNX", "as IR").replace("onnxruntime", "OpenVINO")


def check(path: str | pathlib.Path, feeds: converted.Feeds, folder: pathlib.Path, tally: Tally,
          tolerance: float = 2e-6, known: str = "") -> None:  # fmt: skip
    """Converts the model and compares what it gives; AssertionError where that differs. `known`: why
    OpenVINO gives other results of it, which is then checked to be so still."""
    target = folder / "converted.xml"
    try:
        scanloom.convert(path, target)
    except scanloom.Unsupported as error:
        tally.unsupported.append(str(error))
        return
    tally.models += 1
    before, after = scanloom.InferenceSession(path), scanloom.InferenceSession(target)
    assert [each.name for each in before.get_inputs()] == [each.name for each in after.get_inputs()]
    assert [each.name for each in before.get_outputs()] == [each.name for each in after.get_outputs()]
    wanted, found = before.run(None, feeds), after.run(None, feeds)
    tally.same_bits += all(map(converted.same_bits, found, wanted))
    converted.compare(found, wanted, tolerance, "Scanloom")
    _check_there(path, target, feeds, found, tally, known)


def narrowed(arrays: list[Any]) -> str:
    """Why values of such types are not compared; empty: they are."""
    for array in map(np.asarray, arrays):
        if array.dtype == np.float64:
            return "f64, which it computes in f32"
        if array.dtype.kind == "V" or array.dtype.name.startswith(("float8", "float4", "bfloat", "int4", "uint4")):
            return "types of 4, 8 or 16 bits, which it hands over in other forms"
        if array.dtype in (np.int64, np.uint64, np.uint32) and array.size and np.abs(array.astype(float)).max() >= 2.0**31:
            return "integers beyond 32 bits, in which it computes"
    return ""


def run_there(path: str | pathlib.Path, feeds: converted.Feeds) -> list[np.ndarray]:
    """Raises RuntimeError."""
    # One for each: a Core that has seen many models crashes.
    core = openvino.Core()
    request = core.compile_model(core.read_model(path), "CPU", PRECISE).create_infer_request()
    arrays = {name: np.asarray(x) for name, x in feeds.items()}
    results = request.infer({name: x.astype(str) if x.dtype == object else x for name, x in arrays.items()})
    return [np.array(value) for value in results.values()]


def _differs_there(path: str | pathlib.Path, feeds: converted.Feeds, wanted: list[Any]) -> bool:
    """Whether OpenVINO fails or gives other results of the model that was converted, too."""
    try:
        converted.compare(run_there(path, feeds), wanted, 1e-3, "OpenVINO")
    except (AssertionError, RuntimeError):
        return True
    return False


def _check_there(original: str | pathlib.Path, path: pathlib.Path, feeds: converted.Feeds,
                 wanted: list[Any], tally: Tally, known: str) -> None:  # fmt: skip
    if reason := narrowed([*feeds.values(), *wanted]):
        tally.skipped[reason] += 1
        return
    try:
        converted.compare(run_there(path, feeds), wanted, 1e-3, "OpenVINO")
    except (AssertionError, RuntimeError) as error:
        reasons = [reason for sign, reason in NOT_THERE.items() if sign in str(error)]
        reasons += [known] * bool(known)
        if not reasons and _differs_there(original, feeds, wanted):
            reasons.append("other results of the original, too")
        if not reasons:
            raise
        tally.skipped[reasons[0]] += 1
        return
    assert not known, f"OpenVINO is right by now: {known}"
    tally.equal_there += 1
