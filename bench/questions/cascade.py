"""Eight second-order sections in a row over two channels: a body of many small operators, the
sections one after the other."""

import engines
from harness import Peer, Question
from peers import optional
from workload import Workload, ask
from workloads import cascade

NAMES = ("cascade",)

# onnxruntime takes half a minute for as many samples as ten seconds of audio have.
STEPS, LONG_STEPS = 10_000, 480_000
TOLERANCE = 1e-5
TARGET, NOT_BEHIND = 0.2, 1.1  # beside those that run the model, beside scipy
SIZES = {"n": cascade.SECTIONS}
ABOUT = f"{cascade.SECTIONS} second-order sections over {cascade.CHANNELS} channels"


def _peers(place, feeds):
    return [
        Peer(cascade.plain(place, feeds)),
        Peer(cascade.plain(place, feeds, fast=True)),
        *optional("scipy", "cascade", cascade.sections(), feeds, target=NOT_BEHIND),
    ]


def _long(place):
    """As many samples as ten seconds of audio have."""
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
