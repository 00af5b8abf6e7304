"""Complex numbers in expressions, against numpy: values, dtypes, branch cuts, loops, and the same bits
however these are executed. Gradients: test_theano_complex_gradients.py."""

import operator

import numpy as np
import pytest
from complex_numbers import FUNCTIONS, KINDS, NARROW, RANDOM, applied, check, numbers

import scanloom as theano
import scanloom.tensor as T
from scanloom import scan_module
from scanloom._theano import function as functions

# Making them, and taking them apart.


@pytest.mark.parametrize("dtype", KINDS)
def test_parts(dtype):
    z = numbers(3, 4, dtype=dtype)
    z[0, 0] = complex(-0.0, 0.0)
    for function in (T.real, T.imag, T.conj, lambda x: x.real, lambda x: x.imag, lambda x: x.conj()):
        numpy_function = {T.real: np.real, T.imag: np.imag, T.conj: np.conj}.get(function, function)
        check(applied(function, z), numpy_function(z), 0)
    check(applied(T.abs_, z), np.abs(z), 2)
    check(applied(T.angle, z), np.angle(z), 3)
    check(applied(abs, z), abs(z), 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_parts_of_floats(dtype):
    x = np.array([1, -2, 3], dtype)
    check(applied(T.real, x), x)
    check(applied(T.imag, x), np.zeros(3, dtype))
    check(applied(T.conj, x), x)
    np.testing.assert_allclose(applied(T.angle, x), np.angle(x.astype(float)), rtol=1e-6)


@pytest.mark.parametrize(
    "re, im, dtype",
    [("float32", "float32", "complex64"), ("float64", "float64", "complex128"),
     ("float32", "float64", "complex128"), ("int8", "float32", "complex64"),
     ("int64", "int64", "complex128")],
)  # fmt: skip
def test_complex_of_parts(re, im, dtype):
    a, b = np.array([1, -2, 3], re), np.array([4, 0, -6], im)
    check(applied(T.complex, a, b), (a + 1j * b.astype("float64")).astype(dtype), 0)


def test_complex_of_parts_that_broadcast():
    a, b = np.arange(3.0).reshape(3, 1), np.arange(4.0).reshape(1, 4)
    check(applied(T.complex, a, b), a + 1j * b, 0)
    check(applied(lambda x: T.complex(x, 2.0), a), a + 2j, 0)
    check(applied(lambda x: T.complex(0.5, x), b), 0.5 + 1j * b, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_from_polar(dtype):
    length, angle = np.array([1, 2, 0.5], dtype), np.array([0.3, -2, 3.1], dtype)
    expected = (length * np.exp(1j * angle.astype("float64"))).astype(
        "complex64" if dtype == "float32" else "complex128"
    )
    check(applied(T.complex_from_polar, length, angle), expected, 3)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0, 2)])
@pytest.mark.parametrize("dtype", KINDS)
def test_values_go_in_and_out(dtype, shape):
    z = numbers(*shape, dtype=dtype)
    check(applied(lambda x: x, z), z, 0)
    check(applied(lambda x: x + 0 * x, z), z, 0)


def test_kinds_of_variables():
    for make, dtype, ndim in [
        (T.cscalar, "complex64", 0), (T.zscalar, "complex128", 0), (T.cvector, "complex64", 1),
        (T.zvector, "complex128", 1), (T.cmatrix, "complex64", 2), (T.zmatrix, "complex128", 2),
        (T.ztensor3, "complex128", 3),
    ]:  # fmt: skip
        x = make("x")
        assert (x.dtype, x.ndim) == (dtype, ndim)
        assert x.real.dtype == x.imag.dtype == abs(x).dtype == NARROW[dtype]


# Arithmetic.

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", KINDS)
def test_arithmetic(op, dtype):
    a, b = numbers(3, 4, dtype=dtype), numbers(3, 4, dtype=dtype)
    check(applied(op, a, b), op(a, b))
    check(applied(lambda x: op(x, a), b), op(b, a))
    check(applied(lambda x: op(a, x), b), op(a, b))
    row = numbers(1, 4, dtype=dtype)
    check(applied(op, a, row), op(a, row))


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", ["bool", "int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("dtype", KINDS)
def test_arithmetic_with_floats(op, other, dtype):
    a = numbers(4, dtype=dtype)
    b = np.array([1, 1, 1, 1] if other == "bool" else [1, 2, 3, 5], other)
    check(applied(op, a, b), op(a, b))
    check(applied(op, b, a), op(b, a))


