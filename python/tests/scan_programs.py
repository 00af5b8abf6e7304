"""Random programs of Theano's scan, as data: made from bytes, built as expressions, and computed
step by step in numpy, also over complex numbers, so that derivatives are exact.

Programs contain loops in loops; taps of sequences and outputs; several states; maps; branches;
until; n_steps, also negative, symbolic and 0; go_backwards; truncate_gradient; checkpoints;
captured values, passed or found. Sizes are small. Functions are smooth, or have kinks that no value
reaches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Optional, Union

import numpy as np

import program_operators
from random_programs import Source

Shape = tuple[int, ...]
MAX_DEPTH = 2
ROWS = ((), (2,), (3,), (2, 3), (3, 3))
COUNTED = 100  # a counter is a sequence of so many numbers


@dataclasses.dataclass
class Node:
    """An operator: its name in program_operators.OPERATORS, or "scan"; what it reads and makes."""

    operator: str
    inputs: list[int]
    outputs: list[int]
    how: Any = None  # numbers that the operator takes, or a Loop


@dataclasses.dataclass
class Loop:
    """A scan. Values are named by numbers, in the body too, which sees those outside."""

    sequences: list[tuple[int, list[int]]] = dataclasses.field(default_factory=list)
    states: list[tuple[int, Optional[list[int]]]] = dataclasses.field(default_factory=list)
    passed: list[int] = dataclasses.field(default_factory=list)
    counter: Optional[int] = None  # the body's name of the number of the step
    arguments: list[int] = dataclasses.field(default_factory=list)
    body: list[Node] = dataclasses.field(default_factory=list)
    yields: list[int] = dataclasses.field(default_factory=list)  # next states, then rows
    picks: list[str] = dataclasses.field(default_factory=list)
    n_steps: Optional[int] = None
    symbolic: bool = False
    backwards: bool = False
    until: Optional[tuple[int, float]] = None  # a value of the body whose sum must pass a number
    truncate: int = -1
    checkpoint: Any = None


@dataclasses.dataclass
class Program:
    inputs: dict[int, np.ndarray]
    shapes: dict[int, Shape]
    nodes: list[Node]
    results: list[int]

    def loops(self) -> list[Loop]:
        found: list[Loop] = []
        open_ = list(self.nodes)
        for node in open_:
            if isinstance(node.how, Loop):
                found.append(node.how)
                open_ += node.how.body
        return found


# --- making -------------------------------------------------------------------------------------


class ScanMaker:
    """Makes programs of what `source` gives. `truncates`: some loops truncate their gradient."""

    def __init__(self, source: Source, truncates: bool = False) -> None:
        self.source = source
        self.truncates = truncates
        self.counter: Optional[int] = None  # of the body that is being filled
        self.shapes: dict[int, Shape] = {}

    def program(self) -> Program:
        draw = np.random.default_rng([self.source.pick(256), self.source.pick(256)])
        inputs = {}
        seen: list[int] = []
        sizes: list[Shape] = [(4 + self.source.pick(4), *self.source.of(ROWS)) for _ in range(2)]
        sizes += [self.source.of(ROWS) for _ in range(2)] + [(3, 3)]
        for size in sizes:
            seen.append(self.fresh(size))
            inputs[seen[-1]] = draw.uniform(-1.2, 1.2, size)
        nodes: list[Node] = []
        made: list[int] = []
        for _ in range(1 + self.source.pick(2)):
            node = self.scan(seen, MAX_DEPTH)
            nodes.append(node)
            seen += node.outputs
            made += node.outputs
            if self.source.chance(1, 3):
                self.fill(nodes, seen, 1 + self.source.pick(2), 0)
                made.append(seen[-1])
        return Program(inputs, self.shapes, nodes, made)

    def fresh(self, shape: Shape) -> int:
        name = len(self.shapes)
        self.shapes[name] = shape
        return name

    def fill(self, nodes: list[Node], seen: list[int], count: int, depth: int) -> None:
        """Adds operators to `nodes`, which read what is in `seen`, and their results to it."""
        for _ in range(count):
            if depth > 0 and self.source.chance(1, 5):
                node = self.scan(seen, depth)
            else:
                node = self.operator(seen)
            nodes.append(node)
            seen += node.outputs

    def operator(self, seen: list[int]) -> Node:
        while True:
            name = self.source.of(program_operators.NAMES)
            made = program_operators.OPERATORS[name].make(self, seen)
            if made is not None:
                inputs, shape, how = made
                return Node(name, inputs, [self.fresh(shape)], how)

    def value(self, seen: list[int], fits: Callable[[Shape], bool] = lambda _: True) -> Optional[int]:
        """One of the values whose shape fits, newer ones more often; None where none does."""
        fitting = [name for name in seen if fits(self.shapes[name])]
        if not fitting:
            return None
        recent = fitting[-5:] if self.source.chance(2, 3) else fitting
        return self.source.of(recent)

    def scan(self, seen: list[int], depth: int) -> Node:
        loop = Loop()
        inner = list(seen)
        most = self.add_sequences(loop, inner, seen, depth)
        steps = self.count_steps(loop, most)
        rows = self.add_states(loop, inner, seen)
        if self.source.chance(1, 3):
            loop.passed = [self.source.of(seen) for _ in range(1 + self.source.pick(2))]
            for name in loop.passed:
                loop.arguments.append(self.fresh(self.shapes[name]))
        if self.source.chance(1, 3):
            loop.counter = self.fresh(())
        inner += loop.arguments  # twice: arguments are read more often
        outer, self.counter = self.counter, loop.counter
        self.fill(loop.body, inner, 2 + self.source.pick(5), depth - 1)
        self.counter = outer
        self.finish(loop, inner, rows, depth)
        return Node("scan", [], self.picked(loop, steps, len(rows)), loop)

    def add_sequences(
        self, loop: Loop, inner: list[int], seen: list[int], depth: int
    ) -> Optional[int]:
        """Returns for how many steps the sequences are enough."""
        most = None
        for _ in range(self.source.of((1, 2, 0))):
            taps = self.source.of(([0], [0], [-1, 0], [0, 1], [-2], [1, -1], [-1]))
            spread = max(*taps, 0) - min(*taps, 0)
            name = self.value(seen, lambda s: len(s) > 0 and s[0] > spread)
            if name is None:
                continue
            loop.sequences.append((name, taps))
            steps = self.shapes[name][0] - spread
            most = steps if most is None else min(most, steps)
            for _ in taps:
                loop.arguments.append(self.fresh(self.shapes[name][1:]))
                inner.append(loop.arguments[-1])
        return most

    def count_steps(self, loop: Loop, most: Optional[int]) -> int:
        loop.backwards = self.source.chance(1, 4)
        if most is None:
            loop.n_steps = 1 + self.source.pick(5)
        elif self.source.chance(1, 3):
            loop.n_steps = self.source.pick(most + 1)
        if loop.n_steps is not None:
            loop.symbolic = self.source.chance(1, 3)
            if self.source.chance(1, 5):
                loop.n_steps = -loop.n_steps
        return most if loop.n_steps is None else abs(loop.n_steps)

    def add_states(self, loop: Loop, inner: list[int], seen: list[int]) -> list[Shape]:
        """Returns the shapes of the states."""
        rows = []
        for _ in range(self.source.of((1, 2, 1, 0))):
            taps = self.source.of((None, None, [-1], [-2], [-1, -2], [-3, -1]))
            back = 0 if taps in (None, [-1]) else -min(taps)
            name = self.value(seen, lambda s: back == 0 or (len(s) > 0 and s[0] >= back))
            if name is None:
                continue
            shape = self.shapes[name] if back == 0 else self.shapes[name][1:]
            if len(shape) > 2:
                continue
            loop.states.append((name, taps))
            rows.append(shape)
            for _ in taps or [-1]:
                loop.arguments.append(self.fresh(shape))
                inner.append(loop.arguments[-1])
        return rows

    def finish(self, loop: Loop, inner: list[int], rows: list[Shape], depth: int) -> None:
        """Adds the values that the body yields: one of each state's shape, and further rows."""
        for shape in rows:
            name = self.value(inner, lambda s, shape=shape: s == shape)
            node = Node("settle", [name], [self.fresh(shape)])
            loop.body.append(node)
            loop.yields.append(node.outputs[0])
        for _ in range(self.source.of((0, 1)) if rows else 1):
            loop.yields.append(self.value(inner, lambda s: len(s) < 3))
        if self.source.chance(1, 4):
            loop.until = (self.source.of(loop.yields), self.source.of((0.31, -0.42, 0.93)))
        if self.truncates and self.source.chance(2, 3):
            loop.truncate = 1 + self.source.pick(4)
        elif loop.until is None and self.source.chance(1, 3):
            loop.checkpoint = self.source.of(("sqrt", {"every": 2}, {"every": 3}, "all"))

    def picked(self, loop: Loop, steps: int, states: int) -> list[int]:
        """Returns values of the loop's surroundings that are read from its outputs."""
        names = []
        for i, name in enumerate(loop.yields):
            choices = ["sum", "weighted", "ends"]
            if steps > 0 or i < states:
                choices += ["last", "last"]
            if steps > 0:
                choices += ["first", "last two"]
            if loop.until is None and steps > 0 and len(self.shapes[name]) < 2:
                choices.append("all")
            loop.picks.append(self.source.of(choices))
            shape = self.shapes[name]
            names.append(self.fresh((steps, *shape) if loop.picks[-1] == "all" else shape))
        return names


