"""Gradients in Python: forms of arguments, loops, what is disconnected, derivatives of any order."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import gradient
from scanloom.gradient import DisconnectedInputError

BAD = (TypeError, ValueError)
RANDOM = np.random.default_rng(11)


def run(inputs, outputs, *values, **options):
    return theano.function(inputs, outputs, **options)(*values)


def test_one_variable_and_lists():
    x, y = T.vector("x"), T.vector("y")
    cost = (x**2 * y).sum()
    one = T.grad(cost, x)
    assert isinstance(one, T.TensorVariable)
    listed = theano.grad(cost, [x, y])
    assert isinstance(listed, list)
    assert isinstance(T.grad(cost, (x, y)), tuple)
    found = run([x, y], [one, *listed], [1, 2], [3, 4])
    np.testing.assert_array_equal(found, [[6, 16], [6, 16], [1, 4]])
    assert T.grad is theano.gradient.grad is gradient.grad


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes(dtype):
    x = T.TensorType(dtype, (False,))()
    found = run([x], T.grad(T.exp(x).sum(), x), np.ones(2, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.exp(np.ones(2)), rtol=1e-6)


def test_gradient_of_the_powers_of_the_document():
    k, A = T.iscalar(), T.vector()
    result, _ = theano.scan(
        lambda prior, A: prior * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k
    )
    slopes = T.grad(result[-1].sum(), A)
    values = np.array([1.0, 2.0, -1.5])
    np.testing.assert_allclose(run([A, k], slopes, values, 4), 4 * values**3)


def test_gradient_of_the_network_of_the_document():
    shapes = [(9, 2), (3, 3), (2,), (3, 3), (2, 3), (2, 3), (2, 3), (3, 2)]
    points = [0.5 * RANDOM.normal(size=shape) for shape in shapes]

    def network(u, x0, y0, *weights):
        def step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):
            x_t = T.tanh(
                T.dot(x_tm1, W) + T.dot(u_t, W_in_1) + T.dot(u_tm4, W_in_2)
                + T.dot(y_tm1, W_feedback)
            )  # fmt: skip
            return [x_t, T.dot(x_tm3, W_out)]

        (x_vals, y_vals), _ = theano.scan(
            step,
            dict(input=u, taps=[-4, 0]),
            [dict(initial=x0, taps=[-3, -1]), y0],
            list(weights),
            strict=True,
        )
        return T.concatenate([x_vals, y_vals], axis=1)

    gradient.verify_grad(network, points, abs_tol=1e-7, rel_tol=1e-6)


LOOPS = {
    "until": lambda x: theano.scan(
        lambda e, s: (s * e, theano.scan_module.until(s > 2)), x, T.ones(())
    )[0],
    "backwards": lambda x: theano.scan(
        lambda e, s: T.sin(s) + e, x, T.zeros(()), go_backwards=True
    )[0],
    "nested": lambda x: theano.scan(
        lambda e: theano.scan(lambda f, s: s * T.cos(f) + e, x, T.ones(()))[0][-1], x
    )[0],
    "taps": lambda x: theano.scan(
        lambda a, b: T.tanh(a * b), outputs_info=dict(initial=x[:3], taps=[-3, -1]), n_steps=5
    )[0],
    "checkpoints": lambda x: theano.scan_checkpoints(
        lambda e, s: T.tanh(s + e), x, T.zeros(()), save_every_N=2
    )[0][-1],
    "map": lambda x: theano.map(lambda e: e**3, x)[0],
    "foldr": lambda x: theano.foldr(lambda e, s: s * e, x, T.ones(()))[0],
    "indices": lambda x: T.set_subtensor(x[1], x[0] * x[2])[::-1] * x[T.constant([0, 0, 1, 2, 3])],
    "softmax": lambda x: T.nnet.softmax(x)[0] * x,
    "sorting out": lambda x: T.switch(T.gt(x, 0), x**2, T.exp(x)),
}


@pytest.mark.parametrize("fun", LOOPS.values(), ids=LOOPS.keys())
def test_gradients_against_differences(fun):
    gradient.verify_grad(fun, [np.array([0.9, 1.3, -0.4, 0.7, 1.1])], abs_tol=1e-7, rel_tol=1e-6)


@pytest.mark.parametrize(
    "checkpoint", [None, "all", "sqrt", {"every": 1}, {"every": 3}, {"every": 100}, {"budget": 2000}],
    ids=str,
)  # fmt: skip
def test_checkpoints(checkpoint):
    w = theano.shared(0.7)
    rows, _ = theano.scan(
        lambda s: T.tanh(s * w) + 0.1, outputs_info=T.constant(np.ones(3)), n_steps=50,
        checkpoint=checkpoint,
    )  # fmt: skip
    plain, _ = theano.scan(
        lambda s: T.tanh(s * w) + 0.1, outputs_info=T.constant(np.ones(3)), n_steps=50
    )
    found, expected = run([], [T.grad(x[-1].sum(), w) for x in (rows, plain)])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "checkpoint", ["some", {"every": 0}, {"every": 2.5}, {"budget": -1}, {"each": 2}, 5, {}], ids=str
)
def test_checkpoints_that_are_refused(checkpoint):
    with pytest.raises(BAD):
        theano.scan(lambda x: x, T.vector(), checkpoint=checkpoint)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_higher_orders(order):
    x = T.scalar()
    y, _ = theano.scan(lambda s: s * x, outputs_info=T.ones(()), n_steps=6)
    slope = y[-1]
    for _ in range(order):
        slope = T.grad(slope, x)
    expected = np.prod(np.arange(6, 6 - order, -1)) * 1.3 ** (6 - order)
    np.testing.assert_allclose(run([x], slope, 1.3), expected, rtol=1e-10)


def test_loops_back_over_any_number_of_steps_are_compiled():
    x, n = T.scalar("x"), T.lscalar("n")
    rows, _ = theano.scan(lambda s: T.tanh(s * x), outputs_info=T.ones(()), n_steps=n)
    f = theano.function([x, n], T.grad(rows.sum(), x))
    values, slopes = [1.0], [0.0]
    for _ in range(1000):
        values.append(np.tanh(values[-1] * 0.9))
        slopes.append((1 - values[-1] ** 2) * (slopes[-1] * 0.9 + values[-2]))
    np.testing.assert_allclose(f(0.9, 1000), sum(slopes), rtol=1e-12)
    f(0.9, 1_000_000)  # which pays for the compiler
    np.testing.assert_allclose(f(0.9, 1000), sum(slopes), rtol=1e-12)
    assert "depends on data" not in f.explain()
    assert f.explain().count("strategy  compiled as a whole loop: ") == 2


def test_truncated_gradients():
    x = T.vector()
    rows, _ = theano.scan(lambda e, s: s + e, x, T.zeros(()), truncate_gradient=2)
    slopes = run([x], T.grad(rows[-1], x), np.ones(5))
    np.testing.assert_array_equal(slopes, [0, 0, 0, 1, 1])


def test_jacobian():
    x, y = T.vector("x"), T.vector("y")
    a, b = T.jacobian(T.sin(x) * y.sum(), [x, y])
    xv, yv = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0])
    found = run([x, y], [a, b], xv, yv)
    np.testing.assert_allclose(found[0], np.diag(np.cos(xv) * 3))
    np.testing.assert_allclose(found[1], np.outer(np.sin(xv), np.ones(2)))
    np.testing.assert_allclose(run([x], T.jacobian((x**2).sum(), x), xv), 2 * xv)
    with pytest.raises(BAD):
        T.jacobian(T.outer(x, x), x)


def test_hessian():
    x = T.vector()
    value = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(run([x], T.hessian((x**3).sum(), x), value), np.diag(6 * value))
    cost = theano.scan(lambda e, s: s * e, x, T.ones(()))[0][-1]
    found = run([x], gradient.hessian(cost, x), value)
    np.testing.assert_allclose(found, [[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    with pytest.raises(BAD):
        T.hessian(x, x)


def test_rop_and_lop():
    W, x, V = T.matrix(), T.vector(), T.matrix()
    values = [RANDOM.normal(size=s) for s in [(3, 2), (3,), (3, 2)]]
    found = run([W, x, V], T.Rop(T.dot(x, W), W, V), *values, on_unused_input="ignore")
    np.testing.assert_allclose(found, values[1] @ values[2])
    v = T.vector()
    f = theano.function([x, W, v], T.Lop(T.dot(x, W), x, v), on_unused_input="ignore")
    np.testing.assert_allclose(f(values[1], values[0], [1, 2]), values[0] @ [1, 2])
    rows, _ = theano.scan(lambda e, s: T.tanh(s * e), x, T.ones(()))
    pushed = run([x, v], T.Rop(rows, x, v), values[1], values[1] * 0 + 1)
    jacobian = run([x], T.jacobian(rows, x), values[1])
    np.testing.assert_allclose(pushed, jacobian.sum(axis=1))
    assert isinstance(T.Rop([x * 2], [x], [v]), list)
    with pytest.raises(BAD):
        T.Rop(x * 2, [x, W], [v])


def test_disconnected_inputs():
    x, y = T.vector("x"), T.vector("lonely")
    cost = (x**2).sum()
    with pytest.raises(DisconnectedInputError, match="lonely"):
        T.grad(cost, [x, y])
    assert issubclass(DisconnectedInputError, ValueError)
    with pytest.warns(UserWarning, match="lonely"):
        T.grad(cost, y, disconnected_inputs="warn")
    zero = T.grad(cost, y, disconnected_inputs="ignore")
    np.testing.assert_array_equal(run([y], zero, [1, 2]), [0, 0])
    assert T.grad(cost, y, disconnected_inputs="ignore", return_disconnected="None") is None
    for call in (T.jacobian, T.hessian):
        with pytest.raises(DisconnectedInputError):
            call(cost, y)


def test_constants():
    x, y = T.scalar("x"), T.scalar("y")
    middle = x * y
    cost = middle * x
    assert run([x, y], T.grad(cost, x), 2, 3) == 12
    assert run([x, y], T.grad(cost, x, consider_constant=[middle]), 2, 3) == 6
    cut = gradient.disconnected_grad(middle) * x
    assert run([x, y], T.grad(cut, x), 2, 3) == 6
    with pytest.raises(DisconnectedInputError):
        T.grad(cut, y)
    zero = T.grad(gradient.zero_grad(middle) * x, y)
    assert run([x, y], zero, 2, 3, on_unused_input="ignore") == 0


def test_constants_that_what_is_asked_for_depends_on():
    x = T.vector("x")
    y = T.tanh(x)
    value = np.array([0.5, 1.0])
    found = run([x], gradient.jacobian(y**2, y, consider_constant=[x]), value)
    np.testing.assert_allclose(found, np.diag(2 * np.tanh(value)))
    found = run([x], gradient.hessian((y**3).sum(), y, consider_constant=[x]), value)
    np.testing.assert_allclose(found, np.diag(6 * np.tanh(value)))
    # Through a constant nothing flows, in the second derivative either.
    cost = (y * x**2).sum()
    found = run([x], gradient.hessian(cost, x, consider_constant=[y]), value)
    np.testing.assert_allclose(found, np.diag(2 * np.tanh(value)))
    found = run([x], gradient.jacobian(y * x, x, consider_constant=[y]), value)
    np.testing.assert_allclose(found, np.diag(np.tanh(value)))


def test_null_gradients_are_those_of_their_variables():
    x, y = T.vector("x"), T.vector("y")
    cost = (x**2).sum() + gradient.undefined_grad(y).sum()
    found = gradient.grad(cost, [x, y], null_gradients="return")
    assert isinstance(found, list) and found[1] is None
    np.testing.assert_array_equal(run([x], found[0], [1, 2]), [2, 4])
    found = gradient.grad(cost, (y, x), null_gradients="return")
    assert isinstance(found, tuple) and found[0] is None
    assert gradient.grad(cost, (y,), null_gradients="return") == (None,)
    assert gradient.grad(cost, y, null_gradients="return") is None
    with pytest.raises(gradient.NullTypeGradError):
        gradient.grad(cost, [x, y])


def test_known_gradients():
    x, y = T.vector(), T.vector()
    middle = x**2
    slopes = T.grad(None, x, known_grads={middle: y})
    np.testing.assert_array_equal(run([x, y], slopes, [1, 2], [3, 4]), [6, 16])
    both = T.grad(middle.sum(), x, known_grads={middle: y})
    np.testing.assert_array_equal(run([x, y], both, [1, 2], [3, 4]), [6, 16])


def test_clipped_gradients():
    x = T.vector()
    slopes = T.grad((gradient.grad_clip(x, -1, 1) ** 2).sum(), x)
    np.testing.assert_array_equal(run([x], slopes, [-3, 0.25, 5]), [-1, 0.5, 1])
    rows, _ = theano.scan(lambda e, s: s + gradient.grad_clip(e * 3, -0.5, 0.5), x, T.zeros(()))
    np.testing.assert_array_equal(run([x], T.grad(rows[-1], x), [1, 2]), [1.5, 1.5])


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: T.grad(x, x), lambda x: T.grad(1.0, x), lambda x: T.grad(x.sum(), 1),
        lambda x: T.grad(T.cast(x.sum(), "int64"), x), lambda x: T.grad(None, x),
        lambda x: T.grad(x.sum(), x, disconnected_inputs="shout"),
        lambda x: T.grad(x.sum(), x, return_disconnected="nothing"),
        lambda x: T.grad(x.sum(), x, null_gradients="shout"),
        lambda x: T.grad(x.sum(), x, known_grads={x: T.matrix()}),
        lambda x: T.grad(x.sum(), T.lvector()), lambda x: gradient.grad_clip(x, 1, -1),
        lambda x: T.hessian(x.sum(), T.matrix()), lambda x: T.Lop(x, x, T.matrix()),
        lambda x: gradient.verify_grad(lambda y: 1, [np.ones(2)]),
        lambda x: gradient.verify_grad(lambda y: y, [np.arange(2)]),
    ],
)  # fmt: skip
def test_misuses(misuse):
    with pytest.raises(BAD):
        misuse(T.vector("x"))


def test_verify_grad_finds_mistakes():
    with pytest.raises(gradient.GradientError, match="argument 0"):
        gradient.verify_grad(
            lambda x: x * gradient.disconnected_grad(x), [np.array([1.0, 2.0])]
        )


def test_gradients_see_the_draws_of_the_loop():
    x = T.scalar()
    streams = T.shared_randomstreams.RandomStreams(3)
    rows, updates = theano.scan(
        lambda s: s * x * streams.uniform(()), outputs_info=T.ones(()), n_steps=3
    )
    f = theano.function([x], [rows[-1], T.grad(rows[-1], x)], updates=updates)
    for _ in range(3):
        value, slope = f(2.0)
        np.testing.assert_allclose(slope, 3 * value / 2.0)


def test_training_with_a_shared_weight():
    w = theano.shared(np.zeros(2), "w")
    X, y = T.matrix(), T.vector()
    total, _ = theano.scan(lambda row, t: (T.dot(row, w) - t) ** 2, [X, y])
    loss = total.mean()
    train = theano.function([X, y], loss, updates=[(w, w - 0.1 * T.grad(loss, w))])
    data = RANDOM.normal(size=(50, 2))
    target = data @ [2.0, -1.0]
    losses = [float(train(data, target)) for _ in range(200)]
    assert losses[-1] < 1e-6 * losses[0]
    np.testing.assert_allclose(w.get_value(), [2, -1], atol=1e-3)


def test_ties_give_the_first_all_of_it():
    x, y = T.vector(), T.vector()
    for function in (T.maximum, T.minimum):
        slopes = T.grad(function(x, y).sum(), [x, y])
        np.testing.assert_array_equal(run([x, y], slopes, [1, 2], [1, 2]), [[1, 1], [0, 0]])
        assert run([x], T.grad(function(x, x).sum(), x), [3]) == 1


# What only a side of a branch in a step reads.


def picked(x):
    return x[0]


def solved(x):
    return T.slinalg.solve(T.stack([T.stack([x[0], 0 * x[1]]), T.stack([x[1], x[0]])]), x)[1]


def counted(x):
    return theano.scan(lambda s: s + x[1], outputs_info=x[0], n_steps=2)[0][-1]


def sought(x):
    stop = theano.scan_module.until
    return theano.scan(lambda s: (s + x[1], stop(s > 1)), outputs_info=x[0], n_steps=9)[0][-1]


@pytest.mark.parametrize("passed", [False, True])
@pytest.mark.parametrize("choose", [T.switch, theano.ifelse.ifelse])
@pytest.mark.parametrize("value", [picked, solved, counted, sought])
def test_values_that_a_side_of_a_step_reads(value, choose, passed):
    x, c = T.vector("x"), T.bscalar("c")
    w = value(x)

    def step(s, *given):
        factor = given[0] if passed else w
        return choose(c, s * factor, s)

    rows, _ = theano.scan(step, outputs_info=T.sum(x) * 0 + 1, non_sequences=[w] * passed, n_steps=3)
    y = rows[-1]
    at = [np.array([0.7, 0.6]), 1]
    known = theano.function([x], w)(at[0])
    run = lambda outputs, **options: theano.function([x, c], outputs, **options)(*at)  # noqa: E731
    np.testing.assert_allclose(run(y), known**3, rtol=1e-14)
    np.testing.assert_allclose(run(T.grad(y, w)), 3 * known**2, rtol=1e-14)
    constant = T.grad(y + x.sum(), x, consider_constant=[w])
    np.testing.assert_allclose(run(constant, on_unused_input="ignore"), [1, 1])
    ten = T.constant(np.float64(10))
    np.testing.assert_allclose(run(theano.clone(y, {w: ten})), 1000)
    np.testing.assert_allclose(run(y, givens={w: ten}), 1000)
    slopes = theano.function([x], T.grad(w, x))(at[0])
    np.testing.assert_allclose(run(T.grad(y, x)), 3 * known**2 * slopes, rtol=1e-12)
    at[1] = 0
    np.testing.assert_allclose(run(T.grad(y, x)), 0)


def test_a_side_that_is_not_taken_does_not_fail():
    x, i = T.vector("x"), T.lscalar("i")
    w = x[i]
    rows, _ = theano.scan(
        lambda s: theano.ifelse(i < x.shape[0], s * w, s), outputs_info=T.sum(x) * 0 + 1, n_steps=3
    )
    f = theano.function([x, i], rows[-1])
    assert f([2.0, 3.0, 4.0], 1) == 27.0 and f([2.0, 3.0, 4.0], 7) == 1.0
    slope = theano.function([x, i], T.grad(rows[-1], x))([2.0, 3.0, 4.0], 1)
    np.testing.assert_array_equal(slope, [0, 27, 0])


@pytest.mark.parametrize(
    "step",
    [T.floor, T.ceil, T.round, T.sgn, lambda x: x > 0.5, lambda x: T.cast(x, "int32") * 1.5,
     lambda x: T.switch(x > 0.5, 2.0, 3.0), lambda x: x // 0.3,
     lambda x: theano.scan(lambda a: T.floor(a), x)[0]],
)  # fmt: skip
def test_step_functions_have_a_slope_of_zero(step):
    x, y = T.vector("x"), T.vector("y")
    cost = (step(x) * y).sum()
    of_x, of_y = theano.function([x, y], T.grad(cost, [x, y]), on_unused_input="ignore")(
        [0.2, 0.7], [1.0, 2.0]
    )
    np.testing.assert_array_equal(of_x, 0)
    expected = theano.function([x], T.cast(step(x), "float64"))([0.2, 0.7])
    np.testing.assert_array_equal(of_y, expected)


@pytest.mark.parametrize(
    "other", [lambda x: x.shape[0], lambda x: T.arange(x.shape[0])[0], T.zeros_like]
)
def test_what_only_counts_elements_is_disconnected(other):
    x, y = T.vector("x"), T.scalar("y")
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad((other(x) * y).sum(), x)


# What only one side of a branch in a step reads: by name of the variable and of its index.
LAZY = {
    "an element": lambda x, i: x[0][i],
    "a function of an element": lambda x, i: T.sin(x[0][i]) * 2,
    "a row": lambda x, i: x[i],
    "a function of a row": lambda x, i: T.exp(x[i]),
    "rows": lambda x, i: x[T.stack([i, i - 1])].sum(axis=0),
}
CHOSEN = {
    "rows": lambda c, y, w: theano.ifelse(c, y * w, w),
    "states": lambda c, h, y, w: theano.ifelse(c, T.sin(h * y) * w, h * w),
    "states of an inner loop": lambda c, h, y, w: theano.ifelse(
        c, theano.scan(lambda s: s * y * w, outputs_info=h, n_steps=2)[0][-1], h * w
    ),
}


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("read", LAZY)
def test_a_side_that_is_not_taken_may_read_outside(read, chosen):
    x, w, c, i = T.matrix("x"), T.vector("w"), T.ivector("c"), T.lscalar("i")
    y, initial = LAZY[read](x, i), [] if chosen == "rows" else [T.constant(np.ones(3))]

    step = lambda *args: CHOSEN[chosen](*args, y, w)  # noqa: E731
    rows, _ = theano.scan(step, sequences=[c], outputs_info=initial or None)
    cost = (rows[-1] if initial else rows).sum()
    slopes = theano.grad(cost, [x, w])
    again = theano.grad((slopes[1] ** 2).sum(), w)
    f = theano.function([x, w, c, i], [cost, *slopes, again], on_unused_input="ignore")
    at, weights = np.linspace(0.2, 0.9, 9).reshape(3, 3), np.array([0.5, -1.5, 2.0])
    for flags in ([0, 0, 0], []):
        _, of_x, of_w, _ = f(at, weights, np.array(flags, np.int32), 7)
        np.testing.assert_array_equal(of_x, np.zeros((3, 3)))
        steps = len(flags)
        powers = weights ** (steps - 1) if steps else np.zeros(3)
        expected = steps * (powers if initial else np.ones(3))
        np.testing.assert_allclose(of_w, expected, rtol=1e-14)
    # Where it is taken, the gradient is that of the same at an index that is there.
    flags, small = np.array([1, 0, 1], np.int32), 1e-6
    _, of_x, of_w, _ = f(at, weights, flags, 2)
    for values, slope in ((at, of_x), (weights, of_w)):
        for place in np.ndindex(values.shape):
            was = values[place]
            costs = []
            for moved in (was + small, was - small):
                values[place] = moved
                costs.append(f(at, weights, flags, 2)[0])
            values[place] = was
            assert slope[place] == pytest.approx((costs[0] - costs[1]) / 2 / small, abs=1e-6)
    with pytest.raises(IndexError):
        f(at, weights, flags, 7)
