"""Writing files."""

from __future__ import annotations

import contextlib
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
        kind = FolderNotFound if isinstance(error, FileNotFoundError) else FileNotWritten
        raise kind(f"{place!r} cannot be written: {error.strerror or error}") from None
