"""Makers of variables by kind: T.scalar, T.ivector, T.dmatrix and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from .._theano.variable import TensorType, TensorVariable

_PATTERNS = {
    "scalar": (),
    "vector": (False,),
    "matrix": (False, False),
    "row": (True, False),
    "col": (False, True),
    "tensor3": (False,) * 3,
    "tensor4": (False,) * 4,
    "tensor5": (False,) * 5,
}
_PREFIXES = {
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
}
_Maker = Callable[..., TensorVariable]


def _any(pattern: tuple[bool, ...], kind: str) -> _Maker:
    def make(name: Union[str, None] = None, dtype: Any = None) -> TensorVariable:
        return TensorType("floatX" if dtype is None else dtype, pattern)(name)

    make.__name__ = kind
    make.__doc__ = f"A {kind} of config.floatX unless said: an input of functions."
    return make


def _of(pattern: tuple[bool, ...], dtype: str, kind: str) -> _Maker:
    def make(name: Union[str, None] = None) -> TensorVariable:
        return TensorType(dtype, pattern)(name)

    make.__name__ = kind
    make.__doc__ = f"A variable of {dtype}: an input of functions."
    return make


def _several(maker: _Maker) -> Callable[..., Any]:
    def make(*names: Any) -> Any:
        """Makes several variables: one per name, or as many as an integer says."""
        if len(names) == 1 and isinstance(names[0], int):
            return [maker() for _ in range(names[0])]
        made = [maker(name) for name in names]
        return made[0] if len(made) == 1 else made

    return make


float_dtypes = ("float16", "float32", "float64")
complex_dtypes = ("complex64", "complex128")
continuous_dtypes = float_dtypes + complex_dtypes
int_dtypes = ("int8", "int16", "int32", "int64")
uint_dtypes = ("uint8", "uint16", "uint32", "uint64")
integer_dtypes = int_dtypes + uint_dtypes
discrete_dtypes = ("bool", *integer_dtypes)
all_dtypes = discrete_dtypes + continuous_dtypes

__all__ = [
    "all_dtypes", "complex_dtypes", "continuous_dtypes", "discrete_dtypes", "float_dtypes",
    "int_dtypes", "integer_dtypes", "uint_dtypes",
]  # fmt: skip
for _kind, _pattern in _PATTERNS.items():
    _plural = {"matrix": "matrices"}.get(_kind, f"{_kind}s")
    _makers = {"": _any(_pattern, _kind)}
    for _prefix, _dtype in _PREFIXES.items():
        _makers[_prefix] = _of(_pattern, _dtype, _prefix + _kind)
    for _prefix, _maker in _makers.items():
        globals()[_prefix + _kind] = _maker
        globals()[_prefix + _plural] = _several(_maker)
        __all__ += [_prefix + _kind, _prefix + _plural]
