"""Hamiltonian Monte Carlo: twenty leapfrog steps per draw, a loop in a loop."""

from harness import Peer
from peers import LOOPS, optional
from workload import Workload, ask
from workloads import hmc

NAMES = ("hmc",)

DRAWS = 500
TARGET, NOT_BEHIND = 0.2, 1.1  # for engines that run the model, for others


def questions(place, clock):
    feeds = hmc.feeds(DRAWS)
    yield from ask(
        place,
        Workload(
            name="hmc",
            sizes={"n": hmc.SIZE},
            about=f"{hmc.LEAPS} leapfrog steps per draw from a normal distribution of {hmc.SIZE} "
            "variables, float64",
            unit="draw",
            steps=DRAWS,
            write=hmc.write,
            feeds=feeds,
            reference=lambda: hmc.reference(feeds),
            tolerance=1e-10,
            peers=[
                Peer(hmc.plain(place, feeds)),
                Peer(hmc.plain(place, feeds, fast=True)),
                *optional("jax", "hmc", feeds, module=LOOPS, target=NOT_BEHIND),
            ],
            target=TARGET,
        ),
    )
