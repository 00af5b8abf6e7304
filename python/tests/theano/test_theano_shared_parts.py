"""Updates of shared variables that write to parts of them: the values that numpy gives, all or none,
and memory that does not grow with the variable."""

import threading

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from memory_use import growth, measured

ROWS, WIDTH = 7, 3


def numbers(*sizes):
    return (np.arange(np.prod(sizes), dtype="float64") * 0.37 % 1.9 - 0.8).reshape(sizes)


# By name: the part of a table t and vector of indices i, in T and in numpy.
PARTS = {
    "rows": lambda t, i: t[i],
    "one row": lambda t, i: t[i[0]],
    "a row of a number": lambda t, i: t[-2],
    "one element": lambda t, i: t[i[1], 2],
    "a slice": lambda t, i: t[2:5],
    "every second row": lambda t, i: t[1::2],
    "rows backwards": lambda t, i: t[5:1:-2],
    "a slice that begins at an index": lambda t, i: t[i[0] : i[0] + 2],
    "a column": lambda t, i: t[:, 1],
    "a block": lambda t, i: t[1:4, 1:],
    "elements": lambda t, i: t[i, [0, 2, 1]],
    "elements of one column": lambda t, i: t[i, 1],
    "rows by a table of indices": lambda t, i: t[i[:, None], [[0, 2]]],
    "rows and all columns": lambda t, i: t[i, :],
    "rows and columns": lambda t, i: t[i, :2],
    "a slice of rows and columns": lambda t, i: t[1:6:2, i % 3],
    "rows and columns backwards": lambda t, i: t[i, ::-2],
    "rows and columns from the end": lambda t, i: t[i, -2:9],
    "rows and no column": lambda t, i: t[i, 2:1],
    "rows, a new axis and columns": lambda t, i: t[i, None, 1:],
    "all": lambda t, i: t[:],
}
INDICES = np.array([4, 0, -1])


def part_function(part, write, y_value):
    """A table, and a function that writes to a part of it."""
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i, y = T.lvector("i"), T.TensorType("float64", (False,) * y_value.ndim)("y")
    f = theano.function([i, y], table.sum(), updates=[(table, write(part(table, i), y))], on_unused_input="ignore")
    return table, f


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("adds", [False, True])
def test_parts_are_those_of_numpy(name, adds):
    part = PARTS[name]
    want = numbers(ROWS, WIDTH)
    shape = part(want, INDICES).shape
    y = numbers(*shape) + 2 if shape else np.asarray(2.5)
    table, f = part_function(part, T.inc_subtensor if adds else T.set_subtensor, y)
    for _ in range(3):
        before = want.sum()
        which = np.arange(ROWS * WIDTH).reshape(ROWS, WIDTH)
        at = part(which, INDICES).reshape(-1)
        if adds:
            np.add.at(want.reshape(-1), at, y.reshape(-1))
        else:
            want.reshape(-1)[at] = y.reshape(-1)
        np.testing.assert_allclose(f(INDICES, y), before, rtol=1e-12)
        np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)


def test_rows_that_come_twice_are_added_twice():
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i, y = T.ivector("i"), T.dmatrix("y")
    f = theano.function([i, y], updates=[(table, T.inc_subtensor(table[i], y))])
    want, at = numbers(ROWS, WIDTH), np.array([3, 1, 3, -4], "int32")
    f(at, numbers(4, WIDTH))
    np.add.at(want, at, numbers(4, WIDTH))
    np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_element_types(dtype):
    table = theano.shared((numbers(ROWS, WIDTH) * 50).astype(dtype), "table")
    i, y = T.lvector("i"), T.TensorType(dtype, (False, False))("y")
    f = theano.function([i, y], updates=[(table, T.set_subtensor(table[i], y))])
    new = (numbers(3, WIDTH) * 90).astype(dtype)
    f(INDICES, new)
    want = (numbers(ROWS, WIDTH) * 50).astype(dtype)
    want[INDICES] = new
    np.testing.assert_array_equal(table.get_value(), want)
    assert table.get_value().dtype == np.dtype(dtype)


def test_several_writes_one_after_the_other():
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i, j, y = T.lvector("i"), T.lscalar("j"), T.dmatrix("y")
    first = T.inc_subtensor(table[i], y)
    second = T.set_subtensor(first[j], y[0] * 2)
    f = theano.function([i, j, y], updates=[(table, T.inc_subtensor(second[j, 1], 100.0))])
    y_value = numbers(3, WIDTH)
    f(INDICES, 4, y_value)
    want = numbers(ROWS, WIDTH)
    np.add.at(want, INDICES, y_value)
    want[4] = y_value[0] * 2
    want[4, 1] += 100
    np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)