@pytest.mark.parametrize("number", [2, -3, 0.1, 2j, 1 - 2j, complex(0.1, 0)], ids=str)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [*KINDS, "float32", "float64", "int8"])
def test_arithmetic_with_numbers(op, number, dtype):
    """Numbers of Python adapt, as in numpy."""
    a = numbers(4, dtype=dtype) if dtype in KINDS else np.array([1, 2, 3, 4], dtype)
    if dtype == "int8" and not isinstance(number, complex):
        return
    check(applied(lambda x: op(x, number), a), op(a, number))
    check(applied(lambda x: op(number, x), a), op(number, a))


def test_sizes_that_one_operand_alone_has():
    z, x = numbers(1, 3), RANDOM.normal(size=(4, 1))
    check(applied(operator.add, z, x), z + x)
    check(applied(operator.sub, x, z), x - z)
    number = numbers()
    check(applied(operator.add, number, np.ones(3)), number + np.ones(3))


def test_division_neither_overflows_nor_vanishes_early():
    big, small = np.array([1e300 + 1e300j, 1e-300 + 2e-300j]), np.array([1e300 - 2e300j, 3e-300 + 1e-300j])
    check(applied(operator.truediv, big, small), big / small)
    check(applied(abs, np.array([3e200 + 4e200j, 3e-200 + 4e-200j])), np.array([5e200, 5e-200]))
    check(applied(abs, np.array([3e30 + 4e30j, 3e-30 + 4e-30j], "complex64")),
          np.array([5e30, 5e-30], "float32"))  # fmt: skip


def test_a_divisor_of_zero():
    with np.errstate(all="ignore"):
        found = applied(operator.truediv, np.array([1 + 2j]), np.array([0j]))
    assert not np.isfinite(found).any()


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 7, -1, -2, 0.5, 1.5, -0.5, 2.25, 1 + 2j, 30])
@pytest.mark.parametrize("dtype", KINDS)
def test_powers(exponent, dtype):
    a = numbers(5, dtype=dtype)
    expected = (a.astype("complex128") ** exponent).astype(dtype)
    check(applied(lambda x: x**exponent, a), expected, 60)
    check(applied(lambda x: T.pow(x, exponent), a), expected, 60)


def test_powers_of_variables():
    a, w, n = numbers(5), numbers(5), np.array([0, 1, 2, -3, 5])
    check(applied(operator.pow, a, w), a**w, 60)
    check(applied(operator.pow, a, n), a**n, 60)
    check(applied(operator.pow, abs(a), w), abs(a) ** w, 60)
    check(applied(lambda x: 2.0**x, a), 2.0**a, 60)
    check(applied(operator.pow, np.zeros(3, complex), np.array([2 + 0j, 0, 1 + 1j])), np.array([0j, 1, 0]))


# Functions.

POINTS = np.concatenate([
    numbers(60, scale=0.5), numbers(60, scale=3), numbers(20, scale=1e-5), 20 * numbers(20),
    RANDOM.normal(size=10) + 0j, 1j * RANDOM.normal(size=10),
])  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", KINDS)
def test_functions(name, dtype):
    """numpy computes in long doubles, of the numbers as they are rounded; both parts are looked at
    together, for either may be a small difference."""
    function, reference = FUNCTIONS[name]
    z = POINTS.astype(dtype)
    if name == "exp2":
        reference = lambda x: np.exp(x * np.log(2.0))  # noqa: E731 - numpy has it only for real numbers
    with np.errstate(all="ignore"):
        expected = reference(z.astype("clongdouble")).astype(dtype)
    keep = np.isfinite(expected)
    check(applied(function, z)[keep], expected[keep], 40)


