"""States of which a step writes a window: the values of numpy's loops, gradients by differences,
and that the state is updated in place."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

RANDOM = np.random.default_rng(36)
N = 11  # more steps than are written one after the other
S = np.s_

# The elements that step k changes, with all kinds of bounds. Ends before starts make empty windows.
WINDOWS = {
    "element": lambda k: S[k, -1],
    "row": lambda k: S[k],
    "row from the end": lambda k: S[-k - 1],
    "rest of a row": lambda k: S[k, k:],
    "rest of a row after": lambda k: S[k, k + 1 :],
    "beginning of a row": lambda k: S[k, :k],
    "fixed part of a row": lambda k: S[k, 1:],
    "column": lambda k: S[:, k],
    "rest of a column": lambda k: S[k:, k],
    "column backwards": lambda k: S[::-1, k],
    "one row as a slice": lambda k: S[k : k + 1],
    "two rows": lambda k: S[k : k + 2],
    "block": lambda k: S[k : k + 2, 1:4],
    "shrinking block": lambda k: S[k:, k:],
    "fixed block": lambda k: S[2:5, ::2],
    "every third from k": lambda k: S[k::3],
    "backwards from k": lambda k: S[k::-1, 2],
    "backwards by two": lambda k: S[:, ::-2],
    "ellipsis": lambda k: S[..., k],
    "ellipsis and slice": lambda k: S[k, ..., 1:3],
    "new axis": lambda k: S[k, None, 1:],
    "new axis after": lambda k: S[1:3, k, None],
    "nothing": lambda k: S[k:k],
    "all": lambda k: S[:],
    "beyond the end": lambda k: S[k : k + 100, -2:],
}
CHANGES = {
    "set a number": (lambda m, w: 0.5, False),
    "set twice itself": (lambda m, w: m[w] * 2, False),
    "add a number": (lambda m, w: 1.5, True),
    "add itself": (lambda m, w: m[w], True),
}


def changed(change, m, w):
    """By numpy, in place."""
    value, adds = CHANGES[change]
    value = value(m, w)
    m[w] = m[w] + value if adds else value


def subtensor_changed(change, m, w):
    value, adds = CHANGES[change]
    return (T.inc_subtensor if adds else T.set_subtensor)(m[w], value(m, w))


def loop(step, steps=N):
    start = T.dmatrix("start")
    rows, _ = theano.scan(step, sequences=T.arange(steps), outputs_info=start)
    return start, rows


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_of_a_state(window, change):
    start, rows = loop(lambda k, m: subtensor_changed(change, m, WINDOWS[window](k)))
    f = theano.function([start], rows[-1])
    given = RANDOM.normal(size=(N, N))
    before = given.copy()
    expected = given.copy()
    for k in range(N):
        changed(change, expected, WINDOWS[window](k))
    for _ in range(3):
        np.testing.assert_array_equal(f(given), expected)
    np.testing.assert_array_equal(given, before)
    f(RANDOM.normal(size=(60, 60)))
    if window != "all":
        assert "updated in place" in f.explain()


@pytest.mark.parametrize("window", WINDOWS)
def test_all_rows(window):
    """Where each step's state is a row of the result."""
    start, rows = loop(lambda k, m: T.set_subtensor(m[WINDOWS[window](k)], 0.25))
    given = RANDOM.normal(size=(N, N))
    expected, now = [], given.copy()
    for k in range(N):
        now[WINDOWS[window](k)] = 0.25
        expected.append(now.copy())
    np.testing.assert_array_equal(theano.function([start], rows)(given), expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "complex128", "bool"])
def test_dtypes(dtype):
    m = T.TensorType(dtype, (False, False))("m")
    one = np.array(1, dtype)
    write = T.set_subtensor if dtype == "bool" else T.inc_subtensor
    rows, _ = theano.scan(
        lambda k, m: write(m[k:, 1], one), sequences=T.arange(N), outputs_info=m
    )
    given = RANDOM.integers(0, 2, size=(N, N)).astype(dtype)
    expected = given.copy()
    for k in range(N):
        if dtype == "bool":
            expected[k:, 1] = one
        else:
            expected[k:, 1] += one
    found = theano.function([m], rows[-1])(given)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


# Steps of several reads and writes.


def shift(k, m):
    return T.set_subtensor(m[1:], m[:-1])


