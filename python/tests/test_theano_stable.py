"""Expressions that overflow or cancel as they are written, and whose numbers do not: values and
gradients at moderate and at extreme arguments."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

MODERATE = np.array([[-2.0, 0.3, 1.7], [0.0, 0.01, -0.5], [20.0, -35.0, 33.0]])
EXTREME = np.array([[1000.0, -1000.0, 0.0], [-1000.0, -999.0, -800.0], [750.0, 749.0, -1e30]])
POINTS = {"moderate": MODERATE, "extreme": EXTREME}
WIDE = np.longdouble  # of references
LABELS = np.array([1, 0, 2])
TARGET = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.0, 0.1, 0.9]])
WEIGHTS = np.array([0.5, 2.0, 1.0])
ROWS = np.arange(3)


def log_sum(x, axis=1):
    x = np.asarray(x, WIDE)
    most = x.max(axis, keepdims=True)
    return most + np.log(np.exp(x - most).sum(axis, keepdims=True))


def soft(x, axis=1):
    return np.exp(x - log_sum(x, axis))


def sigmoid(x):
    x = np.asarray(x, WIDE)
    e = np.exp(-abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def softplus(x):
    x = np.asarray(x, WIDE)
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


def picked(x, scale):
    """The gradient of -sum(scale * log(softmax(x))[rows, labels])."""
    one = np.zeros_like(x)
    one[ROWS, LABELS] = 1
    return np.reshape(scale, (-1, 1)) * (soft(x) - one)


def by_hand(x, axis=1):
    e = T.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def by_dimshuffle(x):
    e = T.exp(x)
    return e / e.sum(axis=1).dimshuffle(0, "x")


# By name: the expression; its value; its gradient where the elements of the value are summed up.
MADE = {
    "log of softmax": (
        lambda x: T.log(T.nnet.softmax(x)),
        lambda x: x - log_sum(x),
        lambda x: 1 - 3 * soft(x),
    ),
    "log of a softmax by hand": (
        lambda x: T.log(by_hand(x)),
        lambda x: x - log_sum(x),
        lambda x: 1 - 3 * soft(x),
    ),
    "log of a softmax by hand along the first axis": (
        lambda x: T.log(by_hand(x, 0)),
        lambda x: x - log_sum(x, 0),
        lambda x: 1 - 3 * soft(x, 0),
    ),
    "a softmax by hand": (by_hand, soft, lambda x: 0 * x),
    "squares of a softmax by hand": (
        lambda x: by_dimshuffle(x) ** 2,
        lambda x: soft(x) ** 2,
        lambda x: 2 * soft(x) * (soft(x) - (soft(x) ** 2).sum(1, keepdims=True)),
    ),
    "log of parts of softmax": (
        lambda x: T.log(T.nnet.softmax(x)[1:].T),
        lambda x: (x - log_sum(x))[1:].T,
        lambda x: (1 - 3 * soft(x)) * np.array([[0], [1], [1]]),
    ),
    "logistic regression": (
        lambda x: -T.log(T.nnet.softmax(x))[T.arange(3), T.constant(LABELS)],
        lambda x: (log_sum(x) - x)[ROWS, LABELS],
        lambda x: picked(x, 1),
    ),
    "logistic regression, picked first": (
        lambda x: -T.log(T.nnet.softmax(x)[T.arange(3), T.constant(LABELS)]),
        lambda x: (log_sum(x) - x)[ROWS, LABELS],
        lambda x: picked(x, 1),
    ),
    "mean of logarithms with weights": (
        lambda x: T.mean(
            -T.constant(WEIGHTS) * T.log(T.nnet.softmax(x)[T.arange(3), T.constant(LABELS)])
        ),
        lambda x: (WEIGHTS * (log_sum(x) - x)[ROWS, LABELS]).mean(),
        lambda x: picked(x, WEIGHTS / 3),
    ),
    "crossentropy of classes": (
        lambda x: T.nnet.categorical_crossentropy(T.nnet.softmax(x), T.constant(LABELS)),
        lambda x: (log_sum(x) - x)[ROWS, LABELS],
        lambda x: picked(x, 1),
    ),
    "crossentropy of distributions": (
        lambda x: T.nnet.categorical_crossentropy(T.nnet.softmax(x), T.constant(TARGET)),
        lambda x: (TARGET * (log_sum(x) - x)).sum(1),
        lambda x: soft(x) - TARGET,
    ),
    "binary crossentropy": (
        lambda x: T.nnet.binary_crossentropy(T.nnet.sigmoid(x), T.constant(TARGET)),
        lambda x: TARGET * softplus(-x) + (1 - TARGET) * softplus(x),
        lambda x: sigmoid(x) - TARGET,
    ),
    "log of sigmoid": (
        lambda x: T.log(T.nnet.sigmoid(x)),
        lambda x: -softplus(-x),
        lambda x: sigmoid(-x),
    ),
    "log of 1 less sigmoid": (
        lambda x: T.log(1 - T.nnet.sigmoid(x)),
        lambda x: -softplus(x),
        lambda x: -sigmoid(x),
    ),
    "log1p of a negative sigmoid": (
        lambda x: T.log1p(-T.nnet.sigmoid(x)),
        lambda x: -softplus(x),
        lambda x: -sigmoid(x),
    ),
    "a sigmoid by hand": (
        lambda x: 1 / (1 + T.exp(-x)),
        sigmoid,
        lambda x: sigmoid(x) * sigmoid(-x),
    ),
    "the other sigmoid by hand": (
        lambda x: T.exp(x) / (T.exp(x) + 1),
        sigmoid,
        lambda x: sigmoid(x) * sigmoid(-x),
    ),
    "log of a sigmoid by hand": (
        lambda x: T.log(1 / (1 + T.exp(-x))),
        lambda x: -softplus(-x),
        lambda x: sigmoid(-x),
    ),
    "log of 1 less a sigmoid by hand": (
        lambda x: T.log(1 - 1 / (1 + T.exp(-x - 0.5))),
        lambda x: -softplus(x + 0.5),
        lambda x: -sigmoid(x + 0.5),
    ),
    "log(1 + exp(x))": (lambda x: T.log(1 + T.exp(x)), softplus, sigmoid),
    "log(exp(-x) + 1)": (
        lambda x: T.log(T.exp(-x) + 1.0),
        lambda x: softplus(-x),
        lambda x: -sigmoid(-x),
    ),
    "log1p(exp(x))": (lambda x: T.log1p(T.exp(x)), softplus, sigmoid),
    "log(exp(x))": (lambda x: T.log(T.exp(x)), lambda x: x, np.ones_like),
    "log of a sum of exp": (
        lambda x: T.log(T.exp(x).sum(axis=1)),
        lambda x: log_sum(x)[:, 0],
        soft,
    ),
    "log of a sum of exp, kept": (
        lambda x: T.log(T.sum(T.exp(x), axis=0, keepdims=True)),
        lambda x: log_sum(x, 0),
        lambda x: soft(x, 0),
    ),
    "log of a sum of all exp": (
        lambda x: T.log(T.exp(x).sum()),
        lambda x: log_sum(x.reshape(1, -1))[0, 0],
        lambda x: soft(x.reshape(1, -1)).reshape(x.shape),
    ),
    "log of a mean of exp": (
        lambda x: T.log(T.exp(x).mean(axis=1)),
        lambda x: log_sum(x)[:, 0] - np.log(3),
        soft,
    ),
    "log(exp(x) + exp(1 - x))": (
        lambda x: T.log(T.exp(x) + T.exp(1 - x)),
        lambda x: np.logaddexp(x, 1 - x),
        lambda x: sigmoid(2 * x - 1) - sigmoid(1 - 2 * x),
    ),
    "logsumexp": (
        lambda x: T.logsumexp(x, axis=1, keepdims=True),
        log_sum,
        soft,
    ),
    "logaddexp": (
        lambda x: T.logaddexp(x, 0.5),
        lambda x: np.logaddexp(x, 0.5),
        lambda x: sigmoid(x - 0.5),
    ),
    "elu": (
        T.nnet.elu,
        lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: np.exp(np.minimum(x, 0)),
    ),
    "logsoftmax": (T.nnet.logsoftmax, lambda x: x - log_sum(x), lambda x: 1 - 3 * soft(x)),
}  # fmt: skip
TOLERANCES = {"float64": 1e-12, "float32": 3e-6, "float16": 4e-3}


def compiled(made, dtype):
    x = T.TensorType(dtype, (False, False))("x")
    y = made(x)
    return theano.function([x], [y, T.grad(y.sum(), x)], allow_input_downcast=True)


@pytest.mark.parametrize("at", POINTS)
@pytest.mark.parametrize("name", MADE)
def test_values_and_gradients(name, at):
    made, value, gradient = MADE[name]
    found, slope = compiled(made, "float64")(POINTS[at])
    x = POINTS[at].astype(WIDE)
    np.testing.assert_allclose(found, value(x), rtol=1e-12, atol=1e-14)
    # What cancels leaves the rounding of its parts, which are at most a few.
    np.testing.assert_allclose(slope, gradient(x), rtol=1e-12, atol=2e-15)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", MADE)
def test_narrow_types(name, dtype):
    made, value, gradient = MADE[name]
    x = np.clip(EXTREME, -3e4, 3e4).astype(dtype)
    y = T.TensorType(dtype, (False, False))("x")
    if made(y).dtype != dtype:
        pytest.skip("computed in a wider type")
    found, slope = compiled(made, dtype)(x)
    wide = x.astype(WIDE)
    rtol = TOLERANCES[dtype]
    np.testing.assert_allclose(found, value(wide), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(slope, gradient(wide), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ["logistic regression", "binary crossentropy", "logsumexp"])
def test_in_loops(name):
    """What a step computes is stable, too, and so is the gradient through it."""
    made, value, gradient = MADE[name]
    x, scale = T.matrix("x"), T.scalar("scale")
    rows, _ = theano.scan(lambda s: made(s * x).sum(), sequences=T.stack([scale, scale]))
    cost = rows.sum()
    for at in POINTS.values():
        found, slope = theano.function([x, scale], [cost, T.grad(cost, x)])(at, 1.0)
        np.testing.assert_allclose(found, 2 * value(at).sum(), rtol=1e-12)
        np.testing.assert_allclose(slope, 2 * gradient(at), rtol=1e-12, atol=4e-15)


def test_second_derivatives():
    x = T.vector("x")
    cost = T.log(T.exp(x).sum())
    p = soft(EXTREME[0][None])[0]
    found = theano.function([x], T.hessian(cost, x))(EXTREME[0])
    np.testing.assert_allclose(found, np.diag(p) - np.outer(p, p), atol=1e-15)
    push = theano.function([x], T.Rop(T.log(T.nnet.sigmoid(x)), x, T.ones_like(x)))(EXTREME[0])
    np.testing.assert_allclose(push, sigmoid(-EXTREME[0]), atol=1e-15)


# The graph stays as it is written: what lies between is there for gradients, givens and copies.


def test_gradient_with_respect_to_what_lies_between():
    x = T.matrix("x")
    p = T.nnet.softmax(x)
    cost = T.log(p).sum()
    found, both = theano.function([x], [T.grad(cost, p), T.grad(cost, [x, p])[1]])(MODERATE)
    np.testing.assert_allclose(found, 1 / soft(MODERATE), rtol=1e-12)
    np.testing.assert_allclose(both, 1 / soft(MODERATE), rtol=1e-12)
    given = T.grad(None, x, known_grads={p: T.ones_like(p) * p})
    expected = soft(MODERATE) * (soft(MODERATE) - (soft(MODERATE) ** 2).sum(1, keepdims=True))
    np.testing.assert_allclose(theano.function([x], given)(MODERATE), expected, atol=1e-15)


def test_constants_and_disconnected_parts_stay_so():
    x = T.matrix("x")
    p = T.nnet.softmax(x)
    slope = T.grad((T.log(p) * x).sum(), x, consider_constant=[p])
    found = theano.function([x], slope)(MODERATE)
    np.testing.assert_allclose(found, np.log(soft(MODERATE)), rtol=1e-9)
    fixed = theano.gradient.disconnected_grad(p)
    slope = T.grad((T.log(fixed) * x).sum(), x)
    np.testing.assert_allclose(theano.function([x], slope)(MODERATE), found, rtol=1e-9)


def test_givens_and_copies():
    x, q = T.matrix("x"), T.matrix("q")
    p = T.nnet.softmax(x)
    y = T.log(p)
    given = theano.function([q], y, givens={p: q})(abs(MODERATE) + 1)
    np.testing.assert_allclose(given, np.log(abs(MODERATE) + 1), rtol=1e-14)
    copy = theano.clone(y, replace={x: 2 * q})
    found = theano.function([q], copy)(EXTREME)
    np.testing.assert_allclose(found, 2 * EXTREME - log_sum(2 * EXTREME), rtol=1e-14)


def test_other_readers_keep_theirs():
    x = T.matrix("x")
    p = T.nnet.softmax(x)
    cost = -T.log(p).sum() + (p**2).sum()
    names = theano.function([x], [p, cost, T.grad(cost, x)])
    found, value, slope = names(EXTREME)
    s = soft(EXTREME)
    np.testing.assert_allclose(found, s, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(value, (log_sum(EXTREME) - EXTREME).sum() + (s**2).sum())
    expected = 3 * s - 1 + 2 * s * (s - (s**2).sum(1, keepdims=True))
    np.testing.assert_allclose(slope, expected, atol=1e-14)


def test_logistic_regression_of_the_tutorial():
    x, y, w, b = T.matrix("x"), T.vector("y"), T.vector("w"), T.scalar("b")
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean() + 0.01 * (w**2).sum()
    slopes = T.grad(xent, [w, b])
    points, labels = np.array([[1.0, 2.0], [-3.0, 1.0], [0.5, 0.25]]), np.array([0.0, 1.0, 1.0])
    for scale in (1.0, 1000.0):
        weights = scale * np.array([0.5, -0.75])
        z = points @ weights + 0.1
        cost, of_w, of_b = theano.function([x, y, w, b], [xent, *slopes])(points, labels, weights, 0.1)
        expected = (labels * softplus(-z) + (1 - labels) * softplus(z)).mean()
        np.testing.assert_allclose(cost, expected + 0.01 * (weights**2).sum(), rtol=1e-12)
        rest = (sigmoid(z) - labels) / 3
        np.testing.assert_allclose(of_w, rest @ points + 0.02 * weights, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(of_b, rest.sum(), rtol=1e-12, atol=1e-15)


def test_infinite_scores():
    """A forward algorithm may never reach some states: its scores are minus infinity."""
    x = T.matrix("x")
    y = T.logsumexp(x, axis=1)
    scores = np.array([[-np.inf, 0.0, 1.0], [-np.inf] * 3])
    found, slope = theano.function([x], [y, T.grad(y[0], x)])(scores)
    np.testing.assert_allclose(found, [np.log1p(np.e), -np.inf])
    np.testing.assert_allclose(slope[0], [0, sigmoid(-1.0), sigmoid(1.0)], rtol=1e-14)
    np.testing.assert_array_equal(slope[1], 0)
    a = T.vector("a")
    both = T.logaddexp(a, a)
    values = np.array([np.inf, -np.inf, 3.0])
    found, slope = theano.function([a], [both, T.grad(both.sum(), a)])(values)
    np.testing.assert_allclose(found, [np.inf, -np.inf, 3 + np.log(2)])
    np.testing.assert_allclose(slope, 1)


def test_expm1_and_log1p():
    x = T.vector("x")
    small = np.array([1e-18, -1e-10, 1e-5, -0.5, 0.7, 3.0])
    for y, value, gradient in [
        (T.expm1(x), np.expm1, np.exp),
        (T.exp(x) - 1, np.expm1, np.exp),
        (T.log1p(x), np.log1p, lambda x: 1 / (1 + x)),
        (T.log(1 + x), np.log1p, lambda x: 1 / (1 + x)),
        (T.log(1 - x), lambda x: np.log1p(-x), lambda x: -1 / (1 - x)),
    ]:
        at = small[:5]
        found, slope = theano.function([x], [y, T.grad(y.sum(), x)])(at)
        np.testing.assert_allclose(found, value(at), rtol=6e-16)
        np.testing.assert_allclose(slope, gradient(at), rtol=1e-15)
    far = theano.function([x], T.grad(T.expm1(x).sum(), x))([-40.0, -1000.0, 700.0])
    np.testing.assert_allclose(far, np.exp([-40.0, -1000.0, 700.0]), rtol=1e-15)


def test_what_only_looks_like_it_is_left_alone():
    x, y = T.matrix("x"), T.matrix("y")
    for made in (
        T.exp(x) / T.exp(y).sum(axis=1, keepdims=True),
        T.exp(x) / T.exp(x).sum(axis=0),
        T.exp(x) / T.exp(x).sum(axis=(0, 1), keepdims=True),
        T.log(2 + T.exp(x)),
        T.log(2 - T.nnet.sigmoid(x)),
        T.exp(x) / (1 + T.exp(y)),
        T.exp(x) - 2,
        T.log((2 * T.exp(x)).sum()),
    ):
        with np.errstate(all="ignore"):
            f = theano.function([x, y], made, on_unused_input="ignore")
        e, other = np.exp(MODERATE), np.exp(MODERATE.T)
        assert np.isfinite(f(MODERATE, MODERATE.T)).all()
    found = theano.function([x, y], T.exp(x) / T.exp(y).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found(MODERATE, MODERATE.T), e / other.sum(1, keepdims=True))
    found = theano.function([x], T.exp(x) / T.exp(x).sum(axis=0))
    np.testing.assert_allclose(found(MODERATE), e / e.sum(0))
    found = theano.function([x], T.log(2 - T.nnet.sigmoid(x)))
    np.testing.assert_allclose(found(MODERATE), np.log(2 - sigmoid(MODERATE)), atol=1e-15)
