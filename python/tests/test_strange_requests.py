"""Wrong feeds and requests: each gives one of the package's errors, whoever asks and however."""

import os
import threading

import numpy as np
import pytest
import scanloom
from loop_models import SUM, parse

NO_TEXT = "\ud800"  # half of a pair: there is no UTF-8 of it

TEXTS = parse("g (string[N] a) => (string[N] b) { b = Identity(a) }")
SIZED = parse(
    """g (seq(float[K]) s, float[N] x) => (seq(float[K]) t, float[N] y) {
      t = Identity(s)
      y = Identity(x)
    }"""
)


@pytest.fixture(scope="module")
def sums():
    return scanloom.InferenceSession(SUM)


@pytest.fixture
def feeds():
    return {"x": np.ones((4, 3), np.float32), "h0": np.ones(3, np.float32)}


@pytest.mark.parametrize("value", [np.datetime64("now"), np.timedelta64(1, "s")])
def test_scalars_of_time_are_refused(sums, feeds, value):
    with pytest.raises(scanloom.InvalidArgument, match="'x'.*(datetime64|timedelta64)"):
        sums.run(None, {**feeds, "x": value})
    with pytest.raises(scanloom.InvalidArgument, match="h0.*(datetime64|timedelta64)"):
        sums.stream(states={"h0": "h"}).set("h0", value)


def test_bytes_are_read_as_their_numbers():
    session = scanloom.InferenceSession(parse("g (uint8[N] x) => (uint8[N] y) { y = Identity(x) }"))
    for value in (b"\x01\x02", bytearray(b"\x01\x02"), memoryview(b"\x01\x02")):
        assert session.run(None, {"x": value})[0].tolist() == [1, 2]


def answer_of(session, feeds, options=None):
    """What run_async hands over."""
    answers, done = [], threading.Event()

    def callback(*answer):
        answers.append(answer)
        done.set()

    session.run_async(None, feeds, callback, "mine", options)
    assert done.wait(20)
    return answers[0]


DEFAULTS = parse(
    """g (float[2] x, float[2] w = {1, 2}, float[2] h) => (float[2] y, float[2] k) {
      y = Add(x, w)
      k = Add(h, y)
    }"""
)


# The first item of a sequence, n times.
REPEATED = """g (seq(string[K]) q, int64 n) => (seq(string[K]) t) {
  none = SequenceEmpty <dtype = 8> ()
  zero = Constant <value = int64 {0}> ()
  s = SequenceAt(q, zero)
  t = Loop <body = step (int64 i, bool c, seq(string[K]) a) => (bool c2, seq(string[K]) b) {
      c2 = Identity(c)
      b = SequenceInsert(a, s)
    }> (n, , none)
}"""
CONSTANTS = parse(
    """g (float x) => (float[?] a, float[?] b, float[?] c) {
      size = Constant <value_ints = [1000000]> ()
      ones = ConstantOfShape <value = float[1] {1}> (size)
      a = Identity(ones)
      b = Identity(ones)
      c = Identity(ones)
    }"""
)


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_the_memory_budget_counts_what_python_gets(execution):
    budget = scanloom.RunOptions(max_memory=8 << 20)
    texts = scanloom.InferenceSession(parse(REPEATED), execution=execution)
    (items,) = texts.run(None, {"q": [["x" * 1000000]], "n": np.int64(200)}, budget)
    assert len(items) == 200
    assert len({id(item[0]) for item in items}) == 1  # the text itself is one
    short = [np.array(["ab"] * 100000)]
    with pytest.raises(scanloom.LimitReached, match="in Python.*memory budget of 8388608 bytes"):
        texts.run(None, {"q": short, "n": np.int64(200)}, budget)
    (items,) = texts.run(None, {"q": short, "n": np.int64(2)})
    items[0][0] = "other"
    assert items[1][0] == "ab"


def test_the_memory_budget_counts_copies_of_one_constant():
    session = scanloom.InferenceSession(CONSTANTS)
    a, b, c = session.run(None, {"x": np.float32(0)})
    a[0], b[0] = 2, 3
    assert [a[0], b[0], c[0]] == [2, 3, 1]
    with pytest.raises(scanloom.LimitReached, match="memory budget"):
        session.run(None, {"x": np.float32(0)}, scanloom.RunOptions(max_memory=10 << 20))
    session.run(None, {"x": np.float32(0)}, scanloom.RunOptions(max_memory=13 << 20))


def test_items_of_results_share_no_memory():
    split = parse("g (float[N,2] x) => (seq(float[1,2]) s) { s = SplitToSequence(x) }")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    (items,) = scanloom.InferenceSession(split).run(None, {"x": x})
    for item in items:
        item += 1
    assert [item.tolist() for item in items] == [[[1, 2]], [[3, 4]], [[5, 6]]]
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]]
