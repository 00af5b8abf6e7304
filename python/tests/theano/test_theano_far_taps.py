"""Outputs that steps read many steps back, which a loop keeps in rings; expected values by numpy."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

RANDOM = np.random.default_rng(21)
TAPS = [[-16], [-17], [-40, -1], [-1, -33, -3], [-2, -18, -17, -20], [-100]]
STEPS = [0, 1, 5, 17, 50, 300]


def weighted(tap, i):
    return (0.3 + 0.1 * i) * np.tanh(tap)


def by_numpy(initial, rows, taps):
    """Computes a step that adds half a row and the weighted taps."""
    values = list(initial[: -min(taps)])
    for row in rows:
        values.append(row * 0.5 + sum(weighted(values[tap], i) for i, tap in enumerate(taps)))
    return np.array(values[-min(taps) :]).reshape((len(rows), *np.shape(initial)[1:]))


def loop(taps, axes, **options):
    x0 = T.TensorType("float64", (False,) * (1 + axes))("x0")
    rows = T.TensorType("float64", (False,) * (1 + axes))("rows")

    def step(row, *before):
        return row * 0.5 + sum((0.3 + 0.1 * i) * T.tanh(x) for i, x in enumerate(before))

    xs, _ = theano.scan(step, rows, dict(initial=x0, taps=taps), **options)
    return x0, rows, xs


def feeds(taps, axes, steps):
    tail = (3,) * axes
    return RANDOM.normal(size=(2 - min(taps), *tail)), RANDOM.normal(size=(steps, *tail))


@pytest.mark.parametrize("axes", [0, 1])
@pytest.mark.parametrize("taps", TAPS, ids=str)
def test_values(taps, axes):
    x0, rows, xs = loop(taps, axes)
    f = theano.function([x0, rows], [xs, xs[-1], xs[-3:]])
    for steps in STEPS:
        initial, given = feeds(taps, axes, steps)
        expected = by_numpy(initial, given, taps)
        all_rows, last, last_three = f(initial, given)
        assert all_rows.shape == expected.shape
        np.testing.assert_allclose(all_rows, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(last, all_rows[-1] if steps else initial[-min(taps) - 1])
        np.testing.assert_array_equal(last_three, all_rows[-3:])


@pytest.mark.parametrize("checkpoint", [None, {"every": 7}, "sqrt"], ids=str)
@pytest.mark.parametrize("axes", [0, 1])
@pytest.mark.parametrize("taps", TAPS, ids=str)
def test_gradients(taps, axes, checkpoint):
    x0, rows, xs = loop(taps, axes, checkpoint=checkpoint)
    weights = rows.type("weights")
    f = theano.function([x0, rows, weights], T.grad((xs * weights).sum() + xs[-1].sum(), [x0, rows]))

    def cost(initial, given, w):
        values = by_numpy(initial, given, taps)
        return (values * w).sum() + values[-1].sum()

    for steps in STEPS[1:]:
        initial, given = feeds(taps, axes, steps)
        w = RANDOM.normal(size=given.shape)
        found = f(initial, given, w)
        ways = RANDOM.normal(size=initial.shape), RANDOM.normal(size=given.shape)
        small = 1e-6
        ahead = cost(initial + small * ways[0], given + small * ways[1], w)
        back = cost(initial - small * ways[0], given - small * ways[1], w)
        slope = sum((g * way).sum() for g, way in zip(found, ways, strict=True))
        assert slope == pytest.approx((ahead - back) / (2 * small), rel=1e-6, abs=1e-6)


def test_second_derivatives():
    x0 = T.vector("x0")
    xs, _ = theano.scan(lambda x: x * x, outputs_info=dict(initial=x0, taps=[-20]), n_steps=45)
    f = theano.function([x0], T.hessian(xs[-1] + xs[-2], x0))
    values = RANDOM.uniform(0.5, 1.2, 20)
    expected = np.zeros((20, 20))
    expected[4, 4], expected[3, 3] = 56 * values[4] ** 6, 56 * values[3] ** 6
    np.testing.assert_allclose(f(values), expected, rtol=1e-10)


def test_truncated_gradients():
    x0, rows = T.vector("x0"), T.vector("rows")
    xs, _ = theano.scan(
        lambda row, x: row + x, rows, dict(initial=x0, taps=[-20]), truncate_gradient=30
    )
    slopes = theano.function([x0, rows], T.grad(xs[-1], [x0, rows]))(np.ones(20), np.ones(61))
    np.testing.assert_array_equal(slopes[0], np.zeros(20))
    np.testing.assert_array_equal(np.flatnonzero(slopes[1]), [40, 60])


def test_until():
    x0 = T.vector("x0")
    xs, _ = theano.scan(
        lambda x: (x + 1, theano.scan_module.until(x >= 24)),
        outputs_info=dict(initial=x0, taps=[-25]), n_steps=1000,
    )  # fmt: skip
    f = theano.function([x0], [xs, T.grad(xs.sum(), x0)])
    found, slopes = f(np.zeros(25))
    np.testing.assert_array_equal(found, np.repeat(np.arange(1.0, 26.0), 25)[: len(found)])
    assert len(found) == 24 * 25 + 1
    np.testing.assert_array_equal(slopes, [25] + [24] * 24)


def test_beside_updates_and_other_outputs():
    count, x0 = theano.shared(np.int64(0)), T.matrix("x0")
    [xs, doubled], updates = theano.scan(
        lambda before, last: ([before + 1, 2 * last], {count: count + 1}),
        outputs_info=[dict(initial=x0, taps=[-30, -1]), None], n_steps=64,
    )  # fmt: skip
    f = theano.function([x0], [xs, doubled], updates=updates)
    initial = RANDOM.normal(size=(31, 2))
    found, twice = f(initial)
    values = list(initial[:30])
    for _ in range(64):
        values.append(values[-30] + 1)
    np.testing.assert_array_equal(found, values[30:])
    np.testing.assert_array_equal(twice, 2 * np.array(values[29:-1]))
    assert count.get_value() == 64


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float32", "complex64"])
def test_dtypes(dtype):
    x0 = T.TensorType(dtype, (False,))("x0")
    xs, _ = theano.scan(lambda x: x, outputs_info=dict(initial=x0, taps=[-18]), n_steps=40)
    initial = RANDOM.integers(0, 2, 18).astype(dtype)
    np.testing.assert_array_equal(theano.function([x0], xs)(initial), np.tile(initial, 3)[:40])


def test_a_loop_in_a_loop():
    starts = T.matrix("starts")

    def inner(start):
        xs, _ = theano.scan(
            lambda far, near: far + near, outputs_info=dict(initial=start, taps=[-19, -1]), n_steps=50
        )
        return xs[-1]

    lasts, _ = theano.scan(inner, starts)
    given = RANDOM.normal(size=(4, 19))
    expected = []
    for row in given:
        values = list(row)
        for _ in range(50):
            values.append(values[-19] + values[-1])
        expected.append(values[-1])
    np.testing.assert_allclose(theano.function([starts], lasts)(given), expected, rtol=1e-10)


def test_very_far():
    x0, n = T.vector("x0"), T.lscalar("n")
    xs, _ = theano.scan(
        lambda far, near: far + 0.5 * near,
        outputs_info=dict(initial=x0, taps=[-100_000, -1]), n_steps=n,
    )  # fmt: skip
    f = theano.function([x0, n], [xs, T.grad(xs[-1], x0)])
    initial = RANDOM.normal(size=100_000)
    values = list(initial)
    for _ in range(100_500):
        values.append(values[-100_000] + 0.5 * values[-1])
    found, slope = f(initial, 100_500)
    np.testing.assert_allclose(found, values[100_000:], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(slope[499], 1 + 0.5**100_000, rtol=1e-12)
    assert found.shape == (100_500,) and np.count_nonzero(slope) > 500


def test_too_few_rows():
    x0 = T.matrix("x0")
    xs, _ = theano.scan(lambda x: x, outputs_info=dict(initial=x0, taps=[-1000]), n_steps=2)
    with pytest.raises(ValueError, match="999.*1000"):
        theano.function([x0], xs)(np.ones((999, 2)))
    with pytest.raises(ValueError, match="999 rows, but taps back to -1000"):
        theano.scan(lambda x: x, outputs_info=dict(initial=np.ones(999), taps=[-1000]), n_steps=2)
    with pytest.raises((ValueError, NotImplementedError), match="(reach|look) back"):
        theano.scan(lambda x: x, outputs_info=dict(initial=x0, taps=[-(2**62)]), n_steps=2)


@pytest.mark.parametrize("taps", [[-2], [-20]], ids=str)
def test_rows_of_another_size(taps):
    x0, y = T.matrix("x0"), T.vector("y")
    xs, _ = theano.scan(lambda x: T.concatenate([x, y]), outputs_info=dict(initial=x0, taps=taps),
                        n_steps=3)  # fmt: skip
    with pytest.raises(ValueError):
        theano.function([x0, y], xs)(np.ones((20, 2)), np.ones(1))
    with pytest.raises(ValueError):
        theano.function([x0, y], xs[-1])(np.ones((20, 2)), np.ones(1))


def test_states_are_updated_in_place():
    table, rows = T.matrix("table"), T.matrix("rows")
    tables, _ = theano.scan(
        lambda row, i, table: T.set_subtensor(table[i], row + table[i - 1]),
        [rows, T.arange(1, 400)], table,
    )  # fmt: skip
    f = theano.function([table, rows], tables[-1])
    begin, given = RANDOM.normal(size=(400, 3)), RANDOM.normal(size=(399, 3))
    expected = begin.copy()
    for i in range(1, 400):
        expected[i] = given[i - 1] + expected[i - 1]
    kept = begin.copy()
    np.testing.assert_array_equal(f(begin, given), expected)
    np.testing.assert_array_equal(begin, kept)
    assert "updated in place" in f.explain()
