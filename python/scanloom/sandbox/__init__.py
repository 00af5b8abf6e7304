"""Theano's sandbox: another name for streams of random numbers."""

from typing import Any

from .._missing import SANDBOX, refuse
from . import rng_mrg

__all__ = ["rng_mrg"]


def __getattr__(name: str) -> Any:
    return refuse("sandbox", name, SANDBOX, globals())
