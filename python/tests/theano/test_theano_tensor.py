"""Functions, operators and methods of scanloom.tensor against numpy, value and dtype."""

import operator

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

BAD = (TypeError, ValueError)
RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.normal(size=(3, 4))
OTHER = RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(2, 3, 4))
VECTOR = RANDOM.normal(size=5)
WHOLE = RANDOM.integers(-9, 9, size=(3, 4))


def value(outputs, **given):
    return theano.function([], outputs)()


def variable(array):
    """An input of the array's kind; axes of size 1 broadcast, as their type says."""
    array = np.asarray(array)
    return T.TensorType(array.dtype, [size == 1 for size in array.shape])("x")


def applied(function, *arrays):
    inputs = [variable(array) for array in arrays]
    return theano.function(inputs, function(*inputs))(*arrays)


def check(found, expected, rtol=1e-12):
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-14)


# Constructors.

KINDS = dict(scalar=0, vector=1, matrix=2, row=2, col=2, tensor3=3, tensor4=4)
PREFIXES = dict(
    b="int8", w="int16", i="int32", l="int64", f="float32", d="float64", c="complex64",
    z="complex128",
)  # fmt: skip
PREFIXES[""] = "float64"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_constructors(prefix, kind):
    make = getattr(T, prefix + kind)
    x = make("x")
    assert (x.name, x.ndim, x.dtype) == ("x", KINDS[kind], PREFIXES[prefix])
    assert make().name is None
    assert x.type == make("y").type
    assert x.broadcastable == {"row": (True, False), "col": (False, True)}.get(
        kind, (False,) * KINDS[kind]
    )


def test_float_x():
    try:
        theano.config.floatX = "float32"
        assert T.vector().dtype == T.zeros((2,)).dtype == "float32"
        with pytest.raises(ValueError):
            theano.config.floatX = "int8"
    finally:
        theano.config.floatX = "float64"
    assert T.vector().dtype == "float64"


def test_types():
    kind = T.TensorType("int16", (False, True))
    assert kind("x").type == kind and kind != T.TensorType("int16", (False, False))
    assert len({kind, T.TensorType(np.int16, [False, True])}) == 1
    with pytest.raises(BAD):
        T.TensorType("int17", ())


def test_several_at_once():
    a, b = T.vectors("a", "b")
    assert (a.name, b.name) == ("a", "b")
    assert len(T.dmatrices(3)) == 3


@pytest.mark.parametrize(
    "x,dtype",
    [(0, "int8"), (-128, "int8"), (128, "int16"), (40000, "int32"), (2**40, "int64"),
     (1.0, "float32"), (0.1, "float64"), (float("inf"), "float32"), (True, "bool"),
     (np.float64(1), "float64"), (np.int64(0), "int64"), (np.asarray(1.0), "float64"),
     ([1, 2], "int64"), ([1.0], "float64"), (1j, "complex128"), (np.float32(1), "float32")],
)  # fmt: skip
def test_dtypes_of_constants(x, dtype):
    for made in (T.constant(x), T.as_tensor_variable(x)):
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.eval(), x)


def test_constants_of_a_dtype():
    assert T.constant(1, dtype="float32").dtype == "float32"
    assert T.constant(1, name="one").name == "one"
    x = T.vector()
    assert T.as_tensor_variable(x) is x
    check(applied(lambda a, b: T.as_tensor_variable([a, b, 3.0]), 1.0, 2.0), [1.0, 2.0, 3.0])


def test_a_constant_is_copied():
    array = np.ones(3)
    made = T.constant(array[::-1]) + 0
    array[:] = 5
    np.testing.assert_array_equal(made.eval(), np.ones(3))


@pytest.mark.parametrize("x", [None, "x", object(), {}, lambda: 1])
def test_what_is_no_variable(x):
    with pytest.raises(BAD):
        T.as_tensor_variable(x)
    with pytest.raises(BAD):
        T.vector() + x


