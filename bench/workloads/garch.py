"""GARCH(1,1) with normal errors in float64: the log-likelihood of the returns, and the variance
predicted after the last one."""

import math

import numpy as np

from graph import F64, Graph

PARAMETERS = np.array([0.02, 0.08, 0.9, 1.0])  # omega alpha beta, the variance of the first step


def write(path):
    graph = Graph()
    omega, alpha, beta, start = (
        graph.input(name, [], F64) for name in ("omega", "alpha", "beta", "start")
    )
    returns = graph.input("returns", ["steps"], F64)
    body = graph.body()
    variance, total, value = (body.input(n, [], F64) for n in ("variance", "total", "value"))
    circle, half = body.constant(np.float64(2 * math.pi)), body.constant(np.float64(0.5))
    square = body("Mul", value, value)
    logarithm = body("Log", body("Mul", variance, circle))
    lost = body("Mul", body("Add", logarithm, body("Div", square, variance)), half)
    fresh = body("Add", omega, body("Mul", alpha, square))
    body.output(body("Add", fresh, body("Mul", beta, variance)), [], F64)
    body.output(body("Sub", total, lost), [], F64)
    last, likelihood = graph.scan(body, [start, graph.constant(np.float64(0))], [returns])
    graph.output(likelihood, [], F64)
    graph.output(last, [], F64)
    graph.save(path)


def feeds(steps):
    names = ("omega", "alpha", "beta", "start")
    found = {name: np.array(value) for name, value in zip(names, PARAMETERS)}
    return found | {"returns": np.random.default_rng(23).standard_normal(steps)}


def reference(feeds):
    omega, alpha, beta, variance = PARAMETERS.tolist()
    terms = []
    for value in feeds["returns"].tolist():
        terms.append(-0.5 * (math.log(2 * math.pi * variance) + value**2 / variance))
        variance = omega + alpha * value**2 + beta * variance
    return [np.array(math.fsum(terms)), np.array(variance)]


def plain(place, feeds, fast=False):
    returns, result = feeds["returns"], np.empty(2)
    arguments = [returns.size, PARAMETERS, returns, result]
    return place.baseline.engine("garch", arguments, [result[:1], result[1:]], fast)
