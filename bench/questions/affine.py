"""W1: the affine recurrence, for one element with few and many steps, and for 4096 elements; and
the cumulative sum as a Scan and as CumSum."""

import functools

import numpy as np

import engines
from harness import Engine, Peer, Question
from peers import SCANS, optional
from workload import Workload, ask
from workloads import affine

NAMES = ("affine_", "cumsum")

# width: (steps, target for the C loop, target for peers)
SIZES = {1: (100_000, 1.2, 1.1), 4096: (1_000, None, 0.9)}
ELEMENTS = 4_000_000  # the approximate number per run of other widths
LONG_STEPS = 10_000_000
# OpenVINO takes four seconds for a million steps of a Scan.
SUM_STEPS, LONG_SUM_STEPS = 100_000, 1_000_000


def _affine(place, width, steps, plain_target=None, target=None):
    feeds = affine.feeds(steps, width)
    return Workload(
        name=f"affine_{width}",
        sizes={"n": width},
        about=f"h = a[t] h + b[t] on {width} elements, every h kept",
        steps=steps,
        write=functools.partial(affine.write, width=width),
        feeds=feeds,
        reference=lambda: affine.reference(feeds),
        tolerance=1e-5,
        peers=[
            Peer(affine.plain(place, feeds), plain_target),
            *optional("jax", "affine", feeds, target=target),
            *optional("numba", "affine", feeds, target=target),
            *optional("pytensor", "affine", feeds, module=SCANS, target=target),
        ],
        target=target,
    )


def _cumsum(place, write, name, steps, peers):
    feeds = affine.cumsum_feeds(steps)
    return Workload(
        name=name,
        about=f"running sum of {steps} elements",
        steps=steps,
        write=write,
        feeds=feeds,
        reference=lambda: affine.cumsum_reference(feeds),
        tolerance=1e-4,
        peers=peers,
        target=1.1,
    )


def questions(place, clock):
    for width, numbers in SIZES.items():
        if place.wants(f"affine_{width}", {"n": width}):
            yield from ask(place, _affine(place, width, *numbers))
    for sizes in place.further_sizes([{"n": width} for width in SIZES], {"n": None}):
        if place.wants(f"affine_{sizes['n']}"):
            yield from ask(place, _affine(place, sizes["n"], max(ELEMENTS // sizes["n"], 1)))
    if place.wants("affine_long", {"n": 1}):
        yield _long(place)
    if place.wants("cumsum", {}):
        yield from _cumsums(place)


def _long(place):
    """More data than the caches hold; engines other than these would take seconds."""
    feeds, path = affine.feeds(LONG_STEPS, 1), place.build / "affine_long.onnx"
    affine.write(path, 1)
    plain_target, target = SIZES[1][1:]
    return Question(
        name="affine_long",
        about=f"h = a[t] h + b[t] on one element, {LONG_STEPS} steps",
        unit="step",
        units=LONG_STEPS,
        ours=engines.compiled(path, feeds, place.threads),
        peers=[
            Peer(affine.plain(place, feeds), plain_target),
            *optional("jax", "affine", feeds, target=target),
            *optional("numba", "affine", feeds, target=target),
        ],
        reference=affine.reference_of_many_steps(feeds),
        tolerance=1e-5,
        sizes={"n": 1},
    )


def _sum_peers(place, feeds):
    xs = feeds["xs"]
    return [
        Peer(affine.plain_cumsum(place, feeds), 1.2),
        Peer(Engine("numpy", lambda: [np.cumsum(xs)]), 1.1),
        *optional("jax", "cumsum", feeds, target=1.1),
        *optional("torch", "cumsum", feeds, target=1.1),
        *optional("pytensor", "cumsum", feeds, module=SCANS, target=1.1),
    ]


def _cumsums(place):
    """Few steps for all engines; all steps for those that do not interpret the Scan."""
    feeds, long_feeds = (affine.cumsum_feeds(steps) for steps in (SUM_STEPS, LONG_SUM_STEPS))
    path, fused = place.build / "cumsum_long.onnx", place.build / "cumsum_fused.onnx"
    affine.write_cumsum(path)
    affine.write_cumsum_operator(fused)
    operator = Peer(engines.peer(fused, feeds, "ort CumSum"), 1.1)
    yield from ask(
        place,
        _cumsum(place, affine.write_cumsum, "cumsum/scan", SUM_STEPS,
                [operator, *_sum_peers(place, feeds)]),
    )
    operator = Peer(engines.peer(fused, long_feeds, "ort CumSum"), 1.1)
    yield Question(
        name="cumsum/long_scan",
        about=f"running sum of {LONG_SUM_STEPS} elements",
        unit="step",
        units=LONG_SUM_STEPS,
        ours=engines.compiled(path, long_feeds, place.threads),
        peers=[operator, *_sum_peers(place, long_feeds)],
        reference=affine.cumsum_reference(long_feeds),
        tolerance=1e-4,
    )
    yield from ask(
        place,
        _cumsum(place, affine.write_cumsum_operator, "cumsum/operator", LONG_SUM_STEPS,
                _sum_peers(place, long_feeds)),
    )
