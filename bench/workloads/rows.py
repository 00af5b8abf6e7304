"""A Loop that keeps every state, all or the last of which are read afterwards."""

import numpy as np

from graph import BOOL, I64, Graph

WIDTH = 16
FACTOR, ADDED = np.float32(0.999), np.float32(0.001)


def write(path, steps, count):
    """count: the number of last rows to return; 0: the maximum of all rows. If it is above 1, the
    number of steps is an input."""
    graph = Graph()
    start = graph.input("start", [WIDTH])
    trip = graph.input("steps", [], I64) if count > 1 else graph.constant(np.int64(steps))
    body = graph.body()
    body.input("step", [], I64)
    going, h = body.input("going", [], BOOL), body.input("h", [WIDTH])
    after = body("Add", body("Mul", h, body.constant(FACTOR)), body.constant(ADDED))
    body.output(going, [], BOOL)
    body.output(after, [WIDTH])
    body.output(after, [WIDTH])
    _, rows = graph.loop(body, trip, [start])
    if count == 0:
        graph.output(graph("ReduceMax", rows, keepdims=0), [])
    elif count == 1:
        graph.output(graph("Gather", rows, graph.constant(np.int64(-1)), axis=0), [WIDTH])
    else:
        ends = (graph.constant(np.array([x])) for x in (-count, np.iinfo(np.int64).max))
        graph.output(graph("Slice", rows, *ends), [None, WIDTH])
    graph.save(path)


def feeds(steps, count):
    start = {"start": np.linspace(-2, 2, WIDTH, dtype=np.float32)}
    return start | ({"steps": np.int64(steps)} if count > 1 else {})


def reference(feeds, steps, count):
    h, most, last = feeds["start"], np.float32(-np.inf), []
    for _ in range(steps):
        h = h * FACTOR + ADDED
        most = max(most, h.max())
        last = [*last, h][-max(count, 1) :]
    return [most if count == 0 else h if count == 1 else np.concatenate(last)]
