"""ONNX loops that write a window of a state: by ScatterND, ScatterElements, and Slice and Concat; values of
numpy, in every execution, and that the state stays where it is."""

import numpy as np
import pytest
from onnx.parser import parse_model

import scanloom

RANDOM = np.random.default_rng(41)
N, D, STEPS = 40, 32, 37


def loop(body, state=f"float[{N}, {D}]", rows=f"float[T, {D}]", row=f"float[{D}]"):
    """A loop over rows `xs` with a state `s` of a step's number `i` and row `x`; the body makes `n`, the
    next state, and `y`."""
    return parse_model(f"""
<ir_version: 8, opset_import: ["" : 18]>
g ({rows} xs, {state} s0) => ({state} last, {rows} ys)
{{
  shape = Shape(xs) zero = Constant <value_int = 0> () t = Gather(shape, zero)
  last, ys = Loop(t, , s0) <body = b (int64 i, bool c, {state} s) => (bool c2, {state} n, {row} y)
    {{
      c2 = Constant <value = bool {{1}}> ()
      ax = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () none = Constant <value_ints = [9223372036854775807]> ()
      x = Gather(xs, i) wide = Unsqueeze(x, ax) at = Unsqueeze(i, ax) next = Add(at, one)
      {body}
    }}>
}}
""").SerializeToString()


def check(model, feeds, expected, in_place=True, atol=1e-5):
    for optimize in (True, False):
        for execution in ("automatic", "stepped", "compiled", "interpreted"):
            session = scanloom.InferenceSession(model, execution=execution, optimize=optimize)
            first = session.run(None, feeds)
            for found, wanted in zip(first, expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=atol)
            for found, before in zip(session.run(None, feeds), first, strict=True):
                np.testing.assert_array_equal(found, before)
            if optimize and execution == "automatic" and in_place:
                assert "updated in place" in session.explain()


def feeds_of(steps=STEPS):
    return {
        "xs": RANDOM.standard_normal((steps, D)).astype(np.float32),
        "s0": RANDOM.standard_normal((N, D)).astype(np.float32),
    }


def test_a_row_by_slice_and_concat():
    model = loop("""
      before = Slice(s, ax, at, ax) after = Slice(s, next, none, ax) n = Concat <axis = 0> (before, wide, after)
      old = Gather(s, i) y = Sub(old, x)
    """)
    # The number of steps is that of an input, which may be more than there are rows.
    feeds = feeds_of()
    state, ys = feeds["s0"].copy(), []
    for i, x in enumerate(feeds["xs"]):
        ys.append(state[i] - x)
        state[i] = x
    check(model, feeds, [state, ys], in_place=False)


@pytest.mark.parametrize("steps", [N, N - 3])
def test_a_row_by_slice_and_concat_of_known_steps(steps):
    model = loop("""
      before = Slice(s, ax, at, ax) after = Slice(s, next, none, ax) n = Concat <axis = 0> (before, wide, after)
      old = Gather(s, i) y = Sub(old, x)
    """, rows=f"float[{steps}, {D}]")
    feeds = feeds_of(steps)
    state, ys = feeds["s0"].copy(), []
    for i, x in enumerate(feeds["xs"]):
        ys.append(state[i] - x)
        state[i] = x
    check(model, feeds, [state, ys])


def test_columns_by_slice_and_concat():
    """A block of constant bounds, which reads itself."""
    model = loop("""
      b = Constant <value_ints = [4]> () e = Constant <value_ints = [12]> ()
      before = Slice(s, ax, b, one) part = Slice(s, b, e, one) after = Slice(s, e, none, one)
      half = Constant <value_float = 0.5> () new = Mul(part, half) n = Concat <axis = 1> (before, new, after)
      y = Identity(x)
    """)
    feeds = feeds_of()
    state = feeds["s0"].copy()
    for _ in feeds["xs"]:
        state[:, 4:12] *= 0.5
    check(model, feeds, [state, feeds["xs"]])


def test_a_state_that_grows_stays_one():
    """Behind the last row, a concat of slices grows: that is no window."""
    model = parse_model(f"""
<ir_version: 8, opset_import: ["" : 18]>
g (float[{N + 3}, {D}] xs, float[{N}, {D}] s0) => (float[R, {D}] last)
{{
  t = Constant <value_int = {N + 3}> ()
  last = Loop(t, , s0) <body = b (int64 i, bool c, float[R, {D}] s) => (bool c2, float[S, {D}] n)
    {{
      c2 = Constant <value = bool {{1}}> ()
      ax = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () none = Constant <value_ints = [9223372036854775807]> ()
      x = Gather(xs, i) wide = Unsqueeze(x, ax) at = Unsqueeze(i, ax) next = Add(at, one)
      before = Slice(s, ax, at, ax) after = Slice(s, next, none, ax) n = Concat <axis = 0> (before, wide, after)
    }}>
}}
""").SerializeToString()
    feeds = feeds_of(N + 3)
    check(model, feeds, [feeds["xs"]], in_place=False)


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_rows_by_scatter_nd(reduction):
    model = loop(f"""
      two = Constant <value_ints = [2]> () first = Constant <value_ints = [0, 1]> ()
      rows = Add(at, first) tuples = Unsqueeze(rows, one) both = Concat <axis = 0> (wide, wide)
      n = ScatterND <reduction = "{reduction}"> (s, tuples, both)
      old = Gather(s, i) new = Gather(n, i) y = Sub(new, old)
    """)
    feeds = feeds_of()
    state, ys = feeds["s0"].copy(), []
    for i, x in enumerate(feeds["xs"]):
        old = state[i].copy()
        if reduction == "add":
            state[i : i + 2] += x
        else:
            state[i : i + 2] = x
        ys.append(state[i] - old)
    # Both are read: what was there before is picked before the scatter.
    check(model, feeds, [state, ys])


