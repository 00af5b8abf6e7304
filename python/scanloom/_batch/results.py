"""From results of a model to columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import InvalidArgument
from .feeding import dtype_of


class Output(NamedTuple):
    """An output of the model. Scalars become a scalar column, vectors a list column, and tensors of
    more axes a list column of all elements and a column `NAME.shape`."""

    name: str
    dtype: np.dtype
    rank: int  # 2 for all that need a shape


def output_plan(outputs: Sequence[Any], names: Sequence[str]) -> list[Output]:
    """Raises InvalidArgument for outputs that are no tensors of numbers or texts."""
    declared = {end.name: end for end in outputs}
    made = []
    for name in names or declared:
        if name not in declared:
            raise InvalidArgument(f"the model has no output '{name}'", (f"the outputs are {', '.join(declared)}",))
        end = declared[name]
        rank = 2 if end.shape is None else min(len(end.shape), 2)
        made.append(Output(name, dtype_of(end.type, f"the output '{name}'"), rank))
    return made


def output_fields(outputs: Sequence[Output]) -> list[pa.Field]:
    """The columns of the outputs."""
    fields = []
    for output in outputs:
        kind = pa.string() if output.dtype.kind == "U" else pa.from_numpy_dtype(output.dtype)
        fields.append(pa.field(output.name, kind if output.rank == 0 else pa.large_list(kind)))
        if output.rank == 2:
            fields.append(pa.field(f"{output.name}.shape", pa.list_(pa.int64())))
    return fields


def columns_of(outputs: Sequence[Output], results: Sequence[Sequence[np.ndarray]]) -> list[pa.Array]:
    """The columns of the results, one sequence of arrays per row."""
    made = []
    for i, output in enumerate(outputs):
        arrays = [np.asarray(row[i]) for row in results]
        made += _columns(output, arrays)
    return made


def _columns(output: Output, arrays: list[np.ndarray]) -> list[pa.Array]:
    flat = [array.reshape(-1) for array in arrays]
    values = np.concatenate(flat) if flat else np.empty(0, output.dtype)
    is_text = output.dtype.kind == "U"
    elements = pa.array(values.tolist(), pa.string()) if is_text else pa.array(values.astype(output.dtype, copy=False))
    if output.rank == 0:
        return [elements]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in flat], dtype=np.int64)]).astype(np.int64)
    made = [pa.LargeListArray.from_arrays(offsets, elements)]
    if output.rank == 2:
        made.append(pa.array([list(array.shape) for array in arrays], pa.list_(pa.int64())))
    return made


def arrays(table: Any, name: str) -> list[np.ndarray]:
    """Returns the output `name` of every row of a table that a job has written, in its shape.

    table: a pyarrow.Table or RecordBatch. Scalars are arrays without axes. Raises InvalidArgument.
    """
    if name not in table.schema.names:
        raise InvalidArgument(f"the table has no column '{name}'", (f"it has {', '.join(table.schema.names)}",))
    column = table.column(name)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return [np.asarray(value) for value in column.to_numpy(zero_copy_only=False)]
    elements = column.values.to_numpy(zero_copy_only=False)
    offsets = column.offsets.to_numpy()
    made = [elements[offsets[i] : offsets[i + 1]] for i in range(len(column))]
    if f"{name}.shape" in table.schema.names:
        shapes = table.column(f"{name}.shape").to_pylist()
        made = [array.reshape(shape) for array, shape in zip(made, shapes)]
    return made
