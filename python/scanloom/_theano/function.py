"""function: expressions made ready to compute, called with arrays."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, Union

import numpy as np

from .. import _native
from .._arguments import name_or_none, named_arguments, one_of
from .config import check_mode, config
from .._files import writable
from .._errors import InvalidArgument, InvalidType
from .._ort.options import RunOptions, SessionOptions, run_settings
from .shared import OrderedUpdates, SharedVariable, pairs_of, pickled_form, shared_variable, updates_of
from .._suggest import did_you_mean
from .types import fitted
from .unpack import refuse_misread
from .variable import TensorVariable, as_tensor_variable, constant

_MISSING = object()


class In:
    """An input of a function with a default value, and what that becomes after every call.

    value: taken where a call gives none; its elements are copied. update: an expression whose value is the next default.
    name: that of the argument; the variable's otherwise.
    """

    __module__ = "scanloom._function"  # its former place, by which pickles name it

    @named_arguments
    def __init__(
        self,
        variable: TensorVariable,
        name: Union[str, None] = None,
        value: Any = None,
        update: Any = None,
        mutable: Any = None,
        strict: bool = False,
        allow_downcast: Union[bool, None] = None,
        autoname: bool = True,
        implicit: Any = None,
        borrow: Any = None,
        shared: bool = False,
    ) -> None:
        if not isinstance(variable, TensorVariable):
            raise InvalidType(f"In takes a variable, not {variable!r}")
        if update is not None and value is None:
            raise InvalidArgument(f"the input {variable} has an update, but no value to begin with")
        self.variable = variable
        self.name = variable.name if name_or_none(name, "an input") is None else name
        self.value = value
        self.update = None if update is None else as_tensor_variable(update)
        self.strict = strict
        self.allow_downcast = allow_downcast

    def __repr__(self) -> str:
        parts = [repr(self.variable)]
        if self.name is not None and self.name != self.variable.name:
            parts.append(f"name={self.name!r}")
        if self.value is not None:
            parts.append(f"value={self.value!r:.80}")
        if self.update is not None:
            parts.append(f"update={self.update!r:.80}")
        return f"In({', '.join(parts)})"


class Out:
    """An output of a function."""

    __module__ = "scanloom._function"  # its former place, by which pickles name it

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable = variable

    def __repr__(self) -> str:
        return f"Out({self.variable!r:.80})"


class _Argument(NamedTuple):
    name: Union[str, None]
    what: str  # in messages
    dtype: str
    ndim: int
    strict: bool
    downcast: Union[bool, None]


class Limits(NamedTuple):
    """What a call may take, as RunOptions say it."""

    max_memory: Union[int, None] = None
    deadline: Union[float, None] = None
    max_steps: Union[int, None] = None


Limits.__module__ = "scanloom._function"  # its former place, by which pickles name it


_NO_LIMITS = (None, None, None)

# What a call takes besides the values of inputs, unless an input has that name.
_CALL_OPTIONS = frozenset(["progress", "run_options", *Limits._fields])


class Profile:
    """Times of all calls of a function made with profile=True. What no summary has shown is written
    to stderr when Python ends, as Theano does."""

    __module__ = "scanloom._function"  # its former place, by which pickles name it

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
        """Writes a table: the time of every node, its share of the whole, how often it ran; and
        below it of every loop the steps, the time per step, the memory and the strategy.

        The time of a loop contains that of its body, which is indented below it; times of threads
        that ran side by side are added up.
        """
        self._is_shown = True
        to = sys.stderr if file is None else file
        whole = sum(row[1] for (_, _, depth), row in self._rows.items() if depth == 0)
        to.write(f"function {self.name}: {self.calls} calls, {whole * 1e3:.3f} ms in nodes\n")
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
        arguments: list[_Argument],
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
            from .missing import FUNCTION, lacking

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
        from .saving import save

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
        from .graph import deep_copy

        copies: list[Any] = [deep_copy(variable, memo) for variable in self.get_shared()]
        native = self._native.with_shared([variable._shared for variable in copies])
        outputs = [deep_copy(output, memo) for output in self.outputs]
        return self._like(native, outputs, self.name, self.profile is not None)

    def __reduce__(self) -> Any:
        from .saving import from_bytes, to_bytes

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


@named_arguments
def function(
    inputs: Any,
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: Any = False,
    accept_inplace: bool = False,
    name: Union[str, None] = None,
    rebuild_strict: bool = True,
    allow_input_downcast: Union[bool, None] = None,
    profile: Any = None,
    on_unused_input: Union[str, None] = None,
    max_memory: Union[int, None] = None,
    deadline: Union[float, None] = None,
    max_steps: Union[int, None] = None,
) -> Function:
    """Compiles a function of `inputs`, variables or In, to `outputs`: one, a list, a dictionary.

    updates: what shared variables are set to after a call, a dictionary or pairs.
    givens: what stands for variables, a dictionary or pairs.
    no_default_updates: True, or the shared variables whose default updates are left out.
    on_unused_input: "raise", "warn" or "ignore" an input of which nothing that is computed was built;
        what a gradient, or a simplification, has left out of an expression counts as used.
    max_memory: bytes that a call may take; None: 80 percent of what is left. What is
        known to need more, the rows of a loop included, is LimitReached before any step runs.
    deadline: seconds that a call may take; None: any.
    max_steps: that each execution of a loop may take; None: 1e8 for loops without a trip count.

    Raises InvalidArgument and InvalidType, which name the variable.
    """
    check_mode(mode)
    name_or_none(name, "a function")
    if not isinstance(inputs, (list, tuple)):
        raise InvalidType(f"inputs is {inputs!r}, but must be a list of variables")
    ends = [_input_of(each) for each in inputs]
    wanted = _outputs_of(outputs)
    changed = updates_of(updates)
    pairs = _givens_of(givens)
    placed = _placeholders(ends, pairs)
    nexts = [place for place, end in enumerate(ends) if end.update is not None]
    everything = wanted + [_next_default(ends[place]) for place in nexts]
    no_defaults, without = _without_defaults(no_default_updates)
    native_pairs = [(old._expr, new._expr) for old, new in pairs]
    exprs = [x._expr for x in everything]
    _check_used(placed, exprs, changed, native_pairs, on_unused_input)
    prints = _prints_of(exprs + [value._expr for value in changed.values()])
    native = _native.compile(
        placed, exprs + [expr for _, expr in prints], changed._entries(), native_pairs, no_defaults, without,
        name or "", [each if isinstance(each, str) else "" for each in outputs] if isinstance(outputs, dict) else [],
        SessionOptions().native(),
    )
    arguments = [_argument(end, place, allow_input_downcast) for place, end in enumerate(ends)]
    defaults = {
        place: np.array(fitted(end.value, end.variable.dtype, end.variable.ndim,
                               arguments[place].what, end.allow_downcast))
        for place, end in enumerate(ends)
        if end.value is not None
    }  # fmt: skip
    measured = config.profile if profile is None else profile
    kept = Profile(str(profile) if isinstance(profile, str) else name or "") if measured else None
    limits = Limits(max_memory, deadline, max_steps)
    RunOptions(**limits._asdict()).native()  # raises where one of them cannot be
    return Function(
        native, arguments, defaults, nexts, outputs, name or "", kept, wanted, limits,
        [mark for mark, _ in prints],
    )  # fmt: skip


def _prints_of(roots: list[_native.Expr]) -> list[Any]:
    """What is printed, and its expressions; the module of printing is read where somebody uses it."""
    printing = sys.modules.get("scanloom.printing")
    return [] if printing is None else printing.printed_by(roots)


def _input_of(given: Any) -> In:
    end = given if isinstance(given, In) else None
    if end is None:
        if not isinstance(given, TensorVariable):
            raise InvalidType(f"an input of a function is a variable, not {given!r}")
        end = In(given)
    if isinstance(end.variable, SharedVariable):
        raise InvalidType(
            f"shared variable {end.variable} cannot be an input: functions read it by themselves",
            ("givens={variable: value} computes with another value",),
        )
    return end


def _outputs_of(outputs: Any) -> list[TensorVariable]:
    if outputs is None:
        return []
    refuse_misread(outputs, "what a function computes")
    if isinstance(outputs, dict):
        listed = list(outputs.values())
    else:
        listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    listed = [each.variable if isinstance(each, Out) else each for each in listed]
    for each in listed:
        refuse_misread(each, "an output of a function")
        if not isinstance(each, TensorVariable):
            raise InvalidType(
                f"an output of a function is a variable, not {each!r:.80}",
                ("T.constant(...) makes one of a number or an array",),
            )
    return listed


def _givens_of(givens: Any) -> list[tuple[TensorVariable, TensorVariable]]:
    pairs = []
    for old, new in pairs_of(givens, "givens"):
        if not isinstance(old, TensorVariable):
            raise InvalidType(f"givens replace variables, not {old!r}")
        if not isinstance(new, TensorVariable):
            new = constant(fitted(new, old.dtype, old.ndim, f"what is given for {old}"))
        if new.ndim != old.ndim:
            raise InvalidType(
                f"givens: {old} has {old.ndim} axes, what is given for it {new.ndim}"
            )
        pairs.append((old, new if new.dtype == old.dtype else new.astype(old.dtype)))
    return pairs


def _placeholders(
    ends: list[In], pairs: list[tuple[TensorVariable, TensorVariable]]
) -> list[_native.Expr]:
    """The inputs; where one is a computed variable, an input that stands for it."""
    placed = []
    for end in ends:
        variable = end.variable
        if _native.leaves([variable._expr]) == [variable._expr]:
            placed.append(variable._expr)
            continue
        fresh = variable.type(variable.name)
        pairs.append((variable, fresh))
        placed.append(fresh._expr)
    return placed


def _next_default(end: In) -> TensorVariable:
    update: TensorVariable = end.update  # type: ignore[assignment]
    if update.ndim != end.variable.ndim:
        raise InvalidType(f"the update of input {end.variable} has {update.ndim} axes")
    return update.astype(end.variable.dtype)


def _without_defaults(given: Any) -> tuple[bool, list[_native.Shared]]:
    """Whether all default updates are left out, or those of which variables."""
    if isinstance(given, bool):
        return given, []
    if not isinstance(given, (list, tuple, set)):
        raise InvalidType(f"no_default_updates is {given!r}, but must be a bool or a list")
    for each in given:
        if not isinstance(each, SharedVariable):
            raise InvalidType(f"no_default_updates holds {each!r:.80}, which is no shared variable")
    return False, [each._shared for each in given]


def _check_used(
    inputs: list[_native.Expr],
    outputs: list[_native.Expr],
    updates: OrderedUpdates,
    givens: list[tuple[_native.Expr, _native.Expr]],
    on_unused: Union[str, None],
) -> None:
    answer = config.on_unused_input if on_unused is None else on_unused
    one_of(answer, ("raise", "warn", "ignore"), "on_unused_input")
    if answer == "ignore":
        return
    roots = outputs + [value._expr for value in updates.values()]
    if givens:
        roots = _native.substitute(roots, givens)
    used = set(_native.origins(roots))
    for place, leaf in enumerate(inputs):
        if leaf in used:
            continue
        what = f"input '{leaf.name}'" if leaf.name else f"input {place}"
        text = f"no output or update needs {what} of the function"
        if answer == "warn":
            warnings.warn(text, stacklevel=4)
        else:
            raise InvalidArgument(text, ("on_unused_input='ignore' accepts that",))


def _argument(end: In, place: int, downcast: Union[bool, None]) -> _Argument:
    variable = end.variable
    what = f"input '{end.name}'" if end.name else f"input {place}"
    own = end.allow_downcast if end.allow_downcast is not None else downcast
    return _Argument(end.name, what, variable.dtype, variable.ndim, end.strict, own)


def evaluated(variable: TensorVariable, inputs_to_values: Any) -> Any:
    """variable.eval(inputs_to_values); the function is kept with the variable."""
    given = dict(pairs_of(inputs_to_values, "the inputs of eval"))
    inputs = tuple(given)
    functions = variable.__dict__.setdefault("_functions", {})
    if inputs not in functions:
        functions[inputs] = function(list(inputs), variable, on_unused_input="ignore")
    return functions[inputs](*given.values())
