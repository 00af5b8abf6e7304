"""Models and input files of the tests of jobs."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from loop_models import parse

# y[t] = tanh(y[t-1] / 2 + x[t]), from the k-th of three numbers; a row whose k is above 2 fails.
FILTER = """
g (float[T] x, int64 k) => (float[T] y, float last) {
  starts = Constant <value = float[3] {0, 1, 2}> ()
  start = Gather (starts, k)
  last, y = Scan <num_scan_inputs = 1, body = step (float h, float row) => (float after, float out) {
    half = Constant <value = float {0.5}> ()
    less = Mul (h, half)
    sum = Add (less, row)
    after = Tanh (sum)
    out = Identity (after)
  }> (start, x)
}"""


def write_model(path: pathlib.Path) -> str:
    path.write_bytes(parse(FILTER, opset=20))
    return str(path)


def rows(count: int, seed: int, longest: int = 60) -> tuple[list[np.ndarray], np.ndarray]:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, count)
    return [generator.standard_normal(n, np.float32) for n in lengths], generator.integers(0, 3, count)


def table(count: int, seed: int, longest: int = 60) -> pa.Table:
    x, k = rows(count, seed, longest)
    names = [f"row {seed}.{i}" for i in range(count)]
    return pa.table({"name": names, "x": pa.array(x, pa.list_(pa.float32())), "k": pa.array(k)})


def write_inputs(
    folder: pathlib.Path, files: int = 2, count: int = 50, group: int = 20, longest: int = 60
) -> str:
    folder.mkdir(exist_ok=True)
    for i in range(files):
        pq.write_table(table(count, i, longest), folder / f"{i}.parquet", row_group_size=group)
    return f"{folder}/*.parquet"


def digests(folder: pathlib.Path) -> dict[str, bytes]:
    """The bytes of all files that a job has written, except its own."""
    found = sorted(folder.glob("*.parquet")) + sorted(folder.glob("_quarantine/*.parquet"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


# Runs in every worker, as sitecustomize.py. Rows that begin with 666 end it, those that begin with 777 take
# all memory that they get, and a file `version` next to this program is the version that the worker has.
IN_WORKERS = """
import os, pathlib, signal
import scanloom._batch.scoring as scoring
import scanloom._batch.work as work

score_rows, versions = scoring.score_rows, work.versions
version = pathlib.Path(__file__).parent / "version"

def troubled(session, names, feeds, *rest):
    starts = [feed["x"][0] for feed in feeds if len(feed["x"])]
    if 666 in starts:
        os.kill(os.getpid(), signal.SIGKILL)
    kept = []
    while 777 in starts:
        kept.append(b"x" * 50_000_000)
    return score_rows(session, names, feeds, *rest)

def other_versions():
    return {**versions(), **({"scanloom": version.read_text()} if version.exists() else {})}

scoring.score_rows = troubled
work.versions = other_versions
"""


def write_changed(path: pathlib.Path, changes: dict[tuple[str, int], Any], count: int, group: int) -> str:
    """A file of rows of which some have other values, by column and row."""
    source = table(count, 0)
    columns = {name: source[name].to_pylist() for name in source.column_names}
    for (name, row), value in changes.items():
        columns[name][row] = value
    pq.write_table(pa.table(columns, source.schema), path, row_group_size=group)
    return str(path)
