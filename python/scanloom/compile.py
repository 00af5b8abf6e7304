"""Theano's compile module: functions, their inputs and outputs, modes, shared variables."""

from __future__ import annotations

from typing import Any

from ._theano.config import check_mode, config
from ._theano.compiled import Function
from ._theano.function import In, Out, function
from ._missing import COMPILE, refuse
from ._theano.shared import SharedVariable, shared

__all__ = [
    "FAST_COMPILE", "FAST_RUN", "Function", "In", "Out", "SharedVariable", "function",
    "get_default_mode", "get_mode", "predefined_modes", "shared",
]  # fmt: skip

FAST_RUN, FAST_COMPILE = "FAST_RUN", "FAST_COMPILE"
predefined_modes = {FAST_RUN: FAST_RUN, FAST_COMPILE: FAST_COMPILE}


def get_mode(mode: Any) -> Any:
    """Returns the mode. Raises InvalidArgument for an unknown mode."""
    check_mode(mode)
    return get_default_mode() if mode is None else mode


def get_default_mode() -> str:
    return FAST_RUN if config.mode is None else config.mode


def __getattr__(name: str) -> Any:
    return refuse("compile", name, COMPILE, globals())