def shift_by_numpy(k, m):
    m[1:] = m[:-1].copy()


def shift_back(k, m):
    return T.set_subtensor(m[:-1], m[1:])


def shift_back_by_numpy(k, m):
    m[:-1] = m[1:].copy()


def turn_over(k, m):
    return T.set_subtensor(m[:, k], m[::-1, k])


def turn_over_by_numpy(k, m):
    m[:, k] = m[::-1, k].copy()


def exchange(k, m):
    first, second = m[k], m[-k - 1]
    return T.set_subtensor(T.set_subtensor(m[k], second)[-k - 1], first)


def exchange_by_numpy(k, m):
    m[[k, -k - 1]] = m[[-k - 1, k]]


def old_and_new(k, m):
    """Reads overlapping windows before and after the change."""
    old = m[1:4].sum(axis=0)
    new = T.set_subtensor(m[2, 1:], 2 * m[1, :-1])
    return T.set_subtensor(new[:, k], new[:, 0] + old[k])


def old_and_new_by_numpy(k, m):
    old = m[1:4].sum(axis=0)
    m[2, 1:] = 2 * m[1, :-1]
    m[:, k] = m[:, 0] + old[k]


def overlapping(k, m):
    return T.inc_subtensor(m[k:, 1:], m[: N - k, :-1])


def overlapping_by_numpy(k, m):
    m[k:, 1:] += m[: N - k, :-1].copy()


def transposed(k, m):
    return T.set_subtensor(m.T[k, 2:], m[k, 2:]).T


def transposed_by_numpy(k, m):
    m.T[k, 2:] = m[k, 2:].copy()


def by_lists(k, m):
    return T.inc_subtensor(m[1:3, T.as_tensor_variable([0, 2])], T.cast(k, "float64"))


def by_lists_by_numpy(k, m):
    m[1:3, [0, 2]] += k


def eliminate(k, m):
    below = m[k + 1 :, k] / m[k, k]
    m = T.set_subtensor(m[k + 1 :, k], below)
    return T.inc_subtensor(m[k + 1 :, k + 1 :], -below.dimshuffle(0, "x") * m[k, k + 1 :])


def eliminate_by_numpy(k, m):
    m[k + 1 :, k] /= m[k, k]
    m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])


STEPS = [shift, shift_back, turn_over, exchange, old_and_new, overlapping, transposed, by_lists, eliminate]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_reads_and_writes(step):
    start, rows = loop(step)
    f = theano.function([start], rows[-1])
    given = RANDOM.normal(size=(N, N))
    expected = given.copy()
    for k in range(N):
        globals()[step.__name__ + "_by_numpy"](k, expected)
    for _ in range(3):
        np.testing.assert_allclose(f(given), expected, rtol=1e-13)
    assert "updated in place" in f.explain()


def test_what_was_there_before_stays_where_it_is_needed():
    """A second state, or a row, that is the state before."""
    m, other = T.dmatrix("m"), T.dmatrix("other")

    def step(k, m, other):
        return [T.set_subtensor(m[:, k], other[k]), m, m[1:3, k]]

    (first, second, parts), _ = theano.scan(
        step, sequences=T.arange(N), outputs_info=[m, other, None]
    )
    f = theano.function([m, other], [first[-1], second[-1], parts])
    a, b = RANDOM.normal(size=(2, N, N))
    given = a.copy(), b.copy()
    expected = []
    for k in range(N):
        expected.append(a[1:3, k].copy())
        new = a.copy()
        new[:, k] = b[k]
        a, b = new, a
    found = f(*given)
    np.testing.assert_array_equal(found[0], a)
    np.testing.assert_array_equal(found[1], b)
    np.testing.assert_array_equal(found[2], expected)


def test_a_branch_and_an_end():
    """Windows in a loop that a condition ends, and in sides of a branch."""
    m = T.dmatrix("m")

    def step(k, m):
        new = theano.ifelse.ifelse(
            T.gt(m[k, k], 0), T.set_subtensor(m[k, k:], 0.0), T.inc_subtensor(m[:, k], 1.0)
        )
        return new, theano.scan_module.until(new.sum() > 30)

    rows, _ = theano.scan(step, sequences=T.arange(N), outputs_info=m)
    given = RANDOM.normal(size=(N, N))
    expected = given.copy()
    for k in range(N):
        if expected[k, k] > 0:
            expected[k, k:] = 0
        else:
            expected[:, k] += 1
        if expected.sum() > 30:
            break
    np.testing.assert_allclose(theano.function([m], rows[-1])(given), expected)


