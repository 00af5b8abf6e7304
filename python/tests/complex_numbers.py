"""Complex numbers for tests, functions of them, and how results are compared."""

import numpy as np

import scanloom as theano
import scanloom.tensor as T

KINDS = ("complex64", "complex128")
NARROW = {"complex64": "float32", "complex128": "float64"}
RANDOM = np.random.default_rng(5)


def numbers(*shape, dtype="complex128", scale=1.5):
    return (scale * (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape))).astype(dtype)


def variable(array, name="x"):
    return T.TensorType(array.dtype, [size == 1 for size in array.shape])(name)


def applied(function, *arrays):
    arrays = [np.asarray(array) for array in arrays]
    inputs = [variable(array, f"x{i}") for i, array in enumerate(arrays)]
    return theano.function(inputs, function(*inputs), on_unused_input="ignore")(*arrays)


def check(found, expected, ulps=8):
    """Checks equality up to `ulps` roundings of the magnitude of the number."""
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype.kind not in "fc":
        return np.testing.assert_array_equal(found, expected)
    size = np.abs(expected).astype("float64")
    room = ulps * np.finfo(expected.dtype).eps * size + 1e-300
    off = np.abs(found - expected)
    assert np.all((off <= room) | (found == expected)), (found, expected, off / room * ulps)


# Here and in numpy.
FUNCTIONS = {
    "exp": (T.exp, np.exp), "expm1": (T.expm1, np.expm1), "log": (T.log, np.log),
    "log1p": (T.log1p, np.log1p), "log2": (T.log2, np.log2), "log10": (T.log10, np.log10),
    "sqrt": (T.sqrt, np.sqrt), "sqr": (T.sqr, np.square), "inv": (T.inv, np.reciprocal),
    "neg": (T.neg, np.negative), "sin": (T.sin, np.sin), "cos": (T.cos, np.cos), "tan": (T.tan, np.tan),
    "sinh": (T.sinh, np.sinh), "cosh": (T.cosh, np.cosh), "tanh": (T.tanh, np.tanh),
    "arcsin": (T.arcsin, np.arcsin), "arccos": (T.arccos, np.arccos), "arctan": (T.arctan, np.arctan),
    "arcsinh": (T.arcsinh, np.arcsinh), "arccosh": (T.arccosh, np.arccosh),
    "arctanh": (T.arctanh, np.arctanh), "exp2": (T.exp2, np.exp2),
}  # fmt: skip
