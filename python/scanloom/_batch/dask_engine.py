"""Workers of Dask (distributed): one task per shard."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import queue
from typing import Any, Union


from .problems import AGAIN, JobFailed, engine_failure, first_line
from .scheduler import Died
from .shards import Task
from .work import Outcome, Sealed, attempt

dask: Any = importlib.import_module("dask")  # most of it has no types
distributed: Any = importlib.import_module("distributed")

_POLL_SECONDS = 1.0
_REPLY_SECONDS = 60
_LOST = ("lost", "cancelled")


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
        cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                                           dashboard_address=None, silence_logs=50)  # fmt: skip
    count = len(cluster.workers)
    cluster.adapt(minimum=count, maximum=count)  # replaces workers that Dask gives up after they died
    return distributed.Client(cluster)


class DaskEngine:
    """Tasks of Dask, which places and runs them. When a worker ends, tasks that wait there are reported
    as the cause, too."""

    is_exact = False

    def __init__(self, client: Any, sealed: Sealed, slots: int, is_own: bool) -> None:
        self.slots = slots
        self._client = client
        self._is_own = is_own
        self._work = sealed
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._tasks: dict[str, tuple[Any, Task]] = {}

    def submit(self, task: Task) -> None:
        try:
            future = self._client.submit(attempt, self._work, task, pure=False)
        except Exception as error:  # the client is closed when it has lost its scheduler
            raise JobFailed(f"Dask takes no tasks: {first_line(error)}", (AGAIN,)) from error
        self._tasks[future.key] = future, task
        future.add_done_callback(lambda ended: self._ended.put(ended.key))

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        key = self._next()
        future, task = self._tasks.pop(key)
        try:
            outcome: Outcome = future.result(timeout=_REPLY_SECONDS)
            return task, outcome
        except distributed.scheduler.KilledWorker as error:
            return task, Died("as Dask reports (KilledWorker)", first_line(error))
        except (Exception, asyncio.CancelledError) as error:  # a result that was lost with a worker, among others
            return task, engine_failure("Dask", task.shard.where, error)

    def _next(self) -> str:
        """The key of a task that has ended or was lost. Raises JobFailed if the scheduler is gone."""
        waited = 0.0
        while True:
            with contextlib.suppress(queue.Empty):
                key = self._ended.get(timeout=_POLL_SECONDS)
                if key in self._tasks:
                    return key
                continue
            # Dask does not call back about futures that it loses with its scheduler.
            lost = next((key for key, (future, _) in self._tasks.items() if future.status in _LOST), None)
            if lost is not None:
                return lost
            trouble = self._trouble()
            waited = 0.0 if trouble is None else waited + _POLL_SECONDS
            if waited > _REPLY_SECONDS:
                raise JobFailed(f"{trouble}, for {_REPLY_SECONDS} s", (AGAIN,))

    def _trouble(self) -> Union[str, None]:
        """Why no task can end, if that is so."""
        with contextlib.suppress(Exception):  # the scheduler may go in the middle of the question
            if self._client.status == "running":
                return None if self._client.nthreads() else "Dask has no workers"
        return "Dask's scheduler does not answer"

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone, which is no reason to lose a report
            for future, _ in self._tasks.values():
                future.cancel()
        self._tasks.clear()
        if self._is_own:
            cluster = self._client.cluster  # None if it was connected to by its address
            with contextlib.suppress(Exception):
                self._client.close()
            with contextlib.suppress(Exception):
                if cluster is not None:
                    cluster.close(timeout=_REPLY_SECONDS)
