"""Compiled functions: what function makes, and what load reads."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from .. import _native
from .._errors import InvalidArgument, InvalidType
from .._files import writable
from .._missing import FUNCTION, lacking
from .._ort.options import RunOptions, run_settings
from .._suggest import did_you_mean
from .call_profile import Profile
from .graph import deep_copy
from .saving import read, save, to_bytes
from .shared import SharedVariable, pickled_form, shared_variable
from .signature import Argument, Limits
from .types import fitted
from .variable import TensorVariable

_MISSING = object()
_NO_LIMITS = (None, None, None)

# What a call takes besides the values of inputs, unless an input has that name.
_CALL_OPTIONS = frozenset(["progress", "run_options", *Limits._fields])


class Function:
    """A compiled function. Call it with values by position or by the inputs' names.

    Arrays of any strides, lists, ranges, numbers and anything that speaks DLPack are taken. A call
    that fails leaves shared variables as they were. fn(..., progress=True) draws how far loops
    are, on a terminal; a function progress(node, step, steps) is called instead, about ten times a
    second, with the outermost loop, its steps done and in all, -1 where only the run knows. Where
    it raises, the call ends with that.

    deadline, max_steps and max_memory, what a call may take, may be set at any time, and are arguments
    of a call, too: fn(x, deadline=0.5). cancel() ends the calls that are running, from any thread,
    with Cancelled; fn(x, run_options=options) ends when options.cancel() is called, and takes the
    limits of these RunOptions where the call names none.

    Calls may be made from many threads: each sees the values that shared variables have at one
    moment, and those that update the same variable, or defaults, take turns. set_value during such
    a call is overwritten when it is done. What a call calls by `progress` cannot update the same.

    Raises InvalidType for values of another dtype or number of axes, IndexOutside for indices that
    an axis does not have, InvalidArgument for sizes that do not fit.
    """

    __module__ = "scanloom._function"  # its former place, by which pickles name it

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
        self._prints = prints  # of what the last results are
        self.outputs = outputs  # as they were written, before givens
        self.max_memory = limits.max_memory  # bytes; None: 80 percent of what is left
        self.deadline = limits.deadline  # seconds
        self.max_steps = limits.max_steps  # of each execution of a loop
        self._running = _native.CancelFlag()  # of the calls that have begun since the last cancel()
        self._native = native
        self._arguments = arguments
        self._defaults = defaults
        self._nexts = nexts  # inputs whose defaults the last outputs are
        self._turn = threading.RLock()  # of the calls, if defaults change
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
        given: list[Any] = [_MISSING] * len(self._arguments)
        if len(values) > len(given):
            raise InvalidType(f"{self} takes {len(given)} values, {len(values)} are given")
        given[: len(values)] = values
        for name, value in named.items():
            given[self._place(name, given)] = value
        limits = self.max_memory, self.deadline, self.max_steps
        options = self._options(told) if told or limits != _NO_LIMITS else None
        if not self._nexts:
            return self._computed(given, options)
        with self._turn:
            if self._is_called:
                raise InvalidArgument(
                    f"{self} updates the defaults of its inputs and is called within such a call"
                )
            self._is_called = True
            try:
                return self._computed(given, options)
            finally:
                self._is_called = False

    @property
    def limits(self) -> Limits:
        """What a call may take that says nothing else."""
        return Limits(self.max_memory, self.deadline, self.max_steps)

    def cancel(self) -> None:
        """Ends the calls that are running, from any thread; they raise Cancelled. Later calls run,
        as do those that were given run_options of their own."""
        running, self._running = self._running, _native.CancelFlag()
        running.cancel()

    def _options(self, told: dict[str, Any]) -> RunOptions:
        """Of one call: what it says, else its run_options, else what the function says."""
        given = told.get("run_options")
        if given is not None and not isinstance(given, RunOptions):
            raise InvalidType(f"run_options is {given!r:.80}, but must be a scanloom.RunOptions")
        options = RunOptions()
        options._flag = self._running if given is None else given._flag
        for name in ("progress", *Limits._fields):
            choices = (told.get(name), getattr(given, name, None), getattr(self, name, None))
            setattr(options, name, next((each for each in choices if each is not None), None))
        return options

    def _computed(self, given: list[Any], options: Union[RunOptions, None]) -> Any:
        for place, argument in enumerate(self._arguments):
            if given[place] is _MISSING:
                if place not in self._defaults:
                    raise InvalidType(f"{self} needs a value for {argument.what}")
                given[place] = self._defaults[place]
            else:
                given[place] = fitted(
                    given[place], argument.dtype, argument.ndim, argument.what,
                    argument.downcast, argument.strict,
                )
        settings = run_settings(options, self._running)
        results, rows = self._native.call(given, settings, self.profile is not None)
        if self.profile is not None:
            self.profile._add(rows)
        shown = [results.pop() for _ in self._prints]
        for mark in self._prints:
            mark.tell(shown.pop())
        for place in reversed(self._nexts):
            self._defaults[place] = results.pop()
        return _in_form(self._form, results)

    if not TYPE_CHECKING:  # for which it would give any attribute

        def __getattr__(self, name: str) -> Any:
            return lacking("a function", name, FUNCTION, dir(self))

    def _place(self, name: str, given: Sequence[Any]) -> int:
        place = self._places.get(name)
        if place is None:
            known = ", ".join(self._places) or "none has a name"
            meant = did_you_mean(name, [*self._places, *_CALL_OPTIONS])
            raise InvalidType(f"{self} has no input '{name}'{meant}", (f"its inputs are: {known}",))
        if place < 0:
            raise InvalidType(f"{self} has several inputs '{name}'; give them by position")
        if given[place] is not _MISSING:
            raise InvalidType(f"{self} is given two values for '{name}'")
        return place

    def explain(self) -> str:
        """What became of every loop: strategy, memory, what stands in the way of a better one."""
        return self._native.explain()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the function, for scanloom.load, with the values that shared variables have now.

        The file holds text and elements, no machine code.
        """
        save(self, path)

    def to_onnx(
        self, path: Union[str, os.PathLike[str]], external_data: bool = False
    ) -> None:
        """Writes an ONNX model that computes the same; loops are Scan or Loop nodes.

        Shared variables that stay are initialisers; those that are updated are inputs, and their
        next values outputs. Raises Unsupported with all operators that have no ONNX form.

        external_data: weights stand in a file beside it, path + ".data", as they do above 2 GB in
        any case.
        """
        self._native.to_onnx(writable(path), bool(external_data))

    def to_openvino(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes an IR of OpenVINO that computes the same: the path, which ends in .xml, and a .bin
        beside it; loops are TensorIterator or Loop layers. Shared variables that are read and
        updated are variables of the IR, which begin with the values that they have now, so that
        OpenVINO keeps them from one inference to the next. The rest is as of to_onnx.
        """
        self._native.to_openvino(writable(path))

    def copy(
        self, share_memory: bool = False, swap: Any = None, delete_updates: bool = False,
        name: Union[str, None] = None, profile: Any = None,
    ) -> "Function":
        """Another function of the same shared variables, with defaults of its own.

        Raises InvalidArgument for `swap` and `delete_updates`: these are other functions.
        """
        if swap or delete_updates:
            raise InvalidArgument(
                "a copy computes what the function does: swap and delete_updates change that",
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
        """Reads copies of the shared variables, one copy of each for all that is copied together."""
        copies: list[Any] = [deep_copy(variable, memo) for variable in self.get_shared()]
        native = self._native.with_shared([variable._shared for variable in copies])
        outputs = [deep_copy(output, memo) for output in self.outputs]
        return self._like(native, outputs, self.name, self.profile is not None)

    def __reduce__(self) -> Any:
        variables = [pickled_form(variable) for variable in self.get_shared()]
        return from_bytes, (to_bytes(self), self.profile is not None, variables)

    def get_shared(self) -> list[SharedVariable]:
        """The shared variables that it reads or sets."""
        return [shared_variable(shared) for shared in self._native.shared()]

    def ir(self) -> str:
        """The module after passes, as text."""
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
    """The function that was saved there, with shared variables of its own: see get_shared().

    Raises NotFound, InvalidModel where the file is damaged, Unsupported where a newer version has
    written it.
    """
    saved = read(path)
    return Function(
        saved.native, saved.arguments, saved.defaults, saved.nexts, saved.form, saved.name, None, [],
        saved.limits, saved.prints,
    )  # fmt: skip


def from_bytes(
    content: bytes, profile: bool = False, variables: Union[list[SharedVariable], None] = None
) -> Function:
    """The function of these bytes, as load gives it, with these shared variables; how pickle makes
    one. Pickles of earlier versions hold the values within the bytes, and no variables."""
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
