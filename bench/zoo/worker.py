"""Runs one model in a process of its own. Prints one JSON line.

    python -m zoo.worker first ENGINE MODEL FEEDS RESULTS CLOCK
    python -m zoo.worker pair PEER MODEL FEEDS THREADS SECONDS CLOCK

`first` measures loading to the first result, and the growth of peak memory meanwhile; it also
writes the results. `pair` times Scanloom and a peer in alternating slices."""

import json
import pathlib
import resource
import statistics
import sys
import time

import numpy as np

from first_result import forget_peak, resident_bytes
from harness import CLOCKS

from zoo import agreement

MAX_BYTES = 12 << 30
SLICE = 0.005  # seconds
MIN_PAIRS = 5
MAX_RUNS = 10_000  # of a slice


def loader(engine):
    """A function (path, threads) that returns a session of the engine. Imports it."""
    if engine == "scanloom":
        from engines import scanloom_session

        return lambda path, threads: scanloom_session(path, threads=threads)
    if engine.startswith("onnxruntime"):
        from engines import onnxruntime_session

        optimize = engine == "onnxruntime"
        return lambda path, threads: onnxruntime_session(path, optimize, threads)
    if engine == "openvino":
        from peers.openvino_model import Session

        return Session
    if engine == "reference":
        from onnx.reference import ReferenceEvaluator

        from zoo import reference_ops

        return lambda path, threads: ReferenceEvaluator(str(path), new_ops=reference_ops.OPERATORS)
    raise ValueError(f"unknown engine {engine!r}")


def read_feeds(path):
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def first(engine, model, feeds_path, results_path, clock_name):
    load, feeds, clock = loader(engine), read_feeds(feeds_path), CLOCKS[clock_name]
    forget_peak()
    before = resident_bytes("VmRSS")
    start = clock()
    results = load(model, 1).run(None, feeds)
    seconds = clock() - start
    size = max(resident_bytes("VmHWM") - before, 1)
    arrays = agreement.flat(list(results))
    np.savez(results_path, **{str(i): array for i, array in enumerate(arrays)})
    return {"seconds": seconds, "bytes": size}


def slice_of(run, count, clock):
    """The seconds of one of `count` runs in a row."""
    start = clock()
    for _ in range(count):
        run()
    return (clock() - start) / count


def pair(peer, model, feeds_path, threads, budget, clock_name):
    clock = CLOCKS[clock_name]
    feeds = read_feeds(feeds_path)
    sessions = [loader(engine)(model, int(threads)) for engine in ("scanloom", peer)]
    runs = [lambda session=session: session.run(None, feeds) for session in sessions]
    # The second run still makes decisions (it compiles, and allocates what it keeps).
    least = [min(slice_of(run, 1, clock) for _ in range(3)) for run in runs]
    counts = [min(max(1, int(SLICE / max(seconds, 1e-9))), MAX_RUNS) for seconds in least]
    samples, end = ([], []), time.perf_counter() + float(budget)
    while len(samples[0]) < MIN_PAIRS or time.perf_counter() < end:
        order = (0, 1) if len(samples[0]) % 2 == 0 else (1, 0)
        for which in order:
            samples[which].append(slice_of(runs[which], counts[which], clock))
    ratios = [ours / theirs for ours, theirs in zip(*samples)]
    return {"ours": min(samples[0]), "peer": min(samples[1]), "pairs": len(ratios),
            "ratio": statistics.median(ratios)}


def main(arguments):
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    what, *arguments = arguments
    measured = {"first": first, "pair": pair}[what](*arguments)
    print("\n" + json.dumps(measured))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
