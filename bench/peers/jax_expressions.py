"""JAX: the programs of workloads/expressions.py, traced and compiled by the first call."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads import expressions

jax.config.update("jax_enable_x64", True)


def _called(function, arrays):
    compiled = jax.jit(function)

    def run():
        results = compiled(*arrays)
        return [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]

    return run


def rnn():
    def run(u, x0, y0, w, into, back_into, feedback, out):
        def step(carry, rows):
            (x_3, x_2, x_1), y = carry
            u_4, u_0 = rows
            x = jnp.tanh(x_1 @ w + u_0 @ into + u_4 @ back_into + y @ feedback)
            y = x_3 @ out
            return ((x_2, x_1, x), y), (x, y)

        return lax.scan(step, (tuple(x0), y0), (u[:-4], u[4:]))[1]

    return _called(run, expressions.rnn_arrays())


def gradient():
    def last(h0):
        def step(h, _):
            for factor in expressions.factors():
                h = jnp.sin(h * factor)
            return h, None

        return lax.scan(step, h0, None, length=expressions.LOOP_STEPS)[0].sum()

    return _called(jax.grad(last), [np.linspace(0.1, 1.5, expressions.WIDTH)])


def hessian():
    units = expressions.HESSIAN_UNITS

    def cost(flat, xs):
        w = flat.reshape(units, units)

        def step(h, x):
            h = jnp.tanh(w @ h + x)
            return h, h

        return (lax.scan(step, jnp.zeros(units), xs)[1] ** 2).sum()

    w, xs = expressions.hessian_arrays()
    return _called(jax.hessian(cost), [w.ravel(), xs])
