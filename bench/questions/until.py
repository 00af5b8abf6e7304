"""Loops that end depending on their values: adaptive steps through a differential equation,
Sinkhorn scaling of a matrix, page ranks. Time is per executed step."""

import functools

from harness import Peer
from peers import LOOPS, optional
from workload import Workload, ask
from workloads import until

NAMES = ("dopri", "sinkhorn", "pagerank")

NOT_BEHIND = 1.1  # for JAX

# name: (description, sizes, tolerance, target for engines that run the model)
ASKED = {
    "dopri": (
        "Dormand and Prince's method on Van der Pol's oscillator, steps of chosen length, float64",
        {"n": 2}, 1e-9, 0.2,
    ),
    "sinkhorn": (
        f"Sinkhorn's scaling of a matrix of {until.POINTS} x {until.POINTS} until it changes by "
        f"{until.CHANGE}",
        {"n": until.POINTS}, 1e-4, 0.6,
    ),
    "pagerank": (
        f"ranks of {until.PAGES} pages with {until.LINKS} links until they change by "
        f"{until.RANK_CHANGE}",
        {"n": until.PAGES}, 1e-4, 0.6,
    ),
}  # fmt: skip


def _workload(place, name, about, sizes, tolerance, target):
    feeds = getattr(until, f"{name}_feeds")()
    result, steps = getattr(until, f"{name}_reference")(feeds)
    plain = functools.partial(getattr(until, f"plain_{name}"), place, feeds)
    return Workload(
        name=name,
        sizes=sizes,
        about=about,
        steps=steps,
        write=getattr(until, f"write_{name}"),
        feeds=feeds,
        reference=lambda: [result],
        tolerance=tolerance,
        peers=[
            Peer(plain()),
            Peer(plain(fast=True)),
            *optional("jax", name, feeds, module=LOOPS, target=NOT_BEHIND),
        ],
        target=target,
    )


def questions(place, clock):
    for name, numbers in ASKED.items():
        if place.wants(name):
            yield from ask(place, _workload(place, name, *numbers))