def pick(how: str, rows: Any, cosines: Callable[[Any], Any]) -> Any:
    """`rows` are an array or an expression; so is what `cosines` gives for their number."""
    if how == "all":
        return rows
    if how == "last":
        return rows[-1]
    if how == "first":
        return rows[0]
    if how == "last two":
        return rows[-2:].sum(axis=0)
    if how == "ends":
        return rows[1:].sum(axis=0) - 0.5 * rows[:-1].sum(axis=0)
    if how == "weighted":
        weights = cosines(rows.shape[0])
        return (rows * weights[(slice(None), *[None] * (rows.ndim - 1))]).sum(axis=0)
    return rows.sum(axis=0)


def weights_of(name: int, shape: Shape) -> np.ndarray:
    """Every element of a result counts differently in the cost."""
    return np.cos(1.3 * np.arange(int(np.prod(shape))) + name).reshape(shape)


# --- as expressions -----------------------------------------------------------------------------


class Built:
    """A program as expressions: its inputs, its results, the cost, which is a scalar."""

    def __init__(self, program: Program) -> None:
        import scanloom.tensor as T

        self.feeds = list(program.inputs.values())
        self.inputs = [
            T.TensorType("float64", (False,) * array.ndim)(f"x{name}")
            for name, array in program.inputs.items()
        ]
        self.counts: list[Any] = []  # symbolic numbers of steps, and their values
        self.given: list[int] = []
        values = dict(zip(program.inputs, self.inputs))
        self.run(program.nodes, values)
        self.results = [values[name] for name in program.results]
        self.cost = sum(
            (T.tanh(values[name]) * weights_of(name, program.shapes[name])).sum()
            for name in program.results
        )

    def run(self, nodes: list[Node], values: dict[int, Any]) -> None:
        for node in nodes:
            if isinstance(node.how, Loop):
                made = self.scan(node.how, values)
            else:
                made = [program_operators.expression(node, values)]
            values.update(zip(node.outputs, made))

    def scan(self, loop: Loop, values: dict[int, Any]) -> list[Any]:
        import scanloom as theano
        import scanloom.tensor as T

        def step(*arguments: Any) -> Any:
            inner = dict(values)
            named = list(arguments)
            if loop.counter is not None:
                inner[loop.counter] = named.pop(0)
            inner.update(zip(loop.arguments, named))
            self.run(loop.body, inner)
            made = [inner[name] for name in loop.yields]
            if loop.until is None:
                return made
            name, limit = loop.until
            return made, theano.scan_module.until(T.gt(inner[name].sum(), limit))

        sequences = [dict(input=values[name], taps=taps) for name, taps in loop.sequences]
        if loop.counter is not None:
            sequences.insert(0, T.arange(COUNTED))
        outputs_info = [
            values[name] if taps is None else dict(initial=values[name], taps=taps)
            if taps != [-1] else dict(initial=values[name]) for name, taps in loop.states
        ]  # fmt: skip
        outputs_info += [None] * (len(loop.yields) - len(outputs_info))
        rows, _ = theano.scan(
            step, sequences, outputs_info, [values[name] for name in loop.passed],
            self.steps(loop), loop.truncate, loop.backwards, return_list=True,
            checkpoint=loop.checkpoint,
        )  # fmt: skip
        return [
            pick(how, made, lambda count: T.cos(T.arange(count) * 0.7))
            for how, made in zip(loop.picks, rows)
        ]

    def steps(self, loop: Loop) -> Any:
        import scanloom.tensor as T

        if loop.n_steps is None or not loop.symbolic:
            return loop.n_steps
        self.counts.append(T.iscalar(f"n{len(self.counts)}"))
        self.given.append(loop.n_steps)
        return self.counts[-1]


