"""What goes wrong with jobs on the local engine, Ray and Dask: after each trouble a second start gives
the files of an undisturbed job, byte for byte, or the error says what to do."""

import os
import subprocess

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (make test-long)")
pytest.importorskip("psutil", reason="psutil is not installed (make test-long)")
import pyarrow.parquet as pq  # noqa: E402

import clusters  # noqa: E402
import job_files  # noqa: E402
import scanloom  # noqa: E402
from scanloom import batch  # noqa: E402


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    (folder / "sitecustomize.py").write_text(job_files.IN_WORKERS)
    return folder


@pytest.fixture(scope="module", params=["local", "ray", "dask"])
def cluster(request, start):
    if request.param != "local":
        pytest.importorskip(request.param, reason=f"{request.param} is not installed (make test-long)")
    clusters.be_patient(request.param)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(start)
    try:
        with getattr(clusters, request.param)() as made:
            yield made
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


@pytest.fixture
def job(cluster, tmp_path):
    """Runs a job over two files of 50 rows, in 6 shards."""
    model = job_files.write_model(tmp_path / "model.onnx")
    job_files.write_inputs(tmp_path / "in")

    def run(outputs="out", **options):
        return batch.run(model, f"{tmp_path}/in/*.parquet", tmp_path / outputs,
                         **{"engine": cluster.engine, "address": cluster.address or None, "workers": 2, **options})  # fmt: skip

    return run


def poison(tmp_path, start):
    """Row 27 of the first file gets another beginning."""
    path = tmp_path / "in" / "0.parquet"
    table = pq.read_table(path)
    x = table["x"].to_pylist()
    x[27] = [start, 1.0]
    pq.write_table(table.set_column(1, "x", pa.array(x, pa.list_(pa.float32()))), path, row_group_size=20)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk(job, tmp_path):
    job("undisturbed")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=28k", "tmpfs", str(small)], check=True)
    try:
        with pytest.raises(scanloom.Error, match="No space left on device") as caught:
            job("small/out")
        assert "free some space" in str(caught.value)
        subprocess.run(["mount", "-o", "remount,size=10M", str(small)], check=True)
        report = job("small/out")
        assert report.shards == 6
        assert job_files.digests(small / "out") == job_files.digests(tmp_path / "undisturbed")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.parametrize(("number", "reason"), [(666, "at this row"), (777, "at this row")])
def test_a_row_that_ends_workers(job, tmp_path, number, reason):
    poison(tmp_path, number)
    options = {"retries": 1, "memory": "1GB"}
    with pytest.raises(batch.JobFailed, match=r"0.parquet', rows 20 to 39: the worker ended 2 times"):
        job(**options)
    report = job(**options, on_error="quarantine")
    assert (report.rows, report.quarantined) == (99, 1)
    (error,) = pq.read_table(tmp_path / "out" / "_quarantine")["error"].to_pylist()
    assert reason in error
    job("all", **options, on_error="quarantine")
    assert job_files.digests(tmp_path / "out") == job_files.digests(tmp_path / "all")


def test_an_input_that_is_missing(job, tmp_path):
    path = tmp_path / "in" / "1.parquet"

    def hide(at):
        if path.exists():
            path.rename(tmp_path / "hidden")

    with pytest.raises(scanloom.Error, match=r"1.parquet', rows .* No such file"):
        job(workers=1, progress=hide)
    with pytest.raises(batch.JobChanged, match="1.parquet' of the job in .* is missing"):
        job()
    (tmp_path / "hidden").rename(path)
    assert job().resumed >= 1
    job("undisturbed")
    assert job_files.digests(tmp_path / "out") == job_files.digests(tmp_path / "undisturbed")


def test_two_drivers(job, tmp_path):
    refused = []

    def again(at):
        try:
            job(engine="local", address=None)
        except batch.JobLocked as error:
            refused.append(str(error))

    job(progress=again)
    assert len(refused) == 6 and f"process {os.getpid()} on " in refused[0]


def test_a_worker_of_another_version(job, start, tmp_path):
    (start / "version").write_text("0.0.1")
    try:
        with pytest.raises(batch.VersionMismatch, match="a worker has scanloom 0.0.1, but the driver has"):
            job()
    finally:
        (start / "version").unlink()
    assert job().rows == 100
