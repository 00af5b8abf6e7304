"""Streams of random numbers: moments, independence, reproducibility, what loops make of them."""

import itertools

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def run(inputs, outputs, *values, **options):
    return theano.function(inputs, outputs, **options)(*values)


def stream(seed=42):
    return T.shared_randomstreams.RandomStreams(seed)


def test_moments_of_uniform_draws():
    draws = run([], stream().uniform((200, 500), low=-1, high=3))
    assert draws.min() >= -1 and draws.max() < 3
    assert abs(draws.mean() - 1) < 0.02 and abs(draws.var() - 16 / 12) < 0.02


def test_moments_of_normal_draws():
    draws = run([], stream().normal((200, 500), avg=2, std=0.5))
    assert abs(draws.mean() - 2) < 0.01 and abs(draws.std() - 0.5) < 0.01


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_moments_of_binomial_draws(p):
    draws = run([], stream().binomial((100000,), p=p))
    assert draws.dtype == np.int64 and set(draws) <= {0, 1}
    assert abs(draws.mean() - p) < 0.01


def test_several_trials():
    draws = run([], stream().binomial((50000,), n=5, p=0.4))
    assert draws.min() >= 0 and draws.max() <= 5
    assert abs(draws.mean() - 2) < 0.03


def test_a_probability_for_every_element():
    p = T.matrix()
    draws = theano.function([p], stream().binomial(size=p.shape, n=1, p=p))
    value = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(draws(value), value)
    without = theano.function([p], stream().binomial(p=p))
    np.testing.assert_array_equal(without(value), value)


@pytest.mark.parametrize("size", [(), (3,), (2, 3), [4], 5, None])
def test_sizes_of_draws(size):
    draw = run([], stream().uniform(size))
    expected = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    assert draw.shape == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_of_draws(dtype):
    assert run([], stream().uniform((3,), dtype=dtype)).dtype == dtype
    assert run([], stream().normal((3,), dtype=dtype)).dtype == dtype
    assert run([], stream().binomial((3,), dtype=dtype)).dtype == dtype


def test_equal_seeds_draw_equal_numbers():
    first, second = (run([], stream(7).normal((20,))) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, run([], stream(8).normal((20,))))


def test_every_call_draws_anew():
    f = theano.function([], stream().uniform((10,)))
    assert not np.array_equal(f(), f())


def test_seeding_again_begins_anew():
    streams = stream(3)
    f = theano.function([], [streams.uniform((4,)), streams.normal((4,))])
    first = f()
    f()
    streams.seed(3)
    for a, b in zip(first, f()):
        np.testing.assert_array_equal(a, b)


def test_draws_of_one_stream_differ():
    streams = stream()
    a, b = run([], [streams.uniform((50,)), streams.uniform((50,))])
    assert not np.array_equal(a, b)


def test_every_step_draws_anew():
    streams = stream()
    rows, updates = theano.scan(lambda: streams.uniform((4,)), n_steps=50)
    f = theano.function([], rows, updates=updates)
    first, second = f(), f()
    assert len(np.unique(first)) == first.size
    assert not np.intersect1d(first, second).size


def test_a_draw_from_outside_is_drawn_again_by_every_step():
    u = stream().uniform(())
    rows, updates = theano.scan(lambda x: x + u, outputs_info=T.zeros(()), n_steps=20)
    steps = np.diff(run([], rows, updates=updates))
    assert len(np.unique(steps)) == len(steps)


def test_a_draw_that_is_passed_stays_one():
    u = stream().uniform(())
    rows, updates = theano.scan(
        lambda x, u: x + u, outputs_info=T.zeros(()), non_sequences=u, n_steps=20
    )
    steps = np.diff(run([], rows, updates=updates))
    np.testing.assert_allclose(steps, steps[0])


def test_updates_of_streams():
    streams = stream()
    draw = streams.uniform((3,))
    updates = streams.updates()
    assert len(updates) == 1
    f = theano.function([], draw, updates=updates)
    assert not np.array_equal(f(), f())


def test_no_default_updates():
    f = theano.function([], stream().uniform((3,)), no_default_updates=True)
    np.testing.assert_array_equal(f(), f())


# Loops in loops: no number is drawn twice.


def inner_draws(streams, **arguments):
    """Three draws, one per step of a loop."""
    return theano.scan(lambda: streams.uniform(), n_steps=3, **arguments)


def distinct(values):
    return len(np.unique(values)) == np.size(values)


@pytest.mark.parametrize("arguments", [{}, {"checkpoint": {"every": 2}}], ids=["all", "chunks"])
def test_loops_in_a_step_draw_anew(arguments):
    streams = stream()
    rows, updates = theano.scan(lambda: inner_draws(streams, **arguments)[0], n_steps=4)
    drawn = theano.function([], rows, updates=updates)
    assert distinct(np.stack([drawn(), drawn()]))


