"""Scan models over a grid of axes, directions, states, inputs and element types, and what plain
numpy says of them: written from the operator's text, without any engine's help.

The bodies keep a state per element (the sum so far where numbers can be added, else the element
before) and yield what they read, so that a row out of place, of another step or of another input
shows in the result."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, Optional

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

SIZES = (2, 3, 4)  # of an element's axes; unequal, so that swapped axes show
LENGTHS = (17, 2, 1, 0)
RANKS = (1, 2, 3, 4)
BATCH = 3
IR_VERSIONS = {8: 3, 9: 4, 11: 6, 16: 8, 21: 10, 25: 13}


@dataclasses.dataclass(frozen=True)
class Kind:
    """An element type: since which operator set Scan takes it, and Add adds it (0: never)."""

    name: str
    proto: int
    dtype: Any
    since: int = 8
    added_since: int = 0


KINDS = (
    Kind("bool", TensorProto.BOOL, np.bool_),
    Kind("string", TensorProto.STRING, object),
    Kind("complex64", TensorProto.COMPLEX64, np.complex64),
    Kind("complex128", TensorProto.COMPLEX128, np.complex128),
    Kind("int8", TensorProto.INT8, np.int8, 8, 14),
    Kind("int16", TensorProto.INT16, np.int16, 8, 14),
    Kind("int32", TensorProto.INT32, np.int32, 8, 7),
    Kind("int64", TensorProto.INT64, np.int64, 8, 7),
    Kind("uint8", TensorProto.UINT8, np.uint8, 8, 14),
    Kind("uint16", TensorProto.UINT16, np.uint16, 8, 14),
    Kind("uint32", TensorProto.UINT32, np.uint32, 8, 7),
    Kind("uint64", TensorProto.UINT64, np.uint64, 8, 7),
    Kind("float16", TensorProto.FLOAT16, np.float16, 8, 7),
    Kind("float", TensorProto.FLOAT, np.float32, 8, 7),
    Kind("double", TensorProto.DOUBLE, np.float64, 8, 7),
    Kind("bfloat16", TensorProto.BFLOAT16, ml_dtypes.bfloat16, 16, 13),
    Kind("float8e4m3fn", TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, 19),
    Kind("float8e4m3fnuz", TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz, 19),
    Kind("float8e5m2", TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2, 19),
    Kind("float8e5m2fnuz", TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz, 19),
    Kind("int4", TensorProto.INT4, ml_dtypes.int4, 21),
    Kind("uint4", TensorProto.UINT4, ml_dtypes.uint4, 21),
    Kind("float4e2m1", TensorProto.FLOAT4E2M1, ml_dtypes.float4_e2m1fn, 23),
    Kind("float8e8m0", TensorProto.FLOAT8E8M0, ml_dtypes.float8_e8m0fnu, 24),
    Kind("int2", TensorProto.INT2, ml_dtypes.int2, 25),
    Kind("uint2", TensorProto.UINT2, ml_dtypes.uint2, 25),
)


@dataclasses.dataclass(frozen=True)
class Form:
    """One Scan: one entry per scan input, which is also one per stacked output."""

    rank: int
    in_axes: tuple[int, ...]
    out_axes: tuple[int, ...]
    in_reverse: tuple[bool, ...]
    out_reverse: tuple[bool, ...]
    states: int
    typed: bool = True  # whether the body's formals say their shapes

    @property
    def inputs(self) -> int:
        return len(self.in_axes)


def forms() -> list[Form]:
    """Every axis and direction, in and out, with 0 to 2 states and 1 to 2 scan inputs.

    A second input and output are scanned along other axes and directions than the first."""
    made = []
    for rank in RANKS:
        axes = range(-rank, rank)
        for in_axis, out_axis, in_reverse, out_reverse, states, inputs in itertools.product(
            axes, axes, (False, True), (False, True), (0, 1, 2), (1, 2)
        ):
            other = rank - 1 - (in_axis % rank)
            other_out = (out_axis % rank + 1) % rank - rank
            made.append(
                Form(
                    rank,
                    (in_axis, other)[:inputs],
                    (out_axis, other_out)[:inputs],
                    (in_reverse, not in_reverse)[:inputs],
                    (out_reverse, in_reverse)[:inputs],
                    states,
                    typed=len(made) % 3 != 0,
                )
            )
    return made


def batched_forms() -> list[Form]:
    """Returns the forms of Scan-8, whose axes are fixed and whose outputs have no direction."""
    return [
        Form(rank, (1,) * inputs, (1,) * inputs, (reverse, not reverse)[:inputs],
             (False,) * inputs, states)
        for rank, reverse, states, inputs in itertools.product(
            (2, 3, 4), (False, True), (0, 1, 2), (1, 2)
        )
    ]


def model(form: Form, kind: Kind, opset: int, with_lengths: bool = False) -> bytes:
    """Inputs h0.. and x0.., outputs h0_last.. and y0..; Scan-8 may take `lengths` before them."""
    batched = opset == 8
    element = list(SIZES[: form.rank - (2 if batched else 1)])
    batch = ["B"] if batched else []
    rows = [_with_steps(element, axis) for axis in form.in_axes]
    if batched:
        rows = [["B", "T", *element]] * form.inputs
    states = [f"h{i}" for i in range(form.states)]
    scanned = [f"x{i}" for i in range(form.inputs)]
    stacked = [f"y{i}" for i in range(form.inputs)]
    finals = [f"{name}_last" for name in states]
    node = helper.make_node(
        "Scan",
        (["lengths" if with_lengths else ""] if batched else []) + states + scanned,
        finals + stacked,
        name="scan",
        body=_body(form, kind, opset, element),
        num_scan_inputs=form.inputs,
        **_attributes(form, batched),
    )
    values = [_info(name, kind, batch + element) for name in states]
    values += [_info(name, kind, shape) for name, shape in zip(scanned, rows)]
    if with_lengths:
        values.append(helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"]))
    results = [_info(name, kind, batch + element) for name in finals]
    results += [_info(name, kind, [None] * form.rank) for name in stacked]
    graph = helper.make_graph([node], "grid", values, results)
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSIONS[opset]
    )
    return made.SerializeToString()


def _attributes(form: Form, batched: bool) -> dict[str, list[int]]:
    if batched:
        return {"directions": [int(flag) for flag in form.in_reverse]}
    return {
        "scan_input_axes": list(form.in_axes),
        "scan_output_axes": list(form.out_axes),
        "scan_input_directions": [int(flag) for flag in form.in_reverse],
        "scan_output_directions": [int(flag) for flag in form.out_reverse],
    }


def _info(name: str, kind: Kind, shape: Optional[list[Any]]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind.proto, shape)


def _with_steps(element: list[int], axis: int) -> list[Any]:
    at = axis % (len(element) + 1)
    return [*element[:at], "T", *element[at:]]


def _is_added(kind: Kind, opset: int) -> bool:
    return 0 < kind.added_since <= opset


def _body(form: Form, kind: Kind, opset: int, element: list[int]) -> onnx.GraphProto:
    """Per input i: y_i is the element, or with states what state i % states held before the step.

    The next state j is the sum of itself and the element j % inputs, or that element."""
    nodes, states, inputs = [], range(form.states), range(form.inputs)
    for j in states:
        read = f"e{j % form.inputs}"
        operands = [f"s{j}", read] if _is_added(kind, opset) else [read]
        name = "Add" if len(operands) == 2 else "Identity"
        nodes.append(helper.make_node(name, operands, [f"n{j}"]))
    for i in inputs:
        read = f"s{i % form.states}" if form.states and i % 2 == 0 else f"e{i}"
        nodes.append(helper.make_node("Identity", [read], [f"r{i}"]))
    shape = element if form.typed else None
    return helper.make_graph(
        nodes,
        "step",
        [_info(f"s{j}", kind, shape) for j in states] + [_info(f"e{i}", kind, shape) for i in inputs],
        [_info(f"n{j}", kind, shape) for j in states] + [_info(f"r{i}", kind, shape) for i in inputs],
    )


def values_of(kind: Kind, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Values that differ as far as the type allows."""
    random = np.random.default_rng(seed)
    if kind.dtype is object:
        words = random.integers(0, 1000, shape)
        texts = [f"{word}\u00e9" if word % 3 else "" for word in words.ravel().tolist()]
        made = np.empty(words.size, object)
        made[:] = texts
        return made.reshape(shape)
    if kind.name.startswith("complex"):
        parts = random.integers(-50, 50, (2, *shape)).astype(kind.dtype)
        return (parts[0] + np.asarray(1j, kind.dtype) * parts[1]).astype(kind.dtype)
    if kind.dtype is np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if "int" in kind.name:
        bits = int(kind.name.lstrip("uint"))
        low = 0 if kind.name[0] == "u" else -(1 << (bits - 1))
        high = low + (1 << bits)
        wide = random.integers(low, high, shape, np.uint64 if low == 0 else np.int64)
        if bits >= 8:
            return wide.astype(kind.dtype)
        return wide.astype(np.int8 if low else np.uint8).astype(kind.dtype)
    if kind.name == "float8e8m0":
        return (2.0 ** random.integers(-9, 9, shape)).astype(np.float32).astype(kind.dtype)
    return (random.integers(-400, 400, shape) / 8).astype(np.float32).astype(kind.dtype)


