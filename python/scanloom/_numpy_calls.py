"""What numpy's functions do with variables."""

from __future__ import annotations

from typing import Any

from ._errors import InvalidType

# By numpy's name; others have the same name in T.
_NAMES = {
    "absolute": "abs_", "bitwise_not": "invert", "conjugate": "conj", "degrees": "rad2deg",
    "divide": "true_div", "equal": "eq", "fabs": "abs_", "float_power": "pow",
    "floor_divide": "int_div", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "neq", "power": "pow",
    "radians": "deg2rad", "reciprocal": "inv", "remainder": "mod", "rint": "round", "sign": "sgn",
    "square": "sqr", "subtract": "sub", "true_divide": "true_div",
}  # fmt: skip
_OF_BOOLEANS = {
    "logical_and": "and_", "logical_or": "or_", "logical_xor": "xor", "logical_not": "invert",
}  # fmt: skip
_GENERAL = {"amax": "max", "amin": "min", "hstack": "horizontal_stack", "vstack": "vertical_stack"}


def universal(ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """A function of single elements. Raises InvalidType, which names what T has instead."""
    from . import tensor

    name = ufunc.__name__
    # `array += variable` asks to write into the array, and takes any result in its place.
    target = options.pop("out", None)
    own = target is None or (len(target) == 1 and target[0] is inputs[0])
    known = _OF_BOOLEANS.get(name) or _NAMES.get(name, name)
    function = getattr(tensor, known, None)
    if method != "__call__" or options or not own or function is None:
        _refuse(name if method == "__call__" else f"{name}.{method}", known, function is not None)
    if name in _OF_BOOLEANS:
        inputs = [tensor.neq(x, 0) for x in inputs]
    return function(*inputs)  # type: ignore[misc]


def general(function: Any, inputs: Any) -> Any:
    """Other functions: what every variable knows at once is told, the rest an InvalidType."""
    from . import tensor

    name = function.__name__
    if name in ("ndim", "shape", "size") and len(inputs) == 1:
        return getattr(inputs[0], name)
    known = _GENERAL.get(name, name)
    _refuse(name, known, hasattr(tensor, known))


def _refuse(name: str, known: str, exists: bool) -> None:
    raise InvalidType(
        f"numpy.{name} computes with arrays, not with variables",
        (f"write T.{known}",) if exists else ("what T has is in docs/from-theano.md",),
    )
