"""The memory of a run without a budget: most of the memory that the system has left."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import new_process
import scanloom
from loop_models import parse

EXECUTIONS = ("automatic", "stepped", "compiled", "interpreted")

DOUBLING = parse(
    """g (int64 n, float[N] x) => (float[M] y) {
      on = Constant <value = bool {1}>()
      y = Loop(n, on, x) <body = b (int64 i, bool c, float[K] s) => (bool d, float[L] t) {
        d = Identity(c)
        t = Concat <axis = 0>(s, s)
      }>
    }"""
)
LISTED = parse(
    """g (int64 n, float[N] x) => (seq(float[M]) y) {
      on = Constant <value = bool {1}>()
      none = SequenceEmpty()
      y = Loop(n, on, none) <body = b (int64 i, bool c, seq(float[K]) s) => (bool d, seq(float[L]) t) {
        d = Identity(c)
        f = Cast <to = 1>(i)
        e = Add(x, f)
        t = SequenceInsert(s, e)
      }>
    }"""
)

# Runs a model in a process of its own, which may take 2 GiB of addresses beyond what it has.
LIMITED = textwrap.dedent(
    """
    import resource, sys
    import numpy as np
    import scanloom
    execution, steps, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    session = scanloom.InferenceSession(sys.stdin.buffer.read(), threads=1, execution=execution)
    feeds = {"n": np.int64(steps), "x": np.ones(size, np.float32)}
    session.run(None, {"n": np.int64(3), "x": np.ones(1, np.float32)})
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (2 << 30), resource.RLIM_INFINITY))
    try:
        session.run(None, feeds)
        print("no error")
    except scanloom.LimitReached as error:
        print(error)
    print(session.run(None, {"n": np.int64(3), "x": np.ones(1, np.float32)})[0])
    """
)


def limited(model: bytes, execution: str, steps: int, size: int) -> str:
    return new_process.run(LIMITED, execution, str(steps), str(size), fed=model).decode()


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_state_that_doubles_ends_in_an_error_that_names_the_node(execution: str) -> None:
    said = limited(DOUBLING, execution, 60, 1)
    assert "memory budget" in said and "max_memory" in said
    assert "Concat" in said or "'t'" in said
    assert said.rstrip().endswith("[1. 1. 1. 1. 1. 1. 1. 1.]")


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_list_that_grows_does_too(execution: str) -> None:
    said = limited(LISTED, execution, 1 << 20, 1 << 20)
    assert "memory budget" in said and "max_memory" in said


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_what_is_left_may_be_taken(execution: str) -> None:
    session = scanloom.InferenceSession(DOUBLING, threads=1, execution=execution)
    (y,) = session.run(None, {"n": np.int64(25), "x": np.ones(1, np.float32)})  # 128 MiB
    assert y.shape == (1 << 25,)
    listed = scanloom.InferenceSession(LISTED, threads=1, execution=execution)
    (items,) = listed.run(None, {"n": np.int64(30), "x": np.ones(1 << 20, np.float32)})  # 120 MiB
    assert [item[0] for item in items] == [1.0 + i for i in range(30)]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_given_budget_overrides(execution: str) -> None:
    session = scanloom.InferenceSession(DOUBLING, threads=1, execution=execution)
    feeds = {"n": np.int64(20), "x": np.ones(1, np.float32)}
    with pytest.raises(scanloom.LimitReached, match="memory budget"):
        session.run(None, feeds, scanloom.RunOptions(max_memory=1 << 20))
    assert session.run(None, feeds)[0].shape == (1 << 20,)




STRINGS = parse(
    """g (int64 n, string[N] x) => (string[M] y) {
      on = Constant <value = bool {1}>()
      y = Loop(n, on, x) <body = b (int64 i, bool c, string[K] s) => (bool d, string[L] t) {
        d = Identity(c)
        t = Concat <axis = 0>(s, s)
      }>
    }"""
)
GROWTH = textwrap.dedent(
    """
    import sys
    import numpy as np
    import scanloom
    def peak():
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    session = scanloom.InferenceSession(sys.stdin.buffer.read(), threads=1, execution=sys.argv[1])
    text = np.array(["abc" * int(sys.argv[2])] * 8, object)
    session.run(None, {"n": np.int64(3), "x": text})
    before = peak()
    try:
        session.run(None, {"n": np.int64(60), "x": text}, scanloom.RunOptions(max_memory=100_000_000))
    except scanloom.LimitReached:
        print(peak() - before)
    """
)


@pytest.mark.parametrize("letters", [1, 20, 400])
@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_strings_that_double_stay_within_the_budget(execution: str, letters: int) -> None:
    """The peak of the process, because what counts is what was taken before the run was ended."""
    assert int(new_process.run(GROWTH, execution, str(letters), fed=STRINGS)) <= 105_000_000
