"""until, and clone."""

from .._theano.graph import clone
from .._theano.step import until

__all__ = ["clone", "until"]
