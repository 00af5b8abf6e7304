"""A model as a function of tables: what Ray's map_batches and Dask's map_partitions call."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import Error, InvalidArgument
from .._ort.many import MAX_BATCH
from .._ort.option_values import integer, texts
from .._ort.options import SessionOptions
from .._suggest import did_you_mean
from .feeding import Feed, feed_plan, is_text
from .formats import nested_column
from .job import check_given, open_session
from .parts import ERROR
from .results import arrays, columns_of, output_fields, output_plan
from .run import memory_size
from .scoring import Scoring, score_batch
from .work import check_versions, versions

# The sessions of this process that were used last, by the hash of their pickles: the models of one pipeline.
_sessions: dict[str, Any] = {}
_MAX_SESSIONS = 4
_loading = threading.Lock()  # Dask calls scorers in several threads


class TableScorer:
    """Adds the results of a model to tables. Cheap to copy to a worker, which loads the model once.

    Tables are pyarrow.Table, pandas.DataFrame or {name: array}; the result is of the same kind.
    """

    def __init__(
        self, model: Any, *, columns: Union[Mapping[str, Union[str, None]], None] = None,
        output_names: Union[Sequence[str], None] = None, shared: Union[Mapping[str, Any], None] = None,
        shapes: Union[Mapping[str, Sequence[int]], None] = None, threads: int = 1, batch: int = 64,
        by_length: bool = True, memory: Union[int, str, None] = None, on_error: str = "raise",
        options: Union[SessionOptions, None] = None,
    ) -> None:  # fmt: skip
        if on_error not in ("raise", "null"):
            raise InvalidArgument(f"on_error is {on_error!r}, but must be 'raise' or 'null'")
        session = open_session(model, options, integer("threads", threads, 1, 4096))
        self._outputs = output_plan(session.get_outputs(), tuple(texts("output_names", output_names or ())))
        self._columns, self._shared = dict(columns or {}), dict(shared or {})
        self._shapes = dict(shapes or {})
        check_given(session, self._shared, self._shapes)
        self._runs = integer("batch", batch, 1, MAX_BATCH), bool(by_length), memory_size(memory)
        self._has_nulls = on_error == "null"
        self._session = pickle.dumps(session)
        self._key = hashlib.sha256(self._session).hexdigest()
        self._versions = versions()

    def __call__(self, table: Any) -> Any:
        """Returns the table with a column per output, and `NAME.shape` for outputs of two and more
        axes. Raises VersionMismatch, InvalidArgument and what a run raises."""
        if isinstance(table, pa.Table):
            return self._score(table)
        if isinstance(table, Mapping):
            return _arrays_of(self._score(_table_of(table)))
        if hasattr(table, "columns") and hasattr(table, "index"):  # pandas, which need not be installed
            made = self._score(pa.Table.from_pandas(table, preserve_index=False)).to_pandas()
            made.index = table.index
            return made
        raise InvalidArgument(f"a {type(table)} is no table: give a pyarrow.Table, a pandas.DataFrame or arrays")

    def check_columns(self, names: Sequence[str]) -> None:
        """Raises InvalidArgument unless there is a column for every input of the model."""
        for end in self._loaded().get_inputs():
            column = self._columns.get(end.name, end.name)
            if end.name not in self._shared and column not in names:
                raise InvalidArgument(
                    f"the tables have no column '{column}' for the input '{end.name}'"
                    f"{did_you_mean(column, names)}", (f"the columns are {', '.join(names)}",)
                )  # fmt: skip

    def _loaded(self) -> Any:
        """The session, loaded once per process."""
        check_versions(self._versions)
        with _loading:
            found = _sessions.pop(self._key, None)
            if found is None:
                if len(_sessions) == _MAX_SESSIONS:
                    del _sessions[next(iter(_sessions))]
                found = pickle.loads(self._session)
            _sessions[self._key] = found  # the last one used comes last
            return found

    def _score(self, table: pa.Table) -> pa.Table:
        results: list[Union[list[np.ndarray], Error]] = []
        for part in table.to_batches() if table.num_rows else []:
            results += self._results(part)
        errors = [str(each) if isinstance(each, Error) else None for each in results]
        self._check(results)
        for field, column in zip(output_fields(self._outputs), self._with_nulls(results)):
            table = _with_column(table, field.name, column)
        return _with_column(table, ERROR, pa.array(errors, pa.string())) if self._has_nulls else table

    def _results(self, batch: pa.RecordBatch) -> list[Union[list[np.ndarray], Error]]:
        session = self._loaded()
        feeds = feed_plan(session.get_inputs(), batch.schema, self._columns, self._shared, self._shapes,
                          session.get_overridable_initializers())  # fmt: skip
        for feed in feeds:
            _check_is_exact(batch.column(feed.column), feed)
        scoring = Scoring(tuple(feeds), tuple(self._outputs), self._shared, *self._runs)
        return [each for scored in score_batch(session, scoring, batch) for each in scored.results]

    def _check(self, results: Sequence[Any]) -> None:
        bad = next((row for row, each in enumerate(results) if isinstance(each, Error)), None)
        if bad is not None and not self._has_nulls:
            error = results[bad]
            raise type(error)(f"row {bad} of the table fails: {error.text}", error.notes)

    def _with_nulls(self, results: Sequence[Any]) -> list[pa.Array]:
        """The columns of the results; rows that failed are null."""
        good = [row for row, each in enumerate(results) if not isinstance(each, Error)]
        made = columns_of(self._outputs, [results[row] for row in good])
        if len(good) == len(results):
            return made
        positions = np.full(len(results), -1)
        positions[good] = np.arange(len(good))
        picked = pa.array(positions, mask=positions < 0)
        return [column.take(picked) for column in made]


def _check_is_exact(column: pa.Array, feed: Feed) -> None:
    """Raises InvalidArgument for arrays as numpy prints them: rounded, and with dots from 1,000 elements
    on. Dask turns columns of arrays into such texts."""
    if feed.dtype.kind == "U" or not is_text(column.type):
        return
    lists = [text for text in column.to_pylist() if text and text.startswith("[") and text.strip("[] ")]
    if lists and not any("," in text for text in lists):
        raise InvalidArgument(
            f"the column '{feed.column}' holds arrays as rounded texts, such as '{lists[0][:40]}'",
            ('Dask makes such texts of arrays: call dask.config.set({"dataframe.convert-string": False}) '
             "before you make the frame",),
        )  # fmt: skip


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name in table.column_names:
        raise InvalidArgument(f"the table has a column '{name}' already", ("drop or rename it first",))
    return table.append_column(name, column)


def _table_of(columns: Mapping[str, Any]) -> pa.Table:
    made = {}
    for name, values in columns.items():
        values = np.asarray(values)
        made[name] = pa.array(list(values)) if values.dtype == object else nested_column(values)
    return pa.table(made)


def _arrays_of(table: pa.Table) -> dict[str, np.ndarray]:
    made = {}
    for name in table.column_names:
        rows = arrays(table, name) if pa.types.is_large_list(table[name].type) else None
        if rows is None:
            made[name] = table[name].to_numpy()
        else:
            made[name] = np.empty(len(rows), object)
            made[name][:] = rows
    return made
