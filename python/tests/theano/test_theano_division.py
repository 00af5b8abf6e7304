"""Remainders and floored quotients of floats compared with numpy's, which C's fmod defines."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

REALS = ("float64", "float32", "float16")
# By what breaks a - floor(a / b) b: a quotient beyond the mantissa, infinities, zeros of either sign.
FAR = [1e17, 1e20, 1, -1, np.inf, -np.inf, 0, -0.0, 5, -5, 1, -1, 5.3, 1e8, 1e300, 5e-324, np.nan]
BY = [3, 0.1, np.inf, np.inf, 2, 2, -3, 3, 0, 0, 3, -3, 0.1, 3, 1e-300, 3e-320, 1]


def divided(a, b):
    """By way of computing: (a % b, a // b), in one piece, in a loop and in a loop over lanes."""
    dtype = a.dtype.name
    x, y = T.vector(dtype=dtype), T.vector(dtype=dtype)
    single, _ = theano.scan(lambda p, q: [p % q, p // q], [x, y])
    lanes, _ = theano.scan(
        lambda p, q: [p % q, p // q], [x.dimshuffle(0, "x"), y.reshape((1, -1))[[0] * len(a)]]
    )
    f = theano.function([x, y], [T.mod(x, y), T.int_div(x, y), *single, *lanes])
    mod, div, *rest = f(a, b)
    return [(mod, div), tuple(rest[:2])], tuple(rest[2:])


def assert_same(got, expected):
    np.testing.assert_array_equal(got, expected)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[there], np.signbit(expected)[there])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", REALS)
def test_far_quotients(dtype):
    a, b = np.array(FAR).astype(dtype), np.array(BY).astype(dtype)
    each, table = divided(a, b)
    for mod, div in each:
        assert_same(mod, a % b)
        assert_same(div, a // b)
    assert_same(table[0], a[:, None] % b)
    assert_same(table[1], a[:, None] // b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", REALS)
def test_random_bits(dtype):
    random = np.random.default_rng(7)
    a, b = (random.bytes(np.dtype(dtype).itemsize * 300) for _ in range(2))
    a, b = np.frombuffer(a, dtype), np.frombuffer(b, dtype)
    near = (b * random.integers(-3000, 3000, 300)).astype(dtype)  # about whole quotients
    for left in (a, near, np.nextafter(near, np.inf, dtype=dtype), np.nextafter(near, a)):
        each, _ = divided(left, b)
        for mod, div in each:
            assert_same(mod, left % b)
            assert_same(div, left // b)


def test_gradients_of_remainders():
    x, y = T.vectors("x", "y")
    a, b = np.array([5.3, -7.0, 1.0]), np.array([2.0, 3.0, np.inf])
    of_mod = theano.function([x, y], T.grad((x % y).sum(), [x, y]))(a, b)
    np.testing.assert_array_equal(of_mod[0], [1, 1, 1])
    np.testing.assert_array_equal(of_mod[1], [-2, 3, 0])
    of_div = theano.function([x, y], T.grad((x // y).sum(), [x, y]))(a, [0.0, 3, 1])
    np.testing.assert_array_equal(of_div, np.zeros((2, 3)))
