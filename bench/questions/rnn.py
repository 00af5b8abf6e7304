"""A recurrent cell for one row of 64: a product, a sum and tanh per step, stepped."""

import numpy as np

import engines
import models
from harness import Peer, Question

NAMES = ("rnn_1x64",)

STEPS = 2_000


def _reference(xs):
    weights = models.rnn_weights().astype(np.float64)
    state, rows = np.zeros((1, models.RNN_WIDTH)), []
    for x in xs.astype(np.float64):
        state = np.tanh(state @ weights + x)
        rows.append(state)
    return [state, np.stack(rows)]


def questions(place, clock):
    path = place.models["rnn"]
    xs = np.random.default_rng(3).standard_normal((STEPS, 1, models.RNN_WIDTH)).astype(np.float32)
    feeds = {"h0": np.zeros((1, models.RNN_WIDTH), np.float32), "xs": xs}
    yield Question(
        name="rnn_1x64/stepped",
        sizes={"b": 1, "h": models.RNN_WIDTH},
        about="h = tanh(h W + x), one row of 64; stepped, no machine code",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds, "stepped"),
        peers=[Peer(engines.peer(path, feeds), target=1 / 3)],
        reference=_reference(xs),
        tolerance=1e-4,
    )
