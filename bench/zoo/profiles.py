"""Where Scanloom and onnxruntime spend the time of a model, by kind of node."""

import collections
import json
import pathlib
import re
import tempfile

import numpy as np
import onnxruntime

import scanloom

RUNS = 20

_KIND = re.compile(r"\(([\w.]+)-\d+\)")


def _scanloom_kind(event):
    """The operator of ONNX and the kernel that ran it. The body of a loop is part of the loop."""
    arguments = event["args"]
    if arguments.get("depth", 0):
        return None
    found = _KIND.search(arguments["op_name"])
    return f"{found[1] if found else arguments['op_name']} by {arguments.get('kernel', '')}"


def _onnxruntime_kind(event):
    return event["args"].get("op_name") if event["name"].endswith("_kernel_time") else None


def _microseconds(module, kind, path, feeds, folder):
    """{kind of node: microseconds per run}, the largest first, without the first run."""
    options = module.SessionOptions()
    options.enable_profiling = True
    options.intra_op_num_threads = 1
    options.profile_file_prefix = str(folder / module.__name__)
    session = module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(RUNS):
        session.run(None, feeds)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text(encoding="utf-8"))
    if isinstance(events, dict):
        events = events["traceEvents"]
    nodes = [event for event in events if event.get("cat") == "Node" and kind(event)]
    start = sorted(event["ts"] for event in events if event.get("name") == "model_run")[1]
    total = collections.Counter()
    for event in nodes:
        if event["ts"] >= start:
            total[kind(event)] += event["dur"] / (RUNS - 1)
    return dict(total.most_common())


def compare(path, feeds_path, count=6):
    """Lines of text: the kinds of nodes that take most of the time in each engine."""
    with np.load(feeds_path, allow_pickle=False) as stored:
        feeds = {name: stored[name] for name in stored.files}
    lines = []
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        for module, kind in ((scanloom, _scanloom_kind), (onnxruntime, _onnxruntime_kind)):
            found = _microseconds(module, kind, path, feeds, pathlib.Path(folder))
            top = ", ".join(f"{name} {time:.0f}" for name, time in list(found.items())[:count])
            lines.append(f"{module.__name__}: {sum(found.values()):.0f} us per run: {top}")
    return lines
