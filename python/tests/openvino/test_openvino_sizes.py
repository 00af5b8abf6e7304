"""Sizes that an OpenVINO model computes, with integers of 64 and of 32 bits, are followed."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable

import numpy as np
import pytest
from openvino_ir import Graph, Port

import scanloom

X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)


class Sizes:
    """A model over x, of unknown sizes except for its last one, that computes with its sizes in
    `word`."""

    def __init__(self, word: str) -> None:
        self.word, self.dtype = word, np.dtype(word.replace("i", "int"))
        self.graph = Graph()
        self.x = self.graph.parameter("x", "float32", [-1, -1, 8])
        self.all = self.shape_of(self.graph, self.x)

    def shape_of(self, graph: Graph, value: Port) -> Port:
        return graph.add("ShapeOf", [value], 1, 3, None, self.word.upper(), output_type=self.word)

    def list(self, *values: int) -> Port:
        return self.graph.constant(np.array(values, self.dtype))

    def number(self, value: int) -> Port:
        return self.graph.constant(np.array(value, self.dtype))

    def add(self, kind: str, *inputs: Port, version: int = 1, outputs: int = 1, **data) -> Port:
        return self.graph.add(kind, inputs, outputs, version, None, self.word.upper(), **data)

    def size(self, axis: int) -> Port:
        return self.add("Gather", self.all, self.list(axis), self.number(0), version=8)

    def reshaped(self, *parts: Port) -> Port:
        return self.add("Reshape", self.x, self.add("Concat", *parts, axis=0), special_zero=False)

    def filled(self, sizes: Port) -> Port:
        return self.add("Broadcast", self.graph.constant(np.float32(1)), sizes, version=3)


def product(m: Sizes) -> Port:
    return m.reshaped(m.add("Multiply", m.size(0), m.size(1)), m.list(8))


def all_elements(m: Sizes) -> Port:
    return m.reshaped(m.add("ReduceProd", m.all, m.number(0), keep_dims=True))


def converted(m: Sizes) -> Port:
    twice = m.add("Convert", m.add("Multiply", m.size(0), m.list(2)), destination_type="i64")
    back = m.add("Convert", twice, destination_type=m.word)
    return m.filled(m.add("Concat", back, m.size(1), axis=0))


def parted(m: Sizes) -> Port:
    first, rest = m.add("VariadicSplit", m.all, m.number(0), m.list(1, 2), outputs=2).layer, 1
    scalar = m.add("Squeeze", Port(first), m.number(0))
    more = m.add("Unsqueeze", m.add("Add", scalar, m.number(3)), m.number(0))
    return m.filled(m.add("Concat", more, Port(first, rest), axis=0))


def halved(m: Sizes) -> Port:
    return m.filled(m.add("Divide", m.size(1), m.list(2)))


def padded_to_four(m: Sizes) -> Port:
    over = m.add("FloorMod", m.size(1), m.list(4))
    return m.filled(m.add("Add", m.add("Subtract", m.size(1), over), m.list(4)))


def strided(m: Sizes) -> Port:
    some = m.add("StridedSlice", m.all, m.list(-1), m.list(0), m.list(-1), begin_mask=[1], end_mask=[0])
    return m.filled(m.add("Maximum", some, m.list(1)))


def counted(m: Sizes) -> Port:
    size = m.add("Reshape", m.add("Add", m.size(0), m.size(1)), m.graph.constant(np.zeros(0, np.int64)),
                 special_zero=False)  # fmt: skip
    return m.add("Range", m.number(0), size, m.number(1), version=4, output_type=m.word)


def in_a_loop(m: Sizes) -> Port:
    """Captured sizes, and those of a slice."""
    body = m.graph.body()
    inner, sizes = body.parameter("slice", "float32", [1, -1, 8]), body.parameter("sizes", m.dtype, [3])
    total = body.add("ReduceProd", [sizes, body.constant(np.array(0, m.dtype))], keep_dims=True)
    own = body.add("ReduceProd", [m.shape_of(body, inner), body.constant(np.array(0, m.dtype))], keep_dims=True)
    wide = body.add("Concat", [own, total], axis=0)
    row = body.result(body.add("Broadcast", [body.constant(np.float32(1)), wide], version=3))
    return m.graph.loop("TensorIterator", body, [m.x, m.all], 1, [
        {"kind": "input", "port": 0, "layer": inner.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": sizes.layer},
        {"kind": "output", "port": 0, "layer": row, "axis": 0}])  # fmt: skip


def in_a_branch(m: Sizes) -> Port:
    sides = []
    for more in (3, 5):
        side = m.graph.body()
        sizes = side.parameter("sizes", m.dtype, [3])
        wide = side.add("Multiply", [sizes, side.constant(np.array([2], m.dtype))])
        result = side.result(side.add("Broadcast", [side.constant(np.float32(more)), wide], version=3))
        sides.append((side, [{"kind": "input", "port": 1, "layer": sizes.layer},
                             {"kind": "output", "port": 0, "layer": result}]))  # fmt: skip
    condition = m.graph.parameter("condition", "bool", [])
    return m.graph.branch([condition, m.all], 1, sides)


ONES = np.ones
CASES: dict[Callable[[Sizes], Port], tuple[list[object], np.ndarray]] = {
    product: (["x.0*x.1", 8], X.reshape(6, 8)),
    all_elements: (["8*x.0*x.1"], X.reshape(48)),
    converted: (["2*x.0", None], ONES((4, 3))),
    parted: (["x.0+3", None, 8], ONES((5, 3, 8))),
    halved: (["floor_div(x.1,2)"], ONES(1)),
    padded_to_four: (["4*floor_div(x.1,4)+4"], ONES(4)),
    strided: ([8, "max(1,x.1)"], ONES((8, 3))),
    counted: (["max(0,x.0+x.1)"], np.arange(5)),
    in_a_loop: (["8*x.0*x.1", "8*x.0*x.1"], ONES((48, 48))),
    in_a_branch: (["2*x.0", "2*x.1", 16], 3 * ONES((4, 6, 16))),
}  # fmt: skip


@pytest.mark.parametrize("word", ["i64", "i32"])
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_sizes_are_followed(make: Callable[[Sizes], Port], word: str, tmp_path: pathlib.Path) -> None:
    model = Sizes(word)
    model.graph.result(make(model))
    sizes, expected = CASES[make]
    for execution in ("automatic", "interpreted"):
        session = scanloom.InferenceSession(model.graph.save(tmp_path), execution=execution)
        feeds = {"x": X, "condition": np.array(True)}
        (result,) = session.run(None, {end.name: feeds[end.name] for end in session.get_inputs()})
        assert session.get_outputs()[0].shape == sizes
        assert result.dtype == (model.dtype if make is counted else np.float32)
        np.testing.assert_array_equal(result, expected)


def test_what_a_layer_hands_out_has_its_32_bits(tmp_path: pathlib.Path) -> None:
    model = Sizes("i32")
    parts = [model.all, model.size(1), model.add("Multiply", model.all, model.size(0)),
             model.add("Convert", model.size(1), destination_type="f32")]  # fmt: skip
    for part in parts:
        model.graph.result(part)
    results = scanloom.InferenceSession(model.graph.save(tmp_path)).run(None, {"x": X})
    expected = [([2, 3, 8], "int32"), ([3], "int32"), ([4, 6, 16], "int32"), ([3], "float32")]
    for result, (value, dtype) in zip(results, expected, strict=True):
        assert result.dtype == dtype
        assert result.tolist() == value


def test_integers_that_are_fed_wrap(tmp_path: pathlib.Path) -> None:
    """They are no sizes: Convert to i32 and what follows has 32 bits."""
    graph = Graph()
    x = graph.parameter("x", "int64", [1])
    narrow = graph.add("Convert", [x], destination_type="i32")
    twice = graph.add("Multiply", [narrow, graph.constant(np.array([2], np.int32))])
    graph.result(graph.add("Convert", [twice], destination_type="i64"))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    assert session.run(None, {"x": np.array([2**31 - 1])})[0].tolist() == [-2]


@pytest.mark.parametrize(
    ("kind", "shape", "sizes", "words"),
    [
        ("AdaptiveAvgPool", (10, 600, 4), [2**30], "can have 1099511627776 elements, .* at least 6442450944000"),
        ("AdaptiveAvgPool", (1, 2, 3, 8), [2**30] * 2, "at least 2305843009213693952"),
        ("AdaptiveMaxPool", (1, 2, 3, 8), [2**30] * 2, "at least 2305843009213693952"),
        ("AdaptiveMaxPool", (1, 1, 2, 2, 2), [2**30] * 3, "at least 4611686018427387904"),
        ("AdaptiveAvgPool", (1, 2, 3, 8), [3, -2], "a size of the result is -2, but at least 0 is needed"),
        ("AdaptiveMaxPool", (1, 2, 3, 8), [3, -2], "a size of the result is -2, but at least 0 is needed"),
    ],
)
def test_computed_sizes_that_make_no_sense_are_told_at_once(
    kind: str, shape: tuple[int, ...], sizes: list[int], words: str, tmp_path: pathlib.Path
) -> None:
    graph = Graph()
    ports = [graph.parameter("x", "float32", shape), graph.parameter("sizes", "int64", [len(sizes)])]
    graph.result(graph.add(kind, ports, 1 if kind == "AdaptiveAvgPool" else 2, 8))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    start = time.monotonic()
    with pytest.raises(scanloom.Error, match=words) as caught:
        session.run(None, {"x": np.zeros(shape, np.float32), "sizes": np.array(sizes)})
    assert kind in str(caught.value)
    assert time.monotonic() - start < 5


def test_an_eye_of_computed_sizes_is_limited(tmp_path: pathlib.Path) -> None:
    graph = Graph()
    n = graph.parameter("n", "int64", [])
    graph.result(graph.add("Eye", [n, n, graph.constant(np.array(0))], 1, 9, output_type="f32"))
    session = scanloom.InferenceSession(graph.save(tmp_path))
    with pytest.raises(scanloom.Error, match="can have 1099511627776 elements, .* at least 1152921504606846976"):
        session.run(None, {"n": np.array(2**30)})
    assert session.run(None, {"n": np.array(2)})[0].tolist() == [[1, 0], [0, 1]]
