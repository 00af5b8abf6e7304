"""Peak memory of a loop whose rows are all read afterwards, and of one whose last row alone is: by
how much the most memory of a fresh process grows from loading the model to the first result."""

import pathlib

import numpy as np

import engines
from harness import Peer, Question, Skip
from workloads import rows

NAMES = ("memory",)

CASES = {"all_rows": (200_000, False), "last_row": (1_000_000, True)}


def questions(place, clock):
    if not pathlib.Path("/proc/self/clear_refs").exists():
        raise Skip("this system does not tell the most memory of a process")
    feeds = rows.feeds()
    feeds_path = place.build / "rows_feeds.npz"
    np.savez(feeds_path, **feeds)
    for name, (steps, last_only) in CASES.items():
        if not place.wants(f"memory/{name}"):
            continue
        path = place.build / f"rows_{name}.onnx"
        rows.write(path, steps, last_only)
        engine = [engines.fresh_process(peer, path, feeds_path, clock, memory=True)
                  for peer in ("scanloom", "onnxruntime")]
        yield Question(
            name=f"memory/{name}",
            sizes={"n": rows.WIDTH},
            about=f"a Loop of {steps} steps that keeps {rows.WIDTH} floats in each",
            unit="run",
            units=1,
            ours=engine[0],
            peers=[Peer(engine[1])],
            reference=rows.reference(feeds, steps, last_only),
            tolerance=1e-4,
            memory=True,
        )
