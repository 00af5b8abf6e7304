"""Files that are complete or absent, even if the process or the machine stops at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import secrets
import socket
from collections.abc import Iterator
from typing import Any, Callable


def sync_folder(folder: pathlib.Path) -> None:
    """Makes the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def temporary(folder: pathlib.Path, name: str) -> Iterator[pathlib.Path]:
    """A path in `folder` that no other process uses. The file is removed if it is left there."""
    unique = f"{name}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}.part"
    path = folder / unique
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def publish(path: pathlib.Path, target: pathlib.Path) -> None:
    """Renames a written file to its final name, durably: first its content, then its name."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    os.replace(path, target)
    sync_folder(target.parent)


def write_durably(target: pathlib.Path, content: bytes) -> None:
    """Writes a small file, which appears complete."""
    with temporary(target.parent, target.name) as path:
        path.write_bytes(content)
        publish(path, target)


class HashingFile:
    """A file for a writer of Parquet: passes bytes on, hashes and counts them."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = open(path, "wb")
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return self.size

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()

    def hexdigest(self) -> str:
        return self._digest.hexdigest()

    read: Callable[..., bytes]
