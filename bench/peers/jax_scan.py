"""JAX: the workloads as lax.scan, lax.fori_loop and lax.while_loop, compiled once; one thread by
default."""

import os

from peers import settings

if settings.threads == 1:
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
os.environ.setdefault("PJRT_NPROC", str(settings.threads))  # the size of its thread pool
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

from workloads import cells, garch as garch_model, hmm, iteration  # noqa: E402
from workloads import kalman as kalman_model, selective_scan as scan_model  # noqa: E402
from workloads import rbm, wide_body  # noqa: E402

jax.config.update("jax_enable_x64", True)


def _ready(function, *arguments):
    """The compiled function with arguments that are already JAX arrays."""
    compiled, held = jax.jit(function), [jnp.asarray(array) for array in arguments]

    def run():
        return [np.asarray(array) for array in jax.block_until_ready(compiled(*held))]

    return run


def affine(feeds):
    def step(h, row):
        h = row[0] * h + row[1]
        return h, h

    def loop(start, a, b):
        return [lax.scan(step, start, (a, b))[1]]

    return _ready(loop, *feeds.values())


_WIDE = {
    "Tanh": jnp.tanh, "Add": jnp.add, "Sigmoid": jax.nn.sigmoid, "Mul": jnp.multiply,
    "Abs": jnp.abs, "Max": jnp.maximum, "Neg": jnp.negative, "Min": jnp.minimum, "Sin": jnp.sin,
    "Sub": jnp.subtract,
}


class WideBody:
    """The body of workloads/wide_body.py with the interface of a session: its first call traces,
    compiles and runs it."""

    def __init__(self, operators):
        self.operators = int(operators)

    def run(self, _names, feeds):
        def step(h, x):
            for i in range(self.operators):
                name = wide_body.OPERATORS[i % len(wide_body.OPERATORS)]
                h = _WIDE[name](h, x) if name in wide_body.BINARY else _WIDE[name](h)
            return h, h

        loop = jax.jit(lambda h0, xs: lax.scan(step, h0, xs))
        return [np.asarray(array) for array in jax.block_until_ready(loop(feeds["h0"], feeds["xs"]))]


def biquad(coefficients, xs):
    b0, b1, b2, a1, a2 = (jnp.float32(c) for c in coefficients)

    def step(state, x):
        x1, x2, y1, y2 = state
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        return (x, x1, y, y1), y

    return _ready(lambda xs: [lax.scan(step, (jnp.float32(0),) * 4, xs)[1]], xs.reshape(-1))


def cumsum(feeds):
    return _ready(lambda xs: [jnp.cumsum(xs)], feeds["xs"])


def garch(feeds):
    omega, alpha, beta, start = garch_model.PARAMETERS.tolist()

    def step(state, value):
        variance, total = state
        square = value * value
        total -= 0.5 * (jnp.log(2 * jnp.pi * variance) + square / variance)
        return (omega + alpha * square + beta * variance, total), None

    def loop(returns):
        (variance, total), _ = lax.scan(step, (jnp.float64(start), jnp.float64(0)), returns)
        return [total, variance]

    return _ready(loop, feeds["returns"])


