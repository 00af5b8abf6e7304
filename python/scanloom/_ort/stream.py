"""Streams: runs of one session, one after the other, that keep states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .. import _native
from .._errors import InvalidArgument
from .feeding import Feeds, GivenSizes, feeds_of, names_of
from .options import RunOptions, run_settings, texts
from .pickling import restore_stream

if TYPE_CHECKING:
    from .session import InferenceSession


class Stream:
    """Carried state between runs. Threads that push to one stream take turns, in no certain order.

    All states of a push are kept together when it succeeds, none when it fails.
    """

    __module__ = "scanloom._stream"  # its former place, by which pickles name it

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
        """Runs with the feeds and the kept states.

        Returns the outputs named, as a list; without names those that are no states: a list, or
        the array itself where there is only one.
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
            raise InvalidArgument(f"the model has no output '{unknown[0]}'")
        return [results[name] for name in wanted]

    def set(self, input: str, value: Any) -> None:
        """Sets one state. Raises NotFound, InvalidArgument."""
        (name,) = texts("the name of a state", [input])
        self._sizes.check({name: value})
        is_strided = isinstance(value, np.ndarray) and value.ndim > 0
        self._native.set(name, np.ascontiguousarray(value) if is_strided else value)

    def get(self, state: str) -> Any:
        """What a state is, by its name in the session's get_states(). Raises NotFound: no such
        state, or one whose first value the first push computes."""
        (name,) = texts("the name of a state", [state])
        return self._native.get(name, run_settings(None))

    def reset(self) -> None:
        """Back to the initial values."""
        self._native.reset()

    reset_state = reset  # as OpenVINO calls it

    def __reduce__(self) -> tuple[Any, ...]:
        """The session and all that is kept: what comes back goes on where this one stands."""
        states = dict(zip(self._inputs, self._outputs))
        return restore_stream, (self._session, states, self._native.save())

    def __copy__(self) -> "Stream":
        states = dict(zip(self._inputs, self._outputs))
        return restore_stream(self._session, states, self._native.save())

    def __deepcopy__(self, memo: dict[int, Any]) -> "Stream":
        return self.__copy__()

    def explain(self) -> str:
        """What became of the loops that the pushes run, as the session's explain() tells it."""
        return self._native.explain()

    def _refuse_kept(self, feeds: Feeds) -> None:
        """Raises InvalidArgument for what the stream has a value of."""
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
