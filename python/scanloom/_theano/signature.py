"""What calls of a compiled function are checked against and held to."""

from __future__ import annotations

from typing import NamedTuple, Union


class Argument(NamedTuple):
    """An input of a compiled function, as calls check the values for it."""

    name: Union[str, None]
    what: str  # in messages
    dtype: str
    ndim: int
    strict: bool
    downcast: Union[bool, None]


class Limits(NamedTuple):
    """What a call may take, as RunOptions say it."""

    max_memory: Union[int, None] = None
    deadline: Union[float, None] = None
    max_steps: Union[int, None] = None


Limits.__module__ = "scanloom._function"  # its former place, by which pickles name it
