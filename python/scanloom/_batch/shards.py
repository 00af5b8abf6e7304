"""What a job is divided into, and what is known about each part when it is done."""

from __future__ import annotations

import os
from typing import NamedTuple

from .problems import JobChanged


class InputFile(NamedTuple):
    """A file of the inputs. A file with another size or another time counts as changed."""

    name: str  # as it was given: the key of rows
    path: str  # absolute, for workers in other folders
    size: int
    changed_ns: int

    @classmethod
    def now(cls, name: str, path: str) -> "InputFile":
        found = os.stat(path)
        return cls(name, path, found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Raises JobChanged if the file is another one now, and FileNotFoundError."""
        found = InputFile.now(self.name, self.path)
        if found != self:
            raise JobChanged(
                f"the input '{self.name}' has changed since the job began: it had {self.size} bytes, "
                f"last modified at {self.changed_ns} ns, and has {found.size} bytes, modified at "
                f"{found.changed_ns} ns",
                ("restore the file, or write to another folder to begin a new job",),
            )


class Group(NamedTuple):
    """A part of a file that can be read by itself: a row group, a record batch, a block of lines."""

    number: int
    first_row: int
    rows: int
    size: int = 0  # of the rows in memory, in bytes, about
    begin: int = 0  # of the bytes of a block
    end: int = 0


class Shard(NamedTuple):
    """A group of an input file; `position` is the position of the file in the sorted inputs."""

    position: int
    file: InputFile
    group: Group

    @property
    def name(self) -> str:
        """The name of its output, without the suffix. Names sort as the rows do."""
        return f"part-{self.position:05d}-{self.group.number:05d}"

    @property
    def where(self) -> str:
        first = self.group.first_row
        return f"'{self.file.name}', rows {first} to {first + self.group.rows - 1}"


class Task(NamedTuple):
    """A shard for a worker. Rows count from the first of the shard.

    probe: only find out whether the worker survives the rows [begin, end); nothing is written.
    banned: rows that end every worker, with the reason; they go to the quarantine.
    """

    shard: Shard
    probe: bool = False
    begin: int = 0
    end: int = 0
    banned: tuple[tuple[int, str], ...] = ()


class Record(NamedTuple):
    """What a worker reports of a shard that is complete on disk, as the manifest keeps it."""

    rows: int
    quarantined: int
    size: int  # of the output, in bytes
    sha256: str
    quarantine_sha256: str  # "" if no row failed
    seconds: float
