"""Calls of numpy functions on variables."""

from __future__ import annotations

from typing import Any, Union

from .. import tensor
from .._errors import InvalidType
from .._missing import NLINALG, SLINALG
from ..tensor import nlinalg, slinalg

# numpy name -> name in T; other functions have the same name.
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
# Functions of numpy.linalg that are in T itself; the others are in T.nlinalg or T.slinalg, if at
# all.
_PRODUCTS = frozenset(["diagonal", "matmul", "outer", "tensordot"])
# The function that a method of a ufunc computes: numpy.add.reduce is a sum.
_METHODS = {
    ("add", "reduce"): "sum", ("multiply", "reduce"): "prod", ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min", ("logical_and", "reduce"): "all", ("logical_or", "reduce"): "any",
    ("add", "accumulate"): "cumsum", ("multiply", "accumulate"): "cumprod",
    ("multiply", "outer"): "outer",
}  # fmt: skip


def universal(ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Applies a ufunc. Raises InvalidType, which names the alternative in T."""
    name = ufunc.__name__
    # `array += variable` passes the array as `out`, but accepts any result instead of it.
    target = options.pop("out", None)
    own = target is None or (len(target) == 1 and target[0] is inputs[0])
    known = _OF_BOOLEANS.get(name) or _NAMES.get(name, name)
    function = getattr(tensor, known, None)
    if method != "__call__":
        _refuse(f"numpy.{name}.{method}", _METHODS.get((name, method)))
    if options or not own or function is None:
        _refuse(f"numpy.{name}", known if function is not None else None)
    if name in _OF_BOOLEANS:
        inputs = [tensor.neq(x, 0) for x in inputs]
    return function(*inputs)  # type: ignore[misc]


def general(function: Any, inputs: Any) -> Any:
    """Answers functions that need only the type; raises InvalidType for the others."""
    name = function.__name__
    if name in ("ndim", "shape", "size") and len(inputs) == 1:
        return getattr(inputs[0], name)
    module = function.__module__ or "numpy"
    if module.startswith("numpy.linalg") and name not in _PRODUCTS:
        _refuse(f"numpy.linalg.{name}", *_of_matrices(name))
    if module.startswith("numpy.fft"):
        _refuse(f"numpy.fft.{name}", f"fft.{name}" if name in ("fft", "ifft") else None)
    known = _GENERAL.get(name, name)
    if hasattr(tensor, known):
        _refuse(f"numpy.{name}", known)
    _refuse(f"numpy.{name}", *_of_matrices(name))


def _of_matrices(name: str) -> tuple[Union[str, None], Union[str, None]]:
    """The module of T that has the matrix function; otherwise what to write instead, if known."""
    known = {"inv": "matrix_inverse", "multi_dot": "matrix_dot"}.get(name, name)
    for module, where in ((nlinalg, "nlinalg"), (slinalg, "slinalg")):
        if known in vars(module):
            return f"{where}.{known}", None
    return None, NLINALG.get(name) or SLINALG.get(name)


def _refuse(name: str, known: Union[str, None], instead: Union[str, None] = None) -> None:
    note = f"write T.{known}" if known else instead or "what T has is in docs/from-theano.md"
    raise InvalidType(f"{name} computes with arrays, not with variables", (note,))
