"""Random programs as small trees: what their parts are, and the nodes that neither loop nor branch.

random_loops.py adds loops and branches and makes whole programs, numpy_programs.py evaluates them,
programs_as_onnx.py writes them.

Every choice is a number taken from a source of bytes, so that a shorter or smaller source gives a
simpler program. Sizes are numbers or, where only running tells, marks: two sizes with one mark are
equal. The operators are those with one right answer to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import ml_dtypes
import numpy as np

Size = Union[int, str]
MAX_RANK, MAX_NODES = 4, 5

DTYPES: dict[str, Any] = {
    "float": np.float32, "int64": np.int64, "bool": np.bool_, "int32": np.int32,
    "double": np.float64, "uint8": np.uint8, "int8": np.int8, "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
FLOATS = ("float", "double", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "uint8", "int8")


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    dtype: str
    dims: tuple[Size, ...]


@dataclasses.dataclass
class Node:
    op: str
    inputs: list[Optional[str]]
    outputs: list[Value]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    bodies: dict[str, "Graph"] = dataclasses.field(default_factory=dict)
    array: Optional[np.ndarray] = None  # of a constant
    as_initialiser: bool = False


@dataclasses.dataclass
class Graph:
    formals: list[Value]
    nodes: list[Node] = dataclasses.field(default_factory=list)
    yields: list[Value] = dataclasses.field(default_factory=list)
    declared: int = 0  # 0: formals with sizes, 1: with ranks, 2: only element types


@dataclasses.dataclass
class Program:
    graph: Graph
    feeds: dict[str, np.ndarray]
    opset: int


class Source:
    """Numbers from bytes; zeros when they are used up."""

    def __init__(self, taken: Iterable[int]) -> None:
        self._rest = iter(taken)

    def pick(self, count: int) -> int:
        return next(self._rest, 0) % count

    def of(self, choices: Sequence[Any]) -> Any:
        return choices[self.pick(len(choices))]

    def chance(self, part: int, whole: int) -> bool:
        """Never when the source is used up."""
        return self.pick(whole) >= whole - part


class OperatorMaker:
    """`for_peer`: leaves out what onnxruntime is known to compute wrongly or to die of: divisions
    by zero, shifts too far, bodies that yield what they do not make, omitted conditions, loops over
    nothing."""

    def __init__(self, source: Source, for_peer: bool = False) -> None:
        self.source = source
        self.for_peer = for_peer
        self.count = 0

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def dtype(self) -> str:
        if self.for_peer:  # it has no kernels for many operators of the others
            return self.source.of(("float", "int64", "bool", "int32", "double"))
        return self.source.of((*DTYPES, "float", "float", "int64", "int32"))

    def dims(self, rank: Optional[int] = None) -> tuple[int, ...]:
        rank = self.source.pick(4) if rank is None else rank
        sizes = (2, 3, 1, 2) if self.for_peer else (2, 3, 1, 0)
        return tuple(self.source.of(sizes) for _ in range(rank))

    def array(self, dtype: str, dims: Sequence[int]) -> np.ndarray:
        kind = DTYPES[dtype]
        if dtype == "bool":
            plain = [0, 1]
        elif dtype in INTEGERS:
            least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
            plain = [0, 1, 2, 3, 5, 7, 100, greatest, least, greatest - 1]
            plain += [-1, -2, -7] if least else []
        else:
            plain = [0.0, 1.0, -1.5, 0.1, 2.0, 3.25, -0.0, 7e4, 1e-5, np.inf, -np.inf, np.nan]
        count = int(np.prod(dims, dtype=np.int64))
        chosen = [self.source.of(plain) for _ in range(count)]
        with np.errstate(all="ignore"):
            return np.array(chosen, np.float64 if dtype in FLOATS else kind).astype(kind).reshape(dims)

    # --- graphs -----------------------------------------------------------------------------

    def fill(self, graph: Graph, outer: list[Value], depth: int) -> None:
        """Adds nodes that read the formals, what was made before, and values outside."""
        for _ in range(1 + self.source.pick(MAX_NODES)):
            own = graph.formals + [value for node in graph.nodes for value in node.outputs]
            self.add_node(graph, [*outer, *own], depth)

    def add_node(self, graph: Graph, seen: list[Value], depth: int) -> None:
        kinds = self.nesting() if depth else []
        kinds = [self.binary, self.unary, self.compare, self.move, self.join, self.choose,
                 self.cast, self.constant, self.reduce, self.whole, *kinds, *kinds]
        made = kinds[self.source.pick(len(kinds))](graph, seen, depth)
        if made is None:
            self.constant(graph, seen, depth)

    def nesting(self) -> list[Any]:
        """Returns the functions that make nodes with bodies."""
        return []

    def node(self, graph: Graph, op: str, inputs: Sequence[Optional[Value]],
             kinds: Sequence[tuple[str, tuple[Size, ...]]], **attributes: Any) -> Node:
        outputs = [Value(self.fresh("v"), dtype, dims) for dtype, dims in kinds]
        names = [value.name if value else None for value in inputs]
        made = Node(op, names, outputs, attributes)
        graph.nodes.append(made)
        return made

    def some(self, seen: list[Value], fits: Any = lambda value: True) -> Optional[Value]:
        """The newest first."""
        fitting = [value for value in reversed(seen) if fits(value)]
        return self.source.of(fitting) if fitting else None

    def given(self, graph: Graph, array: np.ndarray, dtype: str = "int64") -> Value:
        """A constant of the graph: a node or an initialiser."""
        node = self.node(graph, "Constant", [], [(dtype, array.shape)])
        node.array, node.as_initialiser = array, self.source.chance(1, 2)
        return node.outputs[0]

    def copy(self, graph: Graph, value: Value) -> Value:
        return self.node(graph, "Identity", [value], [(value.dtype, value.dims)]).outputs[0]

    # --- operators ----------------------------------------------------------------------------

    def constant(self, graph: Graph, seen: list[Value], depth: int) -> Value:
        dtype, dims = self.dtype(), self.dims(self.source.pick(3))
        return self.given(graph, self.array(dtype, dims), dtype)

    def unary(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        value = self.some(seen)
        if value is None:
            return None
        ops = ["Identity"]
        if value.dtype == "bool":
            ops += ["Not"]
        else:
            ops += ["Abs", "Sign"] + (["Neg"] if value.dtype != "uint8" else [])
            ops += ["Floor", "Ceil"] if value.dtype in FLOATS else ["BitwiseNot"]
        return self.node(graph, self.source.of(ops), [value], [(value.dtype, value.dims)])

    def pair(self, seen: list[Value], fits: Any) -> Optional[tuple[Value, Value, tuple[Size, ...]]]:
        """Two of one type that broadcast."""
        left = self.some(seen, fits)
        right = left and self.some(
            seen, lambda v: v.dtype == left.dtype and broadcast(left.dims, v.dims) is not None
        )
        return (left, right, broadcast(left.dims, right.dims)) if left and right else None

    def binary(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        found = self.pair(seen, lambda value: True)
        if found is None:
            return None
        left, right, dims = found
        attributes = {}
        if left.dtype == "bool":
            op = self.source.of(("And", "Or", "Xor"))
        else:
            ops = ["Add", "Sub", "Mul", "Min", "Max"]
            if left.dtype in FLOATS:
                ops += ["Div", "Fmod"]
            else:
                ops += ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]
                ops += [] if self.for_peer else ["Div", "Mod", "Fmod"]
                ops += [] if self.for_peer or left.dtype != "uint8" else ["ShiftLeft", "ShiftRight"]
            op = self.source.of(ops)
        return self.node(graph, op, [left, right], [(left.dtype, dims)], **attributes)

    def compare(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        found = self.pair(seen, lambda value: value.dtype != "bool")
        if found is None:
            return None
        ops = ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")
        return self.node(graph, self.source.of(ops), found[:2], [("bool", found[2])])

    def choose(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        found = self.pair(seen, lambda v: not (self.for_peer and v.dtype == "bool"))
        condition = found and self.some(
            seen, lambda v: v.dtype == "bool" and broadcast(v.dims, found[2]) is not None
        )
        if not found or not condition:
            return None
        dims = broadcast(condition.dims, found[2])
        return self.node(graph, "Where", [condition, *found[:2]], [(found[0].dtype, dims)])

    def cast(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        """Where numpy rounds once: integers to f32 and f64, between integers, floats to floats."""
        value = self.some(seen)
        if value is None:
            return None
        to = ["bool", "float", "double"]
        if value.dtype in INTEGERS or value.dtype == "bool":
            to += INTEGERS
        elif value.dtype in ("float", "float16"):
            to += ["float16"]
        chosen = self.source.of(to)
        return self.node(graph, "Cast", [value], [(chosen, value.dims)], to=chosen)

    def move(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        kinds = (self.transpose, self.insert_axis, self.remove_axis, self.slice, self.gather)
        return self.source.of(kinds)(graph, seen)

    def transpose(self, graph: Graph, seen: list[Value]) -> Optional[Node]:
        value = self.some(seen, lambda value: len(value.dims) > 1)
        if value is None:
            return None
        turn = 1 + self.source.pick(len(value.dims) - 1)
        perm = [*range(turn, len(value.dims)), *range(turn)]
        dims = tuple(value.dims[axis] for axis in perm)
        return self.node(graph, "Transpose", [value], [(value.dtype, dims)], perm=perm)

    def insert_axis(self, graph: Graph, seen: list[Value]) -> Optional[Node]:
        value = self.some(seen, lambda value: len(value.dims) < MAX_RANK)
        if value is None:
            return None
        axis = self.source.pick(len(value.dims) + 1)
        dims = (*value.dims[:axis], 1, *value.dims[axis:])
        axes = self.given(graph, np.array([axis], np.int64))
        return self.node(graph, "Unsqueeze", [value, axes], [(value.dtype, dims)], axis=axis)

    def remove_axis(self, graph: Graph, seen: list[Value]) -> Optional[Node]:
        value = self.some(seen, lambda value: 1 in value.dims)
        if value is None:
            return None
        axis = value.dims.index(1)
        dims = (*value.dims[:axis], *value.dims[axis + 1 :])
        axes = self.given(graph, np.array([axis - len(value.dims)], np.int64))
        return self.node(graph, "Squeeze", [value, axes], [(value.dtype, dims)], axis=axis)

    def sized_axis(self, seen: list[Value]) -> Optional[tuple[Value, int]]:
        """An axis of a known size, 1 or more."""
        value = self.some(seen, lambda value: any(_is_some(size) for size in value.dims))
        if value is None:
            return None
        return value, self.source.of([i for i, size in enumerate(value.dims) if _is_some(size)])

    def slice(self, graph: Graph, seen: list[Value]) -> Optional[Node]:
        found = self.sized_axis(seen)
        if found is None:
            return None
        value, axis = found
        size = value.dims[axis]
        start, step = self.source.pick(size), self.source.of((1, -1, 2, -2))
        stop = size if step > 0 else -size - 1
        if self.source.chance(1, 2):
            stop = self.source.pick(size)
        taken = len(range(size)[slice(start, None if stop == -size - 1 else stop, step)])
        dims = (*value.dims[:axis], taken, *value.dims[axis + 1 :])
        numbers = [self.given(graph, np.array([n], np.int64)) for n in (start, stop, axis, step)]
        return self.node(graph, "Slice", [value, *numbers], [(value.dtype, dims)],
                         start=start, stop=stop, axis=axis, step=step)

    def gather(self, graph: Graph, seen: list[Value]) -> Optional[Node]:
        found = self.sized_axis(seen)
        if found is None:
            return None
        value, axis = found
        size, shape = value.dims[axis], self.source.of(((), (2,), (1,), (3,)))
        indices = [self.source.pick(2 * size) - size for _ in range(int(np.prod(shape, dtype=int)))]
        array = np.array(indices, np.int64).reshape(shape)
        dims = (*value.dims[:axis], *shape, *value.dims[axis + 1 :])
        index = self.given(graph, array)
        return self.node(graph, "Gather", [value, index], [(value.dtype, dims)], axis=axis)

    def join(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        """At most one operand of unknown size, so that sizes grow by sums."""
        left = self.some(seen, lambda value: len(value.dims) > 0)
        if left is None:
            return None
        axis = self.source.pick(len(left.dims))
        right = self.some(seen, lambda value: value.dtype == left.dtype
                          and _without(value.dims, axis) == _without(left.dims, axis)
                          and len(value.dims) == len(left.dims)
                          and (_is_number(value.dims[axis]) or _is_number(left.dims[axis])))
        if right is None:
            return None
        sizes = (left.dims[axis], right.dims[axis])
        total = sum(sizes) if all(map(_is_number, sizes)) else self.fresh("N")
        dims = (*left.dims[:axis], total, *left.dims[axis + 1 :])
        return self.node(graph, "Concat", [left, right], [(left.dtype, dims)], axis=axis)

    def reduce(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        value = self.some(seen, lambda value: value.dtype not in ("bool", "bfloat16")
                          and any(_is_some(size) for size in value.dims))
        if value is None:
            return None
        axis = self.source.of([i for i, size in enumerate(value.dims) if _is_some(size)])
        keep = self.source.chance(1, 2)
        ops = ["ReduceMax", "ReduceMin"] + (["ReduceSum"] if value.dtype in ("int64", "int32") else [])
        dims = (*value.dims[:axis], *([1] if keep else []), *value.dims[axis + 1 :])
        axes = self.given(graph, np.array([axis], np.int64))
        return self.node(graph, self.source.of(ops), [value, axes], [(value.dtype, dims)],
                         axis=axis, keepdims=int(keep))

    def whole(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        """The sizes of a value, as a value."""
        value = self.some(seen)
        if value is None:
            return None
        return self.node(graph, "Shape", [value], [("int64", (len(value.dims),))])


def _is_number(size: Size) -> bool:
    return isinstance(size, int)


def _is_some(size: Size) -> bool:
    return isinstance(size, int) and size > 0


def _without(dims: tuple[Size, ...], axis: int) -> tuple[Size, ...]:
    return (*dims[:axis], *dims[axis + 1 :])


def broadcast(left: tuple[Size, ...], right: tuple[Size, ...]) -> Optional[tuple[Size, ...]]:
    """None: they do not."""
    rank = max(len(left), len(right))
    dims = []
    for one, other in zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right):
        if one != other and 1 not in (one, other):
            return None
        dims.append(other if one == 1 else one)
    return tuple(dims)
