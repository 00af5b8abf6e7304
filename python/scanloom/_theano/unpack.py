"""Errors for the result (outputs, updates) of a loop that is used as a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from .._errors import InvalidType

_NOTE = "write outputs, updates = scan(...), then outputs, or outputs[-1] for the last row"


def misread(value: Any) -> Union[str, None]:
    """Describes the value if it is the result of a loop, or its updates; otherwise None."""
    if isinstance(value, NoVariable):
        return value._what
    if isinstance(value, (list, tuple)) and any(isinstance(part, NoVariable) for part in value):
        return LoopResult._what
    return None


def refuse_misread(value: Any, what: str) -> None:
    """Raises InvalidType if the value is the result of a loop, or its updates, not a variable."""
    found = misread(value)
    if found is not None:
        raise InvalidType(f"{what} is {found}, but must be a variable", (_NOTE,))


def _refused(self: Any, *_: Any) -> Any:
    raise InvalidType(f"{self._what}, cannot be computed with", (_NOTE,))


class NoVariable:
    """Base of results that are not variables. Operators raise InvalidType and attributes of
    variables raise AttributeError; both messages say to unpack the result."""

    _what: str

    if not TYPE_CHECKING:  # tuple and dict declare some of these with other types
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refused
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refused
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = __float__ = _refused
        __lt__ = __le__ = __gt__ = __ge__ = _refused

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # looked up by Python's own tools
                raise AttributeError(name)
            raise AttributeError(f"{self._what}, has no attribute '{name}': {_NOTE}", name=name)


class LoopResult(NoVariable, tuple):  # type: ignore[type-arg]
    """The tuple (outputs, updates) of a loop."""

    __module__ = "scanloom._unpack"  # the former module, which pickles name

    _what = "the result of scan, (outputs, updates)"
