"""Models of one node, and the sources of their expected results."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import helper

F32 = np.float32
RANDOM = np.random.default_rng(4)


@dataclasses.dataclass(frozen=True)
class Case:
    """One node; right is what `source` gives, 'reference' or 'onnxruntime', or what is stated."""

    name: str
    op: str
    inputs: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    opset: int = 22
    outputs: int = 1
    source: str = "reference"
    expected: Optional[tuple] = None
    constants: tuple = ()
    tolerance: float = 2e-5


def floats(*shape: int, dtype: Any = F32) -> np.ndarray:
    return (RANDOM.integers(-16, 17, shape) / 8).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(dtype)


def case(name: str, op: str, *inputs: Any, **more: Any) -> Case:
    fields = {field.name for field in dataclasses.fields(Case)}
    own = {key: value for key, value in more.items() if key in fields}
    rest = {key: value for key, value in more.items() if key not in fields}
    return Case(name=f"{op}_{name}", op=op, inputs=inputs, attributes=rest, **own)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def model_of(one: Case, symbolic: bool = False) -> bytes:
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(one.inputs)]
    node = helper.make_node(
        one.op, names, [f"o{k}" for k in range(one.outputs)], "node", **one.attributes
    )
    inputs, initialisers = [], []
    for k, (name, value) in enumerate(zip(names, one.inputs)):
        if value is None:
            continue
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        if k in one.constants:
            initialisers.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [f"{name}_{axis}" for axis in range(value.ndim)] if symbolic else value.shape
        inputs.append(helper.make_tensor_value_info(name, number, shape))
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = helper.make_graph([node], "graph", inputs, outputs, initialisers)
    opsets = [helper.make_opsetid("", one.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def feeds_of(one: Case) -> dict[str, np.ndarray]:
    return {
        f"i{k}": value
        for k, value in enumerate(one.inputs)
        if value is not None and k not in one.constants
    }


def wide(value: Any) -> Any:
    """Returns floats narrower than f32 as f32, for evaluators that do not know them."""
    narrow = value is not None and value.dtype.kind in "fV" and value.dtype.itemsize < 4
    return value.astype(F32) if narrow else value


def expected_of(one: Case) -> list[np.ndarray]:
    if one.expected is not None:
        return list(one.expected)
    plain = dataclasses.replace(one, inputs=tuple(wide(value) for value in one.inputs))
    model = model_of(plain)
    if one.source == "onnxruntime":
        session = onnxruntime.InferenceSession(model)
        return session.run(None, feeds_of(plain))
    return onnx.reference.ReferenceEvaluator(onnx.load_from_string(model)).run(
        None, feeds_of(plain)
    )


def compare(result: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    wanted = np.asarray(wanted)
    assert result.shape == wanted.shape
    if wanted.dtype.kind in "US" or wanted.dtype == object:
        assert result.astype(str).tolist() == wanted.astype(str).tolist()
        return
    if result.dtype.kind in "fV" and result.dtype.itemsize < 4:
        tolerance = max(tolerance, 1e-2 if result.dtype == ml_dtypes.bfloat16 else 2e-3)
    assert result.dtype.kind == wanted.dtype.kind or result.dtype.itemsize < 4
    if result.dtype.kind in "fVc":
        kind = wanted.dtype if wanted.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            result.astype(kind), wanted.astype(kind), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(result, wanted)
