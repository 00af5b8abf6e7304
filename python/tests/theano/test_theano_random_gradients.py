"""Gradients of random scans (scan_programs), checked with numpy by complex steps, which are exact,
and by central differences of the compiled function. Covers values, first and second derivatives,
and that the results of Rop and Lop are consistent.

SCANLOOM_GRADIENT_SECONDS=3600 SCANLOOM_GRADIENT_SEED=... tries others for that many seconds."""

import os
import random
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scanloom as theano
import scanloom.tensor as T
from random_programs import Source
from scan_programs import Built, Computed, ScanMaker

LENGTH = 300  # bytes; programs take 100 to 300
COMPLEX_STEP = 1e-30
STEPS = (1e-3, 5e-4, 2.5e-4)  # of central differences, extrapolated
RELATIVE = 1e-6
# Of the first derivative's own size, where its parts cancel.
LEAST = 1e-5
COUNTS = dict.fromkeys(("programs", "loops", "derivatives", "differences", "second", "pairs"), 0)


def made(taken, **options):
    program = ScanMaker(Source(taken), **options).program()
    COUNTS["programs"] += 1
    COUNTS["loops"] += len(program.loops())
    return program


def compiled(built, outputs):
    """The function of the program's inputs alone."""
    f = theano.function([*built.inputs, *built.counts], outputs, on_unused_input="ignore")
    return lambda arrays: f(*arrays, *built.given)


def along(arrays, directions, step):
    return [x + step * d for x, d in zip(arrays, directions)]


def slope(program, arrays, directions):
    """The derivative of the cost along directions; exact."""
    return Computed(program, along(arrays, directions, 1j * COMPLEX_STEP)).cost.imag / COMPLEX_STEP


def is_near(found, wanted, scale):
    return abs(found - wanted) <= RELATIVE * max(abs(wanted), LEAST * scale)


def extrapolated(f):
    """The derivative at 0 of f, which has one number: Richardson's, of central differences."""
    table = [(f(h) - f(-h)) / (2 * h) for h in STEPS]
    for order in range(1, len(STEPS)):
        factor = 4**order
        table = [(factor * b - a) / (factor - 1) for a, b in zip(table, table[1:])]
    return table[0]


def is_smooth(program, arrays, directions):
    """Whether nothing is decided otherwise where differences are taken."""
    at_once = Computed(program, arrays).decisions
    for step in (STEPS[0], -STEPS[0]):
        others = Computed(program, along(arrays, directions, step)).decisions
        if len(others) != len(at_once):
            return False
        if not all(np.array_equal(a, b) for a, b in zip(at_once, others)):
            return False
    return True


def directions_of(arrays, draw):
    return [draw.uniform(-1, 1, array.shape) for array in arrays]


def check_gradient(taken, truncates=False):
    program = made(taken, truncates=truncates)
    built, arrays = Built(program), list(program.inputs.values())
    slopes = T.grad(built.cost, built.inputs, disconnected_inputs="ignore")
    cost, *found = compiled(built, [built.cost, *slopes])(arrays)
    wanted = Computed(program, arrays).cost
    assert abs(cost - wanted) <= 1e-9 * max(abs(wanted), 1)
    draw = np.random.default_rng(len(arrays))
    directions = directions_of(arrays, draw)
    for i, (slope_, direction) in enumerate(zip(found, directions)):
        assert slope_.shape == arrays[i].shape
        alone = [direction if j == i else 0 * d for j, d in enumerate(directions)]
        exact = slope(program, arrays, alone)
        scale = max(np.abs(slope_ * direction).sum(), 1)
        have = float((slope_ * direction).sum())
        assert is_near(have, exact, scale), (i, have, exact)
        COUNTS["derivatives"] += 1
    if truncates or not is_smooth(program, arrays, directions):
        return
    value = compiled(built, built.cost)
    near = extrapolated(lambda h: float(value(along(arrays, directions, h))))
    have = sum(float((s * d).sum()) for s, d in zip(found, directions))
    scale = max(sum(np.abs(s * d).sum() for s, d in zip(found, directions)), 1)
    assert abs(near - have) <= RELATIVE * scale, (near, have)
    COUNTS["differences"] += 1


