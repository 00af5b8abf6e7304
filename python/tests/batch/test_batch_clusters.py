"""Jobs and scorers on Dask and on Ray: small runs, on one cluster each, in a process of their own."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
psutil = pytest.importorskip("psutil", reason="psutil is not installed")
import pyarrow.parquet as pq  # noqa: E402

import job_files  # noqa: E402
from scanloom import batch  # noqa: E402

PROGRAM = pathlib.Path(__file__).parent / "cluster_jobs.py"
SECONDS = 900  # a run takes about 20, and much more on a busy machine


def run(engine, folder):
    """Runs cluster_jobs.py. Ends it and its workers if it hangs."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # paths of sockets have 107 bytes at most
        variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RAY_TMPDIR": short,
                     "RAY_worker_niceness": "0", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
                     # Processes that have imported Dask start others, in a tenth of the time.
                     "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"}  # fmt: skip
        process = subprocess.Popen([sys.executable, str(PROGRAM), engine, str(folder)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})  # fmt: skip
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            end_family(process.pid)
            pytest.fail(f"{engine} hangs: {process.communicate()}")
    assert process.returncode == 0, out + err
    found = dict(json.loads(line) for line in out.splitlines() if line.startswith("["))
    if "busy" in found:
        pytest.skip(f"the machine is too busy for {engine}: {found['busy']}")
    return found


def end_family(process):
    driver = psutil.Process(process)
    for each in [*driver.children(recursive=True), driver]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


@pytest.fixture(scope="module", params=["dask", "ray"])
def engine(request):
    package = {"dask": "distributed", "ray": "ray"}[request.param]
    pytest.importorskip(package, reason=f"{request.param} is not installed (make test-long)")
    return request.param


@pytest.fixture(scope="module")
def folder(engine, tmp_path_factory):
    """Inputs: two files of 3 shards; one with a row that fails; one with a row that ends its worker."""
    made = tmp_path_factory.mktemp(engine)
    job_files.write_model(made / "model.onnx")
    job_files.write_inputs(made / "in")
    job_files.write_changed(made / "poisoned.parquet", {("k", 13): 7}, 20, 10)
    job_files.write_changed(made / "ending.parquet", {("x", 5): [666.0, 1.0]}, 8, 2)
    (made / "start").mkdir()
    (made / "start" / "sitecustomize.py").write_text(job_files.IN_WORKERS)
    return made


@pytest.fixture(scope="module")
def found(engine, folder):
    return run(engine, folder)


def test_a_cluster_writes_the_bytes_of_the_local_engine(found, folder):
    assert found["own"] == found["connected"] == found["again"] == [6, 100, 0]
    batch.run(folder / "model.onnx", folder / "in/*.parquet", folder / "local", workers=1)
    local = job_files.digests(folder / "local")
    assert len(local) == 6
    assert job_files.digests(folder / "own") == job_files.digests(folder / "connected") == local


def test_a_cluster_that_a_job_starts_is_ended_and_removed(found):
    assert found["children"] == [] and found["leftovers"] == []


def test_an_address_where_nobody_listens(found, engine):
    assert found["nobody"].startswith(f"JobFailed: {engine.capitalize()} cannot be started or reached at '127.0.0.1:1': ")


def test_a_row_that_fails_is_named_or_set_aside(found):
    assert found["poisoned"].startswith("JobFailed: ")
    assert "poisoned.parquet', row 13 fails" in found["poisoned"] and "index 7" in found["poisoned"]
    assert found["quarantine"] == [2, 19, 1]


def test_a_row_that_ends_its_worker_is_found(found, folder):
    assert found["ended"].startswith("JobFailed: ")
    assert "ending.parquet', rows 4 to 5: the worker ended 1 time (retries=0)" in found["ended"]
    assert found["found"] == [4, 7, 1]
    assert len(found["reasons"]) == 1 and "the worker ends at this row: as " in found["reasons"][0]
    assert pq.read_table(folder / "ended")["row"].to_pylist() == [0, 1, 2, 3, 4, 6, 7]


def test_a_worker_of_another_version_is_refused(found):
    assert found["version"].startswith("VersionMismatch: "), found["version"]
    # Whichever shard comes back first.
    assert "0.parquet', rows " in found["version"]
    assert ": a worker has scanloom 0.0.1, but the driver has scanloom" in found["version"]
    assert f"the worker is '{sys.executable}' on '" in found["version"]


def test_a_scorer_gives_rows_the_bits_that_they_have_alone(found):
    assert found["scorer"] == [39, 1]


def test_tasks_without_room_end_the_job(found, engine):
    if engine == "dask":
        pytest.skip("Dask does not count threads")
    assert found["room"].startswith("JobFailed: no machine of Ray has the CPUs of a task (threads=3); the largest has 2")
