"""Single nodes of the domain com.microsoft, compared with onnxruntime."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence

import numpy as np
import onnx
import onnxruntime
import single_node
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"


@dataclasses.dataclass(frozen=True)
class Case:
    """A node with its operands. Those at `constants` are initialisers, which onnxruntime often
    needs; `steps` is how many quanta a quantized result may differ by."""

    name: str
    op: str
    inputs: tuple
    attributes: dict
    outputs: int = 1
    constants: tuple = ()
    scale: float = 1
    steps: int = 0
    domain: str = DOMAIN
    opset: int = 1


def case(
    name: str,
    op: str,
    *inputs: Optional[np.ndarray],
    outputs: int = 1,
    constants: Sequence[int] = (),
    scale: float = 1,
    steps: int = 0,
    domain: str = DOMAIN,
    opset: int = 1,
    **attributes: Any,
) -> Case:
    return Case(
        name, op, inputs, attributes, outputs, tuple(constants), scale, steps, domain, opset
    )


def model_of(one: Case, symbolic: bool = False) -> onnx.ModelProto:
    proto = single_node.model(
        one.op, one.inputs, one.outputs, one.opset, one.domain, symbolic
    )
    # Added by hand, because an attribute may be called like an argument of the function above.
    for name, value in one.attributes.items():
        proto.graph.node[0].attribute.append(helper.make_attribute(name, value))
    if one.domain:
        proto.opset_import[0].version = 21
    graph = proto.graph
    for i in one.constants:
        name = f"x{i}"
        value = one.inputs[i]
        graph.initializer.append(numpy_helper.from_array(value, name))
        graph.input.remove(next(info for info in graph.input if info.name == name))
    return proto


def feeds_of(one: Case) -> dict[str, np.ndarray]:
    return {
        f"x{i}": value
        for i, value in enumerate(one.inputs)
        if value is not None and i not in one.constants
    }


def by_onnxruntime(proto: onnx.ModelProto, fed: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, fed)


def one_run(
    op: str, inputs: Sequence[Optional[np.ndarray]], outputs: int = 1, **attributes: Any
) -> list[np.ndarray]:
    """The results of a node that onnxruntime has no kernel for."""
    return single_node.run(op, inputs, outputs, domain=DOMAIN, opset=1, **attributes)


def bytes_of(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    """Any numbers of an integer type; half the range of i8 (see `ends_of`)."""
    random = np.random.default_rng(seed + sum(shape))
    return random.integers(*ends_of(dtype), shape).astype(dtype)


def ends_of(dtype: Any) -> tuple[int, int]:
    """The range of random numbers, without its end. Where the processor cannot sum four products
    of bytes at once, onnxruntime sums pairs of products of u8 and i8 in 16 bits, which saturate
    unless one factor has 7 bits."""
    limits = np.iinfo(dtype)
    return (-64, 64) if dtype == np.int8 else (limits.min, limits.max + 1)


def trimmed(inputs: Sequence[Optional[np.ndarray]]) -> list[Optional[np.ndarray]]:
    """Without absent operands at the end."""
    present = list(inputs)
    while present[-1] is None:
        present.pop()
    return present


def with_input(one: Case, i: int, value: Optional[np.ndarray]) -> list[Optional[np.ndarray]]:
    """The operands, with another one at position i."""
    return [value if i == j else x for j, x in enumerate(one.inputs)]


def agree(result: np.ndarray, wanted: np.ndarray, scale: float = 1, steps: int = 0) -> None:
    """Floats agree up to rounding, integers to `steps`."""
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind in "iu" and steps:
        far = np.abs(result.astype(np.int64) - wanted.astype(np.int64))
        assert far.max(initial=0) <= steps
        # Ties are rare: a wrong formula would move most of the elements.
        assert np.count_nonzero(far) <= max(1, far.size // 20)
        return
    single_node.close(result, wanted, scale)
