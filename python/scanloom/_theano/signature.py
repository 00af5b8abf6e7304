"""The arguments and limits of calls of a compiled function."""

from __future__ import annotations

from typing import NamedTuple, Union


class Argument(NamedTuple):
    """An input of a compiled function, with what calls check its values against."""

    name: Union[str, None]
    what: str  # in messages
    dtype: str
    ndim: int
    strict: bool
    downcast: Union[bool, None]


class Limits(NamedTuple):
    """The limits of a call, as in RunOptions."""

    max_memory: Union[int, None] = None
    deadline: Union[float, None] = None
    max_steps: Union[int, None] = None


Limits.__module__ = "scanloom._function"  # the former module, which pickles name
