"""A number of Python with which a state begins has no type of its own: it takes the dtype that the steps
make of it. Values of numpy and variables keep theirs."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

X = np.array([0.5, 1.25, 2.0, -3.0])


def typed(dtype, axes=1):
    return T.TensorType(dtype, [False] * axes)("x")


def counter(first, **options):
    return theano.scan(lambda k: k + 1, outputs_info=first, n_steps=1000, **options)[0]


@pytest.mark.parametrize("first", [0, dict(initial=0), [0], [dict(initial=0, taps=None)]], ids=str)
@pytest.mark.filterwarnings("ignore:.*taps None")
def test_counting_goes_beyond_small_integers(first):
    counted = theano.function([], counter(first))()
    assert counted.dtype == np.int64
    np.testing.assert_array_equal(counted, np.arange(1, 1001))


def test_a_condition_on_a_counter_is_reached():
    rows, _ = theano.scan(
        lambda k: (k + 1, theano.scan_module.until(k > 200)), outputs_info=0, n_steps=10_000
    )
    assert theano.function([], rows)().tolist() == list(range(1, 203))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "int32"])
def test_a_narrow_type_that_was_written_wraps(dtype):
    for first in (np.dtype(dtype).type(0), np.zeros((), dtype), T.constant(0, dtype=dtype)):
        rows, _ = theano.scan(lambda k: k + T.constant(100, dtype=dtype), outputs_info=first, n_steps=5)
        made = theano.function([], rows)()
        assert made.dtype == np.dtype(dtype)
        with np.errstate(over="ignore"):
            expected = np.cumsum(np.full(5, 100, dtype), dtype=dtype)
        np.testing.assert_array_equal(made, expected)


REALS = ["float16", "float32", "float64", "bfloat16"]


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("first", [0, 0.0, 0.5, 2], ids=str)
def test_a_number_combined_with_floats_has_their_type(dtype, first):
    x = typed(dtype)
    rows, _ = theano.scan(lambda x, s: x + s, x, first)
    assert rows.dtype == dtype
    if dtype == "bfloat16":
        return
    made = theano.function([x], rows)(X.astype(dtype))
    np.testing.assert_array_equal(made, first + np.cumsum(X.astype(dtype)))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"])
def test_a_whole_number_beside_integers_is_int64(dtype):
    x = typed(dtype)
    rows, _ = theano.scan(lambda x, s: x + s, x, 0)
    assert rows.dtype == "int64"
    value = np.array([100] * 4 if dtype != "bool" else [1, 0, 1, 1], dtype)
    np.testing.assert_array_equal(theano.function([x], rows)(value), np.cumsum(value, dtype=np.int64))


def test_a_real_number_beside_integers_is_as_theirs():
    x = typed("int32")
    rows, _ = theano.scan(lambda x, s: x * 2 + s, x, 0.5)
    assert rows.dtype == "float64"  # as that of 0.5 * int32
    assert theano.function([x], rows)(np.array([1, 2], np.int32)).tolist() == [2.5, 6.5]


@pytest.mark.parametrize("floatx", ["float32", "float64"])
def test_what_meets_no_variable_is_floatx(floatx):
    with theano.config.change_flags(floatX=floatx):
        for first in (1.0, 1, 0.1):
            rows, _ = theano.scan(lambda s: 0.5 * s + 1, outputs_info=first, n_steps=3)
            assert rows.dtype == floatx
            expected = [np.dtype(floatx).type(first)]
            for _ in range(3):
                expected.append(np.dtype(floatx).type(0.5) * expected[-1] + 1)
            np.testing.assert_array_equal(theano.function([], rows)(), expected[1:])
        grown, _ = theano.scan(lambda k: T.exp(k) - 1, outputs_info=0, n_steps=2)
        assert grown.dtype == floatx


def test_what_a_step_computes_of_numbers_adapts_like_a_number():
    x = typed("float32")
    steps = {
        "sum first": lambda x, k: (k + 1) * x,
        "function": lambda x, k: T.tanh(k) + x,
        "choice": lambda x, k: T.switch(x > 0, k + 1, k) * x,
        "negated": lambda x, k: x - (-k),
        "difference": lambda x, k: abs(k) / 2 + x,
    }
    for name, step in steps.items():
        for first in (1, 1.0):
            assert theano.scan(step, x, first)[0].dtype == "float32", name


def test_several_states_settle_together():
    x = typed("float32")
    (a, b, c), _ = theano.scan(lambda x, a, b, c: [a + 1, a * x + b, c + b], x, [0, 0, 0.0])
    assert [v.dtype for v in (a, b, c)] == ["int64", "float64", "float64"]
    values = theano.function([x], [a, b, c])(np.array([1, 2, 3], np.float32))
    assert [v.tolist() for v in values] == [[1, 2, 3], [0, 2, 8], [0, 0, 2]]
    (a, b), _ = theano.scan(lambda a, b: [b, a], outputs_info=[0, 0.5], n_steps=3)  # which go round
    assert (a.dtype, b.dtype) == ("float64", "float64")
    assert [v.tolist() for v in theano.function([], [a, b])()] == [[0.5, 0, 0.5], [0, 0.5, 0]]


def test_rows_of_numbers_before_the_first_step():
    fib, _ = theano.scan(
        lambda a, b: a + b, outputs_info=dict(initial=[0, 1], taps=[-2, -1]), n_steps=80
    )
    made = theano.function([], fib)()
    expected = [0, 1]
    while len(expected) < 82:
        expected.append(expected[-1] + expected[-2])
    assert made.dtype == np.int64 and made.tolist() == expected[2:]
    x = typed("float32")
    far, _ = theano.scan(
        lambda x, old: x + old, x, dict(initial=[0.25] * 20, taps=[-20])
    )
    assert far.dtype == "float32"
    np.testing.assert_array_equal(theano.function([x], far)(X.astype("float32")), X + 0.25)
    row, _ = theano.scan(lambda x, s: x + s, x, dict(initial=[0, 0]))  # a state of two elements
    assert row.dtype == "float32"
    assert theano.function([x], row)([1, 2]).tolist() == [[1, 1], [3, 3]]


def test_views_of_scan():
    x = typed("float64")
    for make in (theano.foldl, theano.foldr, theano.reduce):
        total, _ = make(lambda x, s: x + s, x, 0)
        assert total.dtype == "float64"
        assert theano.function([x], total)(X) == X.sum()
    count, _ = theano.reduce(lambda x, k: k + 1, x, 0)
    assert theano.function([x], count)(np.zeros(300)) == 300
    kept, _ = theano.scan_checkpoints(lambda x, s: x * s, x, 1, save_every_N=2)
    assert theano.function([x], T.grad(kept[-1], x))(X).tolist() == [X.prod() / each for each in X]


def test_booleans():
    x = typed("float64")
    seen, _ = theano.scan(lambda x, s: T.or_(s, x > 1), x, False)
    assert seen.dtype == "bool"
    assert theano.function([x], seen)(X).tolist() == [False, True, True, True]
    counted, _ = theano.scan(lambda x, s: s + (x > 1), x, False)
    assert counted.dtype in ("bool", "int64")
    flag, _ = theano.scan(lambda x, s: x > s, x, 0)
    assert flag.dtype == "bool"
    assert theano.function([x], flag)([2, 0.5]).tolist() == [True, False]


def test_loops_in_loops():
    x = typed("float32")

    def outer(x, s):
        inner, _ = theano.scan(lambda s: s * x, outputs_info=s, n_steps=2)
        return inner[-1] + 1

    rows, _ = theano.scan(outer, x, 1)
    assert rows.dtype == "float32"
    assert theano.function([x], rows)([2, 3]).tolist() == [5, 46]

    def count(n):
        inner, _ = theano.scan(lambda k: k + 1, outputs_info=0, n_steps=n)
        return inner[-1]

    many, _ = theano.map(count, T.arange(150, 152))
    assert theano.function([], many)().tolist() == [150, 151]


def test_a_cast_in_a_step_is_a_type():
    x = typed("float64")
    rows, _ = theano.scan(lambda x, s: T.cast(x + s, "int16"), x, 0)
    assert rows.dtype == "int16"
    assert theano.function([x], rows)(X).tolist() == [0, 1, 3, 0]
    # What is computed in between has the type that the state has in the end.
    y = typed("float32")
    wide, _ = theano.scan(lambda y, s: T.cast(s + y, "float64"), y, 0.0)
    assert wide.dtype == "float64"
    value = np.array([1, 1e-9], np.float32)
    np.testing.assert_array_equal(theano.function([y], wide)(value), np.cumsum(value, dtype=float))


def test_a_number_that_the_type_does_not_hold_is_refused():
    x = typed("float64")
    for first, dtype in ((300, "int8"), (0.5, "int64"), (-1, "uint8"), (2, "bool")):
        with pytest.raises(ValueError, match=f"output 0 begins with {first}, which {dtype} cannot hold") as caught:
            theano.scan(lambda x, s: T.cast(x, dtype), x, first)
        assert ".astype('" in str(caught.value)


def test_gradients_of_loops_that_begin_with_numbers():
    x, w = typed("float32"), T.scalar("w", dtype="float32")
    rows, _ = theano.scan(lambda x, s: w * s + x, x, 1)
    slope = theano.grad(rows[-1], w)
    assert slope.dtype == "float32"
    # s3 = w^3 + w^2 x0 + w x1 + x2
    f = theano.function([x, w], slope)
    assert f([1, 2, 3], 2.0) == 3 * 4 + 2 * 2 * 1 + 2


def test_a_step_is_described_once_more_at_most_where_it_must():
    calls = []

    def counting(step):
        return lambda *given: calls.append(1) or step(*given)

    for first, step, most in (
        (0, lambda k: k + 1, 1), (0.0, lambda s: s * 0.5, 1), (np.float64(0), lambda s: s * 0.5, 1),
        (0, lambda s: 0.5 * s, 2), (0.0, lambda s: s + typed("float32", 0), 2),
    ):  # fmt: skip
        calls.clear()
        theano.scan(counting(step), outputs_info=first, n_steps=2)
        assert len(calls) <= most


def test_updates_take_numbers_in_the_type_of_the_variable():
    for dtype in ("float32", "float16", "float64"):
        variable = theano.shared(np.zeros((), dtype))
        theano.function([], updates={variable: 0.1})()
        assert variable.get_value() == np.dtype(dtype).type(0.1)
        variable.set_value(0.3)
        assert variable.get_value() == np.dtype(dtype).type(0.3)
        _, updates = theano.scan(lambda: {variable: 0.7}, n_steps=2)
        theano.function([], updates=updates)()
        assert variable.get_value() == np.dtype(dtype).type(0.7)
    count = theano.shared(0)
    _, updates = theano.scan(lambda: {count: count + 1}, n_steps=300)
    theano.function([], updates=updates)()
    assert count.get_value() == 300 and count.get_value().dtype == np.int64
    with pytest.raises(TypeError, match=r"\.astype\('int64'\)"):
        theano.function([], updates={count: 0.5})
