"""Compiled functions, as made by function() and read by load(): calls, copies, pickles."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .. import _native
from .._errors import InvalidArgument, InvalidType
from .._files import writable
from .._missing import FUNCTION, lacking
from .._ort.many import MISSING, ManyIterator, ManyProgress, ManyReport, Resets
from .._ort.options import RunOptions, run_settings
from .._suggest import did_you_mean
from .call_profile import Profile
from .graph import deep_copy
from .many import FunctionReader
from .saving import read, save, to_bytes
from .shared import SharedVariable, pickled_form, shared_variable
from .signature import Argument, Limits
from .types import fitted
from .variable import TensorVariable

if TYPE_CHECKING:
    from .._report import Report

_NO_LIMITS = (None, None, None)

# Keyword arguments of a call that are not inputs, unless an input has that name.
_CALL_OPTIONS = frozenset(["progress", "run_options", *Limits._fields])


class Function:
    """A compiled function. Call it with values by position or by the names of the inputs.

    Values may be arrays with any strides, lists, ranges, numbers or DLPack exporters. A call that
    fails leaves shared variables unchanged. fn(..., progress=True) draws a progress bar on a
    terminal. If `progress` is a function, progress(node, step, steps) is called about ten times a
    second with the outermost loop, its finished steps and its total, -1 if known only at run time;
    an exception that it raises ends the call.

    The limits deadline, max_steps and max_memory may be set at any time, and are also arguments of
    a call: fn(x, deadline=0.5). cancel() may be called from any thread and ends the running calls
    with Cancelled. fn(x, run_options=options) ends when options.cancel() is called, and uses the
    limits of these RunOptions unless the call names its own.

    Calls may be made from many threads. Each sees a consistent snapshot of the shared variables;
    calls that update the same variables or defaults are serialized. A set_value during such a call
    is overwritten when the call ends. A function called through `progress` cannot update the same
    variables.

    Raises InvalidType for a value of another dtype or rank, IndexOutside for an index out of
    bounds, InvalidArgument for sizes that do not match.
    """

    __module__ = "scanloom._function"  # the former module, which pickles name

    trust_input = False  # accepted; values are always checked

    def __init__(
        self,
        native: _native.Function,
        arguments: list[Argument],
        defaults: dict[int, Any],
        nexts: list[int],
        form: Any,
        name: str,
        profile: Union[Profile, None],
        outputs: list[TensorVariable],
        limits: Limits = Limits(),
        prints: Sequence[Any] = (),
    ) -> None:
        self._prints = prints  # the marks whose values are the last results
        self.outputs = outputs  # as written, before givens are applied
        self.max_memory = limits.max_memory  # bytes; None: 80 percent of the free memory
        self.deadline = limits.deadline  # seconds
        self.max_steps = limits.max_steps  # per execution of a loop
        self._running = _native.CancelFlag()  # of the calls that started since the last cancel()
        self._native = native
        self._arguments = arguments
        self._defaults = defaults
        self._nexts = nexts  # inputs whose next defaults are the last outputs
        self._turn = threading.RLock()  # serializes calls if defaults change
        self._is_called = False  # guarded by _turn
        self._form = form
        self._places: dict[str, int] = {}
        for place, argument in enumerate(arguments):
            if argument.name is not None:
                self._places[argument.name] = -1 if argument.name in self._places else place
        self.name = name
        self.profile = profile
        if profile is not None:
            profile._is_of(self)

    def __call__(self, *values: Any, **named: Any) -> Any:
        told: dict[str, Any] = {}
        if named:
            own = _CALL_OPTIONS & named.keys() - self._places.keys()
            told = {name: named.pop(name) for name in own}
        given = self._given(values, named)
        limits = self.max_memory, self.deadline, self.max_steps
        options = self._options(told) if told or limits != _NO_LIMITS else None
        if not self._nexts:
            return self._computed(given, options)
        with self._turn:
            if self._is_called:
                raise InvalidArgument(
                    f"{self} updates the defaults of its inputs and is called during such a call"
                )
            self._is_called = True
            try:
                return self._computed(given, options)
            finally:
                self._is_called = False

    def run_many(
        self,
        sequences: Iterable[Any],
        *,
        batch: int = 64,
        window: int = 0,
        reset: Resets = None,
        shared: Union[Mapping[str, Any], None] = None,
        run_options: Union[RunOptions, None] = None,
        progress: Union[ManyProgress, bool, None] = None,
        on_error: str = "raise",
        report: Union[Callable[[ManyReport], object], None] = None,
    ) -> list[Any]:
        """Calls the function with many sequences of unequal lengths; returns the results of the
        calls, in order.

        report: called with the ManyReport at the end. Otherwise like iter_many().
        """
        results = self.iter_many(
            sequences, batch=batch, window=window, reset=reset, shared=shared,
            run_options=run_options, progress=progress, on_error=on_error,
        )  # fmt: skip
        return results._gathered(report)

    def iter_many(
        self,
        sequences: Iterable[Any],
        *,
        batch: int = 64,
        window: int = 0,
        reset: Resets = None,
        shared: Union[Mapping[str, Any], None] = None,
        run_options: Union[RunOptions, None] = None,
        progress: Union[ManyProgress, bool, None] = None,
        on_error: str = "raise",
    ) -> ManyIterator:
        """Calls the function with many sequences of unequal lengths, and yields the results of the
        calls, in order.

        Each has the bits that a call has. Sequences share runs as their lanes, without padding, if
        no node computes across the steps of scan(); they need no axis for a batch. Scans that go
        backwards take whole sequences, in padded batches. Otherwise sequences run one by one on the
        threads. `report` of the iterator says which, and names the node in the way.
        Shared variables have the values of now for all sequences.

        sequences: the arguments of each call: a tuple by position, or a dictionary by name.
        shared: arguments by name that all sequences have in common, such as weights.
        run_options: its limits, else those of the function. The deadline counts from the first
            sequence; other limits hold for each run.
        batch, window, reset, progress, on_error: as in InferenceSession.iter_many().

        Raises what a call raises; exceptions of the iterable are passed on. Raises InvalidArgument
        for a function that updates shared variables or defaults of its inputs, draws from random
        streams included: each of its calls depends on the one before.
        """
        if self._nexts:
            what = self._arguments[self._nexts[0]].what
            raise InvalidArgument(
                f"{self} updates the default of {what}, so that each call depends on the one before",
                ("call it once for each sequence, in their order",),
            )
        return ManyIterator(
            FunctionReader(self, shared), None, sequences, batch=batch, window=window, reset=reset,
            run_options=self._options({"run_options": run_options}), progress=progress,
            on_error=on_error,
        )  # fmt: skip

    @property
    def limits(self) -> Limits:
        """The default limits of a call."""
        return Limits(self.max_memory, self.deadline, self.max_steps)

    def cancel(self) -> None:
        """Ends the running calls with Cancelled; may be called from any thread. Later calls, and
        calls with run_options of their own, are not affected."""
        running, self._running = self._running, _native.CancelFlag()
        running.cancel()

    def _options(self, told: dict[str, Any]) -> RunOptions:
        """The options of one call: its arguments, else its run_options, else the function's
        limits."""
        given = told.get("run_options")
        if given is not None and not isinstance(given, RunOptions):
            raise InvalidType(f"run_options is {given!r:.80}, but must be a scanloom.RunOptions")
        options = RunOptions()
        options._flag = self._running if given is None else given._flag
        for name in ("progress", *Limits._fields):
            choices = (told.get(name), getattr(given, name, None), getattr(self, name, None))
            setattr(options, name, next((each for each in choices if each is not None), None))
        return options

    def _fit(self, given: list[Any], left: Sequence[bool] = ()) -> None:
        """Completes the values of a call by defaults, and converts them to the inputs' types. Leaves
        some alone."""
        for place, argument in enumerate(self._arguments):
            if left and left[place]:
                continue
            if given[place] is MISSING:
                if place not in self._defaults:
                    raise InvalidType(f"{self} needs a value for {argument.what}")
                given[place] = self._defaults[place]
            else:
                given[place] = fitted(
                    given[place], argument.dtype, argument.ndim, argument.what,
                    argument.downcast, argument.strict,
                )

    def _computed(self, given: list[Any], options: Union[RunOptions, None]) -> Any:
        self._fit(given)
        settings = run_settings(options, self._running)
        results, rows = self._native.call(given, settings, self.profile is not None)
        if self.profile is not None:
            self.profile._add(rows)
        return self._finished(results)

    def _finished(self, results: list[Any]) -> Any:
        """Prints what the call prints, keeps the next defaults, and returns the outputs."""
        shown = [results.pop() for _ in self._prints]
        for mark in self._prints:
            mark.tell(shown.pop())
        for place in reversed(self._nexts):
            self._defaults[place] = results.pop()
        return _in_form(self._form, results)

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            return lacking("a function", name, FUNCTION, dir(self))

    def _given(self, values: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        given: list[Any] = [MISSING] * len(self._arguments)
        if len(values) > len(given):
            raise InvalidType(f"{self} takes {len(given)} values, but {len(values)} are given")
        given[: len(values)] = values
        for name, value in named.items():
            given[self._place(name, given)] = value
        return given

    def _place(self, name: str, given: Sequence[Any]) -> int:
        place = self._places.get(name)
        if place is None:
            known = ", ".join(self._places)
            meant = did_you_mean(name, [*self._places, *_CALL_OPTIONS])
            note = f"its inputs are: {known}" if known else "it has no inputs with names"
            raise InvalidType(f"{self} has no input '{name}'{meant}", (note,))
        if place < 0:
            raise InvalidType(f"{self} has several inputs '{name}'; give them by position")
        if given[place] is not MISSING:
            raise InvalidType(f"{self} is given two values for '{name}'")
        return place

    def explain(self) -> str:
        """Describes each loop: its strategy, its memory, and what prevents a better strategy."""
        return self._native.explain()

    def report(self, *values: Any, title: str = "", runs: int = 2, **named: Any) -> "Report":
        """Returns a report, a page that shows the function: its graph, its loops and what would make
        them faster, the memory of a call, and programs to copy. Thread safe.

        values: as for a call. The function is computed with them `runs` times, from 0 to 1000, and
            then once more to time each node, but sets no shared variable. Without values nothing is
            computed, unless the function takes none; sizes and strategies are those of the last call.
        title: by default the name of the function.

        Raises the errors of a call. The report raises Unsupported when it is asked for the page, if
        the package was built without it.
        """
        # Most programs make no report: they do not wait for what it imports.
        from .._report import Report, title_and_runs

        title, runs = title_and_runs(title, runs)
        given: Union[list[Any], None] = None
        if values or named or not self._arguments:
            given = self._given(values, named)
            self._fit(given)
        settings = run_settings(None, self._running)
        return Report(self._native.report(given, settings, title or self.name or "", runs))

    def _repr_html_(self) -> Union[str, None]:
        """The report of the function, for notebooks. Computes nothing: a function without inputs may
        take long."""
        # As in report().
        from .._report import Report

        return Report(
            self._native.report(None, run_settings(None), self.name or "", 0)
        )._repr_html_()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the function, with the current values of its shared variables, for scanloom.load.

        The file holds text and array elements, but no machine code.
        """
        save(self, path)

    def to_onnx(
        self, path: Union[str, os.PathLike[str]], external_data: bool = False
    ) -> None:
        """Writes an equivalent ONNX model, in which loops are Scan or Loop nodes.

        Shared variables that are not updated become initializers. Updated ones become inputs, and
        their next values become outputs. Raises Unsupported, which lists all operators without an
        ONNX form.

        external_data: write the weights to a separate file, path + ".data". Models above 2 GB
            always do.
        """
        self._native.to_onnx(writable(path), bool(external_data))

    def to_openvino(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes an equivalent OpenVINO IR: `path`, which ends in .xml, and a .bin next to it.
        Loops are TensorIterator or Loop layers. Shared variables that are read and updated become
        variables of the IR, initialized with their current values, so OpenVINO keeps them between
        inferences. Otherwise the same as to_onnx.
        """
        self._native.to_openvino(writable(path))

    def copy(
        self, share_memory: bool = False, swap: Any = None, delete_updates: bool = False,
        name: Union[str, None] = None, profile: Any = None,
    ) -> "Function":
        """Returns another function over the same shared variables, with its own defaults.

        Raises InvalidArgument for `swap` and `delete_updates`, which would make a different
        function.
        """
        if swap or delete_updates:
            raise InvalidArgument(
                "a copy computes the same as the function: swap and delete_updates would change "
                "that",
                ("call function(...) again, with givens or other updates",),
            )
        return self._like(self._native, self.outputs, self.name if name is None else name, profile)

    def _like(
        self, native: _native.Function, outputs: list[TensorVariable], name: str, profile: Any
    ) -> "Function":
        return Function(
            native, self._arguments, dict(self._defaults), self._nexts, self._form, name,
            Profile(name) if profile else None, outputs, self.limits, self._prints,
        )  # fmt: skip

    def __copy__(self) -> "Function":
        return self.copy(profile=self.profile is not None)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Function":
        """Copies the shared variables too; objects copied together share one copy of each."""
        copies: list[Any] = [deep_copy(variable, memo) for variable in self.get_shared()]
        native = self._native.with_shared([variable._shared for variable in copies])
        outputs = [deep_copy(output, memo) for output in self.outputs]
        return self._like(native, outputs, self.name, self.profile is not None)

    def __reduce__(self) -> Any:
        variables = [pickled_form(variable) for variable in self.get_shared()]
        return from_bytes, (to_bytes(self), self.profile is not None, variables)

    def get_shared(self) -> list[SharedVariable]:
        """The shared variables that the function reads or updates."""
        return [shared_variable(shared) for shared in self._native.shared()]

    def ir(self) -> str:
        """The text form of the module after passes."""
        return self._native.ir()

    def __str__(self) -> str:
        return f"function '{self.name}'" if self.name else "the function"

    def __repr__(self) -> str:
        return f"<{self}({', '.join(argument.name or '?' for argument in self._arguments)})>"


def _in_form(form: Any, results: list[Any]) -> Any:
    if form is None:
        return []
    if isinstance(form, dict):
        return dict(zip(form, results))
    return results if isinstance(form, (list, tuple)) else results[0]


def load(path: Union[str, os.PathLike[str]]) -> Function:
    """Reads a saved function. It gets shared variables of its own; see get_shared().

    Raises NotFound, InvalidModel if the file is damaged, Unsupported if it was written by a newer
    version.
    """
    saved = read(path)
    return Function(
        saved.native, saved.arguments, saved.defaults, saved.nexts, saved.form, saved.name, None, [],
        saved.limits, saved.prints,
    )  # fmt: skip


def from_bytes(
    content: bytes, profile: bool = False, variables: Union[list[SharedVariable], None] = None
) -> Function:
    """Restores a pickled function with these shared variables. Pickles of earlier versions hold the
    values within the bytes, and no variables."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "function")
        with open(path, "wb") as file:
            file.write(content)
        made = load(path)
    if variables is not None:
        made._native = made._native.with_shared([variable._shared for variable in variables])
    if profile:
        made.profile = Profile(made.name)
        made.profile._is_of(made)
    return made
