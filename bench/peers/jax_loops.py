"""JAX: labels, equations on grids, loops with a computed end, a loop in a loop."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from peers.jax_scan import _ready
from workloads import grids, hmc as hmc_model, kalman as kalman_model, labels, until


def crf(feeds):
    def loop(start, move, emissions, lengths):
        def step(alpha, row):
            now, count = row
            after = jax.nn.logsumexp(alpha[:, :, None] + move, axis=1) + now
            return jnp.where((count < lengths)[:, None], after, alpha), None

        last, _ = lax.scan(step, start, (emissions, jnp.arange(len(emissions))))
        return [jax.nn.logsumexp(last, axis=1)]

    return _ready(loop, *feeds.values())


def ctc(feeds):
    def loop(logits, places, skip, lengths, ends):
        def step(alpha, row):
            now, count = row
            padded = jnp.pad(alpha, ((0, 0), (2, 0)), constant_values=labels.NEVER)
            ways = jnp.stack([alpha, padded[:, 1:-1], padded[:, :-2] + skip])
            after = jax.nn.logsumexp(ways, axis=0) + jnp.take_along_axis(now, places, axis=1)
            return jnp.where((count < lengths)[:, None], after, alpha), None

        start = jnp.full(places.shape, labels.NEVER).at[:, 0].set(0)
        scanned = (jax.nn.log_softmax(logits), jnp.arange(len(logits)))
        last, _ = lax.scan(step, start, scanned)
        return [jax.nn.logsumexp(jnp.take_along_axis(last, ends, axis=1), axis=1)]

    return _ready(loop, *feeds.values())


def thomas(feeds):
    def down(before, row):
        lower, main, upper, right = row
        pivot = main - lower * before[0]
        after = upper / pivot, (right - lower * before[1]) / pivot
        return after, after

    def up(below, row):
        solved = row[1] - row[0] * below
        return solved, solved

    def loop(*diagonals):
        zeros = jnp.zeros(grids.SYSTEMS)
        _, reduced = lax.scan(down, (zeros, zeros), diagonals)
        return [lax.scan(up, zeros, reduced, reverse=True)[1]]

    return _ready(loop, *feeds.values())


def heat(feeds, steps):
    def step(_, heat):
        padded = jnp.pad(heat, 1, mode="edge")
        across = padded[1:-1, :-2] + padded[1:-1, 2:]
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + across
        return heat + grids.RATE * (around - 4 * heat)

    return _ready(lambda start: [lax.fori_loop(0, steps, step, start)], feeds["start"])


def hmc(feeds):
    time = hmc_model.TIME

    def loop(precision, start, momenta, uniform):
        def leap(_, state):
            place, momentum, slope = state
            half = momentum - time / 2 * slope
            place = place + time * half
            slope = precision @ place
            return place, half - time / 2 * slope, slope

        def energy(place, momentum, slope):
            return 0.5 * (place @ slope + momentum @ momentum)

        def draw(q, row):
            momentum, chance = row
            before = (q, momentum, precision @ q)
            after = lax.fori_loop(0, hmc_model.LEAPS, leap, before)
            q = jnp.where(jnp.log(chance) < energy(*before) - energy(*after), after[0], q)
            return q, q

        return [lax.scan(draw, start, (momenta, uniform))[1]]

    return _ready(loop, *feeds.values())


def kalman_smoother(feeds):
    f, h, q, r = (jnp.asarray(m) for m in (getattr(kalman_model, n) for n in "FHQR"))

    def forward(state, z):
        x, p = state
        predicted, ahead = f @ x, f @ p @ f.T + q
        gain = jnp.linalg.solve(h @ ahead @ h.T + r, h @ ahead).T
        after = predicted + gain @ (z - h @ predicted), ahead - gain @ h @ ahead
        return after, after

    def backward(after, row):
        x, p = row
        ahead = f @ p @ f.T + q
        gain = jnp.linalg.solve(ahead, f @ p).T
        x, p = x + gain @ (after[0] - f @ x), p + gain @ (after[1] - ahead) @ gain.T
        return (x, p), x

    def loop(x_start, p_start, seen):
        last, (means, covariances) = lax.scan(forward, (x_start, p_start), seen)
        scanned = means[:-1], covariances[:-1]
        (_, p), rows = lax.scan(backward, last, scanned, reverse=True)
        return [jnp.concatenate([rows, last[0][None]]), p]

    return _ready(loop, *feeds.values())


def dopri(feeds):
    def slope(y):
        return jnp.stack([y[1], until.STIFFNESS * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(state):
        y, time, length, count = state
        ahead, slopes = jnp.minimum(length, until.END - time), [slope(y)]
        for weights in until.STAGES:
            change = sum(w * s for w, s in zip(weights, slopes) if w)
            reached = y + ahead * change
            slopes.append(slope(reached))
        error = jnp.abs(ahead * sum(w * s for w, s in zip(until.ERROR, slopes) if w)).max()
        is_good = error <= until.PRECISION
        share = until.PRECISION / jnp.maximum(error, 1e-300)
        factor = jnp.clip(until.SAFETY * share**0.2, until.LEAST, until.MOST)
        y, time = jnp.where(is_good, reached, y), jnp.where(is_good, time + ahead, time)
        return y, time, ahead * factor, count + 1

    def goes_on(state):
        return (state[1] < until.END) & (state[3] < until.MOST_STEPS)

    def loop(start):
        return [lax.while_loop(goes_on, step, (start, 0.0, until.FIRST, 0))[0]]

    return _ready(loop, feeds["start"])


def sinkhorn(feeds):
    def loop(cost, there, here):
        kernel = jnp.exp(cost * np.float32(-1 / until.BLUR))
        turned = kernel.T

        def step(state):
            u, v, _, count = state
            after = there / (kernel @ v)
            change = jnp.abs(after - u).max() > until.CHANGE * jnp.abs(after).max()
            return after, here / (turned @ after), change, count + 1

        ones = jnp.ones(until.POINTS, jnp.float32)
        u, v, *_ = lax.while_loop(_goes_on, step, (ones, ones, True, 0))
        return [u[:, None] * kernel * v]

    return _ready(loop, *feeds.values())


def _goes_on(state):
    return state[-2] & (state[-1] < until.MOST_STEPS)


def pagerank(feeds):
    def loop(sources, targets, shares):
        def step(state):
            rank, _, count = state
            got = jnp.zeros_like(rank).at[targets].add(rank[sources] * shares)
            after = until.FOLLOWED * got + np.float32(1 - until.FOLLOWED)
            return after, jnp.abs(after - rank).sum() > until.RANK_CHANGE, count + 1

        ones = jnp.ones(until.PAGES, jnp.float32)
        return [lax.while_loop(_goes_on, step, (ones, True, 0))[0]]

    return _ready(loop, *feeds.values())