def feeds_of(form: Form, kind: Kind, length: int, batch: Optional[int] = None) -> dict[str, Any]:
    """`batch`: that of Scan-8, whose scan axis is 1."""
    front = () if batch is None else (batch,)
    element = SIZES[: form.rank - 1 - len(front)]
    feeds = {f"h{j}": values_of(kind, front + element, 7 + j) for j in range(form.states)}
    for i, axis in enumerate(form.in_axes):
        shape = list(element)
        shape.insert(axis % (len(element) + 1) if batch is None else 0, length)
        feeds[f"x{i}"] = values_of(kind, front + tuple(shape), 31 + i + length)
    return feeds


def expected(form: Form, kind: Kind, opset: int, feeds: dict[str, Any]) -> list[np.ndarray]:
    """Final states, then stacked rows."""
    moved = [np.moveaxis(feeds[f"x{i}"], axis, 0) for i, axis in enumerate(form.in_axes)]
    rows = [x[::-1] if reverse else x for x, reverse in zip(moved, form.in_reverse)]
    states = [feeds[f"h{j}"] for j in range(form.states)]
    added = _is_added(kind, opset)
    made: list[list[np.ndarray]] = [[] for _ in rows]
    for step in range(len(rows[0])):
        elements = [x[step] for x in rows]
        for i, element in enumerate(elements):
            made[i].append(states[i % form.states] if form.states and i % 2 == 0 else element)
        before = states
        with np.errstate(over="ignore"):
            states = [
                before[j] + elements[j % form.inputs] if added else elements[j % form.inputs]
                for j in range(form.states)
            ]
    stacks = []
    for i, (axis, reverse) in enumerate(zip(form.out_axes, form.out_reverse)):
        order = made[i][::-1] if reverse else made[i]
        empty = np.empty((0, *moved[i].shape[1:]), moved[i].dtype)
        stack = np.stack(order) if order else empty
        stacks.append(np.moveaxis(stack, 0, axis))
    return [np.asarray(state, moved[0].dtype) for state in states] + stacks


