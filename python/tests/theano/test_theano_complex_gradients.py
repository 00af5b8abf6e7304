"""Gradients of real costs with respect to complex variables, and through complex numbers to real ones,
against central differences of both parts."""

import operator

import numpy as np
import pytest
from complex_numbers import FUNCTIONS, RANDOM, check, numbers, variable

import scanloom as theano
import scanloom.tensor as T
from scanloom import scan_module

# Gradients: of a real cost with respect to a complex z, its slope along the real part plus i times
# that along the imaginary part.


def differences(f, arrays, which, step=1e-6):
    """Central differences of f at arrays[which], along both parts."""
    result = np.zeros(arrays[which].shape, arrays[which].dtype)
    for at in np.ndindex(*arrays[which].shape):
        for direction in (1, 1j) if np.iscomplexobj(result) else (1,):
            ends = []
            for sign in (1, -1):
                moved = [np.array(array) for array in arrays]
                moved[which][at] += sign * step * direction
                ends.append(f(*moved))
            result[at] += direction * (ends[0] - ends[1]) / (2 * step)
    return result


def check_gradient(cost, *arrays, tolerance=2e-8):
    inputs = [variable(np.asarray(array), f"x{i}") for i, array in enumerate(arrays)]
    out = cost(*inputs)
    f = theano.function(inputs, out)
    gradients = theano.function(inputs, T.grad(out, inputs))(*arrays)
    for i, gradient in enumerate(gradients):
        expected = differences(f, [np.asarray(a) for a in arrays], i)
        assert gradient.dtype == expected.dtype
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=tolerance * (1 + abs(expected).max()))


def weighed(z):
    """A real cost that both parts of every element count in."""
    return (z.real * 1.5 - z.imag * 0.7 + abs(z) ** 2 * 0.1).sum()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_functions(name):
    check_gradient(lambda x: weighed(FUNCTIONS[name][0](x)), numbers(4, scale=0.8), tolerance=1e-7)


