"""Programs that run with both Scanloom's and PyTensor's modules, with results compared where
PyTensor is right. PyTensor is optional (make bench-peers); the other tests compare with numpy."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanloom
import scanloom.tensor

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed: make bench-peers")

RANDOM = np.random.default_rng(11)
PROGRAMS: dict[str, Callable[[Any, Any], tuple[list[Any], list[Any], list[np.ndarray]]]] = {}


def program(make):
    """A function of the two modules that gives inputs, outputs and values for the inputs."""
    PROGRAMS[make.__name__] = make
    return make


def line(size: int = 6) -> np.ndarray:
    return RANDOM.standard_normal(size)


def square(size: int = 4) -> np.ndarray:
    return 0.4 * RANDOM.standard_normal((size, size))


@program
def running_sum(theano, T):
    x = T.vector("x")
    rows, _ = theano.scan(lambda r, s: r + s, sequences=x, outputs_info=T.zeros(()))
    return [x], [rows], [line()]


@program
def power(theano, T):
    a, k = T.vector("a"), T.iscalar("k")
    rows, _ = theano.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    return [a, k], [rows[-1]], [line(), np.int32(4)]


@program
def polynomial(theano, T):
    c, x = T.vector("c"), T.scalar("x")
    terms, _ = theano.scan(lambda c, n, x: c * x**n, [c, T.arange(100)], None, x)
    return [c, x], [terms.sum(), T.grad(terms.sum(), x)], [line(), np.array(0.7)]


@program
def taps_of_sequences(theano, T):
    x = T.vector("x")
    rows, _ = theano.scan(lambda a, b, c: a + 10 * b + 100 * c, dict(input=x, taps=[-2, 0, 1]))
    return [x], [rows], [line()]


@program
def taps_of_outputs(theano, T):
    start = T.vector("start")
    rows, _ = theano.scan(lambda a, b: a + 0.5 * b, outputs_info=dict(initial=start, taps=[-2, -1]), n_steps=7)
    return [start], [rows, T.grad(rows.sum(), start)], [line(2)]


@program
def taps_in_another_order(theano, T):
    start = T.vector("start")
    rows, _ = theano.scan(lambda a, b: a - 0.3 * b, outputs_info=dict(initial=start, taps=[-1, -3]), n_steps=5)
    return [start], [rows], [line(3)]


@program
def several_outputs(theano, T):
    x = T.vector("x")
    (a, b, c), _ = theano.scan(
        lambda r, s, t: (r + s, s * t, r * 2),
        sequences=x, outputs_info=[T.zeros(()), T.ones(()), None])  # fmt: skip
    return [x], [a, b, c], [line()]


@program
def backwards(theano, T):
    x = T.vector("x")
    rows, _ = theano.scan(lambda r, s: 0.5 * s + r, x, T.zeros(()), go_backwards=True)
    return [x], [rows, T.grad(rows[-1], x)], [line()]


@program
def backwards_with_taps(theano, T):
    x = T.vector("x")
    rows, _ = theano.scan(lambda a, b: a * 10 + b, dict(input=x, taps=[0, 1]), go_backwards=True)
    return [x], [rows], [line()]


@program
def shortest_sequence(theano, T):
    x, y = T.vector("x"), T.vector("y")
    rows, _ = theano.scan(lambda a, b: a * b, [x, y])
    return [x, y], [rows], [line(6), line(4)]


@program
def fewer_n_steps(theano, T):
    x = T.vector("x")
    rows, _ = theano.scan(lambda a: a * 2, x, n_steps=3)
    return [x], [rows], [line()]


@program
def recurrent_network(theano, T):
    x, w, v, h0 = T.matrix("x"), T.matrix("w"), T.matrix("v"), T.vector("h0")
    h, _ = theano.scan(lambda x, h, w, v: T.tanh(T.dot(h, w) + T.dot(x, v)), x, h0, [w, v])
    cost = (h**2).sum()
    return [x, w, v, h0], [h, *T.grad(cost, [x, w, v, h0])], [RANDOM.standard_normal((5, 4)), square(), square(), line(4)]


@program
def truncated_gradient(theano, T):
    x, w = T.vector("x"), T.scalar("w")
    h, _ = theano.scan(lambda x, h, w: T.tanh(w * h + x), x, T.zeros(()), w, truncate_gradient=3)
    return [x, w], [T.grad(h[-1], w), T.grad(h[-1], x)], [line(8), np.array(0.8)]


@program
def nested(theano, T):
    x, y = T.matrix("x"), T.vector("y")

    def outer(row, y):
        inner, _ = theano.scan(lambda a, s, f: s * f + a, row, T.zeros(()), y.sum())
        return inner[-1]

    rows, _ = theano.scan(outer, x, None, y)
    return [x, y], [rows, *T.grad(rows.sum(), [x, y])], [square(), 0.2 * line(3)]


@program
def gradient_of_gradient(theano, T):
    a = T.scalar("a")
    h, _ = theano.scan(lambda h, a: T.sin(a * h), outputs_info=T.ones(()), non_sequences=a, n_steps=6)
    first = T.grad(h[-1], a)
    return [a], [first, T.grad(first, a)], [np.array(1.3)]


@program
def captured_values(theano, T):
    x, w = T.vector("x"), T.matrix("w")
    h, _ = theano.scan(lambda h: T.tanh(T.dot(w, h) + x), outputs_info=x, n_steps=4)
    return [x, w], [h[-1], T.grad(h[-1].sum(), w)], [line(4), square()]


@program
def map_reduce_fold(theano, T):
    x = T.vector("x")
    # Which PyTensor has moved.
    views = theano if hasattr(theano, "reduce") else importlib.import_module("pytensor.scan.views")
    mapped, _ = views.map(lambda a: a**2, x)
    reduced, _ = views.reduce(lambda a, s: a + s, x, T.zeros(()))
    left, _ = views.foldl(lambda a, s: a + 2 * s, x, T.zeros(()))
    right, _ = views.foldr(lambda a, s: a + 2 * s, x, T.zeros(()))
    return [x], [mapped, reduced, left, right], [line()]


@program
def subtensors(theano, T):
    x, places = T.matrix("x"), T.ivector("places")
    rows, _ = theano.scan(lambda i, s: T.set_subtensor(s[i, i], s[i].sum()), places, x)
    return [x, places], [rows[-1], T.grad((rows[-1] ** 2).sum(), x)], [square(), np.int32([0, 2, 3])]


@program
def forward_derivative(theano, T):
    x, v = T.vector("x"), T.vector("v")
    h, _ = theano.scan(lambda a, h: T.tanh(h + a), x, T.zeros(()))
    from_module = theano.gradient if hasattr(theano, "gradient") else theano
    return [x, v], [from_module.Rop(h, x, v), from_module.Lop(h, x, v)], [line(), line()]


@program
def jacobians(theano, T):
    x = T.vector("x")
    h, _ = theano.scan(lambda a, h: h * a + a, x, T.ones(()))
    return [x], [theano.gradient.jacobian(h, x), theano.gradient.hessian(h.sum(), x)], [line(4)]


def run(theano, T, make, **options):
    inputs, outputs, values = make(theano, T)
    return theano.function(inputs, outputs, on_unused_input="ignore", **options)(*values)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    import pytensor.tensor

    global RANDOM
    RANDOM = np.random.default_rng(11)
    ours = run(scanloom, scanloom.tensor, PROGRAMS[name])
    RANDOM = np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PyTensor has deprecated since Theano
        theirs = run(pytensor, pytensor.tensor, PROGRAMS[name], mode="FAST_COMPILE")
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
