"""numerics="fast": linear recurrences and cumulative sums as trees, products and sums rounded once."""

import os
import pickle

import numpy as np
import pytest

import scanloom
from loop_models import parse

MEAN = parse(
    """g (float[T] x, float start) => (float last, float[T] y) {
      last, y = Scan <num_scan_inputs = 1, body = step (float s, float x) => (float s2, float y) {
          keep = Constant <value = float {0.9}> ()
          take = Constant <value = float {0.1}> ()
          kept = Mul(keep, s)
          taken = Mul(take, x)
          s2 = Add(kept, taken)
          y = Identity(s2)
        }> (start, x)
    }"""
)
AFFINE = parse(
    """g (float[T, 1] a, float[T, 1] b, float[1] start) => (float[1] last, float[T, 1] y) {
      last, y = Scan <num_scan_inputs = 2, body = step (float[1] s, float[1] a, float[1] b)
          => (float[1] s2, float[1] y) {
          kept = Mul(a, s)
          s2 = Add(kept, b)
          y = Identity(s2)
        }> (start, a, b)
    }"""
)
# Transposed direct form: a state is read before its step, and the output follows from it.
FILTER = parse(
    """g (float[T] x, float b1, float a1) => (float last1, float last2, float[T] y) {
      zero = Constant <value = float {0}> ()
      last1, last2, y = Scan <num_scan_inputs = 1,
          body = step (float s1, float s2, float x) => (float n1, float n2, float y) {
          b0 = Constant <value = float {0.2}> ()
          b2 = Constant <value = float {0.1}> ()
          a2 = Constant <value = float {0.81}> ()
          now = Mul(b0, x)
          y = Add(now, s1)
          in1 = Mul(b1, x)
          back1 = Mul(a1, y)
          rest1 = Sub(in1, back1)
          n1 = Add(rest1, s2)
          in2 = Mul(b2, x)
          back2 = Mul(a2, y)
          n2 = Sub(in2, back2)
        }> (zero, zero, x)
    }"""
)
# Direct form with the history of inputs and outputs as states.
HISTORY = parse(
    """g (float[T] x) => (float x1, float x2, float y1, float y2, float[T] y) {
      zero = Constant <value = float {0}> ()
      x1, x2, y1, y2, y = Scan <num_scan_inputs = 1,
          body = step (float p1, float p2, float q1, float q2, float x)
          => (float n1, float n2, float m1, float m2, float y) {
          b0 = Constant <value = float {0.2}> ()
          b1 = Constant <value = float {0.3}> ()
          b2 = Constant <value = float {0.1}> ()
          a1 = Constant <value = float {-1.6}> ()
          a2 = Constant <value = float {0.81}> ()
          t0 = Mul(b0, x)
          t1 = Mul(b1, p1)
          t2 = Mul(b2, p2)
          u1 = Mul(a1, q1)
          u2 = Mul(a2, q2)
          v1 = Add(t0, t1)
          v2 = Add(v1, t2)
          v3 = Sub(v2, u1)
          y = Sub(v3, u2)
          n1 = Identity(x)
          n2 = Identity(p1)
          m1 = Identity(y)
          m2 = Identity(q1)
        }> (zero, zero, zero, zero, x)
    }"""
)
CUMSUM = parse(
    """g (float[R, T] x) => (float[R, T] y) {
      axis = Constant <value = int64 {-1}> ()
      y = CumSum <exclusive = 1, reverse = 1> (x, axis)
    }"""
)
# A product of states: no recurrence, but a product and a sum.
LOGISTIC = parse(
    """g (float[T] x, float start) => (float last, float[T] y) {
      last, y = Scan <num_scan_inputs = 1, body = step (float s, float x) => (float s2, float y) {
          squared = Mul(s, s)
          kept = Mul(squared, x)
          s2 = Add(kept, x)
          y = Identity(s2)
        }> (start, x)
    }"""
)
MODELS = {"mean": MEAN, "affine": AFFINE, "filter": FILTER, "history": HISTORY, "cumsum": CUMSUM,
          "logistic": LOGISTIC}
WAYS = ("automatic", "stepped", "interpreted", "compiled")


