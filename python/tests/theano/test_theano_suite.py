"""Cases of Theano's and PyTensor's own suites of scan that no other file here covers, with the same
names and with values by plain numpy; and small forms of failures that random programs found."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import gradient

RANDOM = np.random.default_rng(31)


def run(inputs, outputs, *values, **options):
    return theano.function(inputs, outputs, **options)(*values)


def verify(fun, *points):
    gradient.verify_grad(fun, [np.array(p, float) for p in points], abs_tol=1e-7, rel_tol=1e-6)


@pytest.mark.parametrize("taps,row", [([1], 1), ([2, 1], 2), ([-1], 0)])
def test_mintap_onestep(taps, row):
    x = T.vector()
    rows, _ = theano.scan(lambda *e: e[0], dict(input=x, taps=taps), n_steps=1)
    assert run([x], rows, [10, 11, 12, 13]) == [10 + row]


def test_generator_one_output_scalar_and_its_shape():
    state, n = T.scalar(), T.iscalar()
    rows, _ = theano.scan(lambda s: s * 2, outputs_info=state, n_steps=n)
    found, shape = run([state, n], [rows, rows.shape[0]], 3.0, 4)
    np.testing.assert_array_equal(found, 3.0 * 2 ** np.arange(1, 5))
    assert shape == 4


def test_while_infershape():
    x = T.vector()
    rows, _ = theano.scan(lambda e: (e, theano.scan_module.until(e > 2)), x)
    assert run([x], rows.shape[0], [0, 1, 3, 1, 1]) == 3


@pytest.mark.parametrize("rank", [1, 2])
def test_grad_until(rank):
    x = T.vector() if rank == 1 else T.matrix()
    rows, _ = theano.scan(lambda e: (e**2, theano.scan_module.until(e.sum() > 5)), x)
    value = RANDOM.uniform(0, 1, (6, 2)[:rank])
    value[3] = 6
    expected = 2 * value
    expected[4:] = 0
    np.testing.assert_allclose(run([x], T.grad(rows.sum(), x), value), expected)


def test_grad_until_with_recurrent_state():
    x = T.vector()
    rows, _ = theano.scan(
        lambda e, s: (s + e, theano.scan_module.until(e > 5)), x, T.zeros(())
    )
    np.testing.assert_array_equal(
        run([x], T.grad(rows.sum(), x), [1, 2, 6, 1, 1]), [3, 2, 1, 0, 0]
    )


@pytest.mark.parametrize("taps", [[0], [-2, 0]])
def test_grad_until_and_truncate(taps):
    x = T.vector()
    rows, _ = theano.scan(
        lambda *e: (sum(e[1:], e[0]) ** 2, theano.scan_module.until(e[-1] > 5)),
        dict(input=x, taps=taps), truncate_gradient=2,
    )  # fmt: skip
    value = np.array([1.0, 2, 3, 4, 6, 1])
    expected = np.zeros(6)
    for t in (3, 4):  # the positions of the last two steps
        for tap in taps:
            expected[t + tap] += 2 * sum(value[t + other] for other in taps)
    np.testing.assert_allclose(run([x], T.grad(rows.sum(), x), value), expected)


def test_grad_duplicate_outputs():
    def f(x):
        (a, b), _ = theano.scan(lambda e, s: (s * e, s * e), x, [T.ones(()), None])
        return a.sum() + (b**2).sum()

    verify(f, [1.0, 2, 0.5])


def test_grad_multiple_seqs_different_nsteps():
    verify(
        lambda a, b: theano.scan(lambda p, q, s: T.tanh(s + p * q), [a, b], T.zeros(()))[0],
        RANDOM.normal(size=5), RANDOM.normal(size=3),
    )  # fmt: skip


def test_grad_two_scans():
    def f(x, w):
        once, _ = theano.scan(lambda e, s: T.tanh(s * w + e), x, T.zeros(()))
        return theano.scan(lambda e, s: T.sin(s + w * e), once, T.ones(()))[0]

    verify(f, RANDOM.normal(size=4), 0.7)


def test_hessian_of_two_scans():
    x = T.vector()

    def cost(x):
        once, _ = theano.scan(lambda e, s: s * T.cos(e), x, T.ones(()))
        return theano.scan(lambda e, s: s + e**2, once, T.zeros(()))[0][-1]

    value = RANDOM.normal(size=3)
    found = run([x], T.hessian(cost(x), x), value)
    slopes = theano.function([x], T.grad(cost(x), x))
    near = [(slopes(value + h) - slopes(value - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(found, near, atol=1e-8)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_high_order_grad_sitsot(order):
    x = T.scalar()
    y = theano.scan(lambda s: s**2, outputs_info=x, n_steps=4)[0][-1]  # x^16
    for _ in range(order):
        y = T.grad(y, x)
    expected = np.prod(np.arange(16, 16 - order, -1)) * 1.1 ** (16 - order)
    np.testing.assert_allclose(run([x], y, 1.1), expected, rtol=1e-12)


def test_grad_multiple_outs_some_disconnected():
    x, unused = T.vector(), T.scalar("unused")
    (a, _), _ = theano.scan(lambda e, w: (e**2, e * w), x, non_sequences=unused)
    with pytest.raises(gradient.DisconnectedInputError, match="unused"):
        T.grad(a.sum(), unused)
    slopes = run([x, unused], T.grad(a.sum(), x), [1, 2], 0)
    np.testing.assert_array_equal(slopes, [2, 4])


def test_grad_through_integers():
    """Integers among the states and sequences have no gradient and do not prevent others."""
    x = T.vector()
    (rows, _), _ = theano.scan(
        lambda i, s, k: (s * x[i], k + 1), T.arange(3), [T.ones(()), T.constant(np.int64(0))]
    )
    np.testing.assert_array_equal(run([x], T.grad(rows[-1], x), [2, 3, 4]), [12, 8, 6])


def test_rop_mitmot():
    """Rop of a gradient of a loop with taps: the Hessian's product with a direction."""
    x, v = T.vector(), T.vector()
    rows, _ = theano.scan(
        lambda a, b: T.tanh(a * b + a), outputs_info=dict(initial=x, taps=[-1, -2]), n_steps=4
    )
    cost = (rows**2).sum()
    value, along = RANDOM.normal(size=2), RANDOM.normal(size=2)
    found, hessian = run([x, v], [T.Rop(T.grad(cost, x), x, v), T.hessian(cost, x)], value, along)
    np.testing.assert_allclose(found, hessian @ along, rtol=1e-10)


