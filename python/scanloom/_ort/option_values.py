"""Checks the values of options and converts them to the library's types."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, Union

from .._arrays import has_utf8
from .._errors import InvalidArgument


def texts(name: str, values: Any) -> list[str]:
    """Returns the values as a list of str. Raises InvalidArgument."""
    if isinstance(values, str):
        raise InvalidArgument(f"{name} is the string {values!r}", (f"write [{values!r}]",))
    try:
        listed = list(values)
    except TypeError:
        raise InvalidArgument(f"{name} is {values!r}, but must be a list of strings") from None
    for value in listed:
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} holds {value!r}, but must hold only strings")
        if not has_utf8(value):
            raise InvalidArgument(f"{name} holds {value!r}, which cannot be encoded as UTF-8")
    return listed


def state_pairs(states: Any) -> list[tuple[str, str]]:
    """Returns the items of a mapping from str to str. Raises InvalidArgument."""
    if not isinstance(states, Mapping):
        raise InvalidArgument(f"states is {states!r}, but must be a dictionary {{input: output}}")
    return list(zip(texts("states", states.keys()), texts("states", states.values())))


def integer(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """Returns the value as an int. Raises InvalidArgument if it is not one or out of range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{name} is {value!r}, but must be an integer") from None
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}, but must be {least} to {most}")
    return number


def bytes_or_none(name: str, value: Any) -> Union[bytes, None]:
    """Returns the value as bytes. Raises InvalidArgument."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise InvalidArgument(f"{name} is a {type(value)}, but must be bytes")


def positive_seconds(name: str, value: Any) -> float:
    """Returns the value as a float. Raises InvalidArgument unless it is finite and above 0."""
    try:
        seconds = float(value)
    except (OverflowError, TypeError, ValueError):
        seconds = math.nan
    if not (seconds > 0 and math.isfinite(seconds)):
        raise InvalidArgument(f"{name} is {value!r} s, but must be positive and finite")
    return seconds
