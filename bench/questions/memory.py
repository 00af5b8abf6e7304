"""Peak memory of loops whose rows are all read afterwards, of loops whose last rows are read, and
of a cell written out: the growth of a new process's peak memory from loading the model to the first
result."""

import importlib.util
import pathlib

import numpy as np

import engines
from harness import Peer, Question, Skip
from workloads import cells, rows

NAMES = ("memory",)

# (steps, number of last rows that are read); 0: all.
CASES = {"all_rows": (200_000, 0), "last_row": (1_000_000, 1), "last_rows": (1_000_000, 3)}
CELL = cells.Cell("lstm", 1, 32, 100_000)


def questions(place, clock):
    if not pathlib.Path("/proc/self/clear_refs").exists():
        raise Skip("this system does not tell the most memory of a process")
    yield from _of_rows(place, clock)
    if place.wants("memory/cell"):
        yield _of_cell(place, clock)


def _engines(path, feeds_path, clock):
    """Scanloom and its peers."""
    names = ["scanloom", "onnxruntime"]
    if importlib.util.find_spec("openvino") is not None:
        names.append("openvino")
    ours, *peers = [engines.fresh_process(name, path, feeds_path, clock, memory=True)
                    for name in names]
    return ours, [Peer(peer) for peer in peers]


def _of_cell(place, clock):
    """Does not count the memory of the feeds."""
    feeds, path = cells.feeds(CELL), place.build / "memory_cell.onnx"
    feeds_path = place.build / "memory_cell_feeds.npz"
    np.savez(feeds_path, **feeds)
    cells.write_scan(path, CELL, last_only=True)
    ours, peers = _engines(path, feeds_path, clock)
    return Question(
        name="memory/cell",
        sizes={"h": CELL.width},
        about=f"an LSTM in primitives over {CELL.steps} steps, of which the last state is a result",
        unit="run",
        units=1,
        ours=ours,
        peers=peers,
        reference=[x.reshape(-1) for x in cells.reference(CELL, feeds)[1:]],
        tolerance=1e-4,
        memory=True,
    )


def _of_rows(place, clock):
    for name, (steps, count) in CASES.items():
        if not place.wants(f"memory/{name}"):
            continue
        feeds, feeds_path = rows.feeds(steps, count), place.build / f"rows_{name}.npz"
        np.savez(feeds_path, **feeds)
        path = place.build / f"rows_{name}.onnx"
        rows.write(path, steps, count)
        ours, peers = _engines(path, feeds_path, clock)
        yield Question(
            name=f"memory/{name}",
            sizes={"n": rows.WIDTH},
            about=f"a Loop of {steps} steps that keeps {rows.WIDTH} floats in each, of which "
            + (f"the last {count} are read" if count else "all are read"),
            unit="run",
            units=1,
            ours=ours,
            peers=peers,
            reference=rows.reference(feeds, steps, count),
            tolerance=1e-4,
            memory=True,
        )
