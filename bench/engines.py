"""Scanloom and onnxruntime behind one interface, each with one thread."""

import numpy as np
import onnxruntime

import scanloom

from harness import Engine


def scanloom_session(path, execution="automatic"):
    return scanloom.InferenceSession(str(path), threads=1, execution=execution)


def onnxruntime_session(path, optimize=True):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not optimize:
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


def ours(path, feeds, execution="automatic"):
    """Scanloom over one model: execution is automatic (compiled where possible) or stepped."""
    session = scanloom_session(path, execution)
    return Engine("scanloom", lambda: session.run(None, feeds))


def peer(path, feeds):
    session = onnxruntime_session(path)
    return Engine("onnxruntime", lambda: session.run(None, feeds))


def unoptimised_results(path, feeds):
    """The reference for models without a formula: onnxruntime with its rewrites off."""
    return [np.asarray(x) for x in onnxruntime_session(path, optimize=False).run(None, feeds)]
