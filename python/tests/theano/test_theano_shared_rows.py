"""Updates of large shared variables by steps of scans, in branches and with readers: the bits that
the same expressions give as outputs, all or none, and time that does not grow with the variable."""

import json
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom.gradient import disconnected_grad
from scanloom.ifelse import ifelse

# Large enough that copying it takes longer than copying the rows.
ROWS, WIDTH = 2000, 32
IDS = np.array([5, -1, 700, 5, 1999, 6])
DTYPES = ["float64", "float32", "float16", "int64", "int8", "uint16", "bool", "complex128"]


def start(dtype="float64"):
    numbers = np.arange(ROWS * WIDTH).reshape(ROWS, WIDTH) * 7 % 23 - 5
    return (numbers + 2j * numbers if dtype == "complex128" else numbers).astype(dtype)


def values(dtype="float64"):
    return (np.arange(IDS.size * WIDTH).reshape(IDS.size, WIDTH) * 5 % 17).astype(dtype)


def by_steps(step):
    """The last value of a scan over the rows of x, with their indices, that begins with the table."""

    def update(table, i, x):
        states, _ = theano.scan(step, sequences=[i, x], outputs_info=table)
        return states[-1], []

    return update


def returned_by_steps(table, i, x):
    _, updates = theano.scan(lambda k, row: {table: T.set_subtensor(table[k], row)}, sequences=[i, x])
    return updates[table], []


def with_a_state(table, i, x):
    """The index is a state of its own."""
    (states, at), _ = theano.scan(
        lambda row, now, k: [T.set_subtensor(now[k], row), (5 * k + 3) % now.shape[0]],
        sequences=[x], outputs_info=[table, i[0]],
    )  # fmt: skip
    return states[-1], [at]


def until_an_index(table, i, x):
    states, _ = theano.scan(
        lambda k, row, now: (T.set_subtensor(now[k], row), theano.scan_module.until(T.eq(k, 700))),
        sequences=[i, x], outputs_info=table,
    )  # fmt: skip
    return states[-1], []


def several(table, i, x):
    """Writes before a scan, the scan, and writes after it."""
    first = T.set_subtensor(table[i[:2]], x[:2])
    states, _ = theano.scan(
        lambda k, row, now: T.set_subtensor(now[k], now[k - 1]), sequences=[i, x], outputs_info=first
    )
    return T.set_subtensor(states[-1][i[1], 2:5], x[0, 2:5]), [states[-1][i[1]]]


def and_read(table, i, x):
    new = T.set_subtensor(table[i], x)
    return new, [new[i - 1], new[3, 2], new[i, 4]]


def in_a_branch(table, i, x):
    return ifelse(T.gt(i[0], 3), T.set_subtensor(table[i], x), table), []


def in_both_branches(table, i, x):
    then, other = T.set_subtensor(table[i], x), T.set_subtensor(table[:, 1], x[0, 0])
    inner = ifelse(T.eq(i[0], 2), other, table)
    return ifelse(T.gt(i[0], 3), T.set_subtensor(then[7, 1:3], x[0, :2]), inner), [table[i]]


UPDATES = {
    "rows": by_steps(lambda k, row, now: T.set_subtensor(now[k], row)),
    "elements": by_steps(lambda k, row, now: T.set_subtensor(now[k, 3], row[1])),
    "parts of rows": by_steps(lambda k, row, now: T.set_subtensor(now[k, 2:5], row[:3])),
    "every second element": by_steps(lambda k, row, now: T.set_subtensor(now[k, ::2], row[::2])),
    "some columns": by_steps(lambda k, row, now: T.set_subtensor(now[k, [1, 4]], row[:2])),
    "two rows": by_steps(lambda k, row, now: T.set_subtensor(now[T.stack([k, 3])], row)),
    "rows that are read": by_steps(lambda k, row, now: T.set_subtensor(now[k], now[k - 1])),
    "columns that are read": by_steps(lambda k, row, now: T.set_subtensor(now[k, 0], now[k - 1, 2])),
    "returned by steps": returned_by_steps,
    "an index that is a state": with_a_state,
    "until an index": until_an_index,
    "several": several,
    "and read": and_read,
    "in a branch": in_a_branch,
    "in both branches": in_both_branches,
}