def check_second(taken):
    """The Hessian between two directions, with differences of exact first derivatives."""
    program = made(taken)
    built, arrays = Built(program), list(program.inputs.values())
    draw = np.random.default_rng(3)
    first, second = directions_of(arrays, draw), directions_of(arrays, draw)
    if not is_smooth(program, arrays, second):
        return
    slopes = T.grad(built.cost, built.inputs, disconnected_inputs="ignore")
    one = sum((s * d).sum() for s, d in zip(slopes, first))
    curves = T.grad(one, built.inputs, disconnected_inputs="ignore")
    found = compiled(built, curves)(arrays)
    parts = [float((c * d).sum()) for c, d in zip(found, second)]
    near = extrapolated(lambda h: slope(program, along(arrays, second, h), first))
    scale = max(sum(np.abs(c * d).sum() for c, d in zip(found, second)), 1)
    assert abs(near - sum(parts)) <= RELATIVE * scale, (near, sum(parts))
    COUNTS["second"] += 1


def check_products(taken):
    """v (J u) by Rop is (v J) u by Lop, and what a complex step of v times the results says."""
    program = made(taken)
    built, arrays = Built(program), list(program.inputs.values())
    draw = np.random.default_rng(5)
    u = directions_of(arrays, draw)
    v = directions_of([np.zeros(program.shapes[name]) for name in program.results], draw)
    pushed = T.Rop(built.results, built.inputs, [T.constant(x) for x in u], "ignore")
    pulled = T.Lop(
        built.results, built.inputs, [T.constant(x) for x in v], disconnected_inputs="ignore"
    )
    found = compiled(built, [*pushed, *pulled])(arrays)
    forwards = sum(float((a * b).sum()) for a, b in zip(found, v))
    back = [float((a * b).sum()) for a, b in zip(found[len(v) :], u)]
    stepped = Computed(program, along(arrays, u, 1j * COMPLEX_STEP)).results
    exact = sum((np.imag(r) * w).sum() for r, w in zip(stepped, v)) / COMPLEX_STEP
    scale = max(sum(np.abs(a * b).sum() for a, b in zip(found[len(v) :], u)), 1)
    assert is_near(forwards, exact, scale), (forwards, exact)
    assert is_near(sum(back), exact, scale), (sum(back), exact)
    COUNTS["pairs"] += 1


CHECKS = {
    "first": check_gradient,
    "truncated": lambda taken: check_gradient(taken, truncates=True),
    "second": check_second,
    "products": check_products,
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_programs_that_hypothesis_makes(check):
    @settings(
        max_examples=100, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.binary(min_size=LENGTH // 2, max_size=2 * LENGTH))
    def run(taken):
        check(taken)

    run()


@pytest.mark.parametrize("name,count", [("first", 400), ("truncated", 200), ("second", 200), ("products", 200)])
def test_larger_programs(name, count):
    """Bytes of equal weight make larger programs than hypothesis does."""
    source = random.Random(f"gradients {name}")
    for number in range(count):
        taken = source.randbytes(LENGTH)
        try:
            CHECKS[name](taken)
        except Exception as error:
            error.add_note(f"program {number}: {taken.hex()}")
            raise


def test_programs_of_other_seeds():
    seconds = float(os.environ.get("SCANLOOM_GRADIENT_SECONDS", 0))
    if seconds == 0:
        pytest.skip("for running by hand: SCANLOOM_GRADIENT_SECONDS is not set")
    seed = int(os.environ.get("SCANLOOM_GRADIENT_SEED", time.time_ns()))
    print(f"seed {seed}")
    source, end, failed = random.Random(seed), time.monotonic() + seconds, []
    while time.monotonic() < end:
        name, taken = source.choice(list(CHECKS)), source.randbytes(LENGTH)
        try:
            CHECKS[name](taken)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:200]}: {taken.hex()}")
            print(failed[-1], flush=True)
    print(COUNTS)
    assert not failed


def test_what_was_compared(report):
    told = ", ".join(f"{name} {count}" for name, count in COUNTS.items())
    report(f"random gradients compared with numpy: {told}")
