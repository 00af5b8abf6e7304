"""Pickling of sessions and streams. A model is stored as its bytes, or as the path and checksum of
its file; a file that has changed is refused."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import InvalidModel, NotFound
from .._files import sha256_of
from .loading import Source
from .options import SessionOptions

if TYPE_CHECKING:
    from .session import InferenceSession
    from .stream import Stream



class ModelFile(NamedTuple):
    """The file of a model, with its size and time at load."""

    path: bytes
    size: int
    changed_ns: int
    sha256: str = ""  # not computed yet

    @classmethod
    def now(cls, path: bytes) -> "ModelFile":
        """Describes the file in its present state. Raises NotFound."""
        try:
            told = os.stat(path)
        except OSError as error:
            raise NotFound(f"the model's file '{os.fsdecode(path)}' cannot be read: {error.strerror}") from None
        return cls(os.path.abspath(path), told.st_size, told.st_mtime_ns)

    def with_checksum(self) -> "ModelFile":
        """Computes the checksum. Raises InvalidModel if the file has changed, and NotFound."""
        if ModelFile.now(self.path)[:3] != self[:3]:
            raise InvalidModel(
                f"the model's file '{os.fsdecode(self.path)}' has changed since it was loaded",
                ("load the session again before pickling it, or load it from bytes",),
            )
        return self if self.sha256 else self._replace(sha256=sha256_of(self.path))

    def check(self) -> None:
        """Raises InvalidModel if the file does not match the checksum, and NotFound."""
        if ModelFile.now(self.path).size != self.size or sha256_of(self.path) != self.sha256:
            raise InvalidModel(
                f"the model's file '{os.fsdecode(self.path)}' is not the one that was pickled: it has "
                "changed since",
                ("a session loaded from bytes is pickled together with them",),
            )


def restore_session(
    cls: type[InferenceSession], source: Source, options: SessionOptions, files: list[ModelFile],
    notes: list[str],
) -> InferenceSession:
    """Restores a pickled session. Raises InvalidModel and NotFound if a file has changed or is
    missing, and what loading raises."""
    for file in files:
        file.check()
    session = cls.__new__(cls)
    session._open(source, options, notes)
    return session


def copied_session(session: InferenceSession) -> InferenceSession:
    """A second session that shares the loaded model."""
    made = session.__class__.__new__(session.__class__)
    made.__dict__.update(session.__dict__)
    made._options = copy.deepcopy(session._options)
    made._notes = dict(session._notes)
    made._start_profiler()
    return made


def restore_stream(session: InferenceSession, states: dict[str, str], kept: tuple[Any, ...]) -> Stream:
    """A stream of the session that continues from the pickled states."""
    stream = session.stream(states)
    stream._native.restore(*kept)
    return stream
