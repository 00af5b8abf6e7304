"""A product of two float32 matrices: m rows of k by k rows of n."""

import numpy as np

from graph import Graph


def factors(m, k, n):
    random = np.random.default_rng(31)
    return [random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n))]


def write(path, m, k, n, is_constant):
    """The right factor is a constant, whose layout engines may change in advance, or is fed."""
    graph = Graph()
    left = graph.input("left", [m, k])
    right = graph.constant(factors(m, k, n)[1]) if is_constant else graph.input("right", [k, n])
    graph.output(graph("MatMul", left, right), [m, n])
    graph.save(path)


def feeds(m, k, n, is_constant):
    left, right = factors(m, k, n)
    return {"left": left} if is_constant else {"left": left, "right": right}


def reference(m, k, n):
    left, right = factors(m, k, n)
    return [left.astype(np.float64) @ right.astype(np.float64)]
