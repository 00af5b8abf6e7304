"""Models that walk along whole sequences in both directions: bidirectional layers, reversed scans,
layers with lengths of their own, and random stacks of them."""

from __future__ import annotations

import random
from typing import Any, Callable

import numpy as np
from batch_models import CELL, CELL_CONSTANTS, INPUTS, WIDTH, BatchModel, Feeds, layer, numbers, with_constants
from loop_models import parse

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def weights(name: str, kind: str, inputs: int, ways: int, seed: int) -> dict[str, np.ndarray]:
    gates = GATES[kind] * WIDTH
    return {
        f"{name}W": numbers(seed, ways, gates, inputs),
        f"{name}R": numbers(seed + 1, ways, gates, WIDTH),
        f"{name}B": numbers(seed + 2, ways, 2 * gates),
    }


def tagger(kind: str, batch: str = "N") -> BatchModel:
    """Words, two bidirectional layers as exporters write them, and a softmax over labels."""
    body = f"""g (int64[T, {batch}] words) => (float[?, ?, 4] labels, float[?, ?, ?] last) {{
      x = Gather(table, words)
      Y, h1 = {kind} <hidden_size = {WIDTH}, direction = "bidirectional"> (x, aW, aR, aB)
      Yt = Transpose <perm = [0, 2, 1, 3]> (Y)
      y = Reshape(Yt, joined)
      Z, last = {kind} <hidden_size = {WIDTH}, direction = "bidirectional"> (y, bW, bR, bB)
      Zt = Transpose <perm = [0, 2, 1, 3]> (Z)
      z = Reshape(Zt, joined)
      scores = MatMul(z, D)
      labels = Softmax <axis = -1> (scores)
    }}"""
    constants = {
        "table": numbers(1, 20, INPUTS),
        "joined": np.array([0, 0, 2 * WIDTH], np.int64),
        "D": numbers(2, 2 * WIDTH, 4),
        **weights("a", kind, INPUTS, 2, 10),
        **weights("b", kind, 2 * WIDTH, 2, 20),
    }

    def feeds(steps: int, seed: int) -> Feeds:
        return {"words": np.random.default_rng(seed).integers(0, 20, (steps, 1))}

    name = f"tagger of {kind}, batch {batch}"
    return BatchModel(name, with_constants(parse(body), constants), feeds, {"words": 0})


def encoder() -> BatchModel:
    """The final states of both directions, joined, from zeros that are made for the batch."""
    body = f"""g (float[N, T, {INPUTS}] X) => (float[?, ?] code) {{
      x = Transpose <perm = [1, 0, 2]> (X)
      sizes = Shape(X)
      batch = Gather(sizes, zero)
      shape = Concat <axis = 0> (two, batch, width)
      h = Expand(nothing, shape)
      Y, Yh, Yc = LSTM <hidden_size = {WIDTH}, direction = "bidirectional"> (x, aW, aR, aB, , h, h)
      states = Transpose <perm = [1, 0, 2]> (Yh)
      flat = Reshape(states, joined)
      code = MatMul(flat, D)
    }}"""
    constants = {
        "zero": np.array([0], np.int64),
        "two": np.array([2], np.int64),
        "width": np.array([WIDTH], np.int64),
        "nothing": np.zeros((1, 1, 1), np.float32),
        "joined": np.array([0, -1], np.int64),
        "D": numbers(2, 2 * WIDTH, 3),
        **weights("a", "LSTM", INPUTS, 2, 10),
    }

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, 1, steps, INPUTS)}

    return BatchModel("encoder", with_constants(parse(body), constants), feeds, {"X": 1})


def with_lengths(kind: str) -> BatchModel:
    """A layer with lengths of its own, of which `feeds` gives any that are inside."""
    body = f"""g (float[T, N, {INPUTS}] X, int32[N] ends) => (float[?, ?, ?, ?] Y, float[?, ?, ?] Yh) {{
      Y, Yh = {kind} <hidden_size = {WIDTH}, direction = "bidirectional"> (X, aW, aR, aB, ends)
    }}"""

    def feeds(steps: int, seed: int) -> Feeds:
        ends = np.random.default_rng(seed).integers(0, steps + 1, 1).astype(np.int32)
        return {"X": numbers(seed, steps, 1, INPUTS), "ends": ends}

    model = with_constants(parse(body), weights("a", kind, INPUTS, 2, 10))
    return BatchModel(f"{kind} with lengths", model, feeds, {"X": 0})


