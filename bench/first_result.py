"""Load to first result in a fresh process: first_result.py ENGINE MODEL FEEDS.npz CLOCK.

The import stands before the clock; everything that the engine does lazily stands after it.
Prints one JSON line: the seconds, by how many bytes the most memory of the process has grown, and
the results."""

import json
import pathlib
import sys

import numpy as np

from harness import CLOCKS


STATUS = pathlib.Path("/proc/self/status")


def resident_bytes(which: str) -> int:
    """VmRSS: now; VmHWM: the most since forget_peak()."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    engine, model, feeds_path, clock_name = sys.argv[1:]
    feeds = dict(np.load(feeds_path))
    clock = CLOCKS[clock_name]
    if engine == "scanloom":
        from engines import scanloom_session as load
    else:
        from engines import onnxruntime_session as load
    forget_peak()
    before = resident_bytes("VmRSS")
    start = clock()
    results = load(model).run(None, feeds)
    seconds = clock() - start
    grown = resident_bytes("VmHWM") - before
    print(json.dumps([seconds, grown, [np.asarray(x).reshape(-1).tolist() for x in results]]))


if __name__ == "__main__":
    main()
