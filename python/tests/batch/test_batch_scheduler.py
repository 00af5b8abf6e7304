"""Retries and the search for rows that end workers, on an engine that only pretends to run tasks."""

import random

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from scanloom import batch  # noqa: E402
from scanloom._batch.problems import Failure  # noqa: E402
from scanloom._batch.scheduler import Died, Scheduler  # noqa: E402
from scanloom._batch.shards import Group, InputFile, Record, Shard  # noqa: E402

ROWS = 10


class Engine:
    """Ends its tasks in a random order. If it is not exact, a task that ends its worker takes all
    others with it, as Dask reports it."""

    def __init__(self, behave, is_exact, slots=3):
        self.is_exact = is_exact
        self.slots = slots
        self.deaths = 0
        self._behave = behave
        self._chance = random.Random(1)
        self._tasks = []
        self._dead = []

    def submit(self, task):
        self._tasks.append(task)
        assert len(self._tasks) + len(self._dead) <= self.slots

    def wait(self):
        if self._dead:
            return self._dead.pop(), Died("by a test")
        task = self._tasks.pop(self._chance.randrange(len(self._tasks)))
        outcome = self._behave(task)
        if isinstance(outcome, Died):
            self.deaths += 1
            if not self.is_exact:
                self._dead, self._tasks = self._tasks, []
        return task, outcome


def shards(count):
    file = InputFile("in.parquet", "/in.parquet", 1, 1)
    return [Shard(0, file, Group(i, ROWS * i, ROWS)) for i in range(count)]


def record(task):
    bad = len(task.banned)
    return Record(ROWS - bad, bad, 1, "", "", 0.0)


def killing(*rows):
    """A model that ends its worker at some rows, which count from the first of the file."""

    def behave(task):
        first = task.shard.group.first_row
        begin, end = (task.begin, task.end) if task.probe else (0, ROWS)
        banned = [first + row for row, _ in task.banned]
        if any(first + begin <= row < first + end and row not in banned for row in rows):
            return Died("by a test")
        return None if task.probe else record(task)

    return behave


@pytest.fixture(params=[True, False], ids=["exact", "inexact"])
def run(request):
    """Runs shards; returns what was recorded, by shard, and the scheduler."""

    def start(behave, count=6, retries=1, quarantine=True):
        engine, found = Engine(behave, request.param), {}

        def done(shard, made):
            assert shard.group.number not in found
            found[shard.group.number] = made

        scheduler = Scheduler(engine, done, retries, quarantine)
        try:
            scheduler.run(shards(count))
        finally:
            start.found, start.deaths, start.retried = found, engine.deaths, scheduler.retried
        return found

    return start


def test_every_shard_is_recorded_once(run):
    assert sorted(run(killing())) == list(range(6)) and run.retried == 0


def test_workers_that_die_now_and_then(run):
    chance = random.Random(2)
    assert len(run(lambda task: Died("by chance") if chance.random() < 0.3 else record(task), 40, retries=20)) == 40
    assert run.deaths > 5


@pytest.mark.parametrize("rows", [(0,), (9,), (25, 26), (10, 19, 38), range(30, 40)])
@pytest.mark.parametrize("retries", [0, 1])
def test_rows_that_end_workers_are_found(run, rows, retries):
    tasks = []

    def behave(task):
        tasks.append(task)
        return killing(*rows)(task)

    found = run(behave, retries=retries)
    assert {number: made.quarantined for number, made in found.items()} == {
        number: sum(number == row // ROWS for row in rows) for number in range(6)}  # fmt: skip
    banned = {ROWS * task.shard.group.number + row for task in tasks for row, _ in task.banned}
    assert banned == set(rows)


def test_a_shard_of_one_row(run, monkeypatch):
    monkeypatch.setitem(globals(), "ROWS", 1)
    assert [made.quarantined for _, made in sorted(run(killing(2)).items())] == [0, 0, 1, 0, 0, 0]


def test_rows_that_end_workers_stop_a_job_that_raises(run):
    with pytest.raises(batch.JobFailed, match=r"rows 20 to 29: the worker ended 2 times \(retries=1\), at last by a test"):
        run(killing(23), quarantine=False)


def test_neighbours_of_such_a_row_are_no_suspects(run):
    """With no retries at all, a death that is not theirs must not count."""
    with pytest.raises(batch.JobFailed, match=r"rows 20 to 29: the worker ended 1 time"):
        run(killing(23), retries=0, quarantine=False)


def test_too_many_rows_that_end_workers(run, monkeypatch):
    monkeypatch.setitem(globals(), "ROWS", 40)
    with pytest.raises(batch.JobFailed, match="rows 0 to 39: more than 16 rows end workers"):
        run(killing(*range(40)), count=1)


def test_rows_that_are_only_too_much_together(run):
    def behave(task):
        is_whole = not task.probe
        return Died("by a test") if is_whole or task.end - task.begin > 3 else None

    with pytest.raises(batch.JobFailed, match="rows 0 to 9: the worker ended"):
        run(behave, count=1)


@pytest.mark.parametrize("failures", [2, 3])
def test_failures_that_pass(run, failures):
    left = [failures]

    def behave(task):
        if task.shard.group.number == 1 and left[0]:
            left[0] -= 1
            return Failure("job_failed", "the network is gone", is_transient=True)
        return record(task)

    if failures <= 2:
        assert len(run(behave, retries=2)) == 6 and run.retried == 2
    else:
        with pytest.raises(batch.JobFailed, match="the network is gone"):
            run(behave, retries=2)


def test_a_failure_that_lasts_lets_running_shards_end(run):
    def behave(task):
        return Failure("version_mismatch", "other versions") if task.shard.group.number == 0 else record(task)

    with pytest.raises(batch.VersionMismatch, match="other versions"):
        run(behave)
    assert 1 <= len(run.found) < 6


def test_an_error_while_recording_is_raised():
    def done(shard, made):
        raise batch.JobChanged("computed twice")

    with pytest.raises(batch.JobChanged):
        Scheduler(Engine(killing(), True), done, 1, False).run(shards(3))
