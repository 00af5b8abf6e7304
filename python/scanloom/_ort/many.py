"""Many sequences of unequal lengths through one session or function."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Union

import numpy as np

from .. import _native
from .._counted import counted
from .._errors import Error, InvalidArgument
from .._progress import bar, duration, listener_of, redraw
from .feeding import Feeds, feeds_of, names_of
from .option_values import integer, texts
from .options import RunOptions, run_settings

if TYPE_CHECKING:
    from .session import InferenceSession

#: Called with the complete sequences, their number or None, and the steps taken.
ManyProgress = Callable[[int, Union[int, None], int], object]
Resets = Union[str, Iterable[Any], None]


@dataclass(frozen=True)
class ManyReport:
    """How sequences were run; see InferenceSession.iter_many() and Function.iter_many()."""

    way: Union[str, None]  #: "lanes", "padded batches", "one by one"; None: not known yet
    reason: str  #: why not in lanes; "" in lanes
    node: str  #: the node that stands in the way; "" if it is no single one
    sequences: int
    steps: Union[int, None]  #: of all sequences; None: the model's steps are not known
    alone: int  #: sequences that ran on their own although others shared runs
    why_alone: str  #: of the last of these
    runs: int  #: runs that sequences shared
    filled: float  #: the share of the steps of all lanes that belonged to a sequence
    threads: int
    batch: int  #: the most lanes of a thread
    seconds: float

    @property
    def sequences_per_second(self) -> float:
        return self.sequences / self.seconds if self.seconds > 0 else 0.0

    @property
    def steps_per_second(self) -> Union[float, None]:
        """None if the steps are not known."""
        if self.steps is None:
            return None
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        of_steps, per_second = "", ""
        if self.steps is not None:
            of_steps = f" with {counted(self.steps, 'step')}"
            per_second = f", {self.steps_per_second:.3g} steps/s"
        lines = [
            f"{counted(self.sequences, 'sequence')}{of_steps} in {self.seconds:.3g} s: "
            f"{self.sequences_per_second:.3g} sequences/s{per_second}"
        ]
        why = f"{self.node}: {self.reason}" if self.node else self.reason
        if self.way is None:
            return lines[0]
        if self.way == "one by one":
            lines.append(f"one by one: {why}")
            return "\n".join(lines)
        lines.append(
            f"in {self.way}: {self.threads} x {self.batch}, {100 * self.filled:.1f} % filled, "
            f"{counted(self.runs, 'run')}"
        )
        if self.reason:
            lines.append(f"not in lanes: {why}")
        if self.alone:
            lines.append(f"{self.alone} ran alone, the last because {self.why_alone}")
        return "\n".join(lines)


MISSING: Any = object()
#: The most lanes of a thread.
MAX_BATCH = 4096


class Reader(Protocol):
    """How a session or a function reads sequences and returns results."""

    common: dict[str, Any]  #: feeds that all sequences share

    def input_named(self, name: str) -> Union[str, None]:
        """The name under which an input is fed; None if there is no such input."""

    def feeds(self, given: Any, extra: Union[str, None]) -> tuple[dict[str, Any], Any]:
        """The feeds of a sequence without its entry `extra`, and that entry or MISSING. Raises
        Error."""

    def native(self) -> Union[_native.Session, _native.Function]:
        """What runs the sequences."""

    def variant(self, feeds: dict[str, Any]) -> Union[_native.Session, None]:
        """What runs a sequence with these feeds instead; None: what runs all others."""

    def results(self, values: list[Any]) -> Any:
        """What the caller gets for a sequence."""


class SessionReader:
    def __init__(self, session: InferenceSession, shared: Union[Feeds, None]) -> None:
        self._session = session
        try:
            self.common = {} if shared is None else feeds_of(shared)
        except InvalidArgument as error:
            raise InvalidArgument(f"shared: {error.text}", error.notes) from None

    def input_named(self, name: str) -> Union[str, None]:
        ends = [*self._session._inputs, *self._session._defaults]
        return name if any(end.name == name for end in ends) else None

    def feeds(self, given: Any, extra: Union[str, None]) -> tuple[dict[str, Any], Any]:
        feeds = feeds_of(given)
        self._session._sizes.check(feeds)
        if extra is None or extra not in feeds:
            return feeds, MISSING
        return {name: value for name, value in feeds.items() if name != extra}, feeds[extra]

    def native(self) -> _native.Session:
        return self._session._for_feeds(self.common)

    def variant(self, feeds: dict[str, Any]) -> Union[_native.Session, None]:
        if not self._session._defaults:
            return None
        return self._session._for_feeds({**feeds, **self.common})

    def results(self, values: list[Any]) -> Any:
        return values


class ManyIterator(Iterator[Any]):
    """The results of sequences in their order, each what InferenceSession.run() or a call of the
    function returns.

    Reads a window of sequences ahead. For one thread at a time: next() of another raises, and leaves
    the iteration as it was.
    """

    def __init__(
        self,
        reader: Reader,
        output_names: Union[Sequence[str], None],
        sequences: Iterable[Any],
        *,
        batch: int,
        window: int,
        reset: Resets,
        run_options: Union[RunOptions, None],
        progress: Union[ManyProgress, bool, None],
        on_error: str,
    ) -> None:
        if on_error not in ("raise", "return"):
            raise InvalidArgument(f"on_error is {on_error!r}, but must be 'raise' or 'return'")
        self._returns_errors = on_error == "return"
        self._index = 0
        self._is_closed = False
        self._is_used = threading.Lock()
        total = len(sequences) if isinstance(sequences, Sized) else None
        drawn = _Bar(total)
        listener: Union[ManyProgress, None] = listener_of(progress, drawn)
        self._bar: Union[_Bar, None] = drawn if listener is drawn else None
        source = _Source(reader, sequences, reset)
        self._native = _native.Many(
            reader.native(),
            source.pull,
            names_of(output_names),
            integer("batch", batch, 0, MAX_BATCH),
            integer("window", window, 0),
            reader.common,
            run_settings(run_options),
            _of_library(listener, total),
        )
        self._source = source
        self._reader = reader

    def __iter__(self) -> "ManyIterator":
        return self

    def __next__(self) -> Any:
        if not self._is_used.acquire(blocking=False):
            raise InvalidArgument("the iterator of sequences is in use already, by another next()")
        try:
            return self._next()
        finally:
            self._is_used.release()

    def _next(self) -> Any:
        if self._is_closed:
            raise StopIteration
        try:
            result = self._native.next()
        except BaseException:
            self.close()
            raise
        if result is None:
            self.close()
            raise StopIteration
        index, self._index = self._index, self._index + 1
        if isinstance(result, BaseException):
            error = _at_sequence(result, index)
            if self._returns_errors:
                return error
            self.close()
            raise error
        return self._reader.results(result)

    @property
    def report(self) -> ManyReport:
        """How the sequences were run so far."""
        return ManyReport(**self._native.report())

    def _gathered(self, report: Union[Callable[[ManyReport], object], None]) -> list[Any]:
        """Returns all results, and calls `report` with how the sequences were run."""
        if report is not None and not callable(report):
            raise InvalidArgument(f"report is {report!r:.80}, but must be callable or None")
        results = list(self)
        if report is not None:
            report(self.report)
        return results

    def close(self) -> None:
        """Ends the iteration; closes the generator that the sequences come from, if it is one."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._bar is not None:
            self._bar.finish(self.report)
        self._source.close()