def test_all_else_reads_the_old_value():
    """Other updates, outputs, views of the table, and what is written itself."""
    table, total = theano.shared(numbers(ROWS, WIDTH), "table"), theano.shared(0.0, "total")
    last = theano.shared(numbers(WIDTH), "last")
    i = T.lvector("i")
    f = theano.function(
        [i],
        [table, table[1:], table[i], table.T],
        updates=[
            (last, table[-1] + last),
            (table, T.set_subtensor(table[i], table[1:4] * 2 + last)),
            (total, total + table.sum()),
        ],
    )
    want, last_want, total_want = numbers(ROWS, WIDTH), numbers(WIDTH), 0.0
    for _ in range(3):
        got = f(INDICES)
        for one, other in zip(got, (want, want[1:], want[INDICES], want.T)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        total_want += want.sum()
        new = want.copy()
        new[INDICES] = want[1:4] * 2 + last_want
        last_want = want[-1] + last_want
        want = new
        np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)
        np.testing.assert_allclose(last.get_value(), last_want, rtol=1e-12)
        np.testing.assert_allclose(total.get_value(), total_want, rtol=1e-12)


def test_the_new_value_may_be_read_too():
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i = T.lvector("i")
    new = T.inc_subtensor(table[i], 1.0)
    f = theano.function([i], [new, new.sum() - table.sum()], updates=[(table, new)])
    want = numbers(ROWS, WIDTH)
    for _ in range(2):
        want[INDICES] += 1
        now, difference = f(INDICES)
        np.testing.assert_allclose(now, want, rtol=1e-12)
        np.testing.assert_allclose(difference, 3 * WIDTH, rtol=1e-12)
        np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)


def test_what_was_got_before_stays_as_it_was():
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    f = theano.function([], table, updates=[(table, T.set_subtensor(table[0], 0.0))])
    held, borrowed, result = table.get_value(), table.get_value(borrow=True), f()
    f()
    for each in (held, borrowed, result):
        np.testing.assert_array_equal(each, numbers(ROWS, WIDTH))
    assert not table.get_value()[0].any()


def test_two_functions_update_one_table_by_parts_and_as_a_whole():
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i = T.lvector("i")
    part = theano.function([i], updates=[(table, T.inc_subtensor(table[i], 1.0))])
    whole = theano.function([], updates=[(table, table * 2)])
    want = numbers(ROWS, WIDTH)
    for _ in range(2):
        part(INDICES)
        part(INDICES)
        whole()
        want[INDICES] += 2
        want *= 2
        np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)
    table.set_value(numbers(ROWS + 1, WIDTH))  # other sizes
    part(INDICES)
    want = numbers(ROWS + 1, WIDTH)
    want[INDICES] += 1
    np.testing.assert_allclose(table.get_value(), want, rtol=1e-12)


def test_a_gradient_step_of_an_embedding():
    rng = np.random.default_rng(0)
    start, goal = rng.standard_normal((50, 4)), rng.standard_normal((6, 4))
    table = theano.shared(start, "table")
    ids, target = T.lvector("ids"), T.dmatrix("target")
    subset = table[ids]
    cost = ((subset - target) ** 2).sum()
    step = T.inc_subtensor(subset, -0.1 * T.grad(cost, subset))
    f = theano.function([ids, target], cost, updates=[(table, step)])
    at, want = rng.integers(0, 50, 6), start.copy()
    for _ in range(3):
        got = f(at, goal)
        np.testing.assert_allclose(got, ((want[at] - goal) ** 2).sum(), rtol=1e-10)
        np.add.at(want, at, -0.2 * (want[at] - goal))
        np.testing.assert_allclose(table.get_value(), want, rtol=1e-10)


