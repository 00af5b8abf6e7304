#!/usr/bin/env python3
"""Measures what a shard of a job costs, and how well two workers do compared with one.

    job_cost.py [--engines local dask ray] [--shards 200] [--rows 40] [--tries 3]

Prints the time per empty shard and of the start for each engine, and the parts of the driver's work; then
the seconds of a job of an LSTM (128 units) with one and two workers. docs/job-size.md has the results.
"""

import argparse
import contextlib
import pathlib
import resource
import shutil
import sys
import tempfile
import time

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import TensorProto, helper, numpy_helper

import scanloom.batch

UNITS = 128


def write_identity(path):
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["T"])])  # fmt: skip
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def write_lstm(path):
    generator = np.random.default_rng(0)
    weights = {"w": (1, 4 * UNITS, 1), "r": (1, 4 * UNITS, UNITS)}
    constants = [numpy_helper.from_array(generator.normal(0, 0.1, shape).astype(np.float32), name)
                 for name, shape in weights.items()]  # fmt: skip
    node = helper.make_node("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=UNITS)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", 1, 1])],
                              [helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, UNITS])], constants)  # fmt: skip
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14)]), path)


def write_rows(path, rows, length, shards):
    """A file of equal shards."""
    generator = np.random.default_rng(1)
    values = generator.standard_normal(rows * length).astype(np.float32)
    x = pa.ListArray.from_arrays(np.arange(0, rows * length + 1, length, dtype=np.int32), values)
    pq.write_table(pa.table({"x": x}), path, row_group_size=rows // shards)


def processor():
    """The processor time of this process, and of the workers that have ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime])


def seconds(*arguments, **options):
    """The time of a job, and the processor time of the driver and the workers; its outputs are
    removed."""
    outputs = pathlib.Path(arguments[1]).parent / "out"
    begin, before = time.perf_counter(), processor()
    scanloom.batch.run(*arguments, outputs, **options)
    spent = [time.perf_counter() - begin, *(processor() - before)]
    shutil.rmtree(outputs)
    return spent


def per_shard(folder, engine, shards, tries):
    """The cost of a shard and of the start: the slope and the rest of two sizes of jobs."""
    write_identity(folder / "identity.onnx")
    few, many = folder / "few.parquet", folder / "many.parquet"
    write_rows(few, 10, 4, 10)
    write_rows(many, shards + 10, 4, shards + 10)
    times = [[seconds(folder / "identity.onnx", path, engine=engine, workers=2) for path in (few, many)]
             for _ in range(tries)]  # fmt: skip
    short, long = (np.min(each, axis=0) for each in zip(*times))
    return (long - short) / shards, short[0]


def efficiency(folder, rows, tries):
    """The least seconds of a job with one worker and with two, interleaved."""
    write_lstm(folder / "lstm.onnx")
    write_rows(folder / "lstm.parquet", rows, 2000, 20)
    times = [[seconds(folder / "lstm.onnx", folder / "lstm.parquet", workers=workers) for workers in (1, 2)]
             for _ in range(tries)]  # fmt: skip
    return [np.min(each, axis=0) for each in zip(*times)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--engines", nargs="*", default=["local"])
    arguments.add_argument("--shards", type=int, default=200)
    arguments.add_argument("--rows", type=int, default=400)
    arguments.add_argument("--tries", type=int, default=3)
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for engine in args.engines:
            with contextlib.suppress(ImportError):
                cost, start = per_shard(folder, engine, args.shards, args.tries)
                wall, driver, workers = 1000 * cost
                print(f"{engine}: {wall:.2f} ms per shard; processor {driver:.2f} ms of the driver, {workers:.2f} ms "
                      f"of ended workers; {start:.2f} s for the start and 10 shards", flush=True)  # fmt: skip
        one, two = efficiency(folder, args.rows, args.tries)
        print(f"LSTM, {args.rows} rows of 2000 steps: {one[0]:.2f} s with one worker, {two[0]:.2f} s with two: "
              f"efficiency {one[0] / two[0] / 2:.2f}; processor {one[2]:.2f} s and {two[2]:.2f} s")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
