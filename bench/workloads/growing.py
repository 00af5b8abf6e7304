"""A value that grows by a row per step: a sequence, and a tensor with Concat."""

import numpy as np
from onnx import helper

from graph import BOOL, F32, I64, Graph

WIDTH = 64


def _start_body(graph, xs, kind):
    """The body, its condition, the growing value, and the row of the step."""
    body = graph.body()
    step, going = body.input("step", [], I64), body.input("going", [], BOOL)
    return body, going, body.typed_input("grown", kind), body("Gather", xs, step, axis=0)


def write_sequence(path):
    graph = Graph()
    xs = graph.input("xs", ["steps", WIDTH])
    steps = graph("Gather", graph("Shape", xs), graph.constant(np.int64(0)))
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, [WIDTH]))
    body, going, rows, row = _start_body(graph, xs, kind)
    body.output(going, [], BOOL)
    body.typed_output(body("SequenceInsert", rows, row), kind)
    (last,) = graph.loop(body, steps, [graph("SequenceEmpty", dtype=F32)])
    graph.output(graph("ConcatFromSequence", last, axis=0, new_axis=1), ["steps", WIDTH])
    graph.save(path)


def write_concat(path):
    graph = Graph()
    xs = graph.input("xs", ["steps", WIDTH])
    steps = graph("Gather", graph("Shape", xs), graph.constant(np.int64(0)))
    body, going, rows, row = _start_body(graph, xs, helper.make_tensor_type_proto(F32, [None, WIDTH]))
    wide = body("Unsqueeze", row, body.constant(np.array([0])))
    body.output(going, [], BOOL)
    body.output(body("Concat", rows, wide, axis=0), [None, WIDTH])
    (last,) = graph.loop(body, steps, [graph.constant(np.zeros((0, WIDTH), np.float32))])
    graph.output(last, ["steps", WIDTH])
    graph.save(path)


def feeds(steps):
    xs = np.random.default_rng(31).standard_normal((steps, WIDTH))
    return {"xs": xs.astype(np.float32)}


def reference(feeds):
    return [feeds["xs"]]


def plain(place, function, feeds):
    xs = feeds["xs"]
    rows = np.empty_like(xs)
    return place.baseline.engine(function, [*xs.shape, xs, rows], [rows])


def numpy_list(feeds):
    """Copies of the rows in a list, stacked at the end."""
    rows = []
    for row in feeds["xs"]:
        rows.append(row.copy())
    return [np.stack(rows)]


def numpy_concatenate(feeds):
    grown = np.zeros((0, WIDTH), np.float32)
    for row in feeds["xs"]:
        grown = np.concatenate([grown, row[None]])
    return [grown]
