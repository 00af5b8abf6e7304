"""Many sequences: order, bits as alone, resets, lengths, and what is reported."""

from __future__ import annotations

import itertools
import pathlib
import threading
from typing import Any, Union

import batch_models
import numpy as np
import onnx
import pytest
from batch_models import BatchModel
from loop_models import parse
from many_runs import LENGTHS, expect_all_same, expect_same, report_of, sequences
from onnx import TensorProto, helper

import scanloom
from scanloom import InferenceSession, ManyReport


def expect_lanes(session: InferenceSession, model: BatchModel) -> ManyReport:
    """All sequences that have steps run in lanes, with the bits of single runs."""
    given = sequences(model)
    alone = [session.run(None, feeds) for feeds in given]
    for batch in (1, 2, 5, 64):
        expect_all_same(session.run_many(None, given, batch=batch), alone)
    report = report_of(session, given)
    assert (report.way, report.reason, report.node) == ("lanes", "", "")
    assert report.sequences == len(given) and report.steps == sum(LENGTHS)
    assert report.alone == 2 and report.why_alone == "it has no steps"
    return report


@pytest.mark.parametrize("model", batch_models.in_lanes(), ids=lambda model: model.name)
def test_lanes_give_the_bits_of_single_runs(model: BatchModel) -> None:
    session = InferenceSession(model.model)
    report = expect_lanes(session, model)
    assert 0.5 < report.filled <= 1


@pytest.mark.parametrize("execution", ["interpreted", "stepped", "compiled"])
def test_every_execution_gives_the_bits_of_single_runs(execution: str) -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model, execution=execution)
    given = sequences(model)
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])


SUMS_OF_PRODUCTS = """agraph (float[T,1,8] x) => (float[8,8] last) <int64[2] sizes = {8, 8}> {
    start = ConstantOfShape (sizes)
    last = Scan <num_scan_inputs: int = 1, body: graph = step (float[8,8] s, float[1,8] a)
        => (float[8,8] n) {
        t = Transpose <perm = [1, 0]> (a)
        o = MatMul (t, a)
        n = Add (s, o)
    }> (start, x)
}"""


def test_sums_that_passes_take_at_once_have_the_bits_of_single_runs() -> None:
    model = parse(SUMS_OF_PRODUCTS)
    random = np.random.default_rng(0)
    lengths = random.integers(1, 1000, 40)
    given = [{"x": random.standard_normal((n, 1, 8)).astype(np.float32)} for n in lengths]
    session = InferenceSession(model, threads=2)
    alone = [session.run(None, feeds) for feeds in given]
    for batch in (0, 1, 8):
        expect_all_same(session.run_many(None, given, batch=batch), alone)
    report = report_of(session, given)
    assert report.way == "one by one" and "accumulate_as_product" in report.reason

    in_order = InferenceSession(model, disabled_passes=["accumulate_as_product"])
    alone = [in_order.run(None, feeds) for feeds in given]
    expect_all_same(in_order.run_many(None, given), alone)
    assert report_of(in_order, given).way == "lanes"


def test_functions_that_sum_products_have_the_bits_of_calls() -> None:
    x = scanloom.tensor.fmatrix("x")
    total, _ = scanloom.scan(
        lambda row, sums: sums + scanloom.tensor.outer(row, row),
        sequences=x,
        outputs_info=scanloom.tensor.zeros((8, 8), "float32"),
    )
    random = np.random.default_rng(1)
    given = [(random.standard_normal((n, 8)).astype(np.float32),) for n in (700, 30, 64, 501)]
    call = scanloom.function([x], total[-1])
    alone = [call(*each) for each in given]
    for got, wanted in zip(call.run_many(given), alone):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("model", batch_models.in_added_lanes(), ids=lambda model: model.name)
def test_lanes_are_added_where_rows_cannot_be_lanes(model: BatchModel) -> None:
    session = InferenceSession(model.model)
    expect_lanes(session, model)
    assert session.explain().endswith("sequences run in lanes\n")


