"""A tiny tree of sources per test, and the checks of tools/dev run over it."""

import contextlib
import io
import pathlib
import runpy
import subprocess
import sys

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def run_here(command: list[str]) -> tuple[int, str]:
    """Exit status and output of a program of Python, which runs in this process: quicker by far."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", command)
        patch.syspath_prepend(str(pathlib.Path(command[0]).parent))
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=err)
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return status, out.getvalue() + err.getvalue()


class Tree:
    """A folder to write sources into and to run one check over."""

    def __init__(self, root: pathlib.Path):
        self.root = root

    def write(self, name: str, text: str = "") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, script: str, *arguments: str) -> tuple[int, str]:
        """Exit status and output of tools/dev/<script> over this tree."""
        command = [str(PROJECT / "tools" / "dev" / script), "--root", str(self.root), *arguments]
        if script.endswith(".py"):
            return run_here(command)
        run = subprocess.run(command, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def passes(self, script: str, *arguments: str) -> str:
        status, output = self.check(script, *arguments)
        assert status == 0, output
        return output

    def fails(self, script: str, *arguments: str) -> str:
        status, output = self.check(script, *arguments)
        assert status == 1, output
        return output


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Tree:
    return Tree(tmp_path)
