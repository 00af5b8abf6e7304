"""W4: LSTM and GRU, written out in the primitives of a Scan and as operators.

Every engine is measured on the cell written out and on its own operator with equal weights. With
several threads, peers get as many, and their operators are also measured with one."""

import dataclasses
import functools
import itertools

import engines
from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import cells
from workloads.cells import Cell

NAMES = ("lstm_", "gru_")

ANY_THREADS = True  # run.py may use several
FURTHER_STEPS = 100  # for sizes that are not in the table
NOT_BEHIND = 1.1


@dataclasses.dataclass(frozen=True)
class Targets:
    """The largest acceptable ratios; None: no target."""

    scan: float | None = None  # for the peers' loops over the cell written out
    operator: float | None = None  # for the best operator of any peer
    one_thread: float | None = None  # two threads compared with the best operator on one

    def written_out(self) -> float | None:
        """JAX and PyTensor have no operator for the cell, and must not be faster."""
        return None if self.operator is None else max(self.operator, NOT_BEHIND)


# (batch, width): (steps, targets with one thread, targets with two)
SIZES = {
    (1, 4): (1_000, Targets(1 / 8, 0.6), Targets()),
    (1, 32): (1_000, Targets(1 / 8, 0.6), Targets()),
    (1, 128): (1_000, Targets(1 / 3.5, 0.85), Targets(NOT_BEHIND, NOT_BEHIND)),
    (1, 256): (1_000, Targets(1 / 3, 0.8), Targets(NOT_BEHIND, NOT_BEHIND, 0.55)),
    (32, 128): (100, Targets(NOT_BEHIND, NOT_BEHIND), Targets(NOT_BEHIND, NOT_BEHIND)),
}


def _operators(place, cell, feeds, threads, target):
    """The peers' operators, for a cell that Scanloom runs as a Scan."""
    path = place.build / f"{cell.kind}_{cell.name}_fused.onnx"
    cells.write_operator(path, cell)
    name, count = cell.kind.upper(), "" if threads == place.threads else f", {threads} thread"
    return [
        Peer(engines.peer(path, feeds, f"ort {name}{count}", threads), target),
        *optional("openvino", "model", path, feeds, threads, target=target,
                  name=f"openvino {name}{count}"),
    ]


def _libraries(cell, feeds, targets):
    return [
        *optional("jax", "cell", cell, feeds, target=targets.written_out()),
        *optional("torch", "cell", cell, feeds, target=targets.operator),
        *optional("pytensor", "cell", cell, feeds, module=SCANS, target=targets.written_out()),
    ]


def _asked(place):
    """Batch, width, steps and targets of the selected sizes."""
    for (batch, width), (steps, *targets) in SIZES.items():
        if place.has_sizes({"b": batch, "h": width}):
            yield batch, width, steps, targets[min(place.threads, len(targets)) - 1]
    known = [{"b": batch, "h": width} for batch, width in SIZES]
    for sizes in place.further_sizes(known, {"b": 1, "h": None}):
        yield sizes["b"], sizes["h"], FURTHER_STEPS, Targets()


def questions(place, clock):
    for kind, (batch, width, steps, targets) in itertools.product(cells.GATES, _asked(place)):
        cell = Cell(kind, batch, width, steps)
        if place.wants(f"{kind}_{cell.name}"):
            yield from _ask(place, cell, targets)


def _ask(place, cell, targets):
    """The cell written out, compared also with operators; and the operator."""
    feeds = cells.feeds(cell)
    operators = _operators(place, cell, feeds, place.threads, targets.operator)
    alone = []
    if place.threads > 1:
        alone = _operators(place, cell, feeds, 1, targets.one_thread)
    peers = [Peer(cells.plain(place, cell, feeds)), *alone, *_libraries(cell, feeds, targets)]
    size = f"batch {cell.batch}, width {cell.width}"
    common = {
        "steps": cell.steps,
        "feeds": feeds,
        "reference": functools.partial(cells.reference, cell, feeds),
        "tolerance": 1e-5,
        "sizes": {"b": cell.batch, "h": cell.width},
    }
    yield from ask(
        place,
        Workload(
            name=f"{cell.kind}_{cell.name}/scan",
            about=f"{cell.kind} in primitives, {size}",
            write=functools.partial(cells.write_scan, cell=cell),
            peers=[*operators, *peers],
            target=targets.scan,
            **common,
        ),
    )
    yield from ask(
        place,
        Workload(
            name=f"{cell.kind}_{cell.name}/operator",
            about=f"{cell.kind} as the operator, {size}",
            write=functools.partial(cells.write_operator, cell=cell),
            peers=peers,
            target=targets.operator,
            **common,
        ),
    )
