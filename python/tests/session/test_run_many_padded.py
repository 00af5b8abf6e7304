"""Models that walk along whole sequences in both directions: padded batches have the bits of single
runs, and what stands in the way is named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import batch_models
import numpy as np
import padded_models
import pytest
from batch_models import INPUTS, WIDTH, BatchModel, numbers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_models import parse
from many_runs import LENGTHS, expect_all_same, expect_same, report_of, sequences

import scanloom
from scanloom import InferenceSession, ManyReport


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    "model", padded_models.in_padded_batches(), ids=lambda model: model.name
)
def test_padded_batches_give_the_bits_of_single_runs(model: BatchModel, threads: int) -> None:
    session = InferenceSession(model.model, threads=threads)
    feeds = sequences(model)
    alone = [session.run(None, one) for one in feeds]
    for batch in (1, 3, 64):
        expect_all_same(session.run_many(None, feeds, batch=batch), alone)
    report = report_of(session, feeds)
    assert report.way == "padded batches" and "computes across the steps" in report.reason
    assert report.sequences == len(feeds) and report.steps == sum(LENGTHS)
    assert report.alone == 2 and report.why_alone == "it has no steps"
    assert 0 < report.filled <= 1 and report.runs >= 1
    assert f"in padded batches: {report.threads} x 64" in str(report)
    assert "sequences run in padded batches, not in lanes: " in session.explain()


@pytest.mark.parametrize("execution", ["interpreted", "stepped", "compiled"])
@pytest.mark.parametrize(
    "model",
    [padded_models.tagger("GRU"), padded_models.scans(False, True), padded_models.encoder()],
    ids=lambda model: model.name,
)
def test_every_execution_gives_the_bits_of_single_runs(model: BatchModel, execution: str) -> None:
    session = InferenceSession(model.model, execution=execution)
    feeds = sequences(model)
    expect_all_same(session.run_many(None, feeds), [session.run(None, one) for one in feeds])


def test_the_last_and_the_first_step_of_a_sequence() -> None:
    model = padded_models.last_of_both()
    session = InferenceSession(model.model)
    feeds = sequences(model, [steps for steps in LENGTHS if steps > 0])
    expect_all_same(session.run_many(None, feeds), [session.run(None, one) for one in feeds])
    assert report_of(session, feeds).way == "padded batches"


def check_random_stack(
    seed: int, lengths: list[int], batch: int, window: int, threads: int, resets: bool
) -> str:
    """Returns in which way the sequences ran."""
    model = padded_models.random_stack(seed)
    session = InferenceSession(model.model, threads=threads)
    feeds = sequences(model, lengths)
    way = report_of(session, feeds).way
    random = np.random.default_rng(seed)
    can_reset = resets and way != "one by one"
    flags = [random.random(steps) < 0.1 for steps in lengths] if can_reset else None
    found = session.run_many(None, feeds, batch=batch, window=window, reset=flags)
    assert len(found) == len(feeds)
    for i, one in enumerate(feeds):
        cuts = np.flatnonzero(flags[i]) if flags is not None else []
        parts = np.split(one["X"], [cut for cut in cuts if cut > 0], 0)
        alone = [session.run(None, {**one, "X": part}) for part in parts]
        expect_same(found[i], [alone[-1][0], np.concatenate([rows for _, rows in alone], 0)])
    return way


def test_random_stacks() -> None:
    ways: Counter[str] = Counter()

    @settings(
        max_examples=100, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        seed=st.integers(0, 10**6),
        lengths=st.lists(st.integers(0, 40), max_size=12),
        batch=st.sampled_from([0, 1, 2, 3, 7, 64]),
        window=st.sampled_from([0, 1, 5]),
        threads=st.sampled_from([1, 2, 7]),
        resets=st.booleans(),
    )
    def check(**drawn: Any) -> None:
        ways[check_random_stack(**drawn)] += 1

    check()
    assert ways["padded batches"] > 30 and ways["one by one"] > 2 and ways["lanes"] > 0


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize(
    "model",
    [padded_models.tagger("LSTM"), padded_models.scans(True, flips=True)],
    ids=lambda model: model.name,
)
def test_resets_give_the_bits_of_parts(model: BatchModel, batch: int) -> None:
    session = InferenceSession(model.model)
    feeds = sequences(model)
    random = np.random.default_rng(3)
    resets = [random.random(steps) < 0.2 for steps in LENGTHS]
    found = session.run_many(None, feeds, batch=batch, reset=resets)
    has_rows = [output.name in ("labels", "s0rows", "p0") for output in session.get_outputs()]
    (name,) = model.steps
    for results, one, flags in zip(found, feeds, resets):
        cuts = [t for t in range(1, len(flags)) if flags[t]]
        alone = [session.run(None, {**one, name: part}) for part in np.split(one[name], cuts)]
        joined = [np.concatenate(each) if rows else each[-1] for rows, each in zip(has_rows, zip(*alone))]
        expect_same(results, joined)


def mixing(line: str) -> bytes:
    return padded_models.with_constants(
        parse(f"""g (float[T, N, {INPUTS}] X) => (float[?, ?, ?, ?] Y, float[?, ?, ?] other) {{
          Y = RNN <hidden_size = {WIDTH}, direction = "reverse"> (X, aW, aR, aB)
          {line}
        }}"""),
        {
            **padded_models.weights("a", "RNN", INPUTS, 1, 5),
            "time": np.array(0, np.int64),
            "at": np.array([0], np.int64),
            "some": np.array([0, 1], np.int64),
        },
    )


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("other = ReduceMean(X, at)", "ReduceMean"),
        ("other = Softmax <axis = 0> (X)", "Softmax"),
        ("other = CumSum(X, time)", "CumSum"),
        ("other = Gather <axis = 0> (X, some)", "Gather"),
    ],
)
def test_a_node_that_mixes_the_steps_is_named(line: str, node: str) -> None:
    session = InferenceSession(mixing(line))
    feeds = [{"X": numbers(i, steps, 1, INPUTS)} for i, steps in enumerate([3, 2, 5])]
    expect_all_same(session.run_many(None, feeds), [session.run(None, one) for one in feeds])
    report = report_of(session, feeds)
    assert report.way == "one by one" and node in report.node
    assert "; in lanes node 0 (RNN" in report.reason and "it walks backwards" in report.reason


@pytest.mark.parametrize(
    ("inputs", "lines", "node", "reason"),
    [
        ("[T, 1, 3] x", "z = Slice(x, one, end, zero)", "(Slice-13) making 'z'", "selects some of them"),
        ("[?, 1, 3] x", "z = Slice(x, one, end, zero)", "(Slice-13) making 'z'", "selects some of them"),
        ("[] x", "z = Identity(x)", "making 'Y'", "the axes of its input 'x' are not declared"),
        ("[T, 1, 3] x", "n = RandomNormalLike(x)  z = Add(x, n)", "(RandomNormalLike-1) making 'n'", "draws random"),
    ],
)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_the_node_is_named_before_a_layer(
    inputs: str, lines: str, node: str, reason: str, direction: str
) -> None:
    ways = 2 if direction == "bidirectional" else 1
    text = f"""g (float{inputs}) => (float[?, ?, ?, ?] Y) {{
      {lines}
      Y = GRU <hidden_size = {WIDTH}, direction = "{direction}"> (z, aW, aR, aB)
    }}"""
    constants = {
        **padded_models.weights("a", "GRU", 3, ways, 5),
        "one": np.array([1]),
        "end": np.array([2**60]),
        "zero": np.array([0]),
    }
    session = InferenceSession(padded_models.with_constants(parse(text), constants))
    report = report_of(session, [{"x": numbers(i, steps, 1, 3)} for i, steps in enumerate([3, 4])])
    assert report.way == "one by one" and report.steps is None
    assert node in report.node and reason in report.reason
    assert str(report).startswith("2 sequences in ") and "steps" not in str(report).split("\n")[0]


def test_the_node_is_named_where_lengths_are_added() -> None:
    text = f"""g (float[T, 1, 3] a, float[S, 1, 3] b) => (float[?, ?, ?, ?] Y) {{
      z = Concat <axis = 0> (a, b)
      Y = GRU <hidden_size = {WIDTH}> (z, aW, aR, aB)
    }}"""
    constants = padded_models.weights("a", "GRU", 3, 1, 5)
    session = InferenceSession(padded_models.with_constants(parse(text), constants))
    report = report_of(session, [{"a": numbers(1, 3, 1, 3), "b": numbers(2, 2, 1, 3)}])
    assert report.way == "one by one" and "(Concat-13) making 'z'" in report.node
    assert report.reason.startswith("its operands do not all have the steps on one axis")


def test_a_node_of_a_body_is_named_with_its_loop() -> None:
    model = parse("""g (float[T, 4] x, float[4] h0) => (float[T, 4] y) {
      hn, y = Scan <num_scan_inputs = 1, body = step (float[4] h, float[4] v) => (float[4] h2, float[4] w) {
        found = NonZero(v)
        count = Size(found)
        c = Cast <to = 1> (count)
        h2 = Add(h, c)
        w = Identity(h2)
      }> (h0, x)
    }""")
    session = InferenceSession(model)
    report = report_of(session, [{"x": numbers(1, 3, 4), "h0": numbers(2, 4)}])
    assert report.way == "one by one" and report.steps == 3
    assert report.node == (
        "node 0 (NonZero-13) making 'found' in the body of node 0 (Scan-16) making 'hn'"
    )


def test_resets_are_refused_by_the_node_in_the_way_if_they_cut() -> None:
    session = InferenceSession(mixing("other = ReduceMean(X, at)"))
    feeds = {"X": numbers(1, 6, 1, INPUTS)}
    alone = session.run(None, feeds)
    for first in (False, True):  # a sequence begins reset
        flags = np.array([first, *[False] * 5])
        expect_same(session.run_many(None, [feeds], reset=[flags])[0], alone)
    with pytest.raises(scanloom.Error, match="cannot be reset: .*; in padded batches .*ReduceMean"):
        session.run_many(None, [feeds], reset=[np.arange(6) == 3])


def test_lengths_outside_of_a_sequence_are_its_own_error() -> None:
    model = padded_models.with_lengths("LSTM")
    session = InferenceSession(model.model)
    feeds = sequences(model, [9, 4, 6])
    feeds[1]["ends"] = np.array([5], np.int32)
    found = session.run_many(None, feeds, on_error="return")
    with pytest.raises(scanloom.Error) as alone:
        session.run(None, feeds[1])
    assert isinstance(found[1], scanloom.Error)
    assert found[1].text == f"sequence 1: {alone.value.text}"
    assert "sequence length 5 is outside the 4 steps" in found[1].text
    for i in (0, 2):
        expect_same(found[i], session.run(None, feeds[i]))


def test_a_word_outside_of_the_table_is_the_error_of_its_sequence() -> None:
    model = padded_models.tagger("RNN")
    session = InferenceSession(model.model)
    feeds = sequences(model, [9, 4, 6, 6])
    feeds[2]["words"][3] = 20
    found = session.run_many(None, feeds, on_error="return")
    assert isinstance(found[2], scanloom.Error) and "20" in found[2].text
    for i in (0, 1, 3):
        expect_same(found[i], session.run(None, feeds[i]))


def test_a_failed_part_ends_the_other_parts_of_its_sequence() -> None:
    model = padded_models.tagger("RNN")
    session = InferenceSession(model.model, threads=1)
    feeds = sequences(model, [70, 60, 4, 3])
    feeds[0]["words"][3] = 20
    resets = [np.zeros(one["words"].shape[0], bool) for one in feeds]
    resets[0][66] = True
    reports: list[ManyReport] = []
    found = session.run_many(None, feeds, reset=resets, on_error="return", report=reports.append)
    assert isinstance(found[0], scanloom.Error) and "20" in found[0].text
    for one, results in zip(feeds[1:], found[1:]):
        expect_same(results, session.run(None, one))
    assert reports[0].sequences == 4 and reports[0].runs == 1
    assert reports[0].filled == 7 / 8  # the last part of the first sequence takes no lane
    assert reports[0].why_alone == "its run failed"


def test_a_sequence_of_another_size_runs_alone() -> None:
    model = padded_models.tagger("GRU")
    session = InferenceSession(model.model)
    words = np.random.default_rng(1).integers(0, 20, (4, 3))
    feeds = [*sequences(model), {"words": words}]
    expect_all_same(session.run_many(None, feeds), [session.run(None, one) for one in feeds])
    assert report_of(session, feeds).alone == 3


def joined_inputs(direction: str = "reverse") -> tuple[InferenceSession, list[dict[str, np.ndarray]]]:
    """Two inputs with the same number of steps; Z of the second sequence has 1 instead of 5."""
    text = f"""g (float[T, 1, {INPUTS}] X, float[T, 1, {INPUTS}] Z) => (float[?, ?, ?, ?] Y) {{
      both = Add(X, Z)
      Y = GRU <hidden_size = {WIDTH}, direction = "{direction}"> (both, aW, aR, aB)
    }}"""
    model = padded_models.with_constants(parse(text), padded_models.weights("a", "GRU", INPUTS, 1, 10))
    steps = [(4, 4), (5, 1), (6, 6)]
    feeds = [{"X": numbers(x, x, 1, INPUTS), "Z": numbers(9, z, 1, INPUTS)} for x, z in steps]
    return InferenceSession(model), feeds


@pytest.mark.parametrize(("direction", "way"), [("reverse", "padded batches"), ("forward", "lanes")])
def test_a_sequence_whose_inputs_have_other_numbers_of_steps_runs_alone(direction: str, way: str) -> None:
    session, feeds = joined_inputs(direction)
    expect_all_same(session.run_many(None, feeds), [session.run(None, one) for one in feeds])
    report = report_of(session, feeds)
    assert report.way == way and report.alone == 1
    assert report.why_alone == "input 'X' has 5 steps, input 'Z' has 1"


def test_a_reset_sequence_has_one_number_of_steps() -> None:
    session, feeds = joined_inputs()
    resets = [np.zeros(steps, bool) for steps in (4, 5, 6)]
    found = session.run_many(None, feeds, reset=resets, on_error="return")
    assert isinstance(found[1], scanloom.Error)
    assert "input 'X' has 5 steps, input 'Z' has 1" in found[1].text
    for i in (0, 2):
        expect_same(found[i], session.run(None, feeds[i]))


def test_little_memory_halves_the_groups() -> None:
    model = padded_models.tagger("LSTM")
    session = InferenceSession(model.model, threads=1)
    feeds = sequences(model, [200] * 40)
    alone = [session.run(None, one) for one in feeds]
    options = scanloom.RunOptions()
    options.max_memory = 300_000
    reports: list[ManyReport] = []
    found = session.run_many(None, feeds, run_options=options, report=reports.append)
    expect_all_same(found, alone)
    assert 1 < reports[0].runs < 40 and reports[0].alone == 0


def test_step_limits_hold_for_the_sequence_and_not_for_its_padding() -> None:
    model = padded_models.scans(True)
    session = InferenceSession(model.model)
    feeds = sequences(model, [100, 99, 70])
    options = scanloom.RunOptions()
    options.max_steps = 100
    found = session.run_many(None, feeds, run_options=options)
    expect_all_same(found, [session.run(None, one) for one in feeds])
    options.max_steps = 99
    found = session.run_many(None, feeds, run_options=options, on_error="return")
    assert isinstance(found[0], scanloom.Error) and "max_steps" in str(found[0])
    expect_all_same(found[1:], [session.run(None, one) for one in feeds[1:]])


def test_shared_feeds() -> None:
    model = batch_models.layer("GRU", fed=True, direction="bidirectional")
    session = InferenceSession(model.model)
    state = numbers(99, 2, 1, WIDTH)
    feeds = [{"X": one["X"]} for one in sequences(model)]
    alone = [session.run(None, {**one, "H": state}) for one in feeds]
    expect_all_same(session.run_many(None, feeds, shared={"H": state}), alone)
    others = [{**one, "H": state + i} for i, one in enumerate(feeds)]
    expect_all_same(session.run_many(None, others), [session.run(None, one) for one in others])
