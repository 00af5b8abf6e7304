"""Sequences of unequal lengths: models with a batch of open size, sequences for them, and the padded
batches that other engines need."""

import dataclasses

import numpy as np
from onnx import TensorProto

from graph import Graph
from workloads import cells
from workloads.hmm import moves

BIQUAD = (0.0675, 0.1349, 0.0675, -1.1430, 0.4128)  # b0 b1 b2 a1 a2


@dataclasses.dataclass(frozen=True)
class Model:
    """`width`: the elements of a step. The results are rows of all steps, and what is left at the
    end of a sequence."""

    name: str
    width: int
    write: object
    torch: str = ""  # the layer in torch.nn that computes the same
    both: bool = False  # whether it is bidirectional, and takes the lengths of a padded batch


def models(width):
    """`width`: the units of the recurrent cells."""
    return [
        Model("lstm", width, lambda path: _layer(path, "lstm", width), "LSTM"),
        Model("gru", width, lambda path: _layer(path, "gru", width), "GRU"),
        Model("bilstm", width, lambda path: _both(path, "lstm", width), "LSTM", True),
        Model("bigru", width, lambda path: _both(path, "gru", width), "GRU", True),
        Model("cell", width, lambda path: _cell(path, width)),
        Model("hmm", 64, _hmm),
        Model("filter", 1, _filter),
    ]


def lengths(count, shortest, longest):
    return np.random.default_rng(31).integers(shortest, longest + 1, count)


def sequence(model, steps, seed):
    return np.random.default_rng(seed).standard_normal((steps, 1, model.width)).astype(np.float32)


def padded(sequences):
    """One array for all, with zeros after the shorter ones."""
    steps = max(len(x) for x in sequences)
    made = np.zeros((steps, len(sequences), sequences[0].shape[2]), np.float32)
    for lane, x in enumerate(sequences):
        made[: len(x), lane] = x[:, 0]
    return made


def _rows(graph, xs, size):
    """Zeros for each sequence of the batch: [batch, size]."""
    batch = graph("Gather", graph("Shape", xs), graph.constant(np.array([1])))
    sizes = graph("Concat", batch, graph.constant(np.array([size])), axis=0)
    return graph("Expand", graph.constant(np.zeros((1, 1), np.float32)), sizes)


def _layer(path, kind, width):
    cell = cells.Cell(kind, 1, width, 1)
    arrays = cells.weights(cell)
    graph = Graph()
    xs = graph.input("xs", ["steps", "batch", width])
    w, r = (graph.constant(np.ascontiguousarray(arrays[name].T[None])) for name in ("w", "r"))
    bias = graph.constant(np.concatenate([arrays["w_bias"], arrays["r_bias"]])[None])
    attributes = {"linear_before_reset": 1} if kind == "gru" else {}
    rows, last = graph.many(
        kind.upper(), xs, w, r, bias, outputs=2, hidden_size=width, **attributes
    )
    one = graph.constant(np.array([1]))
    graph.output(graph("Squeeze", rows, one), ["steps", "batch", width])
    graph.output(last, [1, "batch", width])
    graph.save(path)


def _both(path, kind, width, has_lengths=False):
    """A bidirectional layer. Its rows join both directions, as exporters write them."""
    arrays = cells.weights(cells.Cell(kind, 1, width, 2))
    graph = Graph()
    xs = graph.input("xs", ["steps", "batch", width])
    lengths = [graph.input("lengths", ["batch"], TensorProto.INT32)] if has_lengths else []
    operands = [
        graph.constant(np.stack([np.ascontiguousarray(arrays[name].T)] * 2)) for name in ("w", "r")
    ]
    operands.append(graph.constant(np.stack([_bias(arrays)] * 2)))
    attributes = {"linear_before_reset": 1} if kind == "gru" else {}
    rows, last = graph.many(
        kind.upper(), xs, *operands, *lengths, outputs=2, hidden_size=width,
        direction="bidirectional", **attributes,
    )  # fmt: skip
    joined = graph("Transpose", rows, perm=[0, 2, 1, 3])
    joined = graph("Reshape", joined, graph.constant(np.array([0, 0, 2 * width])))
    graph.output(joined, ["steps", "batch", 2 * width])
    graph.output(last, [2, "batch", width])
    graph.save(path)


def _bias(arrays):
    return np.concatenate([arrays["w_bias"], arrays["r_bias"]])


def with_lengths(model, path):
    """Writes the model that other engines run padded batches through."""
    if model.both:
        _both(path, model.name[2:], model.width, has_lengths=True)
    else:
        model.write(path)


def _cell(path, width):
    """A gated cell of no operator: the update gate also scales the candidate."""
    random = np.random.default_rng(32)
    scale = width**-0.5
    graph = Graph()
    xs = graph.input("xs", ["steps", "batch", width])
    w, r = (
        graph.constant(random.uniform(-scale, scale, (width, 2 * width)).astype(np.float32))
        for _ in range(2)
    )
    body = graph.body()
    h, x = body.input("h", ["batch", width]), body.input("x", ["batch", width])
    both = body("Add", body("MatMul", x, w), body("MatMul", h, r))
    gate, now = body.many("Split", both, outputs=2, axis=1)
    update = body("Sigmoid", gate)
    kept = body("Mul", body("Sub", body.constant(np.float32(1)), update), h)
    after = body("Add", kept, body("Mul", update, body("Tanh", now)))
    body.output(after, ["batch", width])
    body.output(after, ["batch", width])
    last, rows = graph.scan(body, [_rows(graph, xs, width)], [xs])
    graph.output(rows, ["steps", "batch", width])
    graph.output(last, ["batch", width])
    graph.save(path)


def _hmm(path):
    """The forward pass in log space, and the likelihood of the sequence."""
    states = moves().shape[0]
    graph = Graph()
    xs = graph.input("xs", ["steps", "batch", states])
    move = graph.constant(moves())
    body = graph.body()
    alpha, now = body.input("alpha", ["batch", states]), body.input("now", ["batch", states])
    moved = body("Add", body("Unsqueeze", alpha, body.constant(np.array([2]))), move)
    after = body("Add", body("ReduceLogSumExp", moved, axes=[1], keepdims=0), now)
    body.output(after, ["batch", states])
    body.output(after, ["batch", states])
    last, rows = graph.scan(body, [_rows(graph, xs, states)], [xs])
    graph.output(rows, ["steps", "batch", states])
    graph.output(graph("ReduceLogSumExp", last, axes=[1], keepdims=0), ["batch"])
    graph.save(path)


def _filter(path):
    """A biquad filter (transposed direct form II) of one channel."""
    graph = Graph()
    xs = graph.input("xs", ["steps", "batch", 1])
    b0, b1, b2, a1, a2 = (graph.constant(np.float32(x)) for x in BIQUAD)
    body = graph.body()
    p, q, x = (body.input(name, ["batch", 1]) for name in ("p", "q", "x"))
    y = body("Add", body("Mul", x, b0), p)
    next_p = body("Add", body("Sub", body("Mul", x, b1), body("Mul", y, a1)), q)
    next_q = body("Sub", body("Mul", x, b2), body("Mul", y, a2))
    for result in (next_p, next_q, y):
        body.output(result, ["batch", 1])
    start = _rows(graph, xs, 1)
    p, _, rows = graph.scan(body, [start, start], [xs])
    graph.output(rows, ["steps", "batch", 1])
    graph.output(p, ["batch", 1])
    graph.save(path)