CUTS = {
    "sqrt": [-4, -1e-3], "log": [-4, -1e-3], "log1p": [-3, -1.5], "arcsin": [-3, 3], "arccos": [-3, 3],
    "arccosh": [-3, -0.5, 0.5], "arctanh": [-3, 3], "arcsinh": [3j, -3j], "arctan": [3j, -3j],
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_cuts_have_sides(name):
    """The sign of a zero selects the side of a branch cut, as in C99 and numpy."""
    function, reference = FUNCTIONS[name]
    sides = []
    for point in map(complex, CUTS[name]):
        for zero in (0.0, -0.0):
            sides.append(complex(zero, point.imag) if point.imag else complex(point.real, zero))
    z = np.array(sides)
    check(applied(function, z), reference(z))


def test_angles_of_zeros_and_axes():
    z = np.array([complex(a, b) for a in (0.0, -0.0, 1, -1) for b in (0.0, -0.0, 1, -1)])
    check(applied(T.angle, z), np.angle(z))


def test_large_arguments():
    z = np.array([400 + 1j, -400 + 2j, 1 + 400j, 2 - 400j, 1e200 + 1e200j, -1e200 + 1j])
    for name in ("tanh", "tan", "arctanh", "arctan", "sqrt", "log"):
        function, reference = FUNCTIONS[name]
        with np.errstate(all="ignore"):
            expected = reference(z)
        keep = np.isfinite(expected)
        check(applied(function, z)[keep], expected[keep], 40)


EXTREMES = [0.0, -0.0, 1.0, -1.0, 85.0, 700.0, 720.0, 1e10, 1e300, -1e10, 1e-300]


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "sinh", "cosh", "sin", "cos", "tan", "tanh"])
@pytest.mark.parametrize("dtype", KINDS)
def test_what_overflows_is_no_nan(name, dtype):
    """One part may be infinite where the other one is 0, or small."""
    function, reference = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        z = np.array([complex(a, b) for a in EXTREMES for b in EXTREMES]).astype(dtype)
        z = z[np.isfinite(z)]
        expected = (np.exp2 if name == "exp2" else reference)(z)
    if name == "expm1":  # numpy has NaN, or an infinity, where e^x alone overflows
        with np.errstate(all="ignore"):
            expected = np.where(z.real > 80, np.exp(z), expected)
    found = applied(function, z)
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(np.isinf(part(found)), np.isinf(part(expected)))
        np.testing.assert_array_equal(np.sign(part(found)), np.sign(part(expected)))
    keep = np.isfinite(expected)
    check(found[keep], expected[keep], 4000)


def test_powers_that_overflow_are_no_nan():
    z = np.array([complex(a, b) for a in EXTREMES for b in EXTREMES])
    with np.errstate(all="ignore"):
        for exponent in (2.5, 1e10, -1e10):
            found, expected = applied(lambda x, w=exponent: x**w, z), z**exponent
            assert not np.isnan(found).any()
            keep = z != 0  # numpy has NaN for what is divided by 0
            np.testing.assert_allclose(found[keep], expected[keep], rtol=1e-6)
        check(applied(lambda x: 2**x, 1e10 + np.array([0j, 1j])), np.exp2(1e10 + np.array([0j, 1j])))
        # A factor that overflows meets one that vanishes.
        z, w = np.array([1e200 + 1e200j, 1e300j]), np.array([2.5 + 1e3j, 3.5 + 1e10j])
        np.testing.assert_allclose(applied(lambda x, y: x**y, z, w), z**w, rtol=1e-6)


def test_logarithms_near_the_unit_circle():
    z = np.exp(1j * np.linspace(-3, 3, 7)) * (1 + 1e-9)
    found = applied(T.log, z)
    np.testing.assert_allclose(found.real, np.log(z).real, atol=4e-16)


# Comparisons.


@pytest.mark.parametrize("dtype", KINDS)
def test_equality(dtype):
    a = np.array([1 + 2j, 1 + 3j, 2 + 2j, complex(np.nan, 0), complex(-0.0, 0)], dtype)
    b = np.array([1 + 2j, 1 + 2j, 1 + 2j, complex(np.nan, 0), 0], dtype)
    check(applied(T.eq, a, b), a == b)
    check(applied(T.neq, a, b), a != b)
    check(applied(lambda x: T.eq(x, 0), b), b == 0)
    check(applied(T.isnan, a), np.isnan(a))
    check(applied(T.isinf, np.array([1j, complex(0, np.inf)])), np.array([False, True]))
    check(applied(lambda x: x.nonzero()[0], b), np.nonzero(b)[0])
    assert applied(T.allclose, b[:3], b[:3])


