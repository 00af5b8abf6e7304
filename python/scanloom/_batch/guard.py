"""The memory of a worker."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Union

from .._errors import InvalidArgument

# The exit status of a worker that reached its limit.
EXIT_MEMORY = 77
_POLL_SECONDS = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """The memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE


class MemoryGuard:
    """Ends the process if it takes more than `limit` bytes inside the block; None: never.

    The resident size is measured, because limits of the address space also count what allocators and
    the loop compiler only reserve. The driver isolates the row that took so much.
    """

    _has_worked = False  # whether this process has done a task

    def __init__(self, limit: Union[int, None]) -> None:
        self._limit = limit
        self._over = threading.Event()

    def __enter__(self) -> None:
        if self._limit is None:
            return
        now = resident()
        if now >= self._limit and MemoryGuard._has_worked:
            os._exit(EXIT_MEMORY)  # a new process has room again
        if now >= self._limit:
            raise InvalidArgument(
                f"the limit of {self._limit / 1e6:.3g} MB is too small: a worker takes {now / 1e6:.3g} MB before its first row",
                ("give more memory per worker",),
            )
        MemoryGuard._has_worked = True
        threading.Thread(target=self._watch, args=(self._limit,), daemon=True).start()

    def __exit__(
        self, kind: Union[type[BaseException], None], error: Union[BaseException, None],
        trace: Union[TracebackType, None],
    ) -> None:
        self._over.set()

    def _watch(self, limit: int) -> None:
        while not self._over.wait(_POLL_SECONDS):
            if resident() > limit:
                os._exit(EXIT_MEMORY)
