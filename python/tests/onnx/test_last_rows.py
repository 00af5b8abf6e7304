"""Rows of the last steps: equal to numpy's for any number of steps, and kept without the others."""

import re

import numpy as np
import onnx
import onnx.parser
import pytest

import scanloom
import scanloom as theano
import scanloom.tensor as T
from memory_use import UNITS, growth, measured, predicted

EXECUTIONS = ["automatic", "stepped", "compiled", "interpreted"]

# What is read of a stack of rows, by T and by numpy.
READS = {
    "[-1]": lambda rows: rows[-1],
    "[-2]": lambda rows: rows[-2],
    "[-5]": lambda rows: rows[-5],
    "[-40]": lambda rows: rows[-40],
    "[-3:]": lambda rows: rows[-3:],
    "[-40:]": lambda rows: rows[-40:],
    "[-5:-2]": lambda rows: rows[-5:-2],
    "[-6::2]": lambda rows: rows[-6::2],
    "[:-4:-1]": lambda rows: rows[:-4:-1],
    "[-2:-5:-2]": lambda rows: rows[-2:-5:-2],  # of rows enough: below, ONNX's slices differ
    "two": lambda rows: rows[-1] + rows[-2],
    "several": lambda rows: rows[-3:].sum(0) * rows[-7] - rows[-20:-18].sum(0),
    "by a list": lambda rows: rows[[-1, -3, -1]],
    "an element": lambda rows: rows[-2, 1],
    "elements": lambda rows: rows[-3:, 0],
    "[-3:][0]": lambda rows: rows[-3:][0],
    "the last one by its number": lambda rows: rows[rows.shape[0] - 1],
    "with how many there are": lambda rows: rows[-2] * rows.shape[0] + rows.shape[1],
}
STEPS = [0, 1, 2, 3, 4, 7, 40, 41, 100]


def states(start, steps):
    """All rows of x' = sin(x) + 0.5 x, and of another output of these steps."""
    rows, x = [], start
    for _ in range(steps):
        x = np.sin(x) + 0.5 * x
        rows.append(x)
    rows = np.array(rows).reshape(steps, *start.shape)
    return rows, rows * 2 + 1


def outcome(read, rows):
    """Returns numpy's result, or None if that is an error."""
    try:
        return read(rows)
    except IndexError:
        return None


def check(call, read, rows):
    want = outcome(read, rows)
    if want is None:
        with pytest.raises(scanloom.Error, match="is outside an axis of"):
            call()
    else:
        got = call()
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def step(x):
    new = T.sin(x) + 0.5 * x
    return new, new * 2 + 1


@pytest.mark.parametrize("of_state", [True, False])
@pytest.mark.parametrize("name", READS)
def test_reads_of_a_loop_of_any_number_of_steps(name, of_state):
    read, n, start = READS[name], T.lscalar("n"), T.dvector("start")
    outputs, _ = theano.scan(step, outputs_info=[start, None], n_steps=n)
    f = theano.function([start, n], read(outputs[0 if of_state else 1]))
    value = np.array([0.3, -1.2, 2.0])
    for steps in STEPS:
        rows = states(value, steps)[0 if of_state else 1]
        if of_state and "-1]" in name and steps == 0:
            continue  # of no steps, [-1] of a state is what it began with
        if (of_state and name == "two" or name == "[-2:-5:-2]") and steps < 2:
            continue
        check(lambda: f(value, steps), read, rows)


@pytest.mark.parametrize("name", READS)
def test_reads_of_a_loop_that_a_condition_ends(name):
    read, limit, start = READS[name], T.dscalar("limit"), T.dvector("start")

    def until(k, x, limit):
        new, other = step(x)
        return [k + 1, new, other], theano.scan_module.until(k + 1 >= limit)

    outputs, _ = theano.scan(
        until, outputs_info=[T.constant(0.0), start, None], non_sequences=limit, n_steps=1000
    )
    f = theano.function([start, limit], read(outputs[2]))
    value = np.array([0.3, -1.2, 2.0])
    for steps in (1, 2, 3, 6, 45)[name == "[-2:-5:-2]" :]:
        check(lambda: f(value, steps), read, states(value, steps)[1])


