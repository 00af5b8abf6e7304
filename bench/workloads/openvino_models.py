"""OpenVINO models from the shared folder: a backward LSTM, with random weights here, and a Loop of
three sums."""

import dataclasses
import pathlib
import shutil

import numpy as np

STEPS, INPUT, HIDDEN = 25, 512, 256
LSTM, SUMS = "ti_negative_stride.xml", "loop_2d_add.xml"


@dataclasses.dataclass(frozen=True)
class Shared:
    source: pathlib.Path

    @property
    def name(self):
        return self.source.stem

    def write(self, path):
        shutil.copyfile(self.source, path)
        if self.source.name == LSTM:
            path.with_suffix(".bin").write_bytes(b"".join(part.tobytes() for part in _parts()))
        else:
            shutil.copyfile(self.source.with_suffix(".bin"), path.with_suffix(".bin"))

    @property
    def steps(self):
        return STEPS if self.source.name == LSTM else 1

    def feeds(self):
        if self.source.name == SUMS:
            return {"a_init": np.array([[0.5, -2]], np.float32)}
        random = np.random.default_rng(71)
        shapes = {"data1": (1, STEPS, INPUT), "data2": (1, HIDDEN), "data3": (1, HIDDEN)}
        return {name: random.standard_normal(shape).astype(np.float32)
                for name, shape in shapes.items()}

    def reference(self):
        feeds = {name: array.astype(np.float64) for name, array in self.feeds().items()}
        return self._sums(**feeds) if self.source.name == SUMS else self._lstm(*feeds.values())

    def _lstm(self, x, h, c):
        _, w, r, b, _ = (part.astype(np.float64) for part in _parts())
        rows = []
        for step in reversed(range(STEPS)):
            forget, into, new, out = np.split(x[:, step] @ w.T + h @ r.T + b, 4, axis=1)
            c = _sigmoid(forget) * c + _sigmoid(into) * np.tanh(new)
            h = _sigmoid(out) * np.tanh(c)
            rows.append(h)
        return [np.stack(rows[::-1], axis=1)]

    def _sums(self, a_init):
        """The .bin holds the number of steps, the last summand and the summand per step."""
        bits = self.source.with_suffix(".bin").read_bytes()
        (steps,) = np.frombuffer(bits, np.int64, 1)
        last, added = np.frombuffer(bits, np.float32, 1, 9), np.frombuffer(bits, np.float32, 2, 13)
        sums = a_init + added * np.arange(1, steps + 1)[:, None, None]
        return [sums[-1] + last, sums + last]


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _parts():
    """The contents of the LSTM's .bin: its weights between two shapes."""
    random = np.random.default_rng(72)
    shapes = (4 * HIDDEN, INPUT), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,)
    arrays = (random.uniform(-1 / 16, 1 / 16, shape).astype(np.float32) for shape in shapes)
    return [np.array([1, INPUT]), *arrays, np.array([1, 1, HIDDEN])]


def models(folder):
    """The available models."""
    return [Shared(folder / name) for name in (LSTM, SUMS) if (folder / name).is_file()]
