"""W3: hundreds of nested branches and loops cost only what they execute.

A body of 300 nested branches (or loops) that takes the short region of the first one is compared
with a body of a single branch (loop). All 300 levels executed are compared with 30, per level."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question

NAMES = ("nesting",)

STEPS, DEEP, SHALLOW = 2000, 300, 30
SKIPPED_TARGET, EXECUTED_TARGET = 1.25, 1.5


def _question(place, kind, name, about, deep, shallow, going, target):
    """Times are per executed level; skipped levels do not count."""
    paths = [place.build / f"nested_{kind}_{count}.onnx" for count in (deep, shallow)]
    for path, count in zip(paths, (deep, shallow)):
        models.nested(path, kind, count)
    levels = deep if going else 1
    steps = [STEPS * shallow // levels if going else STEPS, STEPS]
    runs = []
    for path, count in zip(paths, steps):
        feeds = {"x0": np.ones(2, np.float32), "going": np.array(going), "steps": np.int64(count)}
        runs.append(engines.ours(path, feeds, "stepped").run)
    reference = [runs[0]()[0]]
    expected = (1 + steps[0] * (levels if going else 0) * models.NESTED_STEP) * np.ones(2, np.float32)
    return Question(
        name=f"nesting/{kind}_{name}",
        about=about,
        unit="level" if going else "step",
        units=STEPS * (shallow if going else 1),
        ours=Engine("scanloom", lambda: [runs[0]()[0]]),
        peers=[Peer(Engine(f"{shallow} levels", lambda: (runs[1](), reference)[1]), target)],
        reference=[expected],
        tolerance=1e-5,
    )


def questions(place, clock):
    for kind in ("branches", "loops"):
        yield _question(place, kind, "skipped", f"{DEEP} nested {kind}, the first is not taken",
                        DEEP, 1, False, SKIPPED_TARGET)
        yield _question(place, kind, "executed", f"{DEEP} nested {kind}, all executed",
                        DEEP, SHALLOW, True, EXECUTED_TARGET)
