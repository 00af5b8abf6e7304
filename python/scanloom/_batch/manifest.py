"""The folder of a job's outputs: who works in it, which job it belongs to, and what is complete."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import pathlib
import shutil
import socket
import time
from typing import IO, Any, Union

from .._counted import counted
from .._errors import InvalidArgument
from .durable import sync_folder, write_durably
from .problems import JobChanged, JobLocked
from .shards import Record, Shard

# Readers of Parquet skip names that begin with an underscore.
OWN = "_scanloom"
QUARANTINE = "_quarantine"

_NO_JOB = (
    "what is complete cannot be continued: restore the line from a copy, or write to another folder to begin again",
)


class Lock:
    """The right to work in a folder. The system releases it when the process ends, however it ends.

    Raises JobLocked, which names the process that holds it.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._file: IO[str] = open(folder / OWN / "lock", "a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise JobLocked(
                f"another driver works on '{folder}': {holder}",
                ("wait until it ends, or end it; what it has finished is kept",),
            ) from None
        self._file.truncate(0)
        begun = time.strftime("%Y-%m-%d %H:%M:%S")
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}, since {begun}\n")
        self._file.flush()

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._file.truncate(0)
        self._file.close()


class Manifest:
    """The complete shards of a job: one line of JSON each, appended and synced by the driver alone.

    Raises JobChanged if the folder belongs to another job or holds other files.
    """

    def __init__(self, folder: pathlib.Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        self._path = folder / OWN / "manifest.jsonl"
        if not self._path.exists():
            _refuse_foreign_files(folder)
            write_durably(self._path, _line({"format": 1, "job": identity}))
        self.done, self._is_complete = self._read(identity)
        self._file = open(self._path, "ab", buffering=0)

    def _read(self, identity: dict[str, Any]) -> tuple[dict[str, Record], bool]:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # the line that was being written when the driver ended
            os.truncate(self._path, len(whole))
        lines = [self._parse(number, line) for number, line in enumerate(whole.splitlines(), 1)]
        head, *rest = lines or [{}]
        _compare(self.folder, head.get("job"), json.loads(json.dumps(identity)))
        done = {}
        for number, entry in enumerate(rest, 2):
            if "shard" in entry:
                name = entry.pop("shard")
                try:
                    done[name] = Record(**entry)
                except TypeError:
                    raise self._damaged(number) from None
        return done, any("complete" in entry for entry in rest)

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            return dict(json.loads(line))
        except (TypeError, ValueError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> JobChanged:
        text = f"line {number} of '{self._path}' is damaged"
        if number == 1:
            return JobChanged(f"{text}, which says what the job is", _NO_JOB)
        return JobChanged(text, ("delete the line: its shard is computed again",))

    def is_present(self, shard: Shard) -> bool:
        """Whether the shard is recorded and its files are there as they were recorded."""
        record = self.done.get(shard.name)
        if record is None or _size(self.folder / f"{shard.name}.parquet") != record.size:
            return False
        quarantine = self.folder / QUARANTINE / f"{shard.name}.parquet"
        return not record.quarantined or quarantine.exists()

    def add(self, shard: Shard, record: Record) -> None:
        """Records a complete shard, durably. Raises JobChanged if it was recorded with other rows."""
        before = self.done.get(shard.name)
        if before is not None and before.sha256 != record.sha256:
            raise JobChanged(
                f"the shard {shard.name} ({shard.where}) was computed twice with different results: "
                f"sha256 {before.sha256} and {record.sha256}",
                ("machines with and without fused multiply-add differ in bits: use one kind for a job",),
            )
        self._append({"shard": shard.name, **record._asdict()})
        self.done[shard.name] = record

    def complete(self) -> None:
        if not self._is_complete:
            self._append({"complete": True})
            self._is_complete = True

    def _append(self, entry: dict[str, Any]) -> None:
        line = _line(entry)
        if self._file.write(line) != len(line):  # a disk that fills up may take a part of it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True).encode() + b"\n"


def _size(path: pathlib.Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _refuse_foreign_files(folder: pathlib.Path) -> None:
    others = [name for name in sorted(os.listdir(folder)) if name not in (OWN, QUARANTINE)]
    if others:
        raise JobChanged(
            f"the folder of the outputs, '{folder}', holds '{others[0]}' and no job",
            ("give a new or an empty folder",),
        )


def _compare(folder: pathlib.Path, old: Any, new: dict[str, Any]) -> None:
    """Raises JobChanged, which names the first difference between two jobs."""
    notes = ("write to another folder to begin a new job",)
    if not isinstance(old, dict):
        raise JobChanged(f"the manifest in '{folder}' does not say in its first line what the job is", _NO_JOB)
    for name, value in new.items():
        if name != "inputs" and old.get(name) != value:
            raise JobChanged(
                f"'{folder}' belongs to another job: {name} was {old.get(name)!r} and is {value!r}", notes
            )
    before = {path: rest for path, *rest in old.get("inputs", [])}
    after = {path: rest for path, *rest in new["inputs"]}
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            raise JobChanged(f"the input '{path}' of the job in '{folder}' is missing",
                             ("restore the file, or write to another folder to begin a new job",))  # fmt: skip
        if path not in before:
            raise JobChanged(f"the input '{path}' is no part of the job in '{folder}'", notes)
        if before[path] != after[path]:
            changes = _changes_of_file(before[path], after[path])
            raise JobChanged(f"the input '{path}' has changed since the job began ({changes})",
                             ("restore the file with its time, or write to another folder",))  # fmt: skip


def _changes_of_file(before: Any, after: Any) -> str:
    """What differs between the sizes and times of a file; the ones before are as a manifest has them."""
    if before[0] != after[0]:
        return f"{before[0]} bytes before, {after[0]} now"
    times = [_time(before[1]), _time(after[1])]
    if times[0] == times[1]:  # within a second
        times = [f"at {before[1]} ns", f"at {after[1]} ns"]
    return f"it has {counted(after[0], 'byte')} as before, but was modified {times[0]} then, {times[1]} now"


def _time(nanoseconds: Any) -> str:
    try:
        return datetime.datetime.fromtimestamp(nanoseconds // 10**9).isoformat(" ")
    except (OSError, OverflowError, TypeError, ValueError):  # no time of a calendar
        return f"at {nanoseconds} ns"


def prepare(folder: pathlib.Path) -> None:
    """Makes the folders of a job. Raises InvalidArgument, JobChanged and OSError."""
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"'{folder}' is a file, but the outputs need a folder",
                              ("name the folder of the outputs last, after the inputs",))  # fmt: skip
    if folder.exists() and not (folder / OWN).exists():
        _refuse_foreign_files(folder)  # before anything is written there
    for each in (folder, folder / OWN, folder / OWN / "tmp", folder / QUARANTINE):
        each.mkdir(parents=True, exist_ok=True)
        sync_folder(each.parent)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Removes what killed workers were writing. The caller holds the lock."""
    shutil.rmtree(folder / OWN / "tmp", ignore_errors=True)
    (folder / OWN / "tmp").mkdir(exist_ok=True)


Identity = dict[str, Union[str, int, list[Any], dict[str, Any], None]]