def expected_batched(
    form: Form, kind: Kind, feeds: dict[str, Any], lengths: Optional[np.ndarray]
) -> list[np.ndarray]:
    """Scan-8: every row of the batch by itself; rows past its length are zeros, and only the
    steps before it are read backwards."""
    flat = dataclasses.replace(form, in_axes=(0,) * form.inputs, out_axes=(0,) * form.inputs)
    batch, longest = feeds["x0"].shape[:2]
    if batch == 0:  # none of what one row would give
        zero = "" if kind.dtype is object else 0
        row = {name: np.full((1, *x.shape[1:]), zero, x.dtype) for name, x in feeds.items()}
        length = None if lengths is None else np.array([longest])
        return [result[:0] for result in expected_batched(form, kind, row, length)]
    single = []
    for row in range(batch):
        steps = longest if lengths is None else int(lengths[row])
        own = {name: x[row, :steps] if name[0] == "x" else x[row] for name, x in feeds.items()}
        single.append(expected(flat, kind, 8, own))
    joined = []
    for index in range(form.states + form.inputs):
        parts = [results[index] for results in single]
        if index >= form.states:
            parts = [_padded(part, longest, kind) for part in parts]
        shape = (batch, *parts[0].shape)
        # Arrays of texts would be cut to the first one's longest.
        dtype = object if kind.dtype is object else parts[0].dtype
        joined.append(np.array(parts, dtype).reshape(shape))
    return joined


def _padded(rows: np.ndarray, length: int, kind: Kind) -> np.ndarray:
    whole = np.full((length, *rows.shape[1:]), "" if kind.dtype is object else 0, rows.dtype)
    whole[: len(rows)] = rows
    return whole


def pairs(opsets: tuple[int, ...]) -> Iterator[tuple[int, Kind]]:
    return ((opset, kind) for opset in opsets for kind in KINDS if kind.since <= opset)
