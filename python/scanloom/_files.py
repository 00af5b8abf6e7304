"""Writing files."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from typing import Union

from ._errors import FileNotWritten, FolderNotFound


def written(path: Union[str, "os.PathLike[str]"], content: Union[str, bytes]) -> None:
    """Writes the file beside its place first, so that nobody ever sees half of it."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    place = os.fspath(path)
    beside = f"{place}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(beside)
        if not isinstance(error, OSError):
            raise
        raise _not_written(place, error) from None


def writable(path: Union[str, bytes, "os.PathLike[str]"]) -> bytes:
    """The path as the system spells it, where a file may be written: for what the library writes.

    Raises FileNotWritten, FolderNotFound.
    """
    place = os.fsencode(path)
    beside = place + f".{os.getpid()}.{threading.get_ident()}.part".encode()
    try:
        with open(beside, "wb"):
            pass
        os.remove(beside)
        if os.path.isdir(place):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _not_written(os.fsdecode(place), error) from None
    return place


def _not_written(place: str, error: OSError) -> FileNotWritten:
    kind = FolderNotFound if isinstance(error, FileNotFoundError) else FileNotWritten
    return kind(f"{place!r} cannot be written: {error.strerror or error}")
