"""Loops that end depending on their values: an ordinary differential equation with adaptive steps,
the scaling of a matrix to given sums, the page ranks of a graph."""

import functools

import numpy as np

from graph import BOOL, F64, I64, Graph

MOST_STEPS = 100_000

# Dormand and Prince, order 5. The last row is the stage that ends the step; ERROR is the difference
# to order 4.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
STIFFNESS, END, FIRST, PRECISION = 5.0, 20.0, 0.01, 1e-8  # Van der Pol's oscillator
SAFETY, LEAST, MOST = 0.9, 0.2, 5.0  # the factor between the lengths of steps

POINTS, BLUR, CHANGE = 64, 0.05, 1e-5  # Sinkhorn's scaling
PAGES, LINKS, FOLLOWED, RANK_CHANGE = 1_000, 8_000, 0.85, 1e-3


def _until(graph, body, states):
    """The last states of a Loop that runs while the body's condition holds."""
    most = graph.constant(np.int64(MOST_STEPS))
    return graph.loop(body, most, states, graph.constant(np.True_))


def _start_body(graph, **states):
    """The body of a Loop and its states, each given by shape and type."""
    body = graph.body()
    body.input("step", [], I64)
    body.input("going", [], BOOL)
    return body, [body.input(name, *kind) for name, kind in states.items()]


def _weighted(body, weights, slopes):
    terms = [
        body("Mul", body.constant(np.float64(weight)), slope)
        for weight, slope in zip(weights, slopes) if weight
    ]  # fmt: skip
    return functools.reduce(functools.partial(body, "Add"), terms)


def write_dopri(path):
    graph, pair = Graph(), ([2], F64)
    start = graph.input("start", *pair)
    body, (y, time, length) = _start_body(graph, y=pair, time=([], F64), length=([], F64))

    def number(value):
        return body.constant(np.float64(value))

    def slope(at):
        place, speed = body.many("Split", at, outputs=2, axis=0)
        damping = body("Sub", number(1), body("Mul", place, place))
        force = body("Mul", body("Mul", number(STIFFNESS), damping), speed)
        return body("Concat", speed, body("Sub", force, place), axis=0)

    ahead = body("Min", length, body("Sub", number(END), time))
    slopes = [slope(y)]
    for weights in STAGES:
        reached = body("Add", y, body("Mul", ahead, _weighted(body, weights, slopes)))
        slopes.append(slope(reached))
    errors = body("Abs", body("Mul", ahead, _weighted(body, ERROR, slopes)))
    error = body("ReduceMax", errors, keepdims=0)
    is_good = body("LessOrEqual", error, number(PRECISION))
    after = body("Where", is_good, reached, y)
    time_after = body("Where", is_good, body("Add", time, ahead), time)
    share = body("Div", number(PRECISION), body("Max", error, number(1e-300)))
    factor = body("Mul", number(SAFETY), body("Pow", share, number(0.2)))
    factor = body("Min", body("Max", factor, number(LEAST)), number(MOST))
    body.output(body("Less", time_after, number(END)), [], BOOL)
    body.output(after, *pair)
    body.output(time_after, [], F64)
    body.output(body("Mul", ahead, factor), [], F64)
    first = [start, graph.constant(np.float64(0)), graph.constant(np.float64(FIRST))]
    graph.output(_until(graph, body, first)[0], *pair)
    graph.save(path)


def dopri_feeds():
    return {"start": np.array([2.0, 0.0])}


def dopri_reference(feeds):
    """The state at the end, and the number of steps, including rejected ones."""
    stages = [np.array(weights) for weights in STAGES]
    y, time, length, steps = feeds["start"], 0.0, FIRST, 0

    def slope(at):
        return np.array([at[1], STIFFNESS * (1 - at[0] ** 2) * at[1] - at[0]])

    while time < END:
        ahead, slopes = min(length, END - time), slope(y)[None]
        for weights in stages:
            reached = y + ahead * (weights @ slopes)
            slopes = np.vstack([slopes, slope(reached)])
        error = np.abs(ahead * (np.array(ERROR) @ slopes)).max()
        if error <= PRECISION:
            y, time = reached, time + ahead
        factor = SAFETY * (PRECISION / max(error, 1e-300)) ** 0.2
        length, steps = ahead * np.clip(factor, LEAST, MOST), steps + 1
    return y, steps


def plain_dopri(place, feeds, fast=False):
    y = np.empty(2)
    arguments = [MOST_STEPS, STIFFNESS, END, FIRST, PRECISION, feeds["start"], y]
    return place.baseline.engine("dopri", arguments, [y], fast)