# Operators.

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("other", ["variable", "array", "number"])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators(op, other):
    right = 1.5 if other == "number" else OTHER
    if other == "variable":
        check(applied(op, MATRIX, right), op(MATRIX, right))
    else:
        check(applied(lambda x: op(x, right), MATRIX), op(MATRIX, right))
        check(applied(lambda x: op(right, x), MATRIX), op(right, MATRIX))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_of_integers(op):
    right = np.where(WHOLE[::-1] == 0, 1, WHOLE[::-1])
    check(applied(op, WHOLE, right), op(WHOLE, right))


def test_integers_divided_by_zero():
    a, b = np.array([-7, 7, 0, -(2**63)]), np.array([0, 0, 0, -1])
    with np.errstate(all="ignore"):
        check(applied(operator.floordiv, a, b), a // b)
        check(applied(operator.mod, a, b), a % b)


def test_more_operators():
    check(applied(lambda x: -x, MATRIX), -MATRIX)
    check(applied(abs, MATRIX), abs(MATRIX))
    check(applied(lambda x: x**3, MATRIX), MATRIX**3)
    check(applied(lambda x: 2**x, MATRIX), 2**MATRIX)
    check(applied(lambda x, y: abs(x) ** y, MATRIX, OTHER), abs(MATRIX) ** OTHER, 1e-11)
    mask, other = MATRIX > 0, OTHER > 0
    check(applied(lambda x, y: (x & y) | ~x, mask, other), (mask & other) | ~mask)
    check(applied(lambda x, y: x ^ y, mask, other), mask ^ other)
    check(applied(lambda x, y: (x & y) | ~x, WHOLE, WHOLE + 1), (WHOLE & (WHOLE + 1)) | ~WHOLE)


def test_arrays_on_the_left():
    x = T.dmatrix()
    for made in (MATRIX + x, MATRIX * x, np.float64(2) * x, np.float32(2) - x):
        assert isinstance(made, T.TensorVariable) and made.ndim == 2


@pytest.mark.parametrize("a", ["int8", "int16", "int32", "int64", "float32", "float64", "uint8"])
@pytest.mark.parametrize("b", ["int8", "int16", "int32", "int64", "float32", "float64", "bool"])
def test_promotion(a, b):
    left, right = np.ones(2, a), np.ones(2, b)
    check(applied(operator.add, left, right), left + right)


@pytest.mark.parametrize("number", [1, 2.5, 0.1, -3, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_do_not_widen(dtype, number):
    x = T.TensorType(dtype, (False,))()
    for made in (x + number, number * x, x / 2, 1 - x, T.maximum(x, number), x**2, T.sqr(x)):
        assert made.dtype == dtype


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_numbers_beside_integers(dtype):
    x = T.TensorType(dtype, (False,))()
    assert (x + 1).dtype == dtype
    assert (x / 2).dtype == (x / x).dtype == "float64"
    assert (x // 2).dtype == dtype


def test_identity():
    x, y = T.vector("x"), T.vector("x")
    assert x == x and x != y and not (x == 3)
    assert x and bool(y)  # as in Theano: what is no comparison is true
    assert len({x, y, x}) == 2
    assert {x: 1}[x] == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda x: bool(x > 0), lambda x: x <= 1 and x, lambda x: len(x), lambda x: list(x), lambda x: float(x),
        lambda x: int(x), lambda x: range(x), lambda x: np.asarray(x), lambda x: np.add.reduce(x),
        lambda x: max(x, x), lambda x: x[0.5], lambda x: x["a"], lambda x: x.__setitem__(0, 1),
        lambda x: x[0, 0, 0], lambda x: x.dimshuffle(2, 0),
        lambda x: x.dimshuffle(0, "y"), lambda x: x.sum(axis=2), lambda x: x.sum(axis="0"),
        lambda x: x.reshape((2.5,)), lambda x: x.astype("text"), lambda x: T.cast(x, None),
        lambda x: T.concatenate(x), lambda x: T.concatenate([]), lambda x: T.concatenate([x, x], 2),
        lambda x: T.set_subtensor(x, 1), lambda x: T.set_subtensor(x[0], T.tensor3()),
        lambda x: T.tensordot(x, x, 3), lambda x: T.arange(x), lambda x: T.zeros("3"),
        lambda x: T.dot(np.ones((2, 3)), np.ones((2, 3))), lambda x: x + np.array(["a"]),
        lambda x: T.constant(x), lambda x: T.argmax(x, axis=5), lambda x: T.nnet.softmax("a"),
        lambda x: T.shared_randomstreams.RandomStreams("a"), lambda x: T.eye(2.5),
        lambda x: T.shared_randomstreams.RandomStreams(1).binomial((2,), n=0),
        lambda x: T.shared_randomstreams.RandomStreams(1).uniform((2,), dtype="int32"),
        lambda x: T.shared_randomstreams.RandomStreams(1).uniform((2.5,)),
    ],
)  # fmt: skip
def test_misuses(use):
    with pytest.raises(BAD):
        use(T.matrix("x"))


def test_shapes_can_be_taken_apart():
    rows, columns = T.matrix("x").shape
    assert rows.dtype == columns.dtype == "int64"


def test_attributes():
    x = T.fmatrix("x")
    assert (x.ndim, x.dtype, x.name, str(x)) == (2, "float32", "x", "x")
    x.name = "other"
    assert x.name == "other"
    check(applied(lambda a: a.shape, CUBE), np.array(CUBE.shape))
    check(applied(lambda a: a.T, CUBE), CUBE.T)
    check(applied(lambda a: a.size, CUBE), CUBE.size)
    x.tag.test_value = 3
    assert x.tag.test_value == 3


# Elementwise functions.

UNARY = dict(
    exp=np.exp, sqr=np.square, sin=np.sin, cos=np.cos, tan=np.tan, tanh=np.tanh, sinh=np.sinh,
    cosh=np.cosh, abs_=np.abs, arctan=np.arctan, arcsinh=np.arcsinh, floor=np.floor, ceil=np.ceil,
    round=np.round, sgn=np.sign, isnan=np.isnan, isinf=np.isinf, exp2=np.exp2, expm1=np.expm1,
    neg=np.negative, inv=lambda x: 1 / x,
)  # fmt: skip
OF_POSITIVE = dict(log=np.log, sqrt=np.sqrt, log2=np.log2, log10=np.log10, log1p=np.log1p)


@pytest.mark.parametrize("name", [*UNARY, *OF_POSITIVE])
def test_unary_functions(name):
    x = abs(MATRIX) if name in OF_POSITIVE else MATRIX
    expected = {**UNARY, **OF_POSITIVE}[name](x)
    check(applied(getattr(T, name), x), expected)
    found = applied(getattr(T, name), x.astype("float32"))
    check(found, {**UNARY, **OF_POSITIVE}[name](x.astype("float32")), 2e-6)


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh"])
def test_floats_of_integers(name):
    found = applied(getattr(T, name), abs(WHOLE))
    np.testing.assert_allclose(found, {**UNARY, **OF_POSITIVE}[name](abs(WHOLE)), rtol=1e-12)


BINARY = dict(
    maximum=np.maximum, minimum=np.minimum, lt=np.less, le=np.less_equal, gt=np.greater,
    ge=np.greater_equal, eq=np.equal, neq=np.not_equal, add=np.add, sub=np.subtract,
    mul=np.multiply, true_div=np.divide, int_div=np.floor_divide, mod=np.mod,
)  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    check(applied(getattr(T, name), MATRIX, OTHER), BINARY[name](MATRIX, OTHER))
    check(applied(lambda x: getattr(T, name)(x, 2.0), MATRIX), BINARY[name](MATRIX, 2.0))
    check(applied(getattr(T, name), MATRIX, OTHER[:, :1]), BINARY[name](MATRIX, OTHER[:, :1]))


def test_logical_functions():
    a, b = MATRIX > 0, OTHER > 0
    check(applied(T.and_, a, b), a & b)
    check(applied(T.or_, a, b), a | b)
    check(applied(T.xor, a, b), a ^ b)
    check(applied(T.invert, a), ~a)


def test_switch_and_clip():
    check(applied(lambda x, y: T.switch(x > y, x, y), MATRIX, OTHER), np.maximum(MATRIX, OTHER))
    check(applied(lambda x: T.switch(x, 1.0, x), MATRIX), np.ones_like(MATRIX))
    check(applied(lambda x: T.clip(x, -0.5, 0.5), MATRIX), np.clip(MATRIX, -0.5, 0.5))
    check(applied(lambda x: x.clip(0, 1), MATRIX), np.clip(MATRIX, 0, 1))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "bool", np.float64])
