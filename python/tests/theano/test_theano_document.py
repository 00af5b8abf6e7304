"""Every example of Theano's document on scan, in its order, with values that it prints or that
plain numpy gives. Programs are those of the document; only their imports differ."""

import warnings

import numpy
import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def test_powers_by_accumulating():
    k = T.iscalar("k")
    A = T.vector("A")
    result, updates = theano.scan(
        fn=lambda prior_result, A: prior_result * A,
        outputs_info=T.ones_like(A),
        non_sequences=A,
        n_steps=k,
    )
    final_result = result[-1]
    power = theano.function(inputs=[A, k], outputs=final_result, updates=updates)
    np.testing.assert_array_equal(power(range(10), 2), np.arange(10.0) ** 2)
    np.testing.assert_array_equal(power(range(10), 4), np.arange(10.0) ** 4)
    assert len(updates) == 0


def test_all_powers_are_there_as_well():
    k = T.iscalar("k")
    A = T.vector("A")
    result, _ = theano.scan(
        lambda prior, A: prior * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k
    )
    found = theano.function([A, k], result)(range(5), 3)
    np.testing.assert_array_equal(found, [np.arange(5.0) ** p for p in (1, 2, 3)])


def test_polynomial():
    coefficients = theano.tensor.vector("coefficients")
    x = T.scalar("x")
    max_coefficients_supported = 10000
    components, updates = theano.scan(
        fn=lambda coefficient, power, free_variable: coefficient * (free_variable**power),
        outputs_info=None,
        sequences=[coefficients, theano.tensor.arange(max_coefficients_supported)],
        non_sequences=x,
    )
    polynomial = components.sum()
    calculate_polynomial = theano.function(inputs=[coefficients, x], outputs=polynomial)
    test_coefficients = numpy.asarray([1, 0, 2], dtype=numpy.float32)
    assert calculate_polynomial(test_coefficients, 3) == 19.0


