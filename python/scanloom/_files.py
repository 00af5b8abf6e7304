"""Writing files."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from typing import Union

from ._errors import FileNotWritten, FolderNotFound


def written(path: Union[str, "os.PathLike[str]"], content: Union[str, bytes]) -> None:
    """Writes a temporary file next to the target and renames it, so that readers never see a
    partial file."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    place = os.fspath(path)
    temporary = f"{place}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        if not isinstance(error, OSError):
            raise
        raise _not_written(place, error) from None


def writable(path: Union[str, bytes, "os.PathLike[str]"]) -> bytes:
    """Encodes the path of a file that the library will write, after checking that it can be
    written.

    Raises FileNotWritten, FolderNotFound.
    """
    place = os.fsencode(path)
    temporary = place + f".{os.getpid()}.{threading.get_ident()}.part".encode()
    try:
        with open(temporary, "wb"):
            pass
        os.remove(temporary)
        if os.path.isdir(place):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _not_written(os.fsdecode(place), error) from None
    return place


def _not_written(place: str, error: OSError) -> FileNotWritten:
    kind = FolderNotFound if isinstance(error, FileNotFoundError) else FileNotWritten
    return kind(f"{place!r} cannot be written: {error.strerror or error}")