@pytest.mark.parametrize("execution", ["interpreted", "stepped", "compiled"])
def test_every_execution_gives_the_bits_of_single_runs_in_added_lanes(execution: str) -> None:
    model = batch_models.without_batch(
        "vectors", batch_models.VECTOR_CELL, batch_models.CELL_CONSTANTS
    )
    session = InferenceSession(model.model, execution=execution)
    given = sequences(model)
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])


def test_shared_feeds_of_added_lanes() -> None:
    model = batch_models.without_batch(
        "vectors", batch_models.VECTOR_CELL, batch_models.CELL_CONSTANTS
    )
    session = InferenceSession(model.model)
    context = batch_models.numbers(99, batch_models.WIDTH)
    given = [{name: feeds[name] for name in ("X", "H")} for feeds in sequences(model)]
    alone = [session.run(None, {**feeds, "c": context}) for feeds in given]
    expect_all_same(session.run_many(None, given, shared={"c": context}), alone)
    others = [{**feeds, "c": context + i} for i, feeds in enumerate(given)]
    expect_all_same(session.run_many(None, others), [session.run(None, one) for one in others])


def test_a_node_without_lanes_runs_one_by_one_and_is_named() -> None:
    model = batch_models.counting()
    session = InferenceSession(model.model)
    given = sequences(model)
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    report = report_of(session, given)
    assert report.way == "one by one" and "NonZero" in report.node
    assert report.runs == 0 and report.filled == 1 and report.alone == 0
    assert str(report).endswith(f"one by one: {report.node}: {report.reason}")


def test_a_model_that_no_stream_can_take_runs_in_padded_batches() -> None:
    model = batch_models.layer("LSTM", fed=False, direction="bidirectional")
    session = InferenceSession(model.model)
    given = sequences(model)
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    report = report_of(session, given)
    assert report.way == "padded batches" and "it walks backwards" in report.reason


def test_the_iterator_is_lazy_and_takes_endless_sequences() -> None:
    model = batch_models.smoother()
    session = InferenceSession(model.model)
    asked = 0

    def endless() -> Any:
        nonlocal asked
        for i in itertools.count():
            asked += 1
            yield model.feeds(i % 9, i)

    results = session.iter_many(["rows"], endless(), window=10)
    assert asked == 0
    for i, (rows,) in zip(range(25), results):
        expect_same([rows], session.run(["rows"], model.feeds(i % 9, i)))
    assert asked == 30
    results.close()
    assert list(results) == []


def test_the_way_is_not_told_before_it_is_known() -> None:
    body = "g (float[T, N, 2] x) => (float[?, ?, ?] y) { c = Constant <value = int64[1] {0}> () y = ReduceSum(x, c) }"
    one_by_one = InferenceSession(parse(body))
    lanes = InferenceSession(batch_models.cell().model)
    function = scanloom.function([v := scanloom.tensor.fmatrix("v")], v + v)
    assert lanes.iter_many(None, []).report.way == "lanes"
    assert one_by_one.iter_many(None, []).report.way == "one by one"
    iterator = function.iter_many([(np.ones((3, 2), np.float32),)])
    assert iterator.report.way is None and iterator.report.steps is None
    assert str(iterator.report).startswith("0 sequences in ")
    next(iterator)
    assert iterator.report.way is not None


def test_a_node_of_a_function_is_named_by_what_it_reads() -> None:
    tensor = scanloom.tensor
    x = tensor.fmatrix("x")
    levels, _ = scanloom.scan(
        lambda now, level: level + now, sequences=x[1:], outputs_info=tensor.zeros_like(x[0])
    )
    iterator = scanloom.function([x], levels).iter_many([(np.ones((3, 2), np.float32),)])
    next(iterator)
    assert (iterator.report.way, iterator.report.node) == ("one by one", "a slice node that depends on 'x'")


