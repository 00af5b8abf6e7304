"""Kalman filter in float64: a point in the plane with a velocity, whose position is measured;
followed by the Rauch-Tung-Striebel smoother, a backward Scan. Inverses are written out."""

import numpy as np

from graph import F64, Graph

TIME = 0.1
STATES, SEEN = 4, 2
F = np.eye(STATES) + TIME * np.eye(STATES, k=2)
H = np.eye(SEEN, STATES)
Q = 0.01 * np.eye(STATES)
R = 0.25 * np.eye(SEEN)


def _invert(body, m):
    """The inverse of a 2x2 matrix: the adjugate over the determinant."""
    flat = body("Reshape", m, body.constant(np.array([4])))
    a, b, c, d = body.many("Split", flat, outputs=4, axis=0)
    determinant = body("Sub", body("Mul", a, d), body("Mul", b, c))
    adjugate = body("Concat", d, body("Neg", b), body("Neg", c), a, axis=0)
    return body("Reshape", body("Div", adjugate, determinant), body.constant(np.array([2, 2])))


def _invert_blocks(body, m):
    """The inverse of a symmetric 4x4 matrix, by its 2x2 blocks."""
    rows = body.many("Split", m, outputs=2, axis=0)
    (a, b), (c, d) = (body.many("Split", row, outputs=2, axis=1) for row in rows)
    inverse = _invert(body, a)
    left, right = body("MatMul", c, inverse), body("MatMul", inverse, b)
    rest = _invert(body, body("Sub", d, body("MatMul", c, right)))
    across, down = body("MatMul", right, rest), body("MatMul", rest, left)
    corner = body("Add", inverse, body("MatMul", across, left))
    upper = body("Concat", corner, body("Neg", across), axis=1)
    return body("Concat", upper, body("Concat", body("Neg", down), rest, axis=1), axis=0)


def _filter(graph, keeps_covariances=False):
    """A Scan over the measurements: the last mean and covariance, then all means, and
    covariances."""
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
    covariance = body("Sub", ahead, known)
    body.output(mean, column, F64)
    body.output(covariance, square, F64)
    body.output(mean, column, F64)
    if keeps_covariances:
        body.output(covariance, square, F64)
    return graph.scan(body, [x_start, p_start], [seen])


def write(path):
    graph = Graph()
    _, covariance, means = _filter(graph)
    graph.output(means, ["steps", STATES, 1], F64)
    graph.output(covariance, [STATES, STATES], F64)
    graph.save(path)


def write_smoother(path):
    """All means given all measurements, and the first covariance."""
    graph, column, square = Graph(), [STATES, 1], [STATES, STATES]
    last, covariance, means, covariances = _filter(graph, keeps_covariances=True)
    f, f_back, q = (graph.constant(m) for m in (F, F.T.copy(), Q))
    first, end, axis = (graph.constant(np.array([n])) for n in (0, -1, 0))
    scanned = [graph("Slice", rows, first, end, axis) for rows in (means, covariances)]
    body = graph.body()
    x_next, p_next = body.input("x_next", column, F64), body.input("p_next", square, F64)
    x, p = body.input("x", column, F64), body.input("p", square, F64)
    cross = body("MatMul", p, f_back)
    ahead = body("Add", body("MatMul", f, cross), q)
    gain = body("MatMul", cross, _invert_blocks(body, ahead))
    moved = body("Sub", x_next, body("MatMul", f, x))
    spread = body("MatMul", body("MatMul", gain, body("Sub", p_next, ahead)),
                  body("Transpose", gain, perm=[1, 0]))
    mean = body("Add", x, body("MatMul", gain, moved))
    body.output(mean, column, F64)
    body.output(body("Add", p, spread), square, F64)
    body.output(mean, column, F64)
    _, smoothed, rows = graph.scan(
        body, [last, covariance], scanned, scan_input_directions=[1, 1],
        scan_output_directions=[1],
    )
    last_row = graph("Unsqueeze", last, first)
    graph.output(graph("Concat", rows, last_row, axis=0), ["steps", *column], F64)
    graph.output(smoothed, square, F64)
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
    """Joseph's form of the update with numpy's solver: the same filter by other arithmetic."""
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


def smoother_reference(feeds):
    """The form of Bryson and Frazier: propagates the filter's errors backwards, without inverting
    the covariance of a prediction."""
    x, p, steps = feeds["x_start"], feeds["p_start"], []
    for z in feeds["seen"]:
        x, p = F @ x, F @ p @ F.T + Q
        error, spread = z - H @ x, H @ p @ H.T + R
        gain = np.linalg.solve(spread, H @ p).T
        x, p = x + gain @ error, p - gain @ spread @ gain.T
        steps.append((x, p, H.T @ np.linalg.inv(spread), error, np.eye(STATES) - gain @ H))
    told, sure, rows = np.zeros((STATES, 1)), np.zeros((STATES, STATES)), []
    for x, p, weight, error, kept in reversed(steps):
        rows.append(x - p @ told)
        first = p - p @ sure @ p
        told = F.T @ (kept.T @ told - weight @ error)
        sure = F.T @ (kept.T @ sure @ kept + weight @ H) @ F
    return [np.stack(rows[::-1]), first]


def plain_smoother(place, feeds, fast=False):
    seen = feeds["seen"]
    means, covariance = np.empty((len(seen), STATES, 1)), np.empty((STATES, STATES))
    covariances = np.empty((len(seen), STATES, STATES))
    arguments = [len(seen), F, H, Q, R, feeds["x_start"], feeds["p_start"], seen, covariances,
                 covariance, means]
    return place.baseline.engine("kalman_smoother", arguments, [means, covariance], fast)
