"""Theano's further names: functions against numpy, settings, messages of those that are missing."""

import warnings

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import compile as compile_module
from scanloom import gradient
from scanloom.tensor import extra_ops

BAD = (TypeError, ValueError)
RANDOM = np.random.default_rng(5)
MATRIX = RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(2, 3, 4))
VECTOR = RANDOM.normal(size=5)
WHOLE = np.array([3, 0, 2, 3, 1])


def variable(array):
    return T.TensorType(array.dtype, [size == 1 for size in array.shape])("x")


def applied(function, *arrays):
    arrays = [np.asarray(array) for array in arrays]
    inputs = [variable(array) for array in arrays]
    return theano.function(inputs, function(*inputs))(*arrays)


def check(found, expected, rtol=1e-12):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-13)


# As the function of that name in numpy.
LIKE_NUMPY = [
    ("diff", (VECTOR,), {}), ("diff", (MATRIX,), dict(n=2, axis=0)), ("diff", (CUBE,), {}),
    ("diff", (np.array([True, False, False]),), {}), ("diff", (VECTOR,), dict(n=9)),
    ("bincount", (WHOLE,), {}), ("bincount", (WHOLE[:0],), {}), ("bincount", (WHOLE, VECTOR), {}),
    ("bincount", (WHOLE,), dict(minlength=7)),
    ("unique", (np.array([[3, 1], [3, 2]]),), {}), ("unique", (VECTOR[:0],), {}),
    ("unique", (np.array([1.5, -2, 1.5]),), {}),
    ("compress", (np.array([True, False, True]), MATRIX), dict(axis=0)),
    ("compress", (np.array([True, False, True]), MATRIX), {}),
    ("repeat", (MATRIX,), dict(repeats=[2, 0, 1], axis=0)),
    ("repeat", (VECTOR, np.array([1, 2, 0, 0, 3])), {}), ("repeat", (VECTOR,), dict(repeats=2)),
    ("take", (MATRIX, np.array([5, -1])), {}), ("take", (CUBE, np.array([[2, 0]])), dict(axis=1)),
    ("take", (MATRIX, np.array([7, -9])), dict(axis=1, mode="wrap")),
    ("take", (MATRIX, np.array([7, -9])), dict(axis=1, mode="clip")),
    ("tri", (), dict(n=3)), ("trace", (MATRIX,), {}), ("trunc", (VECTOR * 3,), {}),
    ("arctan2", (RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(4, 5))), {}),
    ("arctan2", (np.array([0, 1, -1, 0, 2.0]), np.array([-1, 0, 0, 0, -2.0])), {}),
    ("deg2rad", (VECTOR,), {}), ("rad2deg", (VECTOR,), {}),
    ("isfinite", (np.array([1, np.inf, np.nan]),), {}),
    ("isclose", (np.array([1, np.inf, np.nan, 2]), np.array([1 + 1e-9, np.inf, np.nan, 2.1])), {}),
    ("isclose", (np.array([np.nan, -np.inf]), np.array([np.nan, np.inf])), dict(equal_nan=True)),
    ("logaddexp", (np.array([1, 800, -800, np.inf, -np.inf]), np.array([2, 800, 1, 0, -np.inf])), {}),
    ("flatnonzero", (np.array([[0, 1], [2, 0]]),), {}), ("moveaxis", (CUBE,), dict(source=0, destination=-1)),
    ("moveaxis", (CUBE,), dict(source=[0, 2], destination=[1, 0])),
    ("rollaxis", (CUBE,), dict(axis=2)), ("rollaxis", (CUBE,), dict(axis=0, start=3)),
    ("matmul", (CUBE, CUBE.swapaxes(1, 2)), {}), ("square", (VECTOR,), {}),
]  # fmt: skip


