"""Factors of matrices and what is made of them: values, gradients, errors, loops."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom.gradient import verify_grad

RANDOM = np.random.default_rng(5)
SIZES = [0, 1, 2, 5, 16, 33, 64]


def definite(size, *batch):
    x = RANDOM.normal(size=(*batch, size, size))
    return x @ np.swapaxes(x, -1, -2) + np.eye(size)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_values(dtype, size, batch):
    value = definite(size, *batch).astype(dtype)
    x = T.TensorType(dtype, (False,) * value.ndim)()
    sign, log = T.nlinalg.slogdet(x)
    f = theano.function([x], [T.nlinalg.matrix_inverse(x), sign, log, T.slinalg.cholesky(x)])
    found = f(value)
    expected = [np.linalg.inv(value), *np.linalg.slogdet(value), np.linalg.cholesky(value)]
    for one, wanted in zip(found, expected):
        assert one.dtype == dtype
        tolerance = 1e-10 if dtype == "float64" else 1e-3
        np.testing.assert_allclose(one, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("columns", [None, 0, 1, 3, 40])
def test_solutions(size, columns):
    a = RANDOM.normal(size=(size, size)) + 3 * np.eye(size)
    b = RANDOM.normal(size=size if columns is None else (size, columns))
    x, y = T.matrix(), T.TensorType("float64", (False,) * b.ndim)()
    solvers = [
        T.slinalg.solve, T.slinalg.solve_symmetric, T.slinalg.solve_lower_triangular,
        T.slinalg.solve_upper_triangular,
    ]  # fmt: skip
    found = theano.function([x, y], [solve(x, y) for solve in solvers])(a, b)
    matrices = [a, a, np.tril(a), np.triu(a)]
    for one, matrix in zip(found, matrices):
        np.testing.assert_allclose(matrix @ one, b, atol=1e-8)


def test_batches_broadcast():
    a, b = definite(4, 3, 1), RANDOM.normal(size=(2, 4, 5))
    x, y = T.tensor4(), T.tensor3()
    found = theano.function([x, y], T.slinalg.solve(x, y))(a[:, :, None][:, :, 0], b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-9)


def test_powers_and_kronecker_products():
    x = T.matrix()
    value = RANDOM.normal(size=(3, 3))
    powers = [0, 1, 5, -2]
    f = theano.function([x], [T.nlinalg.matrix_power(x, n) for n in powers])
    for n, found in zip(powers, f(value)):
        np.testing.assert_allclose(found, np.linalg.matrix_power(value, n), rtol=1e-9)
    found = theano.function([x], T.slinalg.kron(x, x[:2]))(value)
    np.testing.assert_allclose(found, np.kron(value, value[:2]))
    with pytest.raises(ValueError):
        T.nlinalg.matrix_power(x, 0.5)


def test_what_cannot_be_factored():
    x = T.matrix("x")
    inverse = theano.function([x], T.nlinalg.matrix_inverse(x))
    with pytest.raises(np.linalg.LinAlgError, match="singular: its pivot 1 is 0") as caught:
        inverse([[1.0, 2.0], [2.0, 4.0]])
    assert isinstance(caught.value, theano.SingularMatrix)
    assert isinstance(caught.value, theano.InvalidArgument)
    with pytest.raises(ValueError, match="2 and 3"):
        inverse(np.zeros((2, 3)))
    root = theano.function([x], T.slinalg.cholesky(x))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite: its pivot 1 is -3"):
        root([[1.0, 2.0], [2.0, 1.0]])
    assert theano.function([x], T.nlinalg.det(x))(np.zeros((2, 2))) == 0
    with pytest.raises(ValueError, match="sizes 2 and 3"):
        T.nlinalg.det(T.constant(np.zeros((2, 3))))
    for bad in (T.nlinalg.det, T.slinalg.cholesky, lambda v: T.slinalg.solve(v, v)):
        with pytest.raises(ValueError, match="1 axes"):
            bad(T.vector())
    with pytest.raises(ValueError, match="on_error"):
        T.slinalg.Cholesky(on_error="nan")
    with pytest.raises(ValueError, match="A_structure"):
        T.slinalg.Solve("banded")


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: T.nlinalg.slogdet(x)[1], lambda x: T.nlinalg.matrix_power(x, -2),
        lambda x: T.slinalg.solve_lower_triangular(x + 3 * T.eye(3), x[0]),
        lambda x: T.slinalg.solve_upper_triangular(x + 3 * T.eye(3), x),
        lambda x: T.slinalg.Cholesky(lower=False)(T.dot(x, x.T) + T.eye(3)),
        lambda x: T.grad(T.nlinalg.det(x) + T.nlinalg.matrix_inverse(x).sum(), x),
        lambda x: T.grad(T.exp(T.slinalg.cholesky(T.dot(x, x.T) + T.eye(3))).sum(), x),
    ],
)  # fmt: skip
def test_gradients(fun):
    value = RANDOM.normal(size=(3, 3)) + 2 * np.eye(3)
    verify_grad(fun, [value], abs_tol=1e-5, rel_tol=1e-5)


def test_forward_derivatives():
    x, v = T.matrix(), T.matrix()
    value, along = definite(3), RANDOM.normal(size=(3, 3))
    pushed = T.Rop(T.nlinalg.matrix_inverse(x), x, v)
    inverse = np.linalg.inv(value)
    found = theano.function([x, v], pushed)(value, along)
    np.testing.assert_allclose(found, -inverse @ along @ inverse, rtol=1e-8)


def kalman(observations, a, c, q, r):
    """The filter in numpy: means, and the logarithm of the likelihood."""
    n = len(a)
    mean, cov, total, means = np.zeros(n), np.eye(n), 0.0, []
    for y in observations:
        mean, cov = a @ mean, a @ cov @ a.T + q
        s = c @ cov @ c.T + r
        e = y - c @ mean
        gain = np.linalg.solve(s, c @ cov).T
        total -= 0.5 * (e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1])
        mean, cov = mean + gain @ e, cov - gain @ s @ gain.T
        means.append(mean)
    return np.array(means), total


def kalman_scan(form):
    """The same as a scan, which solves in that form."""
    ys, a, c, q, r = T.matrix("ys"), T.matrix("a"), T.matrix("c"), T.matrix("q"), T.matrix("r")

    def step(y, mean, cov, total, a, c, q, r):
        mean, cov = T.dot(a, mean), T.dot(T.dot(a, cov), a.T) + q
        s = T.dot(T.dot(c, cov), c.T) + r
        e = y - T.dot(c, mean)
        if form == "solve":
            gain = T.slinalg.solve(s, T.dot(c, cov)).T
            fit = T.dot(e, T.slinalg.solve(s, e)) + T.log(T.nlinalg.det(s))
        elif form == "inverse":
            inverse = T.nlinalg.matrix_inverse(s)
            gain = T.dot(T.dot(cov, c.T), inverse)
            fit = T.dot(T.dot(e, inverse), e) + T.nlinalg.slogdet(s)[1]
        else:
            root = T.slinalg.cholesky(s)
            half = T.slinalg.solve_lower_triangular(root, T.dot(c, cov))
            gain = T.slinalg.solve_upper_triangular(root.T, half).T
            white = T.slinalg.solve_lower_triangular(root, e)
            fit = T.dot(white, white) + 2 * T.log(T.diag(root)).sum()
        mean = mean + T.dot(gain, e)
        cov = cov - T.dot(T.dot(gain, s), gain.T)
        return mean, cov, total - 0.5 * fit

    n = a.shape[0]
    (means, _, totals), _ = theano.scan(
        step,
        ys,
        [T.zeros((n,)), T.eye(n), T.constant(0.0, dtype="float64")],
        non_sequences=[a, c, q, r],
        name="filter",
    )
    return [ys, a, c, q, r], means, totals[-1]


MODEL = [0.9 * np.eye(4) + 0.05 * np.eye(4, k=1), np.eye(4)[:2], 0.1 * np.eye(4), 0.2 * np.eye(2)]


@pytest.mark.parametrize("form", ["solve", "inverse", "cholesky"])
def test_kalman_filter(form):
    inputs, means, likelihood = kalman_scan(form)
    slope = T.grad(likelihood, inputs[1])
    f = theano.function(inputs, [means, likelihood, slope])
    ys = RANDOM.normal(size=(300, 2))
    expected = kalman(ys, *MODEL)
    found = f(ys, *MODEL)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    at = np.zeros((4, 4))
    at[1, 2] = 1e-5
    above, below = (kalman(ys, MODEL[0] + sign * at, *MODEL[1:])[1] for sign in (1, -1))
    np.testing.assert_allclose(found[2][1, 2], (above - below) / 2e-5, rtol=1e-5)


@pytest.mark.parametrize("steps", [5, 2000])
@pytest.mark.parametrize("form", ["solve", "inverse", "cholesky"])
def test_errors_name_the_step(form, steps):
    inputs, means, likelihood = kalman_scan(form)
    f = theano.function(inputs, [means, likelihood])
    a, c, q, r = MODEL
    with pytest.raises(np.linalg.LinAlgError, match="(?s)pivot 0 is 0.*in step 0 of .*filter"):
        f(np.ones((steps, 2)), a, 0 * c, q, 0 * r)


@pytest.mark.parametrize("steps", [5, 2000])
def test_a_later_step_is_named(steps):
    xs = T.vector("xs")
    rows, _ = theano.scan(
        lambda x, kept: T.slinalg.solve(x * T.eye(2), kept), xs, T.ones((2,)), name="march"
    )
    f = theano.function([xs], rows)
    value = np.ones(steps)
    f(value)
    value[steps - 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match=rf"(?s)pivot 0 is 0.*in step {steps - 2} of"):
        f(value)


def test_a_matrix_that_does_not_change_is_factored_once():
    a, b = T.matrix(), T.vector()
    rows, _ = theano.scan(
        lambda x, m: T.slinalg.solve(m, x), outputs_info=b, non_sequences=a, n_steps=6
    )
    f = theano.function([a, b], rows)
    value, begin = definite(3), RANDOM.normal(size=3)
    x = begin
    for found in f(value, begin):
        x = np.linalg.solve(value, x)
        np.testing.assert_allclose(found, x, rtol=1e-9)