def test_downdate_of_a_factor():
    """The rank-1 downdate of a Cholesky factor."""
    U, x = T.dmatrix("U"), T.dvector("x")

    def step(k, U, x):
        r = T.sqrt(U[k, k] ** 2 - x[k] ** 2)
        c, s = r / U[k, k], x[k] / U[k, k]
        U = T.set_subtensor(U[k, k], r)
        U = T.set_subtensor(U[k, k + 1 :], (U[k, k + 1 :] - s * x[k + 1 :]) / c)
        x = T.set_subtensor(x[k + 1 :], c * x[k + 1 :] - s * U[k, k + 1 :])
        return [U, x]

    (Us, _), _ = theano.scan(step, sequences=T.arange(x.shape[0]), outputs_info=[U, x])
    f = theano.function([U, x], Us[-1])
    for n in (1, 2, 15):
        A, v = RANDOM.normal(size=(n, n)), RANDOM.normal(size=n)
        whole = A @ A.T + n * np.eye(n)
        factor = np.linalg.cholesky(whole + np.outer(v, v)).T
        np.testing.assert_allclose(f(factor, v), np.linalg.cholesky(whole).T, atol=1e-10)
    assert f.explain().count("updated in place") >= 1


# Errors.


def test_errors():
    start, rows = loop(lambda k, m: T.set_subtensor(m[k + 1, 2:], 1.0))
    f = theano.function([start], rows[-1])
    with pytest.raises(IndexError, match=f"index {N} is outside an axis of {N} elements"):
        f(np.zeros((N, N)))
    x, y = T.dmatrix("x"), T.dvector("y")
    f = theano.function([x, y], T.set_subtensor(x[1:3, 0], y))
    np.testing.assert_array_equal(f(np.zeros((3, 1)), [5.0]), [[0], [5], [5]])
    with pytest.raises(ValueError, match="writing 'y' to a part of 'x'.*3.*2"):
        f(np.zeros((3, 1)), [5.0, 6.0, 7.0])
    with pytest.raises(ValueError, match="step"):
        T.set_subtensor(x[::0], 1.0)
    with pytest.raises((TypeError, ValueError), match="3"):
        T.set_subtensor(T.as_tensor_variable(np.zeros(4))[:2], np.zeros(3))


# Gradients.