def test_a_column_by_scatter_elements():
    model = loop(f"""
      sizes = Constant <value_ints = [{N}, 1]> () inner = Constant <value_int = {D}> ()
      number = Mod(i, inner) all = Expand(number, sizes) column = GatherElements <axis = 1> (s, all)
      new = Neg(column) n = ScatterElements <axis = 1> (s, all, new)
      y = Identity(x)
    """)
    feeds = feeds_of()
    state = feeds["s0"].copy()
    for i in range(len(feeds["xs"])):
        state[:, i % D] *= -1
    check(model, feeds, [state, feeds["xs"]])


def attention(n, d):
    return parse_model(f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[T, {d}] qs, float[{n}, {d}] k0, float[{n}, {d}] v0, int64[{n}] places) => (float[T, {d}] out, float[{n}, {d}] kend)
{{
  shape = Shape(qs) zero = Constant <value_int = 0> () t = Gather(shape, zero)
  kend, vend, out = Loop(t, , k0, v0) <body = b (int64 i, bool c, float[{n}, {d}] kc, float[{n}, {d}] vc) => (bool c2, float[{n}, {d}] kn, float[{n}, {d}] vn, float[{d}] o)
    {{
      c2 = Constant <value = bool {{1}}> () ax = Constant <value_ints = [0]> () half = Constant <value_float = 0.125> () low = Constant <value_float = -10000.0> ()
      q = Gather(qs, i) row = Unsqueeze(q, ax) k = Tanh(row) v = Sigmoid(row)
      i1 = Unsqueeze(i, ax) i2 = Unsqueeze(i1, ax)
      kn = ScatterND(kc, i2, k) vn = ScatterND(vc, i2, v)
      kt = Transpose <perm = [1, 0]> (kn) s0 = MatMul(row, kt) s = Mul(s0, half)
      seen = LessOrEqual(places, i) sm = Where(seen, s, low) p = Softmax <axis = -1> (sm) o1 = MatMul(p, vn) o = Squeeze(o1, ax)
    }}>
}}
""").SerializeToString()


@pytest.mark.parametrize("n", [9, 300])
def test_a_cache_that_a_step_attends_to(n):
    d, steps = 16, min(n, 50)
    qs = RANDOM.standard_normal((steps, d)).astype(np.float32)
    empty = np.zeros((n, d), np.float32)
    feeds = {"qs": qs, "k0": empty, "v0": empty, "places": np.arange(n)}
    keys, values, out = np.zeros((n, d)), np.zeros((n, d)), []
    for i, q in enumerate(qs.astype(float)):
        keys[i], values[i] = np.tanh(q), 1 / (1 + np.exp(-q))
        weights = np.exp(keys[: i + 1] @ q * 0.125)
        out.append(weights / weights.sum() @ values[: i + 1])
    check(attention(n, d), feeds, [out, keys])


def test_the_state_before_is_a_result_too():
    """The previous state is an output too: the state is copied, and both results are right."""
    model = parse_model(f"""
<ir_version: 8, opset_import: ["" : 18]>
g (float[T, {D}] xs, float[{N}, {D}] s0) => (float[{N}, {D}] last, float[{N}, {D}] before, float[T, {D}, {N}] all)
{{
  shape = Shape(xs) zero = Constant <value_int = 0> () t = Gather(shape, zero)
  last, before, all = Loop(t, , s0, s0) <body = b (int64 i, bool c, float[{N}, {D}] s, float[{N}, {D}] old) => (bool c2, float[{N}, {D}] n, float[{N}, {D}] s2, float[{D}, {N}] turned)
    {{
      c2 = Constant <value = bool {{1}}> () ax = Constant <value_ints = [0]> ()
      x = Gather(xs, i) wide = Unsqueeze(x, ax) at = Unsqueeze(i, ax) tuple = Unsqueeze(at, ax)
      n = ScatterND(s, tuple, wide) s2 = Identity(s) turned = Transpose <perm = [1, 0]> (n)
    }}>
}}
""").SerializeToString()
    feeds = feeds_of(11)
    state, before, turned = feeds["s0"].copy(), None, []
    for i, x in enumerate(feeds["xs"]):
        before = state.copy()
        state[i] = x
        turned.append(state.T.copy())
    check(model, feeds, [state, before, turned], in_place=False)


def test_an_index_outside():
    model = loop("""
      far = Constant <value_ints = [8]> () beyond = Add(at, far) tuple = Unsqueeze(beyond, one)
      n = ScatterND(s, tuple, wide) y = Identity(x)
    """)
    feeds = feeds_of()
    for execution in ("automatic", "stepped", "compiled", "interpreted"):
        session = scanloom.InferenceSession(model, execution=execution)
        with pytest.raises(Exception, match="index 40 is outside an axis of 40 elements"):
            session.run(None, feeds)