def test_casts(dtype):
    check(applied(lambda x: T.cast(x, dtype), WHOLE), WHOLE.astype(dtype))
    check(applied(lambda x: x.astype(dtype), WHOLE), WHOLE.astype(dtype))


def test_functions_of_networks():
    sigmoid = 1 / (1 + np.exp(-MATRIX))
    check(applied(T.nnet.sigmoid, MATRIX), sigmoid)
    check(applied(T.nnet.softplus, MATRIX), np.log1p(np.exp(MATRIX)), 1e-11)
    check(applied(T.nnet.relu, MATRIX), np.maximum(MATRIX, 0))
    check(applied(lambda x: T.nnet.relu(x, 0.1), MATRIX), np.where(MATRIX > 0, MATRIX, 0.1 * MATRIX))
    e = np.exp(MATRIX - MATRIX.max(axis=1, keepdims=True))
    soft = e / e.sum(axis=1, keepdims=True)
    check(applied(T.nnet.softmax, MATRIX), soft)
    assert applied(T.nnet.softmax, VECTOR).shape == (1, 5)
    target = (OTHER > 0).astype(float)
    check(
        applied(T.nnet.binary_crossentropy, sigmoid, target),
        -(target * np.log(sigmoid) + (1 - target) * np.log(1 - sigmoid)),
    )
    check(applied(T.nnet.categorical_crossentropy, soft, target), -(target * np.log(soft)).sum(1))
    labels = np.array([1, 0, 3])
    check(
        applied(T.nnet.categorical_crossentropy, soft, labels), -np.log(soft[np.arange(3), labels])
    )