@pytest.mark.parametrize("name, arrays, options", LIKE_NUMPY)
def test_like_numpy(name, arrays, options):
    found = applied(lambda *xs: getattr(T, name)(*xs, **options), *arrays)
    named = {"N": options["n"]} if name == "tri" else options
    check(found, np.asarray(getattr(np, name)(*arrays, **named)))


def test_arctan2_keeps_narrow_floats_and_has_a_gradient():
    x, y = np.float32([1, -2]), np.float32([0.5, 3])
    assert applied(T.arctan2, x, y).dtype == np.float32
    assert applied(T.arctan2, np.array([1]), np.array([1])).dtype == np.float64
    gradient.verify_grad(T.arctan2, [MATRIX, MATRIX[::-1]])
    gradient.verify_grad(T.logaddexp, [MATRIX, MATRIX[::-1]])
    a, b = T.scalar(), T.scalar()
    slopes = theano.function([a, b], theano.grad(T.logaddexp(a, b), [a, b]))
    np.testing.assert_array_equal(slopes(3, 3), [0.5, 0.5])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_arctan2_at_zeros_infinities_and_the_smallest_numbers(dtype):
    info = np.finfo(dtype)
    values = [0, 1, np.inf, info.max, info.smallest_subnormal, info.tiny, 0.3]
    axis = np.array([sign * value for value in values for sign in (1, -1)], dtype)
    y, x = (grid.ravel() for grid in np.meshgrid(axis, axis))
    a, b = T.TensorType(dtype, (False,))(), T.TensorType(dtype, (False,))()
    angle = T.arctan2(a, b)
    found, of_y, of_x = theano.function([a, b], [angle, *T.grad(angle.sum(), [a, b])])(y, x)
    # Of the smallest numbers the quotient itself is not exact.
    np.testing.assert_allclose(found, np.arctan2(y, x), rtol=2 * info.eps)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.arctan2(y, x)))
    special = np.isin(abs(y), [0, 1, np.inf]) & np.isin(abs(x), [0, 1, np.inf])
    if dtype == "float64":
        np.testing.assert_array_equal(found[special], np.arctan2(y, x)[special])
    wide_y, wide_x = y.astype(np.longdouble), x.astype(np.longdouble)
    with np.errstate(all="ignore"):
        square = wide_y**2 + wide_x**2
        expected = np.nan_to_num(wide_x / square), np.nan_to_num(-wide_y / square)  # 0 at 0, too
        for slope, wanted in zip((of_y, of_x), expected):
            known = np.isfinite(wanted.astype(dtype)) & (square > 0)
            assert np.isfinite(slope[known]).all()
            np.testing.assert_allclose(slope[known], wanted[known], rtol=4 * info.eps, atol=info.tiny)
    nothing = theano.function([a, b], angle)(np.array([np.nan, 1, np.nan], dtype), np.array([1, np.nan, 0], dtype))
    assert np.isnan(nothing).all()


def test_choose():
    numbers, choices = np.array([[0, 2], [1, 0]]), [np.arange(2.0), np.float64(10), np.ones((2, 2))]
    expected = np.choose(numbers, choices)
    check(applied(lambda a, *cs: T.choose(a, list(cs)), numbers, *choices), expected)
    check(applied(lambda a: a.choose(choices), numbers), expected)
    for mode in ("wrap", "clip"):
        found = applied(lambda a: T.choose(a, choices, mode=mode), numbers * 3 - 2)
        check(found, np.choose(numbers * 3 - 2, choices, mode=mode))
    for wrong in (3, -1):
        with pytest.raises(IndexError):
            applied(lambda a: T.choose(a, choices), np.array(wrong))


def test_split():
    sizes = np.array([1, 0, 3])
    x, s = T.matrix(), T.ivector()
    f = theano.function([x, s], T.split(x, s, 3, axis=1))
    for part, expected in zip(f(MATRIX, sizes.astype(np.int32)), np.split(MATRIX, [1, 1], axis=1)):
        check(part, expected)
    with pytest.raises(ValueError):
        f(MATRIX, np.int32([1, 1, 1]))
    a, b = theano.function([x], T.split(x, [2, 1], 2))(MATRIX)
    check(a, MATRIX[:2])
    check(b, MATRIX[2:])
    with pytest.raises(ValueError, match="3 parts"):
        T.split(x, [2, 1], 3)


