"""W8: Loops without input per step: an ordinary differential equation, and power iteration, which
ends depending on its values."""

import functools

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import iteration

NAMES = ("lorenz", "power_iteration")

LORENZ_STEPS = 10_000
LORENZ_TARGET, POWER_TARGET = 0.7, 0.8


def _lorenz(place):
    feeds = iteration.lorenz_feeds()
    plain = functools.partial(iteration.plain_lorenz, place, feeds, LORENZ_STEPS)
    return Workload(
        name="lorenz",
        sizes={"n": iteration.VARIABLES},
        about="Runge-Kutta of order 4 on Lorenz 96, 40 variables, float64",
        steps=LORENZ_STEPS,
        write=functools.partial(iteration.write_lorenz, steps=LORENZ_STEPS),
        feeds=feeds,
        reference=lambda: iteration.lorenz_reference(feeds, LORENZ_STEPS),
        tolerance=1e-9,
        peers=[
            Peer(plain()),
            Peer(plain(fast=True)),
            *optional("jax", "lorenz", feeds, LORENZ_STEPS, target=LORENZ_TARGET),
            *optional("numba", "lorenz", feeds, LORENZ_STEPS, target=LORENZ_TARGET),
            *optional("pytensor", "lorenz", feeds, LORENZ_STEPS, module=SCANS,
                      target=LORENZ_TARGET),
        ],
        target=LORENZ_TARGET,
    )


def _power(place):
    feeds = iteration.power_feeds()
    vector, steps = iteration.power_reference(feeds)
    return Workload(
        name="power_iteration",
        sizes={"n": iteration.SIZE},
        about=f"power iteration of a 64x64 matrix until it changes by {iteration.TOLERANCE}",
        steps=steps,
        write=iteration.write_power,
        feeds=feeds,
        reference=lambda: [vector],
        tolerance=1e-4,
        peers=[
            Peer(iteration.plain_power(place, feeds)),
            Peer(iteration.plain_power(place, feeds, fast=True)),
            *optional("jax", "power", feeds, target=POWER_TARGET),
            *optional("pytensor", "power", feeds, module=SCANS, target=POWER_TARGET),
        ],
        target=POWER_TARGET,
    )


def questions(place, clock):
    if place.wants("lorenz"):
        yield from ask(place, _lorenz(place))
    if place.wants("power_iteration"):
        yield from ask(place, _power(place))
