"""Functions behind methods of variables, from modules that use variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from .variable import TensorVariable


class Above:
    """variable.py sets `binary`, and methods.py the others; scanloom._theano imports both, so every
    variable has them."""

    watch: Union[Callable[[TensorVariable], None], None] = None  # called with each new variable
    binary: Callable[[Callable[..., Any], Any, Any], TensorVariable]
    choose: Callable[..., TensorVariable]
    compress: Callable[..., TensorVariable]
    deep_copy: Callable[..., TensorVariable]
    diagonal: Callable[..., TensorVariable]
    evaluated: Callable[..., Any]
    numpy_function: Callable[..., Any]
    numpy_ufunc: Callable[..., Any]
    repeat: Callable[..., TensorVariable]
    round: Callable[..., TensorVariable]
    take: Callable[..., TensorVariable]


above = Above()
