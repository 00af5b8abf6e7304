"""Load to first result in a fresh process: first_result.py ENGINE MODEL FEEDS.npz CLOCK.

The import stands before the clock; everything that the engine does lazily stands after it.
Prints one JSON line: the seconds and the results."""

import json
import sys

import numpy as np

from harness import CLOCKS


def main() -> None:
    engine, model, feeds_path, clock_name = sys.argv[1:]
    feeds = dict(np.load(feeds_path))
    clock = CLOCKS[clock_name]
    if engine == "scanloom":
        from engines import scanloom_session as load
    else:
        from engines import onnxruntime_session as load
    start = clock()
    results = load(model).run(None, feeds)
    seconds = clock() - start
    print(json.dumps([seconds, [np.asarray(x).reshape(-1).tolist() for x in results]]))


if __name__ == "__main__":
    main()
