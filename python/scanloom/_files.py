"""Writing files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from typing import Union

from ._errors import FileNotWritten, FolderNotFound

_BLOCK = 1 << 20


def written(path: Union[str, "os.PathLike[str]"], content: Union[str, bytes]) -> None:
    """Writes a temporary file next to the target and renames it, so that readers never see a
    partial file. Links are followed, permissions kept, and pipes and devices written into.

    Raises FileNotWritten, FolderNotFound.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    place = os.fspath(path)
    try:
        _write(os.path.realpath(place), data)
    except OSError as error:
        raise _not_written(place, error) from None
    except ValueError as error:  # a character of the path that no file system takes
        raise FileNotWritten(f"{place!r} cannot be written: {error}") from None


def _write(place: str, data: bytes) -> None:
    try:
        old = os.stat(place)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(place, "wb") as file:  # a pipe or a device; a folder is an error
            file.write(data)
        return
    temporary = f"{place}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


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


def sha256_of(path: Union[str, bytes, "os.PathLike[str]"]) -> str:
    """The checksum of a file, in hexadecimal. Raises OSError."""
    import hashlib  # takes a sixth of the time of `import scanloom`, and few programs need it

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
