"""Runs models written as IRs of OpenVINO again, and compares the results of Scanloom and OpenVINO's
CPU plugin."""

from __future__ import annotations

import dataclasses
import pathlib
import shutil
from typing import Any

import numpy as np

import converted
import openvino_peer
import scanloom
from openvino_peer import TOGETHER, Fed

# Why OpenVINO does not run an IR that is valid: what its messages say.
NOT_THERE = {
    "is_dynamic()": "values of an unknown number of axes, which it does not run",
    "could not broadcast input array": "elements narrower than a byte, packed in its Python interface",
    "ptr is Null": "no form for computed axes there",
    "Unsupported operation of type": "no such operation in its CPU plugin",
    "getElementType": "no such element type in its CPU plugin",
}  # fmt: skip

# Why the results of an IR there are excused: OpenVINO does not give those of what was converted either.
ORIGINAL_DIFFERS = "other results of the original, too"


@dataclasses.dataclass
class Waiting:
    """A model whose IR OpenVINO is yet to run, and copies of what it is fed."""

    name: str
    original: pathlib.Path
    path: pathlib.Path
    feeds: converted.Feeds
    wanted: list[Any]
    known: str


class Tally(converted.Tally):
    """settle() before it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Waiting] = []
        self.failures: list[str] = []  # of comparisons with OpenVINO

    def line(self, title: str) -> str:
        assert not self.waiting
        return super().line(title).replace("as ONNX", "as IR").replace("onnxruntime", "OpenVINO")

    def settle(self) -> None:
        """Runs the waiting models in OpenVINO. A model that runs together with others counts as one
        that runs alone."""
        waiting, self.waiting = self.waiting, []
        together = openvino_peer.run_together([Fed(each.path, each.feeds) for each in waiting if not each.known])
        for each in waiting:
            try:
                found = None if each.known else next(together)
                if found is not None and _agrees(found, each.wanted):
                    self.equal_there += 1
                else:  # on its own, which gives the reason
                    _check_there(each, self)
            except Exception as error:  # whatever happens, the others are tried
                self.failures.append(f"{each.name}: {str(error).strip()[:600]}")


def check(path: str | pathlib.Path, feeds: converted.Feeds, folder: pathlib.Path, tally: Tally,
          tolerance: float = 2e-6, known: str = "", name: str = "") -> None:  # fmt: skip
    """Converts the model and compares its results; AssertionError if they differ. OpenVINO follows
    when the tally is settled. `known`: the reason why OpenVINO gives other results for the model,
    which is then checked to still be so. `name`: the name that a failure there is reported under;
    by default, the file's."""
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
    if reason := narrowed([*feeds.values(), *found]):
        tally.skipped[reason] += 1
        return
    number = len(tally.waiting)
    original, ir = _kept(path, folder, f"original_{number}"), _kept(target, folder, f"waiting_{number}")
    tally.waiting.append(Waiting(name or str(path), original, ir, copied(feeds), found, known))
    if len(tally.waiting) == TOGETHER:
        tally.settle()


def _kept(path: str | pathlib.Path, folder: pathlib.Path, name: str) -> pathlib.Path:
    """Under a name that the next model of the test leaves alone; where its models are not, the path."""
    path = pathlib.Path(path)
    if path.parent not in (folder, *folder.parents):
        return path
    kept = path.with_name(name + path.suffix)
    shutil.copyfile(path, kept)
    if path.suffix == ".xml" and path.with_suffix(".bin").exists():
        shutil.copyfile(path.with_suffix(".bin"), kept.with_suffix(".bin"))
    return kept


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


def copied(feeds: converted.Feeds) -> converted.Feeds:
    return {name: np.array(x) if isinstance(x, np.ndarray) else x for name, x in feeds.items()}


def _agrees(found: list[np.ndarray], wanted: list[Any]) -> bool:
    try:
        converted.compare(found, wanted, 1e-3, "OpenVINO")
    except AssertionError:
        return False
    return True


def _differs_there(each: Waiting) -> bool:
    """Whether OpenVINO fails or gives other results of the model that was converted, too."""
    try:
        return not _agrees(openvino_peer.run_alone(Fed(each.original, each.feeds)), each.wanted)
    except RuntimeError:
        return True


def _check_there(each: Waiting, tally: Tally) -> None:
    try:
        converted.compare(openvino_peer.run_alone(Fed(each.path, each.feeds)), each.wanted, 1e-3, "OpenVINO")
    except (AssertionError, RuntimeError) as error:
        reasons = [reason for sign, reason in NOT_THERE.items() if sign in str(error)]
        reasons += [each.known] * bool(each.known)
        if not reasons and _differs_there(each):
            reasons.append(ORIGINAL_DIFFERS)
        if not reasons:
            raise
        tally.skipped[reasons[0]] += 1
        return
    assert not each.known, f"OpenVINO is right by now: {each.known}"
    tally.equal_there += 1