# Reductions.


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), [1, 2]])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std", "any", "all"])
def test_reductions(name, axis, keepdims):
    source = CUBE > 0 if name in ("any", "all") else CUBE
    plain = tuple(axis) if isinstance(axis, list) else axis
    expected = getattr(np, name)(source, axis=plain, keepdims=keepdims)
    check(applied(lambda x: getattr(T, name)(x, axis=axis, keepdims=keepdims), source), expected)
    check(applied(lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), source), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_nan_is_the_extreme(name, axis, dtype):
    inf, nan = np.inf, np.nan
    x = np.array([[1, nan, -inf, nan], [inf, 0, -inf, 3], [-0.0, 0, 0, -0.0]], dtype)
    check(applied(lambda x: getattr(T, name)(x, axis=axis), x), getattr(np, name)(x, axis=axis))
    x = T.TensorType(dtype, (False, False))("x")
    rows, _ = theano.scan(lambda row: getattr(T, name)(row), sequences=x)  # in machine code
    lines = np.tile(np.array([[1, nan, -inf, nan], [inf, 0, -inf, 3]], dtype), (200, 1))
    check(theano.function([x], rows)(lines), getattr(np, name)(lines, axis=1))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_indices_of_extremes(name, axis):
    expected = getattr(np, name)(CUBE, axis=axis)
    check(applied(lambda x: getattr(T, name)(x, axis=axis), CUBE), expected)
    check(applied(lambda x: getattr(x, name)(axis), CUBE), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32"])
def test_dtypes_of_reductions(dtype):
    x = T.TensorType(dtype, (False,))()
    real = dtype == "float32"
    assert x.sum().dtype == x.prod().dtype == ("float32" if real else "int64")
    assert x.mean().dtype == ("float32" if real else "float64")
    assert x.sum(dtype="float64").dtype == "float64"


@pytest.mark.parametrize("L", [0, 1, 2, 3, np.inf])
def test_norms(L):
    found = applied(lambda x: x.norm(L), VECTOR)
    np.testing.assert_allclose(found, np.linalg.norm(VECTOR, L))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_cumulative_functions(axis):
    check(applied(lambda x: T.cumsum(x, axis), MATRIX), np.cumsum(MATRIX, axis))
    check(applied(lambda x: T.cumprod(x, axis), MATRIX), np.cumprod(MATRIX, axis))


def test_sums_over_no_axes():
    check(applied(lambda x: x.sum(axis=()), MATRIX), MATRIX)


# Products.


@pytest.mark.parametrize(
    "a,b",
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (3,)), ((2, 3), ()),
     ((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3), (4, 3, 5)), ((0, 3), (3, 2)), ((2, 0), (0, 2))],
)  # fmt: skip
def test_dot(a, b):
    left, right = RANDOM.normal(size=a), RANDOM.normal(size=b)
    check(applied(T.dot, left, right), np.dot(left, right))
    check(applied(theano.dot, left, right), np.dot(left, right))
    check(applied(lambda x, y: x.dot(y), left, right), np.dot(left, right))


