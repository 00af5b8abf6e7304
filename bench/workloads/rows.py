"""A Loop that keeps every state, of which the last alone, or all, are read afterwards."""

import numpy as np

from graph import BOOL, I64, Graph

WIDTH = 16
FACTOR, ADDED = np.float32(0.999), np.float32(0.001)


def write(path, steps, last_only):
    graph = Graph()
    start = graph.input("start", [WIDTH])
    body = graph.body()
    body.input("step", [], I64)
    going, h = body.input("going", [], BOOL), body.input("h", [WIDTH])
    after = body("Add", body("Mul", h, body.constant(FACTOR)), body.constant(ADDED))
    body.output(going, [], BOOL)
    body.output(after, [WIDTH])
    body.output(after, [WIDTH])
    _, rows = graph.loop(body, graph.constant(np.int64(steps)), [start])
    if last_only:
        graph.output(graph("Gather", rows, graph.constant(np.int64(-1)), axis=0), [WIDTH])
    else:
        graph.output(graph("ReduceMax", rows, keepdims=0), [])
    graph.save(path)


def feeds():
    return {"start": np.linspace(-2, 2, WIDTH, dtype=np.float32)}


def reference(feeds, steps, last_only):
    h, most = feeds["start"], np.float32(-np.inf)
    for _ in range(steps):
        h = h * FACTOR + ADDED
        most = max(most, h.max())
    return [h if last_only else most]
