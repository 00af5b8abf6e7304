"""The profile of a compiled function."""

from __future__ import annotations

import atexit
import sys
import weakref
from typing import TYPE_CHECKING, Any, TextIO, Union

from .._counted import counted

if TYPE_CHECKING:
    from .. import _native
    from .compiled import Function


class Profile:
    """The times of all calls of a function made with profile=True. As in Theano, times that
    summary() has not shown are written to stderr when Python exits."""

    __module__ = "scanloom._function"  # the former module, which pickles name

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self._rows: dict[tuple[str, str, int], list[float]] = {}
        self._function: Union[weakref.ref[Function], None] = None
        self._is_shown = True

    def _is_of(self, function: Function) -> None:
        self._function = weakref.ref(function)
        if not _profiles:
            atexit.register(_show_profiles)
        _profiles.append(self)

    def _add(self, rows: list[_native._NodeTime]) -> None:
        self.calls += 1
        self._is_shown = False
        for node, kernel, calls, seconds, depth in rows:
            row = self._rows.setdefault((node, kernel, depth), [0, 0.0])
            row[0] += calls
            row[1] += seconds

    def summary(self, file: Union[TextIO, None] = None, **_: Any) -> None:
        """Writes a table with the time, share and number of calls of each node, followed by the
        steps, time per step, memory and strategy of each loop.

        The time of a loop includes its body, which is indented below it. Times of parallel threads
        are added up.
        """
        self._is_shown = True
        to = sys.stderr if file is None else file
        whole = sum(row[1] for (_, _, depth), row in self._rows.items() if depth == 0)
        often = counted(self.calls, "call")
        to.write(f"{('function ' + self.name).strip()}: {often}, {whole * 1e3:.3f} ms in nodes\n")
        to.write("        time   share      calls     per call  node (indented: part of those above)\n")
        for (node, kernel, depth), (calls, seconds) in self._rows.items():
            share = seconds / whole if whole else 0.0
            each = seconds / calls if calls else 0.0
            to.write(
                f"{seconds * 1e3:9.3f} ms  {share:5.1%}  {int(calls):9d}  {each * 1e6:8.2f} us"
                f"  {'  ' * depth}{node or '-'} ({kernel})\n"
            )
        function = None if self._function is None else self._function()
        if function is not None:
            to.write(function.explain())


_profiles: list[Profile] = []


def _show_profiles() -> None:
    for profile in _profiles:
        if not profile._is_shown:
            profile.summary()
