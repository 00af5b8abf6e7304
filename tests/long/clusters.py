"""Clusters of one machine, with two workers, and the process ids of their workers."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psutil


class Cluster(NamedTuple):
    engine: str
    address: str
    workers: Callable[[int], list[int]]  # of the driver with this process id


@contextlib.contextmanager
def local() -> Iterator[Cluster]:
    """Workers are the driver's children."""
    yield Cluster("local", "", lambda driver: [child.pid for child in children(driver)])


@contextlib.contextmanager
def ray() -> Iterator[Cluster]:
    program = str(pathlib.Path(sys.executable).parent / "ray")
    start = [program, "start", "--head", "--num-cpus=2", "--port=0", "--include-dashboard=false", "--block"]
    head = subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = ""
        for line in head.stdout:
            if "--address=" in line:
                address = line.split("--address=")[1].strip().strip("'")
            if "--block" in line:
                break
        yield Cluster("ray", address, lambda _: [
            each.pid for each in children(head.pid) if each.cmdline()[0].startswith("ray::attempt")])  # fmt: skip
    finally:
        family = children(head.pid)
        head.terminate()
        head.wait(60)
        end(family)


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
