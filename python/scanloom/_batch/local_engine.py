"""Workers on this machine: processes of this interpreter, which do not import the main program."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import Any, Union

from .guard import EXIT_MEMORY
from .problems import AGAIN, Failure, JobFailed
from .scheduler import Died
from .shards import Task
from .work import Outcome, Sealed

_PROGRAM = "import sys; sys.path[:] = {path!r}; from scanloom._batch.local_worker import serve; serve({handle})"


class LocalEngine:
    """`workers` processes. One that ends is replaced when its task has been reported."""

    is_exact = True

    def __init__(self, sealed: Sealed, workers: int) -> None:
        self._work = sealed
        self.slots = workers
        self._idle: deque[_Worker] = deque()
        self._busy: dict[Connection, _Worker] = {}

    def submit(self, task: Task) -> None:
        worker = self._idle.popleft() if self._idle else _Worker(self._work)
        worker.give(task)
        self._busy[worker.pipe] = worker

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        pipe: Any = wait(list(self._busy))[0]
        worker = self._busy.pop(pipe)
        task = worker.task
        outcome = worker.take()
        if worker.is_alive:
            self._idle.append(worker)
        return task, outcome

    def close(self) -> None:
        for worker in [*self._idle, *self._busy.values()]:
            worker.end()
        self._idle.clear()
        self._busy.clear()


class _Worker:
    """A process, and the pipe to it. Raises JobFailed if it cannot be started."""

    task: Task

    def __init__(self, work: Sealed) -> None:
        with contextlib.ExitStack() as both:
            try:
                ours, theirs = map(both.enter_context, socket.socketpair())
                handle = theirs.fileno()
                program = _PROGRAM.format(path=sys.path, handle=handle)
                self._process = subprocess.Popen(
                    [sys.executable, "-c", program], pass_fds=[handle], stdin=subprocess.DEVNULL,
                    env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
                )  # fmt: skip
            except OSError as error:
                raise JobFailed(f"a worker cannot be started: {error.strerror or error}", (AGAIN,)) from None
            self.pipe = Connection(ours.detach())
        self.is_alive = True
        self._has_begun = False
        self._send(work)

    def give(self, task: Task) -> None:
        self.task = task
        self._send(task)

    def _send(self, value: object) -> None:
        with contextlib.suppress(OSError):  # it has ended, which take() reports
            self.pipe.send(value)

    def take(self) -> Union[Outcome, Died]:
        try:
            if not self._has_begun:
                self._has_begun = self.pipe.recv()
            outcome: Outcome = self.pipe.recv()
            return outcome
        except (EOFError, OSError):
            self.is_alive = False
            self.pipe.close()
            reason = _reason(self._process.wait())
            if self._has_begun:
                return Died(reason)
            text = f"{self.task.shard.where}: a worker ended at its start, {reason}"
            return Failure("job_failed", text, ("see its messages above",), is_transient=True)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.pipe.close()


def _reason(status: int) -> str:
    if status == EXIT_MEMORY:
        return "because it reached the limit of its memory"
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        hint = " (which the system sends when memory runs out)" if name == "SIGKILL" else ""
        return f"by {name}{hint}"
    return f"with status {status}"
