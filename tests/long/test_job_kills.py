"""Jobs whose workers and drivers are killed at random moments, on the local engine, Ray and Dask: the
output is that of an undisturbed job, byte for byte. SCANLOOM_KILLS is the number of moments (25)."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (make test-long)")
psutil = pytest.importorskip("psutil", reason="psutil is not installed (make test-long)")

import clusters  # noqa: E402
import job_files  # noqa: E402

DRIVER = pathlib.Path(__file__).parent / "job_driver.py"
KILLS = int(os.environ.get("SCANLOOM_KILLS", "25"))
SHARDS = 12


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return job_files.write_model(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """12 shards of 300,000 steps."""
    folder = tmp_path_factory.mktemp("inputs")
    return job_files.write_inputs(folder, files=2, count=180, group=30, longest=20_000)


@pytest.fixture(scope="module", params=["local", "ray", "dask"])
def cluster(request):
    if request.param != "local":
        pytest.importorskip(request.param, reason=f"{request.param} is not installed (make test-long)")
    with getattr(clusters, request.param)() as made:
        yield made


@pytest.fixture(scope="module")
def driver(cluster, model, inputs):
    def start(outputs):
        command = [sys.executable, str(DRIVER), cluster.engine, cluster.address, model, inputs, str(outputs)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture(scope="module")
def undisturbed(driver, tmp_path_factory):
    """The files of a job that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    finish(driver(folder))
    files = job_files.digests(folder)
    assert len(files) == SHARDS
    return files


def wait_for_a_moment(process, folder, chance):
    """Returns some milliseconds after a random number of shards was written."""
    shards = chance.randrange(SHARDS)
    manifest = folder / "_scanloom" / "manifest.jsonl"
    while process.poll() is None and not (manifest.exists() and written(folder) >= shards):
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.05))


def written(folder):
    return len(list(folder.glob("*.parquet")))


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    return out


def test_a_worker_is_killed(driver, cluster, undisturbed, tmp_path, report):
    chance = random.Random(1)
    killed = 0
    for kill in range(KILLS):
        outputs = tmp_path / str(kill)
        process = driver(outputs)
        wait_for_a_moment(process, outputs, chance)
        while process.poll() is None:
            pids = cluster.workers(process.pid)
            if pids:
                os.kill(chance.choice(pids), signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.005)
        finish(process)
        assert job_files.digests(outputs) == undisturbed, kill
    report(f"{cluster.engine}: {killed} workers killed in {KILLS} jobs")
    assert killed > KILLS // 2


def test_the_driver_is_killed(driver, cluster, undisturbed, tmp_path, report):
    chance = random.Random(2)
    kept = []
    for kill in range(KILLS):
        outputs = tmp_path / str(kill)
        process = driver(outputs)
        wait_for_a_moment(process, outputs, chance)
        process.kill()
        process.communicate(timeout=60)
        kept.append(written(outputs))
        finish(driver(outputs))
        assert job_files.digests(outputs) == undisturbed, kill
    report(f"{cluster.engine}: driver killed {KILLS} times, with {sorted(kept)} of {SHARDS} shards written")
