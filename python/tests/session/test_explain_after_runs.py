"""What explain() says of a loop after the runs that compiled it."""

import numpy as np

import scanloom
from loop_models import parse

TANH = """g (float[T,8] x, float[8] s) => (float[8] y) {
  y = Scan<num_scan_inputs = 1,
    body = b (float[8] a, float[8] r) => (float[8] n) { p = Mul(a, r) n = Tanh(p) }
  >(s, x)
}"""

# The body ends the loop, after as many steps as fit between s and 1.
UNTIL = """g (int64 n, float s) => (float y) {
  on = Constant<value = bool {1}>()
  y = Loop(n, on, s) <
    body = b (int64 i, bool c, float a) => (bool d, float m) {
      one = Constant<value = float {1.0}>()
      small = Constant<value = float {1.0e-9}>()
      m = Add(a, small)
      d = Less(m, one)
    }
  >
}"""


def strategy(session):
    (line,) = [line for line in session.explain().splitlines() if line.startswith("  strategy")]
    return line


def test_many_short_runs_count_and_then_compile_the_whole_loop():
    session = scanloom.InferenceSession(parse(TANH), threads=1)
    feeds = {"x": np.ones((2000, 8), np.float32), "s": np.ones(8, np.float32)}
    session.run(None, feeds)
    first = strategy(session)
    assert "stepped: too few steps to repay compilation; compiled after " in first
    assert "; 2000 steps taken so far" in first
    for _ in range(4):
        session.run(None, feeds)
    assert "; 10000 steps taken so far" in strategy(session)
    for _ in range(1000):
        session.run(None, feeds)
        if "compiled as a whole loop: 2 nodes" in strategy(session):
            break
    else:
        raise AssertionError(strategy(session))
    assert "so far" not in strategy(session)


def test_a_long_execution_of_an_open_loop_is_compiled_per_step_then_as_a_whole():
    session = scanloom.InferenceSession(parse(UNTIL), threads=1)
    session.run(None, {"n": np.int64(10), "s": np.float32(0)})
    first = strategy(session)
    assert "stepped: " in first and "or after an execution of 256 steps; 10 steps taken" in first
    feeds = {"n": np.int64(1_500_000), "s": np.float32(0)}
    session.run(None, feeds)
    assert "compiled per step: " in strategy(session)
    assert "; as a whole loop compiled after " in strategy(session)
    session.run(None, feeds)
    assert "compiled as a whole loop: " in strategy(session)
