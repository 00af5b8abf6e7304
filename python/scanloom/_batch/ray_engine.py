"""Workers of Ray: one task per shard."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import signal
import socket
import tempfile
import time
from typing import Any, Union


from .problems import AGAIN, JobFailed, engine_failure, first_line
from .scheduler import Died
from .scratch import scratch
from .shards import Task
from .spelling import given
from .work import Outcome, Sealed, attempt

ray: Any = importlib.import_module("ray")  # most of it has no types

_POLL_SECONDS = 5.0
_PATIENCE_SECONDS = 60
_REACH_SECONDS = 30
_HEAD_SECONDS = 30  # Ray ends the whole program after 60 s without its head
_STARTS = 3
_LONGEST_ROOT = 20  # of the 107 bytes of a socket's path, Ray's names take 64, and the folder's 22


def start(
    sealed: Sealed, workers: Union[int, None], threads: int, address: Union[str, None]
) -> "RayEngine":
    """Connects to the Ray of `address`, or uses the connected one, or starts one on this machine."""
    with contextlib.ExitStack() as own:
        if not ray.is_initialized():
            _connect(own, workers, threads, address)
        return RayEngine(sealed, _slots(workers, threads), threads, own.pop_all())


def _connect(
    own: contextlib.ExitStack, workers: Union[int, None], threads: int, address: Union[str, None]
) -> None:
    """Puts what must be undone at the end of the job into `own`."""
    if address is None and "RAY_ADDRESS" not in os.environ:
        cpus = (workers or max(len(os.sched_getaffinity(0)) // threads, 1)) * threads
        for _ in range(_STARTS - 1):  # Ray waits 30 s for itself, which is too short on a busy machine
            with contextlib.suppress(Exception):
                return _start_here(own, cpus)
        return _start_here(own, cpus)
    _check_is_there(address or os.environ["RAY_ADDRESS"])
    own.callback(ray.shutdown)
    try:
        ray.init(address, log_to_driver=False, logging_level="error")
    except ConnectionError as error:
        if "InvalidAuthToken" not in str(error.__cause__):
            raise
        advice = "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN if the token is not in ~/.ray/auth_token"
        raise ConnectionError(f"{error}, which asks for a token: {advice}") from error


def _check_is_there(address: str, seconds: float = _REACH_SECONDS) -> None:
    """Raises OSError if nobody listens at an address with a port. Ray itself tries for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()


def _start_here(own: contextlib.ExitStack, cpus: int) -> None:
    """Starts Ray on this machine."""
    with contextlib.ExitStack() as undo:
        # Ray itself never removes its logs.
        folder = undo.enter_context(scratch(_temporary(), "scanloom-ray-"))
        undo.callback(_end_programs_of, folder)
        undo.callback(ray.shutdown)
        # "local" is not one that somebody else has started on this machine.
        ray.init("local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="error",
                 _temp_dir=str(folder))  # fmt: skip
        own.push(undo.pop_all())


def _end_programs_of(folder: pathlib.Path) -> None:
    """Ends what a start that failed has left: children that have the folder among their arguments."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and f"{folder}/".encode() in (path / "cmdline").read_bytes():
                os.kill(int(path.name), signal.SIGKILL)


def _temporary() -> pathlib.Path:
    """Where Ray may have its files: the paths of its sockets must be short."""
    root = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    return pathlib.Path(root if len(root) <= _LONGEST_ROOT else "/tmp")


def _slots(workers: Union[int, None], threads: int) -> int:
    """As many tasks as there shall be workers, or twice as many as the cluster has room for, so that
    none waits for the driver."""
    if workers is not None:
        return workers
    return max(2 * int(ray.cluster_resources().get("CPU", 1)) // threads, 1)


class RayEngine:
    """Tasks of Ray, which places and runs them."""

    is_exact = True

    def __init__(self, sealed: Sealed, slots: int, threads: int, own: contextlib.ExitStack) -> None:
        self.slots = slots
        self._own = own
        self._work = sealed
        self._threads = threads
        # The scheduler of jobs counts retries, and knows what to do when they are used up.
        self._attempt = ray.remote(max_retries=0, num_cpus=threads, scheduling_strategy="SPREAD")(attempt)
        self._tasks: dict[Any, Task] = {}
        # Through `ray://` the address is one within the cluster, which this machine may not reach.
        is_client = ray.util.client.ray.is_connected()
        self._head: Union[str, None] = None if is_client else ray.get_runtime_context().gcs_address
        self._has_head = True

    def submit(self, task: Task) -> None:
        self._tasks[self._attempt.remote(self._work, task)] = task

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        ended = self._next()
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

    def _next(self) -> Any:
        """A task that has ended. Raises JobFailed if none can run."""
        waited, seen = 0.0, time.monotonic()
        while True:
            (*ended,), _ = ray.wait(list(self._tasks), num_returns=1, timeout=_POLL_SECONDS)
            if ended:
                return ended[0]
            if self._head_answers():
                seen = time.monotonic()
            elif time.monotonic() - seen < _HEAD_SECONDS:
                continue
            else:
                self._has_head = False
                raise JobFailed(f"Ray's head at '{self._head}' does not answer, for {_HEAD_SECONDS} s", (AGAIN,))
            trouble = self._trouble()
            waited = 0.0 if trouble is None else waited + _POLL_SECONDS
            if waited > _PATIENCE_SECONDS:
                raise JobFailed(f"{trouble}, for {_PATIENCE_SECONDS} s", (AGAIN,))

    def _head_answers(self) -> bool:
        """Asks without Ray, whose own questions wait for the head. True through `ray://`: Ray watches that
        connection."""
        if self._head is None:
            return True
        try:
            _check_is_there(self._head, _POLL_SECONDS)
        except OSError:
            return False
        return True

    def _trouble(self) -> Union[str, None]:
        """Why no task can run, if that is so. Ray itself waits for machines without end."""
        cpus = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        if max(cpus, default=0) >= self._threads:
            return None
        return f"no machine of Ray has the CPUs of a task ({given('threads', self._threads)}); the largest has {max(cpus, default=0):g}"

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone, which is no reason to lose a report
            for task in self._tasks if self._has_head else ():
                ray.cancel(task, force=True)
        self._tasks.clear()
        self._own.close()
