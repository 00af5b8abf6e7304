"""Models that call sizes of different inputs by one name, and feeds that contradict it."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import scanloom
from loop_models import parse

EXECUTIONS = ("automatic", "stepped", "compiled", "interpreted")

# What each input is read by has no need of the other's size.
APART = parse(
    """g (float[N] x, float[N] y) => (float[N] z, float s, int64 n) {
      z = Concat <axis = 0>(x, y)
      s = ReduceSum <keepdims = 0>(y)
      n = Size(x)
    }"""
)

# Folds to a constant where N is one size.
COMPARED = parse(
    """g (float[N] x, float[N] y) => (bool[1] same, int64[1] rest) {
      a = Shape(x)
      b = Shape(y)
      same = Equal(a, b)
      rest = Sub(a, b)
    }"""
)

# Walks along one input and sums up the other.
LOOP = parse(
    """g (float[N,3] x, float[N] y) => (float[3] h, float[N,3] rows) {
      start = Constant <value = float[3] {0, 0, 0}>()
      bias = ReduceSum <keepdims = 0>(y)
      h, rows = Scan <num_scan_inputs = 1, body = step (float[3] a, float[3] b) => (float[3] c, float[3] d) {
        t = Add(a, b)
        c = Add(t, bias)
        d = Identity(c)
      }>(start, x)
    }"""
)

STREAMED = parse(
    """g (float[T,N] x, float[N] h0, float[N] y) => (float[N] h, float[T,N] rows) {
      bias = ReduceSum <keepdims = 0>(y)
      h, rows = Scan <num_scan_inputs = 1, body = step (float[N] a, float[N] b) => (float[N] c, float[N] d) {
        t = Add(b, bias)
        c = Add(a, t)
        d = Identity(c)
      }>(h0, x)
    }"""
)
ADDED = parse("g (float[N,3] x, float[N,3] y) => (float[N,3] z) { z = Add(x, y) }")
SQUARE = parse("g (float[N,N] x) => (float[M] z) { one = Constant <value_ints = [1]>() z = ReduceSum <keepdims = 0>(x, one) }")


def session_of(model: bytes, execution: str, **options: object) -> scanloom.InferenceSession:
    return scanloom.InferenceSession(model, threads=1, execution=execution, **options)


def numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32) - 1.5


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_sizes_are_those_of_the_feeds(execution: str, optimize: bool) -> None:
    session = session_of(APART, execution, optimize=optimize)
    for a, b in ((2, 2), (2, 3), (3, 2), (2, 2), (0, 4)):
        x, y = numbers(a), numbers(b)
        z, s, n = session.run(None, {"x": x, "y": y})
        np.testing.assert_array_equal(z, np.concatenate([x, y]))
        assert (s, n) == (y.sum(), a)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_nothing_that_was_folded_is_believed(execution: str, optimize: bool) -> None:
    session = session_of(COMPARED, execution, optimize=optimize)
    for a, b in ((4, 4), (4, 7), (7, 4), (4, 4)):
        same, rest = session.run(None, {"x": numbers(a), "y": numbers(b)})
        assert (same.tolist(), rest.tolist()) == ([a == b], [a - b])


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_loop_takes_the_steps_of_what_it_walks_along(execution: str) -> None:
    session = session_of(LOOP, execution)
    for steps, others in ((5, 5), (5, 2), (2, 5)):
        x, y = numbers(steps * 3).reshape(steps, 3), numbers(others)
        h, rows = session.run(None, {"x": x, "y": y})
        want = np.cumsum(x + y.sum(), axis=0, dtype=np.float32)
        np.testing.assert_allclose(rows, want, rtol=1e-5)
        np.testing.assert_array_equal(h, rows[-1])


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_operators_say_what_they_need(execution: str) -> None:
    session = session_of(ADDED, execution)
    x = numbers(6).reshape(2, 3)
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": x[:1]})[0], x + x[:1])
    with pytest.raises(scanloom.Error, match="2.*4|4.*2"):
        session.run(None, {"x": x, "y": numbers(12).reshape(4, 3)})


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_axes_of_one_input_may_contradict_each_other(execution: str) -> None:
    x = numbers(6).reshape(2, 3)
    session = session_of(SQUARE, execution)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x.sum(1))
    assert "'N'" in session.warnings()[0]


def test_each_name_is_warned_of_once() -> None:
    session = session_of(APART, "automatic")
    session.run(None, {"x": numbers(3), "y": numbers(3)})
    assert session.warnings() == []
    for b in (4, 5):
        session.run(None, {"x": numbers(3), "y": numbers(b)})
    assert len(session.warnings()) == 1
    for words in ("'N'", "'x' has 3", "'y' has 4", "strict"):
        assert words in session.warnings()[0]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_strict_refuses(execution: str) -> None:
    session = session_of(APART, execution, strict=True)
    assert session.run(None, {"x": numbers(2), "y": numbers(2)})[2] == 2
    with pytest.raises(scanloom.InvalidArgument, match="input 'y' has 3 for 'N' on axis 0, but input 'x' has 2"):
        session.run(None, {"x": numbers(2), "y": numbers(3)})


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_wrong_number_is_refused_with_both_sizes(execution: str) -> None:
    session = session_of(ADDED, execution)
    with pytest.raises(scanloom.InvalidArgument, match="input 'y' has size 3 on axis 1, but the feed has 5"):
        session.run(None, {"x": numbers(6).reshape(2, 3), "y": numbers(10).reshape(2, 5)})
    with pytest.raises(scanloom.InvalidArgument, match="input 'x' has rank 2, but the feed has rank 1"):
        session.run(None, {"x": numbers(3), "y": numbers(6).reshape(2, 3)})


@pytest.mark.parametrize("name", ["?", "", "-1", "??"])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_what_names_no_size_is_no_name(execution: str, name: str) -> None:
    import onnx
    from onnx import TensorProto, helper

    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, [name]) for end in "xyz"]
    graph = helper.make_graph([helper.make_node("Concat", ["x", "y"], ["z"], axis=0)], "g", ends[:2], ends[2:])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])
    session = session_of(model.SerializeToString(), execution, strict=True)
    assert session.get_inputs()[0].shape == [None]
    z = session.run(None, {"x": numbers(2), "y": numbers(3)})[0]
    np.testing.assert_array_equal(z, np.concatenate([numbers(2), numbers(3)]))
    assert session.warnings() == []
    assert onnx.IR_VERSION >= 8


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("before", [0, 2])
def test_streams_take_them_from_any_push_on(execution: str, before: int) -> None:
    x, h0, late = numbers(15).reshape(5, 3), numbers(3), numbers(2)
    stream = session_of(STREAMED, execution).stream()
    first = {"h0": h0}
    rows, want, state = [], [], h0
    for step in range(5):
        y = numbers(3) if step < before else late
        rows.append(stream.push({"x": x[step : step + 1], "y": y, **first}, ["rows"])[0])
        state = state + (x[step] + y.sum())
        want.append(state)
        first = {}
    np.testing.assert_allclose(np.concatenate(rows), np.stack(want), rtol=1e-5)
    again = copy.deepcopy(stream)
    np.testing.assert_array_equal(
        again.push({"x": x[:1], "y": late}, ["rows"])[0], stream.push({"x": x[:1], "y": late}, ["rows"])[0]
    )
    stream.reset()
    np.testing.assert_array_equal(
        stream.push({"x": x[:1], "y": numbers(3), "h0": h0}, ["rows"])[0], h0 + (x[:1] + numbers(3).sum())
    )


def test_what_the_model_calls_steps_is_not_fed_in_pieces() -> None:
    """y has as many elements as there are steps, by its name: sums of its pieces would be wrong."""
    with pytest.raises(scanloom.Unsupported, match="across the steps"):
        session_of(LOOP, "automatic").stream()


def test_strict_streams_refuse_them() -> None:
    stream = session_of(STREAMED, "automatic", strict=True).stream()
    with pytest.raises(scanloom.InvalidArgument, match="'N'"):
        stream.push({"x": numbers(3).reshape(1, 3), "h0": numbers(3), "y": numbers(2)})


def test_named_states_of_a_contradicted_size_want_a_value() -> None:
    model = parse(
        """g (float[N] x, float[N] y, float[N] h) => (float[N] s, float[N] next) {
          s = ReduceSum <keepdims = 1>(x)
          t = ReduceSum <keepdims = 1>(y)
          u = Add(s, t)
          next = Add(h, u)
        }"""
    )
    stream = scanloom.InferenceSession(model, states={"h": "next"}).stream()
    with pytest.raises(scanloom.InvalidArgument, match="'h'.*'N'.*2 in one feed and 3"):
        stream.push({"x": numbers(2), "y": numbers(3)})
    stream.set("h", np.zeros(4, np.float32))
    x, y = numbers(2), numbers(3)
    stream.push({"x": x, "y": y})
    np.testing.assert_array_equal(stream.get("h"), np.full(4, x.sum() + y.sum(), np.float32))


def test_random_numbers_go_on_from_run_to_run() -> None:
    model = parse(
        """g (float[N] x, float[N] y) => (float[2] r, float[M] z) {
          r = RandomUniform <shape = [2]>()
          z = Concat <axis = 0>(x, y)
        }"""
    )
    feeds = [{"x": numbers(2), "y": numbers(b)} for b in (2, 3, 2, 3)]
    session = scanloom.InferenceSession(model, seed=7)
    drawn = [session.run(["r"], each)[0].tolist() for each in feeds]
    assert len({tuple(each) for each in drawn}) == 4
    again = scanloom.InferenceSession(model, seed=7)
    assert [again.run(["r"], feeds[0])[0].tolist() for _ in feeds] == drawn


def test_explain_tells_of_both() -> None:
    session = session_of(LOOP, "automatic")
    session.run(None, {"x": numbers(6).reshape(2, 3), "y": numbers(2)})
    assert "where input sizes that share a name" not in session.explain()
    session.run(None, {"x": numbers(6).reshape(2, 3), "y": numbers(5)})
    assert "where input sizes that share a name" in session.explain()
    assert "loop" in session.plan({"x": numbers(6).reshape(2, 3), "y": numbers(5)})


def test_no_python_warning_is_raised_by_feeds() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session_of(APART, "automatic").run(None, {"x": numbers(2), "y": numbers(3)})


SCALAR = parse("g (float x, float[1] y, int64 n) => (float z, float[1] w) { z = Neg(x) w = Abs(y) k = Identity(n) }")


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_one_element_is_a_scalar(execution: str) -> None:
    session = session_of(SCALAR, execution)
    one = np.array([-2.0], np.float32)
    for x in (one, one[0], one.reshape(1, 1), [-2.0]):
        for y in (one, np.float32(-2), -2.0):
            z, w = session.run(None, {"x": x, "y": y, "n": [3]})
            assert (z.shape, w.shape) == ((), (1,))
            assert (float(z), float(w[0])) == (2.0, 2.0)
    for x in (np.ones(2, np.float32), np.ones(0, np.float32), np.ones((1, 2), np.float32)):
        with pytest.raises(scanloom.InvalidArgument, match="'x' has rank 0"):
            session.run(None, {"x": x, "y": one, "n": 3})
    with pytest.raises(scanloom.InvalidArgument, match="'y' has rank 1"):
        session.run(None, {"x": one, "y": one.reshape(1, 1), "n": 3})


def test_one_element_may_be_the_number_of_steps() -> None:
    model = parse(
        """g (int64 n, float[N] x) => (float[N] y) {
          on = Constant <value = bool {1}>()
          y = Loop(n, on, x) <body = b (int64 i, bool c, float[N] s) => (bool d, float[N] t) {
            d = Identity(c)
            t = Add(s, s)
          }>
        }"""
    )
    for execution in EXECUTIONS:
        session = session_of(model, execution)
        np.testing.assert_array_equal(session.run(None, {"n": [4], "x": numbers(3)})[0], 16 * numbers(3))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_items_of_lists_name_both_sizes(execution: str) -> None:
    model = parse("g (seq(float[N,3]) x) => (int64 n) { n = SequenceLength(x) }")
    session = session_of(model, execution)
    assert session.run(None, {"x": [np.ones((2, 3), np.float32), np.ones((5, 3), np.float32)]})[0] == 2
    with pytest.raises(scanloom.InvalidArgument, match=r"item 1 of .*\[2,4\].*\[\?,3\]"):
        session.run(None, {"x": [np.ones((2, 3), np.float32), np.ones((2, 4), np.float32)]})
