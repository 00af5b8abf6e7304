"""W2: the overhead of the stepped runtime: at most 60 ns per step and 25 ns per node.

Bodies have a few nodes over four elements. The kernels themselves take some nanoseconds, so the
measurement is an upper bound. Per step: a body of one node. Per node: the time that eight more
nodes of a kind add to a step."""

import numpy as np

import engines
import models
from harness import CLOCKS, Engine, Peer, Question

NAMES = ("overhead",)

STEPS, FEW, MANY = 20_000, 1, 9
PER_STEP_NS, PER_NODE_NS = 60, 25


def _within(nanoseconds, units, reference):
    """A peer that takes exactly the allowed time, so the ratio is at most 1 within the limit."""
    seconds = nanoseconds * units * 1e-9
    return Peer(Engine(f"{nanoseconds} ns", lambda: (seconds, reference), timed=True), 1.0)


def _added_time(few, many, clock):
    """The time of one run of `many` minus that of `few`."""

    def run():
        start = clock()
        few()
        middle = clock()
        results = many()
        return (clock() - middle) - (middle - start), results

    return Engine("scanloom", run, timed=True)


def questions(place, clock):
    xs = np.random.default_rng(3).standard_normal((STEPS, *models.CHAIN_SHAPE)).astype(np.float32)
    feeds = {"h0": np.ones(models.CHAIN_SHAPE, np.float32), "xs": xs}
    for kind in models.CHAINS:
        paths = [place.build / f"chain_{kind}_{count}.onnx" for count in (FEW, MANY)]
        for path, count in zip(paths, (FEW, MANY)):
            models.chain(path, kind, count)
        few, many = (engines.ours(path, feeds, "stepped") for path in paths)
        yield Question(
            name=f"overhead/step_{kind}",
            about=f"a stepped Scan whose body is one {kind} of four elements, kernel included",
            unit="step",
            units=STEPS,
            ours=few,
            peers=[_within(PER_STEP_NS, STEPS, few.run())],
            reference=engines.unoptimised_results(paths[0], feeds),
            reference_name="onnxruntime without rewrites",
            tolerance=1e-5,
        )
        yield Question(
            name=f"overhead/node_{kind}",
            about=f"what a further {kind} of four elements adds to a step, kernel included",
            unit="node",
            units=STEPS * (MANY - FEW),
            ours=_added_time(few.run, many.run, CLOCKS[clock]),
            peers=[_within(PER_NODE_NS, STEPS * (MANY - FEW), many.run())],
            reference=engines.unoptimised_results(paths[1], feeds),
            reference_name="onnxruntime without rewrites",
            tolerance=1e-5,
        )
