"""until, and clone."""

from .._graph import clone
from .._step import until

__all__ = ["clone", "until"]
