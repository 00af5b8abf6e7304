"""Random nestings of Scan, Loop and If: interpreted, stepped and compiled agree bit for bit with each
other and with numpy; and onnxruntime's results where it is right."""

import random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numpy_programs
import peer_results
import programs_as_onnx
import scanloom
from random_loops import ProgramMaker
from random_programs import Source

EXECUTIONS = ("interpreted", "stepped", "automatic")
LENGTH = 400  # bytes; programs take 100 to 400
MORE_PROGRAMS = 600
PEER_PROGRAMS, PEER_NEEDED = 360, 200


def bits(array):
    """The properties that must agree: element type, shape and bits, with all NaNs taken as
    equal."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "biu":
        return array.dtype, array.shape, array.tobytes()
    nan = np.isnan(array)
    return array.dtype, array.shape, np.where(nan, array.dtype.type(0), array).tobytes(), nan.tobytes()


def nested(graph):
    own = [node for node in graph.nodes if node.bodies]
    return len(own) + sum(nested(body) for node in own for body in node.bodies.values())


def run(program, model, execution):
    session = scanloom.InferenceSession(model, execution=execution)
    return session.run(None, program.feeds, scanloom.RunOptions(deadline=60))


def check(program, model):
    """Returns what numpy gives."""
    right = numpy_programs.evaluate(program)
    for execution in EXECUTIONS:
        results = run(program, model, execution)
        assert len(results) == len(right)
        for index, (found, wanted) in enumerate(zip(results, right)):
            assert bits(found) == bits(wanted), (execution, index, found, wanted, program)
    return right


@settings(
    max_examples=600,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.binary(min_size=LENGTH // 2, max_size=2 * LENGTH))
def test_all_ways_agree_with_numpy(taken):
    program = ProgramMaker(Source(taken)).program()
    check(program, programs_as_onnx.write(program))


def more_programs():
    """Bytes of equal weight make larger programs than hypothesis does."""
    source = random.Random(4)
    for _ in range(MORE_PROGRAMS):
        yield ProgramMaker(Source(source.randbytes(LENGTH))).program()


def test_more_programs_agree_with_numpy():
    for program in more_programs():
        check(program, programs_as_onnx.write(program))


def is_right(results, right):
    """Whether they equal numpy's; the sign of a zero is left open, as onnxruntime does."""
    return all(
        a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
        for a, b in zip(results, right)
    )


def test_programs_agree_with_onnxruntime(report, tmp_path):
    source = random.Random(5)
    programs = [
        ProgramMaker(Source(source.randbytes(LENGTH)), for_peer=True).program()
        for _ in range(PEER_PROGRAMS)
    ]
    models = [programs_as_onnx.write(program) for program in programs]
    pairs = [(model, program.feeds) for model, program in zip(models, programs)]
    counts = dict.fromkeys(("agrees on", "refuses", "dies of", "differs from numpy on"), 0)
    for program, model, theirs in zip(programs, models, peer_results.peer_results(pairs, tmp_path)):
        right = check(program, model)
        if theirs is None:
            counts["refuses"] += 1
        elif isinstance(theirs, str):  # peer_results.DIED
            counts["dies of"] += 1
        elif is_right(theirs, right):
            counts["agrees on"] += 1
        else:
            counts["differs from numpy on"] += 1
    told = ", ".join(f"{words} {count}" for words, count in counts.items())
    report(f"random programs compared with numpy and Scanloom: onnxruntime, of {PEER_PROGRAMS}, {told}")
    assert counts["agrees on"] >= PEER_NEEDED


def test_programs_are_nested(report):
    loops = sum(nested(program.graph) for program in more_programs())
    report(f"random programs: {MORE_PROGRAMS} with {loops} loops and branches are compared with "
           "numpy, three ways")
    assert loops > MORE_PROGRAMS
