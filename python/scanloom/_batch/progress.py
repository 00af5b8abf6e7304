"""How far a job is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, Union

from .._errors import InvalidArgument

_WIDTH = 30


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


def listener_of(progress: Union[Listener, bool, None]) -> Union[Listener, None]:
    """Returns what is called; True draws a bar if the standard error is a terminal. Raises
    InvalidArgument."""
    if progress is True:
        return draw_bar if sys.stderr.isatty() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise InvalidArgument(f"progress is {progress!r}, but must be callable, True or None")
    return progress


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
    filled = _WIDTH * at.shards // max(at.all_shards, 1)
    bar = "#" * filled + "." * (_WIDTH - filled)
    left = "" if at.seconds_left == float("inf") else f", {duration(at.seconds_left)} left"
    bad = f", {at.quarantined} quarantined" if at.quarantined else ""
    text = f"[{bar}] {at.shards}/{at.all_shards} shards, {at.rows_per_second:,.0f} rows/s{left}{bad}"
    end = "\n" if at.shards == at.all_shards else ""
    sys.stderr.write(f"\r\x1b[K{text}{end}")
    sys.stderr.flush()


def duration(seconds: float) -> str:
    """A time as text: "42 s", "3 min 5 s", "2 h 10 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
