"""Evaluates random programs with numpy alone, by the rules of the operators' texts.

Numbers follow ONNX, then Scanloom's stated rules where ONNX is silent: integers wrap, a division by
zero is 0, a shift by the width or more is 0, NaN wins in min and max, and -0 is less than +0."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from typing import Any

import numpy as np

from random_programs import DTYPES, Graph, Node, Program, Value

Arrays = dict[str, np.ndarray]


def evaluate(program: Program) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return _run(program.graph, ChainMap(dict(program.feeds)))


def _run(graph: Graph, scope: ChainMap) -> list[np.ndarray]:
    for node in graph.nodes:
        for value, array in zip(node.outputs, _outputs(node, scope)):
            array = np.asarray(array, DTYPES[value.dtype])
            _note_sizes(value, array, scope)
            scope[value.name] = array
    return [scope[value.name] for value in graph.yields]


def _note_sizes(value: Value, array: np.ndarray, scope: ChainMap) -> None:
    """The makers of programs know ranks and sizes; a mistake of theirs shows here."""
    assert len(value.dims) == array.ndim, (value, array.shape)
    for size, found in zip(value.dims, array.shape):
        right = size if isinstance(size, int) else scope.get(f"size {size}", found)
        assert right == found, (value, array.shape)
        if isinstance(size, str):
            scope[f"size {size}"] = found


def _outputs(node: Node, scope: ChainMap) -> list[np.ndarray]:
    if node.op == "Constant":
        return [node.array]
    operands = [scope[name] if name else None for name in node.inputs]
    if node.op == "Scan":
        return _scan(node, operands, scope)
    if node.op == "Loop":
        return _loop(node, operands, scope)
    if node.op == "If":
        side = "then_branch" if operands[0].item() else "else_branch"
        return _run(node.bodies[side], scope.new_child())
    if node.op in _MOVES:
        return [_MOVES[node.op](operands, node.attributes)]
    return [_POINTWISE[node.op](*operands, node.attributes)]


# --- loops ----------------------------------------------------------------------------------


def _scan(node: Node, operands: list[np.ndarray], scope: ChainMap) -> list[np.ndarray]:
    body, given = node.bodies["body"], node.attributes
    count = len(operands) - given["num_scan_inputs"]
    states, scanned = operands[:count], operands[count:]
    rows = [np.moveaxis(x, axis, 0) for x, axis in zip(scanned, given["scan_input_axes"])]
    rows = [x[::-1] if back else x for x, back in zip(rows, given["scan_input_directions"])]
    made: list[list[np.ndarray]] = [[] for _ in given["scan_output_axes"]]
    for step in range(len(rows[0])):
        results = _enter(body, [*states, *(x[step] for x in rows)], scope)
        states = results[:count]
        for list_, row in zip(made, results[count:]):
            list_.append(row)
    stacks = []
    for value, list_, axis, back in zip(
        body.yields[count:], made, given["scan_output_axes"], given["scan_output_directions"]
    ):
        stack = _stack(value, list_[::-1] if back else list_, scope)
        stacks.append(np.moveaxis(stack, 0, axis))
    return [*states, *stacks]


def _loop(node: Node, operands: list[np.ndarray], scope: ChainMap) -> list[np.ndarray]:
    body = node.bodies["body"]
    trip, condition, states = operands[0], operands[1], operands[2:]
    steps = trip.item() if trip is not None else np.inf
    going = condition.item() if condition is not None else True
    made: list[list[np.ndarray]] = [[] for _ in body.yields[1 + len(states) :]]
    step = 0
    while step < steps and going:
        formals = [np.int64(step), np.bool_(going), *states]
        results = _enter(body, formals, scope)
        if condition is not None:
            going = results[0].item()
        states = results[1 : 1 + len(states)]
        for list_, row in zip(made, results[1 + len(states) :]):
            list_.append(row)
        step += 1
    stacked = body.yields[1 + len(states) :]
    return [*states, *(_stack(value, list_, scope) for value, list_ in zip(stacked, made))]


def _enter(body: Graph, formals: list[Any], scope: ChainMap) -> list[np.ndarray]:
    inner = scope.new_child()
    for value, given in zip(body.formals, formals):
        inner[value.name] = np.asarray(given)
        _note_sizes(value, inner[value.name], inner)
    return _run(body, inner)


def _stack(value: Value, rows: list[np.ndarray], scope: ChainMap) -> np.ndarray:
    if rows:
        return np.stack(rows)
    return np.zeros((0, *(_size(size, scope) for size in value.dims)), DTYPES[value.dtype])


def _size(size: Any, scope: ChainMap) -> int:
    """A marked size is that of a value outside; makers stack no others."""
    return size if isinstance(size, int) else scope[f"size {size}"]


# --- operators ------------------------------------------------------------------------------


def _least(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "iub":
        return np.minimum(a, b)
    first = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(a)
    return np.where(np.isnan(b), b, np.where(first, a, b))


def _greatest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "iub":
        return np.maximum(a, b)
    first = (a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(a)
    return np.where(np.isnan(b), b, np.where(first, a, b))


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integers: towards zero."""
    if a.dtype.kind not in "iu":
        return a / b
    floor = np.floor_divide(a, b)
    rest = a - b * floor
    up = (rest != 0) & ((a < 0) != (b < 0)) & (b != 0)
    return floor + up.astype(a.dtype)


