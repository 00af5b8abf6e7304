"""W2: a second-order filter over audio samples, compiled, compared with a plain C loop: a few
samples, and ten seconds of audio, for which interpreting engines would take seconds."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question
from peers import SCANS, optional

NAMES = ("biquad",)

STEPS, LONG_STEPS = 100_000, 480_000


def _reference(xs):
    b0, b1, b2, a1, a2 = models.BIQUAD.astype(np.float64).tolist()
    x1 = x2 = y1 = y2 = 0.0
    rows = []
    for x in xs[:, 0].tolist():
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x1, x2, y1, y2 = x, x1, y, y1
        rows.append(y)
    return [np.array(rows)]


def _ask(place, name, steps):
    xs = np.random.default_rng(4).standard_normal((steps, 1)).astype(np.float32)
    feeds = {f"{state}_0": np.zeros(1, np.float32) for state in ("x1", "x2", "y1", "y2")}
    feeds["xs"] = xs
    history, rows = np.zeros(4, np.float32), np.empty(steps, np.float32)
    plain = Engine("C loop", lambda: place.baseline.biquad(models.BIQUAD, history, xs, rows))
    path, interpreters = place.models["biquad"], []
    if steps == STEPS:
        interpreters = [
            Peer(engines.peer(path, feeds), 1.1),
            *optional("openvino", "model", path, feeds, target=1.1),
        ]
    return Question(
        name=name,
        about=f"second-order filter, four states of one element, {steps} samples; compiled",
        unit="step",
        units=steps,
        ours=engines.ours(path, feeds),
        peers=[
            Peer(plain, target=1.2),
            *interpreters,
            *optional("jax", "biquad", models.BIQUAD, xs, target=1.1),
            *optional("numba", "biquad", models.BIQUAD, xs, target=1.1),
            *optional("pytensor", "biquad", models.BIQUAD, xs, module=SCANS, target=1.1),
            *optional("scipy", "biquad", models.BIQUAD, xs, target=1.1),
        ],
        reference=_reference(xs),
        tolerance=1e-4,
    )


def questions(place, clock):
    for name, steps in (("biquad/compiled", STEPS), ("biquad_long", LONG_STEPS)):
        if place.wants(name):
            yield _ask(place, name, steps)
