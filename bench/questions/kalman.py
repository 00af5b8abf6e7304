"""W6: a Kalman filter of four states and two measurements, float64: products of tiny matrices."""

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import kalman

NAMES = ("kalman",)

STEPS = 1_000
TARGET = 0.2


def questions(place, clock):
    feeds = kalman.feeds(STEPS)
    yield from ask(
        place,
        Workload(
            name="kalman",
            sizes={"n": 4},
            about="Kalman filter, 4 states, 2 measurements, float64",
            steps=STEPS,
            write=kalman.write,
            feeds=feeds,
            reference=lambda: kalman.reference(feeds),
            tolerance=1e-10,
            peers=[
                Peer(kalman.plain(place, feeds)),
                Peer(kalman.plain(place, feeds, fast=True)),
                *optional("jax", "kalman", feeds, target=TARGET),
                *optional("pytensor", "kalman", feeds, module=SCANS, target=TARGET),
            ],
            target=TARGET,
        ),
    )
