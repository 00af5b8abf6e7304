"""Operands that say axes, sizes and counts, fed or computed when running instead of constant."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import onnx.parser
import pytest

import scanloom

OPSET = 21
EXECUTIONS = ("automatic", "interpreted")
X = (np.arange(24) % 7 - 2.5).astype(np.float32).reshape(2, 3, 4)
ONES = X.reshape(2, 1, 12, 1)


def i64(*values):
    return np.array(values, np.int64)


# operator, attributes, operands, results: every integer operand is fed.
CASES = {
    "squeeze": ("Squeeze", {}, [ONES, i64(1)], [ONES[:, 0]]),
    "squeeze_two": ("Squeeze", {}, [ONES, i64(-1, 1)], [ONES[:, 0, :, 0]]),
    "squeeze_none": ("Squeeze", {}, [ONES, i64()], [ONES]),
    "squeeze_to_scalar": ("Squeeze", {}, [ONES[:1, 0, :1, 0], i64(0, 1)], [ONES[0, 0, 0, 0]]),
    "unsqueeze": ("Unsqueeze", {}, [X, i64(1)], [X[:, None]]),
    "unsqueeze_two": ("Unsqueeze", {}, [X, i64(-1, 0)], [X[None, ..., None]]),
    "unsqueeze_scalar": ("Unsqueeze", {}, [X[0, 0, 0], i64(0)], [X[0, 0, :1]]),
    "sum": ("ReduceSum", {}, [X, i64(1)], [X.sum(1, keepdims=True)]),
    "sum_two": ("ReduceSum", {"keepdims": 0}, [X, i64(-1, 0)], [X.sum((0, 2))]),
    "sum_all": ("ReduceSum", {"keepdims": 0}, [X, i64(1, 0, 2)], [X.sum()]),
    "sum_empty": ("ReduceSum", {}, [X, i64()], [X.sum(keepdims=True)]),
    "sum_empty_flat": ("ReduceSum", {"keepdims": 0}, [X, i64()], [X.sum()]),
    "sum_noop": ("ReduceSum", {"noop_with_empty_axes": 1}, [X, i64()], [X]),
    "max": ("ReduceMax", {"keepdims": 0}, [X, i64(2)], [X.max(2)]),
    "mean": ("ReduceMean", {}, [X, i64(0, 1)], [X.mean((0, 1), keepdims=True)]),
    "topk": (
        "TopK",
        {},
        [np.sort(X.reshape(-1))[::3].copy(), i64(2)],
        [np.sort(X.reshape(-1))[::3][:-3:-1], i64(7, 6)],
    ),
    "split": ("Split", {"axis": 2}, [X, i64(1, 3)], [X[..., :1], X[..., 1:]]),
    "pad": ("Pad", {}, [X, i64(0, 0, 1, 1, 0, 0)], [np.pad(X, ((0, 1), (0, 0), (1, 0)))]),
    "pad_axes": (
        "Pad",
        {"mode": "edge"},
        [X, i64(2, 1), None, i64(-1)],
        [np.pad(X, ((0, 0), (0, 0), (2, 1)), "edge")],
    ),
    "clip": ("Clip", {}, [X, np.float32(-1), np.float32(1)], [X.clip(-1, 1)]),
    "cumsum": ("CumSum", {}, [X, np.int64(-2)], [X.cumsum(1)]),
    "tile": ("Tile", {}, [X, i64(1, 2, 1)], [np.tile(X, (1, 2, 1))]),
    "expand": ("Expand", {}, [X[:, :1], i64(3, 1)], [np.broadcast_to(X[:, :1], (2, 3, 4))]),
    "reshape": ("Reshape", {}, [X, i64(0, -1)], [X.reshape(2, 12)]),
    "slice": (
        "Slice",
        {},
        [X, i64(2, 0), i64(-9, 2), i64(1, 2), i64(-1, 1)],
        [X[:, 2::-1, :2]],
    ),
    "filled": ("ConstantOfShape", {}, [i64(2, 3)], [np.zeros((2, 3), np.float32)]),
    "range": ("Range", {}, [np.int64(3), np.int64(9), np.int64(2)], [i64(3, 5, 7)]),
    "trilu": ("Trilu", {}, [X, np.int64(1)], [np.triu(X, 1)]),
}


def typed(name, array, shaped=True):
    kind = oh.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
    return oh.make_tensor_value_info(name, kind, np.shape(array) if shaped else None)


def names_of(case):
    return [f"x{i}" if operand is not None else "" for i, operand in enumerate(case[2])]


def feeds_of(case):
    return {f"x{i}": np.asarray(a) for i, a in enumerate(case[2]) if a is not None}


def make(nodes, case, extra=(), shaped=True):
    op, attributes, operands, results = case
    inputs = [typed(f"x{i}", a, shaped) for i, a in enumerate(operands) if a is not None]
    outputs = [typed(f"y{i}", a, False) for i, a in enumerate(results)]
    graph = oh.make_graph(nodes, "g", [*inputs, *extra], outputs)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", OPSET)], ir_version=10)
    return model.SerializeToString()


def node_of(case, names, outputs):
    return oh.make_node(case[0], names, outputs, name="n", **case[1])


def fed(case, shaped=True):
    return make([node_of(case, names_of(case), outputs_of(case))], case, shaped=shaped)


def outputs_of(case):
    return [f"y{i}" for i in range(len(case[3]))]


def branched(case):
    """Inside a branch, whose operands are the outer ones."""
    outputs = outputs_of(case)
    results = [typed(name, array, False) for name, array in zip(outputs, case[3])]
    same = oh.make_graph([node_of(case, names_of(case), outputs)], "yes", [], results)
    other = oh.make_graph(
        [node_of(case, names_of(case), [f"z{i}" for i in range(len(outputs))])],
        "no",
        [],
        [typed(f"z{i}", array, False) for i, array in enumerate(case[3])],
    )
    node = oh.make_node("If", ["flag"], outputs, then_branch=same, else_branch=other)
    return make([node], case, [typed("flag", np.array(True))])


def check(session, case, feeds):
    results = session.run(None, feeds)
    for result, wanted in zip(results, case[3], strict=True):
        wanted = np.asarray(wanted)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fed(case, execution):
    session = scanloom.InferenceSession(fed(case), execution=execution)
    for _ in range(2):
        check(session, case, feeds_of(case))


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fed_without_declared_shapes(case, execution):
    check(
        scanloom.InferenceSession(fed(case, shaped=False), execution=execution),
        case,
        feeds_of(case),
    )


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_in_a_branch(case, flag, execution):
    session = scanloom.InferenceSession(branched(case), execution=execution)
    check(session, case, {**feeds_of(case), "flag": np.array(flag)})


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_axes_that_change_from_step_to_step(execution):
    """The sum over axis i in step i, padded to one size by a sum over all of it."""
    parsed = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {OPSET}]>
        g (float[3,3] x, int64 n) => (float[K,3] rows, float[K] totals) {{
          rows, totals = Loop <body = step (int64 i, bool c) =>
              (bool d, float[3] row, float total) {{
            d = Identity(c)
            zero = Constant <value = int64[1] {{0}}> ()
            axis = Reshape(i, one)
            row = ReduceSum <keepdims = 0> (x, axis)
            high = Unsqueeze(row, axis)
            flat = Squeeze(high, axis)
            total = ReduceMax <keepdims = 0> (flat, zero)
          }}> (n, )
          one = Constant <value = int64[1] {{1}}> ()
        }}"""
    )
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    session = scanloom.InferenceSession(parsed.SerializeToString(), execution=execution)
    for steps in (2, 1, 0, 2):
        rows, totals = session.run(None, {"x": x, "n": np.array(steps, np.int64)})
        # After no steps nothing has said which axis is left, so that its size is 0.
        wanted = np.array([x.sum(i) for i in range(steps)], np.float32).reshape(steps, steps and 3)
        np.testing.assert_array_equal(rows, wanted)
        np.testing.assert_array_equal(totals, wanted.max(1) if steps else np.zeros(0))


