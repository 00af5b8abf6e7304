"""PyTensor, compiled by Numba: the workloads as its scan; selected by module="pytensor_scans"."""

import warnings

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.scan.utils import until

from workloads import cells, garch as garch_model, hmm, iteration, kalman as kalman_model, rbm
from workloads import selective_scan as scan_model

pytensor.config.cxx = ""  # Numba compiles
# Numba warns that it does not cache the compiled code.
warnings.filterwarnings("ignore", category=numba.NumbaWarning)


def _scan(step, sequences, starts, **further):
    found = pytensor.scan(step, sequences=sequences, outputs_info=starts, return_updates=False,
                          **further)  # fmt: skip
    return found if isinstance(found, list | tuple) else [found]


def _called(inputs, results, arrays):
    function = pytensor.function(inputs, results, mode="NUMBA", trust_input=True)
    given = list(arrays)
    return lambda: [np.asarray(array) for array in function(*given)]


def _inputs(feeds):
    """A variable for each feed; sizes of 1 are part of its type."""
    return [pt.tensor(name, dtype=array.dtype.name, shape=tuple(n if n == 1 else None
                                                                for n in array.shape))
            for name, array in feeds.items()]  # fmt: skip


def counter(steps, start):
    trips, first = pt.lscalar("trips"), pt.lscalar("start")
    (counts,) = _scan(lambda count: count + 1, None, [first], n_steps=trips)
    return _called([trips, first], [counts[-1]], [np.array(steps), np.array(start)])


def affine(feeds):
    start, a, b = inputs = _inputs(feeds)
    rows = _scan(lambda a, b, h: a * h + b, [a, b], [start])
    return _called(inputs, rows, feeds.values())


def cumsum(feeds):
    inputs = _inputs(feeds)
    rows = _scan(lambda x, total: total + x, inputs, [pt.constant(np.float32(0))])
    return _called(inputs, rows, feeds.values())


def biquad(coefficients, xs):
    """The states are taps of the filter's input and output."""
    x, before = pt.fvector("xs"), pt.fvector("before")
    b0, b1, b2, a1, a2 = (np.float32(c) for c in coefficients)

    def step(x0, x1, x2, y1, y2):
        return b0 * x0 + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2

    padded = pt.concatenate([pt.zeros(2, "float32"), x])
    sequences = [{"input": padded, "taps": [0, -1, -2]}]
    rows = _scan(step, sequences, [{"initial": before, "taps": [-1, -2]}])
    return _called([x, before], rows, [xs.reshape(-1), np.zeros(2, np.float32)])


def garch(feeds):
    omega, alpha, beta, start = (np.float64(x) for x in garch_model.PARAMETERS)
    returns = pt.dvector("returns")

    def step(value, variance, total):
        square = value**2
        total = total - 0.5 * (pt.log(2 * np.pi * variance) + square / variance)
        return omega + alpha * square + beta * variance, total

    starts = [pt.constant(start), pt.constant(np.float64(0))]
    variances, totals = _scan(step, [returns], starts)
    return _called([returns], [totals[-1], variances[-1]], [feeds["returns"]])


def cell(cell, feeds):
    """The input projection is hoisted by hand."""
    w, r, w_bias, r_bias = (pt.constant(array) for array in cells.weights(cell).values())
    n, start = cell.width, pt.constant(np.zeros((cell.batch, cell.width), np.float32))
    xs = pt.tensor("xs", dtype="float32", shape=(None, cell.batch, cell.width))

    def sized(state):
        return pt.specify_shape(state, (cell.batch, cell.width))

    def parts(rows, count):
        return [rows[:, i * n : (i + 1) * n] for i in range(count)]

    def lstm_step(outer, h, c):
        into, out, forget, new = parts(outer + pt.dot(h, r), 4)
        c = pt.sigmoid(forget) * c + pt.sigmoid(into) * pt.tanh(new)
        return sized(pt.sigmoid(out) * pt.tanh(c)), sized(c)

    def gru_step(outer, h):
        (u, s, new), (iu, ir, i_n) = parts(outer, 3), parts(pt.dot(h, r) + r_bias, 3)
        update = pt.sigmoid(u + iu)
        return sized((1 - update) * pt.tanh(new + pt.sigmoid(s + ir) * i_n) + update * h)

    is_lstm = cell.kind == "lstm"
    outer = pt.dot(xs, w) + (w_bias + r_bias if is_lstm else w_bias)
    found = _scan(lstm_step if is_lstm else gru_step, [outer], [start] * (2 if is_lstm else 1))
    return _called([xs], [found[0], *(rows[-1] for rows in found)], [feeds["xs"]])


