"""The recurrence of selective state space models, whose decay and inflow depend on the input.

h[d][n] = exp(delta[d] rate[d][n]) h[d][n] + delta[d] u[d] into[n];
y[d] = sum over n of h[d][n] out[n], plus skip[d] u[d]."""

import numpy as np

from graph import Graph

WIDTH, STATES = 512, 16


def write(path):
    graph, square = Graph(), [WIDTH, STATES]
    rate, skip = (graph.constant(array) for array in weights().values())
    scanned = [
        graph.input(name, ["steps", size])
        for name, size in (("u", WIDTH), ("delta", WIDTH), ("into", STATES), ("out", STATES))
    ]
    body = graph.body()
    h, u, delta = body.input("h", square), body.input("u", [WIDTH]), body.input("delta", [WIDTH])
    into, out = body.input("into", [STATES]), body.input("out", [STATES])
    last = body.constant(np.array([1]))
    decay = body("Exp", body("Mul", body("Unsqueeze", delta, last), rate))
    inflow = body("Mul", body("Unsqueeze", body("Mul", delta, u), last), into)
    after = body("Add", body("Mul", decay, h), inflow)
    read = body("ReduceSum", body("Mul", after, out), last, keepdims=0)
    body.output(after, square)
    body.output(body("Add", read, body("Mul", skip, u)), [WIDTH])
    start = graph.constant(np.zeros(square, np.float32))
    last_h, rows = graph.scan(body, [start], scanned)
    graph.output(rows, ["steps", WIDTH])
    graph.output(last_h, square)
    graph.save(path)


def weights():
    rate = -np.tile(np.arange(1, STATES + 1, dtype=np.float32), (WIDTH, 1))
    return {"rate": rate, "skip": np.ones(WIDTH, np.float32)}


def feeds(steps):
    random = np.random.default_rng(28)
    arrays = {
        "u": random.standard_normal((steps, WIDTH)),
        "delta": np.exp(random.uniform(np.log(0.001), np.log(0.1), (steps, WIDTH))),
        "into": random.standard_normal((steps, STATES)),
        "out": random.standard_normal((steps, STATES)),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def reference(feeds):
    wide = {name: array.astype(np.float64) for name, array in {**weights(), **feeds}.items()}
    h, rows = np.zeros((WIDTH, STATES)), []
    for u, delta, into, out in zip(*(wide[name] for name in ("u", "delta", "into", "out"))):
        h = np.exp(delta[:, None] * wide["rate"]) * h + np.outer(delta * u, into)
        rows.append(h @ out + wide["skip"] * u)
    return [np.stack(rows), h]


def plain(place, feeds, fast=False):
    u = feeds["u"]
    h, rows = np.empty((WIDTH, STATES), np.float32), np.empty_like(u)
    inputs = [*weights().values(), *(feeds[name] for name in ("u", "delta", "into", "out"))]
    arguments = [len(u), WIDTH, STATES, *inputs, h, rows]
    return place.baseline.engine("selective_scan", arguments, [rows, h], fast)
