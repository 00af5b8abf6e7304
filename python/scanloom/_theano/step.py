"""Parses the result of a step function, in all the forms that Theano accepts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Union

from .. import _native
from .._counted import counted
from .._errors import InvalidArgument, InvalidType
from .shared import OrderedUpdates, SharedVariable, pairs_of
from .unpack import refuse_misread
from .variable import TensorVariable, as_tensor_variable

_Made = tuple[
    list[_native.Expr], list[tuple[_native.Shared, _native.Expr]], Union[_native.Expr, None]
]

_FORMS = (
    "a step function returns outputs, updates, (outputs, updates), (outputs, until(...)),"
    " (updates, until(...)) or (outputs, updates, until(...))"
)


class until:  # noqa: N801 - Theano's name
    """The condition that ends a loop, one element; the step that makes it true still counts."""

    __module__ = "scanloom._step"  # the former module, which pickles name

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor_variable(condition)


def step_of(
    fn: Callable[..., Any], captured: list[TensorVariable], place: str, slices: int
) -> Callable[[list[_native.Expr]], _Made]:
    """Wraps `fn` for the library; `captured` are passed as its last arguments.

    The first `slices` arguments are slices of sequences, and `place` names the loop, in messages.
    """

    def step(arguments: list[_native.Expr]) -> _Made:
        count = len(arguments) - len(captured)
        given = [*map(TensorVariable, arguments[:count]), *captured]
        if not _takes(fn, given):
            parts = Parts(given, slices, count - slices, len(captured))
            raise InvalidType(f"{place}: {parts.mismatch(fn)}", (parts.remedy(fn),))
        made = fn(*given)
        outputs, updates, stop = parsed(made)
        stop_expr = None if stop is None else stop.condition._expr
        return [x._expr for x in outputs], updates._entries(), stop_expr

    return step


class Parts(NamedTuple):
    """The arguments of a step: slices of sequences, then earlier values of outputs, then the
    rest."""

    values: list[TensorVariable]
    slices: int
    states: int
    captured: int

    def mismatch(self, fn: Callable[..., Any]) -> str:
        """The message that the step function takes another number of arguments than it is
        passed."""
        names = ", ".join(parameter.name for parameter in _parameters(fn))
        taken = counted(len(_parameters(fn)), "argument") + (f" ({names})" if names else "")
        given = ", ".join([
            counted(self.slices, "slice") + " of sequences",
            counted(self.states, "earlier value") + " of outputs",
            counted(self.captured, "non_sequence"),
        ])  # fmt: skip
        return (
            f"the step function takes {taken}, but is called with"
            f" {counted(len(self.values), 'argument')}: {given}"
        )

    def remedy(self, fn: Callable[..., Any]) -> str:
        """A note about what is probably missing."""
        parameters = _parameters(fn)
        if len(parameters) < len(self.values):
            if self.states and len(parameters) == len(self.values) - self.states:
                return (
                    "after those for sequences, a parameter is missing for the earlier value of "
                    "each output with an entry in outputs_info; None as an entry omits it"
                )
            missing = [str(value) for value in self.values[len(parameters) :]]
            return f"its last parameters, for {', '.join(missing)}, are missing"
        for is_given, name, what in (
            (self.states, "outputs_info", "holds the initial values of outputs that steps read"),
            (self.captured, "non_sequences", "holds the values that are the same in every step"),
            (self.slices, "sequences", "holds the values that steps take row by row"),
        ):
            if not is_given:
                return f"{name}=... is probably missing: it {what}"
        return "an entry of sequences, outputs_info or non_sequences is missing, or a tap is"


def _parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    """The positional parameters without a default."""
    return [
        parameter
        for parameter in inspect.signature(fn).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]


def _takes(fn: Callable[..., Any], arguments: list[TensorVariable]) -> bool:
    try:
        inspect.signature(fn).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # the function has no signature
        pass
    return True


def parsed(made: Any) -> tuple[list[TensorVariable], OrderedUpdates, Union[until, None]]:
    """Returns (outputs, updates, condition). Raises InvalidArgument and InvalidType."""
    _check_parts(made)
    if _is_outputs(made):
        return _outputs(made), OrderedUpdates(), None
    if _is_updates(made):
        return [], _updates(made), None
    if isinstance(made, until):
        raise InvalidArgument("the step returns only a condition", (_FORMS,))
    if isinstance(made, dict):
        return [], _updates(made), None  # _updates reports the error
    parts = list(made)
    stop = parts.pop() if isinstance(parts[-1], until) else None
    for part in parts:
        if isinstance(part, until):
            raise InvalidArgument("until(...) must be the last value of a step", (_FORMS,))
    if len(parts) == 1 and _is_outputs(parts[0]):
        return _outputs(parts[0]), OrderedUpdates(), stop
    if len(parts) == 1 and _is_updates(parts[0]):
        return [], _updates(parts[0]), stop
    if len(parts) == 2 and _is_outputs(parts[0]) and _is_updates(parts[1]):
        return _outputs(parts[0]), _updates(parts[1]), stop
    if len(parts) == 2 and _is_updates(parts[0]) and _is_outputs(parts[1]):
        return _outputs(parts[1]), _updates(parts[0]), stop
    raise InvalidArgument("the step returns its values in an unknown form", (_FORMS,))


_DEEPEST = 3  # pairs of updates, in a list, in a list with outputs


def _check_parts(made: Any, depth: int = 0) -> None:
    """Raises an error unless every part is a variable, and not a plain number or array."""
    if depth > _DEEPEST:
        raise InvalidArgument("the step returns lists nested more than two deep", (_FORMS,))
    if isinstance(made, (list, tuple)):
        for part in made:
            _check_parts(part, depth + 1)
    elif isinstance(made, dict):
        for key, value in made.items():
            if not isinstance(key, SharedVariable):
                raise InvalidType(f"keys of updates must be shared variables, not {key!r}")
            if type(value) not in (bool, int, float):  # these take the variable's dtype
                _check_parts(value, depth + 1)
    elif not isinstance(made, (TensorVariable, until)):
        refuse_misread(made, "the result of the step")
        raise InvalidType(
            f"the step returns {made!r:.80}, which is not a variable",
            ("T.constant(...) turns a number or an array into a variable", _FORMS),
        )


def _is_outputs(part: Any) -> bool:
    if isinstance(part, (list, tuple)):
        return all(isinstance(each, TensorVariable) for each in part)
    return isinstance(part, TensorVariable)


def _is_updates(part: Any) -> bool:
    if isinstance(part, dict):
        return True
    return isinstance(part, (list, tuple)) and all(
        isinstance(each, (list, tuple)) and len(each) == 2 and isinstance(each[0], SharedVariable)
        for each in part
    )


def _outputs(part: Any) -> list[TensorVariable]:
    return list(part) if isinstance(part, (list, tuple)) else [part]


def _updates(part: Any) -> OrderedUpdates:
    return part if isinstance(part, OrderedUpdates) else OrderedUpdates(pairs_of(part, "updates"))
