"""Hamiltonian Monte Carlo for a normal distribution, float64: a loop of leapfrog steps inside a
loop over draws, whose random numbers are fed."""

import numpy as np

from graph import BOOL, F64, I64, Graph

SIZE, LEAPS, TIME = 10, 20, 0.1


def write(path):
    graph, row = Graph(), [SIZE]
    precision = graph.input("precision", [SIZE, SIZE], F64)
    start = graph.input("start", row, F64)
    momenta = graph.input("momenta", ["draws", *row], F64)
    uniform = graph.input("uniform", ["draws"], F64)
    constant = {n: graph.constant(n) for n in (TIME, TIME / 2, 0.5)}
    body = graph.body()
    q, p, chance = body.input("q", row, F64), body.input("p", row, F64), body.input("u", [], F64)

    leap = body.body()
    leap.input("leap", [], I64)
    going, place = leap.input("going", [], BOOL), leap.input("place", row, F64)
    momentum, slope = leap.input("momentum", row, F64), leap.input("slope", row, F64)
    half = leap("Sub", momentum, leap("Mul", constant[TIME / 2], slope))
    after = leap("Add", place, leap("Mul", constant[TIME], half))
    slope_after = leap("MatMul", precision, after)
    leap.output(going, [], BOOL)
    leap.output(after, row, F64)
    leap.output(leap("Sub", half, leap("Mul", constant[TIME / 2], slope_after)), row, F64)
    leap.output(slope_after, row, F64)

    first = body("MatMul", precision, q)
    far, moved, last = body.loop(leap, body.constant(np.int64(LEAPS)), [q, p, first])

    def energy(place, slope, momentum):
        parts = body("Add", body("Mul", place, slope), body("Mul", momentum, momentum))
        return body("Mul", constant[0.5], body("ReduceSum", parts, keepdims=0))

    gain = body("Sub", energy(q, first, p), energy(far, last, moved))
    kept = body("Where", body("Less", body("Log", chance), gain), far, q)
    body.output(kept, row, F64)
    body.output(kept, row, F64)
    _, draws = graph.scan(body, [start], [momenta, uniform])
    graph.output(draws, ["draws", *row], F64)
    graph.save(path)


def feeds(draws):
    random = np.random.default_rng(46)
    factor = random.standard_normal((SIZE, SIZE))
    return {
        "precision": factor @ factor.T / SIZE + np.eye(SIZE),
        "start": np.zeros(SIZE),
        "momenta": random.standard_normal((draws, SIZE)),
        "uniform": random.random(draws),
    }


def reference(feeds):
    """All leaps at once: for a normal distribution, a leap is linear in position and momentum."""
    precision, nothing, one = feeds["precision"], np.zeros((SIZE, SIZE)), np.eye(SIZE)
    kick = np.block([[one, nothing], [-TIME / 2 * precision, one]])
    drift = np.block([[one, TIME * one], [nothing, one]])
    leaps = np.linalg.matrix_power(kick @ drift @ kick, LEAPS)
    energy = np.block([[precision, nothing], [nothing, one]]) / 2
    q, rows = feeds["start"], []
    for momentum, chance in zip(feeds["momenta"], feeds["uniform"]):
        before = np.concatenate([q, momentum])
        after = leaps @ before
        if np.log(chance) < before @ energy @ before - after @ energy @ after:
            q = after[:SIZE]
        rows.append(q)
    return [np.stack(rows)]


def plain(place, feeds, fast=False):
    draws = np.empty_like(feeds["momenta"])
    arguments = [len(draws), LEAPS, TIME, *feeds.values(), draws]
    return place.baseline.engine("hmc", arguments, [draws], fast)