@pytest.mark.parametrize("name", ["[-2]", "[-3:]", "[-40:]", "several"])
def test_reads_of_loops_over_sequences(name):
    """Sequences of known and of open sizes, forwards and backwards."""
    read, xs = READS[name], T.dmatrix("xs")
    for backwards in (False, True):
        outputs, _ = theano.scan(
            lambda x, h: [T.tanh(x + h), x * h],
            sequences=xs, outputs_info=[T.zeros(3), None], go_backwards=backwards,
        )  # fmt: skip
        f = theano.function([xs], [read(outputs[0]), read(outputs[1])])
        for steps in (50, 20, 60, 3, 90):
            value = np.cos(np.arange(3.0 * steps)).reshape(steps, 3)
            hs, others, h = [], [], np.zeros(3)
            for x in value[::-1] if backwards else value:
                others.append(x * h)
                h = np.tanh(x + h)
                hs.append(h)
            wants = [outcome(read, np.array(rows)) for rows in (hs, others)]
            if wants[0] is None:
                with pytest.raises(scanloom.Error, match="outside"):
                    f(value)
                continue
            for got, want in zip(f(value), wants):
                np.testing.assert_allclose(got, want, rtol=1e-12)


def test_loops_in_loops():
    """The loop inside takes another number of steps each time."""
    counts, start = T.lvector("counts"), T.dvector("start")

    def outer(count, h):
        rows, _ = theano.scan(step, outputs_info=[h, None], n_steps=count)
        return rows[0][-2] - rows[1][-3:].sum(0) * 0.1

    last, _ = theano.scan(outer, sequences=counts, outputs_info=start)
    f = theano.function([counts, start], [last[-2], last[-3:]])
    h, kept, value = np.array([0.1, 0.2]), [], [5, 3, 20, 2, 9]
    for count in value:
        rows, others = states(h, count)
        h = rows[-2] - others[-3:].sum(0) * 0.1
        kept.append(h)
    one, three = f(value, [0.1, 0.2])
    np.testing.assert_allclose(one, kept[-2], rtol=1e-12)
    np.testing.assert_allclose(three, kept[-3:], rtol=1e-12)
    with pytest.raises(scanloom.Error, match="outside an axis of 1 "):
        f([5, 1, 3], [0.1, 0.2])


@pytest.mark.parametrize("read", ["[-2]", "[-3:]", "two"])
def test_gradients_through_such_reads(read):
    pick, n, start = READS[read], T.lscalar("n"), T.dvector("start")
    outputs, _ = theano.scan(step, outputs_info=[start, None], n_steps=n)
    cost = (pick(outputs[0]) ** 2).sum() + T.sin(pick(outputs[1])).sum()
    f = theano.function([start, n], [cost, T.grad(cost, start)])

    def cost_of(value):
        rows, others = states(value, 7)
        return (pick(rows) ** 2).sum() + np.sin(pick(others)).sum()

    value, eps = np.array([0.3, -1.2, 2.0]), 1e-6
    got, slope = f(value, 7)
    np.testing.assert_allclose(got, cost_of(value), rtol=1e-12)
    for i in range(3):
        shift = np.eye(3)[i] * eps
        want = (cost_of(value + shift) - cost_of(value - shift)) / (2 * eps)
        np.testing.assert_allclose(slope[i], want, rtol=1e-5, atol=1e-7)


def test_products_of_rows_are_those_of_the_rows_that_are_read():
    """The output is no state, and is read element by element after the loop."""
    n, start, w = T.lscalar("n"), T.dvector("start"), T.dmatrix("w")
    outputs, _ = theano.scan(
        lambda x, w: [T.sin(x) + 0.5 * x, T.dot(x, w)],
        outputs_info=[start, None], non_sequences=w, n_steps=n,
    )  # fmt: skip
    f = theano.function([start, w, n], [outputs[1][-1], T.exp(outputs[1])[-2], outputs[1][-4:] * 2])
    value, weights = np.array([0.3, -1.2, 2.0]), np.cos(np.arange(12.0)).reshape(3, 4)
    for steps in (9, 100, 30):
        before = np.vstack([value, states(value, steps)[0][:-1]]) @ weights
        for got, want in zip(f(value, weights, steps), (before[-1], np.exp(before)[-2], before[-4:] * 2)):
            np.testing.assert_allclose(got, want, rtol=1e-10)


LOOP = """<ir_version: 8, opset_import: ["" : 17]>
g (int64 n, bool go, float[2] x, float limit) => (float y) {
  last, rows = Loop (n, go, x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] e, float[2] f) {
    e = Cos(a)  f = Sin(a)
    k = Cast <to = 1> (i)  m = Identity(limit)
    d = Less(k, m)
  }>
  %s
}"""

SLICE = """s = Constant <value = int64[1] {%d}> ()  t = Constant <value = int64[1] {%d}> ()
  a = Constant <value = int64[1] {0}> ()  p = Constant <value = int64[1] {%d}> ()
  y = Slice(rows, s, t, a, p)"""