def test_products_of_pairs():
    other = RANDOM.normal(size=(2, 4, 3))
    found = applied(lambda a, b: T.batched_tensordot(a, b, axes=[[2], [1]]), CUBE, other)
    check(found, np.einsum("nab,nbc->nac", CUBE, other))
    found = applied(lambda a, b: T.batched_tensordot(a, b, axes=[[1, 2], [2, 1]]), CUBE, other)
    check(found, np.einsum("nab,nba->n", CUBE, other))
    found = applied(lambda a, b: T.batched_tensordot(a, b, axes=1), CUBE, other)
    check(found, np.einsum("nab,nbc->nac", CUBE, other))


def test_indices():
    numbers = np.array([[0, 5], [11, 7]])
    for order in "CF":
        found = theano.function([], list(T.unravel_index(numbers, (3, 4), order=order)))()
        np.testing.assert_array_equal(found, np.unravel_index(numbers, (3, 4), order=order))
        back = T.ravel_multi_index(np.unravel_index(numbers, (3, 4)), (3, 4), order=order)
        expected = np.ravel_multi_index(np.unravel_index(numbers, (3, 4)), (3, 4), order=order)
        np.testing.assert_array_equal(back.eval(), expected)
    for outside in (([3], [0]), ([0], [-1])):
        with pytest.raises(IndexError):
            T.ravel_multi_index(outside, (3, 4)).eval()
    vast = T.ravel_multi_index(([2**40 - 1], [3]), (2**40, 2**20))  # in no memory for an axis
    assert vast.eval() == [(2**40 - 1) * 2**20 + 3]
    assert T.ravel_multi_index(([4], [-1]), (3, 4), mode="wrap").eval() == [7]
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(extra_ops.inverse_permutation(order).eval(), np.argsort(order))
    np.testing.assert_array_equal(T.nonzero(np.eye(2), return_matrix=True).eval(), [[0, 1]] * 2)
    np.testing.assert_array_equal(T.nonzero_values(np.array([0, 3, 0, 4])).eval(), [3, 4])


def test_diagonals_and_rows_of_one_one():
    expected = MATRIX.copy()
    np.fill_diagonal(expected, 7)
    check(applied(lambda x: T.fill_diagonal(x, 7), MATRIX), expected)
    cube = np.zeros((3, 3, 3))
    np.fill_diagonal(cube, 2)
    check(applied(lambda x: extra_ops.fill_diagonal(x, 2), np.zeros((3, 3, 3))), cube)
    for offset in (-2, -1, 0, 1, 3):
        expected = np.where(np.eye(3, 4, offset) == 1, 7, MATRIX)
        check(applied(lambda x: T.fill_diagonal_offset(x, 7, offset), MATRIX), expected)
    check(applied(lambda y: T.to_one_hot(y, 4), WHOLE), np.eye(4)[WHOLE])
    assert applied(lambda y: T.to_one_hot(y, 4, dtype="int8"), WHOLE).dtype == np.int8
    check(applied(lambda y: T.to_one_hot(y, 4), np.array([-1, 0, -4])), np.eye(4)[[-1, 0, -4]])
    for outside in (-5, 4):
        with pytest.raises(IndexError):
            T.to_one_hot(np.array([outside]), 4).eval()


