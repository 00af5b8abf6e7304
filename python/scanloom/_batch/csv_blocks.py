"""CSV in blocks of whole lines, which workers read independently of each other."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.csv as pc  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import InvalidArgument
from .shards import Group

_BLOCK = 16 << 20
# What pyarrow takes for missing values, without the spellings of NaN that it reads as numbers.
_MISSING = ("", "#N/A", "#N/A N/A", "#NA", "N/A", "NA", "NULL", "n/a", "null",
            "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
# All that it reads as NaN. A column of integers has none.
_NANS = tuple(sign + "".join(letters) for sign in ("", "-", "+") for letters in itertools.product("nN", "aA", "nN"))


class CsvFormat:
    """A group is a block of lines. The first line has the names; a value contains no line breaks.

    Types are those of the first block: a later value that does not fit is an error. A column that is
    empty there holds numbers, none of which is known. `nan` and `inf` are numbers; an empty value of a
    column of numbers, or a word like NA, is missing.
    """

    def __init__(self, separator: str, block: int = _BLOCK) -> None:
        self._parse = pc.ParseOptions(delimiter=separator)
        self._block = block

    def inspect(self, path: str) -> tuple[pa.Schema, list[Group]]:
        with open(path, "rb") as file:
            begin = len(file.readline())
            groups: list[Group] = []
            first = 0
            rows, position = 0, begin
            for line in file:
                position += len(line)
                rows += bool(line.strip())
                if position - begin >= self._block:
                    groups.append(Group(len(groups), first, rows, position - begin, begin, position))
                    first, rows, begin = first + rows, 0, position
            if rows:
                groups.append(Group(len(groups), first, rows, position - begin, begin, position))
        return (self._schema(path) if groups else self._found_schema(path)), groups

    def _schema(self, path: str) -> pa.Schema:
        fields = list(self._found_schema(path))
        return pa.schema([each.with_type(pa.float64()) if pa.types.is_null(each.type) else each for each in fields])

    def _found_schema(self, path: str) -> pa.Schema:
        options = pc.ReadOptions(block_size=self._block, use_threads=False)
        with pc.open_csv(path, options, self._parse, pc.ConvertOptions(null_values=_MISSING)) as reader:
            return reader.schema

    def batches(
        self, path: str, group: Group, columns: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        schema = self._schema(path)
        with open(path, "rb") as file:
            file.seek(group.begin)
            content = file.read(group.end - group.begin)
        try:
            table = self._table(content, schema, columns)
        except pa.ArrowInvalid as error:
            if not group.begin or "conversion error" not in str(error):
                raise
            raise InvalidArgument(
                f"'{path}', bytes {group.begin} to {group.end}: {error}",
                (f"the first {self._block >> 20} MB of a CSV file decide what its columns hold: write a number "
                 "as 1.0 in the first line if later ones have fractions, or write Parquet",),
            ) from None  # fmt: skip
        if table.num_rows != group.rows:
            raise InvalidArgument(
                f"'{path}' has {group.rows} lines at bytes {group.begin} to {group.end}, but they give "
                f"{table.num_rows} rows",
                ("values of a CSV file must not contain line breaks; write Parquet for such values",),
            )
        yield from table.to_batches(rows)

    def _table(self, content: bytes, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
        """The named columns. In one that holds integers in the first block, NaN is a missing value. Raises
        pyarrow.ArrowInvalid."""
        try:
            return self._read(content, schema, columns, _MISSING)
        except pa.ArrowInvalid:
            whole = {name for name in columns if pa.types.is_integer(schema.field(name).type)}
            if not whole:
                raise
            parts = {True: self._read(content, schema, sorted(whole), (*_MISSING, *_NANS))}
            others = [name for name in columns if name not in whole]
            if others:
                parts[False] = self._read(content, schema, others, _MISSING)
            return pa.table({name: parts[name in whole][name] for name in columns})

    def _read(
        self, content: bytes, schema: pa.Schema, columns: Sequence[str], missing: Sequence[str]
    ) -> pa.Table:
        types = {field.name: field.type for field in schema}
        return pc.read_csv(
            io.BytesIO(content),
            pc.ReadOptions(column_names=schema.names, use_threads=False, block_size=max(len(content), 1)),
            self._parse,
            pc.ConvertOptions(column_types=types, include_columns=list(columns), null_values=missing),
        )
