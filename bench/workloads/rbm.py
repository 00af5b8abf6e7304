"""Gibbs sweeps of a restricted Boltzmann machine: a step draws the hidden units of each row given
the visible ones, and then the visible units given these."""

import numpy as np

from graph import Graph

ROWS, VISIBLE, HIDDEN = 64, 784, 500
# The least distance of a fed number from the probability that it is compared with, so that rounding
# does not matter.
APART = 1e-4


def weights():
    random = np.random.default_rng(32)
    return {
        "w": (random.standard_normal((VISIBLE, HIDDEN)) * 0.05).astype(np.float32),
        "hidden_bias": (random.standard_normal(HIDDEN) * 0.1).astype(np.float32),
        "visible_bias": (random.standard_normal(VISIBLE) * 0.1).astype(np.float32),
    }


def write(path, steps, is_drawn):
    """Writes a Loop of that many sweeps; the uniform numbers are drawn in the loop or fed."""
    graph = Graph()
    start = graph.input("start", [ROWS, VISIBLE])
    constants = {name: graph.constant(array) for name, array in weights().items()}
    turned = graph.constant(np.ascontiguousarray(weights()["w"].T))
    body = graph.body()
    visible = body.input("visible", [ROWS, VISIBLE])
    names = {"u_hidden": HIDDEN, "u_visible": VISIBLE}
    if is_drawn:
        uniform = {n: body("RandomUniform", shape=[ROWS, width]) for n, width in names.items()}
    else:
        uniform = {n: body.input(n, [ROWS, width]) for n, width in names.items()}

    def drawn(units, weight, bias, numbers):
        inner = body("Add", body("MatMul", units, weight), bias)
        return body("Cast", body("Less", numbers, body("Sigmoid", inner)), to=1)

    hidden = drawn(visible, constants["w"], constants["hidden_bias"], uniform["u_hidden"])
    after = drawn(hidden, turned, constants["visible_bias"], uniform["u_visible"])
    share = body("ReduceMean", after, keepdims=0)
    body.output(after, [ROWS, VISIBLE])
    body.output(share, [])
    if is_drawn:
        scanned = [graph.constant(np.zeros(steps, np.float32))]
        body.input("unused", [])
    else:
        scanned = [graph.input(n, ["steps", ROWS, width]) for n, width in names.items()]
    last, shares = graph.scan(body, [start], scanned)
    graph.output(shares, ["steps"])
    if not is_drawn:
        graph.output(last, [ROWS, VISIBLE])
    graph.save(path)


def start():
    return (np.random.default_rng(33).random((ROWS, VISIBLE)) < 0.5).astype(np.float32)


def sweeps(steps):
    """The uniform numbers to feed, and the results: the share of active visible units after each
    sweep, and the last units."""
    w, hidden_bias, visible_bias = (array.astype(np.float64) for array in weights().values())
    random = np.random.default_rng(34)
    visible, given, shares = start().astype(np.float64), {"u_hidden": [], "u_visible": []}, []

    def drawn(inner, name):
        chance = 1 / (1 + np.exp(-inner))
        numbers = random.random(chance.shape)
        near = np.abs(numbers - chance) < APART
        numbers[near] = np.where(chance > 0.5, chance - 2 * APART, chance + 2 * APART)[near]
        given[name].append(numbers.astype(np.float32))
        return (numbers < chance).astype(np.float64)

    for _ in range(steps):
        hidden = drawn(visible @ w + hidden_bias, "u_hidden")
        visible = drawn(hidden @ w.T + visible_bias, "u_visible")
        shares.append(visible.mean())
    feeds = {"start": start()} | {name: np.stack(rows) for name, rows in given.items()}
    return feeds, [np.array(shares), visible]


def plain(place, feeds):
    """With fed numbers; the products are plain loops."""
    w, hidden_bias, visible_bias = weights().values()
    visible, shares = np.empty_like(feeds["start"]), np.empty(len(feeds["u_hidden"]), np.float32)
    hidden = np.empty((ROWS, HIDDEN), np.float32)
    arguments = [len(shares), ROWS, VISIBLE, HIDDEN, feeds["start"], w, hidden_bias, visible_bias,
                 feeds["u_hidden"], feeds["u_visible"], hidden, visible, shares]
    return place.baseline.engine("gibbs", arguments, [shares, visible])