def hmm_forward(feeds):
    start, seen = inputs = _inputs(feeds)
    move = pt.constant(hmm.moves())

    def step(now, alpha):
        return pt.logsumexp(alpha[:, None] + move, axis=0) + now

    (rows,) = _scan(step, [seen], [start])
    return _called(inputs, [rows, pt.logsumexp(rows[-1])], feeds.values())


def viterbi(feeds):
    start, seen = inputs = _inputs(feeds)
    move = pt.constant(hmm.moves())

    def step(now, delta):
        moved = delta[:, None] + move
        return moved.max(axis=0) + now, moved.argmax(axis=0)

    deltas, back = _scan(step, [seen], [start, None])
    end = deltas[-1].argmax()
    (before,) = _scan(lambda row, state: row[state], [back], [end], go_backwards=True)
    path = pt.concatenate([before[-2::-1], end[None]])
    return _called(inputs, [deltas[-1].max(), path], feeds.values())


def kalman(feeds):
    f, h, q, r = (pt.constant(getattr(kalman_model, name)) for name in "FHQR")
    x_start, p_start, seen = inputs = _inputs(feeds)

    def step(z, x, p):
        predicted, ahead = pt.dot(f, x), pt.dot(pt.dot(f, p), f.T) + q
        cross = pt.dot(ahead, h.T)
        spread = pt.dot(h, cross) + r
        a, b, c, d = spread[0, 0], spread[0, 1], spread[1, 0], spread[1, 1]
        inverse = pt.stack([pt.stack([d, -b]), pt.stack([-c, a])]) / (a * d - b * c)
        gain = pt.dot(cross, inverse)
        return predicted + pt.dot(gain, z - pt.dot(h, predicted)), ahead - pt.dot(gain, cross.T)

    means, covariances = _scan(step, [seen], [x_start, p_start])
    return _called(inputs, [means, covariances[-1]], feeds.values())


def selective_scan(feeds):
    rate, skip = (pt.constant(array) for array in scan_model.weights().values())
    inputs = _inputs(feeds)
    start = pt.constant(np.zeros((scan_model.WIDTH, scan_model.STATES), np.float32))

    def step(u, delta, into, out, h):
        h = pt.exp(delta[:, None] * rate) * h + (delta * u)[:, None] * into
        return h, (h * out).sum(axis=1) + skip * u

    states, rows = _scan(step, inputs, [start, None])
    return _called(inputs, [rows, states[-1]], feeds.values())


def lorenz(feeds, steps):
    inputs = _inputs(feeds)
    time = iteration.TIME

    def slope(x):
        return (pt.roll(x, -1) - pt.roll(x, 2)) * pt.roll(x, 1) - x + iteration.FORCE

    def step(x):
        k1 = slope(x)
        k2 = slope(x + time / 2 * k1)
        k3 = slope(x + time / 2 * k2)
        k4 = slope(x + time * k3)
        return x + time / 6 * (k1 + 2 * (k2 + k3) + k4)

    return _called(inputs, _scan(step, None, inputs, n_steps=steps), feeds.values())


def power(feeds):
    matrix, start = inputs = _inputs(feeds)

    def step(x, matrix):
        product = pt.dot(matrix, x)
        after = product / pt.sqrt((product**2).sum())
        change = pt.sqrt(((after - x) ** 2).sum())
        return after, until(change <= np.float32(iteration.TOLERANCE))

    rows = _scan(step, None, [start], non_sequences=[matrix], n_steps=iteration.MOST_STEPS)
    return _called(inputs, [rows[0][-1]], feeds.values())


def gibbs(feeds):
    w, hidden_bias, visible_bias = (pt.constant(array) for array in rbm.weights().values())
    start, *numbers = inputs = _inputs(feeds)

    def step(u_hidden, u_visible, visible):
        hidden = (u_hidden < pt.sigmoid(pt.dot(visible, w) + hidden_bias)).astype("float32")
        after = (u_visible < pt.sigmoid(pt.dot(hidden, w.T) + visible_bias)).astype("float32")
        return after, after.mean(dtype="float32")

    states, shares = _scan(step, numbers, [start, None])
    return _called(inputs, [shares, states[-1]], feeds.values())
