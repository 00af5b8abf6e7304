"""Clusters of one machine, with two workers, and the process ids of their workers."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psutil


class Cluster(NamedTuple):
    engine: str
    address: str
    workers: Callable[[int], list[int]]  # of the driver with this process id


def be_patient(engine: str) -> None:
    """Lets jobs of this process wait longer for Dask: on a busy machine, workers take a minute to start."""
    if engine == "dask":
        from scanloom._batch import dask_engine

        dask_engine._REPLY_SECONDS = 600


@contextlib.contextmanager
def local() -> Iterator[Cluster]:
    """Workers are the driver's children."""
    yield Cluster("local", "", lambda driver: [child.pid for child in children(driver)])


@contextlib.contextmanager
def ray() -> Iterator[Cluster]:
    with temporary_folder() as folder:
        for _ in range(10):  # Ray waits 30 s for itself, which is too short on a busy machine
            head, address = start_ray(folder)
            if address:
                break
            end_with_children(head)
        else:
            raise RuntimeError("Ray does not start: the machine is too busy")
        try:
            yield Cluster("ray", address, lambda _: ray_workers(head.pid))
        finally:
            end_with_children(head)


def start_ray(folder: str) -> tuple[subprocess.Popen[str], str]:
    """The head of a Ray of two CPUs, and its address, which is empty if it did not start."""
    program = str(pathlib.Path(sys.executable).parent / "ray")
    head = subprocess.Popen([program, "start", "--head", "--num-cpus=2", "--port=0", "--include-dashboard=false",
                             f"--temp-dir={folder}", "--block"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    address = ""
    for line in head.stdout:
        if "--address=" in line:
            address = line.split("--address=")[1].strip().strip("'")
        if "--block" in line:
            break
    return head, address


def end_with_children(process: subprocess.Popen[str]) -> None:
    family = children(process.pid)
    process.terminate()
    process.wait(60)
    end(family)


def ray_workers(head: int) -> list[int]:
    """The processes that run a shard."""
    found = []
    for each in children(head):
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            if each.cmdline()[0].startswith("ray::attempt"):
                found.append(each.pid)
    return found


@contextlib.contextmanager
def dask() -> Iterator[Cluster]:
    import dask as configuration
    import distributed

    with configuration.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                           silence_logs=50)  # fmt: skip
    cluster.adapt(minimum=2, maximum=2)
    with cluster:
        yield Cluster("dask", cluster.scheduler_address, lambda _: [
            nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None])  # fmt: skip


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder whose path is short enough for Ray's sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield folder


def children(process: int) -> list[psutil.Process]:
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                if child.cmdline()[0]:
                    found.append(child)
    return found


def end(processes: list[psutil.Process]) -> None:
    for each in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(processes, 20)
