"""python -m scanloom: runs the command line."""

from __future__ import annotations

import importlib
import os
import pathlib
import shutil
import sys
import sysconfig
from collections.abc import Iterator

PACKAGE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    """Replaces this process by the program `scanloom`, with the same arguments. Returns 2 if the program
    is not installed. `batch` runs in Python."""
    if sys.argv[1:2] == ["batch"]:
        return _batch(sys.argv[2:])
    for program in _candidates():
        if _is_program(program):
            os.execv(program, [str(program), *sys.argv[1:]])
    print("error: the program scanloom is not installed\n"
          "  note: 'make build' builds it as build/release/bin/scanloom; that folder must be on the path",
          file=sys.stderr)  # fmt: skip
    return 2


def _batch(arguments: list[str]) -> int:
    try:
        # The other commands do without pyarrow, which these import; the first says so if it is absent.
        importlib.import_module("scanloom.batch")
        run_job = importlib.import_module("scanloom._batch.command").main
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    status: int = run_job(arguments)
    return status


def _candidates() -> Iterator[pathlib.Path]:
    yield PACKAGE / "bin" / "scanloom"
    yield pathlib.Path(sysconfig.get_path("scripts"), "scanloom")
    on_path = shutil.which("scanloom")
    if on_path is not None:
        yield pathlib.Path(on_path)


def _is_program(path: pathlib.Path) -> bool:
    """Whether it is the program itself, not a script of that name, which may call this module."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