@pytest.mark.parametrize("axes", [0, 1, 2, ([2], [0]), ([0, 1], [1, 0]), (2, 2), ([1, 2], [0, 1])])
def test_tensordot(axes):
    left = RANDOM.normal(size=(3, 3, 3))
    right = RANDOM.normal(size=(3, 3, 3))
    check(applied(lambda a, b: T.tensordot(a, b, axes), left, right),
          np.tensordot(left, right, axes))  # fmt: skip


def test_outer_and_batched_dot():
    check(applied(T.outer, VECTOR, MATRIX[0]), np.outer(VECTOR, MATRIX[0]))
    right = RANDOM.normal(size=(2, 4, 5))
    check(applied(T.batched_dot, CUBE, right), CUBE @ right)


# Making and shaping.


@pytest.mark.parametrize("limits", [(5,), (2, 7), (2, 9, 3), (9, 2, -2), (0.5, 2.0, 0.25), (0,)])
def test_arange(limits):
    expected = np.arange(*limits)
    check(T.arange(*limits, dtype=expected.dtype).eval(), expected)
    np.testing.assert_array_equal(T.arange(*limits).eval(), expected)


@pytest.mark.parametrize("kind", ["bscalar", "iscalar", "lscalar"])
def test_arange_of_variables(kind):
    n = getattr(T, kind)()
    found = theano.function([n], T.arange(n))(4)
    check(found, np.arange(4))
    assert T.arange(3, dtype="float32").dtype == "float32"


def test_zeros_and_ones():
    check(T.zeros((2, 3)).eval(), np.zeros((2, 3)))
    check(T.ones(3, dtype="int32").eval(), np.ones(3, "int32"))
    check(T.zeros(()).eval(), np.zeros(()))
    check(applied(lambda x: T.zeros(x.shape), MATRIX), np.zeros((3, 4)))
    check(applied(lambda x: T.ones((x.shape[1], 2)), MATRIX), np.ones((4, 2)))
    check(applied(T.zeros_like, WHOLE), np.zeros_like(WHOLE))
    check(applied(T.ones_like, WHOLE), np.ones_like(WHOLE))
    check(applied(lambda x: T.zeros_like(x, dtype="float32"), WHOLE), np.zeros((3, 4), "float32"))


