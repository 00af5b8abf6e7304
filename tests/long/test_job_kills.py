"""Jobs whose workers and drivers are killed at random moments, on the local engine, Ray and Dask: the
output is that of an undisturbed job, byte for byte. SCANLOOM_KILLS is the number of moments (25)."""

import os
import random
import signal
import time

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (make test-long)")
psutil = pytest.importorskip("psutil", reason="psutil is not installed (make test-long)")

import clusters  # noqa: E402
import drivers  # noqa: E402
import job_files  # noqa: E402

KILLS = int(os.environ.get("SCANLOOM_KILLS", "25"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return job_files.write_model(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return drivers.write_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def local_files(model, inputs, tmp_path_factory):
    """The files of a job on the local engine that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    drivers.finish(drivers.start("local", "", model, inputs, folder))
    files = job_files.digests(folder)
    assert len(files) == drivers.SHARDS
    return files


@pytest.fixture(scope="module", params=["local", "ray", "dask"])
def cluster(request):
    if request.param != "local":
        pytest.importorskip(request.param, reason=f"{request.param} is not installed (make test-long)")
    with getattr(clusters, request.param)() as made:
        yield made


@pytest.fixture(scope="module")
def driver(cluster, model, inputs):
    return lambda outputs: drivers.start(cluster.engine, cluster.address, model, inputs, outputs)


@pytest.fixture(scope="module")
def undisturbed(driver, local_files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    drivers.finish(driver(folder))
    assert job_files.digests(folder) == local_files
    return local_files


def kill_one(pids, chance):
    """Whether a process was there to be killed."""
    try:
        os.kill(chance.choice(pids), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


def test_a_worker_is_killed(driver, cluster, undisturbed, tmp_path, report):
    chance = random.Random(1)
    killed = 0
    for kill in range(KILLS):
        outputs = tmp_path / str(kill)
        process = driver(outputs)
        drivers.wait_for_a_moment(process, outputs, chance)
        while process.poll() is None:
            if kill_one(cluster.workers(process.pid), chance):
                killed += 1
                break
            time.sleep(0.005)
        drivers.finish(process)
        assert job_files.digests(outputs) == undisturbed, kill
    report(f"{cluster.engine}: {killed} workers killed in {KILLS} jobs")
    assert killed > KILLS // 2


def test_the_driver_is_killed(driver, cluster, undisturbed, tmp_path, report):
    chance = random.Random(2)
    kept = []
    for kill in range(KILLS):
        outputs = tmp_path / str(kill)
        process = driver(outputs)
        drivers.wait_for_a_moment(process, outputs, chance)
        process.kill()
        process.communicate(timeout=60)
        kept.append(drivers.written(outputs))
        drivers.finish(driver(outputs))
        assert job_files.digests(outputs) == undisturbed, kill
    report(f"{cluster.engine}: driver killed {KILLS} times, with {sorted(kept)} of {drivers.SHARDS} shards written")


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_driver_with_a_cluster_of_its_own_is_killed(engine, model, inputs, local_files, tmp_path, monkeypatch):
    """Its processes end, and the next start removes its files."""
    pytest.importorskip(engine, reason=f"{engine} is not installed (make test-long)")
    chance = random.Random(3)
    with clusters.temporary_folder() as short:
        monkeypatch.setenv("RAY_TMPDIR", short)
        for kill in range(min(KILLS, 3)):
            outputs = tmp_path / str(kill)
            process = drivers.start(engine, "", model, inputs, outputs)
            drivers.wait_for_a_moment(process, outputs, chance)
            family = clusters.children(process.pid)
            process.kill()
            process.communicate(timeout=60)
            _, alive = psutil.wait_procs(family, 300)  # agents of Ray look for their parent now and then
            assert alive == []
            drivers.finish(drivers.start(engine, "", model, inputs, outputs))
            assert job_files.digests(outputs) == local_files, kill
            assert os.listdir(short) == []
