"""Loops without input per step: Runge-Kutta on Lorenz 96 in float64, and power iteration."""

import functools

import numpy as np

from graph import BOOL, F64, I64, Graph

VARIABLES, FORCE = 40, 8.0
# The time step; 10,000 are five units of time. Differences grow about sixfold per unit, so after
# twenty units, rounding would dominate the results.
TIME = 0.0005
SIZE, TOLERANCE, MOST_STEPS = 64, 1e-5, 10_000


def _slope(body, numbers, x):
    """(x[i+1] - x[i-2]) x[i-1] - x[i] + force around the circle."""

    def turned(places):
        """Rotates the variables by `places`."""
        cut = numbers[places % VARIABLES]
        ends = [body("Slice", x, cut, numbers["end"]), body("Slice", x, numbers[0], cut)]
        return body("Concat", *ends, axis=0)

    moved = body("Mul", body("Sub", turned(1), turned(-2)), turned(-1))
    return body("Add", body("Sub", moved, x), numbers["force"])


def write_lorenz(path, steps):
    """Writes a Loop of that many steps that keeps every row."""
    graph, shape = Graph(), [VARIABLES]
    start = graph.input("start", shape, F64)
    body = graph.body()
    body.input("step", [], I64)
    going, x = body.input("going", [], BOOL), body.input("x", shape, F64)
    numbers = {n: graph.constant(np.array([n])) for n in (0, 1, VARIABLES - 1, VARIABLES - 2)}
    numbers |= {"end": graph.constant(np.array([VARIABLES])), "force": graph.constant(FORCE)}
    half, whole, sixth, two = (graph.constant(v) for v in (TIME / 2, TIME, TIME / 6, 2.0))
    slope = functools.partial(_slope, body, numbers)
    k1 = slope(x)
    k2 = slope(body("Add", x, body("Mul", half, k1)))
    k3 = slope(body("Add", x, body("Mul", half, k2)))
    k4 = slope(body("Add", x, body("Mul", whole, k3)))
    inner = body("Mul", two, body("Add", k2, k3))
    change = body("Mul", sixth, body("Add", body("Add", k1, inner), k4))
    after = body("Add", x, change)
    body.output(going, [], BOOL)
    body.output(after, shape, F64)
    body.output(after, shape, F64)
    _, rows = graph.loop(body, graph.constant(np.int64(steps)), [start])
    graph.output(rows, [steps, VARIABLES], F64)
    graph.save(path)


def lorenz_feeds():
    return {"start": FORCE + np.random.default_rng(29).standard_normal(VARIABLES)}


def lorenz_reference(feeds, steps):
    after, before, far = (np.arange(VARIABLES) + n for n in (1, -1, -2))
    after %= VARIABLES

    def slope(x):
        return (x[after] - x[far]) * x[before] - x + FORCE

    x, rows = feeds["start"], []
    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + TIME / 2 * k1)
        k3 = slope(x + TIME / 2 * k2)
        k4 = slope(x + TIME * k3)
        x = x + TIME / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        rows.append(x)
    return [np.stack(rows)]


def plain_lorenz(place, feeds, steps, fast=False):
    rows = np.empty((steps, VARIABLES))
    arguments = [steps, FORCE, TIME, feeds["start"], rows]
    return place.baseline.engine("lorenz", arguments, [rows], fast)


def write_power(path):
    """Writes a Loop that ends once a step changes the vector by at most the tolerance."""
    graph = Graph()
    matrix, start = graph.input("matrix", [SIZE, SIZE]), graph.input("start", [SIZE])
    tolerance = graph.constant(np.float32(TOLERANCE))
    body = graph.body()
    body.input("step", [], I64)
    body.input("going", [], BOOL)
    x = body.input("x", [SIZE])
    product = body("MatMul", matrix, x)
    after = body("Div", product, body("ReduceL2", product, axes=[0], keepdims=1))
    change = body("ReduceL2", body("Sub", after, x), axes=[0], keepdims=0)
    body.output(body("Greater", change, tolerance), [], BOOL)
    body.output(after, [SIZE])
    (vector,) = graph.loop(
        body, graph.constant(np.int64(MOST_STEPS)), [start], graph.constant(np.True_)
    )
    graph.output(vector, [SIZE])
    graph.save(path)


def power_feeds():
    """A symmetric matrix whose second eigenvalue is 0.99 of the first."""
    random = np.random.default_rng(30)
    basis, _ = np.linalg.qr(random.standard_normal((SIZE, SIZE)))
    values = np.concatenate([[1, 0.99], random.uniform(0.1, 0.9, SIZE - 2)])
    matrix = (basis * values) @ basis.T
    return {
        "matrix": ((matrix + matrix.T) / 2).astype(np.float32),
        "start": np.full(SIZE, SIZE**-0.5, np.float32),
    }


def power_reference(feeds):
    """The vector, and the number of steps after which it was reached."""
    matrix, x = (feeds[name].astype(np.float64) for name in ("matrix", "start"))
    for step in range(1, MOST_STEPS + 1):
        after = matrix @ x
        after /= np.linalg.norm(after)
        change, x = np.linalg.norm(after - x), after
        if change <= TOLERANCE:
            break
    return x, step


def plain_power(place, feeds, fast=False):
    x = np.empty(SIZE, np.float32)
    arguments = [MOST_STEPS, SIZE, TOLERANCE, feeds["matrix"], feeds["start"], x]
    return place.baseline.engine("power", arguments, [x], fast)
