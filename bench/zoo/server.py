"""Forks workers that have the engines imported. Importing them takes most of the time of measuring
a small model.

    python -m zoo.server ENGINE...

reads one request per line, JSON of {"arguments", "limit"}, runs zoo.worker with these arguments in
a process of its own, and answers with one line: {"status", "output", "complaint"}. The status is
that of subprocess, or null if the process was ended at the limit, in seconds. The server itself
never runs a model, so every worker starts from the same memory."""

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback

POLL = 0.002  # seconds
MODULES = {"openvino": ("peers.openvino_model",), "onnxruntime": ("engines",),
           "scanloom": ("engines",)}


def run_worker(arguments):
    """In the forked process: never returns."""
    status = 1
    try:
        from zoo import worker

        worker.main(arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(child, limit):
    """The status of a process, or None if it was ended at the limit."""
    end = time.monotonic() + limit
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(POLL)


def answer(request):
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(complaint.fileno(), 2)
            run_worker(request["arguments"])
        status = wait(child, request["limit"])
        texts = []
        for file in (output, complaint):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {"status": status, "output": texts[0], "complaint": texts[1]}


def main():
    for engine in sys.argv[1:]:
        for module in MODULES[engine]:
            importlib.import_module(module)
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # every worker would inherit memory that is free here
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
