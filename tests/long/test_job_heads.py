"""Jobs whose cluster loses what holds it together, Ray's head or Dask's scheduler: an error says so
after a minute or two, and a second start, here on the local engine, continues."""

import contextlib
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (make test-long)")
pytest.importorskip("psutil", reason="psutil is not installed (make test-long)")

import clusters  # noqa: E402
import job_files  # noqa: E402
from scanloom import batch  # noqa: E402

SECONDS = 240  # Ray's head may be silent for 30, Dask's scheduler for 60, after 30 in which Dask tries again


@contextlib.contextmanager
def ray():
    with clusters.temporary_folder() as folder:
        head, address = clusters.start_ray(folder)
        try:
            yield address, head
        finally:
            clusters.end_with_children(head)


@contextlib.contextmanager
def dask():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    programs = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{name}", *arguments, "--no-dashboard"],
                         stderr=subprocess.DEVNULL)
        for name, arguments in (
            ("scheduler", ["--host", "127.0.0.1", "--port", str(port)]),
            ("worker", [address, "--nworkers", "2", "--nthreads", "1"]),
        )
    ]  # fmt: skip
    try:
        yield address, programs[0]
    finally:
        for program in programs:
            clusters.end_with_children(program)


LOST = {
    # Where the driver runs on the same machine, it may see first that the part of Ray there is gone.
    "ray": "Ray's head at '.*' does not answer, for 30 s|Ray reports LocalRayletDiedError",
    "dask": "Dask's scheduler does not answer, for 60 s",
}


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_lost_head_is_an_error_and_the_job_continues(engine, tmp_path, report):
    pytest.importorskip(engine, reason=f"{engine} is not installed (make test-long)")
    model = job_files.write_model(tmp_path / "model.onnx")
    inputs = job_files.write_inputs(tmp_path / "in", longest=20_000)
    batch.run(model, inputs, tmp_path / "undisturbed")
    lost = []
    with globals()[engine]() as (address, head):

        def lose_head(at):
            if not lost:
                lost.append(time.monotonic())
                clusters.end_with_children(head)

        with pytest.raises(batch.JobFailed, match=LOST[engine]) as caught:
            batch.run(model, inputs, tmp_path / "out", engine=engine, address=address, progress=lose_head)
        seconds = time.monotonic() - lost[0]
    assert "start the job again" in str(caught.value) and seconds < SECONDS
    report(f"the error came {seconds:.0f} s after the head of {engine} was lost")
    assert batch.run(model, inputs, tmp_path / "out").resumed >= 1
    assert job_files.digests(tmp_path / "out") == job_files.digests(tmp_path / "undisturbed")
