"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union


def alike(name: str, known: Iterable[str]) -> Union[str, None]:
    """The most similar of the known names, or None."""
    import difflib  # only errors need it

    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, 1, 0.7)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name, for example "; did you mean 'n_steps'?", or
    ""."""
    found = alike(name, known)
    return f"; did you mean '{found}'?" if found is not None else ""