def test_alloc_and_fill():
    check(applied(lambda x: T.alloc(x, 3, x.shape[0]), VECTOR), np.tile(VECTOR, (3, 1)))
    check(T.alloc(np.float64(2), 2, 2).eval(), np.full((2, 2), 2.0))
    check(applied(lambda x: T.fill(x, 3.0), MATRIX), np.full((3, 4), 3.0, "float32"))


@pytest.mark.parametrize("arguments", [(3,), (2, 4), (4, 2), (3, 3, 1), (3, 4, -1)])
def test_eye(arguments):
    check(T.eye(*arguments).eval(), np.eye(*arguments))


def test_joining():
    check(applied(lambda a, b: T.concatenate([a, b]), MATRIX, OTHER), np.concatenate([MATRIX, OTHER]))
    check(
        applied(lambda a, b: T.concatenate([a, b], axis=-1), MATRIX, OTHER),
        np.concatenate([MATRIX, OTHER], axis=-1),
    )
    check(applied(lambda a, b: T.join(1, a, b), MATRIX, OTHER), np.hstack([MATRIX, OTHER]))
    for axis in (0, 1, -1):
        check(
            applied(lambda a, b: T.stack([a, b], axis=axis), MATRIX, OTHER),
            np.stack([MATRIX, OTHER], axis=axis),
        )
    check(applied(lambda a, b: T.stack(a, b), MATRIX, OTHER), np.stack([MATRIX, OTHER]))


@pytest.mark.parametrize(
    "to", [lambda x: x.reshape((4, 3)), lambda x: x.reshape(4, 3), lambda x: x.reshape((-1, 3)),
           lambda x: T.reshape(x, (4, 3)), lambda x: x.reshape(T.as_tensor_variable([4, 3])),
           lambda x: x.reshape((x.shape[1], x.shape[0])), lambda x: x.reshape([4, -1]),
           lambda x: x.reshape(T.constant(np.array([4, 3])), ndim=2)],
)  # fmt: skip
def test_reshape(to):
    check(applied(to, MATRIX), MATRIX.reshape(4, 3))


def test_reshape_to_a_shape_that_is_given():
    x, shape = T.matrix(), T.lvector()
    f = theano.function([x, shape], x.reshape(shape, ndim=3))
    check(f(MATRIX, [2, 2, 3]), MATRIX.reshape(2, 2, 3))
    with pytest.raises(ValueError):
        f(MATRIX, [2, 2, 2])


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_flatten(ndim):
    check(applied(lambda x: x.flatten(ndim), CUBE), CUBE.reshape(CUBE.shape[: ndim - 1] + (-1,)))


def test_dimshuffle():
    check(applied(lambda x: x.dimshuffle(1, 0), MATRIX), MATRIX.T)
    check(applied(lambda x: x.dimshuffle((1, "x", 0)), MATRIX), MATRIX.T[:, None])
    check(applied(lambda x: x.dimshuffle("x", 0), VECTOR), VECTOR[None])
    check(applied(lambda x: x.dimshuffle([0, "x"]), VECTOR), VECTOR[:, None])
    row = T.row()
    check(theano.function([row], row.dimshuffle(1))(np.ones((1, 4))), np.ones(4))
    check(applied(lambda x: x.transpose(2, 0, 1), CUBE), CUBE.transpose(2, 0, 1))
    check(applied(lambda x: x.swapaxes(0, 2), CUBE), CUBE.swapaxes(0, 2))
    check(applied(lambda x: T.shape_padleft(x, 2), VECTOR), VECTOR[None, None])
    check(applied(T.shape_padright, VECTOR), VECTOR[:, None])


@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -9])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_roll(shift, axis):
    check(applied(lambda x: T.roll(x, shift, axis), MATRIX), np.roll(MATRIX, shift, axis))


def test_repeating():
    check(applied(lambda x: T.tile(x, (2, 3)), MATRIX), np.tile(MATRIX, (2, 3)))
    check(applied(lambda x: T.tile(x, 2), VECTOR), np.tile(VECTOR, 2))
    check(applied(lambda x: T.repeat(x, 3, axis=1), MATRIX), np.repeat(MATRIX, 3, axis=1))
    check(applied(lambda x: T.repeat(x, 2), MATRIX), np.repeat(MATRIX, 2))


