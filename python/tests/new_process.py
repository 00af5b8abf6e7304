"""Runs programs in processes of their own, which are forks of one process that has imported packages and
done nothing else: it has run no model and started no thread of Scanloom. That takes a tenth of the time
of a new interpreter. Tests of imports, of how processes end, and of settings start one themselves."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping

_CONTEXT = multiprocessing.get_context("forkserver")
# Only whole packages: programs must import what they need of them.
_CONTEXT.set_forkserver_preload(["numpy", "onnx", "pytest", "scanloom"])


def run(program: str, *arguments: str, fed: bytes = b"", timeout: float = 120) -> bytes:
    """Returns what the program prints. Raises CalledProcessError, with its errors, and TimeoutExpired."""
    answer = answer_of(program, *arguments, fed=fed, timeout=timeout)
    answer.check_returncode()
    return answer.stdout.encode()


def answer_of(program: str, *arguments: str, fed: bytes = b"", timeout: float = 120, folder: pathlib.Path | None = None,
              variables: Mapping[str, str] | None = None, path: list[str] | None = None) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Runs `python -c program arguments` in a folder, with other variables of the environment and, if given,
    another sys.path. Raises TimeoutExpired."""
    with tempfile.TemporaryDirectory() as files:
        pathlib.Path(files, "stdin").write_bytes(fed)
        environment = {**os.environ, **(variables or {})}
        call = (program, arguments, files, str(folder or pathlib.Path.cwd()), environment, path or sys.path)
        process = _CONTEXT.Process(target=_serve, args=call)
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(program, timeout)
        printed, errors = (pathlib.Path(files, name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(program, process.exitcode or 0, printed, errors)


def _serve(program: str, arguments: tuple[str, ...], files: str, folder: str, environment: dict[str, str],
           path: list[str]) -> None:  # fmt: skip
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(os.path.join(files, name), os.O_CREAT | os.O_RDWR), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv, sys.path[:] = ["-c", *arguments], path
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(program, "<string>", "exec"), main.__dict__)
