"""A two-layer bidirectional LSTM as four Scans of opset 9, from the shared folder."""

import numpy as np

import engines
from harness import Peer, Question, Skip

NAMES = ("cntk_bilstm",)

STEPS = 300
LOOPS = 4


def questions(place, clock):
    path = place.shared / "cntk_bilstm_scan.onnx"
    if not path.exists():
        raise Skip("../shared/models/cntk_bilstm_scan.onnx is not there")
    rows = np.random.default_rng(6).standard_normal((STEPS, 1, 3)).astype(np.float32)
    feeds = {"Input13165": rows}
    yield Question(
        name="cntk_bilstm",
        about="four Scans of 14 nodes on 2 to 8 elements; a step is one step of one of them",
        unit="step",
        units=STEPS * LOOPS,
        ours=engines.ours(path, feeds),
        peers=[Peer(engines.peer(path, feeds))],
        reference=engines.unoptimised_results(path, feeds),
        reference_name="onnxruntime without rewrites",
        tolerance=1e-4,
    )
