"""Temporary folders that disappear with their process."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from scanloom._batch.scratch import scratch  # noqa: E402

PROGRAM = """
import pathlib, sys, time
from scanloom._batch.scratch import scratch
with scratch(pathlib.Path(sys.argv[1]), "job-") as folder:
    (folder / "log").write_text("line")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_removed_at_the_end_and_after_an_error(tmp_path):
    with pytest.raises(KeyError), scratch(tmp_path, "job-") as folder:
        (folder / "log").write_text("line")
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_that_of_a_killed_process_is_removed_by_the_next(tmp_path):
    (tmp_path / "job-notes.txt").write_text("mine")
    (tmp_path / "job-results").mkdir()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    left = pathlib.Path(process.stdout.readline().strip())
    with scratch(tmp_path, "job-") as folder:
        assert folder != left and left.exists()  # its process lives
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert left.exists()
    with scratch(tmp_path, "job-"):
        assert not left.exists()
    assert sorted(os.listdir(tmp_path)) == ["job-notes.txt", "job-results"]