_END = object()


class _Source:
    """Reads the sequences, one per pull."""

    def __init__(self, reader: Reader, sequences: Iterable[Any], reset: Resets) -> None:
        try:
            self._sequences = iter(sequences)
        except TypeError:
            kind = type(sequences).__name__
            raise InvalidArgument(f"sequences are a {kind}, but must be iterable") from None
        if isinstance(sequences, Mapping):
            raise InvalidArgument("sequences are one dictionary, but must be an iterable of them")
        self._reader = reader
        self._reset_name: Union[str, None] = None
        self._resets: Union[Iterator[Any], None] = None
        if isinstance(reset, str):
            (self._reset_name,) = texts("reset", [reset])
        elif reset is not None:
            try:
                self._resets = iter(reset)
            except TypeError:
                raise InvalidArgument(
                    f"reset is {reset!r}, but must be a name or an iterable of arrays"
                ) from None
            # Where lengths are not known, resets may go on: itertools.repeat(None).
            if isinstance(reset, Sized) and isinstance(sequences, Sized):
                if len(reset) != len(sequences):
                    raise InvalidArgument(
                        f"{counted(len(reset), 'reset')} for {counted(len(sequences), 'sequence')}"
                    )
        self._reset_input = (
            None if self._reset_name is None else reader.input_named(self._reset_name)
        )

    def pull(self) -> Any:
        """Returns feeds, resets and what runs them, an exception for a sequence that is wrong, or
        None."""
        given: Any = next(self._sequences, _END)
        if given is _END:
            return None
        try:
            is_extra = self._reset_input is None
            feeds, reset = self._reader.feeds(given, self._reset_name if is_extra else None)
            if self._reset_input is not None:
                reset = feeds.get(self._reset_input, MISSING)
            return feeds, self._reset_of(reset), self._reader.variant(feeds)
        except Error as error:
            return error

    def _reset_of(self, named: Any) -> Any:
        """`named`: what the sequence has under the name of the resets."""
        if self._resets is not None:
            try:
                return _flags(next(self._resets))
            except StopIteration:
                raise InvalidArgument("there are fewer resets than sequences") from None
        if self._reset_name is None:
            return None
        if named is MISSING:
            raise InvalidArgument(f"the sequence has no '{self._reset_name}', which resets it")
        return _flags(named)

    def close(self) -> None:
        close = getattr(self._sequences, "close", None)
        if callable(close):
            close()