def test_broadcast_patterns():
    x = np.ones((1, 4))
    check(applied(lambda a: T.addbroadcast(a, 0), x), x)
    check(applied(lambda a: T.unbroadcast(a, 0), x), x)
    column = T.matrix()
    f = theano.function([column], T.addbroadcast(column, 1))
    with pytest.raises(ValueError):
        f(np.ones((2, 2)))
    with pytest.raises(BAD):
        T.addbroadcast(column, 2)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_diagonals(k):
    check(applied(lambda x: T.diag(x, k), VECTOR), np.diag(VECTOR, k))
    check(applied(lambda x: T.diag(x, k), MATRIX), np.diag(MATRIX, k))
    check(applied(lambda x: T.tril(x, k), MATRIX), np.tril(MATRIX, k))
    check(applied(lambda x: T.triu(x, k), MATRIX), np.triu(MATRIX, k))
    check(applied(T.nlinalg.trace, MATRIX), np.trace(MATRIX))


# Indexing.

KEYS = [
    0, -1, 2, (0, 1), (slice(None), 1), (-1, -2), slice(1, None), slice(None, -1), slice(None, None, 2),
    slice(None, None, -1), (slice(None), slice(3, 0, -1)), (slice(None), None), (None, 1), Ellipsis,
    (Ellipsis, 0), (1, Ellipsis), np.array([2, 0, 2]), [0, 1], (np.array([0, 2]), np.array([1, 3])),
    (slice(None), np.array([0, 0, 3])), (np.array([[0], [2]]), np.array([1, 3])), slice(5, 9),
    (slice(0, 2), 1), (0, slice(1, 3)), np.array([True, False, True]), slice(-2, None),
    np.int64(1), (None, slice(None), None, 2), slice(10), slice(-10, 2),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key):
    check(applied(lambda x: x[key], MATRIX), MATRIX[key])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_writing(key):
    expected = MATRIX.copy()
    expected[key] = 7.0
    check(applied(lambda x: T.set_subtensor(x[key], 7.0), MATRIX), expected)
    expected = MATRIX.copy()
    np.add.at(expected, key, 1.5)
    check(applied(lambda x: T.inc_subtensor(x[key], 1.5), MATRIX), expected)


def test_writing_tensors():
    expected = MATRIX.copy()
    expected[1:, ::2] = OTHER[:2, :2]
    f = applied(lambda x, y: T.set_subtensor(x[1:, ::2], y), MATRIX, OTHER[:2, :2])
    check(f, expected)
    rows = np.array([0, 2, 0])
    expected = MATRIX.copy()
    np.add.at(expected, rows, OTHER)
    check(applied(lambda x, y: T.inc_subtensor(x[rows], y), MATRIX, OTHER), expected)


def test_symbolic_indices():
    x, i, j, rows = T.matrix(), T.lscalar(), T.iscalar(), T.lvector()
    inputs = [x, i, j, rows]
    outputs = [x[i], x[i, j], x[i:], x[:j], x[i:j], x[rows], x[rows, i], x[::i], x[i::-1]]
    f = theano.function(inputs, outputs)
    picked = np.array([2, 0])
    found = f(MATRIX, 1, 2, picked)
    m = MATRIX
    wanted = [m[1], m[1, 2], m[1:], m[:2], m[1:2], m[picked], m[picked, 1], m[::1], m[1::-1]]
    for one, expected in zip(found, wanted):
        check(one, expected)


@pytest.mark.parametrize("index", [3, -4, 100])
def test_indices_outside(index):
    x, i = T.matrix(), T.lscalar()
    with pytest.raises(IndexError):
        theano.function([x, i], x[i])(MATRIX, index)
    with pytest.raises(IndexError):
        theano.function([x], x[index])(MATRIX)