def test_gradients_of_further_functions():
    gradient.verify_grad(lambda x: T.diff(x, n=2), [MATRIX])
    gradient.verify_grad(lambda w: T.bincount(WHOLE, weights=w), [VECTOR])
    gradient.verify_grad(lambda x: T.repeat(x, [1, 3, 0], axis=0), [MATRIX])
    gradient.verify_grad(lambda x: T.fill_diagonal(x, 1.0), [MATRIX])
    gradient.verify_grad(lambda x: T.choose(np.array([[0, 1, 0, 1]]), [x, x * x]), [MATRIX])
    gradient.verify_grad(lambda x: T.concatenate(T.split(x, [1, 2], 2)[::-1]), [MATRIX])
    gradient.verify_grad(T.nnet.softsign, [MATRIX])
    gradient.verify_grad(T.nnet.selu, [MATRIX])


def test_numbers_that_cannot_be_counted():
    with pytest.raises(IndexError):
        applied(T.bincount, np.array([1, -1]))
    for wrong in (lambda: T.bincount(T.vector()), lambda: T.diff(T.scalar()),
                  lambda: T.diff(T.vector(), n=-1), lambda: T.to_one_hot(T.imatrix(), 3),
                  lambda: T.fill_diagonal(T.vector(), 1), lambda: T.take(T.vector(), 0, mode="x"),
                  lambda: T.choose(T.iscalar(), []), lambda: T.moveaxis(T.matrix(), 0, 2),
                  lambda: T.compress(T.matrix(), T.vector()), lambda: T.unique(T.vector(), True)):
        with pytest.raises(BAD):
            wrong()


def test_grad_scale_and_undefined_grad():
    x = T.vector("x")
    slope = theano.function([x], theano.grad(T.sqr(gradient.grad_scale(x, -2)).sum(), x))
    np.testing.assert_array_equal(slope([1, 2]), [-4, -8])
    rows, _ = theano.scan(lambda v: gradient.grad_scale(v, 3) * 2, x)
    np.testing.assert_array_equal(theano.function([x], theano.grad(rows.sum(), x))([1, 2]), [6, 6])
    with pytest.raises(gradient.NullTypeGradError, match="undefined"):
        theano.grad(gradient.undefined_grad(x).sum(), x)
    with pytest.raises(gradient.NullTypeGradError, match="it counts"):
        theano.grad(gradient.grad_undefined(None, 0, x, "it counts").sum(), x)
    assert theano.grad(gradient.undefined_grad(x).sum(), x, null_gradients="return") is None
    v = T.vector("v")
    hv = gradient.hessian_vector_product((x**3).sum(), x, v)
    np.testing.assert_allclose(theano.function([x, v], hv)([1, 2], [1, 10]), [6, 120])


# What numpy's functions do with variables.

def test_universal_functions():
    x = T.vector("x")
    for function in (np.exp, np.square, np.absolute, np.rint, np.reciprocal, np.negative):
        check(applied(function, VECTOR), function(VECTOR))
    for function in (np.multiply, np.maximum, np.arctan2, np.less, np.equal, np.true_divide):
        check(applied(lambda x: function(VECTOR[::-1], x), VECTOR), function(VECTOR[::-1], VECTOR))
        check(applied(lambda x: function(x, 2.0), VECTOR), function(VECTOR, 2.0))
    check(applied(lambda x: np.logical_and(x, [1, 0, 1, 0, 1]), WHOLE),
          np.logical_and(WHOLE, [1, 0, 1, 0, 1]))
    check(applied(lambda x: VECTOR @ x, VECTOR), np.asarray(VECTOR @ VECTOR), 1e-12)
    total = np.zeros(5)
    total += x
    check(theano.function([x], total)(VECTOR), VECTOR)
    assert isinstance(np.float64(2) * x, T.TensorVariable)
    assert (np.float32(2) * T.fvector()).dtype == "float32"


