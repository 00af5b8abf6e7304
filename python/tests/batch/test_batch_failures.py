"""Rows that fail and rows that end workers, in jobs on the local engine."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as pq  # noqa: E402

import job_files  # noqa: E402
import scanloom  # noqa: E402
from loop_models import parse  # noqa: E402
from scanloom import batch  # noqa: E402

OTHER_VERSION = "import scanloom\nscanloom.__version__ = '0.0.1'\n"


@pytest.fixture
def model(tmp_path):
    return job_files.write_model(tmp_path / "model.onnx")


@pytest.fixture
def in_workers(tmp_path, monkeypatch):
    """Runs a program at the start of each worker."""

    def prepare(program):
        (tmp_path / "start").mkdir()
        (tmp_path / "start" / "sitecustomize.py").write_text(program)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "start"))

    return prepare


def write(tmp_path, changes, count=40):
    """A file of two shards, with other values in some rows."""
    return job_files.write_changed(tmp_path / "in.parquet", changes, count, count // 2)


def test_a_row_that_fails_is_named(model, tmp_path):
    inputs = write(tmp_path, {("k", 25): 7})
    with pytest.raises(batch.JobFailed, match=r"row with name 'row 0.25' fails: .*index 7") as caught:
        batch.run(model, inputs, tmp_path / "out", key="name", workers=1)
    assert 'on_error="quarantine"' in str(caught.value)
    report = batch.run(model, inputs, tmp_path / "out", key="name", workers=1, on_error="quarantine")
    assert (report.resumed, report.rows, report.quarantined) == (1, 39, 1)


def test_rows_that_fail_are_set_aside(model, tmp_path):
    inputs = write(tmp_path, {("k", 3): 7, ("x", 21): None, ("x", 22): [1.0, None], ("k", 39): -9})
    report = batch.run(model, inputs, tmp_path / "out", workers=1, on_error="quarantine")
    assert (report.rows, report.quarantined) == (36, 4)
    table = pq.read_table(tmp_path / "out")
    assert table["row"].to_pylist() == [row for row in range(40) if row not in (3, 21, 22, 39)]
    bad = pq.read_table(tmp_path / "out" / "_quarantine")
    assert bad["row"].to_pylist() == [3, 21, 22, 39] and bad.column_names == ["file", "row", "x", "k", "error"]
    errors = bad["error"].to_pylist()
    assert "index 7" in errors[0] and errors[1:3] == ["column 'x': the row has a null"] * 2
    again = batch.run(model, inputs, tmp_path / "out", workers=1, on_error="quarantine")
    assert (again.resumed, again.quarantined) == (2, 4)


def test_a_row_that_needs_too_much_memory_is_told_of_the_limit_of_a_worker(tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(parse("g (float[T] x, int64[1] n) => (float[N] y) { y = Tile (x, n) }"))
    table = {"x": [[1.0, 2.0]] * 2, "n": [[2], [1 << 28]]}
    pq.write_table(pa.table(table), tmp_path / "in.parquet")
    arguments = str(model), tmp_path / "in.parquet"
    report = batch.run(*arguments, tmp_path / "out", workers=1, memory="1GB", on_error="quarantine")
    assert (report.rows, report.quarantined) == (1, 1)
    (error,) = pq.read_table(tmp_path / "out" / "_quarantine")["error"].to_pylist()
    assert "give more memory per worker: a run may take half of it" in error and "max_memory" not in error
    with pytest.raises(scanloom.Error) as caught:
        batch.run(*arguments, tmp_path / "other", workers=1, memory="1GB")
    assert "more memory per worker" in str(caught.value) and "max_memory" not in str(caught.value)


def test_rows_that_end_workers_are_found(model, tmp_path, in_workers):
    in_workers(job_files.IN_WORKERS)
    inputs = write(tmp_path, {("x", 5): [666.0, 1.0], ("x", 6): [666.0]})
    report = batch.run(model, inputs, tmp_path / "out", workers=2, retries=1, on_error="quarantine")
    assert (report.rows, report.quarantined, report.retries) == (38, 2, 3)
    bad = pq.read_table(tmp_path / "out" / "_quarantine")
    assert bad["row"].to_pylist() == [5, 6]
    assert "the worker ends at this row: by SIGKILL (which the system sends" in bad["error"][0].as_py()


def test_a_worker_that_always_ends_stops_a_job_that_raises(model, tmp_path, in_workers):
    in_workers(job_files.IN_WORKERS)
    inputs = write(tmp_path, {("x", 5): [666.0, 1.0]})
    with pytest.raises(batch.JobFailed, match=r"rows 0 to 19: the worker ended 2 times \(retries=1\), at last by SIGKILL"):
        batch.run(model, inputs, tmp_path / "out", workers=1, retries=1)


def test_a_worker_of_another_version_is_refused(model, tmp_path, in_workers):
    in_workers(OTHER_VERSION)
    with pytest.raises(batch.VersionMismatch, match=r"a worker has scanloom 0.0.1, but the driver has scanloom \d"):
        batch.run(model, write(tmp_path, {}), tmp_path / "out", workers=1)


def test_a_row_that_takes_too_much_memory(tmp_path):
    path = tmp_path / "model.onnx"
    text = """g (int64 n) => (float[S] y) {
      axes = Constant <value = int64[1] {0}> ()
      sizes = Unsqueeze (n, axes)
      one = Constant <value = float[1] {1}> ()
      y = Expand (one, sizes)
    }"""
    path.write_bytes(job_files.parse(text, opset=20))
    pq.write_table(pa.table({"n": [4, 2_000_000_000, 5]}), tmp_path / "in.parquet")
    report = batch.run(path, tmp_path / "in.parquet", tmp_path / "out", workers=1, memory="1GB", on_error="quarantine")
    assert (report.rows, report.quarantined) == (2, 1)
    (error,) = pq.read_table(tmp_path / "out" / "_quarantine")["error"].to_pylist()
    assert "memory" in error


def test_an_input_that_changes_while_the_job_runs(model, tmp_path):
    inputs = write(tmp_path, {})

    def change(at):
        pq.write_table(job_files.table(41, 1), inputs)

    with pytest.raises(batch.JobChanged, match="in.parquet' has changed since the job began: it had"):
        batch.run(model, inputs, tmp_path / "out", workers=1, progress=change)


def test_a_damaged_input_is_named(model, tmp_path):
    inputs = write(tmp_path, {})
    content = bytearray(open(inputs, "rb").read())
    content[200:1200] = bytes(1000)
    open(inputs, "wb").write(content)
    with pytest.raises(batch.JobFailed, match="in.parquet', rows 0 to 19: "):
        batch.run(model, inputs, tmp_path / "out", workers=1)


def test_rows_must_have_the_sizes_of_the_input(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(job_files.parse("g (float[T,1,3] x) => (float[T,1,3] y) { y = Tanh (x) }", opset=20))
    x = [np.ones((4, 3)), np.ones((2, 2)), np.ones((0, 3))]
    nested = pa.array([row.tolist() for row in x], pa.list_(pa.list_(pa.float32())))
    pq.write_table(pa.table({"x": nested}), tmp_path / "in.parquet")
    report = batch.run(path, tmp_path / "in.parquet", tmp_path / "out", workers=1, on_error="quarantine")
    assert (report.rows, report.quarantined) == (2, 1)
    table = pq.read_table(tmp_path / "out")
    assert [y.shape for y in batch.arrays(table, "y")] == [(4, 1, 3), (0, 1, 3)]
    (error,) = pq.read_table(tmp_path / "out" / "_quarantine")["error"].to_pylist()
    assert error == "column 'x': a row of shape [2, 2] does not fill the shape [-1, 1, 3] of the input 'x'"
