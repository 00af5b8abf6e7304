"""Workers of Dask (distributed): one task per shard."""

from __future__ import annotations

import asyncio
from typing import Any, Union

import dask
import distributed
from distributed.scheduler import KilledWorker

from .problems import engine_failure, first_line
from .scheduler import Died
from .shards import Task
from .work import Outcome, Sealed, attempt


def start(
    sealed: Sealed, workers: Union[int, None], threads: int, address: Union[str, None]
) -> "DaskEngine":
    """Connects to the scheduler at `address`, or uses the connected one, or starts one here."""
    if address is not None:
        client, is_own = distributed.Client(address), True
    else:
        try:
            client, is_own = distributed.get_client(), False
        except ValueError:
            client, is_own = _local_client(workers), True
    # No more than there is room for: tasks that wait in a worker would end with it.
    slots = workers or max(sum(client.nthreads().values()), 1)
    return DaskEngine(client, sealed, slots, is_own)


def _local_client(workers: Union[int, None]) -> Any:
    """Processes on this machine, without a dashboard."""
    # The scheduler of jobs counts retries; Dask's own would count each of them four times.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        return distributed.Client(n_workers=workers, threads_per_worker=1, processes=True,
                                  dashboard_address=None, silence_logs=50)  # fmt: skip


class DaskEngine:
    """Tasks of Dask, which places and runs them."""

    def __init__(self, client: Any, sealed: Sealed, slots: int, is_own: bool) -> None:
        self.slots = slots
        self._client = client
        self._is_own = is_own
        self._work = sealed
        self._ended = distributed.as_completed(with_results=False)
        self._tasks: dict[str, tuple[Any, Task]] = {}

    def submit(self, task: Task) -> None:
        future = self._client.submit(attempt, self._work, task, pure=False)
        self._tasks[future.key] = future, task
        self._ended.add(future)

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        future = next(self._ended)
        _, task = self._tasks.pop(future.key)
        try:
            outcome: Outcome = future.result()
            return task, outcome
        except KilledWorker as error:
            return task, Died(f"as Dask reports: {first_line(error)}")
        except (Exception, asyncio.CancelledError) as error:  # a result that was lost with a worker, among others
            return task, engine_failure("Dask", task.shard.where, error)

    def close(self) -> None:
        for future, _ in self._tasks.values():
            future.cancel()
        self._tasks.clear()
        if self._is_own:
            cluster = self._client.cluster
            self._client.close()
            if cluster is not None:
                cluster.close()
