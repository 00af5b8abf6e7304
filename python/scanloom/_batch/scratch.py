"""Temporary folders that disappear with their process, even if it is killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

_MARK = "removed-with-its-process"  # a file: folders without it are not removed


@contextlib.contextmanager
def scratch(root: pathlib.Path, prefix: str) -> Iterator[pathlib.Path]:
    """A new folder in `root`, which is removed at the end; if the process is killed before that, by the
    next use of the same prefix. Raises OSError.

    The process holds a lock on the folder, which the system releases when the process ends.
    """
    _remove_abandoned(root, prefix)
    path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        (path / _MARK).touch()  # not before it is locked
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _remove_abandoned(root: pathlib.Path, prefix: str) -> None:
    for path in root.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # somebody else's, or in use
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_uid == os.geteuid() and (path / _MARK).exists():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
