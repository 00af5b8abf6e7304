"""Numba: the plain loops in Python, compiled without fast-math, one thread."""

import numba
import numpy as np

from workloads import garch as garch_model, hmm, iteration


@numba.njit
def _affine(start, a, b, rows):
    before = start
    for step in range(a.shape[0]):
        for i in range(a.shape[1]):
            rows[step, i] = a[step, i] * before[i] + b[step, i]
        before = rows[step]


def affine(feeds):
    rows = np.empty_like(feeds["a"])

    def run():
        _affine(feeds["start"], feeds["a"], feeds["b"], rows)
        return [rows]

    return run


@numba.njit
def _biquad(coefficients, xs, rows):
    b0, b1, b2, a1, a2 = coefficients
    x1 = x2 = y1 = y2 = np.float32(0)
    for step in range(xs.size):
        x = xs[step]
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1, y2, y1 = x1, x, y1, y
        rows[step] = y


def biquad(coefficients, xs):
    rows, flat, numbers = np.empty(xs.size, np.float32), xs.reshape(-1), tuple(coefficients)

    def run():
        _biquad(numbers, flat, rows)
        return [rows]

    return run


@numba.njit
def _garch(omega, alpha, beta, variance, returns):
    total = 0.0
    for value in returns:
        square = value * value
        total -= 0.5 * (np.log(2 * np.pi * variance) + square / variance)
        variance = omega + alpha * square + beta * variance
    return total, variance


def garch(feeds):
    parameters = garch_model.PARAMETERS.tolist()

    def run():
        return [np.float64(value) for value in _garch(*parameters, feeds["returns"])]

    return run


@numba.njit
def _viterbi(start, move, seen, back, path):
    delta, best = start.copy(), np.empty_like(start)
    states = start.size
    for step in range(seen.shape[0]):
        best[:] = -np.inf
        for source in range(states):
            for target in range(states):
                here = delta[source] + move[source, target]
                if here > best[target]:
                    best[target] = here
                    back[step, target] = source
        for target in range(states):
            delta[target] = best[target] + seen[step, target]
    state = delta.argmax()
    score = delta[state]
    for step in range(seen.shape[0] - 1, -1, -1):
        path[step] = state
        state = back[step, state]
    return score


def viterbi(feeds):
    seen = feeds["seen"]
    back, path, move = np.empty(seen.shape, np.int32), np.empty(len(seen), np.int64), hmm.moves()

    def run():
        return [np.float32(_viterbi(feeds["start"], move, seen, back, path)), path]

    return run


@numba.njit
def _slope(x, force, to):
    size = x.size
    for i in range(size):
        ahead = x[i + 1] if i + 1 < size else x[0]
        to[i] = (ahead - x[i - 2]) * x[i - 1] - x[i] + force


@numba.njit
def _lorenz(start, force, time, rows):
    x, at = start.copy(), np.empty_like(start)
    k1, k2, k3, k4 = (np.empty_like(start), np.empty_like(start), np.empty_like(start),
                      np.empty_like(start))
    for step in range(rows.shape[0]):
        _slope(x, force, k1)
        for i in range(x.size):
            at[i] = x[i] + time / 2 * k1[i]
        _slope(at, force, k2)
        for i in range(x.size):
            at[i] = x[i] + time / 2 * k2[i]
        _slope(at, force, k3)
        for i in range(x.size):
            at[i] = x[i] + time * k3[i]
        _slope(at, force, k4)
        for i in range(x.size):
            x[i] += time / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i])
            rows[step, i] = x[i]


def lorenz(feeds, steps):
    rows = np.empty((steps, iteration.VARIABLES))

    def run():
        _lorenz(feeds["start"], iteration.FORCE, iteration.TIME, rows)
        return [rows]

    return run


@numba.njit
def _counter_rows(start, rows):
    count = start
    for step in range(rows.size):
        count += 1
        rows[step] = count
    return count


def counter_rows(steps, start):
    rows = np.empty(steps, np.int64)
    return lambda: [np.int64(_counter_rows(start, rows)), rows]
