"""Reports of the progress of a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Union

from .._progress import bar, listener_of, redraw

Progress = Callable[[str, int, int], object]


def is_on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def progress_callback(progress: Union[Progress, bool, None]) -> Union[Progress, None]:
    """Returns what is called; True draws a bar on a terminal. Raises InvalidArgument."""
    return listener_of(progress, _draw_bar)


def _draw_bar(node: str, step: int, steps: int) -> None:
    if steps > 0:
        redraw(f"{bar(step, steps)} {100 * step // steps:3d} % {node}")
    else:
        redraw(f"{step} steps {node}")
