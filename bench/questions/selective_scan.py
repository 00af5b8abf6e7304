"""W7: a selective scan of 512 channels with 16 states each."""

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import selective_scan

NAMES = ("selective_scan",)

STEPS = 2_048
TARGET = 0.3


def questions(place, clock):
    feeds = selective_scan.feeds(STEPS)
    yield from ask(
        place,
        Workload(
            name="selective_scan",
            sizes={"d": 512, "n": 16},
            about="selective scan, 512 channels with 16 states",
            steps=STEPS,
            write=selective_scan.write,
            feeds=feeds,
            reference=lambda: selective_scan.reference(feeds),
            tolerance=1e-5,
            peers=[
                Peer(selective_scan.plain(place, feeds)),
                Peer(selective_scan.plain(place, feeds, fast=True)),
                *optional("jax", "selective_scan", feeds, target=TARGET),
                *optional("pytensor", "selective_scan", feeds, module=SCANS, target=TARGET),
            ],
            target=TARGET,
        ),
    )
