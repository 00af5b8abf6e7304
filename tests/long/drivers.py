"""Drivers of jobs as processes that a test can kill, and the job that they run: 12 shards of 300,000 steps."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
import time

import job_files

PROGRAM = pathlib.Path(__file__).parent / "job_driver.py"
SHARDS = 12
SECONDS = 300  # a job takes 1 to 5, and more while other programs use the machine


def write_inputs(folder: pathlib.Path) -> str:
    return job_files.write_inputs(folder, files=2, count=180, group=30, longest=20_000)


def start(engine: str, address: str, model: str, inputs: str, outputs: pathlib.Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), engine, address, model, inputs, str(outputs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_a_moment(process: subprocess.Popen[str], folder: pathlib.Path, chance: random.Random) -> None:
    """Returns some milliseconds after a random number of shards was written."""
    shards = chance.randrange(SHARDS)
    manifest = folder / "_scanloom" / "manifest.jsonl"
    while process.poll() is None and not (manifest.exists() and written(folder) >= shards):
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.05))


def written(folder: pathlib.Path) -> int:
    return len(list(folder.glob("*.parquet")))


def finish(process: subprocess.Popen[str]) -> str:
    """What a driver prints. It must end well."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"the driver hangs: {process.communicate()}") from None
    assert process.returncode == 0, out + err
    return out
