"""Equations on grids: independent tridiagonal systems in float64 (Thomas' elimination and back
substitution), and steps of the heat equation in the plane."""

import numpy as np

from graph import BOOL, F64, I64, Graph

SYSTEMS = 64
SIDE, RATE = 128, 0.2  # width of the plane; time step x conductivity / distance^2
DIAGONALS = ("lower", "main", "upper", "right")


def write_thomas(path):
    graph, row = Graph(), [SYSTEMS]
    scanned = [graph.input(name, ["rows", *row], F64) for name in DIAGONALS]
    zeros = graph.constant(np.zeros(SYSTEMS))
    down = graph.body()
    factor_before, right_before = down.input("factor", row, F64), down.input("right", row, F64)
    lower, main, upper, right = (down.input(name, row, F64) for name in DIAGONALS)
    pivot = down("Sub", main, down("Mul", lower, factor_before))
    factor = down("Div", upper, pivot)
    reduced = down("Div", down("Sub", right, down("Mul", lower, right_before)), pivot)
    for value in (factor, reduced, factor, reduced):
        down.output(value, row, F64)
    *_, factors, rights = graph.scan(down, [zeros, zeros], scanned)
    up = graph.body()
    below, factor, reduced = (up.input(name, row, F64) for name in ("below", "factor", "right"))
    solved = up("Sub", reduced, up("Mul", factor, below))
    up.output(solved, row, F64)
    up.output(solved, row, F64)
    _, found = graph.scan(
        up, [zeros], [factors, rights], scan_input_directions=[1, 1], scan_output_directions=[1]
    )
    graph.output(found, ["rows", *row], F64)
    graph.save(path)


def thomas_feeds(rows):
    """Diagonally dominant systems, so that elimination needs no pivoting."""
    lower, upper, right = np.random.default_rng(44).standard_normal((3, rows, SYSTEMS))
    lower[0] = upper[-1] = 0
    return {
        "lower": lower, "main": 1 + np.abs(lower) + np.abs(upper), "upper": upper, "right": right,
    }


def thomas_reference(feeds):
    """Cyclic reduction: eliminates the neighbours of each row, then those twice as far away."""
    lower, main, upper, right = feeds.values()
    distance = 1

    def moved(array, rows, filling=0.0):
        """Shifts the array so that row i holds row i + rows."""
        result = np.full_like(array, filling)
        kept = slice(None, -rows) if rows > 0 else slice(-rows, None)
        result[kept] = array[rows:] if rows > 0 else array[:rows]
        return result

    while distance < len(main):
        above = -lower / moved(main, -distance, 1.0)
        below = -upper / moved(main, distance, 1.0)
        main = main + above * moved(upper, -distance) + below * moved(lower, distance)
        right = right + above * moved(right, -distance) + below * moved(right, distance)
        lower, upper = above * moved(lower, -distance), below * moved(upper, distance)
        distance *= 2
    return [right / main]


def plain_thomas(place, feeds, fast=False):
    solved, factors = np.empty_like(feeds["right"]), np.empty_like(feeds["right"])
    arguments = [*solved.shape, *feeds.values(), factors, solved]
    return place.baseline.engine("thomas", arguments, [solved], fast)


def write_heat(path, steps):
    """Writes a Loop; nothing flows through the edges."""
    graph, shape = Graph(), [SIDE, SIDE]
    start = graph.input("start", shape)
    body = graph.body()
    body.input("step", [], I64)
    going, heat = body.input("going", [], BOOL), body.input("heat", shape)
    padded = body("Pad", heat, body.constant(np.array([1, 1, 1, 1])), mode="edge")

    def shifted(down, right):
        first = np.array([1 + down, 1 + right])
        ends = (body.constant(first), body.constant(first + SIDE))
        return body("Slice", padded, *ends, body.constant(np.array([0, 1])))

    across = body("Add", shifted(0, -1), shifted(0, 1))
    around = body("Add", body("Add", shifted(-1, 0), shifted(1, 0)), across)
    here = body("Mul", body.constant(np.float32(4)), heat)
    flow = body("Mul", body.constant(np.float32(RATE)), body("Sub", around, here))
    body.output(going, [], BOOL)
    body.output(body("Add", heat, flow), shape)
    (last,) = graph.loop(body, graph.constant(np.int64(steps)), [start])
    graph.output(last, shape)
    graph.save(path)


def heat_feeds():
    return {"start": np.random.default_rng(45).standard_normal((SIDE, SIDE)).astype(np.float32)}


def heat_reference(feeds, steps):
    """Decomposes into eigenmodes of the plane, each of which decays independently: no loop."""
    second = -2 * np.eye(SIDE) + np.eye(SIDE, k=1) + np.eye(SIDE, k=-1)
    second[0, 0] = second[-1, -1] = -1
    values, waves = np.linalg.eigh(second)
    decay = (1 + RATE * (values[:, None] + values)) ** steps
    inner = waves.T @ feeds["start"].astype(np.float64) @ waves
    return [waves @ (decay * inner) @ waves.T]


def plain_heat(place, feeds, steps, fast=False):
    heat = np.empty_like(feeds["start"])
    padded, after = (np.empty((SIDE + 2, SIDE + 2), np.float32) for _ in range(2))
    arguments = [steps, SIDE, RATE, feeds["start"], padded, after, heat]
    return place.baseline.engine("heat", arguments, [heat], fast)