END = 2**63 - 1
ONNX_READS = {
    "gather -1": ("i = Constant <value = int64 {-1}> () y = Gather(rows, i)", lambda rows: rows[-1]),
    "gather -2": ("i = Constant <value = int64 {-2}> () y = Gather(rows, i)", lambda rows: rows[-2]),
    "gathers": (
        "i = Constant <value = int64[2] {-3,-1}> () y = Gather(rows, i)",
        lambda rows: rows[[-3, -1]],
    ),
    "slice": (SLICE % (-4, END, 1), lambda rows: rows[-4:]),
    "slice of one": (SLICE % (-1, END, 1), lambda rows: rows[-1:]),
    "slice before": (SLICE % (-6, -3, 2), lambda rows: rows[-6:-3:2]),
    "slice back": (SLICE % (-1, -4, -1), lambda rows: rows[:-4:-1]),
    "many": (SLICE % (-30, END, 1), lambda rows: rows[-30:]),
    "gather at the size less 1": (
        "s = Shape(rows) z = Constant <value = int64 {0}> () k = Gather(s, z)"
        " o = Constant <value = int64 {1}> () i = Sub(k, o) y = Gather(rows, i)",
        lambda rows: rows[rows.shape[0] - 1],
    ),
    "with its sizes": (
        "s = Shape(rows) f = Cast <to = 1> (s) i = Constant <value = int64 {-1}> () r = Gather(rows, i)"
        " y = Mul(r, f)",
        lambda rows: rows[-1] * np.array(rows.shape, "float32"),
    ),
    "two readers": (
        SLICE.replace("y =", "u =") % (-4, END, 1)
        + " z = Constant <value = int64[1] {0}> () v = ReduceSum(u, z) i = Constant <value = int64[1] {-1}> ()"
        + " w = Gather(rows, i) y = Add(v, w)",
        lambda rows: rows[-4:].sum(0, keepdims=True) + rows[[-1]],
    ),
}


@pytest.mark.parametrize("name", ONNX_READS)
def test_rows_of_onnx_loops(name):
    nodes, read = ONNX_READS[name]
    model = onnx.parser.parse_model(LOOP % nodes).SerializeToString()
    value = np.array([0.3, -1.2], "float32")
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(model, execution=execution)
        # How many steps the trip count, the first condition and the limit leave.
        for n, go, limit in ((9, True, 99), (50, True, 33), (3, True, 99), (0, True, 9), (9, False, 9)):
            steps = min(n, limit + 1) if go else 0
            rows, x = np.zeros((steps, 2), "float32"), value
            for k in range(steps):
                rows[k], x = np.sin(x), np.cos(x)
            feeds = {"n": np.int64(n), "go": np.bool_(go), "x": value, "limit": np.float32(limit)}
            want = outcome(read, rows)
            if want is None:
                with pytest.raises(scanloom.Error, match="outside an axis of"):
                    session.run(None, feeds)
                continue
            got = session.run(None, feeds)[0]
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


