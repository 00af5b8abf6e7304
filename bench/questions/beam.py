"""Beam search, with caches that grow by a row per step and are reordered by beam."""

import functools

from harness import Peer
from workload import Workload, ask
from workloads import beam

NAMES = ("beam_search",)

STEPS = 100
TARGET = 0.6


def questions(place, clock):
    feeds = beam.feeds()
    plain = functools.partial(beam.plain, place, feeds, STEPS)
    yield from ask(
        place,
        Workload(
            name="beam_search",
            sizes={"b": beam.BEAMS, "h": beam.WIDTH},
            about=f"{beam.BEAMS} beams over {beam.WORDS} words, attention of {beam.WIDTH} units "
            "over a cache that grows",
            steps=STEPS,
            write=functools.partial(beam.write, steps=STEPS),
            feeds=feeds,
            reference=lambda: beam.reference(feeds, STEPS),
            tolerance=1e-5,
            peers=[Peer(plain()), Peer(plain(fast=True))],
            target=TARGET,
        ),
    )
