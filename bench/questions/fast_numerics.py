"""Linear recurrences with numerics="fast", compared with C loops: with gcc's own contraction of
`a * b + c` ("C loop") and with -ffast-math ("C fast"); and with the exact Scanloom. In the L1 and L2
caches, and with more data than these hold."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question
from peers import optional
from questions import biquad, ema
from workloads import affine

NAMES = ("fast",)

SIZES = {"": 60_000, "_long": 4_000_000}


def _plain(place, name, arguments, results):
    engine = place.baseline.engine
    return [Peer(engine(name, arguments, results, fast=fast), 1.0) for fast in (False, True)]


def _exact(path, feeds, threads):
    exact = engines.compiled(path, feeds, threads)
    return Peer(Engine("scanloom exact", exact.run, exact.strategy))


def _question(place, name, about, path, feeds, steps, peers, reference, tolerance):
    return Question(
        name=name,
        about=f"{about}, {steps} steps, numerics fast",
        unit="step",
        units=steps,
        ours=engines.fast(path, feeds, place.threads),
        peers=[*peers, _exact(path, feeds, place.threads)],
        reference=reference,
        tolerance=tolerance,
    )


def _affine(place, suffix, steps):
    feeds, path = affine.feeds(steps, 1), place.build / "fast_affine.onnx"
    affine.write(path, 1)
    rows = np.empty_like(feeds["a"])
    arguments = [steps, float(feeds["start"][0]), feeds["a"], feeds["b"], rows]
    peers = [*_plain(place, "affine", arguments, [rows]), *optional("numba", "affine", feeds)]
    reference = affine.reference_of_many_steps(feeds)
    return _question(place, f"fast/affine{suffix}", "h = a[t] h + b[t] on one element", path, feeds,
                     steps, peers, reference, 1e-5)


def _mean(place, suffix, steps):
    feeds, path = ema._feeds(steps), place.models["ema"]
    rows = np.empty(steps, np.float32)
    arguments = [steps, models.EMA_KEEP, models.EMA_TAKE, feeds["xs"], rows]
    return _question(place, f"fast/ema{suffix}", "h = 0.9 h + 0.1 x on one element", path, feeds,
                     steps, _plain(place, "ema_rows", arguments, [rows[-1:], rows]), ema._reference(feeds["xs"]),
                     1e-5)


def _sum(place, suffix, steps):
    feeds, path = affine.cumsum_feeds(steps), place.build / "fast_cumsum.onnx"
    affine.write_cumsum_operator(path)
    rows = np.empty_like(feeds["xs"])
    peers = [
        *_plain(place, "cumsum", [steps, 0.0, feeds["xs"], rows], [rows]),
        Peer(Engine("numpy", lambda: [np.cumsum(feeds["xs"])])),
    ]
    return _question(place, f"fast/cumsum{suffix}", "running sum", path, feeds, steps, peers,
                     affine.cumsum_reference(feeds), 1e-3)


def _filter(place, suffix, steps):
    xs = np.random.default_rng(4).standard_normal((steps, 1)).astype(np.float32)
    feeds = {f"{state}_0": np.zeros(1, np.float32) for state in ("x1", "x2", "y1", "y2")}
    feeds["xs"] = xs
    rows = np.empty(steps, np.float32)
    arguments = [steps, models.BIQUAD, np.zeros(4, np.float32), xs, rows]
    peers = [
        *_plain(place, "biquad", arguments, [rows]),
        *optional("numba", "biquad", models.BIQUAD, xs),
        *optional("scipy", "biquad", models.BIQUAD, xs),
    ]
    return _question(place, f"fast/biquad{suffix}", "second-order filter of four states",
                     place.models["biquad"], feeds, steps, peers, biquad._reference(xs), 1e-4)


def questions(place, clock):
    for suffix, steps in SIZES.items():
        for name, ask in (("affine", _affine), ("ema", _mean), ("cumsum", _sum), ("biquad", _filter)):
            if place.wants(f"fast/{name}{suffix}"):
                yield ask(place, suffix, steps)
