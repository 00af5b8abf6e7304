"""Cold start: from loading a model to its first result in a fresh process, after the import, with
bodies of 10, 50 and 200 operators. Scanloom compiles them, the library of the compiler included."""

import numpy as np

import engines
from harness import Peer, Question
from workloads import wide_body

SIZES = (10, 50, 200)


def questions(place, clock):
    feeds = wide_body.feeds()
    feeds_path = place.build / "cold_feeds.npz"
    np.savez(feeds_path, **feeds)
    for operators in SIZES:
        path = place.build / f"cold_{operators}.onnx"
        wide_body.write(path, operators)
        yield Question(
            name=f"cold_start/{operators}",
            about=f"session and first {wide_body.STEPS} steps of {operators} operators on "
                  f"{wide_body.WIDTH} floats, in a fresh process",
            unit="load",
            units=1,
            ours=engines.fresh_process("scanloom", path, feeds_path, clock),
            peers=[Peer(engines.fresh_process("onnxruntime", path, feeds_path, clock))],
            reference=engines.unoptimised_results(path, feeds),
            reference_name="onnxruntime without rewrites",
            tolerance=1e-4,
        )
