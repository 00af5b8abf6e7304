"""W1: an exponential moving average of one element, stepped and compiled."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question

NAMES = ("ema",)

SHORT, LONG = 20_000, 400_000
TOLERANCE = 1e-5


def _reference(xs):
    mean, keep, take = 0.0, float(np.float32(models.EMA_KEEP)), float(np.float32(models.EMA_TAKE))
    rows = []
    for x in xs[:, 0].tolist():
        mean = mean * keep + x * take
        rows.append(mean)
    return [np.array([mean]), np.array(rows)]


def _feeds(steps):
    xs = np.random.default_rng(2).standard_normal((steps, 1)).astype(np.float32)
    return {"h0": np.zeros(1, np.float32), "xs": xs}


def questions(place, clock):
    path = place.models["ema"]
    feeds = _feeds(SHORT)
    yield Question(
        name="ema/stepped",
        about="h = 0.9 h + 0.1 x on one element; stepped, no machine code",
        unit="step",
        units=SHORT,
        ours=engines.ours(path, feeds, "stepped"),
        peers=[Peer(engines.peer(path, feeds), target=1 / 3)],
        reference=_reference(feeds["xs"]),
        tolerance=TOLERANCE,
    )
    feeds = _feeds(LONG)
    rows = np.empty(LONG, np.float32)
    plain = Engine(
        "C loop",
        lambda: place.baseline.ema(0.0, models.EMA_KEEP, models.EMA_TAKE, feeds["xs"], rows),
    )
    yield Question(
        name="ema/compiled",
        about="the same as one machine-code function, compared with a plain C loop",
        unit="step",
        units=LONG,
        ours=engines.ours(path, feeds),
        peers=[Peer(plain, target=1.2)],
        reference=_reference(feeds["xs"]),
        tolerance=TOLERANCE,
    )
