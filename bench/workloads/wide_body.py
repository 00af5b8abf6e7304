"""A Scan whose body is a chain of many elementwise operators on 16 floats."""

import numpy as np

from graph import Graph

WIDTH, STEPS = 16, 1_000
# All of them keep the values between -2 and 2, for any number of operators.
OPERATORS = ("Tanh", "Add", "Sigmoid", "Mul", "Abs", "Max", "Neg", "Min", "Sin", "Sub")
BINARY = ("Add", "Mul", "Max", "Min", "Sub")


def write(path, operators):
    graph = Graph()
    start = graph.input("h0", [WIDTH])
    xs = graph.input("xs", ["steps", WIDTH])
    body = graph.body()
    state, x = body.input("h", [WIDTH]), body.input("x", [WIDTH])
    value = state
    for i in range(operators):
        operator = OPERATORS[i % len(OPERATORS)]
        value = body(operator, value, x) if operator in BINARY else body(operator, value)
    body.output(value, [WIDTH])
    body.output(body("Identity", value), [WIDTH])
    last, rows = graph.scan(body, [start], [xs])
    graph.output(last, [WIDTH])
    graph.output(rows, ["steps", WIDTH])
    graph.save(path)


def feeds():
    xs = np.random.default_rng(41).uniform(-1, 1, (STEPS, WIDTH)).astype(np.float32)
    return {"h0": np.zeros(WIDTH, np.float32), "xs": xs}
