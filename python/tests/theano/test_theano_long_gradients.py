"""Gradients of scalar recurrences over many steps, whose cotangents are computed in blocks of steps
(pass affine_backward), compared with formulas in numpy that go back step by step."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def affine_function(dtype, **options):
    a, b, weights = (T.vector(name, dtype=dtype) for name in ("a", "b", "weights"))
    h, _ = theano.scan(
        lambda a, b, h: a * h + b,
        sequences=[a, b],
        outputs_info=T.constant(np.asarray(0.5, dtype)),
        **options,
    )
    return theano.function([a, b, weights], T.grad((h * weights).sum(), [a, b]))


def affine_reference(a, b, weights):
    a, b, weights = (np.asarray(x, np.float64) for x in (a, b, weights))
    before, h = np.empty_like(a), 0.5
    for t in range(a.size):
        before[t] = h
        h = a[t] * h + b[t]
    by_b, back = np.empty_like(a), 0.0
    for t in reversed(range(a.size)):
        by_b[t] = back = back + weights[t]
        back *= a[t]
    return by_b * before, by_b


def draw(steps, dtype, seed=3):
    random = np.random.default_rng(seed)
    a = (0.9 + 0.2 * random.standard_normal(steps)).astype(dtype)
    return a, *(random.standard_normal(steps).astype(dtype) for _ in range(2))


def in_blocks(function):
    return "affine_scan" in function.ir()


# Whole blocks, blocks and some steps, and few steps, which are taken one by one.
@pytest.mark.parametrize("steps", [0, 1, 2047, 2048, 2049, 2100, 6000, 20011])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 3e-6), ("float64", 1e-13)])
def test_affine_recurrence(steps, dtype, tolerance):
    function = affine_function(dtype)
    arrays = draw(steps, dtype)
    for got, expected in zip(function(*arrays), affine_reference(*arrays)):
        assert got.shape == expected.shape
        scale = np.abs(expected).max(initial=1)
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)
    assert in_blocks(function) == (
        steps >= 2048 and (dtype == "float32" or steps in (2048, 6000))
    )


def test_backwards():
    a, b, weights = draw(4096, "float32")
    got = affine_function("float32", go_backwards=True)(a, b, weights)
    by_a, by_b = affine_reference(a[::-1], b[::-1], weights)
    np.testing.assert_allclose(got[0], by_a[::-1], rtol=0, atol=1e-4)
    np.testing.assert_allclose(got[1], by_b[::-1], rtol=0, atol=1e-4)


# Products of factors overflow while the cotangent is 0: no NaN may come of it.
def test_factors_that_overflow():
    a, b, weights = draw(4096, "float32")
    b[:] = 0
    a[1000:1016] = 1e30
    a[990:1000], a[1016] = 0, 0
    weights[1000:1016] = 0
    got = affine_function("float32")(a, b, weights)
    for value, expected in zip(got, affine_reference(a, b, weights)):
        assert np.isfinite(value).all()
        np.testing.assert_allclose(value, expected, rtol=0, atol=3e-5)


def test_only_steps_before_an_infinity_see_it():
    a, b, weights = draw(4096, "float32")
    weights[2000] = np.inf
    _, by_b = affine_function("float32")(a, b, weights)
    _, expected = affine_reference(a, b, weights)
    assert np.isinf(expected[2000])
    np.testing.assert_allclose(by_b[2001:], expected[2001:], rtol=0, atol=1e-4)
    assert not np.isfinite(by_b[:2001]).any()


# A chain of three operations, sums over the steps, and functions.
def test_tanh_unit_with_parameters():
    steps = 5000
    xs, w, u = T.dvector("xs"), T.dscalar("w"), T.dscalar("u")
    h, _ = theano.scan(
        lambda x, h, w, u: T.tanh(w * h + u * x),
        sequences=xs,
        outputs_info=T.constant(np.float64(0)),
        non_sequences=[w, u],
    )
    function = theano.function([xs, w, u], T.grad((h**2).sum(), [w, u]))
    values = np.random.default_rng(4).standard_normal(steps)

    def cost(w, u):
        h, total = 0.0, 0.0
        for x in values:
            h = np.tanh(w * h + u * x)
            total += h * h
        return total

    got = function(values, 0.7, 0.4)
    step = 1e-30j  # complex steps are exact
    expected = cost(0.7 + step, 0.4).imag / 1e-30, cost(0.7, 0.4 + step).imag / 1e-30
    np.testing.assert_allclose(got, expected, rtol=1e-11)
    assert in_blocks(function)


def test_truncated_and_ended_early():
    a, b, weights = draw(4096, "float64")
    _, by_b = affine_function("float64", truncate_gradient=10)(a, b, weights)
    assert (by_b[:-10] == 0).all() and (by_b[-10:] != 0).all()
    xs = T.dvector("xs")
    h, _ = theano.scan(
        lambda x, h: (0.9 * h + x, theano.scan_module.until(h > 3)),
        sequences=xs,
        outputs_info=T.constant(np.float64(0)),
    )
    function = theano.function([xs], [h.shape[0], T.grad(h[-1], xs)])
    taken, got = function(np.full(4096, 0.4))
    expected = np.zeros(4096)
    expected[:taken] = 0.9 ** np.arange(taken - 1, -1, -1)
    assert 5 < taken < 4096
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_forward_recurrences_keep_their_bits():
    a, b, _ = draw(4096, "float32")
    va, vb = T.fvector("a"), T.fvector("b")
    h, _ = theano.scan(
        lambda a, b, h: a * h + b, sequences=[va, vb], outputs_info=T.constant(np.float32(0.5))
    )
    function = theano.function([va, vb], h)
    expected, state = np.empty_like(a), np.float32(0.5)
    for t in range(a.size):
        state = a[t] * state + b[t]
        expected[t] = state
    np.testing.assert_array_equal(function(a, b), expected)
    assert not in_blocks(function)
