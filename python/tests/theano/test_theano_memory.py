"""Memory of loops and their gradients: what a run takes at most is what explain() says beforehand, and
budgets are kept; and few steps of large states are compiled, or budgets would cost more time."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from memory_use import growth, measured, predicted

LARGE, SMALL = 100_000, 10  # elements of a state


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


def measure(name):
    """By how many bytes the process grows in a run, and what was predicted."""
    f = CASES[name]()
    large = np.full(LARGE, 0.5)
    for size in (SMALL, 2 * SMALL):  # versions for several sizes
        f(np.full(size, 0.5))
    # The compiler's library, for so many steps.
    loop(lambda rows, x: rows[-1], steps=1_000_000)(np.full(SMALL, 0.5))
    return growth(lambda: f(large)), predicted(f.explain())


@pytest.mark.parametrize("name", CASES)
def test_a_run_takes_what_was_predicted(name):
    grown, said = measured(__file__, name)
    assert said > 50e6
    assert abs(grown - said) <= 0.1 * said, (grown, said)


def test_the_last_row_takes_little():
    f = loop(lambda rows, x: rows[-1])
    f(np.full(LARGE, 0.5))
    assert predicted(f.explain()) < 5 * 8 * LARGE


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
    assert predicted(f.explain()) <= budget
    h, slope = 0.3, 1.0
    for _ in range(100_000):
        slope *= 1.001 * np.cos(h)
        h = np.sin(h) * 1.001 + 0.01
    np.testing.assert_allclose(found, slope, rtol=1e-9)


def test_few_steps_of_large_states_are_compiled():
    for width, words in ((1000, "too few steps to repay"), (400_000, "compiled as a whole loop: ")):
        x = T.dvector("x")
        rows, _ = theano.scan(lambda h: h + 0.1 * h * (1 - h), outputs_info=x, n_steps=20)
        f = theano.function([x], rows[-1])
        f(np.full(width, 0.5))
        assert words in f.explain()
