"""Reading of Parquet, Arrow IPC, CSV and NPZ: the groups of a file, and the rows of a group."""

from __future__ import annotations

import pathlib
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._counted import counted
from .._errors import InvalidArgument
from .csv_blocks import CsvFormat
from .shards import Group


class Format(Protocol):
    """A kind of file. Both methods raise InvalidArgument, OSError and pyarrow.ArrowException."""

    def inspect(self, path: str) -> tuple[pa.Schema, list[Group]]:
        """The schema, and the groups in the order of the rows."""

    def batches(
        self, path: str, group: Group, columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The named columns of a group, at most `rows` rows at a time."""


class ParquetFormat:
    """A group is a row group."""

    def inspect(self, path: str) -> tuple[pa.Schema, list[Group]]:
        with pq.ParquetFile(path) as file:
            groups, first = [], 0
            for number in range(file.metadata.num_row_groups):
                found = file.metadata.row_group(number)
                groups.append(Group(number, first, found.num_rows, found.total_byte_size))
                first += found.num_rows
            return file.schema_arrow, groups

    def batches(
        self, path: str, group: Group, columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        # Pages are read as they are needed, so that memory does not grow with the row group.
        with pq.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
            yield from file.iter_batches(rows, [group.number], list(columns), use_threads=False)


class ArrowFormat:
    """A group is a record batch of an IPC file (also called Feather, version 2)."""

    def inspect(self, path: str) -> tuple[pa.Schema, list[Group]]:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            groups, first = [], 0
            for number in range(file.num_record_batches):
                found = file.get_batch(number)
                groups.append(Group(number, first, found.num_rows, found.nbytes))
                first += found.num_rows
            return file.schema, groups

    def batches(
        self, path: str, group: Group, columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            batch = file.get_batch(group.number).select(list(columns))
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)


class NpzFormat:
    """A file is one group. Rows are the first axis of every array. Rows of unequal lengths are one
    array `x` of all rows after one another and an array `x.lengths`."""

    def inspect(self, path: str) -> tuple[pa.Schema, list[Group]]:
        batch = self._read(path, None)
        return batch.schema, [Group(0, 0, batch.num_rows, batch.nbytes)]

    def batches(
        self, path: str, group: Group, columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        batch = self._read(path, columns)
        for first in range(0, batch.num_rows, rows):
            yield batch.slice(first, rows)

    def _read(self, path: str, columns: Any) -> pa.RecordBatch:
        try:
            with np.load(path, allow_pickle=False) as file:
                names = [name for name in file.files if not name.endswith(".lengths")]
                wanted = names if columns is None else [name for name in columns if name in names]
                return pa.RecordBatch.from_pydict({name: _column(file, name) for name in wanted})
        except (ValueError, zipfile.BadZipFile) as error:
            raise InvalidArgument(f"'{path}' cannot be read as NPZ: {error}") from None


def _column(file: Any, name: str) -> pa.Array:
    """The rows of an array of an NPZ file. Raises ValueError."""
    values = file[name]
    if values.ndim == 0:
        raise ValueError(f"'{name}' has no axis of rows")
    try:
        rows = nested_column(values)
    except pa.ArrowNotImplementedError:
        raise ValueError(f"'{name}' holds {values.dtype}, which columns cannot hold") from None
    if f"{name}.lengths" in file.files:
        lengths = file[f"{name}.lengths"]
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise ValueError(f"'{name}.lengths' must be a vector of integers from 0 on")
        if lengths.sum() != len(values):
            raise ValueError(f"'{name}.lengths' adds up to {lengths.sum()}, but '{name}' has {counted(len(values), 'row')}")
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return pa.LargeListArray.from_arrays(offsets, rows)
    return rows


def nested_column(values: np.ndarray) -> pa.Array:
    """An array as a column: axes after the first become lists of fixed sizes."""
    made = pa.array(np.ascontiguousarray(values).reshape(-1))
    for size in reversed(values.shape[1:]):
        if size == 0:
            raise ValueError(f"an array of shape {values.shape} has no elements")
        made = pa.FixedSizeListArray.from_arrays(made, size)
    return made


_FORMATS: dict[str, Format] = {
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".arrow": ArrowFormat(),
    ".feather": ArrowFormat(),
    ".csv": CsvFormat(","),
    ".tsv": CsvFormat("\t"),
    ".npz": NpzFormat(),
}


def format_of(path: str) -> Format:
    """Raises InvalidArgument."""
    suffix = pathlib.PurePath(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InvalidArgument(
            f"the input '{path}' has the suffix '{suffix}', which names no format",
            (f"formats are {', '.join(_FORMATS)}",),
        )
    return _FORMATS[suffix]
