"""W10: a sequence and a tensor that grow by one row per step of a Loop."""

from harness import Engine, Peer
from workload import Workload, ask
from workloads import growing

NAMES = ("growing",)

STEPS = 1_000
TARGET = 0.03


def _workload(place, feeds, name, about, write, function, in_numpy, numpy_target):
    return Workload(
        name=name,
        sizes={"n": growing.WIDTH},
        about=about,
        steps=STEPS,
        write=write,
        feeds=feeds,
        reference=lambda: growing.reference(feeds),
        tolerance=0,
        peers=[
            Peer(growing.plain(place, function, feeds)),
            Peer(Engine("numpy", lambda: in_numpy(feeds)), numpy_target),
        ],
        target=TARGET,
    )


def questions(place, clock):
    feeds = growing.feeds(STEPS)
    yield from ask(
        place,
        _workload(place, feeds, "growing/sequence", "a row of 64 appended to a sequence",
                  growing.write_sequence, "append_rows", growing.numpy_list, None),
    )
    yield from ask(
        place,
        _workload(place, feeds, "growing/concat", "a row of 64 concatenated to those before",
                  growing.write_concat, "grow_array", growing.numpy_concatenate, TARGET),
    )
