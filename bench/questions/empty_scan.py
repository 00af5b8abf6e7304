"""W0: the cost of a step whose body only passes an element through."""

import numpy as np

import engines
from harness import Peer, Question

NAMES = ("empty_scan",)

STEPS = 20_000


def questions(place, clock):
    path = place.models["empty_scan"]
    xs = np.random.default_rng(1).standard_normal((STEPS, 1)).astype(np.float32)
    feeds = {"h0": np.array([3], np.float32), "xs": xs}
    yield Question(
        name="empty_scan/stepped",
        sizes={"n": 1},
        about="Scan whose body passes one element through; stepped, no machine code",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds, "stepped"),
        peers=[Peer(engines.peer(path, feeds), target=1 / 5)],
        reference=[feeds["h0"], xs],
    )
