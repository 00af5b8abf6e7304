"""RunOptions.max_memory: the memory that a run may take, whatever earlier runs took."""

import pathlib
import re

import memory_use
import new_process
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
    printed = new_process.run(GROW, execution, str(pathlib.Path(memory_use.__file__).parent), fed=model)
    *said, grown, letters = printed.decode().splitlines()
    assert "of the memory budget are left" in said[0] and "max_memory" in said[1]
    assert int(grown) < 160e6  # a step more would take 270 MB at least
    assert int(letters) == 8 * 60 * 2**3


WORDS = np.array([f"alpha beta gamma delta epsilon zeta {i}" for i in range(500)], object)
NUMBERS = np.random.default_rng(3).standard_normal(3000).astype(np.float32)

# Ways to make strings, and the values of x (and n, where it is an input).
STRINGS = {
    "split": ('(string[N] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit<delimiter=" ">(x) }', WORDS),
    "split long": (
        '(string[N] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit<delimiter=" ">(x) }',
        np.array([" ".join(["a" * 50] * 1000)], object)),
    "split unevenly": (
        '(string[N] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit(x) }',
        np.array(["a", "b c", " ".join(["long"] * 40)] * 20, object)),
    "concat": ("(string[N] x) => (string[N] y) { y = StringConcat(x, x) }", WORDS),
    "chain": (
        "(string[N] x) => (string[N] y) { a = StringConcat(x, x) b = StringConcat(a, x) y = StringConcat(a, b) }",
        WORDS),
    "not a result": ("(string[N] x) => (int64[1] n) { y = StringConcat(x, x) n = Shape(y) }", WORDS),
    "normalise": (
        '(string[N] x) => (string[M] y) { y = StringNormalizer<case_change_action="UPPER", is_case_sensitive=0>(x) }',
        WORDS),
    "leave out": (
        '(string[N] x) => (string[M] y) { y = StringNormalizer<stopwords=["alpha beta gamma delta epsilon zeta 7"]>(x) }',
        WORDS),
    "cast": ("(float[N] x) => (string[N] y) { y = Cast<to=8>(x) }", NUMBERS),
    "cast and concat": ("(float[N] x) => (string[N] y) { a = Cast<to=8>(x) y = StringConcat(a, a) }", NUMBERS),
    "other alphabets": ("(string[N] x) => (string[N] y) { y = StringConcat(x, x) }",
        np.array(["\u00e9t\u00e9 " * 9, "\u65e5\u672c\u8a9e" * 9, "a\U0001f600" * 9] * 99, object)),
    "sequence": (
        "(string[N] x) => (string[M] y) "
        "{ a = StringConcat(x, x) l = SequenceConstruct(a, x, a) y = ConcatFromSequence<axis=0>(l) }", WORDS),
    "sequence as result": (
        "(string[N] x) => (seq(string[N]) l) { a = StringConcat(x, x) l = SequenceConstruct(a, x, a) }", WORDS),
    "grown in a loop": ("""(string[N] x, int64 n) => (string[M] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c, string[K] s) => (bool d, string[L] t)
            { d = Identity(c) t = StringConcat(s, x) }> }""", WORDS),
    "stacked in a loop": ("""(string[N] x, int64 n) => (string[A,B] y) {
        s, y = Loop (n, , x) <body = b (int64 i, bool c, string[K] s) => (bool d, string[L] t, string[M] r)
            { d = Identity(c) t = Identity(s) r = StringConcat(s, x) }> }""", WORDS),
    "scanned": ("""(string[N] x) => (string[N] y) {
        y = Scan<num_scan_inputs=1, body = b (string s) => (string t) { t = StringConcat(s, s) }>(x) }""", WORDS),
    "inserted in a loop": ("""(string[N] x, int64 n) => (string[M,1] y) { e = SequenceEmpty<dtype=8>()
        l = Loop (n, , e) <body = b (int64 i, bool c, seq(string[]) s) => (bool d, seq(string[]) t)
            { d = Identity(c) w = Gather(x, i) v = StringConcat(w, w) t = SequenceInsert(s, v) }>
        z = ConcatFromSequence<axis=0, new_axis=1>(l) o = Constant<value_ints=[1]>() y = Unsqueeze(z, o) }""", WORDS),
}  # fmt: skip


def named_memory(text):
    """The largest memory that the explanation of a session names, in bytes."""
    units = {"B": 1, "kB": 1e3, "MB": 1e6}
    found = re.findall(r"^memory (?:at least )?([\d.]+) (\w*B) for", text, re.M)
    return max(float(number) * units[unit] for number, unit in found)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", STRINGS)