def functions(name, dtype="float64"):
    """A table, a function that updates it, and one that returns the same and the next value."""
    table = theano.shared(start(dtype), "table")
    i, x = T.lvector("i"), T.TensorType(dtype, (False, False))("x")
    new, outputs = UPDATES[name](table, i, x)
    update = theano.function([i, x], outputs, updates=[(table, new)])
    return table, update, theano.function([i, x], [*outputs, new])


def assert_same_bits(got, want):
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bits_are_those_of_outputs(name, dtype):
    table, update, computed = functions(name, dtype)
    for first in (5, 2, 0, 5):
        ids = np.concatenate([[first], IDS[1:]])
        *outputs, want = computed(ids, values(dtype))
        got = update(ids, values(dtype))
        for one, other in zip(got, outputs):
            assert_same_bits(one, other)
        assert_same_bits(table.get_value(), want)


@pytest.mark.parametrize("adds", [False, True])
def test_rows_by_steps_are_those_of_numpy(adds):
    table, i, x = theano.shared(start(), "table"), T.lvector("i"), T.dmatrix("x")
    write = T.inc_subtensor if adds else T.set_subtensor
    states, _ = theano.scan(
        lambda k, row, now: write(now[k], row + now[k - 1]), sequences=[i, x], outputs_info=table
    )
    update = theano.function([i, x], updates=[(table, states[-1])])
    want = start()
    for _ in range(2):
        update(IDS, values())
        for k, row in zip(IDS, values()):
            want[k] = row + want[k - 1] + (want[k] if adds else 0)
        np.testing.assert_array_equal(table.get_value(), want)


@pytest.mark.parametrize("name", UPDATES)
def test_values_got_before_stay(name):
    table, update, _ = functions(name)
    held, borrowed = table.get_value(borrow=False), table.get_value(borrow=True)
    reader = theano.function([], table)
    returned = reader()
    update(IDS, values())
    update(IDS, values() + 1)
    for value in (held, borrowed, returned):
        np.testing.assert_array_equal(value, start())


@pytest.mark.parametrize("name", UPDATES)
def test_an_index_outside_changes_nothing(name):
    table, update, computed = functions(name)
    for ids in (np.where(np.arange(IDS.size) == 1, ROWS, IDS), np.array([ROWS, 1, 2, 3, 4, 5])):
        try:
            computed(ids, values())
        except theano.Error:
            with pytest.raises(theano.Error, match=f"index {ROWS} is outside an axis of {ROWS} elements"):
                update(ids, values())
            np.testing.assert_array_equal(table.get_value(), start())
    *_, want = computed(IDS, values())
    update(IDS, values())
    np.testing.assert_array_equal(table.get_value(), want)


class TestFailures:
    """What stops a call after, before or while the rows are written leaves all variables unchanged."""

    @pytest.fixture(params=UPDATES)
    def call(self, request):
        self.table, self.count = theano.shared(start(), "table"), theano.shared(0.0, "count")
        i, x, n, at = T.lvector("i"), T.dmatrix("x"), T.lscalar("n"), T.lscalar("at")
        new, outputs = UPDATES[request.param](self.table, i, x)
        long, _ = theano.scan(lambda y: T.sin(y) + 1, outputs_info=T.zeros(()), n_steps=n)
        updates = [(self.count, self.count + 1), (self.table, new)]
        f = theano.function([i, x, n, at], [*outputs, long[at]], updates=updates)
        yield lambda n, at=0, **options: f(IDS, values(), n, at, **options)
        np.testing.assert_array_equal(self.table.get_value(), start())
        assert self.count.get_value() == 0

    def test_a_later_node(self, call):
        with pytest.raises(theano.Error, match="outside"):
            call(3, at=3)

    def test_a_deadline(self, call):
        with pytest.raises(theano.LimitReached):
            call(20_000_000, deadline=0.05)

    def test_a_callback_that_raises(self, call):
        def stop(*_):
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            call(20_000_000, progress=stop)

    def test_memory(self, call):
        with pytest.raises(theano.LimitReached):
            call(1_000_000, max_memory=1 << 21)


