"""From rows of a table to the feeds of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import pyarrow as pa

from .._errors import Error, InvalidArgument
from .._suggest import did_you_mean

Dim = Union[int, str, None]

_DTYPES = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_, "string": np.str_,
    **{name: np.dtype(name).type for name in ("int8", "int16", "int32", "int64", "uint8", "uint16")},
    **{name: np.dtype(name).type for name in ("uint32", "uint64")},
}  # fmt: skip
_SEPARATORS = str.maketrans(",;[]", "    ")
# Symbols of a size that is 1 for a single sequence.
_BATCHES = frozenset(["n", "b", "batch", "batch_size", "batchsize", "bs", "bsz", "minibatch"])


class Feed(NamedTuple):
    """An input of the model that a column feeds. `shape` is what a row becomes, with one open size at
    most; None if rows have the model's number of axes."""

    name: str
    column: str
    dtype: np.dtype
    rank: int
    shape: Union[tuple[int, ...], None]
    is_given: bool = False  # the shape is the caller's: rows are reshaped to it


def feed_plan(
    inputs: Sequence[Any],
    schema: pa.Schema,
    columns: Mapping[str, str],
    shared: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]],
) -> list[Feed]:
    """Finds a column for every input of the model. Raises InvalidArgument."""
    known = [end.name for end in inputs]
    for argument, names in (("columns", columns), ("shared", shared), ("shapes", shapes)):
        for name in names:
            if name not in known:
                raise InvalidArgument(
                    f"{argument} names '{name}', which is not an input of the model{did_you_mean(name, known)}",
                    (f"the inputs are {', '.join(known)}",),
                )
    return [
        _feed(end, schema, columns.get(end.name, end.name), shapes.get(end.name))
        for end in inputs
        if end.name not in shared
    ]


def dtype_of(kind: str, what: str) -> np.dtype:
    """The element type of a tensor, of a text like "tensor(float)". Raises InvalidArgument."""
    name = kind[len("tensor(") : -1] if kind.startswith("tensor(") else kind
    if name not in _DTYPES:
        raise InvalidArgument(f"{what} is a {kind}, which columns of tables cannot hold")
    return np.dtype(_DTYPES[name])


def _feed(end: Any, schema: pa.Schema, column: str, shape: Union[Sequence[int], None]) -> Feed:
    if schema.get_field_index(column) < 0:
        raise InvalidArgument(
            f"the tables have no column '{column}' for the input '{end.name}'{did_you_mean(column, schema.names)}",
            (f"the columns are {', '.join(schema.names)}",
             f'write columns={{"{end.name}": ...}}, or shared={{"{end.name}": array}} for all rows'),
        )  # fmt: skip
    dtype = dtype_of(end.type, f"the input '{end.name}'")
    check_column(schema, Feed(end.name, column, dtype, 0, None))
    if shape is not None:
        sizes = tuple(int(size) for size in shape)
        if sum(size == -1 for size in sizes) > 1 or min(sizes, default=0) < -1:
            raise InvalidArgument(f"shapes gives {list(sizes)} for '{end.name}': at most one size may be -1")
        return Feed(end.name, column, dtype, len(sizes), sizes, True)
    kind = schema.field(column).type
    if dtype.kind != "U" and _is_text(element_type(kind)):  # numbers as a text
        dims = list(end.shape)
        is_list = len(dims) == 1 and not isinstance(dims[0], int)
        return Feed(end.name, column, dtype, len(dims), None if is_list else _row_shape(end, column, 1))
    return Feed(end.name, column, dtype, len(end.shape), _row_shape(end, column, _depth(kind)))


def check_column(schema: pa.Schema, feed: Feed) -> None:
    """Raises InvalidArgument unless the column can feed the input."""
    if schema.get_field_index(feed.column) < 0:
        raise InvalidArgument(f"there is no column '{feed.column}' for the input '{feed.name}'")
    kind = element_type(schema.field(feed.column).type)
    is_text = _is_text(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (is_text or (is_number and feed.dtype.kind != "U")):
        raise InvalidArgument(
            f"the column '{feed.column}' holds {schema.field(feed.column).type}, which cannot feed the "
            f"input '{feed.name}' of {feed.dtype}"
        )


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def element_type(kind: pa.DataType) -> pa.DataType:
    while True:
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif _is_list(kind):
            kind = kind.value_type
        else:
            return kind


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _depth(kind: pa.DataType) -> int:
    """The axes of a row."""
    return 1 + _depth(kind.value_type) if _is_list(kind) else 0


def _row_shape(end: Any, column: str, rank: int) -> Union[tuple[int, ...], None]:
    """Where rows with fewer axes than the input get axes of size 1, and which list is cut into rows."""
    dims: list[Dim] = list(end.shape)
    if rank == len(dims):
        return None
    open_axes = [axis for axis, size in enumerate(dims) if not isinstance(size, int)]
    batch_axes = [axis for axis in open_axes if str(dims[axis]).lower() in _BATCHES]
    if len(open_axes) - len(batch_axes) > 1:
        raise InvalidArgument(
            f"rows of the column '{column}' have {rank} axes, but the input '{end.name}' has "
            f"{len(dims)}, of sizes {dims}, of which several are open",
            (f'write shapes={{"{end.name}": [...]}} with the sizes of one sequence, -1 for its length',),
        )
    # A batch that is the only open axis is taken for the length: [batch, 40] and rows of 40 numbers
    # cannot be told from [steps, 40].
    if len(batch_axes) == len(open_axes) and len(batch_axes) > 1:
        batch_axes = batch_axes[:-1]
    return tuple(
        size if isinstance(size, int) else 1 if axis in batch_axes and len(open_axes) > 1 or rank == 0 else -1
        for axis, size in enumerate(dims)
    )


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
        return _numbers(value)
    made = np.array(value)
    if made.dtype == object:
        raise ValueError("the lists of the row have unequal lengths")
    return made if made.size else made.astype(feed.dtype)


def _has_null(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_null(each) for each in value)
    return value is None


def _numbers(text: str) -> np.ndarray:
    """The numbers of a text, as CSV has them: "0.5 1 2", also with commas, semicolons, brackets."""
    return np.array([float(word) for word in text.translate(_SEPARATORS).split()])


def _typed(value: Any, feed: Feed) -> np.ndarray:
    """Converts integers that fit, and floats of any width. Raises ValueError."""
    made = np.asarray(value)
    if made.dtype == feed.dtype or feed.dtype.kind == "U":
        return made
    if feed.dtype.kind in "iu" and made.size:
        limits = np.iinfo(feed.dtype)
        with np.errstate(invalid="ignore"):
            fits = (made >= limits.min) & (made <= limits.max) & (made == np.floor(made))
        if not fits.all():
            raise ValueError(f"{made[~fits].flat[0]!r} does not fit {feed.dtype}")
    if feed.dtype.kind == "b" and made.dtype.kind != "b" and made.size:
        raise ValueError(f"{made.dtype} cannot feed booleans")
    with np.errstate(over="ignore"):
        return made.astype(feed.dtype)


def _shaped(value: np.ndarray, feed: Feed) -> np.ndarray:
    """Gives a row the axes of the input. Raises ValueError."""
    if feed.shape is None:
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
    """Whether `shape` is `found` with more axes of size 1."""
    rest = list(found)
    for size in shape:
        if rest and size in (-1, rest[0]):
            rest.pop(0)
        elif size != 1:
            return False
    return not rest