def test_sequence_is_scan():
    x = T.vector()
    once, _ = theano.scan(lambda e, s: s + e, x, T.zeros(()))
    again, _ = theano.scan(lambda e, s: s + e, once, T.zeros(()), go_backwards=True)
    value = np.arange(1.0, 6)
    np.testing.assert_allclose(run([x], again, value), np.cumsum(np.cumsum(value)[::-1]))


def test_memory_aliasing_updates():
    a, b = theano.shared(np.arange(3.0)), theano.shared(np.zeros(3))
    _, updates = theano.scan(lambda: {a: b + 1, b: a}, n_steps=3)
    theano.function([], [], updates=updates)()
    np.testing.assert_array_equal(a.get_value(), [2, 2, 2])
    np.testing.assert_array_equal(b.get_value(), np.arange(3.0) + 1)


def test_merge_of_loops_that_depend_on_one_another():
    x = T.vector()
    a, _ = theano.scan(lambda e, s: s + e, x, T.zeros(()))
    b, _ = theano.scan(lambda e, s: s * e, x, T.ones(()), non_sequences=[])
    c, _ = theano.scan(lambda e, s: s + e * a[-1], b, T.zeros(()))
    value = np.array([1.0, 2, 3])
    np.testing.assert_allclose(run([x], c, value), np.cumsum(np.cumprod(value) * 6))


def test_third_derivatives_of_products():
    """Nodes between two loops that are fused may be read in both orders."""
    x = T.vector()
    value, along = np.array([1.2, -0.7, 0.4, 2.0]), np.cos(np.arange(4) + 0.2)
    y = x.prod()
    for _ in range(4):
        y = (T.grad(y, x) * along).sum()
    np.testing.assert_allclose(run([x], y, value), 24 * along.prod(), rtol=1e-12)


@pytest.mark.parametrize("steps", [0, 2])
def test_gradients_of_no_steps_have_the_sizes_of_the_sequence(steps):
    x, n, s = T.matrix(), T.iscalar(), T.scalar()
    for step in (
        lambda r: T.roll(r, 1),
        lambda r: theano.scan(lambda e, h: T.tanh(e), r, s, checkpoint="sqrt")[0],
    ):
        rows, _ = theano.scan(step, x, n_steps=n)
        slopes = T.grad(T.sin(rows).sum(), x)
        curves = T.grad((slopes * T.cos(x)).sum(), x)
        for found in run(
            [x, n, s], [slopes, curves], np.ones((3, 4)), steps, 1.0, on_unused_input="ignore"
        ):
            assert found.shape == (3, 4)
            assert (found[steps:] == 0).all()
