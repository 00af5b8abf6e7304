"""Which column feeds which input of a model, and in which shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import InvalidArgument
from .._ort.option_values import integer
from .._suggest import did_you_mean
from .spelling import are_options, named

Dim = Union[int, str, None]

_DTYPES: dict[str, Any] = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_, "string": np.str_,
    **{name: np.dtype(name).type for name in ("int8", "int16", "int32", "int64", "uint8", "uint16")},
    **{name: np.dtype(name).type for name in ("uint32", "uint64")},
}  # fmt: skip
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
    columns: Mapping[str, Union[str, None]],
    shared: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]],
    defaults: Sequence[Any] = (),
) -> list[Feed]:
    """Finds a column for every input of the model, and for those of `defaults`, which have a default
    value, where there is one. Raises InvalidArgument."""
    known = [end.name for end in (*inputs, *defaults)]
    for argument, names in (("columns", columns), ("shared", shared), ("shapes", shapes)):
        for name in names:
            if name not in known:
                raise InvalidArgument(
                    f"{named(argument)} names '{name}', which is not an input of the model{did_you_mean(name, known)}",
                    (f"the inputs are {', '.join(known)}",),
                )
    kept = unfed(defaults, schema, columns, shared)
    for name, column in columns.items():
        if not isinstance(column, str) and name not in kept:
            raise InvalidArgument(f"{named('columns')} gives {column!r} for '{name}', but must give the name of a column")
    return [
        _feed(end, schema, str(columns.get(end.name, end.name)), shapes.get(end.name))
        for end in (*inputs, *defaults)
        if end.name not in shared and end.name not in kept
    ]


def unfed(
    defaults: Sequence[Any], schema: pa.Schema, columns: Mapping[str, Union[str, None]], shared: Mapping[str, Any]
) -> list[str]:
    """The inputs that keep their default values: those that no column is named like, and those whose
    column is None or, as an option, empty."""
    names = [end.name for end in defaults if end.name not in shared]
    return [
        name for name in names
        if (not columns[name] if name in columns else schema.get_field_index(name) < 0)
    ]  # fmt: skip


def dtype_of(kind: str, what: str) -> np.dtype:
    """The element type of a tensor, of a text like "tensor(float)". Raises InvalidArgument."""
    name = kind[len("tensor(") : -1] if kind.startswith("tensor(") else kind
    if name not in _DTYPES:
        raise InvalidArgument(f"{what} is a {kind}, which columns of tables cannot hold")
    made: np.dtype = np.dtype(_DTYPES[name])
    return made


def _feed(end: Any, schema: pa.Schema, column: str, shape: Union[Sequence[int], None]) -> Feed:
    if schema.names.count(column) > 1:
        raise InvalidArgument(
            f"the tables have {schema.names.count(column)} columns '{column}' for the input '{end.name}'",
            ("give each column a name of its own",),
        )
    if schema.get_field_index(column) < 0:
        raise InvalidArgument(
            f"the tables have no column '{column}' for the input '{end.name}'{did_you_mean(column, schema.names)}",
            (f"the columns are {', '.join(schema.names)}",
             f"write --columns {end.name}=COLUMN" if are_options() else
             f'write columns={{"{end.name}": ...}}, or shared={{"{end.name}": array}} for all rows'),
        )  # fmt: skip
    dtype = dtype_of(end.type, f"the input '{end.name}'")
    check_column(schema, Feed(end.name, column, dtype, 0, None))
    if shape is not None:
        sizes = given_sizes(end.name, shape)
        return Feed(end.name, column, dtype, len(sizes), sizes, True)
    kind = schema.field(column).type
    dims = list(end.shape)
    # Numbers as a text; in CSV, a file whose rows all have one number has a column of numbers.
    if dtype.kind != "U" and dims and (is_text(element_type(kind)) or _depth(kind) == 0):
        is_list = len(dims) == 1 and not isinstance(dims[0], int)
        return Feed(end.name, column, dtype, len(dims), None if is_list else _row_shape(end, column, 1))
    return Feed(end.name, column, dtype, len(end.shape), _row_shape(end, column, _depth(kind)))


def given_sizes(name: str, shape: Any) -> tuple[int, ...]:
    """The sizes that the caller gives for an input. Raises InvalidArgument."""
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise InvalidArgument(f"{named('shapes')} gives {shape!r} for '{name}', but must give a list of sizes")
    sizes = tuple(integer(f"a size of '{name}' in {named('shapes')}", size, -1) for size in shape)
    if sizes.count(-1) > 1:
        raise InvalidArgument(f"{named('shapes')} gives {list(sizes)} for '{name}': at most one size may be -1")
    return sizes


def check_column(schema: pa.Schema, feed: Feed) -> None:
    """Raises InvalidArgument unless the column can feed the input."""
    if schema.get_field_index(feed.column) < 0:
        raise InvalidArgument(f"there is no column '{feed.column}' for the input '{feed.name}'")
    kind = element_type(schema.field(feed.column).type)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (is_text(kind) or (is_number and feed.dtype.kind != "U")):
        raise InvalidArgument(
            f"the column '{feed.column}' holds {schema.field(feed.column).type}, which cannot feed the "
            f"input '{feed.name}' of {feed.dtype}"
        )


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def element_type(kind: pa.DataType) -> pa.DataType:
    while True:
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif _is_list(kind):
            kind = kind.value_type
        else:
            return kind


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


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
            (("write " + (f"--shape {end.name}=SIZES" if are_options() else f'shapes={{"{end.name}": [...]}}')
              + " with the sizes of one sequence, -1 for its length"),),
        )
    # A batch that is the only open axis is taken for the length: nothing distinguishes [batch, 40] and
    # rows of 40 numbers from [steps, 40].
    if len(batch_axes) == len(open_axes) and len(batch_axes) > 1:
        batch_axes = batch_axes[:-1]
    return tuple(
        size if isinstance(size, int) else 1 if axis in batch_axes and len(open_axes) > 1 or rank == 0 else -1
        for axis, size in enumerate(dims)
    )
