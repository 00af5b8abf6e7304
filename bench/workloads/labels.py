"""Sums over all labellings of a batch of sequences of different lengths, in log space: the
normalizer of a linear-chain CRF, and the likelihood of labels under CTC.

Rows of a batch run in parallel; a row keeps its alpha after its own steps are over."""

import numpy as np

from graph import I64, Graph

BATCH, CLASSES = 16, 32
MOST_LABELS = 20
PLACES = 2 * MOST_LABELS + 1  # positions of CTC: the labels with blanks (class 0) around them
NEVER = np.float32(-1e30)


def _counted(graph, rows):
    """0, 1, ... for each row: the step, to compare with lengths."""
    zero, one = graph.constant(np.int64(0)), graph.constant(np.int64(1))
    return graph("Range", zero, graph("Gather", graph("Shape", rows), zero, axis=0), one)


def _kept_at_the_end(body, step, lengths, after, before):
    is_going = body("Less", step, lengths)
    return body("Where", body("Unsqueeze", is_going, body.constant(np.array([1]))), after, before)


def write_crf(path):
    graph, row = Graph(), [BATCH, CLASSES]
    start, move = graph.input("start", row), graph.input("move", [CLASSES, CLASSES])
    emissions = graph.input("emissions", ["steps", *row])
    lengths = graph.input("lengths", [BATCH], I64)
    body = graph.body()
    alpha, now = body.input("alpha", row), body.input("now", row)
    step = body.input("step", [], I64)
    moved = body("Add", body("Unsqueeze", alpha, body.constant(np.array([2]))), move)
    after = body("Add", body("ReduceLogSumExp", moved, axes=[1], keepdims=0), now)
    body.output(_kept_at_the_end(body, step, lengths, after, alpha), row)
    (last,) = graph.scan(body, [start], [emissions, _counted(graph, emissions)])
    graph.output(graph("ReduceLogSumExp", last, axes=[1], keepdims=0), [BATCH])
    graph.save(path)


def crf_feeds(steps):
    random = np.random.default_rng(42)
    lengths = random.integers(steps // 3, steps + 1, BATCH)
    return {
        "start": random.standard_normal((BATCH, CLASSES)).astype(np.float32),
        "move": random.standard_normal((CLASSES, CLASSES)).astype(np.float32),
        "emissions": random.standard_normal((steps, BATCH, CLASSES)).astype(np.float32),
        "lengths": lengths,
    }


def crf_reference(feeds):
    """Sums of probabilities, scaled before each step so that the largest is one."""
    start, emissions = (feeds[name].astype(np.float64) for name in ("start", "emissions"))
    move, found = np.exp(feeds["move"].astype(np.float64)), []
    for row, length in enumerate(feeds["lengths"]):
        scale, alpha = 0.0, np.exp(start[row])
        for now in np.exp(emissions[:length, row]):
            largest = alpha.max()
            scale, alpha = scale + np.log(largest), (alpha / largest) @ move * now
        found.append(scale + np.log(alpha.sum()))
    return [np.array(found)]


def plain_crf(place, feeds, fast=False):
    totals = np.empty(BATCH, np.float32)
    arguments = [len(feeds["emissions"]), *(feeds[n] for n in ("start", "move", "emissions")),
                 feeds["lengths"], totals]
    return place.baseline.engine("crf", arguments, [totals], fast)


def write_ctc(path):
    """Combines the alphas of each position, of the previous one, and of the label before the
    preceding blank if `skip` allows it."""
    graph, row = Graph(), [BATCH, PLACES]
    logits = graph.input("logits", ["steps", BATCH, CLASSES])
    places, skip = graph.input("places", row, I64), graph.input("skip", row)
    lengths, ends = graph.input("lengths", [BATCH], I64), graph.input("ends", [BATCH, 2], I64)
    start = np.full((BATCH, PLACES), NEVER)
    start[:, 0] = 0
    body = graph.body()
    alpha, now = body.input("alpha", row), body.input("now", [BATCH, CLASSES])
    step = body.input("step", [], I64)

    def later(count):
        first, last, axis = (body.constant(np.array([n])) for n in (0, PLACES - count, 1))
        nothing = body.constant(np.full((BATCH, count), NEVER))
        return body("Concat", nothing, body("Slice", alpha, first, last, axis), axis=1)

    ways = [alpha, later(1), body("Add", later(2), skip)]
    largest = body("Max", *ways)
    terms = [body("Exp", body("Sub", way, largest)) for way in ways]
    total = body("Log", body("Add", body("Add", terms[0], terms[1]), terms[2]))
    seen = body("GatherElements", now, places, axis=1)
    after = body("Add", body("Add", total, largest), seen)
    body.output(_kept_at_the_end(body, step, lengths, after, alpha), row)
    scanned = [graph("LogSoftmax", logits, axis=2), _counted(graph, logits)]
    (last,) = graph.scan(body, [graph.constant(start)], scanned)
    reached = graph("GatherElements", last, ends, axis=1)
    graph.output(graph("ReduceLogSumExp", reached, axes=[1], keepdims=0), [BATCH])
    graph.save(path)


def ctc_feeds(steps):
    random = np.random.default_rng(43)
    places = np.zeros((BATCH, PLACES), np.int64)
    places[:, 1::2] = random.integers(1, CLASSES, (BATCH, MOST_LABELS))
    skip = np.full((BATCH, PLACES), NEVER)
    skip[:, 2:][(places[:, 2:] != 0) & (places[:, 2:] != places[:, :-2])] = 0
    counts = random.integers(MOST_LABELS // 2, MOST_LABELS + 1, BATCH)
    return {
        "logits": random.standard_normal((steps, BATCH, CLASSES)).astype(np.float32),
        "places": places,
        "skip": skip,
        "lengths": random.integers(steps // 2, steps + 1, BATCH),
        "ends": np.stack([2 * counts - 1, 2 * counts], axis=1),
    }


def ctc_reference(feeds):
    """Probabilities, scaled before each step so that the largest is one; the sum over three
    transitions is a product with a band matrix of ones."""
    logits, found = feeds["logits"].astype(np.float64), []
    chances = np.exp(logits)
    chances /= chances.sum(axis=2, keepdims=True)
    for row, length in enumerate(feeds["lengths"]):
        moves = np.eye(PLACES) + np.eye(PLACES, k=1)
        moves[np.arange(PLACES - 2), np.arange(2, PLACES)] = feeds["skip"][row, 2:] == 0
        scale, alpha = 0.0, np.eye(1, PLACES)[0]
        for now in chances[:length, row, feeds["places"][row]]:
            largest = alpha.max()
            scale, alpha = scale + np.log(largest), (alpha / largest) @ moves * now
        found.append(scale + np.log(alpha[feeds["ends"][row]].sum()))
    return [np.array(found)]


def plain_ctc(place, feeds, fast=False):
    totals = np.empty(BATCH, np.float32)
    arguments = [len(feeds["logits"]), *feeds.values(), totals]
    return place.baseline.engine("ctc", arguments, [totals], fast)
