"""Functions shared by threads: the values of shared variables that their calls see and leave."""

import threading

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def in_threads(*works):
    """Runs them at once; raises what the first raised."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_calls_see_the_values_of_one_moment():
    a, b = (theano.shared(np.zeros(100), name) for name in "ab")
    both = theano.function([], updates={a: a + 1, b: b + 1})
    difference = theano.function([], (a - b).sum())
    seen = []
    in_threads(
        lambda: [both() for _ in range(2000)],
        lambda: seen.extend(float(difference()) for _ in range(2000)),
    )
    assert set(seen) == {0.0}
    assert a.get_value()[0] == b.get_value()[0] == 2000


def test_updates_of_all_threads_are_counted():
    a = theano.shared(0.0, "a")
    add = theano.function([], a, updates={a: a + 1})
    results = [[], []]
    in_threads(*(lambda r=r: r.extend(float(add()) for _ in range(1000)) for r in results))
    assert a.get_value() == 2000
    assert sorted(results[0] + results[1]) == list(range(2000))


def test_defaults_of_all_threads_are_counted():
    x, y = T.scalar("x"), T.scalar("y")
    f = theano.function([y, theano.In(x, value=0.0, update=x + y)], x)
    results = [[], []]
    in_threads(*(lambda r=r: r.extend(float(f(1)) for _ in range(1000)) for r in results))
    assert sorted(results[0] + results[1]) == list(range(2000))


def long_loop():
    """Returns the number of steps, and a value slow enough for progress to be reported."""
    n = T.lscalar("n")
    rows, _ = theano.scan(lambda s: T.sin(s) + 1e-9, outputs_info=T.ones((500,)), n_steps=n)
    return n, rows[-1].sum() * 0


def test_a_call_within_a_call_cannot_update_the_same():
    a = theano.shared(0.0, "a")
    n, zero = long_loop()
    add = theano.function([], updates={a: a + 1})
    read = theano.function([], a * 1)
    outer = theano.function([n], updates={a: a + 10 + zero})
    seen = []

    def progress(node, step, steps):
        with pytest.raises(theano.InvalidArgument, match="shared variable 'a'"):
            add()
        seen.append(float(read()))

    outer(600000, progress=progress)
    assert set(seen) == {0.0} and a.get_value() == 10
    add()
    assert a.get_value() == 11


def test_a_call_within_a_call_cannot_change_the_same_default():
    x = T.scalar("x")
    n, zero = long_loop()
    f = theano.function([n, theano.In(x, value=0.0, update=x + 1 + zero)], x + zero)
    seen = []

    def progress(node, step, steps):
        with pytest.raises(theano.InvalidArgument, match="during such a call"):
            f(1)
        seen.append(step)

    assert f(600000, progress=progress) == 0 and seen
    assert f(1) == 1  # the call that failed has changed nothing


def test_a_value_set_during_a_call_that_updates_is_overwritten():
    a, b = theano.shared(0.0, "a"), theano.shared(0.0, "b")
    n, zero = long_loop()
    f = theano.function([n], a + b + zero, updates={a: a + 1 + zero})
    seen = []

    def progress(node, step, steps):
        a.set_value(100.0)
        b.set_value(100.0)
        seen.append(step)

    assert f(600000, progress=progress) == 0 and seen
    assert a.get_value() == 1 and b.get_value() == 100


def test_many_write_one_file(tmp_path):
    x = T.vector("x")
    f = theano.function([x], x * theano.shared(np.arange(50.0), "w"))
    path = tmp_path / "f"
    f.save(path)

    def save_and_read():
        for _ in range(50):
            f.save(path)
            np.testing.assert_array_equal(theano.load(path)(np.ones(50)), np.arange(50.0))

    in_threads(save_and_read, save_and_read)
    assert [each.name for each in tmp_path.iterdir()] == ["f"]
