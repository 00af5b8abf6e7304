"""Models with a batch of open size or without one, and sequences for them: recurrent layers, cells
that are written out, a hidden Markov model, filters, and random cells."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from loop_models import parse
from onnx import numpy_helper

Feeds = dict[str, Any]
WIDTH, INPUTS = 6, 3


def numbers(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class BatchModel:
    """`feeds` makes a sequence from its length and a seed. `steps`: the axis of the steps in each
    input that has them."""

    name: str
    model: bytes
    feeds: Callable[[int, int], Feeds]
    steps: dict[str, int]


def with_constants(model: bytes, constants: dict[str, np.ndarray]) -> bytes:
    proto = onnx.load_from_string(model)
    for name, array in constants.items():
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto.SerializeToString()


def layer(kind: str, *, fed: bool, layout: int = 0, direction: str = "forward") -> BatchModel:
    """A recurrent layer whose last state also goes through a dense layer."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    ways = 2 if direction == "bidirectional" else 1
    x = "T, N, 3" if layout == 0 else "N, T, 3"
    state = f"{ways}, N, 6" if layout == 0 else f"N, {ways}, 6"
    inputs = f"float[{x}] X" + (f", float[{state}] H" if fed else "")
    operands = "X, W, R, B" + (", , H" if fed else "")
    body = f"""g ({inputs}) => (float[?,?,?,?] Y, float[?,?,?] Yh, float[?,?,?] head) {{
      Y, Yh = {kind} <hidden_size = 6, layout = {layout}, direction = "{direction}"> ({operands})
      head = MatMul(Yh, D)
    }}"""
    model = with_constants(
        parse(body, 17),
        {
            "W": numbers(1, ways, gates * WIDTH, INPUTS),
            "R": numbers(2, ways, gates * WIDTH, WIDTH),
            "B": numbers(3, ways, 2 * gates * WIDTH),
            "D": numbers(4, WIDTH, 2),
        },
    )

    def feeds(steps: int, seed: int) -> Feeds:
        shape = (steps, 1, INPUTS) if layout == 0 else (1, steps, INPUTS)
        fed_state = (ways, 1, WIDTH) if layout == 0 else (1, ways, WIDTH)
        made = {"X": numbers(seed, *shape)}
        return {**made, "H": numbers(seed + 1, *fed_state)} if fed else made

    name = f"{kind} {direction} layout {layout}{' fed' if fed else ''}"
    return BatchModel(name, model, feeds, {"X": layout})


def scan(
    name: str,
    body: str,
    constants: dict[str, np.ndarray],
    *,
    width: int = WIDTH,
    inputs: int = INPUTS,
    axis: int = 0,
) -> BatchModel:
    """A Scan with one state of `width` elements. The steps are on this axis of x, the batch on the
    other. `body` makes `next` and `row` from `h` and `x`."""
    sizes = f"T, N, {inputs}" if axis == 0 else f"N, T, {inputs}"
    model = parse(
        f"""g (float[{sizes}] X, float[N, {width}] H) => (float[?,?] last, float[?,?,?] rows) {{
          last, rows = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
            scan_output_axes = [{axis}],
            body = step (float[N, {width}] h, float[N, {inputs}] x) =>
                        (float[N, {width}] next, float[?, ?] row) {{ {body} }}> (H, X)
        }}""",
        17,
    )

    def feeds(steps: int, seed: int) -> Feeds:
        shape = (steps, 1, inputs) if axis == 0 else (1, steps, inputs)
        return {"X": numbers(seed, *shape), "H": numbers(seed + 1, 1, width)}

    return BatchModel(name, with_constants(model, constants), feeds, {"X": axis})


CELL = """
    a = MatMul(h, U)
    b = MatMul(x, V)
    sum = Add(a, b)
    next = Tanh(sum)
    row = Mul(next, next)
"""
CELL_CONSTANTS = {"U": numbers(5, WIDTH, WIDTH), "V": numbers(6, INPUTS, WIDTH)}


def cell(axis: int = 0) -> BatchModel:
    return scan(f"written-out cell, axis {axis}", CELL, CELL_CONSTANTS, axis=axis)


def hidden_markov() -> BatchModel:
    body = """
      column = Unsqueeze(h, Two)
      moved = Add(column, M)
      reached = ReduceLogSumExp <axes = [1], keepdims = 0> (moved)
      next = Add(reached, x)
      row = Identity(next)
    """
    constants = {"Two": np.array([2], np.int64), "M": numbers(7, WIDTH, WIDTH)}
    return scan("hidden Markov model", body, constants, inputs=WIDTH)


