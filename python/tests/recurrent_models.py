"""Recurrent models, each written out once over a module of functions, which is numpy's, Scanloom's or
JAX's: what it costs, in float64, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Model(NamedTuple):
    cost: Callable[..., Any]  # (module, *arrays)
    arrays: list[np.ndarray]
    differentiated: list[int]


class Numpy:
    """Over complex numbers, too: derivatives along imaginary parts."""

    tanh, exp, log = np.tanh, np.exp, np.log
    dot, inverse = staticmethod(np.dot), staticmethod(np.linalg.inv)

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def logarithm_of_determinant(x: Any) -> Any:
        return np.log(np.linalg.det(x))

    @staticmethod
    def greatest(x: Any, axis: int) -> Any:
        return np.real(x).max(axis=axis)

    @staticmethod
    def scan(step: Callable[..., Any], sequences: list[Any], states: list[Any]) -> list[Any]:
        rows = []
        for now in zip(*sequences):
            states = list(step(*now, *states))
            rows.append(states)
        return [np.array(column) for column in zip(*rows)]


class Scanloom:
    def __init__(self) -> None:
        import scanloom as theano
        import scanloom.tensor as T

        self.theano, self.T = theano, T
        self.tanh, self.exp, self.log, self.dot = T.tanh, T.exp, T.log, T.dot
        self.sigmoid, self.inverse = T.nnet.sigmoid, T.nlinalg.matrix_inverse

    def logarithm_of_determinant(self, x: Any) -> Any:
        return self.T.log(self.T.nlinalg.det(x))

    def greatest(self, x: Any, axis: int) -> Any:
        return x.max(axis=axis)

    def scan(self, step: Callable[..., Any], sequences: list[Any], states: list[Any]) -> list[Any]:
        return self.theano.scan(step, sequences, states, return_list=True)[0]


class Jax:
    def __init__(self, jax: Any) -> None:
        self.jax, self.jnp = jax, jax.numpy
        self.tanh, self.exp, self.log = self.jnp.tanh, self.jnp.exp, self.jnp.log
        self.dot, self.inverse = self.jnp.dot, self.jnp.linalg.inv
        self.sigmoid = jax.nn.sigmoid

    def logarithm_of_determinant(self, x: Any) -> Any:
        return self.jnp.linalg.slogdet(x)[1]

    def greatest(self, x: Any, axis: int) -> Any:
        return self.jax.lax.stop_gradient(x.max(axis=axis))

    def scan(self, step: Callable[..., Any], sequences: list[Any], states: list[Any]) -> Any:
        def of_pairs(carried: Any, now: Any) -> Any:
            made = tuple(step(*now, *carried))
            return made, made

        return self.jax.lax.scan(of_pairs, tuple(map(self.jnp.asarray, states)), tuple(sequences))[1]


# --- the models ---------------------------------------------------------------------------------


def lstm(m: Any, xs: Any, h: Any, c: Any, w: Any, r: Any, bias: Any) -> Any:
    """The sum of the squares of all outputs, and of the last cells."""
    n = 4

    def step(x: Any, h: Any, c: Any) -> Any:
        z = m.dot(x, w) + m.dot(h, r) + bias
        into, forget, out = (m.sigmoid(z[:, i * n : (i + 1) * n]) for i in (0, 1, 3))
        c = forget * c + into * m.tanh(z[:, 2 * n : 3 * n])
        return out * m.tanh(c), c

    rows, cells = m.scan(step, [xs], [h, c])
    return (rows**2).sum() + (cells[-1] ** 2).sum()


def gru(m: Any, xs: Any, h: Any, w: Any, r: Any, bias: Any) -> Any:
    n = 4

    def step(x: Any, h: Any) -> Any:
        a, b = m.dot(x, w) + bias, m.dot(h, r)
        update = m.sigmoid(a[:, :n] + b[:, :n])
        reset = m.sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
        new = m.tanh(a[:, 2 * n :] + reset * b[:, 2 * n :])
        return [(1 - update) * new + update * h]

    (rows,) = m.scan(step, [xs], [h])
    return (m.exp(-rows) * rows).sum()


def kalman(m: Any, seen: Any, x: Any, p: Any, f: Any, h: Any, q: Any, r: Any) -> Any:
    """The negative logarithm of the likelihood, constants aside."""

    def step(z: Any, x: Any, p: Any, _: Any) -> Any:
        x, p = m.dot(f, x), m.dot(m.dot(f, p), f.T) + m.dot(q, q.T)
        error = z - m.dot(h, x)
        spread = m.dot(m.dot(h, p), h.T) + m.dot(r, r.T)
        inverse = m.inverse(spread)
        gain = m.dot(m.dot(p, h.T), inverse)
        cost = 0.5 * (m.logarithm_of_determinant(spread) + m.dot(error, m.dot(inverse, error)))
        return x + m.dot(gain, error), p - m.dot(gain, m.dot(h, p)), cost

    return m.scan(step, [seen], [x, p, np.zeros(())])[2].sum()


def hmm(m: Any, seen: Any, start: Any, moves: Any) -> Any:
    """The logarithm of the likelihood; `seen` and the parameters are logarithms, up to a constant."""

    def over(x: Any) -> Any:
        most = m.greatest(x, 0)
        return most + m.log(m.exp(x - most).sum(axis=0))

    moving = (moves.T - over(moves.T)).T

    def step(now: Any, alpha: Any) -> Any:
        return [over(alpha[:, None] + moving) + now]

    (rows,) = m.scan(step, [seen[1:]], [start - over(start) + seen[0]])
    return over(rows[-1])


def garch(m: Any, returns: Any, start: Any, omega: Any, alpha: Any, beta: Any) -> Any:
    (variances,) = m.scan(
        lambda value, variance: [omega + alpha * value**2 + beta * variance], [returns[:-1]], [start]
    )
    first = m.log(start) + returns[0] ** 2 / start
    return -0.5 * ((m.log(variances) + returns[1:] ** 2 / variances).sum() + first)


def models() -> dict[str, Model]:
    draw = np.random.default_rng(17)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return scale * draw.normal(size=shape)

    turn = np.array([[1, 0.1, 0, 0], [0, 0.95, 0, 0.1], [0.1, 0, 0.9, 0], [0, 0, 0.2, 0.8]])
    return {
        "lstm": Model(
            lstm,
            [normal(7, 3, 5), normal(3, 4), normal(3, 4), normal(5, 16, scale=0.5),
             normal(4, 16, scale=0.5), normal(16)],
            [0, 1, 2, 3, 4, 5],
        ),
        "gru": Model(
            gru,
            [normal(9, 3, 5), normal(3, 4), normal(5, 12, scale=0.5), normal(4, 12, scale=0.5),
             normal(12)],
            [0, 1, 2, 3, 4],
        ),
        "kalman": Model(
            kalman,
            [normal(40, 2), normal(4), np.eye(4) + 0.1, turn, normal(2, 4), normal(4, 4, scale=0.3),
             np.eye(2) + 0.2],
            [0, 1, 3, 4, 5, 6],
        ),
        "hmm": Model(hmm, [normal(60, 6), normal(6), normal(6, 6)], [0, 1, 2]),
        "garch": Model(
            garch,
            [normal(500), np.array(1.1), np.array(0.02), np.array(0.08), np.array(0.9)],
            [0, 1, 2, 3, 4],
        ),
    }  # fmt: skip