def test_two_loops_over_one_draw():
    draw = stream().uniform()
    first = theano.scan(lambda: draw, n_steps=2)[0]
    second = theano.scan(lambda: draw + 1, n_steps=3)[0]

    def step():
        return [theano.clone(first), theano.clone(second)]

    (a, b), updates = theano.scan(step, n_steps=5)
    a, b = theano.function([], [a, b], updates=updates)()
    np.testing.assert_allclose(a, b[:, :2] - 1, rtol=1e-12)  # one draw, both times
    assert distinct(b)


def test_a_draw_beside_a_loop_over_it():
    draw = stream().uniform()
    (alone, rows), updates = theano.scan(
        lambda: [draw, theano.scan(lambda: draw, n_steps=3)[0]], n_steps=4
    )
    alone, rows = theano.function([], [alone, rows], updates=updates)()
    np.testing.assert_array_equal(alone, rows[:, 0])
    assert distinct(rows)


def test_loops_in_branches_of_a_step_draw_where_they_are_taken():
    streams = stream()
    x = T.vector("x")

    def step(choice):
        inner = inner_draws(streams)[0].sum()
        deeper = theano.ifelse(choice > 1, inner, T.constant(0.0))
        return theano.ifelse(choice > 0, deeper, T.constant(-1.0))

    rows, updates = theano.scan(step, sequences=[x])
    f = theano.function([x], rows, updates=updates)
    drawn = np.concatenate([f([2.0, 0.0, 2.0, 1.0]), f([2.0, 2.0])])
    assert distinct(drawn[[0, 2, 4, 5]]) and list(drawn[[1, 3]]) == [-1.0, 0.0]
    streams.seed(42)
    again = f([2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(again, drawn[[0, 2, 4, 5]])  # sides not taken draw nothing


def test_building_a_loop_leaves_what_it_reads_as_it_is():
    counter = theano.shared(1.0, name="s")
    counter.default_update = counter + 1
    c = T.bscalar("c")
    y = theano.ifelse(c, theano.scan(lambda: counter * 1.0, n_steps=3)[0].sum(), T.constant(0.0))
    first = [theano.scan(lambda: y, n_steps=2) for _ in range(3)]
    rows = [theano.function([c], r, updates=u) for r, u in first]
    for f in rows:
        counter.set_value(1.0)
        np.testing.assert_array_equal(f(1), [6.0, 15.0])
    counter.set_value(1.0)
    theano.function([c], y)(1)
    assert counter.get_value() == 1.0  # only the updates of the loop would change it


def test_loops_in_two_branches_update_one_after_the_other():
    counter = theano.shared(0.0, name="s")
    counter.default_update = counter + 1
    c, d = T.bscalar("c"), T.bscalar("d")
    inner = theano.scan(lambda: counter * 1.0, n_steps=3)[0].sum()
    zero = T.constant(0.0)
    step = lambda: [theano.ifelse(c, inner, zero), theano.ifelse(d, inner * 2, zero)]  # noqa: E731
    rows, updates = theano.scan(step, n_steps=2)
    f = theano.function([c, d], rows, updates=updates)
    for chosen in ((1, 1), (1, 0), (0, 1), (0, 0)):
        counter.set_value(0.0)
        left, right = f(*chosen)
        np.testing.assert_array_equal(left, np.array([3, 12]) * chosen[0])
        np.testing.assert_array_equal(right, np.array([6, 24]) * chosen[1])
        assert counter.get_value() == (6 if any(chosen) else 0)


# By name: what a step makes of loops that update a variable, each in its way; whose update holds
# under these conditions (None: the variable stays as it is).
UPDATES = {"a": lambda s: s + 1.5, "b": lambda s: s * 2, "c": lambda s: s - 3}
NESTED = {
    "two sides": (
        lambda loop, c: theano.ifelse(c[0], loop("a"), loop("b")),
        lambda c: "a" if c[0] else "b",
    ),
    "a branch in a side": (
        lambda loop, c: theano.ifelse(c[0], theano.ifelse(c[1], loop("a"), loop("b")), loop("c")),
        lambda c: ("a" if c[1] else "b") if c[0] else "c",
    ),
    "a side without a loop": (
        lambda loop, c: theano.ifelse(
            c[0], theano.ifelse(c[1], theano.ifelse(c[2], loop("a"), loop("b")), T.constant(7.0)), loop("c")
        ),
        lambda c: ("ba"[c[2]] if c[1] else None) if c[0] else "c",
    ),
    "branches in both regions": (
        lambda loop, c: theano.ifelse(
            c[0], theano.ifelse(c[1], loop("a"), T.constant(0.0)), theano.ifelse(c[2], loop("b"), loop("c"))
        ),
        lambda c: ("a" if c[1] else None) if c[0] else "cb"[c[2]],
    ),
    "two branches in one region": (
        lambda loop, c: theano.ifelse(
            c[0],
            theano.ifelse(c[1], loop("a"), T.constant(0.0)) + theano.ifelse(c[2], loop("b"), T.constant(0.0)),
            T.constant(1.0),
        ),
        lambda c: ("b" if c[2] else "a" if c[1] else None) if c[0] else None,
    ),
    "next to a loop that always runs": (
        lambda loop, c: loop("c") + theano.ifelse(c[0], theano.ifelse(c[1], loop("a"), loop("b")), T.constant(0.0)),
        lambda c: "ba"[c[1]] if c[0] else "c",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_loops_in_nested_branches_update_what_is_no_stream(name):
    made, updated = NESTED[name]
    state = theano.shared(1.0, name="s")
    state.default_update = state + 100  # which no loop makes of it

    def loop(which):
        change = UPDATES[which]
        rows, _ = theano.scan(lambda: (change(state), {state: change(state)}), n_steps=2)
        return rows[-1]

    chosen = [T.ivector(f"c{i}") for i in range(3)]
    rows, updates = theano.scan(lambda *c: made(loop, c), sequences=chosen)
    f = theano.function(chosen, rows, updates=updates, on_unused_input="ignore")
    flags = np.array(list(itertools.product([0, 1], repeat=3)) * 2, np.int32)
    f(*flags.T)
    expected = 1.0
    for row in flags:
        which = updated(row)
        expected = expected if which is None else UPDATES[which](UPDATES[which](expected))
    assert state.get_value() == expected


def test_a_loop_that_draws_keeps_a_budget():
    streams, x = stream(), T.scalar("x")
    rows, updates = theano.scan(
        lambda h: T.sin(h * x) + streams.uniform(), outputs_info=np.float64(0.5), n_steps=64,
        checkpoint={"budget": 2000},
    )
    plain = theano.function([x], T.grad(rows[-1], x), updates=updates)
    streams.seed(42)
    first = plain(0.3)
    assert np.isfinite(first) and plain(0.3) != first
    streams.seed(42)
    assert plain(0.3) == first


def test_parameters_that_are_arrays():
    streams = stream()
    draws = run([], streams.normal(avg=np.array([0.0, 100.0])))
    assert abs(draws[0]) < 10 and abs(draws[1] - 100) < 10
    draws = run([], streams.normal(size=(2,), std=np.array([0.0, 0.0])))
    np.testing.assert_array_equal(draws, [0, 0])
    draws = run([], streams.uniform(low=np.array([0.0, 5.0]), high=np.array([1.0, 6.0])))
    assert 0 <= draws[0] < 1 and 5 <= draws[1] < 6
    assert run([], streams.uniform(low=np.array([3.0, 4.0]), high=10)).shape == (2,)
    assert run([], streams.uniform(low=np.float64(0), high=np.array(1.0))).shape == ()


def test_draws_inside_and_outside_of_loops_never_repeat_between_calls():
    draw = stream().uniform()
    long, updates = theano.scan(lambda: draw, n_steps=3)
    short, others = theano.scan(lambda: draw, n_steps=2)
    f = theano.function([], [draw, long, short])  # without the updates
    g = theano.function([], [long, short], updates=updates + others)
    seen = set()
    for call in (f, f, g, g, f):
        results = call()
        np.testing.assert_array_equal(results[-1], results[-2][:2])  # they read one draw
        now = set(np.concatenate([np.ravel(x) for x in results]))
        assert len(now) == 3 and not now & seen
        seen |= now


def test_seeds_have_streams_of_their_own():
    # Of the sum seed * constant + number these two seeds had the streams of each other.
    constant = 0x9E3779B97F4A7C15
    other = (1 + pow(constant, -1, 2**64)) % 2**64
    draws = []
    for seed in (1, other):
        streams = stream(seed)
        draws += [float(run([], streams.uniform())) for _ in range(4)]
    assert len(set(draws)) == 8


def test_default_updates_of_some_variables_alone():
    counter = theano.shared(0.0, "counter")
    counter.default_update = counter + 1
    draw = stream().uniform()
    rows, _ = theano.scan(lambda: draw, n_steps=3)
    f = theano.function([], [draw, rows, counter], no_default_updates=[counter])
    seen = set()
    for _ in range(3):
        *_, now, count = f()
        assert count == 0 and not set(now) & seen
        seen |= set(now)
    with pytest.raises(TypeError, match="not a shared variable"):
        theano.function([], draw, no_default_updates=[1])