REFUSED = {
    "lt": (lambda z: z < z, "less does not support complex numbers; use real"),
    "le": (lambda z: T.le(z, 1.0), "less_equal does not support complex numbers; use real"),
    "gt": (lambda z: 1 > z, "less does not support complex numbers; use real"),
    "ge": (lambda z: T.ge(z, z), "less_equal does not support complex numbers; use real"),
    "maximum": (lambda z: T.maximum(z, z), "maximum does not support complex numbers; use real"),
    "clip": (lambda z: z.clip(0, 1), "clip does not support complex numbers; use real"),
    "max": (lambda z: z.max(), "max of 'z'.*: max does not support complex numbers; use real"),
    "argmax": (lambda z: z.argmax(), "argmax does not support complex numbers; use real"),
    "sort": (lambda z: z.sort(), "sort of 'z': sort does not support complex numbers; use real"),
    "argsort": (lambda z: T.argsort(z), "argsort of 'z': argsort does not support complex numbers"),
    "divide": (lambda z: z // 1, "floor division of 'z': floor division does not support complex numbers"),
    "int_div": (lambda z: T.int_div(2, z), "floor division does not support complex numbers"),
    "arctan2": (lambda z: T.arctan2(z, 1.0), "arctan2 does not support complex numbers"),
    "trunc": (lambda z: T.trunc(z), "trunc does not support complex numbers"),
    "floor": (lambda z: T.floor(z), "floor does not support complex numbers; use real"),
    "sgn": (lambda z: T.sgn(z), "sign does not support complex numbers; use real"),
    "mod": (lambda z: z % 2, "mod does not support complex numbers; use real"),
    "sigmoid": (lambda z: T.nnet.sigmoid(z), "sigmoid does not support complex numbers; use real"),
    "softmax": (lambda z: T.nnet.softmax(z), "does not support complex numbers"),
    "float": (lambda z: z.astype("float64"), r"two parts, but float64 has one: take real\(x\)"),
    "int": (lambda z: T.cast(z, "int64"), "two parts, but int64 has one"),
    "complex": (lambda z: T.complex(z, 1.0), "both parts must be real"),
    "grad": (lambda z: T.grad(z.sum(), z), r"complex128, which has no gradient; take real\(x\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_complex_numbers_cannot_do(case):
    do, words = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=words):
        do(T.zvector("z"))


# Sums and products, shapes and indices.


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("dtype", KINDS)
def test_reductions(axis, dtype):
    z = numbers(2, 3, 4, dtype=dtype, scale=1)
    wide = z.astype("complex128")
    for name in ("sum", "mean", "prod"):
        for keepdims in (False, True):
            expected = getattr(np, name)(wide, axis=axis, keepdims=keepdims).astype(dtype)
            check(applied(lambda x: getattr(T, name)(x, axis, keepdims=keepdims), z), expected, 100)
    for name in ("var", "std"):
        expected = getattr(np, name)(wide, axis=axis).astype(NARROW[dtype])
        check(applied(lambda x: getattr(T, name)(x, axis), z), expected, 20)
    check(applied(lambda x: x.norm(2), z), np.asarray(np.linalg.norm(wide.ravel()), NARROW[dtype]))


def test_products_of_nothing():
    z = np.zeros((0, 3), complex)
    check(applied(lambda x: x.prod(axis=0), z), np.ones(3, complex))
    check(applied(lambda x: x.prod(), z), np.asarray(1 + 0j))
    check(applied(lambda x: x.sum(axis=0), z), np.zeros(3, complex))


def test_running_sums_and_products():
    z = numbers(3, 4)
    for axis in (0, 1, None):
        check(applied(lambda x: T.cumsum(x, axis), z), np.cumsum(z, axis), 40)
        check(applied(lambda x: T.cumprod(x, axis), z), np.cumprod(z, axis), 40)


@pytest.mark.parametrize("dtype", KINDS)
def test_products(dtype):
    a, b, v = (numbers(*shape, dtype=dtype) for shape in [(3, 4), (4, 2), (4,)])
    wide_a, wide_b, wide_v = (x.astype("complex128") for x in (a, b, v))
    check(applied(T.dot, a, b), (wide_a @ wide_b).astype(dtype), 40)
    check(applied(T.dot, v, v), np.asarray(wide_v @ wide_v, dtype), 40)
    check(applied(operator.matmul, a, v), (wide_a @ wide_v).astype(dtype), 40)
    check(applied(T.outer, v, v), np.outer(wide_v, wide_v).astype(dtype))
    cube = numbers(2, 3, 4, dtype=dtype)
    expected = np.tensordot(cube.astype("complex128"), wide_b, ([2], [0])).astype(dtype)
    check(applied(lambda x, y: T.tensordot(x, y, [[2], [0]]), cube, b), expected, 40)
    check(applied(T.batched_dot, cube, np.ones((2, 4, 1), dtype)),
          cube.astype("complex128").sum(2, keepdims=True).astype(dtype), 40)  # fmt: skip


def test_products_with_floats():
    a, r = numbers(3, 4), RANDOM.normal(size=(4, 2))
    check(applied(T.dot, a, r), a @ r, 20)
    check(applied(T.dot, r.T, a.T), r.T @ a.T, 20)


MOVES = {
    "row": lambda x: x[1], "element": lambda x: x[1, 2], "reverse": lambda x: x[::-1, ::2],
    "indices": lambda x: x[[2, 0, 2]], "pairs": lambda x: x[[0, 1], [2, 3]], "new axis": lambda x: x[:, None],
    "transpose": lambda x: x.T, "reshape": lambda x: x.reshape((2, 6)), "flatten": lambda x: x.flatten(),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", KINDS)
def test_moves(name, dtype):
    z = numbers(3, 4, dtype=dtype)
    check(applied(MOVES[name], z), MOVES[name](z), 0)


def test_more_moves():
    z = numbers(3, 4)
    check(applied(lambda x: T.concatenate([x, x * 2], 1), z), np.concatenate([z, z * 2], 1))
    check(applied(lambda x: T.stack([x, T.zeros_like(x)]), z), np.stack([z, 0 * z]))
    check(applied(lambda x: T.roll(x, 1, 0), z), np.roll(z, 1, 0))
    check(applied(lambda x: T.tile(x, (2, 1)), z), np.tile(z, (2, 1)))
    check(applied(lambda x: T.diag(x), z[:, :3]), np.diag(z[:, :3]))
    check(applied(lambda x: T.switch(T.gt(x.real, 0), x, 1j), z), np.where(z.real > 0, z, 1j))
    check(applied(lambda x: T.switch(T.gt(x.real, 0), x, 0.0), z), np.where(z.real > 0, z, 0))
    check(applied(lambda x: T.alloc(x, 2, 3, 4), z), np.broadcast_to(z, (2, 3, 4)))
    check(applied(lambda x: x[x.real > 0], z), z[z.real > 0])
    check(applied(lambda x: T.ones_like(x) + T.zeros((3, 4), "complex128"), z), np.ones((3, 4), complex))
    check(applied(lambda x: x.shape, z), np.array([3, 4]))
    check(applied(lambda x: T.tril(x), z), np.tril(z))


def test_writing_to_parts():
    z = numbers(4, 3)
    wanted = z.copy()
    wanted[1] = 5j
    check(applied(lambda x: T.set_subtensor(x[1], 5j), z), wanted)
    wanted = z.copy()
    wanted[::2, 1] += 1 - 1j
    check(applied(lambda x: T.inc_subtensor(x[::2, 1], 1 - 1j), z), wanted)
    wanted = z.copy()
    wanted[[0, 3]] *= 2
    check(applied(lambda x: T.set_subtensor(x[[0, 3]], 2 * x[[0, 3]]), z), wanted)


@pytest.mark.parametrize("dtype", KINDS)
def test_casts(dtype):
    z = numbers(4, dtype=dtype)
    for other in KINDS:
        check(applied(lambda x: x.astype(other), z), z.astype(other))
    for other in ("float32", "int64", "bool"):
        x = np.array([0, 1, 3]).astype(other)
        check(applied(lambda x: T.cast(x, dtype), x), x.astype(dtype))
    z[1] = 0
    check(applied(lambda x: x.astype("bool"), z), z.astype(bool))


def test_constants_and_arguments():
    assert T.constant(1j).dtype == "complex128"
    assert T.constant(np.complex64(1j)).dtype == "complex64"
    c, z, d = T.cscalar("c"), T.zscalar("z"), T.dscalar("d")
    assert (c * 1j).dtype == (T.fscalar() * 1j).dtype == "complex64"
    assert (c + T.dscalar()).dtype == (z + c).dtype == (T.lscalar() * 1j).dtype == "complex128"
    f = theano.function([c, z], [c * z, T.constant([1j, 2]) + z])
    product, vector = f(1 + 1j, 2)
    check(product, np.asarray(2 + 2j))
    check(vector, np.array([2 + 1j, 4]))
    with pytest.raises((TypeError, ValueError), match="is float64, but the value is complex128"):
        theano.function([d], d * 2)(1j)


def test_shared_variables():
    state = theano.shared(np.array([1j, 2.0]), "state")
    turn = theano.function([], state * 1, updates=[(state, state * 1j)])
    check(turn(), np.array([1j, 2]))
    check(turn(), np.array([-1, 2j]))
    check(state.get_value(), np.array([-1j, -2]))


def test_a_branch():
    z, c = T.zvector("z"), T.iscalar("c")
    f = theano.function([z, c], theano.ifelse.ifelse(c, z * 2, T.conj(z)))
    value = numbers(3)
    check(f(value, 1), value * 2)
    check(f(value, 0), value.conj())


# Loops.


def test_states_and_sequences():
    z, z0, w = T.zvector("z"), T.zscalar("z0"), T.zscalar("w")
    rows, _ = theano.scan(lambda x, before, w: w * before + T.exp(x), z, z0, w)
    zs, start, weight = numbers(20), numbers(), numbers(scale=0.3)
    expected, state = [], start
    for x in zs:
        state = weight * state + np.exp(x)
        expected.append(state)
    f = theano.function([z, z0, w], [rows, rows[-1], rows.real.sum(), rows[::-1]])
    found = f(zs, start, weight)
    check(found[0], np.array(expected), 60)
    check(found[1], np.asarray(expected[-1]), 60)
    check(found[2], np.asarray(np.sum(np.real(expected))), 400)
    check(found[3], np.array(expected[::-1]), 60)
    assert "stacked" not in theano.function([z, z0, w], rows[-1]).explain()


def test_no_steps_leave_the_beginning():
    z, n = T.zvector("z"), T.iscalar("n")
    rows, _ = theano.scan(lambda x: x * 1j, outputs_info=z, n_steps=n)
    f = theano.function([z, n], [rows[-1], rows])
    last, none = f(np.array([1 + 2j, 3]), 0)
    check(last, np.array([1 + 2j, 3]))
    assert none.shape == (0, 2) and none.dtype == "complex128"


@pytest.mark.parametrize("far", [False, True])
def test_taps(far):
    depth = 20 if far else 3
    u, before = T.zvector("u"), T.zvector("before")
    rows, _ = theano.scan(
        lambda u_2, u_0, y_far, y_1: u_2 * T.conj(u_0) + 0.5j * y_far - 0.25 * y_1,
        dict(input=u, taps=[-2, 0]),
        dict(initial=before, taps=[-depth, -1]),
    )
    us, ys = numbers(40), list(numbers(depth))
    for t in range(38):
        ys.append(us[t] * us[t + 2].conj() + 0.5j * ys[t] - 0.25 * ys[t + depth - 1])
    found = theano.function([u, before], rows)(us, np.array(ys[:depth]))
    check(found, np.array(ys[depth:]), 40)


@pytest.mark.parametrize("dtype", KINDS)
def test_until(dtype):
    c, limit = T.TensorType(dtype, ())("c"), T.scalar("limit")
    rows, _ = theano.scan(
        lambda z, c: (z * z + c, scan_module.until(abs(z) > limit)),
        outputs_info=T.zeros((), dtype), non_sequences=c, n_steps=50,
    )  # fmt: skip
    point = np.asarray(0.5 + 0.5j, dtype)
    expected, z = [], np.zeros((), dtype)
    for _ in range(50):
        stop = abs(z) > 2
        z = z * z + point
        expected.append(z)
        if stop:
            break
    found = theano.function([c, limit], rows)(point, 2.0)
    check(found, np.array(expected), 4000)


def test_updates_of_shared_variables():
    state = theano.shared(np.asarray(1 + 0j), "state")
    _, updates = theano.scan(lambda: {state: state * (0.5 + 0.5j)}, n_steps=4)
    f = theano.function([], [updates[state] + 1], updates=updates)
    check(f()[0], np.asarray((0.5 + 0.5j) ** 4 + 1))
    check(state.get_value(), np.asarray((0.5 + 0.5j) ** 4))
    f()
    check(state.get_value(), np.asarray((0.5 + 0.5j) ** 8))


def test_loops_in_loops_and_branches():
    z = T.zmatrix("z")

    def outer(row, sum_):
        inner, _ = theano.scan(lambda x, s: s + x * s, row, T.ones_like(sum_))
        return theano.ifelse.ifelse(T.gt(abs(sum_), 3.0), sum_ * 0.5j, sum_ + inner[-1])

    sums, _ = theano.scan(outer, z, T.zeros((), "complex128"))
    values = numbers(6, 4, scale=0.3)
    expected, total = [], 0j
    for row in values:
        total = total * 0.5j if abs(total) > 3 else total + np.prod(1 + row)
        expected.append(total)
    check(theano.function([z], sums)(values), np.array(expected), 40)


def test_states_of_several_kinds():
    z = T.zmatrix("z")
    [rows, counts, real], _ = theano.scan(
        lambda row, a, k, r: [a + row, k + 1, r + abs(row).sum()], z,
        [T.zeros((3,), "complex128"), np.int64(0), np.float64(0)],
    )  # fmt: skip
    values = numbers(5, 3)
    found = theano.function([z], [rows, counts, real])(values)
    check(found[0], np.cumsum(values, 0))
    check(found[1], np.arange(1, 6))
    check(found[2], np.cumsum(np.abs(values).sum(1)))


@pytest.mark.parametrize("first", [1j, 0.5])
@pytest.mark.parametrize("dtype, made", [("float32", "complex64"), ("float64", "complex128")])
def test_a_number_takes_the_type_of_the_steps(first, dtype, made):
    x = T.vector("x", dtype=dtype)
    rows, _ = theano.scan(lambda x, a: 1j * a * x, x, first)
    assert rows.dtype == made
    check(theano.function([x], rows)([1, 2, 4]), first * np.array([1j, -2, -8j], made))
    alone, _ = theano.scan(lambda a: 1j * a, outputs_info=first, n_steps=2)
    assert alone.dtype == "complex128"
    check(theano.function([], alone)(), first * np.array([1j, -1]))


def test_a_complex_number_that_steps_make_real_is_told():
    with pytest.raises(ValueError, match="output 0 begins with a complex number, .* float32, .* complex64") as told:
        theano.scan(lambda x, a: abs(a) * x, T.fvector("x"), 1j)
    assert ".astype('complex64') casts the step's result" in str(told.value)


def test_a_mistaken_state_is_told():
    with pytest.raises(ValueError, match="begins as float64, but a step makes it complex128"):
        theano.scan(lambda x: x * 1j, outputs_info=T.dscalar(), n_steps=2)


def compiled_as(monkeypatch, execution):
    options = theano.SessionOptions(execution=execution)
    monkeypatch.setattr(functions, "SessionOptions", lambda **_: options)


def filter_bank():
    u, poles, z0 = T.vector("u"), T.zvector("poles"), T.zvector("z0")
    rows, _ = theano.scan(
        lambda x, z, p: p * z / (1 + abs(z)) + T.exp(1j * x), u, z0, poles, name="filters"
    )
    cost = (rows.real**2 + abs(rows)).sum()
    f = lambda: theano.function([u, poles, z0], [rows, cost, *T.grad(cost, [u, poles, z0])])  # noqa: E731
    return f, (RANDOM.normal(size=3000), numbers(5, scale=0.6), numbers(5))


def escapes():
    c, z0 = T.cmatrix("c"), T.cmatrix("z0")
    [z, counts], _ = theano.scan(
        lambda z, count, c: [
            T.switch(abs(z) < 2, z * z + c, z), count + T.cast(abs(z) < 2, "int32")
        ],
        outputs_info=[z0, T.zeros_like(T.cast(c.real, "int32"))], non_sequences=c, n_steps=200,
    )  # fmt: skip
    grid = (np.linspace(-2, 1, 9) + 1j * np.linspace(-1, 1, 7)[:, None]).astype("complex64")
    return lambda: theano.function([c, z0], [z[-1], counts[-1]]), (grid, np.zeros_like(grid))


@pytest.mark.parametrize("program", [filter_bank, escapes])
def test_all_executions_give_the_same_bits(program, monkeypatch):
    make, values = program()
    results = []
    for execution in ("interpreted", "stepped", "automatic", "compiled"):
        compiled_as(monkeypatch, execution)
        f = make()
        results += [f(*values), f(*values)]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert a.tobytes() == b.tobytes()


def test_loops_become_machine_code():
    z, c, n = T.zscalar("z"), T.zscalar("c"), T.lscalar("n")
    rows, _ = theano.scan(lambda z, c: z * z + c, outputs_info=z, non_sequences=c, n_steps=n)
    f = theano.function([z, c, n], rows[-1])
    f(0j, -0.1 + 0.2j, 100000)
    assert "strategy  compiled" in f.explain()


def test_reduce_and_folds():
    z, value = T.zvector("z"), numbers(5)
    one, nothing = T.ones((), "complex128"), T.zeros((), "complex128")
    check(theano.function([z], theano.reduce(lambda x, s: s + x, z, nothing)[0])(value),
          np.asarray(value.sum()), 20)  # fmt: skip
    left, _ = theano.foldl(lambda x, s: s * 1j + x, z, one)
    right, _ = theano.foldr(lambda x, s: s * 1j + x, z, one)
    for found, order in zip(theano.function([z], [left, right])(value), (value, value[::-1])):
        total = 1
        for x in order:
            total = total * 1j + x
        check(found, np.asarray(total), 20)


# What is around functions.


def test_functions_of_floats_are_written_as_onnx(tmp_path):
    import onnxruntime

    x = T.vector("x")
    rows, _ = theano.scan(lambda u, z: z * (0.5 + 0.5j) + u, x, T.zeros((), "complex128"))
    f = theano.function([x], [abs(rows), rows.imag])
    f.to_onnx(str(tmp_path / "f.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "f.onnx"))
    value = RANDOM.normal(size=6)
    for a, b in zip(session.run(None, {"x": value}), f(value)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(theano.Unsupported, match="no ONNX form"):
        theano.function([x], rows).to_onnx(str(tmp_path / "g.onnx"))


def test_products_of_wrong_sizes_name_what_is_multiplied():
    a, b = T.zmatrix("a"), T.zvector("b")
    with pytest.raises(ValueError, match="(?=.*'a')(?=.*'b')(?=.*4)(?=.*3)"):
        theano.function([a, b], T.dot(a, b))(numbers(2, 3), numbers(4))


def test_replacing_and_copies():
    z, w = T.zvector("z"), T.zvector("w")
    product = z * z
    out = abs(product + 1)
    value = numbers(3)
    check(theano.function([w], theano.clone(out, replace={product: w}))(value), abs(value + 1))
    check(theano.function([z], out, givens={product: z})(value), abs(value + 1))


def test_saved_functions(tmp_path):
    z = T.cvector("z")
    rows, _ = theano.scan(lambda x, s: s * x, z, T.ones((), "complex64"))
    f = theano.function([z], [rows, T.angle(z)])
    f.save(str(tmp_path / "f"))
    value = numbers(5, dtype="complex64")
    for a, b in zip(f(value), theano.load(str(tmp_path / "f"))(value)):
        assert a.tobytes() == b.tobytes()


def test_numpy_functions_of_variables():
    z = T.zvector("z")
    value = numbers(3)
    for function in (np.conj, np.exp, np.abs, np.sqrt):
        check(theano.function([z], function(z))(value), function(value))


def test_sizes_are_checked_as_of_floats():
    z, w = T.zvector("z"), T.zvector("w")
    with pytest.raises(ValueError, match="input 'w' has 3 elements on axis 0, where input 'z' has 2"):
        theano.function([z, w], z * w)(np.ones(2, complex), np.ones(3, complex))
