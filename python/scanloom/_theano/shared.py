"""Shared variables, and the dictionary of their updates."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np

from .. import _native
from .._arguments import named_arguments
from .._errors import Contradiction, InvalidArgument, InvalidType
from .types import as_array, dtype_name, fitted, is_real
from .unpack import NoVariable, refuse_misread
from .variable import TensorVariable, as_tensor_variable, constant


class SharedVariable(TensorVariable):
    """A variable with a value that functions read, and update between calls."""

    __module__ = "scanloom._shared"  # the former module, which pickles name

    def __init__(self, shared: _native.Shared) -> None:
        super().__init__(shared.variable)
        self._shared = shared

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """A copy of the value."""
        return self._shared.value()

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Sets the value. Sizes may change; dtype and rank may not. Raises InvalidType."""
        self._shared.set(_value_for(self, value, f"shared variable {self}"))

    @property
    def default_update(self) -> Union[TensorVariable, None]:
        """The update that functions which read the variable apply by default.

        A loop that updates the variable does not count as a reader; its updates say what happens.
        """
        next_value = self._shared.default_update()
        return None if next_value is None else TensorVariable(next_value)

    @default_update.setter
    def default_update(self, value: Any) -> None:
        next_value = None if value is None else next_of(self, value)._expr
        self._shared.set_default_update(next_value)

    @property
    def container(self) -> "SharedVariable":
        return self

    @property
    def value(self) -> Any:
        return self.get_value()

    def clone(self) -> "SharedVariable":
        """Another variable of this type with a copy of the value, without a default update."""
        return shared(self.get_value(), self.name, broadcastable=self.broadcastable)

    def __copy__(self) -> "SharedVariable":
        return self.clone()

    def __reduce__(self) -> Any:
        if self.default_update is not None:
            raise InvalidType(
                f"shared variable {self} is not pickled: it has a default update, an expression",
                ("fn.save(path) saves a function with its shared variables",),
            )
        return _restored, (self.get_value(), self.name, self.broadcastable)


def _restored(value: Any, name: Union[str, None], broadcastable: Any) -> SharedVariable:
    return shared(value, name, broadcastable=broadcastable)


_objects: "weakref.WeakValueDictionary[_native.Expr, SharedVariable]" = weakref.WeakValueDictionary()


def shared_variable(native: _native.Shared) -> SharedVariable:
    """The Python object of a shared variable. There is only one at a time, so that pickle stores it
    only once."""
    found = _objects.get(native.variable)
    if found is None:
        found = _objects[native.variable] = SharedVariable(native)
    return found


class PickledValue:
    """The pickled form, within functions, of a shared variable with a default update. It omits the
    update, which is a part of the function's program. It is restored as the variable."""

    def __init__(self, variable: SharedVariable) -> None:
        self._variable = variable

    def __reduce__(self) -> Any:
        variable = self._variable
        return _restored, (variable.get_value(), variable.name, variable.broadcastable)


_pickled_values: "weakref.WeakValueDictionary[SharedVariable, PickledValue]" = (
    weakref.WeakValueDictionary()
)


def pickled_form(variable: SharedVariable) -> Union[SharedVariable, PickledValue]:
    """The object that represents the variable in pickles of functions; one for each variable."""
    if variable.default_update is None:
        return variable
    found = _pickled_values.get(variable)
    if found is None:
        found = _pickled_values[variable] = PickledValue(variable)
    return found


@named_arguments
def shared(
    value: Any,
    name: Union[str, None] = None,
    strict: bool = False,
    allow_downcast: Union[bool, None] = None,
    borrow: bool = False,
    broadcastable: Any = None,
) -> SharedVariable:
    """A variable with this initial value, an array or a number, whose dtype it keeps.

    broadcastable: for each axis, whether its size is always 1 and it therefore broadcasts.
    Raises InvalidType if the value is not an array or number.
    """
    if isinstance(value, TensorVariable):
        raise InvalidType(
            f"{value} is a variable, but a shared variable needs an array as its initial value"
        )
    if name is not None and not isinstance(name, str):
        raise InvalidType(f"the name of a variable must be a string, not {name!r}")
    array = as_array(value, f"shared variable {name!r}" if name else "a shared variable")
    dtype_name(array.dtype)
    pattern = (False,) * array.ndim if broadcastable is None else tuple(broadcastable)
    if len(pattern) != array.ndim:
        raise InvalidType(
            f"broadcastable is {broadcastable!r}, but the value has {array.ndim} axes"
        )
    units = [axis for axis, is_one in enumerate(pattern) if is_one]
    return shared_variable(_native.Shared(name or "", array, units))


def _value_for(variable: SharedVariable, value: Any, what: str) -> np.ndarray[Any, Any]:
    """Converts the value to an array of the variable's type; a Python float is rounded to any
    floating-point type."""
    downcast = True if type(value) is float and is_real(variable.dtype) else None
    return fitted(value, variable.dtype, variable.ndim, what, downcast)


