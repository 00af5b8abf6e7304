"""Builds, compiles and runs a program of expressions for the first time in a new process:
first_expression.py ENGINE PROGRAM CLOCK. The time excludes the import. Prints one JSON line: the
seconds and the results."""

import importlib
import json
import sys

import numpy as np

from harness import CLOCKS

MODULES = {"scanloom": "workloads.expressions", "jax": "peers.jax_expressions"}


def main() -> None:
    engine, program, clock_name = sys.argv[1:]
    module = importlib.import_module(MODULES[engine])
    if engine == "scanloom":
        importlib.import_module("scanloom.tensor")
    clock = CLOCKS[clock_name]
    start = clock()
    results = getattr(module, program)()()
    seconds = clock() - start
    print(json.dumps([seconds, [np.asarray(x).tolist() for x in results]]))


if __name__ == "__main__":
    main()
