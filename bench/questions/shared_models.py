"""W12 and its like: real models with Scan in them, from the folder beside the project.

Nothing here is copied into the project; without that folder the questions are skipped."""

import numpy as np

import engines
from harness import Peer, Question, Skip

KNN_ROWS, KNN_WIDTH = 300, 10
CNTK_STEPS = 300


def _question(name, about, path, feeds, steps, tolerance, reference=None):
    found = reference is not None
    return Question(
        name=name,
        about=about,
        unit="step",
        units=steps,
        ours=engines.ours(path, feeds),
        peers=[Peer(engines.peer(path, feeds))],
        reference=reference if found else engines.unoptimised_results(path, feeds),
        tolerance=tolerance,
        reference_name="io.npz" if found else "onnxruntime without rewrites",
    )
