"""The output files of a shard: results, and the rows that failed."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import Error
from .._files import sha256_of
from .durable import HashingFile, publish, temporary
from .manifest import OWN, QUARANTINE
from .problems import JobFailed
from .results import Output, columns_of, output_fields

# A row group of the output ends when it has reached one of these. That depends on the rows alone, so
# that files do not depend on how much memory a worker has.
_GROUP_BYTES = 8 << 20
_GROUP_ROWS = 65536

ERROR = "error"


class Part:
    """Collects the results of a shard, in the order of its rows, and writes them in row groups."""

    def __init__(self, path: pathlib.Path, keys: pa.Schema, outputs: Sequence[Output]) -> None:
        self.rows = 0
        self._outputs = outputs
        self._keys = keys
        self._schema = pa.schema([*keys, *output_fields(outputs)])
        self.file = HashingFile(path)
        self._writer = pq.ParquetWriter(self.file, self._schema, compression="zstd")
        self._kept: list[tuple[pa.RecordBatch, list[list[np.ndarray]]]] = []
        self._size = self._count = 0

    def add(self, keys: pa.RecordBatch, results: list[list[np.ndarray]]) -> None:
        """Takes the rows of `keys` with their results."""
        begin = 0
        for row, arrays in enumerate(results):
            self._size += sum(array.nbytes for array in arrays)
            self._count += 1
            if self._size >= _GROUP_BYTES or self._count >= _GROUP_ROWS:
                self._keep(keys, results, begin, row + 1)
                self._flush()
                begin = row + 1
        self._keep(keys, results, begin, len(results))

    def _keep(self, keys: pa.RecordBatch, results: list[list[np.ndarray]], begin: int, end: int) -> None:
        if end > begin:
            self._kept.append((keys.slice(begin, end - begin), results[begin:end]))

    def _flush(self) -> None:
        if self._count == 0:
            return
        keys = pa.Table.from_batches([each for each, _ in self._kept], self._keys).combine_chunks()
        columns = columns_of(self._outputs, [row for _, results in self._kept for row in results])
        table = pa.table([*keys.columns, *columns], self._schema)
        self._writer.write_table(table, row_group_size=_GROUP_ROWS)
        self.rows += self._count
        self._kept, self._size, self._count = [], 0, 0

    def finish(self) -> None:
        self._flush()
        self._writer.close()
        self.file.close()

    def abandon(self) -> None:
        """Closes the file after an error, which closing may raise again."""
        with contextlib.suppress(Exception):
            self._writer.close()
        self.file.close()


@contextlib.contextmanager
def written_part(
    folder: pathlib.Path, name: str, keys: pa.Schema, outputs: Sequence[Output]
) -> Iterator[Part]:
    """A part that appears under its name, complete, if the block ends without an error."""
    target = folder / f"{name}.parquet"
    with temporary(folder / OWN / "tmp", name) as path:
        part = Part(path, keys, outputs)
        try:
            yield part
            part.finish()
        except BaseException:
            part.abandon()
            raise
        _compare(target, part.file)
        publish(path, target)


def _compare(target: pathlib.Path, made: HashingFile) -> None:
    """A shard that is done twice gives the same bytes. Raises JobFailed if it does not."""
    if target.exists() and sha256_of(target) != made.hexdigest():
        raise JobFailed(
            f"'{target.name}' is there already and differs from what was computed now",
            ("machines with and without fused multiply-add differ in bits: use one kind for a job",
             "if the file was damaged, delete it and start the job again"),
        )  # fmt: skip


class Quarantine:
    """The rows of a shard that failed: their keys, the columns that were fed, and the error."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    @property
    def rows(self) -> int:
        return sum(batch.num_rows for batch in self._batches)

    def add(self, row: pa.RecordBatch, error: Error) -> None:
        self._batches.append(row.append_column(ERROR, pa.array([str(error)], pa.string())))

    def write(self, folder: pathlib.Path, name: str) -> str:
        """Returns the hash of the file; removes one of an earlier start if no row failed."""
        target = folder / QUARANTINE / f"{name}.parquet"
        if not self._batches:
            with contextlib.suppress(FileNotFoundError):
                target.unlink()
            return ""
        with temporary(folder / OWN / "tmp", f"{name}.quarantine") as path:
            pq.write_table(pa.Table.from_batches(self._batches), path, compression="zstd")
            digest = sha256_of(path)
            publish(path, target)
        return digest


KeyColumns = Union[Sequence[str], None]


def key_schema(keys: KeyColumns, schema: pa.Schema) -> pa.Schema:
    """The key columns of the output: those that are named, or the file and the number of the row."""
    if not keys:
        return pa.schema([("file", pa.string()), ("row", pa.int64())])
    return pa.schema([schema.field(name) for name in keys])


def key_columns(keys: pa.Schema, is_given: bool, batch: pa.RecordBatch, path: str, first: int) -> pa.RecordBatch:
    """The keys of the rows of a batch, whose first row has the number `first` in its file."""
    if is_given:
        return pa.RecordBatch.from_arrays([batch.column(name).cast(keys.field(name).type) for name in keys.names],
                                          schema=keys)  # fmt: skip
    numbers: Any = np.arange(first, first + batch.num_rows, dtype=np.int64)
    files = pa.array([path] * batch.num_rows, pa.string())
    return pa.RecordBatch.from_arrays([files, pa.array(numbers)], schema=keys)