def next_of(variable: SharedVariable, value: Any) -> TensorVariable:
    """The value of an update as a variable; numbers and arrays take the variable's dtype.

    Raises InvalidType.
    """
    if isinstance(value, (list, tuple)) and any(isinstance(v, TensorVariable) for v in value):
        value = as_tensor_variable(value)
    if not isinstance(value, TensorVariable):
        return constant(_value_for(variable, value, f"the update of shared variable {variable}"))
    if value.dtype != variable.dtype and np.can_cast(value.dtype, variable.dtype, "safe"):
        value = value.astype(variable.dtype)
    if value.dtype != variable.dtype or value.ndim != variable.ndim:
        raise InvalidType(
            f"the update of shared variable {variable} is {value.dtype} with {value.ndim} axes,"
            f" but the variable is {variable.dtype} with {variable.ndim}",
            (f"write .astype('{variable.dtype}')",) if value.ndim == variable.ndim else (),
        )
    made: TensorVariable = value
    return made


class OrderedUpdates(NoVariable, dict):  # type: ignore[type-arg]
    """{shared variable: its value after a loop or a call}, in order.

    a + b has the entries of both; for a random stream, the entry that has drawn more is used.
    Raises InvalidType for a key that is not a shared variable, Contradiction if two dictionaries
    disagree about a variable.
    """

    __module__ = "scanloom._shared"  # the former module, which pickles name

    _what = "the dictionary of updates, the last thing that scan gives"

    def __init__(self, entries: Any = ()) -> None:
        super().__init__()
        self.update(entries)

    def __setitem__(self, variable: Any, value: Any) -> None:
        if not isinstance(variable, SharedVariable):
            raise InvalidType(f"keys of updates must be shared variables, not {variable!r}")
        super().__setitem__(variable, next_of(variable, value))

    def __getitem__(self, variable: Any) -> TensorVariable:
        if isinstance(variable, (int, slice)):
            refuse_misread(self, "what an index is taken of")
        try:
            return super().__getitem__(variable)  # type: ignore[no-any-return]
        except KeyError:
            raise KeyError(f"there is no update of {variable}") from None

    def setdefault(self, variable: Any, value: Any = None) -> Any:
        if variable not in self:
            self[variable] = value
        return self[variable]

    def update(self, entries: Any = (), **none: Any) -> None:  # type: ignore[override]
        """Adds entries. Raises Contradiction if a different entry exists."""
        for variable, value in pairs_of(entries, "updates"):
            old = self.get(variable) if isinstance(variable, SharedVariable) else None
            if old is not None and not (isinstance(value, TensorVariable) and old == value):
                value = _later(variable, old, value)
            if value is None:
                raise Contradiction(f"two different updates of shared variable {variable}")
            self[variable] = value

    def copy(self) -> "OrderedUpdates":
        return OrderedUpdates(self)

    def __add__(self, other: Any) -> "OrderedUpdates":
        if isinstance(other, (TensorVariable, int, float, np.ndarray)):
            refuse_misread(self, "what is added")
        both = OrderedUpdates(self)
        both.update(other)
        return both

    def __radd__(self, other: Any) -> "OrderedUpdates":
        return OrderedUpdates(other) + self

    def __ior__(self, other: Any) -> "OrderedUpdates":  # type: ignore[misc]
        self.update(other)
        return self

    def _entries(self) -> list[tuple[_native.Shared, _native.Expr]]:
        return [(variable._shared, value._expr) for variable, value in self.items()]


def _later(variable: SharedVariable, old: Any, new: Any) -> Union[TensorVariable, None]:
    """The combined update of a random stream; None for other variables."""
    if not isinstance(new, TensorVariable):
        return None
    both = _native.merged(variable._shared, old._expr, new._expr)
    return None if both is None else TensorVariable(both)


def pairs_of(entries: Any, what: str) -> Iterable[tuple[Any, Any]]:
    """The items of a dictionary, or of a list of pairs. Raises InvalidType."""
    if entries is None:
        return []
    if isinstance(entries, Mapping):
        return list(entries.items())
    try:
        listed = [tuple(entry) for entry in entries]
    except TypeError:
        raise InvalidType(f"{what} is {entries!r}, but must be a dictionary or pairs") from None
    for entry in listed:
        if len(entry) != 2:
            raise InvalidType(
                f"{what} holds {entry!r}, which is not a pair of a variable and a value"
            )
    return listed


def updates_of(entries: Any) -> OrderedUpdates:
    """Converts function(updates=...). Raises InvalidArgument for a variable that is named twice."""
    if isinstance(entries, OrderedUpdates):
        return entries
    updates = OrderedUpdates()
    for variable, value in pairs_of(entries, "updates"):
        if isinstance(variable, SharedVariable) and variable in updates:
            raise InvalidArgument(f"shared variable {variable} has two updates")
        updates[variable] = value
    return updates


def updates_from(entries: list[tuple[_native.Shared, _native.Expr]]) -> OrderedUpdates:
    """Converts updates that the library returned."""
    updates = OrderedUpdates()
    for variable, value in entries:
        dict.__setitem__(updates, shared_variable(variable), TensorVariable(value))
    return updates
