"""W12: a quantised LSTM as one Scan of 69 nodes, from the shared folder."""

import numpy as np

import engines
from harness import Peer, Question, Skip

NAMES = ("qlstm",)

STEPS = 1_000


def questions(place, clock):
    path = place.shared / "qlstm" / "model.onnx"
    if not path.exists():
        raise Skip("../shared/models/qlstm is not there")
    sample = dict(np.load(path.with_name("io.npz")))
    yield Question(
        name="qlstm/sample",
        about="the model's own three steps, with everything around the loop",
        unit="run",
        units=1,
        ours=engines.ours(path, {"input": sample["input"]}),
        peers=[Peer(engines.peer(path, {"input": sample["input"]}))],
        reference=[sample["output"]],
        reference_name="io.npz",
    )
    rows = np.random.default_rng(5).uniform(-1, 1, (STEPS, 3)).astype(np.float32)
    feeds = {"input": rows}
    yield Question(
        name="qlstm",
        about="quantised LSTM: a Scan of 69 nodes on 3 elements",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds),
        peers=[Peer(engines.peer(path, feeds), target=0.2)],
        reference=engines.unoptimised_results(path, feeds),
        reference_name="onnxruntime without rewrites",
        tolerance=0.02,  # one quantisation step, because ties may be rounded differently
    )
