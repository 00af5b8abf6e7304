"""W4: loading a model of 5,000 nodes takes no longer than in onnxruntime."""

import numpy as np

import engines
import models
from harness import Engine, Peer, Question

NAMES = ("load_nodes",)

NODES = 5000
TARGET = 1.0


def questions(place, clock):
    for kind in models.LARGE:
        path = place.build / f"large_{kind}.onnx"
        models.large(path, kind, NODES)
        feeds = {"x": np.random.default_rng(5).standard_normal((4, 16)).astype(np.float32)}
        yield Question(
            name=f"load_nodes/{kind}",
            sizes={"nodes": NODES},
            about=f"a session of {NODES} nodes ({kind}) and its first result",
            unit="load",
            units=1,
            ours=Engine("scanloom", lambda path=path: engines.scanloom_session(path).run(None, feeds)),
            peers=[
                Peer(
                    Engine("onnxruntime",
                           lambda path=path: engines.onnxruntime_session(path).run(None, feeds)),
                    TARGET,
                )
            ],
            reference=engines.unoptimised_results(path, feeds),
            reference_name="onnxruntime without rewrites",
            tolerance=1e-4,
        )