class TestAllOrNone:
    """Whatever fails, no variable is changed."""

    def variables(self):
        self.table = theano.shared(numbers(ROWS, WIDTH), "table")
        self.other = theano.shared(numbers(4, WIDTH), "other")
        self.count = theano.shared(0.0, "count")
        self.i, self.j = T.lvector("i"), T.lvector("j")
        return [
            (self.count, self.count + 1),
            (self.table, T.inc_subtensor(self.table[self.i], 1.0)),
            (self.other, T.set_subtensor(self.other[self.j], 0.0)),
        ]

    def unchanged(self):
        np.testing.assert_array_equal(self.table.get_value(), numbers(ROWS, WIDTH))
        np.testing.assert_array_equal(self.other.get_value(), numbers(4, WIDTH))
        assert self.count.get_value() == 0

    @pytest.mark.parametrize(
        "i, j, words",
        [
            ([1, 2, ROWS], [0], "index 7 is outside an axis of 7 elements"),
            ([1, 2], [0, -5], "index -5 is outside an axis of 4 elements"),
        ],
    )
    def test_an_index_outside(self, i, j, words):
        updates = self.variables()
        f = theano.function([self.i, self.j], updates=updates)
        for _ in range(2):
            with pytest.raises(theano.Error, match=words):
                f(i, j)
            self.unchanged()
        f([1], [1])
        assert self.count.get_value() == 1

    def test_a_loop_that_fails(self):
        updates = self.variables()
        n = T.lscalar("n")
        rows, _ = theano.scan(lambda k: self.table[k].sum(), sequences=T.arange(n))
        f = theano.function([self.i, self.j, n], rows.sum(), updates=updates)
        with pytest.raises(theano.Error, match="outside"):
            f([1], [1], ROWS + 1)
        self.unchanged()
        f([1], [1], ROWS)
        assert self.count.get_value() == 1

    def test_a_callback_that_raises(self):
        """It is the way to stop a call."""
        updates = self.variables()
        n = T.lscalar("n")
        rows, _ = theano.scan(lambda x: T.sin(x) + 1, outputs_info=T.zeros(()), n_steps=n)
        f = theano.function([self.i, self.j, n], rows[-1], updates=updates)

        def stop(*_):
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            f([1], [1], 50_000_000, progress=stop)
        self.unchanged()

    def test_memory_that_does_not_suffice(self):
        updates = self.variables()
        n = T.lscalar("n")
        rows, _ = theano.scan(lambda x: x + 1, outputs_info=T.zeros((1000,)), n_steps=n)
        f = theano.function([self.i, self.j, n], rows, updates=updates, max_memory=1 << 20)
        with pytest.raises(theano.LimitReached):
            f([1], [1], 100_000)
        self.unchanged()


def test_threads_see_whole_values():
    """Rows are always equal: calls that read see none of a write, or all."""
    table = theano.shared(np.zeros((64, 16)), "table")
    i = T.lvector("i")
    add = theano.function([i], updates=[(table, T.inc_subtensor(table[i], 1.0))])
    spread = theano.function([], table.max() - table.min())
    everything = np.arange(64)
    seen, failures = [], []

    def work(call, times):
        try:
            for _ in range(times):
                seen.append(call())
        except Exception as failure:
            failures.append(failure)

    calls = [lambda: add(everything), spread, lambda: np.ptp(table.get_value())]
    threads = [threading.Thread(target=work, args=(call, 300)) for call in calls + calls[:1]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert {float(each) for each in seen if each is not None and np.ndim(each) == 0} == {0.0}
    np.testing.assert_array_equal(table.get_value(), np.full((64, 16), 600.0))


def test_a_saved_function_writes_parts(tmp_path):
    table = theano.shared(numbers(ROWS, WIDTH), "table")
    i = T.lvector("i")
    f = theano.function([i], table[i], updates=[(table, T.inc_subtensor(table[i], 1.0))])
    f.save(tmp_path / "f")
    loaded = theano.load(tmp_path / "f")
    want = numbers(ROWS, WIDTH)
    for _ in range(2):
        np.testing.assert_allclose(loaded(INDICES), want[INDICES], rtol=1e-12)
        want[INDICES] += 1
    np.testing.assert_allclose(loaded.get_shared()[0].get_value(), want, rtol=1e-12)
    np.testing.assert_array_equal(table.get_value(), numbers(ROWS, WIDTH))


SMALL_PARTS = {
    "rows": lambda t, i: t[i],
    "one row": lambda t, i: t[i[3]],
    "a slice": lambda t, i: t[1000:1020],
    "every 20,000th row": lambda t, i: t[::20_000],
    "a column": lambda t, i: t[:, 7],
    "a block": lambda t, i: t[5:25, 3:10],
    "elements": lambda t, i: t[i, i % 50],
    "rows and columns": lambda t, i: t[i, 3:10],
    "a slice of rows and columns": lambda t, i: t[1000:1020, i % 50],
}


def measure(name):
    """By how many bytes the process grows in a few calls, and whether the table is right then."""
    pick = SMALL_PARTS[name]
    table = theano.shared(np.ones((400_000, 50)), "table")
    i = T.lvector("i")
    subset = pick(table, i)
    f = theano.function(
        [i], (subset * 2).sum(), updates=[(table, T.inc_subtensor(subset, 1.0))],
        on_unused_input="ignore",
    )  # fmt: skip
    at = np.arange(0, 400_000, 20_000)

    def calls():
        for _ in range(4):
            f(at)

    grown = growth(calls)
    want = np.ones((400_000, 50))
    np.add.at(want.reshape(-1), pick(np.arange(want.size).reshape(want.shape), at), 4.0)
    return grown, np.array_equal(table.get_value(), want)


@pytest.mark.parametrize("name", SMALL_PARTS)
def test_a_call_takes_memory_for_the_parts_alone(name):
    grown, right = measured(__file__, name)
    assert right
    assert grown < 40e6  # the table takes 160