def differences(f, arrays, eps=1e-6):
    slopes = []
    for i, array in enumerate(arrays):
        slope = np.zeros_like(array)
        for at in np.ndindex(*array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[i][at] += sign * eps
                ends.append(f(*moved))
            slope[at] = (ends[0] - ends[1]) / (2 * eps)
        slopes.append(slope)
    return slopes


FIXED = [
    "element", "row", "row from the end", "fixed part of a row", "column", "column backwards",
    "fixed block", "backwards by two", "ellipsis", "ellipsis and slice", "new axis", "new axis after",
]  # fmt: skip


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("window", FIXED)
def test_gradients(window, adds):
    m, a = T.dmatrix("m"), T.dscalar("a")

    def step(k, m, a):
        w = WINDOWS[window](k)
        write = T.inc_subtensor if adds else T.set_subtensor
        return write(m[w], a * m[w] + 0.5 * a)

    rows, _ = theano.scan(step, sequences=T.arange(9) % 5, outputs_info=m, non_sequences=a)
    weights = RANDOM.normal(size=(5, 5))
    cost = (rows[-1] * weights).sum()
    f = theano.function([m, a], cost)
    slopes = theano.function([m, a], T.grad(cost, [m, a]))
    given = RANDOM.normal(size=(5, 5)), np.array(0.7)
    for found, expected in zip(slopes(*given), differences(f, given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert "updated in place" in slopes.explain()


SIZES = {
    "rest of a row": lambda k: S[k, k:],
    "rest of a column": lambda k: S[k:, k],
    "one row as a slice": lambda k: S[k : k + 1],
    "shrinking block": lambda k: S[k:, k:],
    "every third": lambda k: S[k::3, 1],
}


@pytest.mark.parametrize("window", SIZES)
def test_gradients_of_windows_of_changing_sizes(window):
    m, a = T.dmatrix("m"), T.dscalar("a")

    def step(k, m, a):
        w = SIZES[window](k)
        return T.set_subtensor(m[w], a * m[w])

    rows, _ = theano.scan(step, sequences=T.arange(9) % 5, outputs_info=m, non_sequences=a)
    cost = (rows[-1] ** 2).sum()
    f = theano.function([m, a], cost)
    slopes = theano.function([m, a], T.grad(cost, [m, a]))
    given = RANDOM.normal(size=(5, 5)), np.array(0.7)
    for found, expected in zip(slopes(*given), differences(f, given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_gradients_outside_of_loops():
    x, y = T.dmatrix("x"), T.dvector("y")
    i = T.lscalar("i")
    written = T.set_subtensor(x[i, 1:3], y)
    added = T.inc_subtensor(x[::2, i], y[0])
    cost = (written**2).sum() + (added**3).sum() + (x[i, :i] * y[0]).sum() + x[:, i, None].sum()
    f = theano.function([x, y, i], cost)
    slopes = theano.function([x, y, i], T.grad(cost, [x, y]))
    given = RANDOM.normal(size=(4, 4)), RANDOM.normal(size=2)
    for at in (0, 2, -1):
        expected = differences(lambda x, y, at=at: f(x, y, at), given)
        for found, slope in zip(slopes(*given, at), expected, strict=True):
            np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)


def test_second_derivatives():
    x = T.dvector("x")
    y = T.set_subtensor(x[1:3], x[:2] * x[2:4])
    hessian = theano.function([x], T.hessian((y**2).sum(), x))
    slope = theano.function([x], T.grad((y**2).sum(), x))
    given = RANDOM.normal(size=5)
    expected = [
        (slope(given + 1e-6 * row) - slope(given - 1e-6 * row)) / 2e-6 for row in np.eye(5)
    ]
    np.testing.assert_allclose(hessian(given), expected, rtol=1e-5, atol=1e-7)


# Other formats.


@pytest.mark.parametrize("format", ["onnx", "openvino"])
@pytest.mark.parametrize("window", ["rest of a row", "column", "block", "fixed block", "new axis"])
def test_written_to_files(window, format, tmp_path):
    start, rows = loop(lambda k, m: T.inc_subtensor(m[WINDOWS[window](k)], 2.0))
    f = theano.function([start], rows[-1])
    path = str(tmp_path / ("f.onnx" if format == "onnx" else "f.xml"))
    (f.to_onnx if format == "onnx" else f.to_openvino)(path)
    given = RANDOM.normal(size=(N, N))
    session = theano.InferenceSession(path)
    found = session.run(None, {session.get_inputs()[0].name: given})[0]
    np.testing.assert_array_equal(found, f(given))


@pytest.mark.parametrize("step", [-1, -2, 2])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_small_states_are_read_backwards(size: int, step: int) -> None:
    """States that passes take apart into rows."""
    whole, count = T.dmatrix("whole"), T.lscalar("count")
    (states, rows), _ = theano.scan(
        lambda k, v: [T.set_subtensor(v[::step], v[::step][::-1] + k), v[0]],
        sequences=T.arange(count), outputs_info=[whole, None],
    )  # fmt: skip
    start = np.random.default_rng(size).standard_normal((size, 3))
    found = theano.function([whole, count], [states, rows])(start, 4)
    state = start
    for k in range(4):
        np.testing.assert_array_equal(found[1][k], state[0])
        state = state.copy()
        state[::step] = state[::step][::-1].copy() + k
        np.testing.assert_array_equal(found[0][k], state)


@pytest.mark.parametrize("start", [-9, -5, -4, -3, -1, 0, 2, 7])
@pytest.mark.parametrize("computed", [False, True])
def test_slices_that_go_back_from_anywhere(start: int, computed: bool) -> None:
    x, at = T.dvector("x"), T.lscalar("at")
    begin = at if computed else start
    wanted = np.arange(3.0)
    read = theano.function([x, at], x[begin::-1], on_unused_input="ignore")
    np.testing.assert_array_equal(read(wanted, start), wanted[start::-1])
    write = theano.function([x, at], T.set_subtensor(x[begin::-2], 9.0), on_unused_input="ignore")
    written = wanted.copy()
    written[start::-2] = 9
    np.testing.assert_array_equal(write(wanted, start), written)
