"""W6: a Kalman filter with four states and two measurements, followed by the backward smoother, in
float64: products of tiny matrices."""

from harness import Peer
from peers import LOOPS, SCANS, optional
from workload import Workload, ask
from workloads import kalman

NAMES = ("kalman", "rts_smoother")

STEPS = 2_000
TARGET = 0.2


def _filter(place, feeds):
    return Workload(
        name="kalman",
        sizes={"n": kalman.STATES},
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
    )


def _smoother(place, feeds):
    return Workload(
        name="rts_smoother",
        sizes={"n": kalman.STATES},
        about="Kalman filter and smoother, 4 states, 2 measurements, float64",
        steps=STEPS,
        write=kalman.write_smoother,
        feeds=feeds,
        reference=lambda: kalman.smoother_reference(feeds),
        tolerance=1e-10,
        peers=[
            Peer(kalman.plain_smoother(place, feeds)),
            Peer(kalman.plain_smoother(place, feeds, fast=True)),
            *optional("jax", "kalman_smoother", feeds, module=LOOPS, target=TARGET),
        ],
        target=TARGET,
    )


def questions(place, clock):
    feeds = kalman.feeds(STEPS)
    if place.wants("kalman"):
        yield from ask(place, _filter(place, feeds))
    if place.wants("rts_smoother"):
        yield from ask(place, _smoother(place, feeds))
