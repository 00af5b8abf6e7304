"""Hands tasks to an engine: retries, and the search for rows that end every worker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, Union

from .._counted import counted
from .problems import Failure, error_of
from .shards import Record, Shard, Task
from .spelling import given
from .work import Outcome


# More rows of one shard that end workers are not set aside: something else is wrong.
_MAX_FOUND = 16


class Died(NamedTuple):
    """The worker of a task ended before it answered."""

    reason: str  # the same each time, because the quarantine has it
    detail: str = ""


class Engine(Protocol):
    """Maps work.attempt over tasks on some processes."""

    slots: int  # how many tasks it takes at a time
    # Whether only the task that ended a worker is reported as Died, not others that waited there.
    is_exact: bool

    def submit(self, task: Task) -> None:
        """Hands over a task. The work was passed when the engine was made."""

    def wait(self) -> tuple[Task, Union[Outcome, Died]]:
        """Blocks until a task ends."""

    def close(self) -> None:
        """Ends the workers that it started. Tasks that still run are abandoned."""


class Scheduler:
    """Runs shards to their end. `done` is called with each shard and its record, on this thread.

    A shard whose worker dies is tried again `retries` times. Then its rows are halved until the rows
    that end workers are found, if rows may be quarantined; otherwise the job stops with an error.
    """

    def __init__(
        self, engine: Engine, done: Callable[[Shard, Record], None], retries: int, quarantine: bool
    ) -> None:
        self._engine = engine
        self._done = done
        self._retries = retries
        self._quarantine = quarantine
        self._queue: deque[Task] = deque()
        self._suspects: deque[Task] = deque()  # run one by one, while nothing else runs
        self._running = 0
        self._runs_suspect = False
        self._deaths: Counter[tuple[str, int, int]] = Counter()
        self._searches: dict[str, _Search] = {}
        self._failure: Union[Failure, None] = None
        self.retried = 0

    def run(self, shards: Iterable[Shard]) -> None:
        """Returns when all shards are done. After an error, tasks that run are waited for and recorded,
        so that their work is not lost. Raises what error_of makes, and what `done` raises."""
        self._queue.extend(Task(shard) for shard in shards)
        while True:
            if self._failure is None:
                self._submit()
            if not self._running:
                break
            task, outcome = self._engine.wait()
            self._running -= 1
            self._take(task, outcome)
        if self._failure is not None:
            raise error_of(self._failure)

    def _submit(self) -> None:
        """Hands over as many tasks as may run now."""
        if self._suspects:
            if not self._running:
                self._start(self._suspects.popleft(), is_suspect=True)
            return
        while self._queue and self._running < self._engine.slots:
            self._start(self._queue.popleft())

    def _start(self, task: Task, is_suspect: bool = False) -> None:
        self._engine.submit(task)
        self._running += 1
        self._runs_suspect = is_suspect

    def _again(self, task: Task) -> None:
        """Puts a task in front. If the engine is not exact, it runs while nothing else does."""
        (self._queue if self._engine.is_exact else self._suspects).appendleft(task)

    def _take(self, task: Task, outcome: Union[Outcome, Died]) -> None:
        if isinstance(outcome, Record):
            self._done(task.shard, outcome)
        elif isinstance(outcome, Died):
            self._died(task, outcome.reason, outcome.detail)
        elif isinstance(outcome, Failure):
            self._failed(task, outcome)
        else:
            self._continue_search(task.shard)

    def _failed(self, task: Task, failure: Failure) -> None:
        if failure.is_transient and self._count(task) <= self._retries:
            self._queue.appendleft(task)
            self.retried += 1
        elif self._failure is None:
            self._failure = failure

    def _count(self, task: Task) -> int:
        key = (task.shard.name, task.begin, task.end)
        self._deaths[key] += 1
        return self._deaths[key]

    def _died(self, task: Task, reason: str, detail: str) -> None:
        if not (self._engine.is_exact or self._runs_suspect):
            self.retried += 1
            self._again(task)
            return
        times = self._count(task)
        if times <= self._retries and (not task.probe or task.end - task.begin == 1):
            self._again(task)
            self.retried += 1
        elif task.probe:
            self._search(task, reason)
        elif self._quarantine and task.shard.name not in self._searches:
            self._searches[task.shard.name] = _Search(task.shard)
            self._continue_search(task.shard)
        elif self._failure is None:
            hint = f"give more memory, or {given('on_error', 'quarantine')} to find and set aside the rows"
            self._failure = Failure(
                "job_failed",
                f"{task.shard.where}: the worker ended {counted(times, 'time')} ({given('retries', self._retries)}), at last {reason}{detail and ': '}{detail}",
                (hint,) if not self._quarantine else ("its rows run one by one, but not together: give more memory",),
            )

    def _search(self, task: Task, reason: str) -> None:
        search = self._searches[task.shard.name]
        search.died(task, reason)
        if search.found <= _MAX_FOUND:
            self._continue_search(task.shard)
        elif self._failure is None:
            text = f"{task.shard.where}: more than {_MAX_FOUND} rows end workers, at last {reason}"
            self._failure = Failure("job_failed", text, ("give more memory, or see what ends the workers",))

    def _continue_search(self, shard: Shard) -> None:
        task = self._searches[shard.name].next()
        if not task.probe:
            self._deaths.pop((shard.name, 0, 0), None)
        self._again(task)


class _Search:
    """Finds the rows of a shard that end workers, by halving."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._banned: list[tuple[int, str]] = []
        self._ranges: list[tuple[int, int]] = []
        self._divide(0, shard.group.rows)  # all of them together have ended workers

    @property
    def found(self) -> int:
        return len(self._banned)

    def died(self, task: Task, reason: str) -> None:
        if task.end - task.begin == 1:
            self._banned.append((task.begin, f"the worker ends at this row: {reason}"))
        else:
            self._divide(task.begin, task.end)

    def _divide(self, begin: int, end: int) -> None:
        middle = (begin + end + 1) // 2
        self._ranges += [(first, last) for first, last in ((middle, end), (begin, middle)) if first < last]

    def next(self) -> Task:
        """The next rows to try; at the end the whole shard without the rows found."""
        if self._ranges:
            return Task(self._shard, True, *self._ranges.pop())
        return Task(self._shard, banned=tuple(sorted(self._banned)))
