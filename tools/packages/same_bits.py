#!/usr/bin/env python3
"""Compares the bits of results between two machines, such as x86-64 and AArch64 under emulation.

    same_bits.py record FOLDER     writes models, feeds, and digests of the results of this machine
    same_bits.py compare FOLDER    runs these models in every way, and compares the digests

Recording needs the packages of the tests. Comparing needs numpy and ml_dtypes alone; the feeds are
read from files, because numpy's random numbers depend on the C library of the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import random
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import ml_dtypes  # noqa: F401  names of element types
import numpy as np
import scanloom

PROJECT = pathlib.Path(__file__).resolve().parents[2]
VOICE_MODEL = PROJECT / "build" / "cache" / "silero-vad" / "silero_vad.onnx"
RANDOM_PROGRAMS, PROGRAM_BYTES = 150, 400
# The digests of the first are recorded, once the others agree.
WAYS = [
    {"execution": "interpreted"},
    {"execution": "stepped", "threads": 1},
    {"execution": "stepped", "threads": 7},
    {"execution": "compiled", "threads": 1},
    {"execution": "compiled", "threads": 2},
    {"execution": "compiled", "threads": 7},
]
Feeds = dict[str, np.ndarray]


def models_of_the_tests() -> Iterator[tuple[str, bytes, Feeds]]:
    import digests
    import real_models

    for case in digests.all_cases():
        yield case.name, case.model, case.feeds
    voice = VOICE_MODEL.read_bytes()
    yield "voice detector of the demo", voice, real_models.feeds_for("silero_vad.onnx", 1)


def digit_reader() -> Iterator[tuple[str, bytes, Feeds]]:
    import digits

    model, images, _ = digits.make_classifier()
    name = scanloom.InferenceSession(model).get_inputs()[0].name
    yield "digit reader of the demo", model, {name: images[:50]}


def random_programs() -> Iterator[tuple[str, bytes, Feeds]]:
    import programs_as_onnx
    from random_loops import ProgramMaker
    from random_programs import Source

    source = random.Random(4)
    for number in range(RANDOM_PROGRAMS):
        program = ProgramMaker(Source(source.randbytes(PROGRAM_BYTES))).program()
        yield f"random program {number}", programs_as_onnx.write(program), program.feeds


def gradients(folder: pathlib.Path) -> Iterator[tuple[str, bytes, Feeds]]:
    """Recurrences in float64 with their gradients, as saved functions."""
    import recurrent_models
    import scanloom.tensor as T

    for name, model in recurrent_models.models().items():
        inputs = [
            T.TensorType("float64", (False,) * array.ndim)(f"x{i}")
            for i, array in enumerate(model.arrays)
        ]
        cost = model.cost(recurrent_models.Scanloom(), *inputs)
        slopes = scanloom.grad(cost, [inputs[i] for i in model.differentiated])
        path = folder / "function.scanloom"
        scanloom.function(inputs, [cost, *slopes]).save(path)
        feeds = {f"x{i}": np.asarray(array) for i, array in enumerate(model.arrays)}
        yield f"{name} with its gradients", path.read_bytes(), feeds
        path.unlink()


def digest(results: list[Any]) -> str:
    """Returns a hash of element types, shapes and bits; all NaNs count as equal."""
    whole = hashlib.sha256()
    for result in results:
        if not isinstance(result, np.ndarray) or result.dtype.hasobject:
            whole.update(repr(result).encode())
            continue
        values = np.ascontiguousarray(result)
        whole.update(f"{values.dtype} {values.shape} ".encode())
        if values.dtype.kind in "fcV":
            is_nan = values != values
            whole.update(is_nan.tobytes())
            values = np.where(is_nan, np.zeros((), values.dtype), values)
        whole.update(values.tobytes())
    return whole.hexdigest()[:16]


def run(model: bytes, feeds: Feeds, way: dict[str, Any]) -> tuple[str, int]:
    """Returns the digest of the results, and how many loops are compiled."""
    session = scanloom.InferenceSession(model, **way)
    found = digest(session.run(None, feeds))
    again = digest(session.run(None, feeds))
    if again != found:
        found = f"{found}, then {again}"
    return found, session.explain().count("compiled")


def record(folder: pathlib.Path) -> int:
    if os.uname().machine == "x86_64" and scanloom.environment()["isa"] == "baseline":
        print("same_bits: this machine has no fused multiply-add, or it is masked", file=sys.stderr)
        return 2
    sys.path += [str(PROJECT / "python" / "tests"), str(PROJECT / "demo")]
    folder.mkdir(parents=True, exist_ok=True)
    sources = [models_of_the_tests(), digit_reader(), random_programs(), gradients(folder)]
    cases = []
    for name, model, feeds in (case for source in sources for case in source):
        arrays = {key: np.asarray(value) for key, value in feeds.items()}
        if any(array.dtype.hasobject or array.dtype.kind in "SU" for array in arrays.values()):
            continue
        found = {run(model, feeds, way)[0] for way in WAYS}
        if len(found) != 1:
            print(f"{name}: the ways to run it differ: {sorted(found)}", file=sys.stderr)
            return 1
        (folder / f"{len(cases)}.model").write_bytes(model)
        (folder / f"{len(cases)}.feeds").write_bytes(b"".join(a.tobytes() for a in arrays.values()))
        described = [(key, str(a.dtype), list(a.shape)) for key, a in arrays.items()]
        cases.append({"name": name, "feeds": described, "digest": found.pop()})
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    print(f"same_bits: {len(cases)} models recorded, {len(WAYS)} ways each")
    return 0


def read_feeds(path: pathlib.Path, described: list[Any]) -> Feeds:
    data, begin, feeds = path.read_bytes(), 0, {}
    for name, dtype, shape in described:
        count = int(np.prod(shape, dtype=np.int64))
        feeds[name] = np.frombuffer(data, np.dtype(dtype), count, begin).reshape(shape).copy()
        begin += feeds[name].nbytes
    return feeds


def compare(folder: pathlib.Path) -> int:
    cases = json.loads((folder / "cases.json").read_text())
    differing, compiled, began = 0, 0, time.monotonic()
    for number, case in enumerate(cases):
        model = (folder / f"{number}.model").read_bytes()
        feeds = read_feeds(folder / f"{number}.feeds", case["feeds"])
        found = [run(model, feeds, way) for way in WAYS]
        compiled += max(loops for _, loops in found)
        wrong = [way for way, (result, _) in zip(WAYS, found) if result != case["digest"]]
        for way in wrong:
            print(f"{case['name']}: other bits than recorded, {way}", file=sys.stderr)
        differing += bool(wrong)
    print(f"same_bits: {len(cases)} models on {os.uname().machine}, {len(WAYS)} ways each, "
          f"{compiled} compiled loops, {differing} models differ; "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    return int(differing > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", scanloom.ModelWarning)
    return {"record": record, "compare": compare}[arguments.action](arguments.folder)


if __name__ == "__main__":
    sys.exit(main())