GRADIENTS = {
    "real": T.real, "imag": T.imag, "conj": T.conj, "abs": abs, "angle": T.angle,
    "conj product": lambda x: x * T.conj(x), "norm": lambda x: x.norm(2), "power": lambda x: x**5,
    "root": lambda x: x**0.3, "prod": lambda x: x.prod(), "cumprod": lambda x: x.cumprod(),
    "mean": lambda x: x.mean(), "sum": lambda x: x.sum(), "cumsum": lambda x: x.cumsum(),
    "slice": lambda x: x[::2] * x[0], "set": lambda x: T.set_subtensor(x[1], x[0] ** 2),
    "indices": lambda x: x[[0, 0, 1]] * 1j, "stack": lambda x: T.stack([x, T.exp(x)]),
    "switch": lambda x: T.switch(T.gt(x.real, 0), x * 2j, T.exp(x)), "var": lambda x: x.var(),
    "polar": lambda x: T.complex_from_polar(abs(x), 2 * T.angle(x)),
    "complex": lambda x: T.complex(x.imag, x.real * 2),
    "narrow": lambda x: x.astype("complex128") * x.real,
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    check_gradient(lambda x: weighed(GRADIENTS[name](x)), numbers(4, scale=0.8))


BINARY_GRADIENTS = {
    "mul": operator.mul, "div": operator.truediv, "pow": operator.pow, "sub": operator.sub,
    "dot": T.dot, "outer": T.outer,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY_GRADIENTS)
def test_gradients_of_two(name):
    op = BINARY_GRADIENTS[name]
    check_gradient(lambda x, y: weighed(op(x, y)), numbers(3), numbers(3))
    if name != "pow":
        check_gradient(lambda x, y: weighed(op(x, y)), numbers(3), RANDOM.normal(size=3))
        check_gradient(lambda x, y: weighed(op(x, y)), RANDOM.normal(size=3) + 3, numbers(3))


def test_gradients_of_matrices():
    check_gradient(lambda a, b: weighed(T.dot(a, b)), numbers(2, 3), numbers(3, 2))
    check_gradient(lambda a, b: weighed(T.dot(a, b)), numbers(2, 3), RANDOM.normal(size=(3, 2)))
    check_gradient(lambda a, b: weighed(a + b), numbers(2, 3), numbers(1, 3))


def test_gradients_of_loops():
    def cost(u, z0, w):
        rows, _ = theano.scan(lambda x, z, w: T.tanh(w * z) + x * 1j, u, z0, w)
        return weighed(rows) + abs(rows[-1])

    check_gradient(cost, numbers(6), numbers(), numbers(scale=0.5))
    check_gradient(cost, RANDOM.normal(size=6), numbers(), numbers(scale=0.5))


def test_gradients_of_far_taps_and_until():
    def cost(before, w):
        rows, _ = theano.scan(
            lambda z_3, z_1, w: (w * z_3 + T.conj(z_1) * 0.5, scan_module.until(abs(z_1) > 100)),
            outputs_info=dict(initial=before, taps=[-3, -1]), non_sequences=w, n_steps=6,
        )  # fmt: skip
        return weighed(rows)

    check_gradient(cost, numbers(3), numbers(scale=0.6))


def test_the_gradient_of_a_length_at_zero_is_zero():
    z = T.zvector("z")
    slope = theano.function([z], T.grad(abs(z).sum(), z))(np.array([0, 3 + 4j]))
    check(slope, np.array([0, 0.6 + 0.8j]))


def test_gradients_with_respect_to_what_is_computed():
    z = T.zvector("z")
    w = z * z
    cost = (abs(w) ** 2).sum()
    value = numbers(3)
    check(theano.function([z], T.grad(cost, w))(value), 2 * value**2)
    check(theano.function([z], T.grad(cost, z))(value), 4 * value * abs(value) ** 2, 20)


def test_a_step_along_the_gradient_descends():
    z = theano.shared(np.array([3 + 1j, -2 - 2j]), "z")
    cost = (abs(z * z - 1j) ** 2).sum()
    step = theano.function([], cost, updates=[(z, z - 0.01 * T.grad(cost, z))])
    costs = [float(step()) for _ in range(200)]
    assert all(later <= before for before, later in zip(costs, costs[1:])) and costs[-1] < 1e-6
    np.testing.assert_allclose(z.get_value() ** 2, 1j, atol=1e-3)


def test_second_derivatives_and_tangents():
    x = T.vector("x")
    z = T.exp(1j * x) * x
    cost = (z.real**2 + z.imag * x).sum()
    value, along = RANDOM.normal(size=3), RANDOM.normal(size=3)
    real_cost = ((x * T.cos(x)) ** 2 + x * x * T.sin(x)).sum()
    found, expected = theano.function([x], [T.hessian(cost, x), T.hessian(real_cost, x)])(value)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    v = T.vector("v")
    pushed = theano.function([x, v], T.Rop(z, x, v))(value, along)
    check(pushed, np.exp(1j * value) * (1 + 1j * value) * along, 20)


@pytest.mark.parametrize("checkpoint", [{"every": 3}, "sqrt"], ids=str)
def test_gradients_with_checkpoints(checkpoint):
    z = T.zvector("z")

    def slope(**options):
        rows, _ = theano.scan(
            lambda s, a: T.tanh(s * a) + a, outputs_info=T.ones_like(z), non_sequences=z, n_steps=10,
            **options,
        )  # fmt: skip
        return T.grad(abs(rows[-1]).sum(), z)

    value = numbers(3, scale=0.5)
    found, expected = theano.function([z], [slope(checkpoint=checkpoint), slope()])(value)
    check(found, expected, 1000)


def test_jacobians_and_products_with_them():
    z, value = T.zvector("z"), numbers(3)
    found = theano.function([z], T.jacobian(abs(z) ** 2, z))(value)
    np.testing.assert_allclose(found, np.diag(2 * value), rtol=1e-12, atol=1e-15)
    check(theano.function([z], T.Lop(z * z, z, T.conj(z)))(value), 2 * value.conj() ** 2, 20)
    check(theano.function([z], T.Rop(z * z, z, T.conj(z)))(value), 2 * value * value.conj(), 20)
    along = (value.conj() ** 2).real / abs(value)
    np.testing.assert_allclose(theano.function([z], T.Rop(abs(z), z, T.conj(z)))(value), along, rtol=1e-12)
    with pytest.raises(ValueError, match="has no gradient; take real"):
        T.jacobian(z * z, z)


def test_the_fourier_transform_is_a_product():
    """Its gradient is its conjugate transpose: of the energy 2 n times the signal."""
    x, k = T.vector("x"), T.arange(8)
    spectrum = T.dot(T.exp(-2j * np.pi / 8 * T.outer(k, k)), x)
    cost = (abs(spectrum) ** 2).sum()
    signal = RANDOM.normal(size=8)
    found, slope = theano.function([x], [spectrum, T.grad(cost, x)])(signal)
    np.testing.assert_allclose(found, np.fft.fft(signal), atol=1e-13)
    np.testing.assert_allclose(slope, 16 * signal, rtol=1e-12)