def _shift(left: bool) -> Callable[..., np.ndarray]:
    def shift(a: np.ndarray, b: np.ndarray, _: Any) -> np.ndarray:
        width = 8 * a.dtype.itemsize
        shifted = np.left_shift(a, b % width) if left else np.right_shift(a, b % width)
        return np.where(b >= width, a.dtype.type(0), shifted)

    return shift


def _reduce(combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def reduce(operands: list[np.ndarray], given: dict[str, Any]) -> np.ndarray:
        rows = np.moveaxis(operands[0], given["axis"], 0)
        total = rows[0]
        for row in rows[1:]:
            total = combine(total, row)
        return np.expand_dims(total, given["axis"]) if given["keepdims"] else total

    return reduce


def _slice(operands: list[np.ndarray], given: dict[str, Any]) -> np.ndarray:
    x, axis = operands[0], given["axis"]
    stop = None if given["stop"] == -x.shape[axis] - 1 else given["stop"]
    part = slice(given["start"], stop, given["step"])
    return x[(slice(None),) * axis + (part,)]


_MOVES: dict[str, Callable[..., np.ndarray]] = {
    "Concat": lambda x, given: np.concatenate(x, given["axis"]),
    "Gather": lambda x, given: np.take(x[0], x[1], given["axis"]),
    "ReduceMax": _reduce(_greatest),
    "ReduceMin": _reduce(_least),
    "ReduceSum": _reduce(lambda a, b: a + b),
    "Shape": lambda x, given: np.array(x[0].shape, np.int64),
    "Slice": _slice,
    "Squeeze": lambda x, given: np.squeeze(x[0], given["axis"]),
    "Transpose": lambda x, given: np.transpose(x[0], given["perm"]),
    "Unsqueeze": lambda x, given: np.expand_dims(x[0], given["axis"]),
}
_POINTWISE: dict[str, Callable[..., np.ndarray]] = {
    "Abs": lambda a, _: np.abs(a),
    "Add": lambda a, b, _: a + b,
    "And": lambda a, b, _: a & b,
    "BitwiseAnd": lambda a, b, _: a & b,
    "BitwiseNot": lambda a, _: ~a,
    "BitwiseOr": lambda a, b, _: a | b,
    "BitwiseXor": lambda a, b, _: a ^ b,
    "Cast": lambda a, given: a.astype(DTYPES[given["to"]]),
    "Ceil": lambda a, _: np.ceil(a),
    "Div": lambda a, b, _: _divide(a, b),
    "Equal": lambda a, b, _: a == b,
    "Floor": lambda a, _: np.floor(a),
    "Fmod": lambda a, b, _: np.fmod(a, b),
    "Greater": lambda a, b, _: a > b,
    "GreaterOrEqual": lambda a, b, _: a >= b,
    "Identity": lambda a, _: a,
    "Less": lambda a, b, _: a < b,
    "LessOrEqual": lambda a, b, _: a <= b,
    "Max": lambda a, b, _: _greatest(a, b),
    "Min": lambda a, b, _: _least(a, b),
    "Mod": lambda a, b, _: np.mod(a, b),
    "Mul": lambda a, b, _: a * b,
    "Neg": lambda a, _: -a,
    "Not": lambda a, _: ~a,
    "Or": lambda a, b, _: a | b,
    "ShiftLeft": _shift(True),
    "ShiftRight": _shift(False),
    "Sign": lambda a, _: np.where(np.isnan(a), a, (a > 0).astype(np.int8) - (a < 0)),
    "Sub": lambda a, b, _: a - b,
    "Where": lambda c, a, b, _: np.where(c, a, b),
    "Xor": lambda a, b, _: a ^ b,
}
