"""LSTM, GRU and RNN in OpenVINO: cells in the body of a TensorIterator, sequence layers, and an
LSTM written out; and the cells in numpy. The inputs are as wide as the state."""

import dataclasses

import numpy as np

from iterator import I32, Layers, Loop

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# OpenVINO uses its primitive only if a layer names its functions, as its own writer makes it do.
FUNCTIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}
VERSIONS = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}  # the sequences are in opset 5


@dataclasses.dataclass(frozen=True)
class Cell:
    kind: str
    batch: int
    width: int
    steps: int
    directions: int = 1
    linear: bool = False  # of a GRU: the reset gate applies to the product of h, not to h

    @property
    def name(self):
        return f"b{self.batch}_h{self.width}"

    @property
    def states(self):
        return ["h", "c"] if self.kind == "LSTM" else ["h"]


def weights(cell):
    """W, R and B per direction: [gates * width, width] twice and [gates * width]. The gates of
    LSTM are f, i, c, o, those of GRU z, r, h; B of a linear GRU has a fourth part, for R."""
    random = np.random.default_rng(24)
    rows, scale = GATES[cell.kind] * cell.width, cell.width**-0.5
    biases = rows + cell.width * cell.linear
    return [
        random.uniform(-scale, scale, (cell.directions, *shape)).astype(np.float32)
        for shape in ((rows, cell.width), (rows, cell.width), (biases,))
    ]


def feeds(cell):
    random = np.random.default_rng(25)
    x = random.standard_normal((cell.batch, cell.steps, cell.width)).astype(np.float32)
    shape = (cell.batch, cell.directions, cell.width)
    return {"x": x} | {
        name: random.uniform(-1, 1, shape).astype(np.float32) for name in cell.states
    }


def _inputs(net, cell):
    x = net.input("x", [cell.batch, cell.steps, cell.width])
    shape = [cell.batch, cell.directions, cell.width]
    return x, [net.input(name, shape) for name in cell.states]


def write_sequence(path, cell):
    """Writes a sequence layer. Results: all h, the last h, for LSTM the last c."""
    net = Layers()
    x, states = _inputs(net, cell)
    lengths = net.constant(np.full(cell.batch, cell.steps), I32)
    results = net.many(
        f"{cell.kind}Sequence", x, *states, lengths, *map(net.constant, weights(cell)),
        outputs=1 + len(states), version=5, hidden_size=cell.width, activations=FUNCTIONS[cell.kind],
        direction="bidirectional" if cell.directions == 2 else "forward",
        **({"linear_before_reset": True} if cell.linear else {}),
    )
    for result in results:
        net.output(result)
    net.save(path)


def _write_iterator(path, cell, step):
    """Writes a TensorIterator over the steps of axis 1, with the results of `write_sequence`."""
    net = Layers()
    x, states = _inputs(net, cell)
    loop = Loop(net)
    now = loop.row(loop.scanned(x, [cell.batch, 1, cell.width], axis=1), 1)
    shape = [cell.batch, cell.width]
    carried = [loop.carried(net.row(state, 1), shape) for state in states]
    following = step(loop, cell, now, carried)
    for state, value in zip(carried, following):
        loop.becomes(state, value)
    loop.rows(loop.slice(following[0], 1), axis=1)
    for value in following:
        loop.last(value)
    for result in loop.close():
        net.output(result)
    net.save(path)


def write_cells(path, cell):
    """Writes a cell in the body of a TensorIterator."""

    def step(body, cell, x, states):
        kind = f"{cell.kind}Cell"
        constants = [body.constant(array[0]) for array in weights(cell)]
        return body.many(kind, x, *states, *constants, outputs=len(states),
                         version=VERSIONS[kind], hidden_size=cell.width,
                         activations=FUNCTIONS[cell.kind])

    _write_iterator(path, cell, step)


def write_primitives(path, cell):
    """Writes an LSTM as products, sums and functions."""

    def step(body, cell, x, states):
        h, c = states
        w, r, b = (body.constant(array[0]) for array in weights(cell))
        products = [body("MatMul", x, w, transpose_a=False, transpose_b=True),
                    body("MatMul", h, r, transpose_a=False, transpose_b=True)]
        sums = body("Add", body("Add", *products), b)
        parts = body.many("Split", sums, body.constant(1, I32), outputs=4, num_splits=4)
        forget, into, out = (body("Sigmoid", parts[index]) for index in (0, 1, 3))
        taken = body("Multiply", into, body("Tanh", parts[2]))
        next_c = body("Add", body("Multiply", forget, c), taken)
        return [body("Multiply", out, body("Tanh", next_c)), next_c]

    _write_iterator(path, cell, step)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(x, w, r, b, h, c):
    forget, into, new, out = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    c = _sigmoid(forget) * c + _sigmoid(into) * np.tanh(new)
    return _sigmoid(out) * np.tanh(c), c


def _gru(x, w, r, b, h):
    (xz, xr, xn), (rz, rr, rn) = np.split(x @ w.T + b, 3, axis=1), np.split(r, 3)
    update, reset = _sigmoid(xz + h @ rz.T), _sigmoid(xr + h @ rr.T)
    return ((1 - update) * np.tanh(xn + (reset * h) @ rn.T) + update * h,)


def _linear_gru(x, w, r, b, h):
    *biases, last = np.split(b, 4)
    (xz, xr, xn), (hz, hr, hn) = np.split(x @ w.T + np.concatenate(biases), 3, axis=1), np.split(
        h @ r.T, 3, axis=1)
    update, reset = _sigmoid(xz + hz), _sigmoid(xr + hr)
    return ((1 - update) * np.tanh(xn + reset * (hn + last)) + update * h,)


def _rnn(x, w, r, b, h):
    return (np.tanh(x @ w.T + h @ r.T + b),)


STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}


def reference(cell, fed):
    """In float64: all h [batch, directions, steps, width], followed by the last states."""
    arrays = [array.astype(np.float64) for array in weights(cell)]
    x = fed["x"].astype(np.float64)
    lasts = [fed[name].astype(np.float64) for name in cell.states]
    rows = np.empty((cell.batch, cell.directions, cell.steps, cell.width))
    for direction in range(cell.directions):
        states = [state[:, direction] for state in lasts]
        steps = range(cell.steps)
        for step in reversed(steps) if direction else steps:
            parts = (array[direction] for array in arrays)
            step_of = _linear_gru if cell.linear else STEPS[cell.kind]
            states = step_of(x[:, step], *parts, *states)
            rows[:, direction, step] = states[0]
        for last, state in zip(lasts, states):
            last[:, direction] = state
    return [rows, *lasts]
