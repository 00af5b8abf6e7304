"""Runs a model on the rows of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import Cancelled, Error, Internal
from .._ort.options import RunOptions
from .feeding import Feed
from .results import Output
from .rows import Rows

# Rows of a run at first; later runs take as many as fit the budget.
_FIRST_ROWS = 64
_MAX_ROWS = 4096

_MORE_FOR_RUN = "raise it with the option max_memory"
_MORE_MEMORY = "give more memory per worker: a run may take half of it"


class Scoring(NamedTuple):
    """How rows are run: the same for all shards of a job."""

    feeds: tuple[Feed, ...]
    outputs: tuple[Output, ...]
    shared: Mapping[str, Any]
    batch: int
    by_length: bool
    memory: Union[int, None]

    @property
    def budget(self) -> int:
        """The bytes of rows and results that are held at a time."""
        return 64 << 20 if self.memory is None else max(self.memory // 16, 1 << 20)


class Scored(NamedTuple):
    """The results of some rows, or what is wrong with a row, in the order of the rows."""

    first: int
    results: list[Union[list[np.ndarray], Error]]


def score_batch(
    session: Any, scoring: Scoring, batch: pa.RecordBatch, skipped: Mapping[int, str] = {}
) -> Iterator[Scored]:
    """Runs the rows of a batch, as many at a time as fit the budget. Rows in `skipped` are not run
    and get their text as an error."""
    rows = Rows(batch, scoring.feeds, scoring.shared)
    first, count = 0, _FIRST_ROWS
    while first < batch.num_rows:
        count = min(count, batch.num_rows - first)
        feeds = [_feeds_or_error(rows, row, skipped) for row in range(first, first + count)]
        results = _run(session, scoring, feeds)
        yield Scored(first, results)
        size = sum(_size(each) for each in feeds) + sum(_size(each) for each in results)
        first += count
        count = int(min(_MAX_ROWS, max(1, count * scoring.budget // max(size, 1)), 4 * count))


def _feeds_or_error(rows: Rows, row: int, skipped: Mapping[int, str]) -> Union[dict[str, Any], Error]:
    if row in skipped:
        return Error(skipped[row])
    try:
        return rows.at(row)
    except Error as error:
        return error


def _run(
    session: Any, scoring: Scoring, feeds: Sequence[Union[dict[str, Any], Error]]
) -> list[Union[list[np.ndarray], Error]]:
    """Runs the rows that have feeds, sorted by length if that is wanted."""
    good = [row for row, each in enumerate(feeds) if not isinstance(each, Error)]
    if scoring.by_length:
        good.sort(key=lambda row: _size(feeds[row]))
    names = [output.name for output in scoring.outputs]
    options = RunOptions(max_memory=None if scoring.memory is None else max(scoring.memory // 2, 1))
    made = score_rows(session, names, [feeds[row] for row in good], scoring.batch, options)
    results: list[Any] = list(feeds)
    for row, each in zip(good, made):
        results[row] = _of_worker(each) if isinstance(each, Error) else each
    return results


def _of_worker(error: Error) -> Error:
    """The error with notes about the limit of a worker instead of that of a run, which the caller of a
    job does not give."""
    notes = tuple(_MORE_MEMORY if note == _MORE_FOR_RUN else note for note in error.notes)
    return error if notes == error.notes else type(error)(error.text, notes)


def score_rows(
    session: Any, names: Sequence[str], feeds: Sequence[Any], batch: int, options: RunOptions
) -> list[Union[list[np.ndarray], Error]]:
    """Runs a model on sequences. An error takes the position of the results of its sequence."""
    if not hasattr(session, "run_many"):
        return [_alone(session, names, feed, options) for feed in feeds]
    try:
        made = session.run_many(names, feeds, batch=batch, run_options=options, on_error="return")
    except Error as error:
        _check_is_of_rows(error)
        made = [error] * len(feeds)
    # An error of rows that run together may be that of another row, such as a limit of memory.
    return [_alone(session, names, feed, options) if isinstance(each, Error) else each
            for feed, each in zip(feeds, made)]  # fmt: skip


def _alone(
    session: Any, names: Sequence[str], feed: Any, options: RunOptions
) -> Union[list[np.ndarray], Error]:
    try:
        made: list[np.ndarray] = session.run(names, feed, options)
        return made
    except Error as error:
        _check_is_of_rows(error)
        return error


def _check_is_of_rows(error: Error) -> None:
    """Raises errors that say nothing about the rows."""
    if isinstance(error, (Cancelled, Internal)):
        raise error


def _size(value: Any) -> int:
    """The bytes of the feeds or results of a row; 0 for an error."""
    arrays = value.values() if isinstance(value, dict) else value
    if isinstance(value, Error):
        return 0
    total = 0
    for each in arrays:
        with contextlib.suppress(AttributeError):
            total += each.nbytes
    return total
