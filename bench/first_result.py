"""Load to first result in a new process: first_result.py ENGINE MODEL FEEDS.npz CLOCK [memory].
For JAX, MODEL is the number of operators in the body (workloads/wide_body.py); "scanloom
compiled" is Scanloom with the option to compile.

The time excludes the import, but includes everything that the engine does lazily. Prints one JSON
line: the seconds (or with `memory` the growth of peak memory in bytes, Linux only) and the
results."""

import functools
import json
import pathlib
import sys

import numpy as np

from harness import CLOCKS


STATUS = pathlib.Path("/proc/self/status")


def resident_bytes(which: str) -> int:
    """The present memory (VmRSS), or the peak since forget_peak() (VmHWM)."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    engine, model, feeds_path, clock_name, *what = sys.argv[1:]
    of_memory = what == ["memory"]
    feeds = dict(np.load(feeds_path))
    clock = CLOCKS[clock_name]
    if engine.startswith("scanloom"):
        from engines import scanloom_session

        execution = engine.partition(" ")[2] or "automatic"
        load = functools.partial(scanloom_session, execution=execution)
    elif engine == "jax":
        from peers.jax_scan import WideBody as load
    elif engine == "openvino":
        from peers.openvino_model import Session as load
    else:
        from engines import onnxruntime_session as load
    if of_memory:
        forget_peak()
        before = resident_bytes("VmRSS")
    start = clock()
    results = load(model).run(None, feeds)
    seconds = clock() - start
    measured = max(resident_bytes("VmHWM") - before, 1) if of_memory else seconds
    print(json.dumps([measured, [np.asarray(x).reshape(-1).tolist() for x in results]]))


if __name__ == "__main__":
    main()
