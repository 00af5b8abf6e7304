"""ifelse: computes only one of two values. The module itself is callable, too."""

from __future__ import annotations

import sys
import types
from typing import Any, Union

from . import _native
from ._errors import InvalidArgument
from ._theano.variable import TensorVariable, as_tensor_variable, expr_of


def ifelse(
    condition: Any, then_branch: Any, else_branch: Any, name: Union[str, None] = None
) -> Any:
    """Returns then_branch if the one-element condition is nonzero, otherwise else_branch.

    The branches are variables, or lists of the same length. Different dtypes are promoted. Raises
    InvalidArgument if their ranks differ.
    """
    test = as_tensor_variable(condition)
    sides = [
        list(side) if isinstance(side, (list, tuple)) else [side]
        for side in (then_branch, else_branch)
    ]
    if len(sides[0]) != len(sides[1]):
        raise InvalidArgument(
            f"ifelse has {len(sides[0])} values in one region, but {len(sides[1])} in the other"
        )
    chosen = [
        TensorVariable(made)
        for made in _native.if_else(
            test._expr, [expr_of(x) for x in sides[0]], [expr_of(x) for x in sides[1]]
        )
    ]
    if name is not None:
        for made in chosen:
            made.name = name
    alone = not any(isinstance(side, (list, tuple)) for side in (then_branch, else_branch))
    return chosen[0] if alone else chosen


class _Callable(types.ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return ifelse(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
