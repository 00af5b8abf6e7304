"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Returns for example "1 slice" or "2 slices"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
