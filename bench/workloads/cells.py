"""LSTM and GRU written out in the primitives of a Scan's body, as operators, and in numpy. The
inputs are as wide as the state."""

import dataclasses

import numpy as np

from graph import Graph

GATES = {"lstm": 4, "gru": 3}


@dataclasses.dataclass(frozen=True)
class Cell:
    kind: str  # lstm, gates input output forget cell; gru, gates update reset candidate
    batch: int
    width: int
    steps: int

    @property
    def name(self) -> str:
        return f"b{self.batch}_h{self.width}"


def weights(cell):
    """w and r are [input][gate]; w_bias and r_bias are added to the two products."""
    random = np.random.default_rng(24)
    gates = GATES[cell.kind] * cell.width
    scale = cell.width**-0.5
    shapes = {"w": (cell.width, gates), "r": (cell.width, gates), "w_bias": gates, "r_bias": gates}
    return {
        name: random.uniform(-scale, scale, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def feeds(cell):
    shape = (cell.steps, cell.batch, cell.width)
    return {"xs": np.random.default_rng(25).standard_normal(shape).astype(np.float32)}


def write_scan(path, cell, last_only=False):
    """Writes the cell as a Scan. Results: all h (unless `last_only`), the last h, for LSTM the
    last c."""
    graph, state = Graph(), [cell.batch, cell.width]
    xs = graph.input("xs", ["steps", *state])
    arrays = weights(cell)
    if cell.kind == "lstm":
        arrays["w_bias"] = arrays["w_bias"] + arrays.pop("r_bias")
    constants = {name: graph.constant(array) for name, array in arrays.items()}
    starts = [graph.constant(np.zeros(state, np.float32))] * (2 if cell.kind == "lstm" else 1)
    body = graph.body()
    h = body.input("h", state)
    if cell.kind == "lstm":
        c, x = body.input("c", state), body.input("x", state)
        next_h, next_c = _lstm_body(body, constants, h, c, x)
        results = [next_h, next_c]
    else:
        results = [_gru_body(body, constants, h, body.input("x", state))]
    for result in [*results, results[0]]:
        body.output(result, state)
    *lasts, rows = graph.scan(body, starts, [xs])
    if not last_only:
        graph.output(rows, ["steps", *state])
    for last in lasts:
        graph.output(last, state)
    graph.save(path)


def _lstm_body(body, constants, h, c, x):
    products = body("Add", body("MatMul", x, constants["w"]), body("MatMul", h, constants["r"]))
    gates = body("Add", products, constants["w_bias"])
    into, out, forget, cell = body.many("Split", gates, outputs=4, axis=1)
    kept = body("Mul", body("Sigmoid", forget), c)
    taken = body("Mul", body("Sigmoid", into), body("Tanh", cell))
    next_c = body("Add", kept, taken)
    return body("Mul", body("Sigmoid", out), body("Tanh", next_c)), next_c


def _gru_body(body, constants, h, x):
    outer = body("Add", body("MatMul", x, constants["w"]), constants["w_bias"])
    inner = body("Add", body("MatMul", h, constants["r"]), constants["r_bias"])
    outer_u, outer_r, outer_n = body.many("Split", outer, outputs=3, axis=1)
    inner_u, inner_r, inner_n = body.many("Split", inner, outputs=3, axis=1)
    update = body("Sigmoid", body("Add", outer_u, inner_u))
    reset = body("Sigmoid", body("Add", outer_r, inner_r))
    now = body("Tanh", body("Add", outer_n, body("Mul", reset, inner_n)))
    fresh = body("Mul", body("Sub", body.constant(np.float32(1)), update), now)
    return body("Add", fresh, body("Mul", update, h))


def write_operator(path, cell):
    """Writes the same cell with the same weights as ONNX's LSTM or GRU."""
    graph, state = Graph(), [1, cell.batch, cell.width]
    xs = graph.input("xs", ["steps", cell.batch, cell.width])
    arrays = weights(cell)
    w, r = (graph.constant(np.ascontiguousarray(arrays[name].T[None])) for name in ("w", "r"))
    bias = graph.constant(np.concatenate([arrays["w_bias"], arrays["r_bias"]])[None])
    is_lstm = cell.kind == "lstm"
    attributes = {} if is_lstm else {"linear_before_reset": 1}
    rows, *lasts = graph.many(
        "LSTM" if is_lstm else "GRU", xs, w, r, bias, outputs=3 if is_lstm else 2,
        hidden_size=cell.width, **attributes,
    )
    graph.output(rows, ["steps", *state])
    for last in lasts:
        graph.output(last, state)
    graph.save(path)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(cell, feeds):
    w, r, w_bias, r_bias = (array.astype(np.float64) for array in weights(cell).values())
    h = np.zeros((cell.batch, cell.width))
    c, rows = h, []
    for x in feeds["xs"].astype(np.float64):
        outer, inner = x @ w + w_bias, h @ r + r_bias
        if cell.kind == "lstm":
            into, out, forget, new = np.split(outer + inner, 4, axis=1)
            c = _sigmoid(forget) * c + _sigmoid(into) * np.tanh(new)
            h = _sigmoid(out) * np.tanh(c)
        else:
            (u, s, n), (iu, ir, i_n) = np.split(outer, 3, axis=1), np.split(inner, 3, axis=1)
            update = _sigmoid(u + iu)
            h = (1 - update) * np.tanh(n + _sigmoid(s + ir) * i_n) + update * h
        rows.append(h)
    return [np.stack(rows), h] + ([c] if cell.kind == "lstm" else [])


def plain(place, cell, feeds):
    w, r, w_bias, r_bias = weights(cell).values()
    xs = feeds["xs"]
    rows, h, c = np.empty_like(xs), np.empty_like(xs[0]), np.empty_like(xs[0])
    gates = np.empty(2 * GATES[cell.kind] * cell.width, np.float32)
    sizes = list(xs.shape)
    if cell.kind == "lstm":
        arguments = [*sizes, w, r, w_bias + r_bias, xs, h, c, gates, rows]
        return place.baseline.engine("lstm", arguments, [rows, h, c])
    arguments = [*sizes, w, r, w_bias, r_bias, xs, h, gates, rows]
    return place.baseline.engine("gru", arguments, [rows, h])