@pytest.mark.parametrize(
    "use, says",
    [
        (lambda x: np.add.reduce(x), r"numpy.add.reduce computes with arrays.*\n.*write T.sum$"),
        (lambda x: np.maximum.reduce(x), "write T.max$"), (lambda x: np.logical_or.reduce(x), "write T.any$"),
        (lambda x: np.multiply.accumulate(x), "write T.cumprod$"),
        (lambda x: np.subtract.outer(x, x), r"numpy.subtract.outer .*\n.*docs/from-theano"),
        (lambda x: np.linalg.inv(x), r"numpy.linalg.inv .*\n.*write T.nlinalg.matrix_inverse$"),
        (lambda x: np.linalg.det(x), "write T.nlinalg.det$"),
        (lambda x: np.linalg.norm(x), "write T.nlinalg.norm$"),
        (lambda x: np.linalg.solve(x, x), "write T.slinalg.solve$"),
        (lambda x: np.linalg.cholesky(x), "write T.slinalg.cholesky$"),
        (lambda x: np.kron(x, x), "numpy.kron .*\n.*write T.slinalg.kron$"),
        (lambda x: np.linalg.eigh(x), "decompositions are not supported"),
        (lambda x: np.linalg.matrix_rank(x), "docs/from-theano"),
        (lambda x: np.linalg.outer(x[0], x[0]) if hasattr(np.linalg, "outer") else np.outer(x, x), "write T.outer$"),
        (lambda x: np.fft.fft(x), "write T.fft.fft$"),
        (lambda x: np.fft.fftn(x), r"numpy.fft.fftn .*\n.*docs/from-theano"),
        (lambda x: np.sum(x), "T.sum"), (lambda x: np.dot(VECTOR, x), "T.dot"),
        (lambda x: np.concatenate([x, x]), "T.concatenate"), (lambda x: np.where(x, 1, 2), "T.where"),
        (lambda x: np.exp(x, where=[True]), "T.exp"), (lambda x: np.spacing(x), "docs/from-theano"),
        (lambda x: np.linalg.svd(x), "decompositions are not supported"), (lambda x: np.array(x), "eval"),
    ],
)  # fmt: skip
def test_functions_of_numpy_that_take_no_variables(use, says):
    with pytest.raises(TypeError, match=says):
        use(T.matrix("x"))


def test_what_numpy_asks_of_variables():
    assert np.ndim(T.matrix()) == 2
    assert np.shape(T.matrix()).ndim == 1