def test_tables_of_any_size_have_the_same_values():
    """Small ones are copied, large ones are not."""
    i, x = T.lvector("i"), T.dmatrix("x")
    table = theano.shared(np.zeros((1, 4)), "table")
    states, _ = theano.scan(
        lambda k, row, now: T.inc_subtensor(now[k], row), sequences=[i, x], outputs_info=table
    )
    update = theano.function([i, x], updates=[(table, states[-1])])
    for rows in (3, 100_000, 5, 20_000, 0):
        table.set_value(np.zeros((rows, 4)))
        ids = np.array([0, 2, 2, 1] if rows else [], "int64")
        change = np.arange(4.0 * ids.size).reshape(-1, 4)
        want = np.zeros((rows, 4))
        np.add.at(want, ids, change)
        update(ids, change)
        np.testing.assert_array_equal(table.get_value(), want)


@pytest.mark.parametrize("name", ["rows", "and read", "in a branch"])
def test_a_saved_function(name, tmp_path):
    table, update, computed = functions(name)
    update.save(tmp_path / "f")
    loaded = theano.load(tmp_path / "f")
    for _ in range(2):
        *_, want = computed(IDS, values())
        update(IDS, values())
        loaded(IDS, values())
        np.testing.assert_array_equal(loaded.get_shared()[0].get_value(), want)
        np.testing.assert_array_equal(table.get_value(), want)


def test_threads_see_all_of_a_call_or_nothing():
    table = theano.shared(np.zeros((64, 500)), "table")
    i = T.lvector("i")
    states, _ = theano.scan(
        lambda k, now: T.inc_subtensor(now[k], 1.0), sequences=i, outputs_info=table
    )
    add = theano.function([i], updates=[(table, states[-1])])
    spread = theano.function([], table.max() - table.min())
    seen, failures = [], []

    def work(call):
        try:
            for _ in range(60):
                seen.append(call())
        except Exception as failure:
            failures.append(failure)

    calls = [lambda: add(np.arange(64)), spread, lambda: np.ptp(table.get_value())]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls + calls[:1]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert {float(each) for each in seen if np.ndim(each) == 0 and each is not None} <= {0.0}
    np.testing.assert_array_equal(table.get_value(), np.full((64, 500), 120.0))


# What a process prints: by how many bytes its most memory grows in calls that update a large table.
MEASURE = """
import json, pathlib, sys
import numpy as np
sys.path[:0] = [sys.argv[1], str(pathlib.Path(sys.argv[1]).parent)]
import test_theano_shared_rows as cases
import scanloom as theano, scanloom.tensor as T

def resident(which):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) * 1024

table = theano.shared(np.ones((400_000, 32)), "table")
i, x = T.lvector("i"), T.dmatrix("x")
new, outputs = cases.UPDATES[sys.argv[2]](table, i, x)
f = theano.function([i, x], outputs, updates=[(table, new)])
at, x_value = np.array([5, 399_999, 700, -2, 5, 6]), cases.values()
for _ in range(2):
    f(at, x_value)
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
for _ in range(3):
    f(at, x_value)
print(json.dumps(resident("VmHWM") - before))
"""


@pytest.mark.parametrize("name", UPDATES)
def test_a_call_takes_memory_for_the_rows_alone(name):
    if not pathlib.Path("/proc/self/clear_refs").exists():
        pytest.skip("this system does not tell the most memory of a process")
    answer = subprocess.run(
        [sys.executable, "-c", MEASURE, str(pathlib.Path(__file__).parent), name],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(answer.stdout) < 20e6  # the table takes 102


def test_steps_that_only_hand_the_table_on():
    table = theano.shared(start("float32"), "table")
    states, _ = theano.scan(
        lambda t, now: ([disconnected_grad(now)], theano.scan_module.until(T.ge(t, 3))),
        sequences=[T.arange(10)], outputs_info=[table],
    )  # fmt: skip
    f = theano.function([], states.shape[0], updates=[(table, states[-1])])
    assert f() == 4
    np.testing.assert_array_equal(table.get_value(), start("float32"))


def test_a_table_that_is_handed_on_without_a_loop():
    table = theano.shared(start("float32"), "table")
    f = theano.function([], [], updates=[(table, disconnected_grad(table))])
    f()
    np.testing.assert_array_equal(table.get_value(), start("float32"))
