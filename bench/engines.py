"""Scanloom and onnxruntime behind one interface, with one thread each by default."""

import functools
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnxruntime

import scanloom

from harness import Engine

FIRST_EXPRESSION = pathlib.Path(__file__).with_name("first_expression.py")
FIRST_RESULT = pathlib.Path(__file__).resolve().parent / "first_result.py"


def scanloom_session(path, execution="automatic", threads=1):
    return scanloom.InferenceSession(str(path), threads=threads, execution=execution)


def onnxruntime_session(path, optimize=True, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Its threads busy-wait during a run, but must not do so during later samples of other engines.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if not optimize:
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


def ours(path, feeds, execution="automatic"):
    """Scanloom over one model; execution is "automatic" (compiled if possible) or "stepped"."""
    session = scanloom_session(path, execution)
    return Engine("scanloom", lambda: session.run(None, feeds))


def strategies(session):
    """The strategy of each loop in `session.explain()` after a run, without the number of steps."""
    return re.findall(r"^  strategy +(.*) \([^()]*\)$", session.explain(), re.M)


def in_words(found):
    """One word for the strategies of a model's loops: compiled, compiled_steps (code for one step,
    called once per step), stepped or mixed; none if no loop is left."""
    words = {
        "stepped" if text.startswith("stepped")
        else "compiled_steps" if text.startswith(("compiled per step", "compiled step by step"))
        else "compiled"
        for text in found
    }
    if not words:
        return ""
    return words.pop() if len(words) == 1 else "mixed"


def executions(path, feeds, threads=1):
    """{word: engine}: with all the machine code that Scanloom has for the model, and without any.

    Execution "automatic" compiles at the first step or after many, so it might change while it is
    timed."""
    ways = {}
    for execution in ("compiled", "stepped"):
        session = scanloom_session(path, execution, threads)
        at_first = scanloom_session(path, threads=threads)
        session.run(None, feeds)
        at_first.run(None, feeds)
        found, chosen = "; ".join(strategies(session)), "; ".join(strategies(at_first))
        words = in_words(strategies(session))
        if execution == "compiled" and found != chosen:
            found += f"; automatic starts {chosen}"
        run = functools.partial(session.run, None, feeds)
        ways.setdefault(words, Engine("scanloom", run, found, execution=execution))
        if not words:
            break
    return ways


def compiled(path, feeds, threads):
    """Scanloom with all the machine code that it has for the model."""
    session = scanloom_session(path, "compiled", threads)
    session.run(None, feeds)
    run = functools.partial(session.run, None, feeds)
    return Engine("scanloom", run, "; ".join(strategies(session)))


def fast(path, feeds, threads):
    """Scanloom with numerics="fast"."""
    session = scanloom.InferenceSession(
        str(path), threads=threads, execution="compiled", numerics="fast"
    )
    session.run(None, feeds)
    run = functools.partial(session.run, None, feeds)
    return Engine("scanloom fast", run, "; ".join(strategies(session)))


def peer(path, feeds, name="onnxruntime", threads=1):
    session = onnxruntime_session(path, threads=threads)
    return Engine(name, lambda: session.run(None, feeds))


def unoptimised_results(path, feeds):
    """The reference for models without a formula: onnxruntime without its rewrites."""
    return [np.asarray(x) for x in onnxruntime_session(path, optimize=False).run(None, feeds)]


def fresh_import(name):
    """The time to import the package in a new process that has already imported numpy."""
    program = (
        "import time, numpy; start = time.perf_counter(); "
        f"import {name}; print(time.perf_counter() - start)"
    )

    def run():
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        return float(done.stdout.splitlines()[-1]), []

    return Engine(name, run, timed=True)


def fresh_process(name, path, feeds_path, clock, memory=False):
    """From loading a model to its first result, in a new process (first_result.py): the seconds, or
    the growth of its peak memory in bytes."""
    command = [sys.executable, str(FIRST_RESULT), name, str(path), str(feeds_path), clock]
    if memory:
        command.append("memory")

    def run():
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured, results = json.loads(done.stdout.splitlines()[-1])
        return measured, [np.array(x) for x in results]

    return Engine(name, run, timed=True)


def fresh_expression(name, program, clock):
    """Builds and runs a program of workloads/expressions.py in a new process."""

    def run():
        command = [sys.executable, str(FIRST_EXPRESSION), name, program, clock]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured, results = json.loads(done.stdout.splitlines()[-1])
        return measured, [np.array(x) for x in results]

    return Engine(name, run, timed=True)