def scan_text(name: str, x: str, back: bool, flips: bool = False) -> str:
    """A cell over x. `flips`: its rows come in the order of its steps, not in that of x."""
    directions = f"[{int(back)}]", f"[{int(back and not flips)}]"
    return f"""{name}last, {name}rows = Scan <num_scan_inputs = 1,
      scan_input_directions = {directions[0]}, scan_output_directions = {directions[1]},
      body = step (float[N, {WIDTH}] h, float[N, {INPUTS}] x) =>
                  (float[N, {WIDTH}] next, float[N, {WIDTH}] row) {{ {CELL} }}> (H, {x})"""


def scans(*backs: bool, flips: bool = False, batch: str = "N") -> BatchModel:
    """One scan after another, each over a projection of the rows before it."""
    lines, x = [], "X"
    for i, back in enumerate(backs):
        lines.append(scan_text(f"s{i}", x, back, flips))
        lines.append(f"p{i} = MatMul(s{i}rows, P)")
        x = f"p{i}"
    last = len(backs) - 1
    body = "\n".join(lines)
    text = f"""g (float[T, N, {INPUTS}] X, float[N, {WIDTH}] H) =>
        (float[?, ?] s{last}last, float[?, ?, ?] s{last}rows, float[?, ?, ?] p0) {{ {body} }}"""
    constants = {**CELL_CONSTANTS, "P": numbers(3, WIDTH, INPUTS)}
    model = with_constants(parse(text.replace("N,", f"{batch},")), constants)

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS), "H": numbers(seed + 1, 1, WIDTH)}

    ways = " ".join("backwards" if back else "forwards" for back in backs)
    return BatchModel(f"scans {ways}{' flipped' if flips else ''}, batch {batch}", model, feeds, {"X": 0})


def last_of_both() -> BatchModel:
    """The rows of the last step and those of the first one, of a bidirectional layer."""
    body = f"""g (float[T, N, {INPUTS}] X) =>
        (float[?, ?, ?] last, float[?, ?, ?] first, float[?, ?, ?, ?] kept, float[?, ?, ?] row) {{
      Y = GRU <hidden_size = {WIDTH}, direction = "bidirectional"> (X, aW, aR, aB)
      last = Gather <axis = 0> (Y, end)
      first = Gather <axis = 0> (Y, begin)
      kept = Slice(Y, minus, most, axis)
      row = Gather <axis = 0> (X, minus)
    }}"""
    constants = {
        "end": np.array(-1, np.int64),
        "begin": np.array(0, np.int64),
        "minus": np.array([-1], np.int64),
        "most": np.array([2**63 - 1], np.int64),
        "axis": np.array([0], np.int64),
        **weights("a", "GRU", INPUTS, 2, 10),
    }

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS)}

    return BatchModel("last of both", with_constants(parse(body), constants), feeds, {"X": 0})


def reversed_copy() -> BatchModel:
    """A forward scan over a reversed copy, reversed again, joined with a forward scan."""
    text = f"""g (float[T, N, {INPUTS}] X, float[N, {WIDTH}] H) => (float[?, ?, ?] rows, float[?, ?] blast) {{
      R = Slice(X, start, stop, axis, step)
      {scan_text("a", "X", False)}
      {scan_text("b", "R", False)}
      back = Slice(brows, start, stop, axis, step)
      rows = Concat <axis = 2> (arows, back)
    }}"""
    constants = {**CELL_CONSTANTS, **BACKWARDS}

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS), "H": numbers(seed + 1, 1, WIDTH)}

    return BatchModel("reversed copy", with_constants(parse(text), constants), feeds, {"X": 0})


BACKWARDS = {
    "start": np.array([-1], np.int64),
    "stop": np.array([-(2**63) + 1], np.int64),
    "axis": np.array([0], np.int64),
    "step": np.array([-1], np.int64),
}


