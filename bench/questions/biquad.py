"""W2: a second-order filter over audio samples, compiled, beside a plain C loop."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question
from peers import SCANS, optional

NAMES = ("biquad",)

STEPS = 100_000


def _reference(xs):
    b0, b1, b2, a1, a2 = models.BIQUAD.astype(np.float64).tolist()
    x1 = x2 = y1 = y2 = 0.0
    rows = []
    for x in xs[:, 0].tolist():
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x1, x2, y1, y2 = x, x1, y, y1
        rows.append(y)
    return [np.array(rows)]


def questions(place, clock):
    xs = np.random.default_rng(4).standard_normal((STEPS, 1)).astype(np.float32)
    feeds = {f"{name}_0": np.zeros(1, np.float32) for name in ("x1", "x2", "y1", "y2")}
    feeds["xs"] = xs
    history, rows = np.zeros(4, np.float32), np.empty(STEPS, np.float32)
    plain = Engine("C loop", lambda: place.baseline.biquad(models.BIQUAD, history, xs, rows))
    yield Question(
        name="biquad/compiled",
        about="second-order filter, four states of one element; compiled",
        unit="step",
        units=STEPS,
        ours=engines.ours(place.models["biquad"], feeds),
        peers=[
            Peer(plain, target=1.2),
            Peer(engines.peer(place.models["biquad"], feeds), 1.1),
            *optional("openvino", "model", place.models["biquad"], feeds, target=1.1),
            *optional("jax", "biquad", models.BIQUAD, xs, target=1.1),
            *optional("numba", "biquad", models.BIQUAD, xs, target=1.1),
            *optional("pytensor", "biquad", models.BIQUAD, xs, module=SCANS, target=1.1),
            *optional("scipy", "biquad", models.BIQUAD, xs, target=1.1),
        ],
        reference=_reference(xs),
        tolerance=1e-4,
    )
