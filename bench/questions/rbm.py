"""W9: Gibbs sweeps of a restricted Boltzmann machine, 64 rows of 784 and 500 units: dominated by
products, with a random number per unit. It is either fed, so that all engines compute the same, or
drawn in the loop, where only the share of active units after each sweep is checked."""

import functools

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import rbm

NAMES = ("rbm",)
STEPS = 100
TARGET = 1.1
SHARE_TOLERANCE = 0.02


def _workload(name, about, feeds, reference, tolerance, peers):
    is_drawn = name == "rbm/drawn"
    return Workload(
        name=name,
        about=f"Gibbs sweeps of {rbm.ROWS} rows of {rbm.VISIBLE} and {rbm.HIDDEN} units, {about}",
        steps=STEPS,
        write=functools.partial(rbm.write, steps=STEPS, is_drawn=is_drawn),
        feeds=feeds,
        reference=lambda: reference,
        tolerance=tolerance,
        peers=peers,
        target=TARGET,
        sizes={"b": rbm.ROWS, "n": rbm.VISIBLE, "h": rbm.HIDDEN},
    )


def questions(place, clock):
    feeds, reference = rbm.sweeps(STEPS)
    peers = [
        Peer(rbm.plain(place, feeds)),
        *optional("jax", "gibbs", feeds, target=TARGET),
        *optional("pytensor", "gibbs", feeds, module=SCANS, target=TARGET),
    ]
    yield from ask(
        place,
        _workload("rbm/fed", "random numbers fed", feeds, reference, 1e-6, peers),
    )
    peers = optional("jax", "gibbs_drawn", feeds["start"], STEPS, target=TARGET)
    yield from ask(
        place,
        _workload("rbm/drawn", "random numbers drawn", {"start": feeds["start"]}, reference[:1],
                  SHARE_TOLERANCE, peers),
    )