def scan_of_batch(steps: str = "T", lengths: str = "", batch: Union[int, str] = "N") -> bytes:
    """Scan of operator set 8, which has the batch before the steps."""
    numbers = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["h", "v"], ["g"]), helper.make_node("Identity", ["g"], ["w"])],
        "step",
        [numbers("h", TensorProto.FLOAT, [4]), numbers("v", TensorProto.FLOAT, [4])],
        [numbers("g", TensorProto.FLOAT, [4]), numbers("w", TensorProto.FLOAT, [4])],
    )
    node = helper.make_node("Scan", [lengths, "h0", "x"], ["hn", "y"], "cell", body=body, num_scan_inputs=1)
    inputs = [numbers("h0", TensorProto.FLOAT, [batch, 4]), numbers("x", TensorProto.FLOAT, [batch, steps, 4])]
    outputs = [numbers("hn", TensorProto.FLOAT, [batch, 4]), numbers("y", TensorProto.FLOAT, [batch, steps, 4])]
    if lengths:
        inputs.append(numbers(lengths, TensorProto.INT64, [batch]))
    graph = helper.make_graph([node], "g", inputs, outputs)
    opset = [helper.make_opsetid("", 8)]
    return helper.make_model(graph, opset_imports=opset, ir_version=4).SerializeToString()


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_the_steps_of_a_scan_with_a_batch_are_those_of_its_sequences(execution: str) -> None:
    session = InferenceSession(scan_of_batch(), execution=execution)
    random = np.random.default_rng(0)
    given = [
        {
            "h0": random.standard_normal((1, 4)).astype(np.float32),
            "x": random.standard_normal((1, steps, 4)).astype(np.float32),
        }
        for steps in (3, 5, 1, 40)
    ]
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    report = report_of(session, given)
    assert (report.way, report.steps, report.alone) == ("lanes", 49, 0)
    resets = [np.arange(len(one["x"][0])) == 2 for one in given]
    found = session.run_many(None, given, reset=resets)
    parts = [session.run(None, {**given[1], "x": part}) for part in np.split(given[1]["x"], [2], 1)]
    expect_same(found[1], [parts[1][0], np.concatenate([part[1] for part in parts], 1)])


@pytest.mark.parametrize("batch", [1, "N"])
def test_the_rows_of_a_scan_with_lengths_are_no_steps_of_sequences(batch: Union[int, str]) -> None:
    session = InferenceSession(scan_of_batch(lengths="length", batch=batch))
    random = np.random.default_rng(0)
    given = [
        {
            "h0": random.standard_normal((1, 4)).astype(np.float32),
            "x": random.standard_normal((1, steps, 4)).astype(np.float32),
            "length": np.array([length]),
        }
        for steps, length in ((7, 7), (5, 2), (1, 0), (40, 39))
    ]
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    report = report_of(session, given)
    assert (report.way, report.steps, report.node) == ("one by one", None, "node 'cell' (Scan-8)")
    assert report.steps_per_second is None
    assert report.reason == "it reads their number"
    assert "sequences run one by one: node 'cell' (Scan-8): it reads" in session.explain()
    flags = np.arange(7) == 3
    with pytest.raises(scanloom.Unsupported, match="cannot be reset: node 'cell'") as caught:
        session.run_many(None, given[:1], reset=[flags])
    assert caught.value.text.count("cell") == 1


def test_steps_that_carry_nothing_may_be_those_of_sequences() -> None:
    session = InferenceSession(
        parse(
            """g (float[T, N] x) => (int64[T] y) {
              y = Scan <num_scan_inputs = 1, body = step (float[N] row) => (int64 count) {
                found = NonZero(row)
                one = Constant <value = int64[1] {1}>()
                at = Constant <value = int64 {1}>()
                size = Shape(found)
                count = Gather(size, at)
              }> (x)
            }"""
        )
    )
    given = [{"x": np.eye(steps, 3, dtype=np.float32)} for steps in (2, 3, 5)]
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    assert report_of(session, given).steps == 10


def test_closing_ends_the_generator() -> None:
    model = batch_models.smoother()
    closed = []

    def given() -> Any:
        try:
            while True:
                yield model.feeds(3, 0)
        finally:
            closed.append(True)

    with_results = InferenceSession(model.model).iter_many(None, given(), window=2)
    next(with_results)
    with_results.close()
    assert closed == [True]


