"""Copies of expressions with some parts replaced."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._errors import InvalidType
from .shared import pairs_of, shared_variable
from .variable import TensorConstant, TensorVariable, as_tensor_variable


_COPIES = "scanloom: copies of the leaves of expressions, by leaf"


def deep_copy(variable: TensorVariable, memo: dict[Any, Any]) -> TensorVariable:
    """copy.deepcopy of a variable. Variables copied together share their copied leaves."""
    copies = memo.setdefault(_COPIES, {})
    for leaf in _native.leaves([variable._expr]):
        if leaf in copies:
            continue
        shared = _native.as_shared(leaf)
        if shared is None:
            old = TensorVariable(leaf)
            copies[leaf] = old.type(old.name)
            continue
        copies[leaf] = shared_variable(shared).clone()
        next_value = shared.default_update()
        if next_value is not None:
            copies[leaf].default_update = deep_copy(TensorVariable(next_value), memo)
    if variable._expr in copies:
        return copies[variable._expr]  # type: ignore[no-any-return]
    if isinstance(variable, TensorConstant):
        return variable
    pairs = [(leaf, copy._expr) for leaf, copy in copies.items()]
    return TensorVariable(_native.substitute([variable._expr], pairs)[0])


def clone(
    output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True,
    copy_inputs: Any = None,
) -> Any:
    """The variable, or the list of them, with each key of `replace` replaced by its value.

    With strict, what replaces a variable must be of its dtype and number of axes. Raises
    InvalidType.
    """
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    for each in outputs:
        if not isinstance(each, TensorVariable):
            raise InvalidType(f"clone takes variables, not {each!r}")
    pairs = []
    for old, new in pairs_of(replace, "replace"):
        if not isinstance(old, TensorVariable):
            raise InvalidType(f"clone can only replace variables, not {old!r}")
        made = as_tensor_variable(new)
        if made.ndim != old.ndim:
            raise InvalidType(f"{old} has {old.ndim} axes, but its replacement has {made.ndim}")
        if made.dtype != old.dtype:
            if strict and isinstance(new, TensorVariable):
                raise InvalidType(
                    f"{old} is {old.dtype}, but its replacement is {made.dtype}",
                    (f"write .astype('{old.dtype}'), or strict=False",),
                )
            made = made.astype(old.dtype)
        pairs.append((old._expr, made._expr))
    copies = [TensorVariable(x) for x in _native.substitute([x._expr for x in outputs], pairs)]
    return copies if isinstance(output, (list, tuple)) else copies[0]
