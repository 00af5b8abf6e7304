"""Beam search with a small decoder and attention over its whole output: every step appends to the
cache of each beam, and beams continue from the caches of their parents."""

import numpy as np

from graph import BOOL, I64, Graph

BEAMS, WIDTH, WORDS = 4, 32, 200


def weights():
    random = np.random.default_rng(49)
    arrays = {"embedding": random.standard_normal((WORDS, WIDTH))}
    for name, units in {"read": WIDTH, "kept": WIDTH, "out": WORDS}.items():
        arrays[name] = random.standard_normal((WIDTH, units)) * WIDTH**-0.5
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def write(path, steps):
    """The first word is fed; all beams except the first start with probability zero."""
    graph = Graph()
    first = graph.input("first", [BEAMS], I64)
    embedding, read, kept, out = (graph.constant(array) for array in weights().values())
    zero, one, last_axis = (graph.constant(np.array([n])) for n in (0, 1, -1))
    body = graph.body()
    body.input("step", [], I64)
    going, words = body.input("going", [], BOOL), body.input("words", [BEAMS], I64)
    scores = body.input("scores", [BEAMS])
    cache = body.input("cache", [BEAMS, None, WIDTH])
    written = body.input("written", [BEAMS, None], I64)
    now = body("Gather", embedding, words, axis=0)
    cache = body("Concat", cache, body("Unsqueeze", now, one), axis=1)
    weight = body("MatMul", cache, body("Unsqueeze", now, last_axis))
    weight = body("Softmax", body("Mul", weight, graph.constant(np.float32(WIDTH**-0.5))), axis=1)
    found = body("ReduceSum", body("Mul", weight, cache), one, keepdims=0)
    inner = body("Add", body("MatMul", found, read), body("MatMul", now, kept))
    chances = body("LogSoftmax", body("MatMul", body("Tanh", inner), out), axis=1)
    totals = body("Add", body("Unsqueeze", scores, one), chances)
    flat = body("Reshape", totals, graph.constant(np.array([BEAMS * WORDS])))
    scores, places = body.many("TopK", flat, graph.constant(np.array([BEAMS])), outputs=2, axis=0)
    count = graph.constant(np.int64(WORDS))
    parents, words = body("Div", places, count), body("Mod", places, count)
    written = body("Gather", written, parents, axis=0)
    body.output(going, [], BOOL)
    body.output(words, [BEAMS], I64)
    body.output(scores, [BEAMS])
    body.output(body("Gather", cache, parents, axis=0), [BEAMS, None, WIDTH])
    written = body("Concat", written, body("Unsqueeze", words, one), axis=1)
    body.output(written, [BEAMS, None], I64)
    starts = [
        first,
        graph.constant(np.array([0] + [-1e30] * (BEAMS - 1), np.float32)),
        graph.constant(np.zeros((BEAMS, 0, WIDTH), np.float32)),
        graph.constant(np.zeros((BEAMS, 0), np.int64)),
    ]
    _, scores, _, written = graph.loop(body, graph.constant(np.int64(steps)), starts)
    graph.output(written, [BEAMS, steps], I64)
    graph.output(scores, [BEAMS])
    graph.save(path)


def feeds():
    return {"first": np.zeros(BEAMS, np.int64)}


def reference(feeds, steps):
    """Without caches: every step looks up the whole output of each beam again."""
    embedding, read, kept, out = (array.astype(np.float64) for array in weights().values())
    beams = [(0.0, feeds["first"][:1].tolist())]
    for _ in range(steps):
        candidates = []
        for score, words in beams:
            past = embedding[words]
            attention = np.exp(past @ past[-1] / np.sqrt(WIDTH))
            found = attention @ past / attention.sum()
            logits = np.tanh(found @ read + past[-1] @ kept) @ out
            totals = score + logits - np.log(np.exp(logits).sum())
            best = np.argsort(-totals)[:BEAMS]
            candidates += [(totals[word], [*words, word]) for word in best]
        beams = sorted(candidates, key=lambda found: -found[0])[:BEAMS]
    return [np.array([words[1:] for _, words in beams]), np.array([score for score, _ in beams])]


def plain(place, feeds, steps, fast=False):
    written, scores = np.empty((BEAMS, steps), np.int64), np.empty(BEAMS, np.float32)
    caches = np.empty((2, BEAMS, steps, WIDTH), np.float32)
    histories = np.empty((2, BEAMS, steps), np.int64)
    arguments = [steps, *weights().values(), feeds["first"], caches, histories, scores, written]
    return place.baseline.engine("beam", arguments, [written, scores], fast)
