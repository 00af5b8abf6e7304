"""Hidden Markov models in log space: the forward pass and the most probable path.

Rows of `seen` are the log-densities of the observation in each state; move[from][to] is the
transition matrix. All numbers are multiples of 1/1024 that float32 adds without rounding, so that
paths can be compared."""

import numpy as np

from graph import I64, Graph

STATES = 64


def _rounded(array):
    return (np.round(array * 1024) / 1024).astype(np.float32)


def moves():
    random = np.random.default_rng(26)
    move = random.standard_normal((STATES, STATES))
    return _rounded(move - np.log(np.exp(move).sum(axis=1, keepdims=True)))


def _start_forward(graph):
    start, seen = graph.input("start", [STATES]), graph.input("seen", ["steps", STATES])
    return start, graph.constant(moves()), seen


def write_forward(path, in_primitives):
    """log-sum-exp as the operator, or written out."""
    graph = Graph()
    start, move, seen = _start_forward(graph)
    body = graph.body()
    alpha, now = body.input("alpha", [STATES]), body.input("now", [STATES])
    moved = body("Add", body("Unsqueeze", alpha, body.constant(np.array([1]))), move)
    if in_primitives:
        largest = body("ReduceMax", moved, axes=[0], keepdims=1)
        terms = body("Exp", body("Sub", moved, largest))
        total = body("ReduceSum", terms, body.constant(np.array([0])), keepdims=0)
        reached = body("Add", body("Log", total), body("Squeeze", largest, body.constant(np.array([0]))))
    else:
        reached = body("ReduceLogSumExp", moved, axes=[0], keepdims=0)
    after = body("Add", reached, now)
    body.output(after, [STATES])
    body.output(after, [STATES])
    last, alphas = graph.scan(body, [start], [seen])
    graph.output(alphas, ["steps", STATES])
    graph.output(graph("ReduceLogSumExp", last, axes=[0], keepdims=0), [])
    graph.save(path)


def write_viterbi(path):
    """Writes a Scan that keeps the predecessor of each state, and a backward Scan along them."""
    graph = Graph()
    start, move, seen = _start_forward(graph)
    body = graph.body()
    delta, now = body.input("delta", [STATES]), body.input("now", [STATES])
    moved = body("Add", body("Unsqueeze", delta, body.constant(np.array([1]))), move)
    best = body("ReduceMax", moved, axes=[0], keepdims=0)
    body.output(body("Add", best, now), [STATES])
    body.output(body("ArgMax", moved, axis=0, keepdims=0), [STATES], I64)
    last, back = graph.scan(body, [start], [seen])
    trace = graph.body()
    state, row = trace.input("state", [], I64), trace.input("row", [STATES], I64)
    trace.output(trace("Gather", row, state, axis=0), [], I64)
    trace.output(state, [], I64)
    end = graph("ArgMax", last, axis=0, keepdims=0)
    _, found = graph.scan(
        trace, [end], [back], scan_input_directions=[1], scan_output_directions=[1]
    )
    graph.output(graph("ReduceMax", last, axes=[0], keepdims=0), [])
    graph.output(found, ["steps"], I64)
    graph.save(path)


def feeds(steps):
    seen = np.random.default_rng(32).standard_normal((steps, STATES)) * 2 - 1
    return {"start": _rounded(np.full(STATES, -np.log(STATES))), "seen": _rounded(seen)}


def _log_sum_exp(x, axis):
    largest = x.max(axis=axis)
    return largest + np.log(np.exp(x - np.expand_dims(largest, axis)).sum(axis=axis))


def forward_reference(feeds):
    alpha, move = feeds["start"].astype(np.float64), moves().astype(np.float64)
    rows = []
    for now in feeds["seen"].astype(np.float64):
        alpha = _log_sum_exp(alpha[:, None] + move, 0) + now
        rows.append(alpha)
    return [np.stack(rows), _log_sum_exp(alpha, 0)]


def viterbi_reference(feeds):
    delta, move = feeds["start"].astype(np.float64), moves().astype(np.float64)
    back = []
    for now in feeds["seen"].astype(np.float64):
        moved = delta[:, None] + move
        back.append(moved.argmax(axis=0))
        delta = moved.max(axis=0) + now
    state, path = delta.argmax(), []
    for row in reversed(back):
        path.append(state)
        state = row[state]
    return [delta.max(), np.array(path[::-1])]


def plain_forward(place, feeds, fast=False):
    seen = feeds["seen"]
    alphas, last = np.empty_like(seen), np.empty(1, np.float32)
    arguments = [*seen.shape, feeds["start"], moves(), seen, alphas, last]
    return place.baseline.engine("hmm_forward", arguments, [alphas, last], fast)


def plain_viterbi(place, feeds, fast=False):
    seen = feeds["seen"]
    back, score = np.empty(seen.shape, np.int32), np.empty(1, np.float32)
    path = np.empty(len(seen), np.int64)
    arguments = [*seen.shape, feeds["start"], moves(), seen, back, score, path]
    return place.baseline.engine("viterbi", arguments, [score, path], fast)