def test_no_sequences_and_named_outputs() -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    assert session.run_many(None, []) == []
    given = sequences(model)
    found = session.run_many(["rows", "last", "rows"], given)
    for one, feeds in zip(found, given):
        expect_same(one, session.run(["rows", "last", "rows"], feeds))
    with pytest.raises(scanloom.InvalidArgument, match="no output 'other'"):
        session.run_many(["other"], given)


@pytest.mark.parametrize(
    "model",
    [batch_models.layer("LSTM", fed=True), batch_models.cell(1), batch_models.mixing(),
     batch_models.counting(), batch_models.fixed_layer("GRU", 1), batch_models.with_dense("N"),
     batch_models.conditioned(), batch_models.smoother()],
    ids=lambda model: model.name,
)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_resets_give_the_bits_of_parts(model: BatchModel, batch: int) -> None:
    session = InferenceSession(model.model)
    given = sequences(model)
    random = np.random.default_rng(3)
    resets = [random.random(steps) < 0.2 for steps in LENGTHS]
    expected = [expected_with_resets(session, model, *pair) for pair in zip(given, resets)]
    expect_all_same(session.run_many(None, given, batch=batch, reset=resets), expected)
    named = [{**feeds, "done": flags} for feeds, flags in zip(given, resets)]
    expect_all_same(session.run_many(None, named, batch=batch, reset="done"), expected)


def expected_with_resets(
    session: InferenceSession, model: BatchModel, feeds: dict[str, Any], flags: np.ndarray
) -> list[np.ndarray]:
    """Runs the parts on their own and joins rows; other results are those of the last part."""
    cuts = [0, *(t for t in range(1, len(flags)) if flags[t]), len(flags)]
    parts = []
    for begin, end in zip(cuts, cuts[1:]):
        part = dict(feeds)
        for name, axis in model.steps.items():
            part[name] = np.ascontiguousarray(np.moveaxis(np.moveaxis(feeds[name], axis, 0)[begin:end], 0, axis))
        parts.append(session.run(None, part))
    axis = next(iter(model.steps.values()))
    joined = []
    for output, results in zip(session.get_outputs(), zip(*parts)):
        has_steps = output.name in ("rows", "Y")
        joined.append(np.concatenate(results, axis) if has_steps else results[-1])
    return joined


def test_shared_feeds_and_strided_arrays() -> None:
    model = batch_models.conditioned()
    session = InferenceSession(model.model)
    context = batch_models.numbers(99, 1, 2)
    given = [{"X": model.feeds(2 * steps, i)["X"][::2]} for i, steps in enumerate(LENGTHS)]
    alone = [session.run(None, {**feeds, "C": context}) for feeds in given]
    expect_all_same(session.run_many(None, given, shared={"C": context}), alone)


def test_progress_and_rates() -> None:
    model = batch_models.layer("GRU", fed=False)
    session = InferenceSession(model.model)
    seen: list[tuple[Any, ...]] = []
    given = sequences(model, [300] * 300)
    report = report_of(session, given, batch=2, progress=lambda *done: seen.append(done))
    assert report.sequences_per_second > 0
    assert report.steps_per_second is not None and report.steps_per_second > 0
    assert seen and all(total == 300 for _, total, _ in seen)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    for window in (0, 100, 7):  # the last call is at the end, once
        seen.clear()
        session.run_many(None, given, window=window, progress=lambda *done: seen.append(done))
        assert [done for done in seen if done[0] == 300] == [(300, 300, 300 * 300)]


def test_next_of_another_thread_leaves_the_iteration_as_it_was() -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    given = sequences(model, [3] * 20)
    errors: list[str] = []

    def from_another_thread() -> Any:
        for feeds in given:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            yield feeds

    def ask() -> None:
        try:
            next(results)
        except scanloom.InvalidArgument as error:
            errors.append(error.text)

    results = session.iter_many(None, from_another_thread(), window=1)
    expect_all_same(list(results), [session.run(None, feeds) for feeds in given])
    assert errors == ["the iterator of sequences is in use already, by another next()"] * 20


