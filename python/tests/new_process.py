"""Runs programs in processes of their own, which are forks of one process that has imported packages and
done nothing else: it has run no model and started no thread of Scanloom. That takes a tenth of the time
of a new interpreter. Tests of what an import does, or of the environment, start one themselves."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["numpy", "onnx.parser", "pytest", "scanloom", "scanloom.tensor"])


def run(program: str, *arguments: str, fed: bytes = b"", timeout: float = 120) -> bytes:
    """Returns what the program prints. Raises CalledProcessError, with its errors, and TimeoutExpired."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "stdin").write_bytes(fed)
        process = _CONTEXT.Process(target=_serve, args=(program, arguments, folder, sys.path), daemon=True)
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(program, timeout)
        printed, errors = (pathlib.Path(folder, name).read_bytes() for name in ("stdout", "stderr"))
        if process.exitcode:
            raise subprocess.CalledProcessError(process.exitcode, program, printed, errors.decode())
        return printed


def _serve(program: str, arguments: tuple[str, ...], folder: str, path: list[str]) -> None:
    flags = os.O_CREAT | os.O_RDWR
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(os.path.join(folder, name), flags), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    sys.argv, sys.path[:] = ["-c", *arguments], path
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()