def feeds_of(name, steps, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal(steps).astype(np.float32)
    return {
        "mean": {"x": x, "start": np.float32(0.5)},
        "affine": {
            "a": random.uniform(0.5, 0.95, (steps, 1)).astype(np.float32),
            "b": x[:, None],
            "start": np.ones(1, np.float32),
        },
        "filter": {"x": x, "b1": np.float32(0.3), "a1": np.float32(-1.6)},
        "history": {"x": x},
        "cumsum": {"x": np.stack([x, 2 * x, x - 1])},
        "logistic": {"x": x / 4, "start": np.float32(0.5)},
    }[name]


def biquad(x, b0, b1, b2, a1, a2):
    b0, b1, b2, a1, a2 = (float(np.float32(c)) for c in (b0, b1, b2, a1, a2))
    s1 = s2 = 0.0
    rows = []
    for now in x.astype(np.float64):
        y = b0 * now + s1
        s1, s2 = b1 * now - a1 * y + s2, b2 * now - a2 * y
        rows.append(y)
    return np.array(rows)


def exact_rows(name, feeds):
    """The rows in f64."""
    if name == "cumsum":
        whole = np.cumsum(feeds["x"][:, ::-1], axis=1, dtype=np.float64)[:, ::-1]
        return whole - feeds["x"]
    if name in ("filter", "history"):
        return biquad(feeds["x"], 0.2, 0.3, 0.1, -1.6, 0.81)
    if name == "mean":
        factors, terms = np.float32(0.9), np.float64(np.float32(0.1)) * feeds["x"]
        factors = np.full(terms.shape, np.float64(factors))
    elif name == "affine":
        factors, terms = feeds["a"].ravel().astype(np.float64), feeds["b"].ravel()
    state, rows = float(np.ravel(feeds["start"])[0]), []
    for step in range(len(feeds["x"] if name == "logistic" else terms)):
        if name == "logistic":
            now = float(feeds["x"][step])
            state = state * state * now + now
        else:
            state = factors[step] * state + float(terms[step])
        rows.append(state)
    return np.array(rows).reshape(feeds["b"].shape if name == "affine" else -1)


def run(name, feeds, **options):
    return scanloom.InferenceSession(MODELS[name], **options).run(None, feeds)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("steps", [1, 2, 63, 5000])
@pytest.mark.parametrize("name", MODELS)
def test_the_error_is_at_most_twice_that_of_steps_in_order(name, steps):
    feeds = feeds_of(name, steps)
    wanted = exact_rows(name, feeds)
    in_order, fast = (run(name, feeds, numerics=kind)[-1] for kind in ("exact", "fast"))
    assert fast.shape == in_order.shape
    rounding = np.abs(wanted).max() * 2.0**-24
    assert rms(fast - wanted) <= 2 * max(rms(in_order - wanted), rounding / 2)


@pytest.mark.parametrize("name", MODELS)
def test_all_ways_of_execution_and_numbers_of_threads_give_the_same_bits(name):
    feeds = feeds_of(name, 40_001)
    wanted = run(name, feeds, numerics="fast", threads=1)
    for options in [{"execution": way} for way in WAYS] + [{"threads": n} for n in (2, 7)]:
        found = run(name, feeds, numerics="fast", **options)
        for one, other in zip(found, wanted):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "logistic"])
def test_recurrences_leave_no_loop(name):
    session = scanloom.InferenceSession(MODELS[name], numerics="fast")
    operators = {op for op, _ in session._native.operators()}
    assert "linear_scan" in operators and "loop" not in operators
    exact = scanloom.InferenceSession(MODELS[name])
    assert "linear_scan" not in {op for op, _ in exact._native.operators()}


def test_products_and_sums_in_other_loops_are_rounded_once():
    feeds = feeds_of("logistic", 1000)
    rows = run("logistic", feeds, numerics="fast")[-1]
    if os.environ.get("SCANLOOM_ISA", "") in ("baseline", "sse4"):
        pytest.skip("without fused multiply-add")
    state = np.float64(0.5)
    for step, now in enumerate(feeds["x"]):
        squared = np.float64(np.float32(state * state))
        state = np.float64(np.float32(squared * np.float64(now) + np.float64(now)))
        assert rows[step] == state


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", MODELS)
def test_few_steps_end_as_they_do_in_order(name, steps):
    feeds = feeds_of(name, steps)
    for one, other in zip(run(name, feeds, numerics="fast"), run(name, feeds)):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_infinities_reach_later_steps_only():
    feeds = feeds_of("mean", 10_000)
    feeds["x"][3000] = np.inf
    rows = run("mean", feeds, numerics="fast")[-1]
    assert np.isfinite(rows[:3000]).all() and np.isinf(rows[3000:]).all()
    feeds["x"][7000] = np.nan
    rows = run("mean", feeds, numerics="fast")[-1]
    assert np.isinf(rows[3000:7000]).all() and np.isnan(rows[7000:]).all()


def test_functions_and_pickled_sessions_keep_the_option():
    T = scanloom.tensor
    x = T.fvector("x")
    rows, _ = scanloom.scan(lambda now, before: before * 0.5 + now, sequences=x,
                            outputs_info=T.constant(np.float32(0)))
    feeds = feeds_of("mean", 10_000)["x"]
    exact, fast = (scanloom.function([x], rows, numerics=kind)(feeds) for kind in ("exact", "fast"))
    assert (exact != fast).any()
    np.testing.assert_allclose(exact, fast, rtol=1e-4, atol=1e-6)
    session = pickle.loads(pickle.dumps(scanloom.InferenceSession(MEAN, numerics="fast")))
    assert session.get_session_options().numerics == "fast"


def test_another_word_is_refused():
    with pytest.raises(scanloom.InvalidArgument, match="numerics is 'quick', but must be one of exact, fast"):
        scanloom.InferenceSession(MEAN, numerics="quick")
    with pytest.raises(scanloom.InvalidArgument, match="did you mean 'fast'"):
        scanloom.InferenceSession(MEAN, numerics="fats")


def test_streams_take_pieces():
    feeds = feeds_of("mean", 3000)
    session = scanloom.InferenceSession(MEAN, numerics="fast")
    whole = session.run(None, feeds)[-1]
    stream = session.stream()
    stream.set("start", feeds["start"])
    rows = [stream.push({"x": feeds["x"][i : i + 700]}, ["y"])[0] for i in range(0, 3000, 700)]
    np.testing.assert_allclose(np.concatenate(rows), whole, rtol=1e-4, atol=1e-6)
