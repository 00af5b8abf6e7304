"""Sequences that feed inputs with a default value, or do not: each has the bits that it has alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from many_runs import expect_all_same, report_of
from onnx import TensorProto, helper, numpy_helper

import scanloom
from scanloom import InferenceSession, RunOptions

WIDTH = 3


def model(way: str = "lanes") -> bytes:
    """h[t] = h[t-1] * k + b + x[t], where k and b have default values."""
    rows = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [WIDTH]) for name in ("h", "e", "after", "out")]
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["h", "k"], ["m"]),
            helper.make_node("Add", ["m", "b"], ["n"]),
            helper.make_node("Add", ["n", "e"], ["after"]),
            helper.make_node("Tanh", ["after"], ["out"]),
        ],
        "body", rows[:2], rows[2:],
    )  # fmt: skip
    direction = [1 if way == "padded batches" else 0]
    scan = helper.make_node(
        "Scan", ["s", "x"], ["last", "y"], num_scan_inputs=1, body=body,
        scan_input_directions=direction, scan_output_directions=direction,
    )  # fmt: skip
    sizes = {"s": [WIDTH], "x": ["T", WIDTH], "k": [WIDTH], "b": [WIDTH]}
    results = {"last": [WIDTH], "y": ["T", WIDTH]}
    nodes = [scan]
    if way == "one by one":
        nodes.append(helper.make_node("Softmax", ["x"], ["shares"], axis=0))
        results["shares"] = ["T", WIDTH]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in sizes.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in results.items()],
        [numpy_helper.from_array(np.array([0.5, 0.25, -0.5], np.float32), "k"),
         numpy_helper.from_array(np.array([1, 2, 3], np.float32), "b")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return made.SerializeToString()


def feeds(seed: int, steps: int, *fed: str) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    made = {name: random.standard_normal(WIDTH).astype(np.float32) for name in ("s", *fed)}
    return {**made, "x": random.standard_normal((steps, WIDTH)).astype(np.float32)}


def mixed(count: int) -> list[dict[str, Any]]:
    sets = [(), ("k",), (), ("k", "b"), ("b",), ()]
    return [feeds(i, i * 5 % 23, *sets[i % 6]) for i in range(count)]


@pytest.mark.parametrize("window", [0, 5])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", ["lanes", "padded batches", "one by one"])
def test_sequences_that_feed_other_inputs_have_the_bits_of_single_runs(way: str, threads: int, window: int) -> None:
    session = InferenceSession(model(way), threads=threads)
    given = mixed(40)
    alone = [session.run(None, one) for one in given]
    for batch in (1, 3, 64):
        expect_all_same(session.run_many(None, given, batch=batch, window=window), alone)
    expect_all_same(session.run_many(None, given[1::2]), alone[1::2])
    report = report_of(session, given)
    assert (report.way, report.sequences) == (way, 40)
    if way != "one by one":
        assert report.steps == sum(len(one["x"]) for one in given)
        assert report.alone == sum(len(one["x"]) == 0 for one in given)


def test_an_endless_source_is_read_by_windows() -> None:
    session = InferenceSession(model())
    read = itertools.count()
    source = (feeds(i, 4, *(["k"] if i % 2 else [])) for i in read)
    iterator = session.iter_many(["last"], source, window=6)
    assert next(read) == 0  # nothing is read before a result is wanted
    expect_all_same([next(iterator) for _ in range(20)],
                    [session.run(["last"], feeds(i, 4, *(["k"] if i % 2 else []))) for i in range(1, 21)])  # fmt: skip
    assert next(read) == 25
    iterator.close()


def test_more_sets_of_inputs_than_sessions_that_are_kept() -> None:
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T"])
    names = [f"k{i}" for i in range(5)]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    graph = helper.make_graph(
        nodes, "g",
        [rows, *(helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in names)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["T"])],
        [numpy_helper.from_array(np.float32(2**i), name) for i, name in enumerate(names)],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = InferenceSession(made.SerializeToString())
    given: list[dict[str, Any]] = []
    for subset in range(32):
        fed = {name: np.float32(100) for i, name in enumerate(names) if subset >> i & 1}
        given.append({"x": np.arange(subset + 1, dtype=np.float32), **fed})
    alone = [session.run(None, one) for one in given]
    reports: list[scanloom.ManyReport] = []
    expect_all_same(session.run_many(None, given, report=reports.append), alone)
    assert reports[0].sequences == 32


def test_an_error_names_its_sequence_whatever_it_feeds() -> None:
    session = InferenceSession(model())
    given = mixed(12)
    given[3] = {**given[3], "k": np.zeros(WIDTH + 1, np.float32)}
    given[7] = {**given[7], "unknown": np.zeros(1, np.float32)}
    results = session.run_many(None, given, on_error="return")
    for index, result in enumerate(results):
        if index in (3, 7):
            assert str(result).startswith(f"sequence {index}: ")
        else:
            expect_all_same([result], [session.run(None, given[index])])


def test_an_exception_of_the_source_comes_after_the_results_before_it() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield from mixed(5)
        raise RuntimeError("no more")

    session = InferenceSession(model())
    iterator = session.iter_many(None, source())
    for one in mixed(5):
        expect_all_same([next(iterator)], [session.run(None, one)])
    with pytest.raises(RuntimeError, match="no more"):
        next(iterator)


def test_shared_default_values_and_resets() -> None:
    session = InferenceSession(model())
    shared = {"b": np.ones(WIDTH, np.float32)}
    given = [feeds(i, 9, *(["k"] if i % 3 else [])) for i in range(9)]
    alone = [session.run(None, {**one, **shared}) for one in given]
    expect_all_same(session.run_many(None, given, shared=shared), alone)
    resets = [np.arange(9) == 4] * 9
    found = session.run_many(["y"], given, reset=resets)
    for one, (rows,) in zip(given, found):
        parts = [session.run(["y"], {**one, "x": part})[0] for part in (one["x"][:4], one["x"][4:])]
        expect_all_same([[rows]], [[np.concatenate(parts)]])


def test_the_deadline_counts_from_the_first_sequence_of_all() -> None:
    session = InferenceSession(model())
    endless = (feeds(i, 2, *(["k"] if i % 2 else [])) for i in itertools.count())
    with pytest.raises(scanloom.LimitReached, match=r"deadline of 0\.3 s"):
        for _ in session.iter_many(None, endless, window=4, run_options=RunOptions(deadline=0.3)):
            pass


@pytest.mark.parametrize("shared", [{"q": np.zeros(3, np.float32)}, {"last": np.zeros(3, np.float32)}])
def test_an_unknown_name_among_shared_feeds_is_an_error_of_the_argument(shared: dict[str, Any]) -> None:
    session = InferenceSession(model())
    with pytest.raises(scanloom.InvalidArgument) as caught:
        session.iter_many(None, mixed(3), shared=shared)
    assert caught.value.text == f"shared: the model has no input '{next(iter(shared))}'"
    assert caught.value.notes == ("its inputs are: s, x", "inputs with default values: k, b")


def test_arguments_of_another_kind_are_errors_before_anything_runs() -> None:
    session = InferenceSession(model())
    with pytest.raises(scanloom.InvalidArgument, match="^shared: feeds are a int"):
        session.run_many(None, mixed(3), shared=5)  # type: ignore[arg-type]
    sequences = iter(mixed(3))
    with pytest.raises(scanloom.InvalidArgument, match="^report is 5, but must be callable or None"):
        session.run_many(None, sequences, report=5)  # type: ignore[arg-type]
    assert len(list(sequences)) == 3


def test_shared_feeds_of_another_type_or_size_are_an_error_of_the_argument() -> None:
    session = InferenceSession(model())
    for value, text in (
        (np.zeros(WIDTH), "shared: input 'b' is float, the feed is double"),
        (np.zeros(WIDTH + 1, np.float32), "shared: input 'b' has size 3 on axis 0, but the feed has 4"),
    ):
        with pytest.raises(scanloom.InvalidArgument, match=text):
            session.iter_many(None, mixed(3), shared={"b": value})
