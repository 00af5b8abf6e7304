"""Reports of the progress of a run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Union

from .._errors import InvalidArgument

Progress = Callable[[str, int, int], object]


def is_on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def progress_callback(progress: Union[Progress, bool, None]) -> Union[Progress, None]:
    """Returns what is called; True draws a bar on a terminal. Raises InvalidArgument."""
    if progress is True:
        return _draw_bar if sys.stderr.isatty() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise InvalidArgument(f"progress is {progress!r}, but must be callable, True or None")
    return progress


def _draw_bar(node: str, step: int, steps: int) -> None:
    if steps > 0:
        filled = min(30, 30 * step // steps)
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {100 * step // steps:3d} % {node}"
    else:
        text = f"{step} steps {node}"
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