def test_ifelse():
    from scanloom.ifelse import ifelse

    c, x, y = T.bscalar(), T.vector(), T.vector()
    f = theano.function([c, x, y], ifelse(c, x * 2, y[7] + y))
    check(f(1, [1.0, 2.0], [1.0]), np.array([2.0, 4.0]))
    assert theano.ifelse(c, x, y).ndim == theano.ifelse.ifelse(c, x, y).ndim == 1
    with pytest.raises(IndexError):
        f(0, [1.0, 2.0], [1.0])
    both = ifelse(T.gt(x.sum(), 0), [x, y], [y, x])
    g = theano.function([x, y], both)
    check(g([1.0], [2.0])[0], np.array([1.0]))
    check(g([-1.0], [2.0])[0], np.array([2.0]))


def test_ifelse_of_lists_computes_a_side_as_a_whole():
    c, x, i = T.bscalar("c"), T.vector("x"), T.lscalar("i")
    picked = x[i]
    first, second = theano.ifelse(c, [picked * 2, picked + x], (T.constant(0.0), x))
    f = theano.function([c, x, i], [first, second])
    check(f(1, [1.0, 2.0], 1)[1], np.array([3.0, 4.0]))
    check(f(0, [1.0, 2.0], 7)[0], np.array(0.0))


def test_givens_and_constants_reach_into_sides():
    x, y = T.scalar("x"), T.scalar("y")
    inner = T.sin(x)
    chosen = theano.ifelse(x > 0, inner * x, y)
    f = theano.function([x, y], chosen, givens={inner: y * 10})
    assert f(2.0, 3.0) == 60.0 and f(-2.0, 3.0) == 3.0
    g = T.grad(chosen, x, consider_constant=[inner])
    slope = theano.function([x, y], g, on_unused_input="ignore")
    np.testing.assert_allclose(slope(2.0, 3.0), np.sin(2.0), rtol=1e-15)
    slope = theano.function([x, y], T.grad(chosen, inner), on_unused_input="ignore")
    assert slope(2.0, 3.0) == 2.0


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_narrow_floats_are_added_up_in_float64(name):
    x = T.fvector()
    values = np.full(10**6, 1001.1, np.float32)
    found = theano.function([x], getattr(T, name)(x))(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, getattr(values.astype(np.float64), name)(), rtol=1e-6)


LONG = {
    dtype: np.random.default_rng(5).integers(-60 if dtype != "uint8" else 0, 60, (3, 4099)).astype(dtype)
    for dtype in ("float32", "float64", "float16", "int8", "uint8", "int32", "int64")
}  # fmt: skip


@pytest.mark.parametrize("dtype", LONG)
def test_order_of_long_lines(dtype):
    x = LONG[dtype].copy()
    order = np.argsort(x, axis=1, kind="stable")
    check(applied(T.sort, x), np.take_along_axis(x, order, 1))
    check(applied(T.argsort, x), order)
    check(applied(lambda x: T.argsort(x, axis=0), x), np.argsort(x, axis=0, kind="stable"))
    for axis in (0, 1, None):
        check(applied(lambda x: T.argmax(x, axis=axis), x), np.argmax(x, axis))
        check(applied(lambda x: T.argmin(x, axis=axis), x), np.argmin(x, axis))
    if dtype.startswith("float"):
        x[1, 4000] = np.nan
        assert applied(lambda x: T.argmax(x, axis=1), x)[1] == 4000
        assert applied(T.argsort, x)[1, -1] == 4000
        assert applied(lambda x: T.argmin(x, axis=1), x)[1] == 4000


def test_powers_that_are_products():
    x = abs(MATRIX) + 0.1
    for exponent in (3, 0.5, -1):
        check(applied(lambda x: x**exponent, x), x**exponent, 1e-15)
    check(applied(lambda x: x**3, WHOLE), WHOLE**3)
    found = applied(lambda x: x**3, np.arange(5, dtype="float32"))
    check(found, np.arange(5, dtype="float32") ** 3)
