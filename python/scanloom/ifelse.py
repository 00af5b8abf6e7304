"""ifelse: one of two values, of which only that one is computed. The module can be called, too."""

from __future__ import annotations

import sys
import types
from typing import Any, Union

from . import _native
from ._errors import InvalidArgument
from ._variable import TensorVariable, as_tensor_variable, expr_of


def ifelse(
    condition: Any, then_branch: Any, else_branch: Any, name: Union[str, None] = None
) -> Any:
    """then_branch where the condition, one element, is not 0, else else_branch.

    Both are variables or lists of equally many; sides of different dtypes promote. Raises
    InvalidArgument where their numbers of axes differ.
    """
    test = as_tensor_variable(condition)
    if not isinstance(then_branch, (list, tuple)) and not isinstance(else_branch, (list, tuple)):
        return _one(test, then_branch, else_branch, name)
    sides = [
        list(side) if isinstance(side, (list, tuple)) else [side]
        for side in (then_branch, else_branch)
    ]
    if len(sides[0]) != len(sides[1]):
        raise InvalidArgument(
            f"ifelse has {len(sides[0])} values for one side, {len(sides[1])} for the other"
        )
    return [_one(test, a, b, name) for a, b in zip(*sides)]


def _one(test: TensorVariable, a: Any, b: Any, name: Union[str, None]) -> TensorVariable:
    made = TensorVariable(_native.if_else(test._expr, expr_of(a), expr_of(b)))
    if name is not None:
        made.name = name
    return made


class _Callable(types.ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return ifelse(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
