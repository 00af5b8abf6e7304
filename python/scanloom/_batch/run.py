"""run(): a model over the rows of files."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Union

from .._counted import counted
from .._errors import FileNotWritten, InvalidArgument
from .._ort.many import MAX_BATCH
from .._ort.option_values import integer, texts
from .._ort.options import SessionOptions
from .._progress import listener_of
from . import engines
from .job import Given, Job, Path, expand, open_session, plan
from .manifest import QUARANTINE, Lock, Manifest, prepare, remove_leftovers
from .progress import Listener, Meter, draw_bar
from .scheduler import Scheduler
from .shards import Record, Shard
from .spelling import named
from .work import seal


class Report(NamedTuple):
    """What a job has done. `outputs` is the folder; `shards` and `rows` count all of the job, of which
    `resumed` shards were complete before this start. `quarantined` rows are not among `rows`."""

    outputs: str
    shards: int
    resumed: int
    rows: int
    quarantined: int
    retries: int
    seconds: float

    def __str__(self) -> str:
        text = (
            f"{counted(self.rows, 'row')} in {counted(self.shards, 'shard')}, in '{self.outputs}',"
            f" {self.seconds:.1f} s"
        )
        if self.resumed:
            were = "was" if self.resumed == 1 else "were"
            text += f"; {counted(self.resumed, 'shard')} {were} complete before"
        if self.quarantined:
            text += f"; {counted(self.quarantined, 'row')} failed: see '{os.path.join(self.outputs, QUARANTINE)}'"
        return text


def run(
    model: Any,
    inputs: Union[Path, Sequence[Path]],
    outputs: Path,
    *,
    columns: Union[Mapping[str, Union[str, None]], None] = None,
    key: Union[str, Sequence[str], None] = None,
    output_names: Union[Sequence[str], None] = None,
    shared: Union[Mapping[str, Any], None] = None,
    shapes: Union[Mapping[str, Sequence[int]], None] = None,
    engine: str = "local",
    address: Union[str, None] = None,
    workers: Union[int, None] = None,
    threads: int = 1,
    batch: int = 64,
    by_length: bool = True,
    memory: Union[int, str, None] = None,
    retries: int = 3,
    on_error: str = "raise",
    progress: Union[Listener, bool, None] = None,
    options: Union[SessionOptions, None] = None,
) -> Report:
    """Runs a model on every row of the input files and writes the results as Parquet, each row exactly
    once. A job that stopped, for any reason, continues when it is started again.

    model: what InferenceSession takes, or a session.
    inputs: paths or patterns of Parquet, Arrow IPC, CSV or NPZ files. A row is one sequence: a list
        column holds an array per row, any other column a scalar.
    outputs: a folder, new or of the same job. It gets one file per row group of an input.
    columns: {input of the model: column}; by default a column of the input's name. An input that has a
        default value keeps it if there is no such column, or for None.
    key: columns that are copied to the output; by default `file` and `row`, the path and the number of
        the row in it.
    output_names: the outputs of the model that are kept; None: all.
    shared: {input of the model: array}, the same for all rows.
    shapes: {input of the model: shape of one row}, -1 for its length, where the column alone does not
        decide it.
    engine: "local" (processes on this machine), "ray" or "dask".
    address: of a running Ray or Dask; None: the connected one, or a new one on this machine.
    workers: how many shards are computed at a time; None: as many as there are cores.
    threads: per worker.
    batch: sequences that a worker runs together, at most 4096.
    by_length: run sequences of similar lengths together.
    memory: the limit of a worker, in bytes or as "2GB"; None: no limit. A row that reaches it fails.
    retries: how often a shard is tried again whose worker died.
    on_error: "raise" stops at a row that fails; "quarantine" writes it with its error to the folder
        `_quarantine` of the outputs, and goes on.
    progress: called with a Progress after each shard; True draws a bar on a terminal.
    options: of the session.

    Thread safe. Raises InvalidArgument, NotFound, InvalidModel, Unsupported before the job begins, and
    JobLocked, JobChanged, VersionMismatch, JobFailed.
    """
    given = Given(
        _named("columns", columns), (key,) if isinstance(key, str) else tuple(texts(named("key"), key or ())),
        tuple(texts(named("output_names"), output_names or ())), _named("shared", shared), _named("shapes", shapes),
        integer(named("batch"), batch, 1, MAX_BATCH), bool(by_length), memory_size(memory), _is_quarantine(on_error),
    )  # fmt: skip
    integer(named("retries"), retries, 0, 1000)
    listener = listener_of(progress, draw_bar)
    engines.check(engine, address)
    begun = time.monotonic()
    session = open_session(model, options, integer(named("threads"), threads, 1, 4096))
    folder = pathlib.Path(os.path.abspath(outputs))
    job = plan(session, expand(inputs), folder, given)
    count = None if workers is None else integer(named("workers"), workers, 1, 100_000)
    chosen = _Chosen(engine, address, count, threads, retries)
    return _run(job, folder, chosen, listener, begun)


def _named(argument: str, given: Any) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgument(f"{named(argument)} is a {type(given).__name__}, but must be a dictionary by inputs")
    return dict(given or {})


class _Chosen(NamedTuple):
    """How a job is run."""

    engine: str
    address: Union[str, None]
    workers: Union[int, None]
    threads: int
    retries: int


def _run(
    job: Job, folder: pathlib.Path, chosen: _Chosen, listener: Union[Listener, None], begun: float
) -> Report:
    with _writing(folder):
        prepare(folder)
        lock = Lock(folder)
    try:
        with _writing(folder):
            manifest = Manifest(folder, job.identity)
            remove_leftovers(folder)
        try:
            return _continue(job, folder, chosen, manifest, listener, begun)
        finally:
            manifest.close()
    finally:
        lock.release()


@contextlib.contextmanager
def _writing(folder: pathlib.Path) -> Iterator[None]:
    """Names the folder in errors of the system. Raises FileNotWritten."""
    try:
        yield
    except OSError as error:
        notes = ("free some space or restore access, then start the job again: it continues",)
        raise FileNotWritten(f"'{folder}' cannot be written: {error.strerror or error}", notes) from None


def _continue(
    job: Job, folder: pathlib.Path, chosen: _Chosen, manifest: Manifest,
    listener: Union[Listener, None], begun: float,
) -> Report:  # fmt: skip
    """Runs the shards that are not complete."""
    meter = Meter(len(job.shards), sum(shard.group.rows for shard in job.shards), listener)
    missing: list[Shard] = []
    for shard in job.shards:
        if manifest.is_present(shard):
            record = manifest.done[shard.name]
            meter.add(record.rows, record.quarantined, is_new=False)
        else:
            missing.append(shard)
    resumed = meter.shards
    retried = 0
    if missing:
        def done(shard: Shard, record: Record) -> None:
            with _writing(folder):
                manifest.add(shard, record)
            meter.add(record.rows, record.quarantined, is_new=True)

        with _writing(folder):
            sealed = seal(job.work)
        engine = engines.make(chosen.engine, sealed, chosen.workers, chosen.threads, chosen.address)
        scheduler = Scheduler(engine, done, chosen.retries, job.work.quarantine)
        try:
            scheduler.run(missing)
        finally:
            engine.close()
        retried = scheduler.retried
    with _writing(folder):
        manifest.complete()
    rows = meter.rows - meter.quarantined
    seconds = time.monotonic() - begun
    return Report(str(folder), meter.shards, resumed, rows, meter.quarantined, retried, seconds)


_UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "tb": 1000**4,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}  # fmt: skip


def memory_size(memory: Union[int, str, None]) -> Union[int, None]:
    """A size in bytes, of a number or a text like "2GB" or "512 MiB". Raises InvalidArgument."""
    if memory is None:
        return None
    if not isinstance(memory, str):
        return integer(named("memory"), memory, 1)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
    if found is None or found[2].lower() not in _UNITS:
        raise InvalidArgument(f"{named('memory')} is {memory!r}, but must be a number of bytes or a text like '2GB'")
    return integer(named("memory"), int(Decimal(found[1]) * _UNITS[found[2].lower()]), 1)


def _is_quarantine(on_error: str) -> bool:
    if on_error not in ("raise", "quarantine"):
        raise InvalidArgument(f"{named('on_error')} is {on_error!r}, but must be 'raise' or 'quarantine'")
    return on_error == "quarantine"
