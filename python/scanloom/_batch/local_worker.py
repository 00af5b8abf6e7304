"""The program of a worker of the local engine."""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing.connection import Connection

from .work import attempt

_POLL_SECONDS = 0.2


def serve(handle: int) -> None:
    """Does tasks from the pipe until the driver closes it or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what an interrupt means
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    pipe = Connection(handle)
    try:
        pipe.send(True)  # it could be started
        sealed = pipe.recv()
        while True:
            task = pipe.recv()
            pipe.send(attempt(sealed, task))
    except (EOFError, OSError):
        return


def _follow(driver: int) -> None:
    """Ends this process soon after the driver, which may have been killed in the middle of a task."""
    while os.getppid() == driver:
        time.sleep(_POLL_SECONDS)
    os._exit(1)