def write_sinkhorn(path):
    """Optimal transport between points, with entropic blur: a row factor and a column factor."""
    graph, row = Graph(), ([POINTS],)
    cost = graph.input("cost", [POINTS, POINTS])
    there, here = graph.input("there", *row), graph.input("here", *row)
    blur = graph.constant(np.float32(-1 / BLUR))
    kernel = graph("Exp", graph("Mul", cost, blur))
    turned = graph("Transpose", kernel, perm=[1, 0])
    body, (u, v) = _start_body(graph, u=row, v=row)
    u_after = body("Div", there, body("MatMul", kernel, v))
    v_after = body("Div", here, body("MatMul", turned, u_after))
    change = body("ReduceMax", body("Abs", body("Sub", u_after, u)), keepdims=0)
    largest = body("ReduceMax", body("Abs", u_after), keepdims=0)
    allowed = body("Mul", body.constant(np.float32(CHANGE)), largest)
    body.output(body("Greater", change, allowed), [], BOOL)
    body.output(u_after, *row)
    body.output(v_after, *row)
    ones = graph.constant(np.ones(POINTS, np.float32))
    u, v = _until(graph, body, [ones, ones])
    column = graph("Unsqueeze", u, graph.constant(np.array([1])))
    graph.output(graph("Mul", graph("Mul", column, kernel), v), [POINTS, POINTS])
    graph.save(path)


def sinkhorn_feeds():
    """A mass of one at every point of two sets on a line."""
    here, there = np.random.default_rng(47).random((2, POINTS))
    ones = np.ones(POINTS, np.float32)
    cost = (here[:, None] - there) ** 2
    return {"cost": cost.astype(np.float32), "there": ones, "here": ones}


def sinkhorn_reference(feeds):
    """The plan and the number of steps, computed with logarithms of both factors."""
    kernel = feeds["cost"].astype(np.float64) / -BLUR
    there, here = (np.log(feeds[name].astype(np.float64)) for name in ("there", "here"))
    u = v = np.zeros(POINTS)
    for step in range(1, MOST_STEPS + 1):
        u_after = there - np.logaddexp.reduce(kernel + v, axis=1)
        v = here - np.logaddexp.reduce(kernel + u_after[:, None], axis=0)
        largest = np.exp(u_after).max()
        is_done = np.abs(np.exp(u_after) - np.exp(u)).max() <= CHANGE * largest
        u = u_after
        if is_done:
            break
    return np.exp(u[:, None] + kernel + v), step


def plain_sinkhorn(place, feeds, fast=False):
    plan, turned = np.empty_like(feeds["cost"]), np.empty_like(feeds["cost"])
    arguments = [MOST_STEPS, POINTS, BLUR, CHANGE, *feeds.values(), turned, plan]
    return place.baseline.engine("sinkhorn", arguments, [plan], fast)


def write_pagerank(path):
    """Every page passes its rank on along its links; the average rank is one."""
    graph, row = Graph(), ([PAGES],)
    sources, targets = (graph.input(name, [LINKS], I64) for name in ("sources", "targets"))
    shares = graph.input("shares", [LINKS])
    body, (rank,) = _start_body(graph, rank=row)
    handed = body("Mul", body("Gather", rank, sources, axis=0), shares)
    nothing = graph.constant(np.zeros(PAGES, np.float32))
    got = body("ScatterElements", nothing, targets, handed, axis=0, reduction="add")
    followed, jumped = (body.constant(np.float32(x)) for x in (FOLLOWED, 1 - FOLLOWED))
    after = body("Add", body("Mul", followed, got), jumped)
    change = body("ReduceSum", body("Abs", body("Sub", after, rank)), keepdims=0)
    body.output(body("Greater", change, body.constant(np.float32(RANK_CHANGE))), [], BOOL)
    body.output(after, *row)
    ones = graph.constant(np.ones(PAGES, np.float32))
    graph.output(_until(graph, body, [ones])[0], *row)
    graph.save(path)


def pagerank_feeds():
    """A link from each page, and random others; few pages get most of them."""
    random = np.random.default_rng(48)
    sources = np.concatenate([np.arange(PAGES), random.integers(0, PAGES, LINKS - PAGES)])
    targets = (PAGES * random.random(LINKS) ** 2).astype(np.int64)
    shares = 1 / np.bincount(sources, minlength=PAGES)[sources]
    return {"sources": sources, "targets": targets, "shares": shares.astype(np.float32)}


def pagerank_reference(feeds):
    """The stationary ranks, by a linear system, and the number of steps after which the change is
    small enough."""
    sources, targets, shares = feeds.values()
    moves = np.zeros((PAGES, PAGES))
    np.add.at(moves, (targets, sources), shares.astype(np.float64))
    ranks = np.linalg.solve(np.eye(PAGES) - FOLLOWED * moves, np.full(PAGES, 1 - FOLLOWED))
    rank = np.ones(PAGES)
    for step in range(1, MOST_STEPS + 1):
        after = FOLLOWED * (moves @ rank) + 1 - FOLLOWED
        change, rank = np.abs(after - rank).sum(), after
        if change <= RANK_CHANGE:
            break
    return ranks, step


def plain_pagerank(place, feeds, fast=False):
    ranks, got = np.empty(PAGES, np.float32), np.empty(PAGES, np.float32)
    arguments = [MOST_STEPS, PAGES, LINKS, FOLLOWED, RANK_CHANGE, *feeds.values(), got, ranks]
    return place.baseline.engine("pagerank", arguments, [ranks], fast)
