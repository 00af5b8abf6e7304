"""The gradient of a long loop with a large state within a memory budget: time, steps, peak memory.
Run it by hand:

    build/venv/bin/python bench/long_reverse.py --steps 1000000 --state 1000000 --budget 1000000000

Prints the time and the growth of the peak memory (VmHWM) of the process, and compares some elements
of the gradient with numpy's. The exit status is 1 if the memory grew by more than the budget plus
the compiler library, or if the gradient is wrong. --limit makes the system enforce the same
limit."""

import argparse
import resource
import sys
import time

import numpy as np

import scanloom
import scanloom.tensor as T
from first_result import resident_bytes

RATE = 1e-5  # of logistic growth
BESIDES = 64 << 20  # bytes: the compiler library and the code, the results, thread stacks


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--state", type=int, default=1_000_000, help="bytes")
    parser.add_argument("--budget", type=int, default=1_000_000_000, help="bytes")
    parser.add_argument("--limit", action="store_true", help="by RLIMIT_DATA, too")
    return parser.parse_args()


def gradient_of(width, steps, budget):
    x = T.dvector("x")
    rows, _ = scanloom.scan(
        lambda h: h + RATE * h * (1 - h), outputs_info=T.reshape(x, (width,)), n_steps=steps,
        checkpoint={"budget": budget}, name="growth",
    )  # fmt: skip
    return scanloom.function([x], T.grad(rows[-1].sum(), x))


def expected(x, steps):
    """The derivative of the last state of each element, computed step by step."""
    h, slope = x.copy(), np.ones(x.size)
    for _ in range(steps):
        slope *= 1 + RATE * (1 - 2 * h)
        h += RATE * h * (1 - h)
    return slope


def main():
    options = arguments()
    width = options.state // 8
    x = np.random.default_rng(1).uniform(0.01, 0.9, width)
    f = gradient_of(width, options.steps, options.budget)
    before = resident_bytes("VmHWM")
    if options.limit:
        most = resident_bytes("VmData") + options.budget + BESIDES
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    began = time.perf_counter()
    found = f(x)
    seconds = time.perf_counter() - began
    grown = resident_bytes("VmHWM") - before
    some = np.arange(0, width, max(width // 32, 1))
    wanted = expected(x[some], options.steps)
    error = np.abs(found[some] / wanted - 1).max()
    print(f"{options.steps} steps of {options.state} bytes within {options.budget}: {seconds:.1f} s,")
    print(f"{1e6 * seconds / options.steps:.1f} us per step, peak memory grew by {grown} bytes")
    print(f"largest relative error of {some.size} elements: {error:.2g}")
    print(f.explain())
    return int(grown > options.budget + BESIDES or error > 1e-9)


if __name__ == "__main__":
    sys.exit(main())
