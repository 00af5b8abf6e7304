"""Kalman filter in float64: a point in the plane with its velocity, whose place is measured. The
inverse of two by two is written out."""

import numpy as np

from graph import F64, Graph

TIME = 0.1
STATES, SEEN = 4, 2
F = np.eye(STATES) + TIME * np.eye(STATES, k=2)
H = np.eye(SEEN, STATES)
Q = 0.01 * np.eye(STATES)
R = 0.25 * np.eye(SEEN)


def _invert(body, m):
    """Of a 2x2 matrix: the adjugate over the determinant."""
    flat = body("Reshape", m, body.constant(np.array([4])))
    a, b, c, d = body.many("Split", flat, outputs=4, axis=0)
    determinant = body("Sub", body("Mul", a, d), body("Mul", b, c))
    adjugate = body("Concat", d, body("Neg", b), body("Neg", c), a, axis=0)
    return body("Reshape", body("Div", adjugate, determinant), body.constant(np.array([2, 2])))


def write(path):
    graph = Graph()
    column, square = [STATES, 1], [STATES, STATES]
    x_start = graph.input("x_start", column, F64)
    p_start = graph.input("p_start", square, F64)
    seen = graph.input("seen", ["steps", SEEN, 1], F64)
    f, f_back, h, h_back, q, r = (graph.constant(m) for m in (F, F.T.copy(), H, H.T.copy(), Q, R))
    body = graph.body()
    x, p = body.input("x", column, F64), body.input("p", square, F64)
    z = body.input("z", [SEEN, 1], F64)
    predicted = body("MatMul", f, x)
    ahead = body("Add", body("MatMul", body("MatMul", f, p), f_back), q)
    cross = body("MatMul", ahead, h_back)
    spread = body("Add", body("MatMul", h, cross), r)
    gain = body("MatMul", cross, _invert(body, spread))
    error = body("Sub", z, body("MatMul", h, predicted))
    mean = body("Add", predicted, body("MatMul", gain, error))
    known = body("MatMul", gain, body("Transpose", cross, perm=[1, 0]))
    body.output(mean, column, F64)
    body.output(body("Sub", ahead, known), square, F64)
    body.output(mean, column, F64)
    _, covariance, means = graph.scan(body, [x_start, p_start], [seen])
    graph.output(means, ["steps", *column], F64)
    graph.output(covariance, square, F64)
    graph.save(path)


def feeds(steps):
    random = np.random.default_rng(27)
    place = np.cumsum(random.standard_normal((steps, SEEN, 1)) * 0.1, axis=0)
    return {
        "x_start": np.zeros((STATES, 1)),
        "p_start": np.eye(STATES),
        "seen": place + 0.5 * random.standard_normal(place.shape),
    }


def reference(feeds):
    """The update in Joseph's form with numpy's solver: other arithmetic, the same filter."""
    x, p, rows = feeds["x_start"], feeds["p_start"], []
    for z in feeds["seen"]:
        x, p = F @ x, F @ p @ F.T + Q
        gain = np.linalg.solve(H @ p @ H.T + R, H @ p).T
        x = x + gain @ (z - H @ x)
        left = np.eye(STATES) - gain @ H
        p = left @ p @ left.T + gain @ R @ gain.T
        rows.append(x)
    return [np.stack(rows), p]


def plain(place, feeds, fast=False):
    seen = feeds["seen"]
    means, p = np.empty((len(seen), STATES, 1)), np.empty((STATES, STATES))
    arguments = [len(seen), F, H, Q, R, feeds["x_start"], feeds["p_start"], seen, p, means]
    return place.baseline.engine("kalman", arguments, [means, p], fast)
