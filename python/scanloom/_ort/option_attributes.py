"""The base of the options of sessions and runs: which attributes and entries they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .._errors import NotFound
from .._suggest import did_you_mean
from .option_values import texts


class Options:
    """Base of the options. Some attributes have an effect; others can only be set and read."""

    _known: frozenset[str]
    _defaults: dict[str, Any]  # of the attributes without an effect
    _kind: str

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self._notes: list[str] = []
        self.__dict__.update(self._defaults)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or name in self._known or name in self._defaults):
            self._refuse(name)
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        """Raises AttributeError for an unknown attribute, and suggests a known one."""
        offered = [each for each in {*dir(type(self)), *self._known, *self._defaults} if each[0] != "_"]
        meant = did_you_mean(name, sorted(offered)) if name[0] != "_" else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{meant}", name=name, obj=self)

    def _add_entry(self, key: str, value: str) -> None:
        key, value = texts("a configuration entry", [key, value])
        self._entries[key] = value

    def _get_entry(self, key: str) -> str:
        if key not in self._entries:
            raise NotFound(f"the {self._kind} options have no entry '{key}'")
        return self._entries[key]

    def ignored(self) -> list[str]:
        """One sentence for each changed setting that has no effect."""
        changed = [
            f"the {self._kind} option {name} = {getattr(self, name)!r} has no meaning here"
            for name, value in self._defaults.items()
            if getattr(self, name) != value
        ]
        entries = [
            f"the {self._kind} option '{key}' = '{value}' has no meaning here"
            for key, value in self._entries.items()
        ]
        return changed + entries + self._notes
