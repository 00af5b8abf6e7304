"""h = a[t] h + b[t] elementwise, and the special case of one element with a = 1."""

import numpy as np

from graph import Graph


def write(path, width):
    graph = Graph()
    start = graph.input("start", [width])
    a = graph.input("a", ["steps", width])
    b = graph.input("b", ["steps", width])
    body = graph.body()
    h, factor, added = (body.input(name, [width]) for name in ("h", "factor", "added"))
    after = body("Add", body("Mul", h, factor), added)
    body.output(after, [width])
    body.output(after, [width])
    _, rows = graph.scan(body, [start], [a, b])
    graph.output(rows, ["steps", width])
    graph.save(path)


def feeds(steps, width):
    random = np.random.default_rng(21)
    return {
        "start": random.standard_normal(width).astype(np.float32),
        "a": random.uniform(0.5, 0.95, (steps, width)).astype(np.float32),
        "b": random.standard_normal((steps, width)).astype(np.float32),
    }


def reference(feeds):
    h, rows = feeds["start"].astype(np.float64), np.empty(feeds["a"].shape)
    for step, (a, b) in enumerate(zip(feeds["a"], feeds["b"])):
        h = a * h + b
        rows[step] = h
    return [rows]


def reference_of_many_steps(feeds, length=1000):
    """For one element, in parallel lanes of that length. A lane starts from the end of the previous
    lane, whose own start no longer matters: factors are 0.95 at most."""
    a, b = (feeds[name].astype(np.float64).reshape(-1, length).T for name in ("a", "b"))
    h = np.zeros(a.shape[1])
    for factor, added in zip(a, b):
        h = factor * h + added
    h, rows = np.concatenate([feeds["start"], h[:-1]]), np.empty(a.shape)
    for step, (factor, added) in enumerate(zip(a, b)):
        h = factor * h + added
        rows[step] = h
    return [rows.T.reshape(-1, 1)]


def plain(place, feeds):
    steps, width = feeds["a"].shape
    rows = np.empty_like(feeds["a"])
    if width == 1:
        arguments = [steps, float(feeds["start"][0]), feeds["a"], feeds["b"], rows]
        return place.baseline.engine("affine", arguments, [rows])
    arguments = [steps, width, feeds["start"], feeds["a"], feeds["b"], rows]
    return place.baseline.engine("affine_rows", arguments, [rows])


def write_cumsum(path):
    graph = Graph()
    xs = graph.input("xs", ["steps"])
    body = graph.body()
    total, x = body.input("total", []), body.input("x", [])
    after = body("Add", total, x)
    body.output(after, [])
    body.output(after, [])
    _, rows = graph.scan(body, [graph.constant(np.float32(0))], [xs])
    graph.output(rows, ["steps"])
    graph.save(path)


def write_cumsum_operator(path):
    graph = Graph()
    xs = graph.input("xs", ["steps"])
    graph.output(graph("CumSum", xs, graph.constant(np.int64(0))), ["steps"])
    graph.save(path)


def cumsum_feeds(steps):
    return {"xs": np.random.default_rng(22).standard_normal(steps).astype(np.float32)}


def cumsum_reference(feeds):
    return [np.cumsum(feeds["xs"], dtype=np.float64)]


def plain_cumsum(place, feeds):
    rows = np.empty_like(feeds["xs"])
    arguments = [rows.size, 0.0, feeds["xs"], rows]
    return place.baseline.engine("cumsum", arguments, [rows])