def reversed_layer(kind: str, direction: str, layout: int = 0, activations: str = "") -> BatchModel:
    """A layer over a reversed copy, with initial states, whose results are also reversed again."""
    ways = 2 if direction == "bidirectional" else 1
    cell = ", c" if kind == "LSTM" else ""
    body = f"""g (float[T, 1, {INPUTS}] X) => (float[?, ?, ?, ?] Y, float[?, ?, ?] h, float[?, ?, ?, ?] both) {{
      R = Slice(X, start, stop, axis, step)
      x = Transpose <perm = {[0, 1, 2] if layout == 0 else [1, 0, 2]}> (R)
      Y, h = {kind} <hidden_size = {WIDTH}, direction = "{direction}", layout = {layout} {activations}>
        (x, aW, aR, aB, , first{cell})
      y = Transpose <perm = {[0, 1, 2, 3] if layout == 0 else [1, 2, 0, 3]}> (Y)
      back = Slice(y, start, stop, axis, step)
      rows = Unsqueeze(X, axis)
      steps = Transpose <perm = [1, 0, 2, 3]> (rows)
      both = Concat <axis = 3> (back, steps)
    }}"""
    states = (ways, 1, WIDTH) if layout == 0 else (1, ways, WIDTH)
    constants = {**BACKWARDS, **weights("a", kind, INPUTS, ways, 10), "first": numbers(3, *states), "c": numbers(4, *states)}
    if ways == 2:
        body = body.replace("steps = Transpose <perm = [1, 0, 2, 3]> (rows)", """one = Transpose <perm = [1, 0, 2, 3]> (rows)
      steps = Concat <axis = 1> (one, one)""")
    if kind != "LSTM":
        del constants["c"]

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS)}

    name = f"{direction} {kind} over a reversed copy, layout {layout} {activations}"
    return BatchModel(name, with_constants(parse(body), constants), feeds, {"X": 0})


def reversed_by_lengths(counts: bool) -> BatchModel:
    """ReverseSequence before and after a layer, by the number of steps or by any number of them."""
    lengths = "" if counts else ", int64[1] ends"
    body = f"""g (float[T, 1, {INPUTS}] X{lengths}) => (float[?, ?, ?, ?] Y, float[?, ?, ?] h, float[?, ?, ?] back) {{
      {"sizes = Shape(X)" if counts else ""}
      {"ends = Slice(sizes, zero, one)" if counts else ""}
      R = ReverseSequence <batch_axis = 1, time_axis = 0> (X, ends)
      Y, h = GRU <hidden_size = {WIDTH}> (R, aW, aR, aB)
      y = Squeeze(Y, one)
      back = ReverseSequence <batch_axis = 1, time_axis = 0> (y, ends)
    }}"""
    constants = {**weights("a", "GRU", INPUTS, 1, 10), "one": np.array([1], np.int64)}
    if counts:
        constants["zero"] = np.array([0], np.int64)

    def feeds(steps: int, seed: int) -> Feeds:
        ends = {} if counts else {"ends": np.random.default_rng(seed).integers(0, steps + 1, 1)}
        return {"X": numbers(seed, steps, 1, INPUTS), **ends}

    name = f"reversed by {'the number of steps' if counts else 'lengths'}"
    return BatchModel(name, with_constants(parse(body), constants), feeds, {"X": 0})


def gathered() -> BatchModel:
    """A Loop over a reversed scan's rows, which it gathers by its counter."""
    text = f"""g (float[T, N, {INPUTS}] X, float[N, {WIDTH}] H) => (float[?, ?] total, float[?, ?, ?] sums) {{
      {scan_text("a", "X", True)}
      sizes = Shape(X)
      steps = Gather(sizes, zero)
      total, sums = Loop (steps, yes, H) <body = step (int64 i, bool c, float[N, {WIDTH}] before) =>
          (bool again, float[N, {WIDTH}] after, float[N, {WIDTH}] row) {{
        now = Gather <axis = 0> (arows, i)
        after = Add(before, now)
        row = Mul(after, after)
        again = Identity(c)
      }}>
    }}"""
    constants = {**CELL_CONSTANTS, "zero": np.array(0, np.int64), "yes": np.array(True)}

    def feeds(steps: int, seed: int) -> Feeds:
        return {"X": numbers(seed, steps, 1, INPUTS), "H": numbers(seed + 1, 1, WIDTH)}

    return BatchModel("gathered by a counter", with_constants(parse(text), constants), feeds, {"X": 0})


def in_padded_batches() -> list[BatchModel]:
    layers = [
        layer(kind, fed=fed, layout=layout, direction="bidirectional")
        for kind in GATES
        for fed in (False, True)
        for layout in (0, 1)
    ]
    return [
        *layers,
        *(tagger(kind) for kind in GATES),
        tagger("LSTM", "1"),
        encoder(),
        with_lengths("LSTM"),
        with_lengths("GRU"),
        scans(True),
        scans(True, flips=True),
        scans(True, batch="1"),
        scans(False, True),
        scans(True, True, flips=True),
        scans(True, False, True),
        reversed_copy(),
        *(reversed_layer(kind, way) for kind in GATES for way in ("forward", "reverse", "bidirectional")),
        reversed_layer("LSTM", "reverse", layout=1),
        reversed_layer("LSTM", "bidirectional", layout=1),
        reversed_layer(
            "GRU",
            "bidirectional",
            activations=', activations = ["Sigmoid", "Tanh", "HardSigmoid", "Softsign"], activation_alpha = [0.3]',
        ),
        reversed_by_lengths(counts=True),
        reversed_by_lengths(counts=False),
        gathered(),
    ]