def _flags(reset: Any) -> Any:
    """Returns the resets of a sequence as an array of booleans."""
    if reset is None:
        return None
    flags = np.asarray(reset)
    if flags.size == 0 and not isinstance(reset, np.ndarray):
        return flags.astype(bool)
    return flags


def _at_sequence(error: BaseException, index: int) -> BaseException:
    """Names the sequence in an error that was found before the library saw it."""
    prefix = f"sequence {index}: "
    if not isinstance(error, Error) or error.text.startswith(prefix):
        return error
    return type(error)(prefix + error.text, error.notes)


def _of_library(
    listener: Union[ManyProgress, None], total: Union[int, None]
) -> Union[Callable[[int, int, float], object], None]:
    """The callback of the library, which does not know the total."""
    if listener is None:
        return None
    call = listener
    return lambda sequences, steps, _: call(sequences, total, steps)


class _Bar:
    """A bar on a terminal, with the rate and the time left."""

    def __init__(self, total: Union[int, None]) -> None:
        self._total = total
        self._begun = time.monotonic()

    def __call__(self, sequences: int, _: Union[int, None], steps: int) -> None:
        redraw(self._line(sequences, steps, time.monotonic() - self._begun))

    def _line(self, sequences: int, steps: int, seconds: float) -> str:
        rate = sequences / max(seconds, 1e-9)
        text = f"{counted(sequences, 'sequence')}, {rate:,.0f}/s"
        if steps > 0:
            text += f", {steps / max(seconds, 1e-9):,.0f} steps/s"
        if not self._total:
            return text
        left = f", {duration((self._total - sequences) / rate)} left" if rate > 0 else ""
        return f"{bar(sequences, self._total)} {text}{left}"

    def finish(self, report: ManyReport) -> None:
        redraw(self._line(report.sequences, report.steps or 0, report.seconds), end="\n")
