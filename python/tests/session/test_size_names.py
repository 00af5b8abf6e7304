"""Sizes that depend on data are named after the values that have them; states and rows use the
names of the model."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scanloom
from loop_models import SUM, parse

EXECUTIONS = ("automatic", "stepped", "compiled", "interpreted")

FOUND = parse(
    """g (float[N] x) => (int64[1,M] where, int64[K] twice) {
      where = NonZero(x)
      flat = Flatten <axis = 0>(where)
      pair = Concat <axis = 1>(flat, flat)
      minus = Constant <value_ints = [-1]>()
      twice = Reshape(pair, minus)
    }"""
)
GROWING = parse(
    """g (int64 n, float[1] x) => (float[M] last, float[K,L] rows) {
      on = Constant <value = bool {1}>()
      last, rows = Loop(n, on, x) <body = b (int64 i, bool c, float[A] h) => (bool d, float[B] more, float[B] row) {
        d = Identity(c)
        more = Concat <axis = 0>(h, x)
        row = Identity(more)
      }>
    }"""
)
RETYPED = parse(
    """g (int64 n, float[1] x) => (float[1] y) {
      on = Constant <value = bool {1}>()
      first, y = Loop(n, on, x, x) <body = b (int64 i, bool c, float[1] g, float[1] h) => (bool d, float[1] k, int64[1] m) {
        d = Identity(c)
        k = Identity(g)
        m = Cast <to = 7>(h)
      }>
    }"""
)
MIXED = parse(
    """g (float[N] x) => (float[M,3] y) {
      where = NonZero(x)
      turned = Transpose(where)
      wide = Cast <to = 1>(turned)
      three = Constant <value = float[3] {1, 2, 3}>()
      two = Concat <axis = 1>(wide, wide)
      y = Add(two, three)
    }"""
)


def no_numbers(text: str) -> None:
    assert not re.search(r"(?<![\w\"])\?\d", text), text


def test_texts_name_sizes_after_values() -> None:
    session = scanloom.InferenceSession(FOUND)
    for text in (session.ir(), session.ir(False), session.plan(), session.passes(), session.explain()):
        no_numbers(text)
    assert "where.1" in session.ir(False)
    session.run(None, {"x": np.ones(3, np.float32)})
    no_numbers(session.explain())
    no_numbers(session.plan({"x": np.ones(3, np.float32)}))


def test_outputs_are_described_in_names() -> None:
    shapes = [end.shape for end in scanloom.InferenceSession(FOUND).get_outputs()]
    assert shapes[0] == [1, "M"]
    for size in shapes[1]:
        assert size is None or not re.search(r"\?\d", str(size))


@pytest.mark.parametrize("optimize", [True, False])
def test_errors_name_sizes_after_values(optimize: bool) -> None:
    with pytest.raises(scanloom.InvalidModel, match=r"(where|turned|wide|two)\.\d") as caught:
        scanloom.InferenceSession(MIXED, optimize=optimize)
    no_numbers(str(caught.value))
    report = scanloom.check(MIXED)
    no_numbers("\n".join(map(str, report.errors)))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_rows_that_change_name_the_output(execution: str) -> None:
    session = scanloom.InferenceSession(GROWING, threads=1, execution=execution)
    with pytest.raises(scanloom.InvalidArgument, match=r"output 'rows' has a row of sizes \[3\] in step 1, but \[2\] in step 0"):
        session.run(None, {"n": np.int64(3), "x": np.ones(1, np.float32)})


def test_states_are_called_by_their_names() -> None:
    with pytest.raises(scanloom.InvalidModel, match="state 'h' is float before the first step, but the body makes it int64"):
        scanloom.InferenceSession(RETYPED)


def test_explain_tells_what_ran() -> None:
    session = scanloom.InferenceSession(SUM, threads=1)
    assert "ran" not in session.explain()
    x, h0 = np.ones((5, 2), np.float32), np.zeros(2, np.float32)
    session.run(None, {"x": x, "h0": h0})
    session.run(None, {"x": x, "h0": h0})
    session.run(None, {"x": x[:3], "h0": h0})
    text = session.explain()
    assert "ran 2 times with x [5,2], h0 [2]: h [2], y [5,2], in 5 steps" in text
    assert "ran once with x [3,2], h0 [2]: h [2], y [3,2], in 3 steps" in text
    assert "stacked   output 'y' along axis 0" in text


def test_explain_tells_sizes_that_data_decided() -> None:
    session = scanloom.InferenceSession(FOUND)
    session.run(None, {"x": np.array([1, 0, 2, 3], np.float32)})
    assert "ran once with x [4]: where [1,3], twice [6]" in session.explain()
