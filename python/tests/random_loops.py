"""Random programs with Scan, Loop and If, nested: captures from any level up, formals and outer
values yielded as they are, one value yielded twice, zero steps, early exits, growing states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from random_programs import MAX_RANK, Graph, Node, OperatorMaker, Program, Size, Value

MAX_DEPTH = 3


class ProgramMaker(OperatorMaker):
    def program(self) -> Program:
        feeds = {}
        graph = Graph([])
        self.trips: list[Value] = []
        for _ in range(1 + self.source.pick(3)):
            value = Value(self.fresh("x"), self.dtype(), self.dims())
            graph.formals.append(value)
            feeds[value.name] = self.array(value.dtype, value.dims)
        if self.source.chance(1, 2):
            shape = self.source.of(((), (1,)))
            self.trips = [Value(self.fresh("n"), "int64", shape)]
            graph.formals += self.trips
            count = self.source.of((3, 1, 2, 4) if self.for_peer else (2, 0, 1, 3, -1))
            feeds[self.trips[0].name] = np.full(shape, count, np.int64)
        graph.declared = self.source.pick(2)
        self.fill(graph, [], MAX_DEPTH)
        nested = [node for node in graph.nodes if node.bodies] or graph.nodes
        made = [value for node in nested for value in node.outputs]
        made += [value for node in graph.nodes[-2:] for value in node.outputs]
        graph.yields = list(dict.fromkeys(made))[-6:]
        return Program(graph, feeds, self.source.of((21, 18, 23)))

    def nesting(self) -> list[Any]:
        return [self.scan, self.loop, self.branch] * 2

    # --- parts of bodies ----------------------------------------------------------------------

    def body(self, formals: list[Value], seen: list[Value], depth: int) -> Graph:
        graph = Graph(formals)
        self.fill(graph, seen, depth - 1)
        graph.declared = self.source.pick(2 if self.for_peer else 4)
        return graph

    def yielded(self, graph: Graph, outer: list[Value], fits: Any) -> Optional[Value]:
        """The newest of what a body makes, or a formal, or a value outside; perhaps once more.

        Onnxruntime gets a copy, made here."""
        made = [value for node in graph.nodes for value in node.outputs]
        values = made if self.for_peer else [*outer, *graph.formals, *made]
        value = self.some(values, fits) or self.some([*outer, *graph.formals], fits)
        if value is None:
            return None
        return self.copy(graph, value) if self.for_peer else value

    def add_stacked(self, graph: Graph, seen: list[Value], least: int) -> list[Value]:
        """Values of sizes that are known outside, so that the rows of all steps are alike."""
        known = {size for value in seen for size in value.dims}
        stacked = []
        for _ in range(max(least, self.source.pick(3))):
            value = self.yielded(
                graph, seen, lambda v: len(v.dims) < MAX_RANK and _all_known(v.dims, known)
            )
            if value is None:
                value = self.given(graph, np.array([1, 2], np.int64))
            stacked.append(value)
        graph.yields += stacked
        return stacked

    def add_finals(self, graph: Graph, seen: list[Value], states: list[Value],
                   free: Sequence[Size] = ()) -> None:
        """Sizes that are `free` may change from step to step."""
        for state in states:
            found = self.yielded(
                graph, seen,
                lambda v: v.dtype == state.dtype and _may_become(state.dims, v.dims, free),
            )
            graph.yields.append(found or self.copy(graph, state))

    # --- Scan -----------------------------------------------------------------------------------

    def scan(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        first = self.some(seen, lambda v: any(self.is_scannable(size) for size in v.dims))
        if first is None:
            return None
        axis = self.source.of([i for i, n in enumerate(first.dims) if self.is_scannable(n)])
        steps = first.dims[axis]
        scanned, axes = [first], [axis]
        second = self.some(seen, lambda v: steps in v.dims) if self.source.chance(1, 3) else None
        if second is not None:
            scanned.append(second)
            axes.append(second.dims.index(steps))
        states = [self.some(seen) for _ in range(self.source.pick(3))]
        formals = [Value(self.fresh("s"), value.dtype, value.dims) for value in states]
        elements = [
            Value(self.fresh("e"), value.dtype, (*value.dims[:at], *value.dims[at + 1 :]))
            for value, at in zip(scanned, axes)
        ]
        body = self.body(formals + elements, seen, depth)
        self.add_finals(body, seen, formals)
        rows = self.add_stacked(body, seen, least=0 if states else 1)
        kinds = [(value.dtype, value.dims) for value in states]
        out_axes = []
        for row in rows:
            at = self.source.pick(len(row.dims) + 1)
            kinds.append((row.dtype, (*row.dims[:at], steps, *row.dims[at:])))
            out_axes.append(self.counted(at, len(row.dims) + 1))
        node = self.node(
            graph, "Scan", [*states, *scanned], kinds,
            num_scan_inputs=len(scanned),
            scan_input_axes=[self.counted(at, len(v.dims)) for at, v in zip(axes, scanned)],
            scan_input_directions=[self.source.pick(2) for _ in scanned],
            scan_output_axes=out_axes,
            scan_output_directions=[self.source.pick(2) for _ in rows],
        )
        node.bodies["body"] = body
        return node

    def is_scannable(self, size: Size) -> bool:
        return not self.for_peer or (isinstance(size, int) and size > 0)

    def counted(self, axis: int, rank: int) -> int:
        """From the front or from the end."""
        return axis - rank if self.source.chance(1, 2) else axis

    # --- Loop -----------------------------------------------------------------------------------

    def loop(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        trip, count = self.trip_count(graph, seen)
        condition = self.first_condition(graph, seen, needed=trip is None)
        states = [self.some(seen) for _ in range(self.source.pick(3))]
        states = [value for value in states if value is not None]
        formals, free = [], []
        for value in states:
            dims = value.dims
            if dims and self.source.chance(1, 3):
                free.append(self.fresh("D"))
                dims = (free[-1], *dims[1:])
            formals.append(Value(self.fresh("s"), value.dtype, dims))
        counter = [Value(self.fresh("i"), "int64", ()), Value(self.fresh("c"), "bool", ())]
        body = self.body(counter + formals, seen, depth)
        body.yields.append(self.next_condition(body, seen, trip is None, condition is None))
        self.add_finals(body, seen, formals, free)
        rows = self.add_stacked(body, seen, least=0 if states else 1)
        fixed = count if count is not None and condition is None else None
        steps = self.fresh("N") if fixed is None else max(0, fixed)
        kinds = []
        for value, formal in zip(states, formals):
            changing = value.dims != formal.dims
            dims = (self.fresh("N"), *value.dims[1:]) if changing else value.dims
            kinds.append((value.dtype, dims))
        kinds += [(row.dtype, (steps, *row.dims)) for row in rows]
        node = self.node(graph, "Loop", [trip, condition, *states], kinds)
        node.bodies["body"] = body
        return node

    def trip_count(self, graph: Graph, seen: list[Value]) -> tuple[Optional[Value], Optional[int]]:
        """None: left out. The number where it is known here."""
        kind = self.source.pick(4)
        if kind == 1:
            return None, None
        if kind == 2 and self.trips:
            return self.trips[0], None
        value = self.some(seen, lambda v: len(v.dims) > 0) if kind == 3 else None
        if value is not None:
            sizes = self.node(graph, "Shape", [value], [("int64", (len(value.dims),))]).outputs[0]
            index = self.given(graph, np.array(self.source.pick(len(value.dims)), np.int64))
            return self.node(graph, "Gather", [sizes, index], [("int64", ())], axis=0).outputs[0], None
        count = self.source.of((2, 1, 3, 4) if self.for_peer else (2, 0, 1, 3, -1))
        return self.given(graph, np.full(self.source.of(((), (1,))), count, np.int64)), count

    def first_condition(self, graph: Graph, seen: list[Value], needed: bool) -> Optional[Value]:
        kind = self.source.pick(4)
        if kind == 0 and not needed and not self.for_peer:
            return None
        value = self.some(seen, _is_condition) if kind == 1 else None
        if value is not None:
            return value
        return self.given(graph, np.array(not self.source.chance(1, 8)), "bool")

    def next_condition(self, body: Graph, seen: list[Value], must_end: bool, unread: bool) -> Value:
        """Returns the condition that a body yields; a loop without a trip count counts its steps
        itself."""
        step, going = body.formals[:2]
        kind = self.source.pick(4)
        if kind == 0 and not must_end:
            return self.copy(body, going) if self.for_peer else going
        made = [value for node in body.nodes for value in node.outputs]
        other = self.some(made if self.for_peer else [*seen, *made], _is_condition)
        if kind == 1 and not must_end and other is not None:
            return self.copy(body, other) if self.for_peer else other
        last = self.given(body, np.array(self.source.pick(4), np.int64))
        ends = self.node(body, "Less", [step, last], [("bool", ())]).outputs[0]
        if kind == 2 and other is not None and other.dims == ():
            ends = self.node(body, "And", [ends, other], [("bool", ())]).outputs[0]
        return ends

    # --- If -------------------------------------------------------------------------------------

    def branch(self, graph: Graph, seen: list[Value], depth: int) -> Optional[Node]:
        condition = self.some(seen, _is_condition)
        if condition is None:
            condition = self.given(graph, np.array(self.source.chance(1, 2)), "bool")
        sides = [self.body([], seen, depth) for _ in range(2)]
        known = {size for value in seen for size in value.dims}
        kinds = []
        for _ in range(1 + self.source.pick(2)):
            left = self.yielded(sides[0], seen, lambda v: True)
            if left is None:
                left = self.given(sides[0], np.array([1, 2], np.int64))
            right = self.yielded(
                sides[1], seen, lambda v: v.dtype == left.dtype and len(v.dims) == len(left.dims)
            )
            if right is None:
                dims = [size if isinstance(size, int) else 2 for size in left.dims]
                right = self.given(sides[1], self.array(left.dtype, dims), left.dtype)
            sides[0].yields.append(left)
            sides[1].yields.append(right)
            dims = tuple(
                one if one == other and _all_known((one,), known) else self.fresh("N")
                for one, other in zip(left.dims, right.dims)
            )
            kinds.append((left.dtype, dims))
        node = self.node(graph, "If", [condition], kinds)
        node.bodies = {"then_branch": sides[0], "else_branch": sides[1]}
        return node


def _all_known(dims: tuple[Size, ...], known: set[Size]) -> bool:
    return all(isinstance(size, int) or size in known for size in dims)


def _may_become(
    formal: tuple[Size, ...], made: tuple[Size, ...], free: Sequence[Size]
) -> bool:
    return len(formal) == len(made) and all(
        one == other or one in free for one, other in zip(formal, made)
    )


def _is_condition(value: Value) -> bool:
    return value.dtype == "bool" and all(size == 1 for size in value.dims)
