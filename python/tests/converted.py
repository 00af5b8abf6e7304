"""Runs models written as ONNX again, and compares the results of Scanloom and onnxruntime."""

from __future__ import annotations

import collections
import itertools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

import scanloom

Feeds = dict[str, Any]

# Why onnxruntime does not run a model that is valid: what its messages say.
NOT_THERE = {
    "NOT_IMPLEMENTED": "no kernel for the element type",
    "can't be converted to MLDataType": "no such element type in its Python interface",
    "is not currently registered or supported": "no kernel for the element type",
    "No corresponding Numpy type": "no such element type in its Python interface",
    "string_normalizer.cc": "no locale en_US on this machine",
    "ort_value_tensor_slicer.cc": "no Scan of no steps",
    "Pad should be smaller than kernel": "padding that it does not take",
}  # fmt: skip


class Tally:
    """Counts of what was converted, for a line that readers of a log look for."""

    def __init__(self) -> None:
        self.models = self.same_bits = self.equal_there = 0
        self.skipped: collections.Counter[str] = collections.Counter()
        self.unsupported: list[str] = []

    def line(self, title: str) -> str:
        skipped = ", ".join(f"{count} with {reason}" for reason, count in sorted(self.skipped.items()))
        return (
            f"{title} as ONNX: {self.models} models, {self.same_bits} with the same bits, "
            f"{self.equal_there} equal in onnxruntime" + (f" ({skipped})" if skipped else "")
            + (f"; {len(self.unsupported)} have no form" if self.unsupported else "")
        )  # fmt: skip


def calls_of(test: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The arguments with which pytest calls a parametrised test."""
    axes = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names = [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])  # fmt: skip
        values = [value.values if type(value).__name__ == "ParameterSet" else value for value in mark.args[1]]
        axes.append([dict(zip(names, value if len(names) > 1 else [value])) for value in values])
    for chosen in itertools.product(*axes):
        yield {name: value for each in chosen for name, value in each.items()}


def check(path: str | pathlib.Path, feeds: Feeds, folder: pathlib.Path, tally: Tally,
          tolerance: float = 2e-5, states: Feeds | None = None, known: str = "") -> None:  # fmt: skip
    """Converts the model and compares what it gives; AssertionError where that differs. `states`:
    first values of those that are inputs of the ONNX model and not of the model itself. `known`: why
    onnxruntime gives other results, which is then checked to be so still."""
    target = folder / "converted.onnx"
    try:
        scanloom.convert(path, target)
    except scanloom.Unsupported as error:
        tally.unsupported.append(str(error))
        return
    tally.models += 1
    onnx.checker.check_model(str(target), full_check=True)
    before, after = scanloom.InferenceSession(path), scanloom.InferenceSession(target)
    fed = {**feeds, **(states or {})}
    assert [value.name for value in before.get_inputs()] == [value.name for value in after.get_inputs()][: len(before.get_inputs())]
    wanted = before.run(None, feeds)
    found = after.run(None, fed)[: len(wanted)]
    tally.same_bits += all(map(same_bits, found, wanted))
    compare(found, wanted, tolerance, "Scanloom")
    _check_there(path, target, fed, found, tally, known)


def _check_there(original: str | pathlib.Path, path: pathlib.Path, feeds: Feeds, wanted: Sequence[Any], tally: Tally,
                 known: str) -> None:  # fmt: skip
    try:
        session = _session_there(path)
        found = session.run(None, {name: np.asarray(x) if isinstance(x, np.generic) else x for name, x in feeds.items()})
    except Exception as error:  # of its own classes, which have no name in common
        reasons = [reason for sign, reason in NOT_THERE.items() if sign in str(error)]
        assert reasons, f"onnxruntime: {error}"
        tally.skipped[reasons[0]] += 1
        return
    try:
        compare(found[: len(wanted)], wanted, 1e-4, "onnxruntime")
    except AssertionError:
        if not known and not _differs_there(original, feeds, wanted):
            raise
        tally.skipped[known or "other results of the original, too"] += 1
        return
    assert not known, f"onnxruntime is right by now: {known}"
    tally.equal_there += 1


def _session_there(path: str | pathlib.Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # starting others takes longer than these models run
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _differs_there(original: str | pathlib.Path, feeds: Feeds, wanted: Sequence[Any]) -> bool:
    """Whether onnxruntime gives other results of the model that was converted, if it reads that."""
    if not str(original).endswith(".onnx"):
        return False
    session = _session_there(original)
    try:
        compare(session.run(None, feeds), wanted, 1e-4, "onnxruntime")
    except AssertionError:
        return True
    return False


def same_bits(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same_bits, found, wanted))
    if wanted is None or np.asarray(wanted).dtype == object:
        return repr(found) == repr(wanted)
    found, wanted = np.asarray(found), np.asarray(wanted)
    return (found.shape, found.dtype, found.tobytes()) == (wanted.shape, wanted.dtype, wanted.tobytes())


def compare(found: Sequence[Any], wanted: Sequence[Any], tolerance: float, who: str) -> None:
    assert len(found) == len(wanted), f"{who}: {len(found)} results, not {len(wanted)}"
    for i, (one, other) in enumerate(zip(found, wanted)):
        if isinstance(other, list):
            compare(one, other, tolerance, f"{who}, item of output {i}")
            continue
        if other is None:
            assert one is None
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype == np.uint8 and other.dtype.itemsize == 1 and other.dtype.kind == "V":
            one = one.view(other.dtype)  # how onnxruntime gives floats of 8 bits
        assert one.shape == other.shape, f"{who}: output {i} is {one.shape}, not {other.shape}"
        if other.dtype.kind in "OSUbiu":
            assert np.array_equal(one, other), f"{who}: output {i} differs"
        elif other.dtype.kind == "c":
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=who)
        else:
            if other.dtype.itemsize < 4:
                tolerance = max(tolerance, 4e-3)
            np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=tolerance,
                                       atol=tolerance, err_msg=f"{who}: output {i}")  # fmt: skip
