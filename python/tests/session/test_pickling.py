"""Sessions and streams in other processes: pickle, copies, multiprocessing, cloudpickle, joblib."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pathlib
import pickle
from typing import Any

import numpy as np
import onnx
import pytest

import scanloom
from loop_models import SUM, parse

EXECUTIONS = ("automatic", "stepped", "compiled", "interpreted")

RANDOM = parse("g () => (float[4] r) { r = RandomUniform <shape = [4]>() }")
COUNTED = parse(
    """g (float[N] x, float[N] h) => (float[N] y, float[N] next) {
      next = Add(x, h)
      y = Neg(next)
    }"""
)
# A stream begins with what is computed of h0, and keeps a list.
LISTED = parse(
    """g (float[T,2] x) => (seq(float[2]) items) {
      shape = Shape(x)
      zero = Constant <value_int = 0>()
      steps = Gather(shape, zero)
      on = Constant <value = bool {1}>()
      none = SequenceEmpty()
      items = Loop(steps, on, none) <body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) {
        d = Identity(c)
        row = Gather(x, i)
        t = SequenceInsert(s, row)
      }>
    }"""
)


def summed(x: np.ndarray, h0: np.ndarray) -> np.ndarray:
    return h0 + np.cumsum(x, axis=0, dtype=np.float32)


X = np.arange(12, dtype=np.float32).reshape(6, 2) - 3
H0 = np.array([1, 2], np.float32)


def run_sum(session: scanloom.InferenceSession) -> np.ndarray:
    return session.run(["y"], {"x": X, "h0": H0})[0]


def push_rest(stream: scanloom.Stream) -> np.ndarray:
    return stream.push({"x": X[2:]}, ["y"])[0]


def fail_to_run(session: scanloom.InferenceSession) -> None:
    session.run(None, {"x": X})


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_session_of_bytes_comes_back(execution: str, protocol: int) -> None:
    session = scanloom.InferenceSession(SUM, threads=1, execution=execution)
    again = pickle.loads(pickle.dumps(session, protocol))
    np.testing.assert_array_equal(run_sum(again), summed(X, H0))
    assert again.get_inputs() == session.get_inputs()
    assert again.get_session_options().execution == execution


def test_options_names_and_notes_come_back() -> None:
    options = scanloom.SessionOptions(threads=2, seed=11, disabled_passes=["fold_constants"], strict=True)
    options.logid = "mine"
    options.add_session_config_entry("a", "b")
    options.add_free_dimension_override_by_name("T", 6)
    options.log_severity_level = 4
    session = scanloom.InferenceSession(SUM, options, providers=["CUDAExecutionProvider"])
    again = pickle.loads(pickle.dumps(session))
    found = again.get_session_options()
    assert (found.threads, found.seed, found.disabled_passes, found.strict, found.logid) == (
        2, 11, ["fold_constants"], True, "mine")
    assert found.get_session_config_entry("a") == "b"
    assert again.warnings() == session.warnings()
    assert again.get_inputs()[0].shape == [6, "N"]
    with pytest.raises(scanloom.InvalidArgument, match="size 6"):
        again.run(None, {"x": X[:2], "h0": H0})


def test_the_seed_of_the_process_goes_with_it() -> None:
    scanloom.set_seed(5)
    try:
        session = scanloom.InferenceSession(RANDOM)
        stored = pickle.dumps(session)
        scanloom.set_seed(6)
        again = pickle.loads(stored)
        np.testing.assert_array_equal(again.run(None, {})[0], session.run(None, {})[0])
    finally:
        scanloom.set_seed(0)


def test_a_session_of_a_file_keeps_its_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sum.onnx").write_bytes(SUM)
    monkeypatch.chdir(tmp_path)
    stored = pickle.dumps(scanloom.InferenceSession("sum.onnx"))
    assert len(stored) < len(SUM) + 1000 and SUM not in stored
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(run_sum(pickle.loads(stored)), summed(X, H0))


@pytest.mark.parametrize("change", ["content", "gone"])
def test_a_file_that_has_changed_is_an_error(tmp_path: pathlib.Path, change: str) -> None:
    path = tmp_path / "sum.onnx"
    path.write_bytes(SUM)
    session = scanloom.InferenceSession(path)
    stored = pickle.dumps(session)
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(SUM.replace(b"step", b"stap"))
    with pytest.raises((scanloom.InvalidModel, scanloom.NotFound), match="sum.onnx"):
        pickle.loads(stored)
    with pytest.raises((scanloom.InvalidModel, scanloom.NotFound), match="sum.onnx"):
        pickle.dumps(session)


def test_files_of_weights_are_checked_too(tmp_path: pathlib.Path) -> None:
    weights = onnx.numpy_helper.from_array(np.arange(400, dtype=np.float32), "w")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [400]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [weights])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)])
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    session = scanloom.InferenceSession(path)
    x = np.ones(400, np.float32)
    stored = pickle.dumps(session)
    np.testing.assert_array_equal(pickle.loads(stored).run(None, {"x": x})[0], x + np.arange(400, dtype=np.float32))
    data = bytearray((tmp_path / "weights.bin").read_bytes())
    data[5] ^= 1
    (tmp_path / "weights.bin").write_bytes(data)
    with pytest.raises(scanloom.InvalidModel, match="weights.bin"):
        pickle.loads(stored)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_sessions_run(copied: Any) -> None:
    session = scanloom.InferenceSession(SUM)
    again = copied(session)
    assert again is not session
    again.set_providers(["CUDAExecutionProvider"])
    assert again.warnings() != session.warnings()
    np.testing.assert_array_equal(run_sum(again), summed(X, H0))


def sum_stream(**options: Any) -> scanloom.Stream:
    return scanloom.InferenceSession(SUM, **options).stream()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_stream_goes_on_where_it_stood(execution: str, copied: Any) -> None:
    stream = sum_stream(execution=execution, threads=1)
    stream.push({"x": X[:2], "h0": H0})
    again = copied(stream)
    np.testing.assert_array_equal(push_rest(again), summed(X, H0)[2:])
    stream.push({"x": X[:1]})  # they are apart
    np.testing.assert_array_equal(again.push({"x": X[:1]}, ["y"])[0], summed(X, H0)[-1:] + X[:1])
    again.reset()
    with pytest.raises(scanloom.InvalidArgument, match="h0"):
        again.push({"x": X})


def test_a_stream_that_has_not_begun_comes_back() -> None:
    again = pickle.loads(pickle.dumps(sum_stream()))
    np.testing.assert_array_equal(again.push({"x": X, "h0": H0}, ["y"])[0], summed(X, H0))
    set_before = sum_stream()
    set_before.set("h0", H0)
    again = pickle.loads(pickle.dumps(set_before))
    np.testing.assert_array_equal(again.push({"x": X}, ["y"])[0], summed(X, H0))


def test_named_states_come_back() -> None:
    stream = scanloom.InferenceSession(COUNTED).stream({"h": "next"})
    stream.push({"x": H0})
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(again.get("h"), H0)
    np.testing.assert_array_equal(again.push({"x": H0}), -2 * H0)
    np.testing.assert_array_equal(stream.push({"x": H0}), -2 * H0)


def test_states_that_are_lists_come_back() -> None:
    stream = scanloom.InferenceSession(LISTED).stream()
    stream.push({"x": X[:2]})
    again = pickle.loads(pickle.dumps(stream))
    items = again.push({"x": X[2:]})
    np.testing.assert_array_equal(np.array(items), X)


def test_states_of_low_latency_come_back() -> None:
    stream = sum_stream(low_latency=True)
    feeds = {"x": X[:2], "h0": H0}
    first = stream.push(feeds, ["y"])[0]
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(first, summed(X, H0)[:2])
    np.testing.assert_array_equal(again.push({"x": X[2:], "h0": H0}, ["y"])[0], stream.push({"x": X[2:], "h0": H0}, ["y"])[0])


def test_states_of_another_model_are_refused() -> None:
    stream = scanloom.InferenceSession(COUNTED).stream({"h": "next"})
    stream.push({"x": H0})
    other = sum_stream()
    with pytest.raises(scanloom.InvalidArgument, match="has no state 'h'"):
        other._native.restore(*stream._native.save())
    np.testing.assert_array_equal(other.push({"x": X, "h0": H0}, ["y"])[0], summed(X, H0))


def test_errors_and_limits_are_pickled() -> None:
    error = scanloom.InvalidArgument("input 'x' is not fed", ("feed it",))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.text, again.notes) == (type(error), str(error), error.text, error.notes)
    options = scanloom.RunOptions(deadline=2.0, max_memory=1 << 20)
    options.cancel()
    copied = pickle.loads(pickle.dumps(options))
    assert (copied.deadline, copied.max_memory, copied.terminate) == (2.0, 1 << 20, True)
    copied.terminate = False
    assert options.terminate


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes_run_sessions_and_streams(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = pathlib.Path(__file__).parent
    folders = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    session = scanloom.InferenceSession(SUM, threads=2)
    run_sum(session)  # threads and code that the child does not have
    stream = session.stream()
    stream.push({"x": X[:2], "h0": H0})
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        np.testing.assert_array_equal(pool.submit(run_sum, session).result(60), summed(X, H0))
        np.testing.assert_array_equal(pool.submit(push_rest, stream).result(60), summed(X, H0)[2:])
        with pytest.raises(scanloom.InvalidArgument, match="'h0'.*is not fed"):
            pool.submit(fail_to_run, session).result(60)
    np.testing.assert_array_equal(push_rest(stream), summed(X, H0)[2:])


def test_a_session_that_a_fork_inherits_runs() -> None:
    session = scanloom.InferenceSession(SUM, threads=2)
    run_sum(session)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(run_sum(session), summed(X, H0)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_cloudpickle_takes_what_closes_over_a_session() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    session = scanloom.InferenceSession(SUM)
    stored = cloudpickle.dumps(lambda x: session.run(["y"], {"x": x, "h0": H0})[0])
    np.testing.assert_array_equal(pickle.loads(stored)(X), summed(X, H0))


def test_joblib_stores_and_sends_sessions(tmp_path: pathlib.Path) -> None:
    joblib = pytest.importorskip("joblib")
    session = scanloom.InferenceSession(SUM)
    joblib.dump(session, tmp_path / "session.joblib")
    np.testing.assert_array_equal(run_sum(joblib.load(tmp_path / "session.joblib")), summed(X, H0))
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(session.run)(["y"], {"x": X[:n], "h0": H0}) for n in (1, 4))
    for (found,), n in zip(results, (1, 4)):
        np.testing.assert_array_equal(found, summed(X, H0)[:n])


