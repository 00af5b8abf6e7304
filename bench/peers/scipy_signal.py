"""scipy: filters of any order and the solver of banded systems."""

import numpy as np
from scipy import linalg, signal


def biquad(coefficients, xs):
    b, flat = coefficients[:3], xs.reshape(-1)
    a = np.concatenate([np.ones(1, coefficients.dtype), coefficients[3:]])
    return lambda: [signal.lfilter(b, a, flat)]


def cascade(sections, feeds):
    a = np.concatenate([np.ones((len(sections), 1), np.float32), sections[:, 3:]], axis=1)
    numbers, xs = np.concatenate([sections[:, :3], a], axis=1), feeds["xs"]
    return lambda: [signal.sosfilt(numbers, xs, axis=0)]


def thomas(feeds):
    """LAPACK's solver of banded systems, one system after another."""
    lower, main, upper, right = feeds.values()
    bands = np.zeros((main.shape[1], 3, len(main)))
    bands[:, 0, 1:], bands[:, 1], bands[:, 2, :-1] = upper[:-1].T, main.T, lower[1:].T
    rights = np.ascontiguousarray(right.T)

    def run():
        solved = [linalg.solve_banded((1, 1), *system) for system in zip(bands, rights)]
        return [np.stack(solved, axis=1)]

    return run
