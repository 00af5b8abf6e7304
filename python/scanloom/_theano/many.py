"""Many sequences through a compiled function: how their arguments are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from .. import _native
from .._errors import InvalidType
from .._ort.many import MISSING

if TYPE_CHECKING:
    from .compiled import Function


class FunctionReader:
    """Reads the arguments of a call from a tuple or dictionary."""

    def __init__(self, function: Function, shared: Union[Mapping[str, Any], None]) -> None:
        if not isinstance(shared, (Mapping, type(None))):
            raise InvalidType(f"shared is {shared!r:.80}, but must be a dictionary of arguments")
        self._function = function
        self._names = function._native.sequence_inputs()
        places = function._given((), {} if shared is None else shared)
        self._common = [value is not MISSING for value in places]
        function._fit(places, [not common for common in self._common])
        self.common = self._fed(places, self._common)

    def _fed(self, places: list[Any], wanted: list[bool]) -> dict[str, Any]:
        return {
            name: value for name, value, want in zip(self._names, places, wanted) if want
        }

    def input_named(self, name: str) -> Union[str, None]:
        place = self._function._places.get(name, -1)
        return self._names[place] if place >= 0 else None

    def feeds(self, given: Any, extra: Union[str, None]) -> tuple[dict[str, Any], Any]:
        named: dict[str, Any] = {}
        values: tuple[Any, ...] = ()
        if isinstance(given, tuple):
            values = given
        elif isinstance(given, Mapping):
            named = dict(given)
        else:
            raise InvalidType(
                f"the arguments of a sequence are a {type(given).__name__}, but must be a tuple or a "
                "dictionary",
                ("a single argument x is given as (x,)",),
            )
        found = MISSING if extra is None else named.pop(extra, MISSING)
        places = self._function._given(values, named)
        own = [
            not common or value is not MISSING for value, common in zip(places, self._common)
        ]
        self._function._fit(places, [not each for each in own])
        return self._fed(places, own), found

    def native(self) -> _native.Function:
        return self._function._native

    def variant(self, feeds: dict[str, Any]) -> None:
        return None

    def results(self, values: list[Any]) -> Any:
        return self._function._finished(values)