# --- in numpy -----------------------------------------------------------------------------------


class Computed:
    """A program in numpy; with complex inputs, derivatives along their imaginary parts.

    `decisions`: what branches, maxima and conditions came to, which a derivative takes as fixed."""

    def __init__(self, program: Program, arrays: list[np.ndarray]) -> None:
        self.decisions: list[Any] = []
        self.shapes = program.shapes
        values: dict[int, Any] = dict(zip(program.inputs, arrays))
        self.run(program.nodes, values)
        self.results = [values[name] for name in program.results]
        self.cost = sum(
            (np.tanh(values[name]) * weights_of(name, program.shapes[name])).sum()
            for name in program.results
        )

    def run(self, nodes: list[Node], values: dict[int, Any]) -> None:
        for node in nodes:
            if isinstance(node.how, Loop):
                made = self.scan(node.how, values)
            else:
                made = [program_operators.computed(node, values, self.decisions)]
            values.update(zip(node.outputs, made))

    def scan(self, loop: Loop, values: dict[int, Any]) -> list[Any]:
        slices = [
            rows for name, taps in loop.sequences for rows in _windows(loop, values[name], taps)
        ]
        steps = min(map(len, slices)) if loop.n_steps is None else abs(loop.n_steps)
        early = max(steps - loop.truncate, 0) if loop.truncate > 0 else 0
        if early > 0 and loop.until is not None:  # the last steps are those that were executed
            early = max(self.count(loop, values, slices, steps) - loop.truncate, 0)
        return self.steps(loop, values, slices, steps, early)

    def count(
        self, loop: Loop, values: dict[int, Any], slices: list[Any], steps: int
    ) -> int:
        probe = Computed.__new__(Computed)
        probe.decisions, probe.shapes = [], self.shapes
        return len(probe.rows(loop, values, slices, steps, 0)[0])

    def steps(
        self, loop: Loop, values: dict[int, Any], slices: list[Any], steps: int, early: int
    ) -> list[Any]:
        all_rows = self.rows(loop, values, slices, steps, early)
        made = []
        for i, (rows, how) in enumerate(zip(all_rows, loop.picks)):
            if not rows and how == "last":  # the value of before the first step
                made.append(_histories(loop, values, early)[i][-1])
                continue
            if not rows:
                made.append(np.zeros(self.shapes[loop.yields[i]]))
                continue
            made.append(pick(how, np.array(rows), lambda n: np.cos(np.arange(n) * 0.7)))
        return made

    def rows(
        self, loop: Loop, values: dict[int, Any], slices: list[Any], steps: int, early: int
    ) -> list[list[Any]]:
        """By output the rows; those of the first `early` steps are constants of derivatives."""
        histories = _histories(loop, values, early)
        begun = [len(history) for history in histories]
        maps: list[list[Any]] = [[] for _ in loop.yields[len(histories) :]]
        for t in range(steps):
            inner = dict(values)
            arguments = [rows[t] for rows in slices]
            for history, (_, taps) in zip(histories, loop.states):
                arguments += [history[tap] for tap in taps or [-1]]
            arguments += [values[name] for name in loop.passed]
            inner.update(zip(loop.arguments, arguments))
            if loop.counter is not None:
                inner[loop.counter] = COUNTED - 1 - t if _is_backwards(loop) else t
            self.run(loop.body, inner)
            for row, name in zip([*histories, *maps], loop.yields):
                row.append(inner[name].real + 0 * inner[name] if t < early else inner[name])
            if loop.until is not None:
                stops = bool(inner[loop.until[0]].sum().real > loop.until[1])
                self.decisions.append(stops)
                if stops:
                    break
        return [*(h[n:] for h, n in zip(histories, begun)), *maps]


def _windows(loop: Loop, rows: Any, taps: list[int]) -> list[Any]:
    low, high = min(*taps, 0), max(*taps, 0)
    found = [rows[tap - low : len(rows) - (high - tap)] for tap in taps]
    return [part[::-1] for part in found] if _is_backwards(loop) else found


def _is_backwards(loop: Loop) -> bool:
    return loop.backwards != (loop.n_steps is not None and loop.n_steps < 0)


def _histories(loop: Loop, values: dict[int, Any], early: int) -> list[list[Any]]:
    """By state the rows of before the first step, the oldest first."""
    histories = []
    for name, taps in loop.states:
        value = values[name] if early == 0 else values[name].real
        histories.append([value] if taps in (None, [-1]) else list(value[: -min(taps)]))
    return histories
