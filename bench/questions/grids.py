"""Equations on grids: 64 independent tridiagonal systems, and the heat equation in the plane."""

import functools

from harness import Peer
from peers import LOOPS, optional
from workload import Workload, ask
from workloads import grids

NAMES = ("thomas", "heat")

THOMAS_ROWS, HEAT_STEPS = 1_000, 200
TARGET, NOT_BEHIND = 0.6, 1.1  # for engines that run the model, for others


def _thomas(place):
    feeds = grids.thomas_feeds(THOMAS_ROWS)
    return Workload(
        name="thomas",
        sizes={"n": grids.SYSTEMS},
        about=f"{grids.SYSTEMS} interleaved tridiagonal systems, float64",
        unit="row",
        steps=THOMAS_ROWS,
        write=grids.write_thomas,
        feeds=feeds,
        reference=lambda: grids.thomas_reference(feeds),
        tolerance=1e-12,
        peers=[
            Peer(grids.plain_thomas(place, feeds)),
            Peer(grids.plain_thomas(place, feeds, fast=True)),
            *optional("scipy", "thomas", feeds, target=NOT_BEHIND),
            *optional("jax", "thomas", feeds, module=LOOPS, target=NOT_BEHIND),
        ],
        target=TARGET,
    )


def _heat(place):
    feeds = grids.heat_feeds()
    plain = functools.partial(grids.plain_heat, place, feeds, HEAT_STEPS)
    return Workload(
        name="heat",
        sizes={"n": grids.SIDE},
        about=f"explicit steps of the heat equation on {grids.SIDE} x {grids.SIDE} points",
        steps=HEAT_STEPS,
        write=functools.partial(grids.write_heat, steps=HEAT_STEPS),
        feeds=feeds,
        reference=lambda: grids.heat_reference(feeds, HEAT_STEPS),
        tolerance=1e-5,
        peers=[
            Peer(plain()),
            Peer(plain(fast=True)),
            *optional("jax", "heat", feeds, HEAT_STEPS, module=LOOPS, target=NOT_BEHIND),
        ],
        target=TARGET,
    )


def questions(place, clock):
    if place.wants("thomas"):
        yield from ask(place, _thomas(place))
    if place.wants("heat"):
        yield from ask(place, _heat(place))
