"""RunOptions.max_memory: what a run may take, whatever runs before it took."""

import numpy as np
import pytest

import scanloom
from loop_models import parse


def test_the_memory_budget_names_the_bytes():
    model = parse(
        """g (int64[1] n) => (float[N] y) {
          y = ConstantOfShape(n)
        }"""
    )
    session = scanloom.InferenceSession(model)
    with pytest.raises((scanloom.LimitReached, scanloom.OutOfMemory), match="4000000"):
        session.run(None, {"n": [1_000_000]}, scanloom.RunOptions(max_memory=1_000_000))
    assert session.run(None, {"n": [5]})[0].shape == (5,)


def test_what_a_large_run_leaves_fails_no_small_one():
    model = parse("g (int64[1] n) => (float[N] y) { y = ConstantOfShape(n) }")
    session = scanloom.InferenceSession(model)
    assert session.run(None, {"n": [1_000_000]})[0].shape == (1_000_000,)
    small = scanloom.RunOptions(max_memory=100_000)
    assert session.run(None, {"n": [5]}, small)[0].shape == (5,)
    assert session.run(None, {"n": [1_000_000]})[0].shape == (1_000_000,)


PICKED = """g (float[N,64] x, int64[1] n) => (float[M] most) <int64[1] zero = {0}, int64[1] one = {1}> {
  some = Slice(x, zero, n, zero)
  turned = Transpose(some)
  products = MatMul(some, turned)
  most = ReduceMax<keepdims = 0>(products, one)
}"""

# The result is that of a branch, and shared with it.
BRANCH = """g (float[N,64] x, int64[1] n) => (float[M] y) <int64[1] zero = {0}> {
  some = Slice(x, zero, n, zero)
  one = Constant<value_ints = [1]>()
  flat = ReduceMax<keepdims = 0>(some, one)
  few = Size(flat)
  most = Constant<value = int64 {100}>()
  is_small = Less(few, most)
  y = If (is_small) <
    then_branch = t () => (float[P] u) { u = Neg(flat) },
    else_branch = e () => (float[Q] v) { v = Exp(flat) }
  >
}"""

# Both states begin with one value.
SHARED = """g (float[N,64] x, int64[1] n) => (float[A] y, float[B] z) <int64[1] zero = {0}, int64 trips = {3}> {
  some = Slice(x, zero, n, zero)
  one = Constant<value_ints = [1]>()
  a = ReduceMax<keepdims = 0>(some, one)
  on = Constant<value = bool {1}>()
  p, q = Loop (trips, on, a, a) <
    body = b (int64 i, bool c, float[R] s, float[R2] u) => (bool d, float[S] next_s, float[S2] next_u) {
      d = Identity(c)
      next_s = Identity(u)
      next_u = Concat<axis = 0>(s, a)
    }
  >
  y = Neg(p)
  z = Concat<axis = 0>(q, a)
}"""

# How many rows there are is known when they end.
UNTIL = """g (float[N,64] x, int64[1] n) => (float[A,B] rows) {
  zero = Constant<value_ints = [0]>()
  one = Constant<value_ints = [1]>()
  row = Slice(x, zero, one, zero)
  last = Squeeze(n)
  on = Constant<value = bool {1}>()
  state, rows = Loop (, on, row) <
    body = b (int64 i, bool c, float[C,D] s) => (bool d, float[C,D] next, float[E] kept) {
      d = Less(i, last)
      next = Identity(s)
      every = ReduceMax<keepdims = 0>(s, zero)
      kept = Neg(every)
    }
  >
}"""


@pytest.mark.parametrize("text", [PICKED, BRANCH, SHARED, UNTIL])
def test_what_earlier_runs_leave_decides_nothing_within_a_budget(text):
    model = parse(text)
    x = np.random.default_rng(6).standard_normal((300, 64)).astype(np.float32)

    def session(**options):
        return scanloom.InferenceSession(model, **options)

    def outcome(session, rows, budget):
        options = None if budget is None else scanloom.RunOptions(max_memory=budget)
        try:
            results = session.run(None, {"x": x, "n": [rows]}, options)
            return b"".join(result.tobytes() for result in results)
        except scanloom.LimitReached:
            return None

    sizes = (50, 200, 50, 120, 300, 50, 120, 300, 200, 50)
    interpreted = session(execution="interpreted")
    wanted = {rows: outcome(interpreted, rows, None) for rows in sizes}
    failed = 0
    for budget in np.geomspace(300, 620_000, 40).astype(int).tolist():
        used = session()
        for rows in sizes:
            alone = outcome(session(), rows, budget)
            assert alone in (None, wanted[rows])
            assert outcome(used, rows, budget) == alone, (budget, rows)
            failed += alone is None
        # What a run without a budget leaves does not count either.
        for rows in (300, 120):
            assert outcome(used, rows, None) == wanted[rows]
            assert outcome(used, rows, budget) == outcome(session(), rows, budget), (budget, rows)
    assert 0 < failed < 40 * len(sizes)
