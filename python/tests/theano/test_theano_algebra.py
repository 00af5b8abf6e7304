"""Sorting, and functions of matrices with their gradients."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom.gradient import verify_grad

RANDOM = np.random.default_rng(4)
SQUARE = RANDOM.normal(size=(5, 5))
POSITIVE = SQUARE @ SQUARE.T + 0.5 * np.eye(5)


@pytest.mark.parametrize("axis", [-1, 0, 1, None])
def test_sorting(axis):
    x = T.matrix()
    value = RANDOM.integers(-3, 3, size=(4, 6)).astype(float)
    f = theano.function([x], [T.sort(x, axis), T.argsort(x, axis), x.sort(axis)])
    found = f(value)
    np.testing.assert_array_equal(found[0], np.sort(value, axis))
    np.testing.assert_array_equal(found[1], np.argsort(value, axis, kind="stable"))
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "bool"])
def test_dtypes_of_sorting(dtype):
    x = T.TensorType(dtype, (False,))()
    value = np.array([1, 0, 1, 0], dtype)
    found = theano.function([x], [x.sort(), x.argsort()])(value)
    assert found[0].dtype == dtype and found[1].dtype == np.int64
    np.testing.assert_array_equal(found[0], np.sort(value))


def test_nan_comes_last():
    x = T.vector()
    found = theano.function([x], T.sort(x))([2.0, np.nan, -1.0])
    np.testing.assert_array_equal(found, [-1, 2, np.nan])


def test_nonzero():
    x = T.matrix()
    value = np.array([[0.0, 2, 0], [3, 0, 4]])
    found = theano.function([x], list(T.nonzero(x)))(value)
    for one, expected in zip(found, np.nonzero(value)):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_inverses_and_determinants(size):
    x = T.matrix()
    value = RANDOM.normal(size=(size, size))
    f = theano.function([x], [T.nlinalg.matrix_inverse(x), T.nlinalg.det(x)])
    inverse, det = f(value)
    np.testing.assert_allclose(inverse @ value, np.eye(size), atol=1e-9)
    np.testing.assert_allclose(det, np.linalg.det(value), rtol=1e-9)


def test_pivots():
    x = T.matrix()
    value = np.array([[0.0, 1, 0], [0, 0, 2], [3, 0, 0]])
    f = theano.function([x], [T.nlinalg.matrix_inverse(x), T.nlinalg.det(x)])
    np.testing.assert_allclose(f(value)[0], np.linalg.inv(value))
    np.testing.assert_allclose(f(value)[1], 6)


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_solve(shape):
    a, b = T.matrix(), T.TensorType("float64", (False,) * len(shape))()
    right = RANDOM.normal(size=shape)
    found = theano.function([a, b], T.slinalg.solve(a, b))(SQUARE, right)
    np.testing.assert_allclose(found, np.linalg.solve(SQUARE, right), rtol=1e-9)


def test_cholesky():
    x = T.matrix()
    found = theano.function([x], T.slinalg.cholesky(x))(POSITIVE)
    np.testing.assert_allclose(found, np.linalg.cholesky(POSITIVE), rtol=1e-9, atol=1e-12)


def test_narrow_and_whole_matrices():
    x, i = T.fmatrix(), T.imatrix()
    assert theano.function([x], T.nlinalg.det(x))(np.eye(2, dtype="float32")).dtype == np.float32
    assert theano.function([i], T.nlinalg.det(i))(np.eye(2, dtype="int32")) == 1.0
    with pytest.raises(ValueError):
        T.nlinalg.det(T.vector())


@pytest.mark.parametrize(
    "fun",
    [
        T.nlinalg.matrix_inverse, T.nlinalg.det, lambda x: T.slinalg.solve(x, x[:, 0] ** 2),
        lambda x: T.slinalg.cholesky(T.dot(x, x.T) + 0.5 * T.eye(5)), lambda x: T.sort(x, axis=0),
        T.nlinalg.trace, lambda x: T.diag(x) * 2, lambda x: T.tril(x) ** 2,
    ],
)  # fmt: skip
def test_gradients(fun):
    verify_grad(fun, [SQUARE], abs_tol=1e-5, rel_tol=1e-5)


def convolved(x, w, border, step, flip, spread):
    """conv2d, element by element."""
    rows, columns = (1 + (k - 1) * d for k, d in zip(w.shape[2:], spread))
    pads = {"valid": (0, 0), "full": (rows - 1, columns - 1), "half": (rows // 2, columns // 2)}
    top, left = pads[border] if isinstance(border, str) else border
    x = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)))
    w = w[:, :, ::-1, ::-1] if flip else w
    places = [
        [
            np.einsum(
                "ncij,fcij->nf",
                x[:, :, i : i + rows : spread[0], j : j + columns : spread[1]], w,
            )
            for j in range(0, x.shape[3] - columns + 1, step[1])
        ]
        for i in range(0, x.shape[2] - rows + 1, step[0])
    ]  # fmt: skip
    return np.array(places).transpose(2, 3, 0, 1)


CONVOLUTIONS = [
    ("valid", (1, 1), True, (1, 1)), ("full", (1, 1), True, (1, 1)), ("half", (1, 1), True, (1, 1)),
    ((1, 2), (1, 1), False, (1, 1)), ("valid", (2, 2), False, (1, 1)), ("full", (2, 1), True, (1, 2)),
    ("half", (2, 3), True, (2, 1)),
]  # fmt: skip


@pytest.mark.parametrize("border,step,flip,spread", CONVOLUTIONS, ids=str)
def test_conv2d(border, step, flip, spread):
    x, w = RANDOM.normal(size=(2, 3, 7, 6)), RANDOM.normal(size=(4, 3, 3, 2))

    def conv(a, b):
        return T.nnet.conv2d(
            a, b, border_mode=border, subsample=step, filter_flip=flip, filter_dilation=spread
        )

    a, b = T.tensor4(), T.tensor4()
    expected = convolved(x, w, border, step, flip, spread)
    np.testing.assert_allclose(theano.function([a, b], conv(a, b))(x, w), expected, rtol=1e-10)
    verify_grad(conv, [x[:1, :2], w[:2, :2]], n_tests=1, abs_tol=1e-6, rel_tol=1e-6)


@pytest.mark.parametrize(
    "options",
    [dict(border_mode="same"), dict(border_mode=(1, -1)), dict(subsample=(0, 1)),
     dict(filter_dilation=2.5), dict(num_groups=2)],
    ids=str,
)  # fmt: skip
def test_convolutions_that_are_refused(options):
    with pytest.raises(ValueError):
        T.nnet.conv2d(T.tensor4(), T.tensor4(), **options)
    with pytest.raises(ValueError):
        T.nnet.conv2d(T.matrix(), T.tensor4())
