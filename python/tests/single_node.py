"""Models of one node, run in every way there is; the ways must give the same bits."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, reference

import scanloom

REALS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
TOLERANCE = {
    np.dtype(np.float64): 1e-6,
    np.dtype(np.float32): 2e-5,
    np.dtype(np.float16): 4e-3,
    np.dtype(ml_dtypes.bfloat16): 3e-2,
}
SYMBOLIC = pytest.mark.parametrize("symbolic", [False, True], ids=["sizes", "symbols"])
EXECUTIONS = ("automatic", "stepped", "interpreted")


def element_type(array: np.ndarray) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def model(
    op: str,
    inputs: Sequence[Optional[np.ndarray]],
    outputs: int = 1,
    opset: int = 24,
    domain: str = "",
    symbolic: bool = False,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node. An input None is left out; with `symbolic`, sizes are left open."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    declared = [
        helper.make_tensor_value_info(
            name,
            element_type(value),
            [f"{name}_{axis}" for axis in range(value.ndim)] if symbolic else value.shape,
        )
        for name, value in zip(names, inputs)
        if value is not None
    ]
    opsets = [helper.make_opsetid("", 24 if domain else opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, opset))
    graph = helper.make_graph(
        [node], "single", declared, [onnx.ValueInfoProto(name=name) for name in results]
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def feeds(inputs: Sequence[Optional[np.ndarray]]) -> dict[str, np.ndarray]:
    return {f"x{i}": value for i, value in enumerate(inputs) if value is not None}


def run_every_way(proto: onnx.ModelProto, fed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The results, which are the same bits for every execution and number of threads."""
    data = proto.SerializeToString()
    first: list[np.ndarray] = []
    for execution in EXECUTIONS:
        for threads in (1, 2, 7):
            options = scanloom.SessionOptions(execution=execution, threads=threads)
            results = scanloom.InferenceSession(data, options).run(None, fed)
            first = first or results
            for result, wanted in zip(results, first):
                assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
                assert result.tobytes() == wanted.tobytes(), (execution, threads)
    return first


def run(
    op: str, inputs: Sequence[Optional[np.ndarray]], outputs: int = 1, **rest: Any
) -> list[np.ndarray]:
    proto = model(op, inputs, outputs, **rest)
    return run_every_way(proto, feeds(inputs))


def by_reference(
    op: str, inputs: Sequence[Optional[np.ndarray]], outputs: int = 1, **rest: Any
) -> list[np.ndarray]:
    """Returns the results of onnx's own evaluator."""
    proto = model(op, inputs, outputs, **rest)
    return reference.ReferenceEvaluator(proto).run(None, feeds(inputs))


def randoms(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def close(result: np.ndarray, wanted: np.ndarray, scale: float = 1) -> None:
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
    tolerance = scale * TOLERANCE.get(wanted.dtype, 0)
    np.testing.assert_allclose(
        result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance
    )


def refused(
    op: str, inputs: Sequence[Optional[np.ndarray]], words: str, outputs: int = 1, **rest: Any
) -> None:
    with pytest.raises(scanloom.Error, match=words):
        proto = model(op, inputs, outputs, **rest)
        scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