def cell(cell, feeds):
    """The input projection is hoisted by hand: one large product before the loop."""
    w, r, w_bias, r_bias = (jnp.asarray(array) for array in cells.weights(cell).values())

    def lstm_step(state, outer):
        h, c = state
        into, out, forget, new = jnp.split(outer + h @ r, 4, axis=1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(into) * jnp.tanh(new)
        h = jax.nn.sigmoid(out) * jnp.tanh(c)
        return (h, c), h

    def gru_step(state, outer):
        (h,) = state
        (u, s, n), (iu, ir, i_n) = jnp.split(outer, 3, axis=1), jnp.split(h @ r + r_bias, 3, axis=1)
        update = jax.nn.sigmoid(u + iu)
        h = (1 - update) * jnp.tanh(n + jax.nn.sigmoid(s + ir) * i_n) + update * h
        return (h,), h

    is_lstm = cell.kind == "lstm"

    def loop(xs):
        start = (jnp.zeros((cell.batch, cell.width), jnp.float32),) * (2 if is_lstm else 1)
        outer = xs @ w + (w_bias + r_bias if is_lstm else w_bias)
        lasts, rows = lax.scan(lstm_step if is_lstm else gru_step, start, outer)
        return [rows, *lasts]

    return _ready(loop, feeds["xs"])


def hmm_forward(feeds):
    move = jnp.asarray(hmm.moves())

    def loop(start, seen):
        def step(alpha, now):
            alpha = jax.nn.logsumexp(alpha[:, None] + move, axis=0) + now
            return alpha, alpha

        last, rows = lax.scan(step, start, seen)
        return [rows, jax.nn.logsumexp(last)]

    return _ready(loop, *feeds.values())


def viterbi(feeds):
    move = jnp.asarray(hmm.moves())

    def loop(start, seen):
        def step(delta, now):
            moved = delta[:, None] + move
            return moved.max(axis=0) + now, moved.argmax(axis=0)

        def trace(state, row):
            return row[state], state

        last, back = lax.scan(step, start, seen)
        _, path = lax.scan(trace, last.argmax(), back, reverse=True)
        return [last.max(), path]

    return _ready(loop, *feeds.values())


def kalman(feeds):
    f, h, q, r = (jnp.asarray(m) for m in (getattr(kalman_model, n) for n in "FHQR"))

    def step(state, z):
        x, p = state
        predicted, ahead = f @ x, f @ p @ f.T + q
        cross = ahead @ h.T
        spread = h @ cross + r
        (a, b), (c, d) = spread
        inverse = jnp.array([[d, -b], [-c, a]]) / (a * d - b * c)
        gain = cross @ inverse
        x = predicted + gain @ (z - h @ predicted)
        return (x, ahead - gain @ cross.T), x

    def loop(x_start, p_start, seen):
        (_, p), rows = lax.scan(step, (x_start, p_start), seen)
        return [rows, p]

    return _ready(loop, *feeds.values())


def selective_scan(feeds):
    rate, skip = (jnp.asarray(array) for array in scan_model.weights().values())

    def loop(*scanned):
        def step(h, row):
            u, delta, into, out = row
            h = jnp.exp(delta[:, None] * rate) * h + (delta * u)[:, None] * into
            return h, (h * out).sum(axis=1) + skip * u

        last, rows = lax.scan(step, jnp.zeros(rate.shape, jnp.float32), scanned)
        return [rows, last]

    return _ready(loop, *feeds.values())


def lorenz(feeds, steps):
    time = iteration.TIME

    def slope(x):
        turned = (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1)
        return turned - x + iteration.FORCE

    def step(x, _):
        k1 = slope(x)
        k2 = slope(x + time / 2 * k1)
        k3 = slope(x + time / 2 * k2)
        k4 = slope(x + time * k3)
        x = x + time / 6 * (k1 + 2 * (k2 + k3) + k4)
        return x, x

    return _ready(lambda start: [lax.scan(step, start, length=steps)[1]], feeds["start"])


def power(feeds):
    def loop(matrix, start):
        def step(state):
            x, _, count = state
            product = matrix @ x
            after = product / jnp.linalg.norm(product)
            return after, jnp.linalg.norm(after - x), count + 1

        def goes_on(state):
            return (state[1] > iteration.TOLERANCE) & (state[2] < iteration.MOST_STEPS)

        return [lax.while_loop(goes_on, step, (start, jnp.float32(jnp.inf), 0))[0]]

    return _ready(loop, *feeds.values())


def _sweep():
    w, hidden_bias, visible_bias = (jnp.asarray(array) for array in rbm.weights().values())

    def sweep(visible, u_hidden, u_visible):
        hidden = (u_hidden < jax.nn.sigmoid(visible @ w + hidden_bias)).astype(jnp.float32)
        after = (u_visible < jax.nn.sigmoid(hidden @ w.T + visible_bias)).astype(jnp.float32)
        return after, after.mean()

    return sweep


def gibbs(feeds):
    sweep = _sweep()

    def loop(start, *numbers):
        last, shares = lax.scan(lambda visible, row: sweep(visible, *row), start, numbers)
        return [shares, last]

    return _ready(loop, *feeds.values())


def gibbs_drawn(start, steps):
    sweep = _sweep()

    def step(visible, key):
        sizes = ((rbm.ROWS, rbm.HIDDEN), (rbm.ROWS, rbm.VISIBLE))
        keys = jax.random.split(key)
        numbers = (jax.random.uniform(k, size, jnp.float32) for k, size in zip(keys, sizes))
        return sweep(visible, *numbers)

    def loop(start):
        keys = jax.random.split(jax.random.key(1), steps)
        return [lax.scan(step, start, keys)[1]]

    return _ready(loop, start)
