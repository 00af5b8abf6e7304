"""A cascade of second-order sections over channels of audio, each in transposed direct form 2."""

import numpy as np

from graph import Graph

SECTIONS, CHANNELS = 8, 2
PADDING = 4096  # samples after which the impulse response is below rounding


def sections():
    """Low-pass sections with gain one at frequency zero: rows of b0 b1 b2 a1 a2."""
    random = np.random.default_rng(40)
    radius, angle = random.uniform(0.5, 0.8, SECTIONS), random.uniform(0.2, 1.2, SECTIONS)
    a1, a2 = -2 * radius * np.cos(angle), radius**2
    gain = (1 + a1 + a2) / 4
    return np.stack([gain, 2 * gain, gain, a1, a2], axis=1).astype(np.float32)


def write(path):
    graph, row = Graph(), [1, CHANNELS]
    start = graph.input("start", [2 * SECTIONS, CHANNELS])
    xs = graph.input("xs", ["steps", *row])
    body = graph.body()
    state, through = body.input("state", [2 * SECTIONS, CHANNELS]), body.input("x", row)
    delays, after = body.many("Split", state, outputs=2 * SECTIONS, axis=0), []
    for index, numbers in enumerate(sections()):
        b0, b1, b2, a1, a2 = (graph.constant(number) for number in numbers)
        first, second = delays[2 * index : 2 * index + 2]
        y = body("Add", body("Mul", b0, through), first)
        kept = body("Sub", body("Mul", b1, through), body("Mul", a1, y))
        after += [
            body("Add", kept, second),
            body("Sub", body("Mul", b2, through), body("Mul", a2, y)),
        ]
        through = y
    body.output(body("Concat", *after, axis=0), [2 * SECTIONS, CHANNELS])
    body.output(through, row)
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps", *row])
    graph.save(path)


def feeds(steps):
    xs = np.random.default_rng(41).standard_normal((steps, 1, CHANNELS))
    return {
        "start": np.zeros((2 * SECTIONS, CHANNELS), np.float32), "xs": xs.astype(np.float32),
    }


def reference(feeds):
    """Uses the frequency response instead of a recurrence."""
    b, a = np.split(sections().astype(np.float64), [3], axis=1)
    a = np.concatenate([np.ones((SECTIONS, 1)), a], axis=1)
    xs = feeds["xs"].astype(np.float64)
    size = len(xs) + PADDING
    response = (np.fft.rfft(b, size) / np.fft.rfft(a, size)).prod(axis=0)
    spectrum = np.fft.rfft(xs, size, axis=0) * response[:, None, None]
    return [np.fft.irfft(spectrum, size, axis=0)[: len(xs)]]


def plain(place, feeds, fast=False):
    xs = feeds["xs"]
    rows = np.empty_like(xs)
    arguments = [len(xs), sections(), feeds["start"], xs, rows]
    return place.baseline.engine("cascade", arguments, [rows], fast)