REFUSED = {
    "squeeze_outside": ("Squeeze", {}, [ONES, i64(4)], "axis 4 is outside [-4, 4)"),
    "squeeze_not_one": ("Squeeze", {}, [ONES, i64(0)], "axis 0 has size 2, not 1"),
    "squeeze_to_scalar": ("Squeeze", {}, [ONES[0, 0, 0], i64(3)], "axis 3 is outside [-1, 1)"),
    "unsqueeze_twice": ("Unsqueeze", {}, [X, i64(0, -5)], "axis 0 is named twice"),
    "unsqueeze_scalar": ("Unsqueeze", {}, [X[0, 0, 0], i64(1)], "axis 1 is outside [-1, 1)"),
    "sum_outside": ("ReduceSum", {}, [X, i64(-4)], "axis -4 is outside [-3, 3)"),
    "sum_all_outside": (
        "ReduceSum", {"keepdims": 0}, [X[0, 0], i64(1)], "axis 1 is outside [-1, 1)"
    ),
    "topk_too_many": ("TopK", {}, [X, i64(5)], "k is 5, but the axis has 4 elements"),
    "split_sum": ("Split", {}, [X, i64(3)], "the parts have 3 elements, but the axis has 2"),
}


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_when_running(case, execution):
    op, attributes, operands, part = case
    outputs = [X, i64(1)] if op == "TopK" else [X]
    model = fed((op, attributes, operands, outputs))
    session = scanloom.InferenceSession(model, execution=execution)
    with pytest.raises(scanloom.Error) as caught:
        session.run(None, feeds_of((op, attributes, operands, outputs)))
    assert part in str(caught.value) and "node 'n'" in str(caught.value)
