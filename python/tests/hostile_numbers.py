"""Runs single operators on unexpected sizes, axes and tables, planned and interpreted, in a process
of its own, whose address space is limited.

The models and inputs are those of ONNX's backend suite. All their integers are fed, and some are
replaced: numbers by very large or small ones, lists by longer, shorter or empty ones or by those of
another integer type, sizes of other inputs by neighbouring ones. Prints one JSON line per case,
before it is run and after. Called with the suite's folder, the seed, and the number of the first
case."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import resource
import sys
import time
from typing import Any

import numpy as np
import onnx

import backend_suite
import scanloom

# The library is one of the sanitizers, which are slow and take any address.
WATCHED = os.environ.get("SCANLOOM_WATCHED") == "1"
ADDRESS_SPACE = 6 << 30
VARIANTS = 3
LIMITS = {"deadline": 60 if WATCHED else 5, "max_memory": 1 << 28, "max_steps": 10_000}
NUMBERS = (-(2**63), -(2**31), -17, -2, -1, 0, 1, 2, 3, 5, 1000, 2**31, 2**40, 2**63 - 1)

Feeds = dict[str, Any]


def cases(suite: pathlib.Path) -> list[str]:
    """Returns the cases of single operators, which pass unchanged."""
    return [name for name in backend_suite.read_table() if name.startswith("node/")]


def variant(folder: pathlib.Path, rng: np.random.Generator) -> tuple[onnx.ModelProto, Feeds]:
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    feeds = backend_suite.feeds(model.graph, folder / "test_data_set_0")
    changed = {name: _changed(value, rng) for name, value in feeds.items()}
    declared = rng.random() < 0.5
    for value in model.graph.input:
        _declare(value, changed.get(value.name), declared)
    if rng.random() < 0.7:
        for value in model.graph.output:
            _declare(value, None, False)
    return model, changed


def outcome(model: onnx.ModelProto, feeds: Feeds, execution: str) -> tuple[str, str]:
    """("fine", what came out), or the code of the error and its text."""
    try:
        session = scanloom.InferenceSession(model.SerializeToString(), execution=execution)
        return "fine", _describe(session.run(None, feeds, scanloom.RunOptions(**LIMITS)))
    except scanloom.Error as error:
        return error.code, str(error)


def _describe(result: Any) -> str:
    """Types and sizes, and of integers the bits: kernels may add real numbers in other orders."""
    if isinstance(result, list):
        return "[" + ", ".join(_describe(item) for item in result) + "]"
    if not isinstance(result, np.ndarray):
        return repr(result)
    bits = hashlib.sha256(result.tobytes()).hexdigest()[:16] if result.dtype.kind in "iub" else ""
    return f"{result.dtype}{result.shape}{bits}"


def _changed(value: Any, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or rng.random() < 0.3:
        return value
    if value.dtype in (np.int32, np.int64) and rng.random() < 0.8:
        value = np.array(value)
        some = rng.random(value.shape) < 0.5
        number = rng.choice(np.array(NUMBERS, dtype=np.int64), size=value.shape)
        value[some] = np.asarray(number).astype(value.dtype)[some]
        if rng.random() < 0.15:
            value = value.astype(np.int32 if value.dtype == np.int64 else np.int64)
    return _resized(value, rng) if rng.random() < 0.4 else value


def _resized(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One axis longer, shorter, empty or gone, or a new one."""
    kind = rng.integers(5)
    if kind == 0 or value.ndim == 0:
        return value[np.newaxis]
    axis = int(rng.integers(value.ndim))
    if kind == 1:
        return np.take(value, 0, axis) if value.shape[axis] else value
    if kind == 2:
        return np.concatenate([value, value], axis)
    return np.take(value, range(0 if kind == 3 else value.shape[axis] // 2), axis)


def _declare(info: onnx.ValueInfoProto, value: Any, sizes: bool) -> None:
    """The sizes of that value, or none."""
    if not info.type.HasField("tensor_type"):
        return
    tensor = info.type.tensor_type
    if isinstance(value, np.ndarray) and value.dtype in (np.int32, np.int64):
        tensor.elem_type = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    tensor.ClearField("shape")
    if not sizes or not isinstance(value, np.ndarray):
        return
    tensor.shape.SetInParent()
    for size in value.shape:
        tensor.shape.dim.add().dim_value = size


def main() -> None:
    if not WATCHED:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    suite, seed, first = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names = [name for name in cases(suite) for _ in range(VARIANTS)]
    for number, name in enumerate(names[first:], start=first):
        print(json.dumps({"number": number, "name": name}), flush=True)
        model, feeds = variant(suite / name, np.random.default_rng([seed, number]))
        answer: dict[str, Any] = {"number": number, "name": name}
        for execution in ("automatic", "interpreted"):
            began = time.monotonic()
            answer[execution] = outcome(model, feeds, execution)
            answer[f"{execution}_seconds"] = time.monotonic() - began
        print(json.dumps(answer), flush=True)
    print(json.dumps({"number": len(names), "name": "end"}), flush=True)


if __name__ == "__main__":
    main()
