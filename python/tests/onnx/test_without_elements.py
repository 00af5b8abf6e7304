"""Tensors without elements whose other axes are as long as possible: there is nothing to compute,
so every operator returns at once, fed or constant, planned and interpreted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Iterator

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import scanloom
import single_node
from places import PROJECT

LONG = 2**40
HALF = 2**20
SECONDS = 5
ALL_SECONDS = 300
LIMITS = {"deadline": SECONDS, "max_memory": 1 << 28, "max_steps": 10_000}
EXECUTIONS = ("automatic", "interpreted")

Case = tuple[str, list[Any], dict[str, Any]]


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def elementwise() -> list[Case]:
    wide, tall = floats(LONG, 0), floats(0, LONG)
    cases: list[Case] = [(op, [x], {}) for op in ("Relu", "Exp", "Det", "NonZero", "Flatten")
                         for x in (wide, tall)]
    cases += [("Add", [wide, wide], {}), ("Where", [wide > 0, wide, wide], {}),
              ("Cast", [wide], {"to": onnx.TensorProto.DOUBLE}),
              ("QuantizeLinear", [wide, np.float32(1), np.uint8(0)], {}),
              ("DequantizeLinear", [np.zeros((LONG, 0), np.uint8), np.float32(1)], {}),
              ("Trilu", [wide], {}), ("Trilu", [floats(HALF, 0, HALF)], {})]
    return cases


def along_axes() -> list[Case]:
    cases: list[Case] = []
    for x in (floats(LONG, 0), floats(0, LONG), floats(2**59, 0)):
        for axis in (0, 1):
            cases += [(op, [x], {"axis": axis}) for op in ("Softmax", "LogSoftmax", "Hardmax")]
            cases += [("CumSum", [x, np.int64(axis)], {}),
                      ("TopK", [x, numbers(0)], {"axis": axis}),
                      ("ArgMax", [x], {"axis": axis}), ("ReduceSum", [x, numbers(axis)], {}),
                      ("ReduceMax", [x, numbers(axis)], {}), ("Concat", [x, x], {"axis": axis}),
                      ("Unique", [x], {"axis": axis}), ("Gather", [x, numbers(0)], {"axis": axis}),
                      ("Compress", [x, np.array([True])], {"axis": axis})]
    cases += [("LayerNormalization", [floats(LONG, 0), floats(0)], {}),
              ("ReverseSequence", [floats(HALF, HALF, 0), np.ones(HALF, np.int64)],
               {"batch_axis": 0, "time_axis": 1}),
              ("CumSum", [floats(3), np.zeros((2, 3), np.int64)], {})]
    return cases


def moved() -> list[Case]:
    wide = floats(LONG, 0)
    return [
        ("Transpose", [wide], {}), ("Reshape", [wide, numbers(0)], {"allowzero": 1}),
        ("Tile", [wide, numbers(1, 3)], {}), ("Expand", [floats(1, 0), numbers(LONG, 0)], {}),
        ("Slice", [wide, numbers(0), numbers(LONG), numbers(0), numbers(2)], {}),
        ("Pad", [wide, numbers(1, 0, 1, 0)], {"mode": "edge"}),
        ("Pad", [floats(1, 1, 1), numbers(0, 0, 0, 2**24 - 1, 2**24 - 1, -1)], {}),
        ("Pad", [floats(1, 1, 1, 1, 1), numbers(*[0] * 5, *[2**24 - 1] * 4, -1)], {}),
        ("OneHot", [np.zeros((LONG, 0), np.int64), np.int64(3), floats(2)], {}),
        ("GatherElements", [wide, np.zeros((LONG, 0), np.int64)], {}),
        ("GatherND", [floats(0), np.zeros((LONG, 0), np.int64)], {}),
        ("ScatterND", [floats(0), np.zeros((LONG, 0), np.int64), floats(LONG, 0)], {}),
        ("ScatterElements", [wide, np.zeros((LONG, 0), np.int64), wide], {}),
        ("TfIdfVectorizer", [np.zeros((LONG, 0), np.int64)],
         {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
          "pool_int64s": [1], "ngram_counts": [0], "ngram_indexes": [0]}),
    ]


def products() -> list[Case]:
    row = floats(1, LONG, 0)
    return [
        ("MatMul", [floats(LONG, 0), floats(0, 0)], {}),
        ("MatMul", [floats(0, 0), floats(0, LONG)], {}),
        ("Einsum", [row, row], {"equation": "ijk,ijk->i"}),
        ("Einsum", [row, row], {"equation": "ijk,ijk->ik"}),
        ("RNN", [floats(LONG, 0, 1), floats(1, 2, 1), floats(1, 2, 2)], {"hidden_size": 2}),
        ("GRU", [floats(0, 1, 1), floats(1, 6, 1), floats(1, 6, 2)], {"hidden_size": 2}),
        ("LSTM", [floats(LONG, 0, 1), floats(1, 8, 1), floats(1, 8, 2)], {"hidden_size": 2}),
    ]


def windows() -> list[Case]:
    image, line = floats(LONG, 1, 0, 1), floats(LONG, 1, 0)
    return [
        ("Conv", [line, floats(1, 1, 1)], {}), ("Conv", [image, floats(1, 1, 1, 1)], {}),
        ("ConvTranspose", [line, floats(1, 1, 1)], {}),
        ("ConvTranspose", [floats(1, 0, 1), floats(0, 1, 2**31 - 1)], {"pads": [0, 2**31 - 2]}),
        ("MaxPool", [line], {"kernel_shape": [1]}), ("AveragePool", [line], {"kernel_shape": [1]}),
        ("LpPool", [line], {"kernel_shape": [1]}), ("GlobalAveragePool", [line], {}),
        ("Col2Im", [floats(LONG, 1, 0), numbers(1, 1), numbers(1, 1)], {}),
        ("Col2Im", [floats(1, 2**20, 0), numbers(1, 1), numbers(2**10, 2**10)], {}),
        ("GridSample", [image, floats(LONG, 0, 1, 2)], {}),
        ("RoiAlign", [floats(1, LONG, 0, 1), floats(0, 4), numbers()], {}),
        ("MaxRoiPool", [floats(1, LONG, 0, 1), floats(0, 5)], {"pooled_shape": [1, 1]}),
        ("AffineGrid", [floats(1, 2, 3), numbers(1, 1, 0, LONG)], {}),
        ("Resize", [image, None, floats(4) + 1], {}),
        ("NonMaxSuppression", [floats(1, 0, 4), floats(1, LONG, 0), numbers(1)], {}),
        ("NonMaxSuppression", [floats(LONG, 0, 4), floats(LONG, 1, 0), numbers(1)], {}),
        ("DeformConv", [line, floats(1, 1, 1), floats(LONG, 1, 0)], {}),
    ]


OUTPUTS = {"TopK": 2, "Unique": 4}


def cases() -> list[Case]:
    return elementwise() + along_axes() + moved() + products() + windows()


def as_constants(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    for name, value in feeds.items():
        changed.graph.initializer.append(numpy_helper.from_array(value, name))
    return changed


def outcome(model: onnx.ModelProto, feeds: dict[str, np.ndarray], execution: str) -> list[Any]:
    """["fine", the sizes that came out], or the code of the error."""
    try:
        session = scanloom.InferenceSession(model.SerializeToString(), execution=execution)
        results = session.run(None, feeds, scanloom.RunOptions(**LIMITS))
        return ["fine", [list(result.shape) for result in results]]
    except scanloom.Error as error:
        return [error.code]
    except ValueError as error:  # what came out has sizes that numpy has no array for
        assert "array is too big" in str(error)
        return ["fine", []]


def answers() -> Iterator[dict[str, Any]]:
    for number, (op, inputs, attributes) in enumerate(cases()):
        inputs = [None if value is None else np.asarray(value) for value in inputs]
        model = single_node.model(op, inputs, OUTPUTS.get(op, 1), opset=22, **attributes)
        feeds = single_node.feeds(inputs)
        constant = as_constants(model, feeds)
        for how, proto, fed in (("fed", model, feeds), ("constant", constant, {})):
            answer: dict[str, Any] = {"number": number, "op": op, "how": how}
            start = time.monotonic()
            for execution in EXECUTIONS:
                answer[execution] = outcome(proto, fed, execution)
            yield {**answer, "seconds": time.monotonic() - start}


@pytest.fixture(scope="module")
def answered() -> list[dict[str, Any]]:
    """In a process of its own: what never ends is ended with it."""
    path = os.pathsep.join([str(PROJECT / "python" / "tests"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        text, _ = process.communicate(timeout=ALL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def test_all_come_to_an_end(answered):
    last = answered[-1] if answered else None
    assert len(answered) == 2 * len(cases()), f"it stopped after {last}"


def test_none_takes_long(answered):
    assert [one for one in answered if one["seconds"] > 2 * SECONDS] == []


def test_both_agree(answered):
    ways = [[one[execution] for execution in EXECUTIONS] for one in answered]
    assert [one for one, (a, b) in zip(answered, ways)
            if "internal" in (a[0], b[0]) or ("fine" in (a[0], b[0]) and a != b)] == []


def test_an_update_without_elements_leaves_the_cache():
    cache = np.arange(12, dtype=np.float32).reshape(1, 2, 3, 2)
    inputs = [cache, floats(1, 2, 0, 2), numbers(1)]
    for symbolic in (False, True):
        model = single_node.model("TensorScatter", inputs, symbolic=symbolic, mode="circular")
        result = single_node.run_every_way(model, single_node.feeds(inputs))[0]
        np.testing.assert_array_equal(result, cache)


if __name__ == "__main__":
    for line in answers():
        print(json.dumps(line), flush=True)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_rows_of_no_step_have_the_sizes_that_the_first_state_gives(execution: str) -> None:
    """A state that grows and a row that is its last column: of a step there would be one column."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    real, integer, boolean = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    ends = {"from": [-1], "to": [2**60], "axes": [1]}
    body = onnx.helper.make_graph(
        [
            node("Identity", ["going"], ["goes"]),
            node("Concat", ["grown", "x"], ["grows"], axis=1),
            node("Slice", ["grows", *ends], ["row"]),
        ],
        "body",
        [value("i", integer, []), value("going", boolean, []), value("grown", real, [2, "k"])],
        [value("goes", boolean, []), value("grows", real, [2, "l"]), value("row", real, None)],
    )
    graph = onnx.helper.make_graph(
        [node("Loop", ["n", "", "first"], ["last", "rows"], body=body)],
        "growing",
        [value("n", integer, []), value("first", real, [2, "k"]), value("x", real, [2, 1])],
        [value("last", real, None), value("rows", real, None)],
        [numpy_helper.from_array(numbers(*given), name) for name, given in ends.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    options = scanloom.SessionOptions()
    options.execution = execution
    session = scanloom.InferenceSession(model.SerializeToString(), options)
    for steps in (0, 2):
        feeds = {"n": np.int64(steps), "first": np.ones((2, 3), np.float32), "x": floats(2, 1)}
        last, rows = session.run(None, feeds)
        assert last.shape == (2, 3 + steps) and rows.shape == (steps, 2, 1)