def test_divmod_and_methods():
    quotient, rest = divmod(T.constant(VECTOR), 0.3)
    check(quotient.eval(), VECTOR // 0.3)
    check(rest.eval(), VECTOR % 0.3)
    x = T.constant(MATRIX)
    check(x.ptp(axis=1).eval(), np.ptp(MATRIX, axis=1))
    check(x.round().eval(), MATRIX.round())
    check(x.take([1, 0], axis=1).eval(), MATRIX.take([1, 0], axis=1))
    check(x.compress([True, False, True], axis=0).eval(), MATRIX[[0, 2]])
    check(x.nonzero_values().eval(), MATRIX.ravel())


# Settings and modules.

def test_settings_without_a_meaning():
    assert theano.config.device == "cpu" and theano.config.optimizer == "fast_run"
    theano.config.exception_verbosity = "high"
    assert theano.config.exception_verbosity == "high"
    theano.config.exception_verbosity = "low"
    theano.config.gcc.cxxflags = "-O3"
    with pytest.raises(AttributeError, match="no setting 'devise'"):
        theano.config.devise
    with theano.config.change_flags(floatX="float32", on_unused_input="ignore"):
        assert T.vector().dtype == "float32"
        theano.function([T.vector()], [])
    assert T.vector().dtype == "float64"

    @theano.change_flags(compute_test_value="raise")
    def mode():
        return theano.config.compute_test_value

    assert (mode(), theano.config.compute_test_value) == ("raise", "off")
    with pytest.raises(AttributeError):
        with theano.change_flags(nothing=1):
            pass


def test_modules():
    assert compile_module.SharedVariable is theano.SharedVariable
    assert theano.compile.function is theano.function
    assert compile_module.get_mode("FAST_COMPILE") == "FAST_COMPILE"
    assert compile_module.get_mode(None) == "FAST_RUN"
    assert isinstance(T.vector(), theano.Variable)
    assert T.basic.exp is T.exp and T.extra_ops.diff is T.diff
    assert T.sharedvar.SharedVariable is theano.SharedVariable
    assert "int8" in T.discrete_dtypes and "float32" in T.float_dtypes
    assert theano.pp(T.vector("x") * 2) == theano.pprint(T.vector("x") * 2)


@pytest.mark.parametrize(
    "ask, says",
    [
        (lambda: T.gammaln, "no such function"),
        (lambda: T.topk, "T.sort"), (lambda: theano.Mode, "FAST_RUN"), (lambda: T.scan, "scanloom.scan"),
        (lambda: theano.sparse, "dense"), (lambda: compile_module.nanguardmode, "numpy.isnan"),
        (lambda: theano.nothing, "scanloom.nothing does not exist here"), (lambda: T.nothing, "T.nothing does not exist here"),
    ],
)  # fmt: skip
def test_names_that_are_missing(ask, says):
    with pytest.raises(AttributeError, match=says):
        ask()


# Parameters of random draws.

@pytest.mark.parametrize(
    "draw, says",
    [
        (lambda s: s.normal((2,), std=-1.0), "std is -1"),
        (lambda s: s.normal((2,), std=np.array([1.0, -2.0])), "array from -2"),
        (lambda s: s.uniform((2,), low=2, high=1), "low is 2 and high 1"),
        (lambda s: s.uniform((2,), low=T.constant(2.0), high=[1.0, 3.0]), "low must not be greater"),
        (lambda s: s.binomial((2,), p=1.5), "p is 1.5"),
        (lambda s: s.binomial((2,), p=np.array([0.5, -0.5])), "between 0 and 1"),
        (lambda s: s.binomial((2,), p=float("nan")), "p is nan"),
        (lambda s: s.random_integers((2,), low=5, high=4), "random_integers: low is 5"),
    ],
)  # fmt: skip
def test_parameters_of_draws(draw, says):
    with pytest.raises(ValueError, match=says):
        draw(T.shared_randomstreams.RandomStreams(1))


def test_draws_with_limits_of_one_value():
    streams = T.shared_randomstreams.RandomStreams(1)
    np.testing.assert_array_equal(streams.uniform((3,), low=2, high=2).eval(), [2] * 3)
    np.testing.assert_array_equal(streams.normal((3,), avg=1, std=0).eval(), [1] * 3)
    np.testing.assert_array_equal(streams.binomial((3,), p=[0.0, 1.0, 1.0]).eval(), [0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streams.uniform((3,), low=T.scalar(), high=[T.scalar(), 1.0, 2.0])


def test_what_the_module_offers_is_its_own_and_says_what_it_is():
    names = dir(T)
    assert {"exp", "grad", "nnet", "arange", "TensorType", "int_dtypes", "dot"} <= set(names)
    assert not {"Any", "Union", "expr_of", "sizes_of", "dtype_name", "config"} & set(names)
    for name in names:
        offered = getattr(T, name)
        assert isinstance(offered, tuple) or offered.__doc__, name
    assert "Any" not in dir(theano) and {"function", "scan"} <= set(dir(theano))


EMPTY = np.zeros((2, 0))


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "mean"])
def test_reductions_of_no_elements(name):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(EMPTY, axis=1)
    check(applied(lambda x: getattr(T, name)(x, axis=1), EMPTY), expected)


def test_extremes_of_no_elements():
    np.testing.assert_array_equal(applied(lambda x: T.max(x, axis=1), EMPTY), [-np.inf] * 2)
    none = EMPTY.astype(np.int8)
    np.testing.assert_array_equal(applied(lambda x: T.min(x, axis=1), none), [127] * 2)
