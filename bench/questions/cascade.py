"""Eight cascaded second-order sections over two channels: a body of many small operators in a
dependent chain."""

import engines
from harness import Peer, Question
from peers import optional
from workload import Workload, ask
from workloads import cascade

NAMES = ("cascade",)

# onnxruntime takes half a minute for ten seconds of audio.
STEPS, LONG_STEPS = 10_000, 480_000
TOLERANCE = 1e-5
TARGET, NOT_BEHIND = 0.2, 1.1  # for engines that run the model, for scipy
SIZES = {"n": cascade.SECTIONS}
ABOUT = f"{cascade.SECTIONS} second-order sections over {cascade.CHANNELS} channels"


def _peers(place, feeds):
    return [
        Peer(cascade.plain(place, feeds)),
        Peer(cascade.plain(place, feeds, fast=True)),
        *optional("scipy", "cascade", cascade.sections(), feeds, target=NOT_BEHIND),
    ]


def _long(place):
    """The samples of ten seconds of audio."""
    feeds, path = cascade.feeds(LONG_STEPS), place.build / "cascade_long.onnx"
    cascade.write(path)
    return Question(
        name="cascade_long",
        about=f"{ABOUT}, {LONG_STEPS} steps",
        unit="step",
        units=LONG_STEPS,
        ours=engines.compiled(path, feeds, place.threads),
        peers=_peers(place, feeds),
        reference=cascade.reference(feeds),
        tolerance=TOLERANCE,
        sizes=SIZES,
    )


def questions(place, clock):
    if place.wants("cascade/", SIZES):
        feeds = cascade.feeds(STEPS)
        yield from ask(
            place,
            Workload(
                name="cascade",
                sizes=SIZES,
                about=ABOUT,
                steps=STEPS,
                write=cascade.write,
                feeds=feeds,
                reference=lambda: cascade.reference(feeds),
                tolerance=TOLERANCE,
                peers=_peers(place, feeds),
                target=TARGET,
            ),
        )
    if place.wants("cascade_long", SIZES):
        yield _long(place)