SCAN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[%s,2,3] xs) => (float y) {
  zero = Constant <value = float[2,3] {0,0,0,0,0,0}> ()
  last, rows = Scan <num_scan_inputs = 1, scan_output_axes = [%d], scan_output_directions = [%d],
    body = b (float[2,3] h, float[2,3] x) => (float[2,3] k, float[2,3] r) {
      s = Add(h, x) k = Tanh(s) r = Mul(k, x) }> (zero, xs)
  s = Constant <value = int64[1] {%d}> ()  t = Constant <value = int64[1] {%d}> ()
  a = Constant <value = int64[1] {%d}> ()
  y = Slice(rows, s, t, a)
}"""


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("count", [2, 20])
@pytest.mark.parametrize("size", ["N", "9000"])
def test_rows_of_onnx_scans(axis, reverse, count, size):
    """Along any axis, in either direction, of sizes that are known or open."""
    start, end = (0, count) if reverse else (-count, END)
    model = onnx.parser.parse_model(SCAN % (size, axis, reverse, start, end, axis))
    lengths = (9000,) if size == "9000" else (70, 5, 1)
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(model.SerializeToString(), execution=execution)
        for length in lengths:
            xs = np.sin(np.arange(6.0 * length)).astype("float32").reshape(length, 2, 3)
            rows, h = [], np.zeros((2, 3), "float32")
            for x in xs:
                h = np.tanh(h + x)
                rows.append(h * x)
            kept = np.array(rows[-count:])[:: -1 if reverse else 1]
            want = np.moveaxis(kept, 0, axis)
            got = session.run(None, {"xs": xs})[0]
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_streams_find_the_stack():
    """The last row of a sequence of any length is that of the last piece."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,2] xs) => (float[2] y) {
          zero = Constant <value = float[2] {0,0}> ()
          last, rows = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] x) => (float[2] k, float[2] r) {
              k = Add(h, x) r = Mul(k, k) }> (zero, xs)
          i = Constant <value = int64 {-1}> () y = Gather(rows, i)
        }"""
    )
    session = scanloom.InferenceSession(model.SerializeToString())
    xs = np.arange(12, dtype="float32").reshape(6, 2) - 5
    want = np.cumsum(xs, 0) ** 2
    np.testing.assert_allclose(session.run(None, {"xs": xs})[0], want[-1], rtol=1e-5)
    stream = session.stream()
    for first, last in ((0, 1), (1, 4), (4, 6)):
        got = stream.push({"xs": xs[first:last]})
        np.testing.assert_allclose(got, want[last - 1], rtol=1e-5)


def flat_function(read, of_state=True, ends=False):
    n, start = T.lscalar("n"), T.dvector("start")

    def body(k, x, n):
        new = T.sin(x) + 0.5 * x
        row = [k + 1, new, new * 2]
        return (row, theano.scan_module.until(k + 1 >= n)) if ends else row

    outputs, _ = theano.scan(
        body, outputs_info=[T.constant(np.int64(0)), start, None], non_sequences=n,
        n_steps=1_000_000 if ends else n,
    )  # fmt: skip
    f = theano.function([start, n], READS[read](outputs[1 if of_state else 2]))
    return lambda steps: f(np.full(1000, 0.5), steps), f.explain


def flat_session(nodes):
    text = LOOP.replace("[2]", "[1000]") % nodes
    session = scanloom.InferenceSession(onnx.parser.parse_model(text).SerializeToString())
    feeds = {"go": np.bool_(True), "x": np.full(1000, 0.5, "float32"), "limit": np.float32(1e9)}
    return lambda n: session.run(None, {"n": np.int64(n), **feeds}), session.explain


FLAT = {
    "[-2]": lambda: flat_function("[-2]"),
    "[-3:]": lambda: flat_function("[-3:]"),
    "[-40:]": lambda: flat_function("[-40:]"),
    "two": lambda: flat_function("two"),
    "several": lambda: flat_function("several", False),
    "by its number": lambda: flat_function("the last one by its number"),
    "with how many": lambda: flat_function("with how many there are", False),
    "no state": lambda: flat_function("[-1]", False),
    "until": lambda: flat_function("[-5]", False, True),
    "gather -2": lambda: flat_session(ONNX_READS["gather -2"][0]),
    "many": lambda: flat_session(ONNX_READS["many"][0]),
}


def measure(name):
    """By how many bytes the process grows in a run, and what was predicted."""
    run, explain = FLAT[name]()
    run(300)
    run(200)
    run(100_000)  # the compiler's library, for so many steps
    return growth(lambda: run(100_000)), predicted(explain())


@pytest.mark.parametrize("name", FLAT)
def test_memory_does_not_grow_with_the_steps(name):
    grown, said = measured(__file__, name, timeout=300)
    assert grown < 20e6  # all rows are 400 or 800 MB
    assert said < 5e6


@pytest.mark.parametrize("read", ["all", "sum", "[-3:]"])
def test_explain_speaks_of_the_memory_of_the_last_call(read):
    """The memory of loops whose number of steps only the call knows."""
    reads = {"all": lambda rows: rows, "sum": lambda rows: rows.sum(0), "[-3:]": READS["[-3:]"]}
    n, start = T.lscalar("n"), T.dvector("start")
    rows, _ = theano.scan(lambda x: x * 0.5, outputs_info=start, n_steps=n)
    f = theano.function([start, n], reads[read](rows))
    f(np.ones(1000), 5)
    assert "(5 steps in the last run)" in f.explain()
    result = f(np.ones(1000), 2000)
    text = f.explain()
    assert "(2000 steps in the last run)" in text
    kept = result.nbytes if read == "[-3:]" else 2000 * 8000
    assert kept <= predicted(text) <= kept + 150e3
    size, unit = re.search(r"results account for ([0-9.e+]+) (\w?)B$", text, re.M).groups()
    assert float(size) * UNITS[unit] == pytest.approx(result.nbytes, rel=0.01)
