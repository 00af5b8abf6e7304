"""Converts the key of x[...] to the library's form."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from .. import _native
from .._errors import InvalidType


def items_of(key: Any) -> list[_native.Index]:
    """Converts all items of a key. Raises InvalidType if one is not an index."""
    return [_item(item) for item in (key if isinstance(key, tuple) else (key,))]


def _item(item: Any) -> _native.Index:
    if item is None:
        return _native.Index.new_axis()
    if item is Ellipsis:
        return _native.Index.ellipsis()
    if isinstance(item, slice):
        return _native.Index.slice(_limit(item.start), _limit(item.stop), _limit(item.step))
    return _native.Index.of(_position(item))


def _limit(value: Any) -> Union[_native.Expr, None]:
    return None if value is None else _position(value)


def _position(value: Any) -> _native.Expr:
    if isinstance(expr := getattr(value, "_expr", None), _native.Expr):  # a variable
        return expr
    if isinstance(value, (bool, np.bool_)) or isinstance(value, (str, bytes, float, dict)):
        raise InvalidType(f"{value!r} is not an index; indices are integers, slices and variables")
    if isinstance(value, int):
        return _native.whole(value)
    if isinstance(value, (list, tuple, range)):
        if any(hasattr(one, "_expr") for one in value):
            return _native.shape_of([_position(one) for one in value])
        value = np.asarray(value, dtype=None if len(value) else np.int64)
    array = np.asarray(value)
    if array.dtype.kind not in "biu":
        raise InvalidType(f"{value!r:.80} is not an index; indices are integers or booleans")
    return _native.constant(array)
