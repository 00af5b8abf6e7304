"""W0: a Loop that adds one, 1e6 times, compiled, beside a plain C loop.

The compiled counter may end as a closed form (start + steps); the C loop may not, see baseline.c.
The variant that keeps every count has no closed form and is the fairer one."""

import numpy as np

import engines
from harness import Engine, Peer, Question

STEPS = 1_000_000
START = 5


def questions(place, clock):
    feeds = {"trips": np.array(STEPS, np.int64), "start": np.array(START, np.int64)}
    path = place.models["counter"]
    plain = Engine("C loop", lambda: place.baseline.counter(STEPS, START))
    yield Question(
        name="counter/compiled",
        about="Loop that adds one to an int64; compiled",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds),
        peers=[Peer(plain, target=2.0), Peer(engines.peer(path, feeds))],
        reference=[np.int64(START + STEPS)],
    )
    rows = np.empty(STEPS, np.int64)
    plain_rows = Engine("C loop", lambda: place.baseline.counter_rows(STEPS, START, rows))
    yield Question(
        name="counter_rows/compiled",
        about="the same, every count kept",
        unit="step",
        units=STEPS,
        ours=engines.ours(place.models["counter_rows"], feeds),
        peers=[Peer(plain_rows, target=2.0)],
        reference=[np.int64(START + STEPS), START + 1 + np.arange(STEPS)],
    )
