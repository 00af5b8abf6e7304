"""Theano's scan, rule by rule; expected values by plain numpy."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import scan_module

BAD = (TypeError, ValueError)


def run(inputs, outputs, *values, **options):
    return theano.function(inputs, outputs, **options)(*values)


# Sequences and their taps.


def windows(x, taps):
    """By tap the rows that steps see."""
    low, high = min(0, *taps), max(0, *taps)
    return [x[tap - low : len(x) - (high - tap)] for tap in taps]


TAPS = [
    [0], [-1], [1], [3], [-4, 0], [-3, -1], [0, 1], [1, 0], [-2, 2], [2, -2, 0], [-3, 2, -1], [0, 0],
    (-1, 0), [5, -5],
]  # fmt: skip


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("taps", TAPS, ids=str)
def test_taps_of_sequences(taps, backwards):
    x = T.vector("x")
    rows, _ = theano.scan(
        lambda *parts: T.stack(list(parts)), dict(input=x, taps=taps), go_backwards=backwards
    )
    value = np.arange(10.0, 22.0)
    expected = np.stack(windows(value, list(taps) + [0])[:-1], axis=1)
    np.testing.assert_array_equal(run([x], rows, value), expected[::-1] if backwards else expected)


def test_an_integer_as_taps():
    x = T.vector("x")
    rows, _ = theano.scan(lambda later: later, dict(input=x, taps=2))
    np.testing.assert_array_equal(run([x], rows, np.arange(5.0)), [2, 3, 4])


@pytest.mark.parametrize("entry", [lambda x: x, lambda x: dict(input=x), lambda x: [x],
                                   lambda x: (x,), lambda x: dict(input=x, taps=None)])  # fmt: skip
def test_forms_of_sequences(entry):
    x = T.vector("x")
    rows, _ = theano.scan(lambda row: row + 1, entry(x))
    np.testing.assert_array_equal(run([x], rows, [1, 2]), [2, 3])


def test_an_array_as_sequence():
    rows, _ = theano.scan(lambda row: row * 2, np.arange(3.0))
    np.testing.assert_array_equal(run([], rows), [0, 2, 4])


@pytest.mark.parametrize("lengths", [(3, 5), (5, 3), (0, 4), (1, 1)])
def test_sequences_are_cut_to_the_shortest(lengths):
    x, y = T.vector(), T.vector()
    rows, _ = theano.scan(lambda a, b: a + b, [x, y])
    values = [np.arange(float(n)) for n in lengths]
    shortest = min(lengths)
    expected = values[0][:shortest] + values[1][:shortest]
    np.testing.assert_array_equal(run([x, y], rows, *values), expected)


def test_slices_keep_their_axes():
    x = T.tensor3()
    rows, _ = theano.scan(lambda row: row.T, x)
    value = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(run([x], rows, value), value.transpose(0, 2, 1))


# Order of arguments.


def test_sequences_states_and_the_rest_in_order():
    seen = []
    x, y, a, b, c = T.vector("x"), T.vector("y"), T.scalar("a"), T.vector("b"), T.scalar("c")

    def step(*arguments):
        seen.extend(arguments)
        return [arguments[3], arguments[4], arguments[0]]

    theano.scan(step, [dict(input=x, taps=[0, -1]), y], [a, dict(initial=b, taps=[-1, -3]), None], c)
    assert len(seen) == 7
    assert seen[6] is c
    assert [s.ndim for s in seen] == [0] * 7


def test_taps_of_outputs_come_in_the_order_given():
    b = T.vector("b")
    rows, _ = theano.scan(
        lambda far, near, middle: far * 100 + middle * 10 + near,
        outputs_info=dict(initial=b, taps=[-3, -1, -2]),
        n_steps=2,
    )
    np.testing.assert_array_equal(run([b], rows, [1, 2, 3]), [123, 200 + 30 + 123])


def test_non_sequences_are_the_objects_that_were_passed():
    w = theano.shared(2.0, "w")
    theano.scan(lambda x, given: x * given if given is w else None, T.vector(), non_sequences=w)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.asarray(2.0), np.array([2.0, 3.0])])
def test_values_as_non_sequences(value):
    x = T.vector()
    rows, _ = theano.scan(lambda row, v: row * v, x, non_sequences=value)
    found = run([x], rows, [1, 2, 3])
    np.testing.assert_array_equal(found, [row * np.asarray(value) for row in [1, 2, 3]])


# States.


OUTPUT_TAPS = [[-1], [-2], [-2, -1], [-1, -2], [-3, -1], [-5], [-4, -2, -3], (-2, -1), (-1,)]


@pytest.mark.parametrize("taps", OUTPUT_TAPS, ids=str)
@pytest.mark.parametrize("extra", [0, 2])
def test_taps_of_outputs(taps, extra):
    depth = -min(taps)
    bare = list(taps) == [-1]
    x0 = T.scalar() if bare else T.vector()
    rows, _ = theano.scan(
        lambda *before: sum((i + 2) * b for i, b in enumerate(before)) - 1,
        outputs_info=dict(initial=x0, taps=taps),
        n_steps=6,
    )
    begin = np.arange(1.0, depth + extra + 1)
    values = list(begin[:depth])
    for _ in range(6):
        values.append(sum((i + 2) * values[tap] for i, tap in enumerate(taps)) - 1)
    given = begin[0] if bare else begin
    np.testing.assert_array_equal(run([x0], rows, given), values[depth:])


@pytest.mark.parametrize(
    "info", [lambda x: x, lambda x: [x], lambda x: (x,), lambda x: dict(initial=x),
             lambda x: [dict(initial=x, taps=[-1])], lambda x: dict(initial=x, taps=(-1,))],
)  # fmt: skip
def test_forms_of_one_state(info):
    x0 = T.vector()
    rows, _ = theano.scan(lambda x: x * 2, outputs_info=info(x0), n_steps=3)
    np.testing.assert_array_equal(run([x0], rows, [1, 3]), [[2, 6], [4, 12], [8, 24]])


@pytest.mark.parametrize("initial", [np.ones(2), np.float64(1), [1.0, 2.0], T.ones((2,))])
def test_initial_values_that_are_no_inputs(initial):
    info = dict(initial=initial)
    rows, _ = theano.scan(lambda x: x + 1, outputs_info=info, n_steps=2)
    if not isinstance(initial, T.TensorVariable):
        np.testing.assert_array_equal(run([], rows)[-1], np.asarray(initial) + 2)
    else:
        np.testing.assert_array_equal(run([], rows)[-1], np.full(2, 3.0))


def test_a_shared_variable_as_initial_value():
    x0 = theano.shared(np.arange(3.0))
    rows, updates = theano.scan(lambda x: x * 2, outputs_info=x0, n_steps=2)
    np.testing.assert_array_equal(run([], rows), [[0, 2, 4], [0, 4, 8]])
    assert not updates


@pytest.mark.parametrize("info", [None, [], {}, [None], [{}], [dict(initial=None)]], ids=str)
def test_outputs_that_nothing_reads(info):
    x = T.vector()
    rows, _ = theano.scan(lambda row: row**2, x, info)
    np.testing.assert_array_equal(run([x], rows, [1, 2, 3]), [1, 4, 9])


def test_states_and_maps_side_by_side():
    x = T.vector()
    (first, total, last), _ = theano.scan(
        lambda row, before: [row + 1, before + row, before * 2],
        x,
        [None, T.zeros(()), dict(initial=None)],
    )
    found = run([x], [first, total, last], [1, 2, 3])
    np.testing.assert_array_equal(found[0], [2, 3, 4])
    np.testing.assert_array_equal(found[1], [1, 3, 6])
    np.testing.assert_array_equal(found[2], [0, 2, 6])


def test_taps_none_beside_an_initial_value_warns():
    x0 = T.scalar()
    with pytest.warns(UserWarning, match="tap"):
        rows, _ = theano.scan(lambda x: x + 1, outputs_info=dict(initial=x0, taps=None), n_steps=2)
    np.testing.assert_array_equal(run([x0], rows, 1), [2, 3])


def test_states_swap_at_once():
    (a, b), _ = theano.scan(lambda a, b: [b, a], outputs_info=[T.zeros(()), T.ones(())], n_steps=3)
    found = run([], [a, b])
    np.testing.assert_array_equal(found, [[1, 0, 1], [0, 1, 0]])


def test_a_delay_line():
    x = T.vector()
    (now, late), _ = theano.scan(lambda row, before: [row, before], x, [T.zeros(()), None])
    np.testing.assert_array_equal(run([x], late, [1, 2, 3]), [0, 1, 2])


def test_fibonacci_in_integers():
    begin = T.lvector()
    rows, _ = theano.scan(
        lambda a, b: a + b, outputs_info=dict(initial=begin, taps=[-2, -1]), n_steps=8
    )
    np.testing.assert_array_equal(run([begin], rows, [0, 1]), [1, 2, 3, 5, 8, 13, 21, 34])


# Numbers of steps.


@pytest.mark.parametrize(
    "steps", [3, np.int64(3), np.int8(3), np.asarray(3), 3.0, T.constant(3), T.constant(np.int64(3))]
)
def test_forms_of_n_steps(steps):
    rows, _ = theano.scan(lambda x: x * 2, outputs_info=T.ones(()), n_steps=steps)
    np.testing.assert_array_equal(run([], rows), [2, 4, 8])


@pytest.mark.parametrize("kind", ["bscalar", "wscalar", "iscalar", "lscalar"])
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_symbolic_n_steps(kind, steps):
    n = getattr(T, kind)("n")
    rows, _ = theano.scan(lambda x: x * 2, outputs_info=T.ones(()), n_steps=n)
    np.testing.assert_array_equal(run([n], rows, steps), 2.0 ** np.arange(1, steps + 1))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("steps", [-4, -1, 0, 1, 2, 4])
def test_n_steps_over_a_sequence(steps, backwards, symbolic):
    x, n = T.vector(), T.lscalar()
    rows, _ = theano.scan(
        lambda row, before: [row, before + row], x, [None, T.zeros(())],
        n_steps=n if symbolic else steps, go_backwards=backwards,
    )  # fmt: skip
    value = np.arange(1.0, 5.0)
    order = value[::-1] if backwards ^ (steps < 0) else value
    taken = order[: abs(steps)]
    f = theano.function([x, n], rows, on_unused_input="ignore")
    found = f(value, steps)
    np.testing.assert_array_equal(found[0], taken)
    np.testing.assert_array_equal(found[1], np.cumsum(taken))


@pytest.mark.parametrize("steps", [None, float("nan"), float("inf")])
def test_no_number_of_steps(steps):
    x = T.vector()
    rows, _ = theano.scan(lambda row: row, x, n_steps=steps)
    assert len(run([x], rows, np.ones(4))) == 4


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_shapes_of_maps_over_few_steps(steps):
    x = T.matrix()
    n = T.iscalar()
    (outer, total), _ = theano.scan(lambda r: [T.outer(r, r), r.sum()], x, n_steps=n)
    found = run([x, n], [outer, total], np.ones((4, 3)), steps)
    assert found[0].shape == (steps, 3, 3) and found[1].shape == (steps,)


@pytest.mark.parametrize("length", [2, 3])
def test_a_sequence_shorter_than_n_steps(length):
    x = T.vector("x")
    rows, _ = theano.scan(lambda row: row, x, n_steps=4, name="reader")
    with pytest.raises(ValueError):
        run([x], rows, np.ones(length))


def test_empty_sequences_leave_states_as_they_began():
    x = T.vector()
    rows, _ = theano.scan(lambda row, before: before + row, x, T.constant(7.0, dtype="float64"))
    assert run([x], rows, []).shape == (0,)
    assert run([x], rows[-1], []) == 7


# Backwards.


def test_backwards_with_one_step_takes_the_last_row():
    x = T.vector()
    rows, _ = theano.scan(lambda row: row, x, n_steps=1, go_backwards=True)
    np.testing.assert_array_equal(run([x], rows, [1, 2, 3]), [3])


def test_backwards_leaves_initial_rows_as_they_are():
    x, x0 = T.vector(), T.vector()
    rows, _ = theano.scan(
        lambda row, old, new: row + 10 * old + 100 * new,
        x, dict(initial=x0, taps=[-2, -1]), go_backwards=True,
    )  # fmt: skip
    np.testing.assert_array_equal(run([x, x0], rows, [1, 2], [3, 4]), [432, 1 + 40 + 43200])


# until.


@pytest.mark.parametrize("limit,count", [(-1, 1), (0, 1), (3, 4), (100, 6)])
def test_until(limit, count):
    x, top = T.vector(), T.scalar()
    rows, _ = theano.scan(
        lambda row, before: (before + row, scan_module.until(row >= top)), x, T.zeros(())
    )
    found = run([x, top], rows, np.arange(6.0), limit)
    np.testing.assert_array_equal(found, np.cumsum(np.arange(6.0))[:count])


def test_until_with_one_step():
    rows, _ = theano.scan(
        lambda x: (x + 1, scan_module.until(x > -1)), outputs_info=T.zeros(()), n_steps=1
    )
    np.testing.assert_array_equal(run([], rows), [1])


def test_until_over_a_map():
    x = T.vector()
    rows, _ = theano.map(lambda row: (row, scan_module.until(row > 2)), x)
    np.testing.assert_array_equal(run([x], rows, [1, 2, 3, 4]), [1, 2, 3])


def test_until_with_updates_alone():
    a = theano.shared(0)
    _, updates = theano.scan(
        lambda: ({a: a + 1}, scan_module.until(a >= 4)), n_steps=100
    )
    run([], [], updates=updates)
    assert a.get_value() == 5


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float64"])
def test_conditions_of_any_dtype(dtype):
    x = T.vector()
    rows, _ = theano.map(lambda row: (row, scan_module.until(T.cast(row > 2, dtype))), x)
    np.testing.assert_array_equal(run([x], rows, [1, 3, 4]), [1, 3])


def test_until_in_scan_utils_is_the_same():
    assert scan_module.scan_utils.until is scan_module.until


def test_a_condition_of_several_elements():
    with pytest.raises(BAD):
        theano.scan(
            lambda x: (x, scan_module.until(x > 1)), outputs_info=T.ones((3,)), n_steps=2
        )


# What a step gives.


def test_forms_of_outputs():
    x = T.vector()
    one, _ = theano.scan(lambda row: row, x)
    assert isinstance(one, T.TensorVariable)
    for form in (list, tuple):
        single, _ = theano.scan(lambda row: form([row]), x)
        assert isinstance(single, T.TensorVariable)
        pair, _ = theano.scan(lambda row: form([row, row]), x)
        assert isinstance(pair, list) and len(pair) == 2


@pytest.mark.parametrize("count", [1, 2])
def test_return_list(count):
    x = T.vector()
    listed, _ = theano.scan(lambda row: [row] * count, x, return_list=True)
    assert isinstance(listed, list) and len(listed) == count


def test_return_list_of_nothing():
    a = theano.shared(0)
    listed, _ = theano.scan(lambda: {a: a + 1}, n_steps=2, return_list=True)
    assert listed == []


@pytest.mark.parametrize(
    "made",
    [
        lambda x, a: {a: a + 1},
        lambda x, a: [(a, a + 1)],
        lambda x, a: [[a, a + 1]],
        lambda x, a: (x, {a: a + 1}),
        lambda x, a: ([x], {a: a + 1}),
        lambda x, a: ((x,), [(a, a + 1)]),
        lambda x, a: ({a: a + 1}, x),
        lambda x, a: ([(a, a + 1)], [x]),
        lambda x, a: ([], {a: a + 1}),
        lambda x, a: ([x], {a: a + 1}, scan_module.until(x > 100)),
        lambda x, a: ({a: a + 1}, [x], scan_module.until(x > 100)),
        lambda x, a: ({a: a + 1}, scan_module.until(x > 100)),
        lambda x, a: [[x], {a: a + 1}],
    ],
)
def test_forms_with_updates(made):
    a = theano.shared(0, "a")
    x = T.vector()
    outputs, updates = theano.scan(lambda row: made(row, a), x)
    assert list(updates) == [a]
    run([x], [] if outputs is None else outputs, [1, 2, 3], updates=updates,
        on_unused_input="ignore")  # fmt: skip
    assert a.get_value() == 3


@pytest.mark.parametrize(
    "made",
    [
        lambda x: 1,
        lambda x: 1.0,
        lambda x: None,
        lambda x: [x, 1],
        lambda x: "x",
        lambda x: np.ones(2),
        lambda x: {x: x},
        lambda x: {"a": x},
        lambda x: (scan_module.until(x > 1), x),
        lambda x: scan_module.until(x > 1),
        lambda x: (x, scan_module.until(x > 1), x),
        lambda x: (x, [x, [x]]),
        lambda x: object(),
    ],
)
def test_what_a_step_may_not_give(made):
    with pytest.raises(BAD):
        theano.scan(made, T.vector())


def test_what_the_step_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        theano.scan(lambda row: 1 / 0, T.vector())


# Updates.


def test_updates_are_a_dictionary():
    a, b = theano.shared(0, "a"), theano.shared(0.5, "b")
    _, updates = theano.scan(lambda: {a: a + 1, b: b * 2}, n_steps=3)
    assert isinstance(updates, dict) and len(updates) == 2 and updates
    assert a in updates and T.scalar() not in updates
    assert list(updates.keys()) == [a, b]
    assert [key for key, _ in updates.items()] == [a, b]
    c = theano.shared(1)
    updates[c] = c + 1
    run([], [], updates=updates)
    assert (a.get_value(), b.get_value(), c.get_value()) == (3, 4, 2)


def test_no_updates_are_false():
    _, updates = theano.scan(lambda x: x, T.vector())
    assert not updates and len(updates) == 0


@pytest.mark.parametrize("form", [dict, lambda u: list(u.items()), lambda u: u])
def test_forms_of_updates_of_functions(form):
    a = theano.shared(1)
    _, updates = theano.scan(lambda: {a: a * 3}, n_steps=2)
    run([], [], updates=form(updates))
    assert a.get_value() == 9


def test_an_update_that_the_state_reads():
    a = theano.shared(0)
    rows, updates = theano.scan(
        lambda x: (x + a, {a: a + 1}), outputs_info=T.constant(np.int64(0)), n_steps=4
    )
    np.testing.assert_array_equal(run([], rows, updates=updates), [0, 1, 3, 6])


def test_a_loop_in_a_loop_updates():
    a = theano.shared(0)

    def outer():
        _, updates = theano.scan(lambda: {a: a + 1}, n_steps=3)
        return updates

    _, updates = theano.scan(outer, n_steps=4)
    run([], [], updates=updates)
    assert a.get_value() == 12


def test_updates_of_two_loops_one_after_the_other():
    a = theano.shared(1)
    _, first = theano.scan(lambda: {a: a * 2}, n_steps=3)
    f = theano.function([], a, updates=first)
    assert [int(f()), int(f()), int(a.get_value())] == [1, 8, 64]


def test_a_failing_call_leaves_shared_variables():
    a = theano.shared(np.arange(3.0))
    i = T.lscalar()
    _, updates = theano.scan(lambda: {a: a + a[i]}, n_steps=2)
    f = theano.function([i], a[i], updates=updates)
    with pytest.raises(IndexError):
        f(7)
    np.testing.assert_array_equal(a.get_value(), [0, 1, 2])


# strict.


def test_strict_asks_for_shared_variables():
    a = theano.shared(2.0, "factor")
    with pytest.raises(ValueError, match="factor"):
        theano.scan(lambda row: row * a, T.vector(), strict=True)
    rows, _ = theano.scan(lambda row, a: row * a, x := T.vector(), non_sequences=a, strict=True)
    np.testing.assert_array_equal(run([x], rows, [1, 2]), [2, 4])


def test_free_variables_are_captured():
    x, w = T.vector(), T.scalar()
    rows, _ = theano.scan(lambda row: row * w**2, x)
    np.testing.assert_array_equal(run([x, w], rows, [1, 2], 3), [9, 18])


def test_missing_inputs_are_named():
    x, w = T.vector("x"), T.scalar("weight")
    rows, _ = theano.scan(lambda row: row * w, x)
    with pytest.raises(BAD, match="weight"):
        theano.function([x], rows)


# Loops in loops.


def test_scan_in_scan():
    x = T.matrix()

    def row_sums(row):
        total, _ = theano.scan(lambda e, before: before + e, row, T.zeros(()))
        return total[-1]

    rows, _ = theano.scan(row_sums, x)
    value = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(run([x], rows, value), value.sum(axis=1))


def test_a_loop_over_what_a_loop_makes():
    x = T.vector()
    first, _ = theano.scan(lambda row, before: before + row, x, T.zeros(()))
    second, _ = theano.scan(lambda row, before: before + row, first, T.zeros(()))
    expected = np.cumsum(np.cumsum(np.arange(5.0)))
    np.testing.assert_array_equal(run([x], second, np.arange(5.0)), expected)


def test_an_inner_loop_of_varying_length():
    n = T.lscalar()

    def inner(k):
        total, _ = theano.scan(lambda j, before: before + j, T.arange(k), T.constant(np.int64(0)))
        return total[-1]

    rows, _ = theano.scan(inner, T.arange(n))
    np.testing.assert_array_equal(run([n], rows, 6), [sum(range(k)) for k in range(6)])


# dtypes.


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8"])
def test_states_keep_their_dtype(dtype):
    x0 = T.TensorType(dtype, ())("x0")
    rows, _ = theano.scan(lambda x: x + 1, outputs_info=x0, n_steps=3)
    found = run([x0], rows, 2)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [3, 4, 5])


@pytest.mark.parametrize("initial", [T.constant(0), np.int64(0), T.constant(0.0), np.float32(0)])
def test_a_state_that_changes_its_dtype(initial):
    with pytest.raises(ValueError, match="f64|float64"):
        theano.scan(lambda x, s: s + x, T.dvector(), initial)


def test_a_state_that_changes_its_rank():
    with pytest.raises(BAD, match="begins with 1 axis, but a step makes it with 2"):
        theano.scan(lambda x: T.stack([x, x]), outputs_info=T.vector(), n_steps=2)


def test_a_map_whose_rows_change_their_size():
    x = T.vector()
    rows, _ = theano.scan(lambda n: T.arange(T.cast(n, "int64")), x)
    with pytest.raises(ValueError):
        run([x], rows, [1, 2, 3])


# map, reduce and folds.


def test_map_of_several_sequences():
    x, y, w = T.vector(), T.vector(), T.scalar()
    rows, _ = theano.map(lambda a, b, c: a * b + c, [x, y], w, go_backwards=True)
    found = run([x, y, w], rows, [1, 2, 3], [4, 5, 6], 10)
    np.testing.assert_array_equal(found, [28, 20, 14])


def test_reduce_of_several_outputs():
    x = T.vector()
    (total, product), _ = theano.reduce(
        lambda e, s, p: [s + e, p * e], x, [T.zeros(()), T.ones(())]
    )
    found = run([x], [total, product], [2, 3, 4])
    assert [float(v) for v in found] == [9, 24]


@pytest.mark.parametrize("view", ["reduce", "foldl", "foldr"])
def test_folds_of_nothing_are_where_they_began(view):
    x = T.vector()
    last, _ = getattr(theano, view)(lambda e, s: s + e, x, T.constant(5.0, dtype="float64"))
    assert run([x], last, []) == 5


def test_reduce_backwards():
    x = T.vector()
    last, _ = theano.reduce(lambda e, s: s * 10 + e, x, T.zeros(()), go_backwards=True)
    assert run([x], last, [1, 2, 3]) == 321


@pytest.mark.parametrize("every", [1, 3, 4, 5, 100])
@pytest.mark.parametrize("steps", [1, 4, 10, 11])
def test_checkpoints(every, steps):
    x = T.vector()
    rows, _ = theano.scan_checkpoints(
        lambda e, s: 0.5 * s + e, x, T.zeros(()), save_every_N=every, padding=bool(every % 2)
    )
    state = 0.0
    for e in np.arange(steps):
        state = 0.5 * state + e
    np.testing.assert_allclose(run([x], rows[-1], np.arange(steps)), state)


# Sizes and aliases.


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1, 4), (4, 1)])
def test_small_shapes(shape):
    x = T.matrix()
    (rows, total), _ = theano.scan(
        lambda row, before: [row + 1, before + row], x, [None, T.zeros((x.shape[1],))]
    )
    value = np.arange(float(np.prod(shape))).reshape(shape)
    found = run([x], [rows, total], value)
    np.testing.assert_array_equal(found[0], value + 1)
    np.testing.assert_array_equal(found[1], np.cumsum(value, axis=0))


def test_one_value_as_two_outputs():
    x = T.vector()
    (a, b, c), _ = theano.scan(
        lambda row, s: [s + row, row, row], x, [T.zeros(()), None, None]
    )
    found = run([x], [a, b, c], [1, 2])
    np.testing.assert_array_equal(found, [[1, 3], [1, 2], [1, 2]])


def test_a_result_belongs_to_the_caller():
    x0 = T.vector()
    rows, _ = theano.scan(lambda x: x, outputs_info=x0, n_steps=2)
    f = theano.function([x0], [rows, rows[-1]])
    value = np.ones(2)
    first, last = f(value)
    first[:] = 5
    last[:] = 6
    np.testing.assert_array_equal(value, [1, 1])
    np.testing.assert_array_equal(f(value)[0], np.ones((2, 2)))


@pytest.mark.parametrize("pick", [-1, -2, 0, 2, slice(-2, None), slice(None, 3), slice(1, None, 2),
                                  slice(None, None, -1)], ids=str)  # fmt: skip
def test_parts_of_what_a_loop_makes(pick):
    rows, _ = theano.scan(lambda x: x * 2, outputs_info=T.ones((2,)), n_steps=6)
    expected = np.stack([np.full(2, 2.0**k) for k in range(1, 7)])
    np.testing.assert_array_equal(run([], rows[pick]), expected[pick])


@pytest.mark.parametrize("name", [None, "loop"])
@pytest.mark.parametrize("profile", [False, True, "times"])
@pytest.mark.parametrize("mode", [None, "FAST_RUN", "FAST_COMPILE"])
def test_knobs_change_nothing(name, profile, mode):
    x = T.vector()
    rows, _ = theano.scan(lambda r: r * 2, x, name=name, profile=profile, mode=mode)
    np.testing.assert_array_equal(run([x], rows, [1, 2], mode=mode), [2, 4])


# Numbers that are too large.


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: theano.scan(lambda r: r, dict(input=x, taps=[2**63 - 1, -(2**63)])),
        lambda x: theano.scan(lambda r: r, dict(input=x, taps=[2**63])),
        lambda x: theano.scan(lambda s: s, outputs_info=dict(initial=x, taps=[-(2**63) - 1]), n_steps=2),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2**63),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2**64 - 3),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=np.uint64(2**64 - 3)),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2**70),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2, truncate_gradient=2**63),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2, checkpoint={"every": 2**63}),
        lambda x: theano.scan(lambda s: s, outputs_info=x, n_steps=2, checkpoint={"budget": 2**63}),
    ],
)
def test_numbers_beyond_64_bits_are_named(wrong):
    with pytest.raises(theano.Error, match=r"-?\d{15,}") as error:
        wrong(T.vector("x"))
    assert "incompatible function arguments" not in str(error.value)


@pytest.mark.parametrize("n_steps", [2**53, 2**63 - 1, -(2**63)])
def test_a_condition_ends_a_loop_of_any_number_of_steps(n_steps):
    step = lambda s: (s + 1, scan_module.until(s > 5))  # noqa: E731
    rows, _ = theano.scan(step, outputs_info=np.float64(0), n_steps=n_steps)
    np.testing.assert_array_equal(run([], rows), np.arange(1.0, 8))


def test_steps_of_an_unsigned_variable_do_not_turn_around():
    x, n = T.vector("x"), T.TensorType("uint64", ())("n")
    rows, _ = theano.scan(lambda r, s: r + s, x, np.float64(0), n_steps=n)
    f = theano.function([x, n], rows)
    np.testing.assert_array_equal(f([1, 2, 3], np.uint64(2)), [1, 3])
    with pytest.raises(theano.Error):
        f([1, 2, 3], np.uint64(2**64 - 3))


@pytest.mark.parametrize("every", [2, 3, 2**41, 2**62])
def test_chunks_are_no_longer_than_the_loop(every):
    x, n = T.vector("x"), T.lscalar("n")
    for steps in (2, n):
        rows, _ = theano.scan(
            lambda s: T.tanh(s * x), outputs_info=x, n_steps=steps, checkpoint={"every": every}
        )
        slope = T.grad(rows[-1].sum(), x)
        value = np.array([0.5, 1.0])
        given = [2] if steps is n else []
        found = run([x, n][: 1 + len(given)], slope, value, *given)
        inner = np.tanh(value**2)
        expected = (1 - np.tanh(inner * value) ** 2) * (inner + value * (1 - inner**2) * 2 * value)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_strict_loops_may_read_their_sequences():
    w = theano.shared(np.array([1.0, 2.0]), "w")
    rows, _ = theano.scan(lambda r: r * w.sum(), sequences=w, strict=True)
    np.testing.assert_array_equal(run([], rows), [3, 6])