def test_accumulating_into_a_scalar():
    up_to = T.iscalar("up_to")

    def accumulate_by_adding(arange_val, sum_to_date):
        return sum_to_date + arange_val

    seq = T.arange(up_to)
    outputs_info = T.as_tensor_variable(np.asarray(0, seq.dtype))
    scan_result, scan_updates = theano.scan(
        fn=accumulate_by_adding, outputs_info=outputs_info, sequences=seq
    )
    triangular_sequence = theano.function(inputs=[up_to], outputs=scan_result)
    some_num = 15
    expected = [n * (n + 1) // 2 for n in range(some_num)]
    np.testing.assert_array_equal(triangular_sequence(some_num), expected)


def test_the_downcast_that_the_document_warns_of_is_refused():
    seq = T.arange(T.iscalar("up_to"))
    with pytest.raises(ValueError, match="int8|i8"):
        theano.scan(lambda a, total: total + a, seq, T.as_tensor_variable(0))


def test_setting_values_at_positions():
    location = T.imatrix("location")
    values = T.vector("values")
    output_model = T.matrix("output_model")

    def set_value_at_position(a_location, a_value, output_model):
        zeros = T.zeros_like(output_model)
        zeros_subtensor = zeros[a_location[0], a_location[1]]
        return T.set_subtensor(zeros_subtensor, a_value)

    result, updates = theano.scan(
        fn=set_value_at_position,
        outputs_info=None,
        sequences=[location, values],
        non_sequences=output_model,
    )
    assign_values_at_positions = theano.function(
        inputs=[location, values, output_model], outputs=result
    )
    test_locations = numpy.asarray([[1, 1], [2, 3]], dtype=numpy.int32)
    test_values = numpy.asarray([42, 50], dtype=numpy.float32)
    test_output_model = numpy.zeros((5, 5), dtype=numpy.float32)
    found = assign_values_at_positions(test_locations, test_values, test_output_model)
    expected = np.zeros((2, 5, 5))
    expected[0, 1, 1], expected[1, 2, 3] = 42, 50
    np.testing.assert_array_equal(found, expected)


def _network():
    generator = np.random.default_rng(5)
    weights = theano.shared(generator.normal(size=(6, 4)))
    return weights, theano.shared(generator.normal(size=6)), theano.shared(np.zeros(4))


def _gibbs(explicit, strict):
    W, bvis, bhid = _network()
    trng = T.shared_randomstreams.RandomStreams(1234)

    def one_step(vsample, *parameters):
        hmean = T.nnet.sigmoid(theano.dot(vsample, W) + bhid)
        hsample = trng.binomial(size=hmean.shape, n=1, p=hmean)
        vmean = T.nnet.sigmoid(theano.dot(hsample, W.T) + bvis)
        return trng.binomial(size=vsample.shape, n=1, p=vmean, dtype=theano.config.floatX)

    sample = theano.tensor.vector()
    values, updates = theano.scan(
        one_step,
        outputs_info=sample,
        non_sequences=[W, bvis, bhid] if explicit else None,
        n_steps=10,
        strict=strict,
    )
    return sample, values, updates


@pytest.mark.parametrize("explicit", [False, True])
def test_gibbs_sampling(explicit):
    sample, values, updates = _gibbs(explicit, False)
    gibbs10 = theano.function([sample], values[-1], updates=updates)
    rows = [gibbs10(np.ones(6)) for _ in range(20)]
    assert all(row.shape == (6,) and set(row) <= {0.0, 1.0} for row in rows)
    assert len({tuple(row) for row in rows}) > 1
    sample, values, updates = _gibbs(explicit, False)
    again = theano.function([sample], values, updates=updates)
    np.testing.assert_array_equal(again(np.ones(6))[-1], rows[0])


def test_passing_shared_variables_changes_nothing():
    found = []
    for explicit in (False, True):
        sample, values, updates = _gibbs(explicit, False)
        found.append(theano.function([sample], values, updates=updates)(np.ones(6)))
    np.testing.assert_array_equal(*found)


def test_without_the_updates_random_numbers_repeat():
    sample, values, updates = _gibbs(True, False)
    gibbs10 = theano.function([sample], values)
    np.testing.assert_array_equal(gibbs10(np.ones(6)), gibbs10(np.ones(6)))


def test_updates_say_what_a_loop_makes_of_a_shared_variable():
    a = theano.shared(1)
    values, updates = theano.scan(lambda: {a: a + 1}, n_steps=10)
    assert values is None
    b = a + 1
    c = updates[a] + 1
    f = theano.function([], [b, c], updates=updates)
    assert [int(x) for x in f()] == [2, 12]
    assert a.get_value() == 11
    assert [int(x) for x in f()] == [12, 22]
    assert a.get_value() == 21


def test_without_updates_a_shared_variable_stays():
    a = theano.shared(1)
    values, updates = theano.scan(lambda: {a: a + 1}, n_steps=10)
    f = theano.function([], [a + 1, updates[a] + 1])
    for _ in range(2):
        assert [int(x) for x in f()] == [2, 12]
        assert a.get_value() == 1


def test_strict_takes_shared_variables_that_are_named():
    sample, values, updates = _gibbs(True, True)
    assert theano.function([sample], values, updates=updates)(np.ones(6)).shape == (10, 6)


def test_strict_refuses_others():
    with pytest.raises(ValueError, match="strict"):
        _gibbs(False, True)


def test_recurrent_network_with_taps():
    def one_step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):
        x_t = T.tanh(
            theano.dot(x_tm1, W)
            + theano.dot(u_t, W_in_1)
            + theano.dot(u_tm4, W_in_2)
            + theano.dot(y_tm1, W_feedback)
        )
        y_t = theano.dot(x_tm3, W_out)
        return [x_t, y_t]

    W, W_in_1, W_in_2 = T.matrix(), T.matrix(), T.matrix()
    W_feedback, W_out = T.matrix(), T.matrix()
    u, x0, y0 = T.matrix(), T.matrix(), T.vector()
    ([x_vals, y_vals], updates) = theano.scan(
        fn=one_step,
        sequences=dict(input=u, taps=[-4, -0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=[W, W_in_1, W_in_2, W_feedback, W_out],
        strict=True,
    )
    f = theano.function([u, x0, y0, W, W_in_1, W_in_2, W_feedback, W_out], [x_vals, y_vals])
    draw = np.random.default_rng(1).normal
    uv, xv, yv = draw(size=(9, 2)), draw(size=(3, 3)), draw(size=2)
    weights = [draw(size=s) for s in [(3, 3), (2, 3), (2, 3), (2, 3), (3, 2)]]
    found = f(uv, xv, yv, *weights)
    xs, ys = list(xv), [yv]
    for t in range(4, 9):
        x = np.tanh(
            xs[-1] @ weights[0] + uv[t] @ weights[1] + uv[t - 4] @ weights[2] + ys[-1] @ weights[3]
        )
        ys.append(xs[-3] @ weights[4])
        xs.append(x)
    np.testing.assert_allclose(found[0], xs[3:], rtol=1e-12)
    np.testing.assert_allclose(found[1], ys[1:], rtol=1e-12)


def test_taps_of_a_sequence_begin_where_all_exist():
    u = T.vector()
    pairs, _ = theano.scan(lambda early, now: T.stack([early, now]), dict(input=u, taps=[-4, -0]))
    found = theano.function([u], pairs)([0, 1, 2, 3, 4, 5, 6, 7, 8])
    np.testing.assert_array_equal(found, [[t - 4, t] for t in range(4, 9)])


def test_powers_of_two_until_a_limit():
    def power_of_2(previous_power, max_value):
        return previous_power * 2, theano.scan_module.until(previous_power * 2 > max_value)

    max_value = T.scalar()
    values, _ = theano.scan(
        power_of_2, outputs_info=T.constant(1.0), non_sequences=max_value, n_steps=1024
    )
    f = theano.function([max_value], values)
    np.testing.assert_array_equal(f(45), [2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    assert f(45).dtype == np.float32


def test_the_condition_comes_last():
    with pytest.raises(ValueError, match="last"):
        theano.scan(
            lambda x: (theano.scan_module.until(x > 3), x + 1), outputs_info=T.scalar(), n_steps=5
        )


def test_checkpoints_give_the_last_value():
    k, A = T.iscalar("k"), T.vector("A")
    result, _ = theano.scan_checkpoints(
        lambda prior, A: prior * A, [], T.ones_like(A), A, n_steps=k, save_every_N=4
    )
    f = theano.function([A, k], result[-1])
    for steps in (1, 4, 10):
        np.testing.assert_allclose(f(range(5), steps), np.arange(5.0) ** steps)


def test_a_sum_over_a_list():
    xs = T.vector()
    total, _ = theano.scan(lambda x, z: z + x, xs, T.zeros(()))
    assert theano.function([xs], total[-1])([1, 2, 3.5]) == 6.5


def test_map():
    xs = T.vector()
    squares, updates = theano.map(lambda x: x**2, xs)
    np.testing.assert_array_equal(theano.function([xs], squares)([1, 2, 3]), [1, 4, 9])
    assert not updates


def test_reduce():
    xs = T.vector()
    total, _ = theano.reduce(lambda x, before: before + x, xs, T.zeros(()))
    assert theano.function([xs], total)(range(5)) == 10


def test_foldl_and_foldr():
    xs = T.vector()
    left, _ = theano.foldl(lambda x, before: before * 10 + x, xs, T.zeros(()))
    right, _ = theano.foldr(lambda x, before: before * 10 + x, xs, T.zeros(()))
    found = theano.function([xs], [left, right])([1, 2, 3])
    assert [float(x) for x in found] == [123, 321]


def test_order_of_arguments():
    sequences = [T.vector() for _ in range(3)]
    output1, output2, output3 = T.vector(), T.scalar(), T.scalar()
    arguments = [T.scalar(), T.scalar()]

    def step(s1m3, s1p2, s1m1, s2, s3p3, o1m3, o1m5, o2, o3, a1, a2):
        return [o1m3 + 0 * o1m5 + s1m3, s1p2 * a1 + o2 * 0, o3 + s1m1 + s2 + s3p3 + a2]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outputs, _ = theano.scan(
            step,
            sequences=[
                dict(input=sequences[0], taps=[-3, 2, -1]),
                sequences[1],
                dict(input=sequences[2], taps=3),
            ],
            outputs_info=[
                dict(initial=output1, taps=[-3, -5]),
                dict(initial=output2, taps=None),
                output3,
            ],
            non_sequences=arguments,
        )
    assert len(caught) == 1 and "taps" in str(caught[0].message)
    f = theano.function([*sequences, output1, output2, output3, *arguments], outputs)
    one, two, three = np.arange(10.0), np.arange(20.0, 30), np.arange(40.0, 50)
    begun = np.array([5.0, 4, 3, 2, 1])
    found = f(one, two, three, begun, 0, 100, 2, 7)
    steps = 5  # of the first sequence: ten elements less three before and two after
    first, third = list(begun), [100.0]
    for t in range(steps):
        first.append(first[-3] + one[t])
        third.append(third[-1] + one[t + 2] + two[t] + three[t + 3] + 7)
    np.testing.assert_array_equal(found[0], first[5:])
    np.testing.assert_array_equal(found[1], one[5:10] * 2)
    np.testing.assert_array_equal(found[2], third[1:])


def test_variables_that_are_not_passed_are_found():
    TT = theano.tensor
    W = TT.matrix()
    W_2 = W**2

    def f(x):
        return TT.dot(x, W_2)

    xs = TT.matrix()
    rows, _ = theano.scan(f, xs)
    weights, values = np.arange(6.0).reshape(2, 3), np.ones((4, 2))
    found = theano.function([xs, W], rows)(values, weights)
    np.testing.assert_array_equal(found, values @ weights**2)


@pytest.mark.parametrize("order", ["outputs first", "updates first", "pairs"])
def test_outputs_and_updates_in_either_order(order):
    x = theano.shared(0.0)

    def step(y):
        if order == "outputs first":
            return [y + x], {x: x + 1}
        return ({x: x + 1}, [y + x]) if order == "updates first" else ([y + x], [(x, x + 1)])

    values, updates = theano.scan(step, outputs_info=T.zeros(()), n_steps=4)
    found = theano.function([], values, updates=updates)()
    np.testing.assert_array_equal(found, [0, 1, 3, 6])
    assert x.get_value() == 4


def test_outputs_updates_and_a_condition():
    x = theano.shared(0)

    def step(y):
        return [y + 1], {x: x + 1}, theano.scan_module.until(x >= 3)

    values, updates = theano.scan(step, outputs_info=T.zeros(()), n_steps=50)
    np.testing.assert_array_equal(theano.function([], values, updates=updates)(), [1, 2, 3, 4])
    assert x.get_value() == 4


def test_no_steps():
    x0 = T.vector()
    values, _ = theano.scan(lambda x: x + 1, outputs_info=x0, n_steps=0)
    assert theano.function([x0], values)(np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("backwards", [False, True])
def test_negative_steps_turn_the_direction(backwards):
    xs = T.vector()
    values, _ = theano.scan(lambda x: x, xs, n_steps=-3, go_backwards=backwards)
    found = theano.function([xs], values)(np.arange(5.0))
    np.testing.assert_array_equal(found, [0, 1, 2] if backwards else [4, 3, 2])


def test_a_sequence_that_is_too_short():
    xs = T.vector()
    values, _ = theano.scan(lambda x: x, xs, n_steps=4)
    with pytest.raises(ValueError):
        theano.function([xs], values)(np.arange(3.0))


def test_some_initial_values_alone_are_refused():
    with pytest.raises(ValueError, match="None"):
        theano.scan(lambda x: [x, x + 1], outputs_info=[T.scalar()], n_steps=3)


def test_keys_of_updates_are_shared_variables():
    _, updates = theano.scan(lambda x: x + 1, outputs_info=T.scalar(), n_steps=3)
    with pytest.raises((TypeError, ValueError)):
        updates[T.scalar("x")] = T.scalar()


def test_sums_of_updates_are_checked():
    a = theano.shared(1)
    _, first = theano.scan(lambda: {a: a + 1}, n_steps=10)
    _, second = theano.scan(lambda: {a: a + 2}, n_steps=10)
    assert len(first + first) == 1
    with pytest.raises((KeyError, ValueError)):
        first + second


@pytest.mark.parametrize("allow_gc", [None, True, False])
def test_garbage_collection_may_be_asked_for(allow_gc):
    theano.config.scan.allow_gc = False
    values, _ = theano.scan(lambda x: x * 2, outputs_info=T.ones(()), n_steps=3, allow_gc=allow_gc)
    np.testing.assert_array_equal(theano.function([], values)(), [2, 4, 8])
