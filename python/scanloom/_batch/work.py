"""What a worker does: the rows of a shard through the model, into files."""

from __future__ import annotations

import hashlib
import pathlib
import pickle
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Union

import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._counted import counted
from .._errors import Error, InvalidArgument
from .durable import write_durably
from .feeding import check_column
from .formats import format_of
from .guard import MemoryGuard
from .manifest import OWN
from .parts import Part, Quarantine, key_columns, key_schema, written_part
from .problems import Failure, JobFailed, VersionMismatch, _RowFailed, failure_of
from .scoring import Scoring, score_batch
from .shards import Record, Shard, Task


_MAX_ROWS = 4096  # read at a time


class Work(NamedTuple):
    """What every worker needs. `session` is pickled, so that a worker loads it once."""

    session: bytes
    scoring: Scoring
    keys: tuple[str, ...]  # () for the file and the number of the row
    schema: pa.Schema  # of the key columns in the first input
    folder: str
    quarantine: bool

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.keys, *(feed.column for feed in self.scoring.feeds)]))


class Sealed(NamedTuple):
    """Where workers find the work: in the folder of the outputs, which they all see, so that no engine
    has to keep and pass on a model. Workers may have other versions, which are compared first."""

    versions: dict[str, str]
    path: str
    sha256: str


def versions() -> dict[str, str]:
    """The versions that decide the bytes of the output."""
    import scanloom  # not at the top: the package imports this module on demand, and tests change its version

    return {"scanloom": scanloom.__version__, "pyarrow": pa.__version__}


def check_versions(wanted: dict[str, str]) -> None:
    """Raises VersionMismatch unless this process has the versions of the driver."""
    for name, here in versions().items():
        if here != wanted[name]:
            raise VersionMismatch(
                f"a worker has {name} {here}, but the driver has {name} {wanted[name]}",
                (f"the worker is '{sys.executable}' on '{socket.gethostname()}'",
                 f"install {name} {wanted[name]} on every machine of the job"),
            )  # fmt: skip


def seal(work: Work) -> Sealed:
    """Writes the work for the workers. Raises OSError."""
    content = pickle.dumps(work)
    path = pathlib.Path(work.folder, OWN, "work")
    write_durably(path, content)
    return Sealed(versions(), str(path), hashlib.sha256(content).hexdigest())


_opened: dict[str, tuple[Work, Any]] = {}  # the last one of this process
_opening = threading.Lock()  # workers of Dask may have several threads, and serve several jobs


def _open(sealed: Sealed) -> tuple[Work, Any]:
    """The work and its session, loaded once per process."""
    check_versions(sealed.versions)
    with _opening:
        found = _opened.get(sealed.sha256)
        if found is None:
            content = _content(sealed.path)
            if hashlib.sha256(content).hexdigest() != sealed.sha256:
                raise JobFailed(f"'{sealed.path}' belongs to a later start of the job")
            _opened.clear()
            work: Work = pickle.loads(content)
            found = _opened[sealed.sha256] = work, pickle.loads(work.session)
        return found


def _content(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except (FileNotFoundError, PermissionError) as error:
        raise JobFailed(f"a worker on '{socket.gethostname()}' cannot read '{path}': {error.strerror}",
                        ("every machine must see the inputs and the outputs under the same paths",)) from None  # fmt: skip


Outcome = Union[Record, Failure, None]


def attempt(sealed: Sealed, task: Task) -> Outcome:
    """Does a task and returns its record, None for a probe, or the failure. Raises nothing but
    KeyboardInterrupt and SystemExit."""
    try:
        work, session = _open(sealed)
        with MemoryGuard(work.scoring.memory):
            if not task.probe:
                return _score(work, session, task)
            _probe(work, session, task)
            return None
    except Exception as error:
        return failure_of(error, task.shard.where)


def _score(work: Work, session: Any, task: Task) -> Record:
    begun = time.monotonic()
    folder, shard = pathlib.Path(work.folder), task.shard
    keys = key_schema(work.keys, work.schema)
    quarantine = Quarantine()
    with written_part(folder, shard.name, keys, work.scoring.outputs) as part:
        for first, batch in _batches(work, shard):
            named = key_columns(keys, bool(work.keys), batch, shard.file.name, shard.group.first_row + first)
            skipped = {row - first: text for row, text in task.banned}
            for scored in score_batch(session, work.scoring, batch, skipped):
                _sort_out(work, part, quarantine, batch, named, scored)
        digest = quarantine.write(folder, shard.name)
    seconds = round(time.monotonic() - begun, 3)
    return Record(part.rows, quarantine.rows, part.file.size, part.file.hexdigest(), digest, seconds)


def _sort_out(
    work: Work, part: Part, quarantine: Quarantine, batch: pa.RecordBatch, keys: pa.RecordBatch, scored: Any
) -> None:
    """Puts each row into the part, or into the quarantine with its error."""
    good = []
    for i, result in enumerate(scored.results):
        if not isinstance(result, Error):
            good.append(i)
            continue
        key = keys.slice(scored.first + i, 1)
        if not work.quarantine:
            named = ", ".join(f"{name} {key.column(name)[0].as_py()!r}" for name in key.schema.names)
            raise _RowFailed(f"the row with {named} fails: {result.text}", result.notes)
        quarantine.add(_with_columns(key, batch.slice(scored.first + i, 1)), result)
    rows = keys.slice(scored.first, len(scored.results))
    if len(good) < len(scored.results):
        rows = rows.take(pa.array(good, pa.int64()))
    part.add(rows, [scored.results[i] for i in good])


def _with_columns(key: pa.RecordBatch, row: pa.RecordBatch) -> pa.RecordBatch:
    for name in row.schema.names:
        if name not in key.schema.names:
            key = key.append_column(row.schema.field(name), row.column(name))
    return key


def _probe(work: Work, session: Any, task: Task) -> None:
    for first, batch in _batches(work, task.shard):
        begin, end = max(task.begin - first, 0), min(task.end - first, batch.num_rows)
        if begin < end:
            for _ in score_batch(session, work.scoring, batch.slice(begin, end - begin)):
                pass


def _batches(work: Work, shard: Shard) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a shard in batches within the budget, each with the number of its first row."""
    shard.file.check()
    form = format_of(shard.file.path)
    per_row = max(2 * shard.group.size // max(shard.group.rows, 1), 1)
    rows = min(max(work.scoring.budget // per_row, 1), _MAX_ROWS)
    first = 0
    for batch in form.batches(shard.file.path, shard.group, work.columns, rows):
        for feed in work.scoring.feeds:
            check_column(batch.schema, feed)
        yield first, batch
        first += batch.num_rows
    if first != shard.group.rows:
        raise InvalidArgument(f"'{shard.file.name}' gives {counted(first, 'row')}, but lists {shard.group.rows}")
