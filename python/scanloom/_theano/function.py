"""function: compiles expressions into a function that is called with arrays."""

from __future__ import annotations

import warnings
from typing import Any, Union

import numpy as np

from .. import _native
from .._arguments import name_or_none, named_arguments, one_of
from .._errors import InvalidArgument, InvalidType
from .._ort.options import RunOptions, SessionOptions
from .call_profile import Profile
from .compiled import Function
from .config import check_mode, config
from .prints import printed_by
from .shared import OrderedUpdates, SharedVariable, pairs_of, updates_of
from .signature import Argument, Limits
from .types import fitted
from .unpack import refuse_misread
from .variable import TensorVariable, as_tensor_variable, constant


class In:
    """An input of a function with a default value, which may change after every call.

    value: the default; its elements are copied.
    update: an expression whose value becomes the next default.
    name: the name of the argument; by default the name of the variable.
    """

    __module__ = "scanloom._function"  # the former module, which pickles name

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

    __module__ = "scanloom._function"  # the former module, which pickles name

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable = variable

    def __repr__(self) -> str:
        return f"Out({self.variable!r:.80})"


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
    numerics: str = "exact",
    speculate: bool = True,
) -> Function:
    """Compiles a function from `inputs`, which are variables or In, to `outputs`: one, a list or a
    dict.

    updates: the new values of shared variables after a call, a dictionary or pairs.
    givens: replacements of variables, a dictionary or pairs.
    no_default_updates: True, or the shared variables whose default updates are skipped.
    on_unused_input: "raise", "warn" or "ignore" an input that no output depends on. An input counts
        as used even if a gradient or a simplification has removed it.
    max_memory: the maximum number of bytes of a call; None: 80 percent of the free memory. A call
        that is known to need more, including the rows of loops, raises LimitReached before any
        step.
    deadline: the maximum number of seconds of a call; None: no limit.
    max_steps: the maximum number of steps per execution of a loop; None: 1e8 for loops without a
        trip count.
    numerics: "exact", or "fast" to permit results that differ in the last bits; see
        scanloom.SessionOptions. A function that is saved and loaded is exact again.
    speculate: False: no thread computes later steps of a long loop ahead (SessionOptions.speculate).
        Not saved with the function.

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
    prints = printed_by(exprs + [value._expr for value in changed.values()])
    native = _native.compile(
        placed, exprs + [expr for _, expr in prints], changed._entries(), native_pairs, no_defaults, without,
        name or "", [each if isinstance(each, str) else "" for each in outputs] if isinstance(outputs, dict) else [],
        SessionOptions(numerics=numerics, speculate=speculate).native(),
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
    RunOptions(**limits._asdict()).native()  # raises if a limit is invalid
    return Function(
        native, arguments, defaults, nexts, outputs, name or "", kept, wanted, limits,
        [mark for mark, _ in prints],
    )  # fmt: skip


def _input_of(given: Any) -> In:
    end = given if isinstance(given, In) else None
    if end is None:
        if not isinstance(given, TensorVariable):
            raise InvalidType(f"an input of a function must be a variable, not {given!r}")
        end = In(given)
    if isinstance(end.variable, SharedVariable):
        raise InvalidType(
            f"shared variable {end.variable} cannot be an input: functions read it automatically",
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
                f"an output of a function must be a variable, not {each!r:.80}",
                ("T.constant(...) turns a number or an array into one",),
            )
    return listed


def _givens_of(givens: Any) -> list[tuple[TensorVariable, TensorVariable]]:
    pairs = []
    for old, new in pairs_of(givens, "givens"):
        if not isinstance(old, TensorVariable):
            raise InvalidType(f"givens can only replace variables, not {old!r}")
        if not isinstance(new, TensorVariable):
            new = constant(fitted(new, old.dtype, old.ndim, f"the value given for {old}"))
        if new.ndim != old.ndim:
            raise InvalidType(
                f"givens: {old} has {old.ndim} axes, but its value has {new.ndim}"
            )
        pairs.append((old, new if new.dtype == old.dtype else new.astype(old.dtype)))
    return pairs


def _placeholders(
    ends: list[In], pairs: list[tuple[TensorVariable, TensorVariable]]
) -> list[_native.Expr]:
    """The inputs. An input that is a computed variable is replaced by a new input."""
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
    """Returns whether all default updates are skipped, and otherwise for which variables."""
    if isinstance(given, bool):
        return given, []
    if not isinstance(given, (list, tuple, set)):
        raise InvalidType(f"no_default_updates is {given!r}, but must be a bool or a list")
    for each in given:
        if not isinstance(each, SharedVariable):
            raise InvalidType(
                f"no_default_updates holds {each!r:.80}, which is not a shared variable"
            )
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


def _argument(end: In, place: int, downcast: Union[bool, None]) -> Argument:
    variable = end.variable
    what = f"input '{end.name}'" if end.name else f"input {place}"
    own = end.allow_downcast if end.allow_downcast is not None else downcast
    return Argument(end.name, what, variable.dtype, variable.ndim, end.strict, own)


def evaluated(variable: TensorVariable, inputs_to_values: Any) -> Any:
    """variable.eval(inputs_to_values); the compiled function is cached with the variable."""
    given = dict(pairs_of(inputs_to_values, "the inputs of eval"))
    inputs = tuple(given)
    functions = variable.__dict__.setdefault("_functions", {})
    if inputs not in functions:
        functions[inputs] = function(list(inputs), variable, on_unused_input="ignore")
    return functions[inputs](*given.values())
