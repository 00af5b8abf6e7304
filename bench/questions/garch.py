"""W3: the log-likelihood of GARCH(1,1), float64: a recurrence with a logarithm and a division."""

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import garch

NAMES = ("garch",)

STEPS = 20_000


def questions(place, clock):
    feeds = garch.feeds(STEPS)
    yield from ask(
        place,
        Workload(
            name="garch",
            about="log-likelihood of GARCH(1,1), float64",
            steps=STEPS,
            write=garch.write,
            feeds=feeds,
            reference=lambda: garch.reference(feeds),
            tolerance=1e-11,
            peers=[
                Peer(garch.plain(place, feeds), 1.0),
                *optional("jax", "garch", feeds, target=1.1),
                *optional("numba", "garch", feeds, target=1.1),
                *optional("pytensor", "garch", feeds, module=SCANS, target=1.1),
            ],
            target=1.1,
        ),
    )