def test_a_sequence_of_another_size_runs_alone() -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    given = [*sequences(model), {"X": batch_models.numbers(1, 4, 2, 3), "H": batch_models.numbers(2, 2, 6)}]
    expect_all_same(session.run_many(None, given), [session.run(None, one) for one in given])
    report = report_of(session, given[2:3] + given[-1:])
    assert report.alone == 1 and "not 1 on axis 1" in report.why_alone


def test_a_sequence_that_is_none_is_its_own_error() -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    first, last = sequences(model, [3, 4])
    found = session.run_many(None, [first, None, last], on_error="return")
    expect_same(found[0], session.run(None, first))
    assert isinstance(found[1], scanloom.InvalidArgument)
    assert found[1].text == "sequence 1: feeds are a NoneType, but must be a dictionary"
    expect_same(found[2], session.run(None, last))
    with pytest.raises(scanloom.InvalidArgument, match="sequence 1: feeds are a NoneType"):
        session.run_many(None, [first, None, last])


@pytest.mark.parametrize(
    ("reset", "text"),
    [
        (np.array([0, 1, 0], np.int64), "the resets are int64, not bool"),
        (np.array([False, True]), "the sequence has 3 steps, but 2 resets"),
        (np.zeros((2, 3), bool), "the sequence has 3 steps, but 6 resets"),
        ([], "the sequence has 3 steps, but 0 resets"),
        ("ends", "holds strings"),
        (object(), "reset"),
    ],
    ids=["integers", "too few", "too many", "none", "text", "an object"],
)
def test_resets_of_another_type_or_length_are_errors(reset: Any, text: str) -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    given = sequences(model, [3, 3])
    good = np.array([False, True, False])
    found = session.run_many(None, given, on_error="return", reset=[good, reset])
    assert not isinstance(found[0], Exception)
    assert isinstance(found[1], scanloom.Error)
    assert found[1].text.startswith("sequence 1: ") and text in found[1].text
    named = [{**given[0], "done": good}, {**given[1], "done": reset}]
    found = session.run_many(None, named, reset="done", on_error="return")
    assert not isinstance(found[0], Exception)
    assert isinstance(found[1], scanloom.Error) and text in found[1].text


def test_resets_of_another_kind_are_refused() -> None:
    model = batch_models.cell()
    session = InferenceSession(model.model)
    given = sequences(model, [3, 3])
    with pytest.raises(scanloom.InvalidArgument, match="reset is 3, but must be a name"):
        session.run_many(None, given, reset=3)
    with pytest.raises(scanloom.InvalidArgument, match="fewer resets than sequences"):
        session.run_many(None, given, reset=iter([None]))
    for resets, told in (([None], "^1 reset for"), ([None] * 3, "^3 resets for")):
        with pytest.raises(scanloom.InvalidArgument, match=f"{told} 2 sequences"):
            session.run_many(None, given, reset=resets)
    with pytest.raises(scanloom.InvalidArgument, match="the sequence has no 'done'"):
        session.run_many(None, given, reset="done")
    found = session.run_many(None, given, reset=[None, None])
    expect_all_same(found, [session.run(None, one) for one in given])


def test_models_that_draw_random_numbers_draw_the_same_in_every_order(tmp_path: pathlib.Path) -> None:
    """The numbers of the runs are those of the sequences, whatever thread comes first."""
    graph = helper.make_graph(
        [helper.make_node("RandomNormalLike", ["x"], ["noise"], seed=1.0),
         helper.make_node("Add", ["x", "noise"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])  # fmt: skip
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    sequences = [{"x": np.zeros((steps, 3), np.float32)} for steps in [*range(1, 40), 5000, 3000, 7]]
    session = scanloom.InferenceSession(path, threads=1)
    alone = [session.run(None, feeds) for feeds in sequences]
    for threads in (1, 2, 7):
        together = scanloom.InferenceSession(path, threads=threads)
        for ours, right in zip(together.run_many(None, sequences), alone):
            np.testing.assert_array_equal(ours[0], right[0], strict=True)
        assert not np.array_equal(together.run(None, sequences[0])[0], alone[0][0])  # draws go on
