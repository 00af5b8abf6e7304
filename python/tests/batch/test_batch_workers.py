"""What workers of clusters do: several threads and several jobs in one process, and what they may lack."""

import concurrent.futures
import errno

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import job_files  # noqa: E402
import scanloom  # noqa: E402
import scanloom.ray  # noqa: E402
from scanloom._batch import local_engine, problems, table_scorer, work  # noqa: E402
from scanloom._batch.job import Given, expand, open_session, plan  # noqa: E402
from scanloom._batch.manifest import prepare  # noqa: E402
from scanloom._batch.shards import Record, Task  # noqa: E402


@pytest.fixture
def model(tmp_path):
    return job_files.write_model(tmp_path / "model.onnx")


@pytest.fixture
def planned(model, tmp_path):
    """A job of 6 shards for `output`, as workers get it."""

    def make(output):
        inputs = job_files.write_inputs(tmp_path / "in") if not (tmp_path / "in").exists() else f"{tmp_path}/in/*"
        given = Given({}, (), (output,), {}, {}, 64, True, None, False)
        made = plan(open_session(model, None, 1), expand(inputs), tmp_path / output, given)
        prepare(tmp_path / output)
        return made, work.seal(made.work)

    return make


def test_threads_of_a_worker_serve_several_jobs(planned):
    (first, first_work), (_, second_work) = planned("y"), planned("last")
    calls = [(sealed, Task(shard)) for shard in 5 * first.shards for sealed in (first_work, second_work)]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda call: work.attempt(*call), calls))
    assert [each for each in outcomes if not isinstance(each, Record)] == []


def test_threads_of_a_worker_serve_several_scorers(model, monkeypatch):
    monkeypatch.setattr(table_scorer, "_MAX_SESSIONS", 1)
    scorers = [scanloom.ray.Scorer(model, output_names=[name]) for name in ("y", "last")]
    alone = scanloom.InferenceSession(model).run(None, {"x": np.ones(3, np.float32), "k": np.int64(1)})
    table = {"x": np.ones((2, 3), np.float32), "k": np.ones(2, np.int64)}
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda turn: scorers[turn % 2](table), range(40)))
    for turn, made in enumerate(found):
        values = made[("y", "last")[turn % 2]]
        assert [np.asarray(value).tobytes() for value in values] == [alone[turn % 2].tobytes()] * 2


def test_scorers_of_one_pipeline_are_loaded_once(model, monkeypatch):
    loads = []
    plain = table_scorer.pickle.loads
    monkeypatch.setattr(table_scorer.pickle, "loads", lambda data: loads.append(1) or plain(data))
    monkeypatch.setattr(table_scorer, "_sessions", {})
    scorers = [scanloom.ray.Scorer(model, output_names=[name], batch=n) for n, name in ((1, "y"), (2, "last"))]
    other = scanloom.ray.Scorer(model, threads=2)
    for _ in range(3):
        for scorer in (*scorers, other):
            scorer({"x": np.ones((2, 3), np.float32), "k": np.ones(2, np.int64)})
    assert len(loads) == 2  # the first two have the same session


def test_a_worker_that_does_not_see_the_folder(planned):
    made, sealed = planned("y")
    failure = work.attempt(sealed._replace(path="/nowhere/work", sha256="0"), Task(made.shards[0]))
    assert "0.parquet', rows 0 to 19: a worker on '" in failure.text
    assert "cannot read '/nowhere/work': No such file or directory" in failure.text
    assert failure.notes == ("every machine must see the inputs and the outputs under the same paths",)


class Wrapped(Exception):
    """As Ray wraps what a worker raises."""

    def __init__(self, cause):
        super().__init__("a remote function failed")
        self.cause = cause


def test_a_worker_that_lacks_a_package():
    for error in (ModuleNotFoundError("No module named 'scanloom'"), Wrapped(ImportError("No module named 'scanloom'"))):
        failure = problems.engine_failure("Ray", "'in.parquet', rows 0 to 9", error)
        assert failure.code == "version_mismatch" and not failure.is_transient
        assert failure.text == "'in.parquet', rows 0 to 9: a worker of Ray cannot load the job: No module named 'scanloom'"
    failure = problems.engine_failure("Dask", "'in.parquet', rows 0 to 9", Wrapped(None))
    assert failure.is_transient and failure.text.endswith("Dask reports Wrapped: a remote function failed")


def test_a_scorer_refuses_arrays_that_became_texts(model):
    """Dask does so with columns of arrays. Other texts are read as jobs read them."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    scorer = scanloom.ray.Scorer(model, output_names=["last"], on_error="null")
    x = np.arange(3, dtype=np.float32) / 7
    for texts in ([str(x), "[]"], [str(np.arange(2000.0)), str(x)], ["[0.5]", "[]"]):
        with pytest.raises(scanloom.InvalidArgument, match="column 'x' holds arrays as rounded texts, such as"):
            scorer(pandas.DataFrame({"x": texts, "k": [1, 1]}))
    wanted = list(scorer({"x": [x, x], "k": np.array([1, 1])})["last"])
    for texts in ([" ".join(map(repr, x.tolist()))] * 2, [str(x.tolist())] * 2):
        assert list(scorer(pandas.DataFrame({"x": texts, "k": [1, 1]}))["last"]) == wanted


def test_a_worker_that_the_system_refuses(monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(local_engine.subprocess, "Popen", refuse)
    with pytest.raises(problems.JobFailed, match="a worker cannot be started: Resource temporarily unavailable"):
        local_engine.LocalEngine(None, 1).submit(None)
