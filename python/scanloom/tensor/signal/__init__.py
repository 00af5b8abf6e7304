"""Theano's signal module: pooling."""

from typing import Any

from ..._missing import SIGNAL, refuse
from . import downsample, pool

__all__ = ["downsample", "pool"]


def __getattr__(name: str) -> Any:
    return refuse("T.signal", name, SIGNAL, globals())
