"""W4: LSTM and GRU, written out in the primitives of a Scan and as the operators.

Every engine is asked twice: for the cell written out, and for its own operator on equal weights."""

import functools

import engines
from harness import Peer
from peers import optional
from workload import Workload, ask
from workloads import cells
from workloads.cells import Cell

# (batch, width): (steps, target beside onnxruntime's Scan, beside the best operator of any peer)
SIZES = {
    (1, 4): (1_000, 1 / 8, 0.6),
    (1, 32): (1_000, 1 / 8, 0.6),
    (1, 128): (500, 1 / 3.5, 0.85),
    (1, 256): (200, 1 / 3, 0.8),
    (32, 128): (50, 1.1, 1.1),
}


def _operators(place, cell, feeds, target):
    """The peers' own operators, for a cell that Scanloom runs as a Scan."""
    path = place.build / f"{cell.kind}_{cell.name}_fused.onnx"
    cells.write_operator(path, cell)
    name = cell.kind.upper()
    return [
        Peer(engines.peer(path, feeds, f"ort {name}"), target),
        *optional("openvino", "model", path, feeds, target=target, name=f"openvino {name}"),
        *_libraries(cell, feeds, target),
    ]


def _libraries(cell, feeds, target):
    return [
        # JAX has no operator of its own for the cell: it must not be ahead.
        *optional("jax", "cell", cell, feeds, target=max(target, 1.1)),
        *optional("torch", "cell", cell, feeds, target=target),
    ]


def questions(place, clock):
    for kind in cells.GATES:
        for (batch, width), (steps, scan_target, target) in SIZES.items():
            cell = Cell(kind, batch, width, steps)
            if not place.wants(f"{kind}_{cell.name}"):
                continue
            feeds = cells.feeds(cell)
            plain = Peer(cells.plain(place, cell, feeds))
            common = {
                "steps": steps,
                "feeds": feeds,
                "reference": functools.partial(cells.reference, cell, feeds),
                "tolerance": 1e-5,
            }
            yield from ask(
                place,
                Workload(
                    name=f"{kind}_{cell.name}/scan",
                    about=f"{kind} in primitives, batch {batch}, width {width}",
                    write=functools.partial(cells.write_scan, cell=cell),
                    peers=[plain, *_operators(place, cell, feeds, target)],
                    target=scan_target,
                    **common,
                ),
            )
            yield from ask(
                place,
                Workload(
                    name=f"{kind}_{cell.name}/operator",
                    about=f"{kind} as the operator, batch {batch}, width {width}",
                    write=functools.partial(cells.write_operator, cell=cell),
                    peers=[plain, *_libraries(cell, feeds, target)],
                    target=target,
                    **common,
                ),
            )
