"""Checks of arguments that are not variables: axes, integers, booleans, names and choices."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, Union, cast

import numpy as np

from ._errors import InvalidArgument, InvalidType
from ._suggest import did_you_mean

_Function = TypeVar("_Function", bound=Callable[..., Any])


def whole(value: Any, what: str) -> int:
    """Converts an integer of Python or numpy to int. Raises InvalidType."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidType(f"{what} must be an integer, not {value!r:.80}")
    return int(value)


def axis_number(axis: Any) -> int:
    """Converts an axis to int; it need not exist. Raises InvalidType."""
    return whole(axis, "an axis")


def axis_numbers(axes: Any) -> list[int]:
    """Returns the axes of `axes`: one axis or a list. None gives an empty list, which means all
    axes.

    Raises InvalidType.
    """
    if axes is None:
        return []
    return [axis_number(axis) for axis in (axes if isinstance(axes, (list, tuple)) else [axes])]


def axis_of(x: Any, axis: Any) -> int:
    """The axis of a variable as a non-negative number. Raises InvalidType, InvalidArgument."""
    number = axis_number(axis)
    if not -x.ndim <= number < x.ndim:
        raise InvalidArgument(f"axis {axis!r} is outside the {x.ndim} axes of {x}")
    return number % int(x.ndim)


def axes_of(x: Any, axes: Any) -> list[int]:
    """The axes of a variable in the given order. Raises InvalidArgument for a repeated axis."""
    listed = axes if isinstance(axes, (list, tuple)) else [axes]
    found = [axis_of(x, axis) for axis in listed]
    if len(set(found)) != len(found):
        raise InvalidArgument(f"an axis of {x} is named twice: {axes!r}")
    return found


def yes_or_no(value: Any, what: str) -> bool:
    """Converts True, False, 0 or 1 to bool. Raises InvalidType for anything else."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise InvalidType(f"{what} must be True or False, not {value!r:.80}")


def one_of(value: Any, known: Sequence[Any], what: str) -> Any:
    """Returns the value if it is one of `known`. Raises InvalidArgument, which lists `known`."""
    if not isinstance(value, (str, type(None))) or value not in known:
        listed = ", ".join(repr(each) for each in known)
        texts = [each for each in known if isinstance(each, str)]
        meant = did_you_mean(value, texts) if isinstance(value, str) else ""
        raise InvalidArgument(f"{what} is {value!r:.80}, but must be one of {listed}{meant}")
    return value


def name_or_none(name: Any, what: str) -> Union[str, None]:
    """Returns the name. Raises InvalidType if it is neither None nor a str."""
    if name is not None and not isinstance(name, str):
        raise InvalidType(f"the name of {what} must be a string, not {name!r:.80}")
    return name


def named_arguments(function: _Function) -> _Function:
    """Decorates the function to raise InvalidType for an unknown keyword, with a suggestion."""
    known = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    names = frozenset(known)
    what = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def checked(*values: Any, **named: Any) -> Any:
        if not names.issuperset(named):
            refuse_argument(what, next(name for name in named if name not in names), known)
        return function(*values, **named)

    return cast(_Function, checked)


# Names that other libraries use for the arguments of loops.
_OTHER_NAMES = {
    "length": "n_steps", "steps": "n_steps", "xs": "sequences", "elems": "sequences", "f": "fn",
    "init": "outputs_info", "initial": "outputs_info", "initializer": "outputs_info",
    "reverse": "go_backwards",
}  # fmt: skip


def refuse_argument(what: str, name: str, known: Iterable[str]) -> Any:
    """Raises InvalidType for an unknown argument, and lists the known ones."""
    offered = [each for each in known if each != "self"]
    other = _OTHER_NAMES.get(name)
    meant = f"; did you mean '{other}'?" if other in offered else did_you_mean(name, offered)
    raise InvalidType(
        f"{what} has no argument '{name}'{meant}",
        (f"its arguments are: {', '.join(offered)}",),
    )
