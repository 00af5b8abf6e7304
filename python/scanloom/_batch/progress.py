"""How far a job is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Union

from .._progress import bar, duration, redraw


class Progress(NamedTuple):
    """What is done of a job, counting what an earlier start has done."""

    shards: int
    all_shards: int
    rows: int
    all_rows: int
    quarantined: int
    rows_per_second: float  # of this start
    seconds_left: float  # infinite before the first shard


Listener = Callable[[Progress], object]


class Meter:
    """Counts shards and rows as they are done, and reports them."""

    def __init__(self, shards: int, rows: int, listener: Union[Listener, None]) -> None:
        self._all = shards, rows
        self._listener = listener
        self._begun = time.monotonic()
        self.shards = self.rows = self.quarantined = self._new_rows = 0

    def add(self, rows: int, quarantined: int, is_new: bool) -> None:
        self.shards += 1
        self.rows += rows + quarantined
        self.quarantined += quarantined
        self._new_rows += (rows + quarantined) * is_new
        if is_new:
            self.report()

    def report(self) -> None:
        if self._listener is None:
            return
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rate = self._new_rows / seconds
        left = (self._all[1] - self.rows) / rate if rate else float("inf")
        self._listener(
            Progress(self.shards, self._all[0], self.rows, self._all[1], self.quarantined, rate, left)
        )


def draw_bar(at: Progress) -> None:
    left = "" if at.seconds_left == float("inf") else f", {duration(at.seconds_left)} left"
    bad = f", {at.quarantined} quarantined" if at.quarantined else ""
    redraw(
        f"{bar(at.shards, at.all_shards)} {at.shards}/{at.all_shards} shards, {at.rows_per_second:,.0f} rows/s{left}{bad}",
        end="\n" if at.shards == at.all_shards else "",
    )
