"""RunOptions.max_memory: the memory that a run may take, whatever earlier runs took."""

import pathlib
import subprocess
import sys

import memory_use
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


# How strings grow in a loop, by how the step makes them from s.
GROWING = {
    "more strings": "t = Concat<axis = 0>(s, s)",
    "longer strings": "t = StringConcat(s, s)",
    "strings in parts": "p, q = Split<axis = 0, num_outputs = 2>(s)  t = Concat<axis = 0>(p, q, s)",
    "as items": "l = SequenceConstruct(s, s)  t = ConcatFromSequence<axis = 0>(l)",
}

# Prints the error, and by how many bytes the most memory of the process grew until then.
GROW = """
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np
import scanloom
from memory_use import growth
session = scanloom.InferenceSession(sys.stdin.buffer.read(), threads=1, execution=sys.argv[1])
x = np.array(["a" * 60] * 8, object)

def run():
    try:
        session.run(None, {"n": np.int64(60), "x": x}, scanloom.RunOptions(max_memory=150_000_000))
    except scanloom.LimitReached as error:
        print(error)

session.run(None, {"n": np.int64(2), "x": x})
print(growth(run))
(y,) = session.run(None, {"n": np.int64(3), "x": x}, scanloom.RunOptions(max_memory=150_000_000))
print(sum(map(len, y)))
"""


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
@pytest.mark.parametrize("name", GROWING)
def test_strings_are_made_within_the_budget(name, execution):
    memory_use.needs_peak()
    model = parse(
        """g (int64 n, string[N] x) => (string[M] y) {
          y = Loop (n, , x) <
            body = b (int64 i, bool c, string[K] s) => (bool d, string[L] t) { d = Identity(c) %s }
          >
        }""" % GROWING[name],
        opset=20,
    )
    answer = subprocess.run(
        [sys.executable, "-c", GROW, execution, str(pathlib.Path(memory_use.__file__).parent)],
        input=model, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    *said, grown, letters = answer.stdout.decode().splitlines()
    assert "of the memory budget are left" in said[0] and "max_memory" in said[1]
    assert int(grown) < 160e6  # a step more would take 270 MB at least
    assert int(letters) == 8 * 60 * 2**3
