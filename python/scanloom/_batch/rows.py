"""From rows of a table to the feeds of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import Error, InvalidArgument
from .feeding import Feed

_SEPARATORS = str.maketrans(",;[]", "    ")


class Rows:
    """The rows of a batch as feeds. `at` gives those of one row, or raises what is wrong with it."""

    def __init__(self, batch: pa.RecordBatch, feeds: Sequence[Feed], shared: Mapping[str, Any]) -> None:
        self._feeds = [(feed, batch.column(feed.column)) for feed in feeds]
        self._shared = shared
        self._plain = {feed.column: _plain(column) for feed, column in self._feeds}

    def at(self, row: int) -> dict[str, Any]:
        """Raises InvalidArgument."""
        made = {feed.name: self._value(feed, column, row) for feed, column in self._feeds}
        return {**made, **self._shared}

    def _value(self, feed: Feed, column: pa.Array, row: int) -> np.ndarray:
        plain = self._plain[feed.column]
        try:
            value = plain(row) if plain is not None else _general(column[row].as_py(), feed)
            return _shaped(_typed(value, feed), feed)
        except Error:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"column '{feed.column}': {error}") from None


def _plain(column: pa.Array) -> Any:
    """A function that gives a row of a column of numbers without nulls as a view; None for others."""
    kind = column.type
    is_nested = False
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if column.null_count:
            return None
        offsets = column.offsets.to_numpy()
        values, kind, is_nested = column.values, kind.value_type, True
    else:
        offsets, values = None, column
    width: list[int] = []
    while pa.types.is_fixed_size_list(kind):
        if values.null_count:
            return None
        width.append(kind.list_size)
        values, kind = values.flatten(), kind.value_type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not is_number or values.null_count:
        return None
    data = values.to_numpy(zero_copy_only=False).reshape(-1, *width)
    if not is_nested:
        return lambda row: data[row]
    return lambda row: data[offsets[row] : offsets[row + 1]]


def _general(value: Any, feed: Feed) -> np.ndarray:
    """A row of any other column: texts, booleans, nested lists, nulls."""
    if _has_null(value):
        raise ValueError("the row has a null")
    if isinstance(value, str) and feed.dtype.kind != "U":
        return _numbers(value, feed.dtype)
    try:
        made = np.array(value)
    except ValueError:  # from numpy, which has no such arrays
        raise ValueError("the lists of the row have unequal lengths") from None
    return made if made.size else made.astype(feed.dtype)


def _has_null(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_null(each) for each in value)
    return value is None


def _numbers(text: str, dtype: np.dtype) -> np.ndarray:
    """The numbers of a text, as CSV has them: "0.5 1 2", also with commas, semicolons, brackets."""
    words = text.translate(_SEPARATORS).split()
    if dtype.kind not in "iu":
        return np.array([float(word) for word in words])
    limits = np.iinfo(dtype)
    values = [_integer(word) for word in words]  # not as floats, which hold 53 bits
    for value in values:
        if not limits.min <= value <= limits.max:
            raise ValueError(f"{value} does not fit {dtype}")
    return np.array(values, dtype)


def _integer(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        value = float(word)
        if not value.is_integer():
            raise ValueError(f"{word} is no integer") from None
        return int(value)


def _typed(value: Any, feed: Feed) -> np.ndarray:
    """Converts integers that fit, and floats of any width. Raises ValueError."""
    made = np.asarray(value)
    if made.dtype == feed.dtype or feed.dtype.kind == "U":
        return made
    if feed.dtype.kind in "iu" and made.size:
        limits = np.iinfo(feed.dtype)
        with np.errstate(invalid="ignore"):
            # As a float, the largest 64-bit integer would be rounded up to one that does not fit.
            is_low = made <= limits.max if made.dtype.kind in "iub" else made < 2.0 ** int(limits.max).bit_length()
            fits = (made >= limits.min) & is_low & (made == np.floor(made))
        if not fits.all():
            raise ValueError(f"{made[~fits].flat[0].item()} does not fit {feed.dtype}")
    if feed.dtype.kind == "b" and made.dtype.kind != "b" and made.size:
        raise ValueError(f"{made.dtype} cannot feed booleans")
    with np.errstate(over="ignore"):
        return made.astype(feed.dtype)


def _shaped(value: np.ndarray, feed: Feed) -> np.ndarray:
    """Gives a row the axes of the input. Raises ValueError."""
    if feed.shape is None:
        if value.ndim == 0 and feed.rank == 1:  # lines of CSV with one number each are no texts
            return value.reshape(1)
        if value.ndim != feed.rank:
            raise ValueError(f"a row has {value.ndim} axes, but the input '{feed.name}' has {feed.rank}")
        return value
    known = int(np.prod([size for size in feed.shape if size != -1]))
    is_open = -1 in feed.shape
    fills = (value.size % known == 0 if known else value.size == 0) if is_open else value.size == known
    if not fills or (value.ndim > 1 and not feed.is_given and not _matches(value.shape, feed.shape)):
        raise ValueError(
            f"a row of shape {list(value.shape)} does not fill the shape {list(feed.shape)} of the input '{feed.name}'"
        )
    length = value.size // known if known else 0
    return value.reshape([length if size == -1 else size for size in feed.shape])


def _matches(found: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether `shape` is `found` with more axes of size 1. A row of one step may itself have size 1."""
    if not shape:
        return not found
    if found and shape[0] in (-1, found[0]) and _matches(found[1:], shape[1:]):
        return True
    return shape[0] == 1 and _matches(found, shape[1:])