def smoother() -> BatchModel:
    """An exponential average from zeros that are made for the batch, as exporters write them."""
    model = parse(
        """g (float[T, N] X) => (float[N] last, float[T, N] rows) {
          sizes = Shape(X)
          one = Constant <value_ints = [1]> ()
          batch = Gather(sizes, one)
          zeros = ConstantOfShape(batch)
          last, rows = Scan <num_scan_inputs = 1,
            body = step (float[N] h, float[N] x) => (float[N] next, float[N] row) {
              keep = Constant <value_float = 0.9> ()
              kept = Mul(h, keep)
              next = Add(kept, x)
              row = Identity(next)
            }> (zeros, X)
        }"""
    )
    return BatchModel("average", model, lambda steps, seed: {"X": numbers(seed, steps, 1)}, {"X": 0})


def conditioned() -> BatchModel:
    """A cell whose first state and bias are computed from an input without steps."""
    model = parse(
        """g (float[T, N, 3] X, float[N, 2] C) => (float[N, 6] last, float[T, N, 6] rows) {
          first = MatMul(C, F)
          bias = MatMul(C, G)
          shifted = MatMul(X, V)
          biased = Add(shifted, bias)
          last, rows = Scan <num_scan_inputs = 1,
            body = step (float[N, 6] h, float[N, 6] x) => (float[N, 6] next, float[N, 6] row) {
              a = MatMul(h, U)
              sum = Add(a, x)
              next = Tanh(sum)
              row = Identity(next)
            }> (first, biased)
        }"""
    )
    constants = {**CELL_CONSTANTS, "F": numbers(8, 2, WIDTH), "G": numbers(9, 2, WIDTH)}

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS), "C": numbers(seed + 1, 1, 2)}

    return BatchModel("conditioned", with_constants(model, constants), feeds, {"X": 0})


def in_lanes() -> list[BatchModel]:
    """Models whose sequences share runs."""
    layers = [
        layer(kind, fed=fed, layout=layout)
        for kind in ("LSTM", "GRU", "RNN")
        for fed in (False, True)
        for layout in (0, 1)
    ]
    return [*layers, cell(), cell(1), hidden_markov(), smoother(), conditioned()]


MIXING = """
    mean = ReduceMean <axes = [0]> (h)
    a = Sub(h, mean)
    b = MatMul(x, V)
    next = Add(a, b)
    row = Identity(next)
"""


def mixing() -> BatchModel:
    """Its rows cannot be lanes, but whole batches can."""
    return scan("mixing", MIXING, CELL_CONSTANTS)


COUNTING = """
    places = NonZero(h)
    sizes = Shape(places)
    numbers = Cast <to = 1> (sizes)
    count = ReduceMax <keepdims = 0> (numbers)
    a = Sub(h, count)
    b = MatMul(x, V)
    sum = Add(a, b)
    next = Tanh(sum)
    row = Identity(next)
"""


def counting() -> BatchModel:
    """Runs one by one."""
    return scan("counting", COUNTING, CELL_CONSTANTS)


def without_batch(
    name: str, body: str, constants: dict[str, np.ndarray], *, batch: str = "", axis: int = 0
) -> BatchModel:
    """A Scan of x[T, INPUTS] with a state of WIDTH elements and a context c that all its steps read.
    `batch`: empty, or "1, " for an axis of size 1 in all of them. `body` makes `next` and `row` from
    `h`, `x` and `c`."""
    x = f"T, {batch}{INPUTS}" if axis == 0 else f"{batch}T, {INPUTS}"
    if axis == 1 and not batch:
        x = f"{INPUTS}, T"
    model = parse(
        f"""g (float[{x}] X, float[{batch}{WIDTH}] H, float[{batch}{WIDTH}] c) =>
              (float[{batch}{WIDTH}] last, float[?, {batch}{WIDTH}] rows) {{
          last, rows = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
            body = step (float[{batch}{WIDTH}] h, float[{batch}{INPUTS}] x) =>
                        (float[{batch}{WIDTH}] next, float[{batch}{WIDTH}] row) {{ {body} }}> (H, X)
        }}""",
        17,
    )

    def feeds(steps: int, seed: int) -> Feeds:
        ones = (1,) if batch else ()
        row = numbers(seed, steps, INPUTS) if axis == 0 or batch else numbers(seed, INPUTS, steps)
        if batch:
            row = np.expand_dims(row, 1 - axis)
        return {
            "X": row,
            "H": numbers(seed + 1, *ones, WIDTH),
            "c": numbers(seed + 2, *ones, WIDTH),
        }

    return BatchModel(name, with_constants(model, constants), feeds, {"X": axis})