class RandomStack:
    """A random model over x[T, N, INPUTS]: layers and scans in both directions, and what is computed
    for each step between them. Some of it mixes the steps, which padding would change."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._lines: list[str] = []
        self._values = ["X"]
        self._states: list[str] = []
        self.constants: dict[str, np.ndarray] = {**CELL_CONSTANTS, **BACKWARDS}
        self._integers("joined", 0, 0, 2 * WIDTH)
        self._integers("time", 0)
        for _ in range(source.randint(1, 3)):
            self._between()
            source.choice((self._layer, self._layer, self._scan))()
        self._between()
        if not self._states:
            self._layer()
        results = source.sample(self._states, 1) + [self._values[-1]]
        self._lines.append(f"state = Identity({results[0]})")
        self._lines.append(f"rows = Identity({results[1]})")
        self.ends_in_scan = results[0].endswith("last")
        self.body = "\n".join(self._lines)

    def _integers(self, name: str, *values: int) -> str:
        self.constants[name] = np.array(values, np.int64)
        return name

    def _constant(self, *shape: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = numbers(self._source.randrange(1000), *shape)
        return name

    def _pick(self) -> str:
        return self._source.choice(self._values[-3:])

    def _add(self, line: Callable[[str], str]) -> None:
        name = f"v{len(self._lines)}"
        self._lines.append(line(name))
        self._values.append(name)

    def _layer(self) -> None:
        kind = self._source.choice(list(GATES))
        way = self._source.choice(("bidirectional", "bidirectional", "reverse", "forward"))
        ways = 2 if way == "bidirectional" else 1
        name = f"l{len(self._lines)}"
        self.constants.update(weights(name, kind, INPUTS, ways, self._source.randrange(1000)))
        self._lines.append(
            f'{name}Y, {name}h = {kind} <hidden_size = {WIDTH}, direction = "{way}"> '
            f"({self._pick()}, {name}W, {name}R, {name}B)"
        )
        self._integers(f"{name}J", 0, 0, ways * WIDTH)
        self._lines.append(f"{name}t = Transpose <perm = [0, 2, 1, 3]> ({name}Y)")
        self._lines.append(f"{name}f = Reshape({name}t, {name}J)")
        self._add(lambda made: f"{made} = MatMul({name}f, {self._constant(ways * WIDTH, INPUTS)})")
        self._states.append(f"{name}h")

    def _scan(self) -> None:
        name = f"s{len(self._lines)}"
        back, flips = self._source.random() < 0.6, self._source.random() < 0.2
        self._lines.append(scan_text(name, self._pick(), back, flips))
        self._add(lambda made: f"{made} = MatMul({name}rows, {self._constant(WIDTH, INPUTS)})")
        self._states.append(f"{name}last")

    def _between(self) -> None:
        a, b = self._pick(), self._pick()
        forms: list[Callable[[str], str]] = [
            lambda name: f"{name} = Add({a}, {b})",
            lambda name: f"{name} = Tanh({a})",
            lambda name: f"{name} = Softmax <axis = -1> ({a})",
            lambda name: f"{name} = MatMul({a}, {self._constant(INPUTS, INPUTS)})",
            lambda name: f"{name} = Mul({a}, {self._constant(INPUTS)})",
            lambda name: f"{name} = Slice({a}, start, stop, axis, step)",
        ]
        if self._source.random() < 0.06:
            forms = [
                lambda name: f"{name} = CumSum({a}, time)",
                lambda name: f"{name} = Softmax <axis = 0> ({a})",
            ]
        self._add(self._source.choice(forms))


def random_stack(seed: int) -> BatchModel:
    made = RandomStack(random.Random(seed))
    text = f"""g (float[T, N, {INPUTS}] X, float[N, {WIDTH}] H) => (float state, float rows) {{
      {made.body}
    }}"""
    sizes = "[?, ?]" if made.ends_in_scan else "[?, ?, ?]"
    text = text.replace("float state", f"float{sizes} state")
    text = text.replace("float rows", "float[?, ?, ?] rows")

    def feeds(steps: int, seed: int) -> dict[str, Any]:
        return {"X": numbers(seed, steps, 1, INPUTS), "H": numbers(seed + 1, 1, WIDTH)}

    return BatchModel(f"random {seed}", with_constants(parse(text), made.constants), feeds, {"X": 0})