def test_what_explain_names_after_a_run_suffices_for_strings(name, threads):
    text, x = STRINGS[name]
    session = scanloom.InferenceSession(parse("g " + text, opset=20), threads=threads)
    feeds = {"x": x, "n": np.int64(6)} if "int64 n)" in text.split("=>")[0] else {"x": x}
    results = session.run(None, feeds)
    named = named_memory(session.explain())

    def run(memory):
        return session.run(None, feeds, scanloom.RunOptions(max_memory=int(memory)))

    for again, result in zip(run(1.01 * named), results):
        np.testing.assert_array_equal(again, result)
    with pytest.raises(scanloom.LimitReached):
        run(0.9 * named)
    run(1.01 * named)


def test_before_a_run_the_memory_of_strings_is_a_lower_bound():
    model = parse("g (string[4] x) => (string[4] y) { y = StringConcat(x, x) }", opset=20)
    session = scanloom.InferenceSession(model)
    assert "memory at least " in session.explain()


def test_the_memory_that_strings_need_is_told_exactly():
    model = parse("g (string[N] x) => (string[N] y) { y = StringConcat(x, x) }", opset=20)
    session = scanloom.InferenceSession(model)
    with pytest.raises(scanloom.LimitReached) as caught:
        session.run(None, {"x": ["ab"] * 1000}, scanloom.RunOptions(max_memory=10_000))
    assert "needs 20000 more bytes, but 10000 bytes of the memory budget are left" in str(caught.value)


def test_explain_forgets_the_objects_of_an_earlier_run():
    model = parse(
        """g (string[N] x, float[N] a) => (string[N] y, float[N] b) {
          y = StringConcat(x, x)
          b = Neg(a)
        }""",
        opset=20,
    )
    session = scanloom.InferenceSession(model)
    feeds = {"x": np.array(["ab"] * 100, object), "a": np.zeros(100, np.float32)}
    session.run(["y"], feeds)
    assert "Python objects" in session.explain()
    session.run(["b"], feeds)
    assert "Python objects" not in session.explain()
    session.run(["y"], feeds)
    assert "Python objects" in session.explain()
    assert not [name for name in vars(session._native) if not name.startswith("_")]


# Runs that are refused and runs that succeed take turns; prints by how many bytes the process grew.
TURNS = """
import pathlib, sys
import numpy as np
import scanloom
session = scanloom.InferenceSession(sys.stdin.buffer.read(), threads=1)
x = np.array(["a" * 20] * 8, object)

def resident(which):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) * 1024

session.run(None, {"n": np.int64(2), "x": x})
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
limit = scanloom.RunOptions(max_memory=int(sys.argv[1]))
refused = 0
for n in (60, 3, 16, 60, 17, 60, 15, 16):
    try:
        session.run(None, {"n": np.int64(n), "x": x}, limit)
    except scanloom.LimitReached:
        refused += 1
print(refused, resident("VmHWM") - before)
"""

TAKING_TURNS = {
    "more strings": "u = Concat<axis = 0>(s, s) t = StringConcat(u, e)",
    "longer strings": "t = StringConcat(s, s)",
    "upper case": 'u = Concat<axis = 0>(s, s) t = StringNormalizer<case_change_action="UPPER">(u)',
    "as items": "u = Concat<axis = 0>(s, s) l = SplitToSequence<axis = 0>(u) t = ConcatFromSequence<axis = 0>(l)",
    "in parts": 'u = Concat<axis = 0>(s, s) p, q = StringSplit<delimiter = "-">(u) t = Reshape(p, flat)',
}


@pytest.mark.parametrize("name", TAKING_TURNS)
def test_a_refused_run_leaves_nothing_that_later_budgets_do_not_count(name):
    if not pathlib.Path("/proc/self/clear_refs").exists():
        pytest.skip("this system does not tell the most memory of a process")
    model = parse(
        """g (int64 n, string[N] x) => (int64[1] m) <string[1] e = {""}, int64[1] flat = {-1}> {
          y = Loop (n, , x) <
            body = b (int64 i, bool c, string[K] s) => (bool d, string[L] t) { d = Identity(c) %s }
          >
          m = Shape(y)
        }""" % TAKING_TURNS[name],
        opset=20,
    )
    budget = 100_000_000
    refused, grown = map(int, new_process.run(TURNS, str(budget), fed=model).split())
    assert refused >= 3
    assert grown < budget + 64e6