VECTOR_CELL = """
    a = MatMul(h, U)
    b = MatMul(x, V)
    sum = Add(a, b)
    gate = Tanh(sum)
    next = Mul(gate, c)
    row = Softmax <axis = -1> (next)
"""


def in_added_lanes() -> list[BatchModel]:
    """Models without a batch of open size whose sequences share runs all the same."""
    return [
        without_batch("vectors", VECTOR_CELL, CELL_CONSTANTS),
        without_batch("vectors, steps last", VECTOR_CELL, CELL_CONSTANTS, axis=1),
        without_batch("a batch of 1", VECTOR_CELL, CELL_CONSTANTS, batch="1, "),
        without_batch("a batch of 1 first", VECTOR_CELL, CELL_CONSTANTS, batch="1, ", axis=1),
        *(fixed_layer(kind, layout) for kind in ("LSTM", "GRU", "RNN") for layout in (0, 1)),
        with_dense(batch="N"),
        with_dense(batch="1"),
        mixing(),
    ]


def fixed_layer(kind: str, layout: int) -> BatchModel:
    """A recurrent layer whose batch is fixed at 1."""
    model = layer(kind, fed=True, layout=layout)
    proto = onnx.load_from_string(model.model)
    for value in proto.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "N":
                dim.dim_value = 1
    name = f"{model.name} of a batch of 1"
    return BatchModel(name, proto.SerializeToString(), model.feeds, model.steps)


def with_dense(batch: str) -> BatchModel:
    """A layer, then a dense layer over all steps, which exporters write as one product of T * N
    rows."""
    body = f"""g (float[T, {batch}, 3] X) => (float[?, ?, 2] rows, float[1, {batch}, 6] last) {{
      Y, last = RNN <hidden_size = 6> (X, W, R, B)
      flat = Reshape(Y, Flat)
      products = MatMul(flat, D)
      biased = Add(products, C)
      sizes = Shape(X)
      steps = Gather(sizes, Leading)
      shape = Concat <axis = 0> (steps, Two)
      rows = Reshape(biased, shape)
    }}"""
    model = with_constants(
        parse(body, 17),
        {
            "W": numbers(1, 1, WIDTH, INPUTS),
            "R": numbers(2, 1, WIDTH, WIDTH),
            "B": numbers(3, 1, 2 * WIDTH),
            "D": numbers(4, WIDTH, 2),
            "C": numbers(5, 2),
            "Flat": np.array([-1, WIDTH], np.int64),
            "Leading": np.array([0, 1], np.int64),
            "Two": np.array([2], np.int64),
        },
    )
    return BatchModel(
        f"dense, batch {batch}",
        model,
        lambda steps, seed: {"X": numbers(seed, steps, 1, INPUTS)},
        {"X": 0},
    )


