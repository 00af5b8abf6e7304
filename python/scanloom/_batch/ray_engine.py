"""Workers of Ray: one task per shard."""

from __future__ import annotations

import importlib
import os
from typing import Any, Union


from .problems import engine_failure, first_line
from .scheduler import Died
from .shards import Task
from .work import Outcome, Sealed, attempt

ray: Any = importlib.import_module("ray")  # most of it has no types


def start(
    sealed: Sealed, workers: Union[int, None], threads: int, address: Union[str, None]
) -> "RayEngine":
    """Connects to the Ray of `address`, or uses the connected one, or starts one on this machine."""
    is_own = not ray.is_initialized()
    if is_own:
        options: dict[str, Any] = {}
        if address is None and "RAY_ADDRESS" not in os.environ:
            address = "local"  # not one that somebody else has started on this machine
            options = {"num_cpus": workers and workers * threads, "include_dashboard": False}
        ray.init(address, log_to_driver=False, logging_level="error", **options)
    return RayEngine(sealed, _slots(workers, threads), threads, is_own)


def _slots(workers: Union[int, None], threads: int) -> int:
    """As many tasks as there shall be workers, or twice as many as the cluster has room for, so that
    none waits for the driver."""
    if workers is not None:
        return workers
    return max(2 * int(ray.cluster_resources().get("CPU", 1)) // threads, 1)


class RayEngine:
    """Tasks of Ray, which places and runs them."""

    is_exact = True

    def __init__(self, sealed: Sealed, slots: int, threads: int, is_own: bool) -> None:
        self.slots = slots
        self._is_own = is_own
        self._work = sealed
        # The scheduler of jobs counts retries, and knows what to do when they are used up.
        self._attempt = ray.remote(max_retries=0, num_cpus=threads, scheduling_strategy="SPREAD")(attempt)
        self._tasks: dict[Any, Task] = {}

    def submit(self, task: Task) -> None:
        self._tasks[self._attempt.remote(self._work, task)] = task

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        (ended, *_), _ = ray.wait(list(self._tasks), num_returns=1)
        task = self._tasks.pop(ended)
        try:
            outcome: Outcome = ray.get(ended)
            return task, outcome
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
            return task, Died(f"as Ray reports ({type(error).__name__})", first_line(error))
        except ray.exceptions.OutOfMemoryError as error:
            return task, Died("because Ray's monitor found too little memory", first_line(error))
        except ray.exceptions.RayError as error:
            return task, engine_failure("Ray", task.shard.where, error)

    def close(self) -> None:
        for task in self._tasks:
            ray.cancel(task, force=True)
        self._tasks.clear()
        if self._is_own:
            ray.shutdown()
