"""JAX: values and gradients of the scans in workloads/gradients.py, compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from peers.jax_scan import _ready


def affine(workload):
    def cost(a, b):
        def step(h, row):
            h = row[0] * h + row[1]
            return h, h

        return lax.scan(step, jnp.float32(0), (a, b))[1].sum()

    return _flat(jax.value_and_grad(cost, argnums=(0, 1)), workload)


def garch(workload):
    def cost(returns, omega, alpha, beta):
        def step(variance, value):
            return omega + alpha * value**2 + beta * variance, variance

        variances = lax.scan(step, jnp.float64(1), returns)[1]
        return -0.5 * jnp.sum(jnp.log(2 * jnp.pi * variances) + returns**2 / variances)

    return _flat(jax.value_and_grad(cost, argnums=(1, 2, 3)), workload)


def lstm(workload):
    def cost(xs, w, r, bias):
        outer = xs @ w + bias  # hoisted by hand

        def step(state, z):
            h, c = state
            into, forget, new, out = jnp.split(z + h @ r, 4, axis=1)
            c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(into) * jnp.tanh(new)
            h = jax.nn.sigmoid(out) * jnp.tanh(c)
            return (h, c), h

        start = jnp.asarray(workload.start)
        return jnp.sum(lax.scan(step, (start, start), outer)[1] ** 2)

    return _flat(jax.value_and_grad(cost, argnums=(1, 2, 3)), workload)


def _flat(function, workload):
    def both(*arrays):
        value, gradients = function(*arrays)
        return [value, *gradients]

    return _ready(both, *(np.asarray(array) for array in workload.arrays))


def heat(workload):
    """Checkpoints about sqrt(steps) states and recomputes the steps between them."""
    length = max(n for n in range(1, workload.steps) if n * n <= workload.steps)
    while workload.steps % length:
        length -= 1

    def step(heat):
        padded = jnp.pad(heat, 1, mode="edge")
        rows, columns = padded[:, 1:-1], padded[1:-1]
        around = rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:]
        spread = heat + workload.RATE * (around - 4 * heat)
        return spread + workload.GROWTH * (heat - heat**3)

    @jax.checkpoint
    def part(heat, _):
        return lax.scan(lambda heat, _: (step(heat), None), heat, length=length)

    def cost(start):
        last, _ = lax.scan(part, start, length=workload.steps // length)
        return (last**2).sum()

    return _flat(jax.value_and_grad(cost, argnums=(0,)), workload)