class RandomCell:
    """A random body for scan(): values of sizes [N, WIDTH], made by operators that may or may not
    keep the rows of the batch apart."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._lines = ["v0 = MatMul(x, V)"]
        self._values = ["h", "v0"]
        self.constants = dict(CELL_CONSTANTS)
        for _ in range(source.randint(2, 9)):
            self._add()
        last = self._values[-1]
        self.body = "\n".join([*self._lines, f"next = Tanh({last})", f"row = Identity({self._pick()})"])

    def _pick(self) -> str:
        return self._source.choice(self._values[-4:])

    def _constant(self, *shape: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = numbers(self._source.randrange(1000), *shape)
        return name

    def _integers(self, *values: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(values, np.int64)
        return name

    def _add(self) -> None:
        name = f"v{len(self._values)}"
        a, b = self._pick(), self._pick()
        made = self._source.choice(self._forms(name, a, b))
        self._lines += made if isinstance(made, list) else [made]
        self._values.append(name)

    def _forms(self, name: str, a: str, b: str) -> list[Any]:
        axis = self._source.choice((-1, 1))
        return [
            f"{name} = Add({a}, {b})",
            f"{name} = Mul({a}, {b})",
            f"{name} = Sigmoid({a})",
            f"{name} = Max({a}, {b})",
            f"{name} = Softmax <axis = {axis}> ({a})",
            f"{name} = MatMul({a}, {self._constant(WIDTH, WIDTH)})",
            f"{name} = Add({a}, {self._constant(WIDTH)})",
            f"{name} = Mul({a}, {self._constant(1, 1)})",
            f"{name} = CumSum({a}, {self._integers(1)})",
            [f"{name}r = ReduceMax <axes = [1]> ({a})", f"{name} = Sub({a}, {name}r)"],
            [f"{name}g = Greater({a}, {b})", f"{name} = Where({name}g, {a}, {b})"],
            [
                f"{name}c = Concat <axis = 1> ({a}, {b})",
                f"{name} = MatMul({name}c, {self._constant(2 * WIDTH, WIDTH)})",
            ],
            [
                f"{name}s = Slice({a}, {self._integers(1)}, {self._integers(4)}, {self._integers(1)})",
                f"{name} = MatMul({name}s, {self._constant(3, WIDTH)})",
            ],
            [
                f"{name}t = Transpose <perm = [1, 0]> ({a})",
                f"{name}m = MatMul({self._constant(WIDTH, WIDTH)}, {name}t)",
                f"{name} = Transpose <perm = [1, 0]> ({name}m)",
            ],
            # These mix the rows, which cannot be lanes then.
            *self._source.choice(
                (
                    [],
                    [[f"{name}r = ReduceMax <axes = [0]> ({a})", f"{name} = Sub({a}, {name}r)"]],
                    [f"{name} = Softmax <axis = 0> ({a})"],
                    [f"{name} = CumSum({a}, {self._integers(0)})"],
                    [self._counted(name, a)],
                    [self._counted(name, a)],
                )
            ),
        ]

    @staticmethod
    def _counted(name: str, a: str) -> list[str]:
        """Has no form for many sequences at once."""
        return [
            f"{name}z = NonZero({a})",
            f"{name}s = Shape({name}z)",
            f"{name}f = Cast <to = 1> ({name}s)",
            f"{name}m = ReduceMax <keepdims = 0> ({name}f)",
            f"{name} = Sub({a}, {name}m)",
        ]


def random_model(seed: int) -> BatchModel:
    made = RandomCell(random.Random(seed))
    return scan(f"random {seed}", made.body, made.constants, axis=seed % 2)


class RandomVectors(RandomCell):
    """A random body for without_batch(): values of sizes [WIDTH]."""

    def _forms(self, name: str, a: str, b: str) -> list[Any]:
        return [
            f"{name} = Add({a}, {b})",
            f"{name} = Mul({a}, c)",
            f"{name} = Sigmoid({a})",
            f"{name} = Max({a}, {b})",
            f"{name} = Softmax <axis = 0> ({a})",
            f"{name} = MatMul({a}, {self._constant(WIDTH, WIDTH)})",
            f"{name} = MatMul({self._constant(WIDTH, WIDTH)}, {a})",
            f"{name} = Add({a}, {self._constant(WIDTH)})",
            f"{name} = CumSum({a}, {self._integers(0)})",
            [f"{name}r = ReduceMean <axes = [0]> ({a})", f"{name} = Sub({a}, {name}r)"],
            [f"{name}r = ReduceLogSumExp <axes = [0], keepdims = 0> ({a})", f"{name} = Sub({a}, {name}r)"],
            [f"{name}d = MatMul({a}, {b})", f"{name} = Add({a}, {name}d)"],
            [f"{name}g = Greater({a}, {b})", f"{name} = Where({name}g, {a}, {b})"],
            [
                f"{name}c = Concat <axis = 0> ({a}, {b})",
                f"{name} = MatMul({name}c, {self._constant(2 * WIDTH, WIDTH)})",
            ],
            [
                f"{name}s = Slice({a}, {self._integers(1)}, {self._integers(4)}, {self._integers(0)})",
                f"{name} = MatMul({name}s, {self._constant(3, WIDTH)})",
            ],
            f"{name} = Gather <axis = 0> ({a}, {self._integers(5, -1, 0, 3, 3, 1)})",
            [
                f"{name}m = Reshape({a}, {self._integers(2, 3)})",
                f"{name}t = Transpose <perm = [1, 0]> ({name}m)",
                f"{name} = Reshape({name}t, {self._integers(-1)})",
            ],
            [
                f"{name}r = Unsqueeze({a}, {self._integers(1)})",
                f"{name}o = Mul({name}r, {b})",
                f"{name} = ReduceSum <keepdims = 0> ({name}o, {self._integers(0)})",
            ],
            [
                f"{name}i = ArgMax <axis = 0, keepdims = 0> ({a})",
                f"{name} = Gather <axis = 0> ({self._constant(WIDTH, WIDTH)}, {name}i)",
            ],
            f"{name} = Sub({a}, {b})",
            *self._source.choice(([], [self._counted(name, a)])),
        ]


def random_vectors(seed: int) -> BatchModel:
    made = RandomVectors(random.Random(seed))
    return without_batch(f"random vectors {seed}", made.body, made.constants, axis=seed % 2)
