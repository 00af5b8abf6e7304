"""Expressions that overflow or cancel as written but have finite, accurate results: values and
gradients at moderate and at very large arguments."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

MODERATE = np.array([[-2.0, 0.3, 1.7], [0.0, 0.01, -0.5], [20.0, -35.0, 33.0]])
LARGE = np.array([[1000.0, -1000.0, 0.0], [-1000.0, -999.0, -800.0], [750.0, 749.0, -1e30]])
POINTS = {"moderate": MODERATE, "large": LARGE}
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


def mixture_gradient(x):
    """Returns the gradient of log(softmax(x)[:, 0] * sigmoid(x[:, 1]) + sigmoid(x[:, 2]))."""
    first = (x - log_sum(x))[:, 0] - softplus(-x[:, 1])
    share = sigmoid(first + softplus(-x[:, 2]))
    slope = share[:, None] * -soft(x)
    slope[:, 0] += share
    slope[:, 1] += share * sigmoid(-x[:, 1])
    slope[:, 2] += (1 - share) * sigmoid(-x[:, 2])
    return slope


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
    "log of a product": (
        lambda x: T.log(2 * T.nnet.sigmoid(x) * T.nnet.softmax(x)),
        lambda x: np.log(WIDE(2)) - softplus(-x) + x - log_sum(x),
        lambda x: sigmoid(-x) + 1 - 3 * soft(x),
    ),
    "log of a product along an axis": (
        lambda x: T.log(T.nnet.sigmoid(x).prod(axis=1)),
        lambda x: -softplus(-x).sum(1),
        lambda x: sigmoid(-x),
    ),
    "log of odds": (
        lambda x: T.log(T.nnet.sigmoid(x) / (1 - T.nnet.sigmoid(x))),
        lambda x: x,
        np.ones_like,
    ),
    "log of an inverse": (lambda x: T.log(1 / T.nnet.sigmoid(x)), lambda x: softplus(-x),
        lambda x: -sigmoid(-x)),
    "log of powers": (
        lambda x: T.log(T.sqrt(T.nnet.sigmoid(x)) * T.nnet.softmax(x) ** 0.1 * T.nnet.sigmoid(x) ** 1.3),
        lambda x: -1.8 * softplus(-x) + 0.1 * (x - log_sum(x)),
        lambda x: 1.8 * sigmoid(-x) + 0.1 * (1 - 3 * soft(x)),
    ),
    "log of a density": (
        lambda x: T.log(T.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)),
        lambda x: -(np.asarray(x, WIDE) ** 2) / 2 - np.log(2 * WIDE(np.pi)) / 2,
        lambda x: -x,
    ),
    "log of a join": (
        lambda x: T.log(T.join(0, T.nnet.sigmoid(x), T.nnet.softmax(x)[1:], T.ones_like(x))),
        lambda x: np.concatenate([-softplus(-x), (x - log_sum(x))[1:], 0 * x]),
        lambda x: sigmoid(-x) + (1 - 3 * soft(x)) * np.array([[0], [1], [1]]),
    ),
    "log of a stack, picked": (
        lambda x: T.log(T.stack([T.nnet.sigmoid(x), 1 - T.nnet.sigmoid(x)])[T.constant([1, 0]), 1]),
        lambda x: np.stack([-softplus(x[1]), -softplus(-x[1])]),
        lambda x: (sigmoid(-x) - sigmoid(x)) * np.array([[0], [1], [0]]),
    ),
    "log of a choice": (
        lambda x: T.log(T.switch(x < 0.2, T.nnet.sigmoid(x), 0.5)),
        lambda x: np.where(x < 0.2, -softplus(-x), -np.log(WIDE(2))),
        lambda x: np.where(x < 0.2, sigmoid(-x), 0),
    ),
    "log of a likelihood": (
        lambda x: T.log(T.prod(T.switch(T.constant(TARGET > 0.2), T.nnet.sigmoid(x), 1 - T.nnet.sigmoid(x)))),
        lambda x: -softplus(np.where(TARGET > 0.2, -x, x)).sum(),
        lambda x: np.where(TARGET > 0.2, sigmoid(-x), -sigmoid(x)),
    ),
    "log of a sum of three exp": (
        lambda x: T.log(T.exp(x) + T.exp(1 - x) + T.exp(x / 2)),
        lambda x: log_sum(np.stack([x, 1 - x, x / 2]), 0)[0],
        lambda x: (soft(np.stack([x, 1 - x, x / 2]), 0) * np.reshape([1, -1, 0.5], (3, 1, 1))).sum(0),
    ),
    "log of 1 and several exp": (
        lambda x: T.log(T.exp(x) + 2 * T.exp(-x) + 1),
        lambda x: log_sum(np.stack([x, np.log(WIDE(2)) - x, 0 * x]), 0)[0],
        lambda x: (soft(np.stack([x, np.log(WIDE(2)) - x, 0 * x]), 0) * np.reshape([1, -1, 0], (3, 1, 1))).sum(0),
    ),
    "log of a sum with weights": (
        lambda x: T.log((T.constant(WEIGHTS) * T.exp(x)).sum(axis=1)),
        lambda x: log_sum(x + np.log(WEIGHTS.astype(WIDE)))[:, 0],
        lambda x: soft(x + np.log(WEIGHTS.astype(WIDE))),
    ),
    "log of a mixture": (
        lambda x: T.log(T.nnet.softmax(x)[:, 0] * T.nnet.sigmoid(x[:, 1]) + T.nnet.sigmoid(x[:, 2])),
        lambda x: np.logaddexp((x - log_sum(x))[:, 0] - softplus(-x[:, 1]), -softplus(-x[:, 2])),
        lambda x: mixture_gradient(x),
    ),
    "log1p of a product": (
        lambda x: T.log1p(2 * T.exp(x)),
        lambda x: softplus(x + np.log(WIDE(2))),
        lambda x: sigmoid(x + np.log(WIDE(2))),
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
    x = np.clip(LARGE, -3e4, 3e4).astype(dtype)
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
    """Values computed in a step are stable, and so is the gradient through the loop."""
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
    p = soft(LARGE[0][None])[0]
    found = theano.function([x], T.hessian(cost, x))(LARGE[0])
    np.testing.assert_allclose(found, np.diag(p) - np.outer(p, p), atol=1e-15)
    push = theano.function([x], T.Rop(T.log(T.nnet.sigmoid(x)), x, T.ones_like(x)))(LARGE[0])
    np.testing.assert_allclose(push, sigmoid(-LARGE[0]), atol=1e-15)


# The graph stays as written: intermediate values are kept for gradients, givens and copies.


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
    found = theano.function([q], copy)(LARGE)
    np.testing.assert_allclose(found, 2 * LARGE - log_sum(2 * LARGE), rtol=1e-14)


def test_other_readers_keep_theirs():
    x = T.matrix("x")
    p = T.nnet.softmax(x)
    cost = -T.log(p).sum() + (p**2).sum()
    names = theano.function([x], [p, cost, T.grad(cost, x)])
    found, value, slope = names(LARGE)
    s = soft(LARGE)
    np.testing.assert_allclose(found, s, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(value, (log_sum(LARGE) - LARGE).sum() + (s**2).sum())
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


def test_what_is_not_chosen_does_not_spoil_gradients():
    """0 times infinity, where the logarithm of what is not read were differentiated."""
    x, b = T.vector("x"), T.vector("b")
    p, keeps = T.nnet.sigmoid(x), T.constant([True, False, True])
    at, rest = np.array([-1000.0, 2.0, 3.0]), np.array([0.0, 4.0, -1.0])
    parts = T.join(0, p, b)[T.constant([0, 4])]
    for y, value, of_x, of_b in [
        (T.switch(keeps, p, b), [-1000, np.log(4), -softplus(-3)], [1, 0, sigmoid(-3)], [0, 0.25, 0]),
        (
            T.switch(keeps, p * 2, T.switch(keeps, 3.0, b)),
            [np.log(2) - 1000, np.log(4), np.log(2) - softplus(-3)],
            [1, 0, sigmoid(-3)],
            [0, 0.25, 0],
        ),
        (T.switch(keeps, 1 - p, b), [0, np.log(4), -softplus(3)], [0, 0, -sigmoid(3)], [0, 0.25, 0]),
        (T.switch(keeps, p, b * p), [-1000, np.log(4) - softplus(-2), -softplus(-3)],
         [1, sigmoid(-2), sigmoid(-3)], [0, 0.25, 0]),
    ]:  # fmt: skip
        y = T.log(y)
        found = theano.function([x, b], [y, *T.grad(y.sum(), [x, b])])(at, rest)
        np.testing.assert_allclose(found[0], np.array(value, float), rtol=1e-14)
        np.testing.assert_allclose(found[1], np.array(of_x, float), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(found[2], of_b, rtol=1e-14)
    y = T.log(parts)
    of_b = theano.function([x, b], T.grad(y.sum(), b))(np.ones(3), rest)
    np.testing.assert_allclose(of_b, [0, 0.25, 0])


def test_signs_and_zeros():
    x, b = T.vector("x"), T.vector("b")
    p = T.nnet.sigmoid(x)
    at, rest = np.array([1.0, 2.0, -3.0, 0.5]), np.array([-2.0, 0.0, 3.0, -0.5])
    with np.errstate(all="ignore"):
        for made in (
            lambda p, b, log: log(p * b),
            lambda p, b, log: log(b / p),
            lambda p, b, log: log(p**b),
            lambda p, b, log: log((1 + b) * (b - 1)),  # two negative factors have a product
            lambda p, b, log: log((1 + b) * p),
            lambda p, b, log: log(p + b),
            lambda p, b, log: log((p * b) ** 2),
        ):
            found = theano.function([x, b], made(p, b, T.log), on_unused_input="ignore")(at, rest)
            expected = made(sigmoid(at).astype(float), rest, np.log)
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    nothing = theano.function([x, b], T.log(T.exp(x) ** b))(-np.inf * np.ones(2), np.zeros(2))
    np.testing.assert_array_equal(nothing, 0)


def test_of_what_lies_between_in_a_product():
    x, b = T.vector("x"), T.vector("b")
    p = T.nnet.sigmoid(x)
    y = T.log(p * b)
    found = theano.function([x, b], [T.grad(y.sum(), p), *T.grad(y.sum(), [b, x])])(
        [1.0, -2.0], [2.0, 5.0]
    )
    np.testing.assert_allclose(found[0], 1 / sigmoid([1.0, -2.0]).astype(float))
    np.testing.assert_allclose(found[1], [0.5, 0.2])
    np.testing.assert_allclose(found[2], sigmoid([-1.0, 2.0]).astype(float))
    both = T.log(p * T.exp(p))  # the same value as factor and in an exponent
    slope = theano.function([x], T.grad(both.sum(), x))([-1000.0, 0.0])
    np.testing.assert_allclose(slope, [1, 0.75])


def test_deep_and_shared_products():
    x = T.scalar("x")
    p = chain = shared = T.nnet.sigmoid(x)
    for _ in range(3000):
        chain = chain * p + 1
        chain = T.log(chain) if _ % 500 == 0 else chain
    for _ in range(40):
        shared = shared * shared
    found = theano.function([x], [chain, T.log(shared)])(60.0)
    assert np.isfinite(found[0])
    assert found[1] == pytest.approx(0, abs=1e-12)


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
