"""Streams: successive runs of one session that carry states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .. import _native
from .._errors import InvalidArgument
from .._suggest import did_you_mean
from .feeding import Feeds, GivenSizes, feeds_of, names_of
from .option_values import texts
from .options import RunOptions, run_settings
from .pickling import restore_stream

if TYPE_CHECKING:
    from .._report import Report
    from .session import InferenceSession


class Stream:
    """Runs a session repeatedly and carries its states. Concurrent pushes are serialized, in no
    particular order.

    A successful push updates all states; a failed one updates none.
    """

    __module__ = "scanloom._stream"  # the former module, which pickles name

    def __init__(
        self,
        session: InferenceSession,
        native: _native.Stream,
        states: Sequence[tuple[str, str]],
        defaults: Sequence[str],
        sizes: GivenSizes,
    ) -> None:
        self._session = session
        self._native = native
        self._inputs = [name for name, _ in states]
        self._outputs = [name for _, name in states]
        self._defaults = defaults
        self._sizes = sizes

    def push(
        self,
        feeds: Feeds,
        output_names: Union[Sequence[str], None] = None,
        run_options: Union[RunOptions, None] = None,
    ) -> Any:
        """Runs with the feeds and the current states.

        Returns the named outputs as a list. Without names, returns the outputs that are not
        states: a list, or the array itself if there is only one.
        """
        given = feeds_of(feeds)
        self._refuse_kept(given)
        self._sizes.check(given)
        wanted = names_of(output_names)
        results = dict(self._native.push(given, run_settings(run_options)))
        if not wanted:
            arrays = [array for name, array in results.items() if name not in self._outputs]
            return arrays[0] if len(arrays) == 1 else arrays
        unknown = [name for name in wanted if name not in results]
        if unknown:
            raise InvalidArgument(
                f"the model has no output '{unknown[0]}'{did_you_mean(unknown[0], results)}",
                (f"its outputs are: {', '.join(results)}",),
            )
        return [results[name] for name in wanted]

    def set(self, input: str, value: Any) -> None:
        """Sets one state. Raises NotFound, InvalidArgument."""
        (name,) = texts("the name of a state", [input])
        self._sizes.check({name: value})
        is_strided = isinstance(value, np.ndarray) and value.ndim > 0
        self._native.set(name, np.ascontiguousarray(value) if is_strided else value)

    def get(self, state: str) -> Any:
        """The value of a state, by its name in the session's get_states(). Raises NotFound if
        there is no such state, or if the first push has yet to compute its initial value."""
        (name,) = texts("the name of a state", [state])
        return self._native.get(name, run_settings(None))

    def reset(self) -> None:
        """Resets all states to their initial values."""
        self._native.reset()

    reset_state = reset  # OpenVINO's name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the session and all states; the restored stream continues from here."""
        states = dict(zip(self._inputs, self._outputs))
        return restore_stream, (self._session, states, self._native.save())

    def __copy__(self) -> "Stream":
        states = dict(zip(self._inputs, self._outputs))
        return restore_stream(self._session, states, self._native.save())

    def __deepcopy__(self, memo: dict[int, Any]) -> "Stream":
        return self.__copy__()

    def explain(self) -> str:
        """Describes how the loops of a push run; see InferenceSession.explain()."""
        return self._native.explain()

    def report(self, *, title: str = "") -> "Report":
        """Returns a report of the program that the pushes run: its graph, its loops and what would
        make them faster, the memory of a push, the sizes of the states that are kept, and programs
        that push to such a stream. Runs nothing: sizes, strategies and memory are those of the last
        push.

        title: by default the name of the model's file, or of its graph.

        The report raises Unsupported when it is asked for the page, if the package was built without
        it.
        """
        # As in InferenceSession.report().
        from .._report import Report, title_and_runs

        title, _ = title_and_runs(title, 0)
        return Report(self._native.report(title))

    def _repr_html_(self) -> Union[str, None]:
        """The report of the stream, for notebooks."""
        return self.report()._repr_html_()

    def _refuse_kept(self, feeds: Feeds) -> None:
        """Raises InvalidArgument for a feed that is a state of the stream."""
        for name in feeds:
            if name in self._inputs:
                raise InvalidArgument(
                    f"input '{name}' is a state that the stream keeps; it cannot be fed",
                    (f"set it with stream.set('{name}', value)",),
                )
            if name in self._defaults:
                raise InvalidArgument(
                    f"input '{name}' has a default value, which is part of the stream's program",
                    (f"load the session with fed_defaults=['{name}'] to feed it at every push",),
                )
