"""Jobs and scorers on a small cluster of this machine, in a process that a test can end.

    python cluster_jobs.py dask|ray FOLDER

FOLDER holds what test_batch_clusters.py has written. Prints a line of JSON for each check: its name, and
what it found.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from multiprocessing import forkserver
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import job_files
import scanloom
from scanloom import batch

ENGINE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


def report(name: str, found: Any) -> None:
    print(json.dumps([name, found]), flush=True)


def job(inputs: str, outputs: str, **options: Any) -> list[int]:
    made = batch.run(FOLDER / "model.onnx", FOLDER / inputs, FOLDER / outputs,
                     **{"engine": ENGINE, "workers": 2, **options})  # fmt: skip
    return [made.shards, made.rows, made.quarantined]


def error_of(*arguments: Any, **options: Any) -> str:
    try:
        return f"no error, but {job(*arguments, **options)}"
    except scanloom.Error as error:
        return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def cluster() -> Iterator[None]:
    """Connects this process to a cluster of two workers, which jobs find."""
    if ENGINE == "ray":
        from scanloom._batch import ray_engine

        with contextlib.ExitStack() as own:
            ray_engine._connect(own, 2, 1, None)
            yield
        return
    import dask
    import distributed
    from scanloom._batch import dask_engine

    # On a busy machine, workers take their time to start again. Dask must not give them up, nor jobs Dask.
    dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.deploy.lost-worker-timeout": "1 hour"})
    dask_engine._REPLY_SECONDS = 600
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as made,
        distributed.Client(made),
    ):
        yield


def scored(model: str, table: pa.Table) -> Any:
    """The results of a pipeline of the engine, sorted by the rows' names."""
    if ENGINE == "ray":
        import ray
        import scanloom.ray

        frames = ray.data.from_arrow([table.slice(0, 20), table.slice(20)])
        made = frames.map_batches(scanloom.ray.Scorer(model, on_error="null"), batch_format="pyarrow")
        return made.to_pandas().sort_values("name")
    import dask
    import dask.dataframe
    import scanloom.dask

    dask.config.set({"dataframe.convert-string": False})
    frame = dask.dataframe.from_pandas(table.to_pandas(), npartitions=2)
    return scanloom.dask.score(frame, model, on_error="null").compute().sort_values("name")


def children() -> list[str]:
    """The processes that this one has started, except the two that Python keeps to the end. Those that
    the fork server has forked count, although they have its command line."""
    kept = {forkserver._forkserver._forkserver_pid}
    processes = [each for each in psutil.Process().children(recursive=True) if each.pid not in kept]
    lines = [" ".join(each.cmdline()) for each in processes]
    return [line for line in lines if "resource_tracker" not in line]


def check_scorer() -> None:
    table = job_files.table(40, 5).set_column(2, "k", pa.array([7] + [1] * 39))
    alone = scanloom.InferenceSession(str(FOLDER / "model.onnx"))
    found = scored(str(FOLDER / "model.onnx"), table)
    rows = {name: x for name, x in zip(table["name"].to_pylist(), table["x"].to_pylist())}
    same = bad = 0
    for name, y, error in zip(found["name"], found["y"], found["error"]):
        if isinstance(error, str):
            bad += "index 7" in error
            continue
        feeds = {"x": np.array(rows[name], np.float32), "k": np.int64(1)}
        same += np.asarray(y, np.float32).tobytes() == alone.run(["y"], feeds)[0].tobytes()
    report("scorer", [same, bad])


def check_jobs() -> None:
    report("connected", job("in/*.parquet", "connected"))
    report("again", job("in/*.parquet", "connected"))
    report("poisoned", error_of("poisoned.parquet", "poisoned"))
    report("quarantine", job("poisoned.parquet", "poisoned", on_error="quarantine"))
    report("ended", error_of("ending.parquet", "ended", retries=0))
    report("found", job("ending.parquet", "ended", retries=0, on_error="quarantine"))
    report("reasons", pq.read_table(FOLDER / "ended" / "_quarantine")["error"].to_pylist())
    version = FOLDER / "start" / "version"
    version.write_text("0.0.1")
    report("version", error_of("in/*.parquet", "version"))
    version.unlink()


def check_limits() -> None:
    """A task that no worker has the room for: Ray waits for it without end."""
    if ENGINE == "ray":
        from scanloom._batch import ray_engine

        ray_engine._POLL_SECONDS, ray_engine._PATIENCE_SECONDS = 0.1, 0.3
        report("room", error_of("in/*.parquet", "room", threads=3))


def main() -> None:
    try:
        report("own", job("in/*.parquet", "own"))
    except batch.JobFailed as error:
        if "timed out during startup" not in str(error):
            raise
        report("busy", str(error))  # the limit is Ray's own, and cannot be changed
        return
    report("children", children())
    report("nobody", error_of("in/*.parquet", "nobody", address="127.0.0.1:1"))
    report("leftovers", glob.glob(f"{os.environ['RAY_TMPDIR']}/*"))
    with cluster():
        check_jobs()
        check_scorer()
        check_limits()


if __name__ == "__main__":
    # The workers' alone: this process has no other version.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER / "start"), os.environ["PYTHONPATH"]])
    os.chdir(FOLDER)
    main()
