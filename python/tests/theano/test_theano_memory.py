"""Memory of loops and their gradients: what a run takes at most is what explain() says beforehand, and
budgets are kept; and few steps of large states are compiled, or budgets would cost more time."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

LARGE, SMALL = 100_000, 10  # elements of a state

# What a process prints: by how many bytes its most memory grows in a run, and what was predicted.
MEASURE = """
import json, pathlib, sys
import numpy as np
sys.path[:0] = [sys.argv[1], str(pathlib.Path(sys.argv[1]).parent)]
import test_theano_memory as cases

def resident(which):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) * 1024

f = cases.CASES[sys.argv[2]]()
large = np.full(cases.LARGE, 0.5)
for size in (cases.SMALL, 2 * cases.SMALL):  # versions for several sizes
    f(np.full(size, 0.5))
# The compiler's library, for so many steps.
cases.loop(lambda rows, x: rows[-1], steps=1_000_000)(np.full(cases.SMALL, 0.5))
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
kept = f(large)
print(json.dumps([resident("VmHWM") - before, cases.predicted(f)]))
"""
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def predicted(f):
    """The most that explain() names, in bytes."""
    found = re.findall(r"^memory ([0-9.e+]+) (\w?)B for a run", f.explain(), re.M)
    return max(float(number) * UNITS[unit] for number, unit in found)


def loop(pick, checkpoint=None, steps=300):
    x = T.dvector("x")
    rows, _ = theano.scan(
        lambda h: T.tanh(h * 1.01) + 0.1, outputs_info=x, n_steps=steps, checkpoint=checkpoint
    )
    return theano.function([x], pick(rows, x))


CASES = {
    "all rows": lambda: loop(lambda rows, x: rows),
    "two last rows": lambda: loop(lambda rows, x: rows[-100:] * 2),
    "gradient": lambda: loop(lambda rows, x: T.grad(rows[-1].sum(), x)),
    "gradient of all rows": lambda: loop(lambda rows, x: T.grad((rows**2).sum(), x)),
    "sqrt": lambda: loop(lambda rows, x: T.grad(rows[-1].sum(), x), "sqrt", 2500),
    "every": lambda: loop(lambda rows, x: T.grad(rows[-1].sum(), x), {"every": 100}, 2000),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_takes_what_was_predicted(name):
    if not pathlib.Path("/proc/self/clear_refs").exists():
        pytest.skip("this system does not tell the most memory of a process")
    answer = subprocess.run(
        [sys.executable, "-c", MEASURE, str(pathlib.Path(__file__).parent), name],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    grown, said = json.loads(answer.stdout)
    assert said > 50e6
    assert abs(grown - said) <= 0.1 * said, (grown, said)


def test_the_last_row_takes_little():
    f = loop(lambda rows, x: rows[-1])
    f(np.full(LARGE, 0.5))
    assert predicted(f) < 5 * 8 * LARGE


# What is read of the rows that steps pass on and of those that they only return, in T and in numpy.
LAST_ROWS = {
    "the last row by its number": lambda rows: rows[rows.shape[0] - 1],
    "an element of it": lambda rows: rows[rows.shape[0] - 1, 2],
    "elements of it": lambda rows: rows[rows.shape[0] - 1, 1:4],
    "the last row of a product": lambda rows: (rows * 2)[rows.shape[0] - 1],
    "an element of the last row of a sum": lambda rows: (rows + 1)[rows.shape[0] - 1, 2],
}


@pytest.mark.parametrize("name", LAST_ROWS)
@pytest.mark.parametrize("which", [0, 1])
def test_the_last_row_by_the_number_of_rows_takes_little(name, which):
    """The number of steps is an input. All rows take 800 MB."""
    x, n = T.dvector("x"), T.lscalar("n")
    rows, _ = theano.scan(
        lambda k, h: [h * 0.5 + k, h - k], sequences=T.arange(n), outputs_info=[x, None]
    )
    start = np.arange(1000.0)
    read = theano.function([x, n], LAST_ROWS[name](rows[which]))
    every = theano.function([x, n], rows[which])
    for steps in (1, 2, 5):
        np.testing.assert_array_equal(read(start, steps), LAST_ROWS[name](every(start, steps)))
    read(start, 100_000, max_memory=20_000_000)
    with pytest.raises(theano.Error, match="index -1 is outside an axis of 0 elements"):
        read(start, 0)


@pytest.mark.parametrize("budget", [20_000, 100_000, 1_000_000])
def test_a_budget_is_kept(budget):
    """All 100,000 states are 12.8 MB. That a run fails which takes more: tests/grad/grad_test.cpp."""
    x = T.dvector("x")
    rows, _ = theano.scan(
        lambda h: T.sin(h) * 1.001 + 0.01, outputs_info=T.reshape(x, (16,)), n_steps=100_000,
        checkpoint={"budget": budget},
    )  # fmt: skip
    f = theano.function([x], T.grad(rows[-1].sum(), x))
    found = f(np.full(16, 0.3))
    assert predicted(f) <= budget
    h, slope = 0.3, 1.0
    for _ in range(100_000):
        slope *= 1.001 * np.cos(h)
        h = np.sin(h) * 1.001 + 0.01
    np.testing.assert_allclose(found, slope, rtol=1e-9)


def test_few_steps_of_large_states_are_compiled():
    for width, words in ((1000, "do not pay"), (400_000, "compiled as a whole loop: ")):
        x = T.dvector("x")
        rows, _ = theano.scan(lambda h: h + 0.1 * h * (1 - h), outputs_info=x, n_steps=20)
        f = theano.function([x], rows[-1])
        f(np.full(width, 0.5))
        assert words in f.explain()
