"""Layers, filters and likelihoods written out as scans (recurrent_models). Values and gradients are
compared with JAX's, and with complex steps of the same formulas in numpy, which need no other
package."""

import numpy as np
import pytest

import recurrent_models
import scanloom as theano
import scanloom.tensor as T

MODELS = recurrent_models.models()
RELATIVE = 1e-10


def ours(model):
    """The cost and its gradients."""
    inputs = [
        T.TensorType("float64", (False,) * array.ndim)(f"x{i}")
        for i, array in enumerate(model.arrays)
    ]
    cost = model.cost(recurrent_models.Scanloom(), *inputs)
    slopes = T.grad(cost, [inputs[i] for i in model.differentiated])
    f = theano.function(inputs, [cost, *slopes])
    return f(*model.arrays)


def assert_close(found, wanted):
    assert found.shape == np.shape(wanted)
    assert np.abs(found - wanted).max() <= RELATIVE * max(np.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_beside_complex_steps(name):
    model = MODELS[name]
    cost, *slopes = ours(model)
    assert_close(cost, model.cost(recurrent_models.Numpy(), *model.arrays))
    step = 1e-30
    for i, slope in zip(model.differentiated, slopes):
        wanted = np.empty(model.arrays[i].shape)
        for at in np.ndindex(wanted.shape):
            moved = [array.astype(complex) for array in model.arrays]
            moved[i][at] += 1j * step
            wanted[at] = model.cost(recurrent_models.Numpy(), *moved).imag / step
        assert_close(slope, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_beside_jax(name):
    jax = pytest.importorskip("jax", reason="JAX is not installed: make bench-peers does it")
    jax.config.update("jax_enable_x64", True)
    model = MODELS[name]
    module = recurrent_models.Jax(jax)
    f = jax.value_and_grad(lambda *arrays: model.cost(module, *arrays), model.differentiated)
    cost, slopes = jax.jit(f)(*map(jax.numpy.asarray, model.arrays))
    found = ours(model)
    for mine, theirs in zip(found, [cost, *slopes]):
        assert_close(mine, np.asarray(theirs))


@pytest.mark.parametrize("name", MODELS)
def test_second_derivatives_beside_jax(name):
    """The product of the Hessian and a direction."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: make bench-peers does it")
    jax.config.update("jax_enable_x64", True)
    model, draw = MODELS[name], np.random.default_rng(2)
    last = model.differentiated[-1]
    direction = draw.normal(size=model.arrays[last].shape)
    module = recurrent_models.Jax(jax)

    def slope(*arrays):
        return (jax.grad(lambda *all_: model.cost(module, *all_), last)(*arrays) * direction).sum()

    wanted = jax.jit(jax.grad(slope, model.differentiated))(*map(jax.numpy.asarray, model.arrays))
    inputs = [T.TensorType("float64", (False,) * array.ndim)() for array in model.arrays]
    cost = model.cost(recurrent_models.Scanloom(), *inputs)
    along = (T.grad(cost, inputs[last]) * direction).sum()
    curves = T.grad(along, [inputs[i] for i in model.differentiated], disconnected_inputs="ignore")
    found = theano.function(inputs, curves, on_unused_input="ignore")(*model.arrays)
    for mine, theirs in zip(found, wanted):
        assert_close(mine, np.asarray(theirs))
