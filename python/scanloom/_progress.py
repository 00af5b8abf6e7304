"""What is shown of the progress of runs and jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, Union

from ._errors import InvalidArgument

Listener = TypeVar("Listener", bound=Callable[..., Any])
_WIDTH = 30


def listener_of(progress: Union[Listener, bool, None], draw: Listener) -> Union[Listener, None]:
    """Returns what is called: True stands for `draw` if the standard error is a terminal. Raises
    InvalidArgument."""
    if progress is True:
        return draw if sys.stderr.isatty() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise InvalidArgument(f"progress is {progress!r}, but must be callable, True or None")
    return progress


def bar(done: int, total: int) -> str:
    """A bar as text, of which done/total are filled."""
    filled = min(_WIDTH, _WIDTH * done // max(total, 1))
    return "[" + "#" * filled + "." * (_WIDTH - filled) + "]"


def redraw(text: str, end: str = "") -> None:
    """Replaces the last line of the terminal."""
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
