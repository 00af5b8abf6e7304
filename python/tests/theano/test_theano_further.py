"""Further names of Theano: costs of classes, normalisation, pools, norms, laws of random draws, Print;
and what those say that are not here."""

import importlib
import pickle
import warnings

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import compile as compile_module
from scanloom import gradient, printing, sandbox, scan_module
from scanloom.sandbox.rng_mrg import MRG_RandomStreams
from scanloom.tensor import nlinalg, nnet, slinalg
from scanloom.tensor.shared_randomstreams import RandomStreams
from scanloom.tensor.signal import downsample, pool

DRAWN = np.random.default_rng(7)
LOGITS, CLASSES = DRAWN.normal(size=(5, 3)), np.array([0, 2, 1, 1, 0])
IMAGES = DRAWN.normal(size=(2, 3, 5, 7))


def applied(function, *arrays):
    inputs = [T.TensorType(a.dtype, [False] * a.ndim)("x") for a in map(np.asarray, arrays)]
    return theano.function(inputs, function(*inputs))(*arrays)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_costs_of_classes():
    bias = np.array([0.1, -0.2, 0.3])
    p = softmax(LOGITS + bias)
    cost = -np.log(p[np.arange(5), CLASSES])
    found = applied(lambda x, b, y: list(nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)),
                    LOGITS, bias, CLASSES)  # fmt: skip
    for got, expected in zip(found, (cost, p, p.argmax(axis=1))):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    found = applied(lambda x, y: nnet.crossentropy_softmax_1hot(x, y)[0], 1e3 * LOGITS, CLASSES)
    wide = 1e3 * LOGITS
    top = wide.max(axis=1)
    sums = top + np.log(np.exp(wide - top[:, None]).sum(axis=1))
    np.testing.assert_allclose(found, sums - wide[np.arange(5), CLASSES], rtol=1e-13)
    np.testing.assert_allclose(applied(nnet.softmax_with_bias, LOGITS, bias), p, rtol=1e-13)
    targets = DRAWN.random((5, 3))
    s = 1 / (1 + np.exp(-LOGITS))
    expected = -(targets * np.log(s) + (1 - targets) * np.log(1 - s))
    np.testing.assert_allclose(
        applied(nnet.sigmoid_binary_crossentropy, LOGITS, targets), expected, rtol=1e-12
    )
    found = applied(lambda x: nnet.prepend_scalar_to_each_row(7, x), LOGITS)
    np.testing.assert_array_equal(found, np.hstack([np.full((5, 1), 7.0), LOGITS]))
    gradient.verify_grad(lambda x: nnet.crossentropy_softmax_1hot(x, CLASSES)[0], [LOGITS])
    with pytest.raises(theano.InvalidArgument, match="a matrix and a vector"):
        nnet.crossentropy_categorical_1hot(T.matrix(), T.imatrix())


def test_confusion_matrix():
    counts, classes = applied(lambda a, b: nnet.confusion_matrix(a, b),
                              np.array([4, 2, 4, 9, 2]), np.array([4, 4, 4, 2, 2]))  # fmt: skip
    np.testing.assert_array_equal(classes, [2, 4, 9])
    np.testing.assert_array_equal(counts, [[1, 1, 0], [0, 2, 0], [1, 0, 0]])


@pytest.mark.parametrize("axes", ["per-activation", "spatial", (0, 3)])
@pytest.mark.parametrize("wide", [True, False])
def test_batch_normalisation(axes, wide):
    over = {"per-activation": (0,), "spatial": (0, 2, 3)}.get(axes, axes)
    kept = [1 if axis in over else size for axis, size in enumerate(IMAGES.shape)]
    gamma, beta, mean, var = (DRAWN.random(kept) + 0.5 for _ in range(4))
    given = [p if wide else p.squeeze(over) for p in (gamma, beta, mean, var)]

    def train(x, gamma, beta, mean, var):
        return list(nnet.batch_normalization_train(
            x, gamma, beta, axes, running_average_factor=0.25, running_mean=mean, running_var=var))  # fmt: skip

    found = applied(train, IMAGES, *given)
    m, v = IMAGES.mean(axis=over, keepdims=True), IMAGES.var(axis=over, keepdims=True)
    count = IMAGES.size / m.size
    expected = [(IMAGES - m) / np.sqrt(v + 1e-4) * gamma + beta, m, 1 / np.sqrt(v + 1e-4),
                0.75 * mean + 0.25 * m, 0.75 * var + 0.25 * v * count / (count - 1)]  # fmt: skip
    for got, wanted in zip(found, expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-11)
    found = applied(lambda *xs: nnet.batch_normalization_test(*xs, axes=axes), IMAGES, *given)
    np.testing.assert_allclose(found, (IMAGES - mean) / np.sqrt(var + 1e-4) * gamma + beta, rtol=1e-11)


def test_batch_normalisation_of_the_older_kind_and_misuse():
    m, s = LOGITS.mean(axis=0), LOGITS.std(axis=0)
    found = applied(lambda x: nnet.batch_normalization(x, 2.0, 3.0, m, s), LOGITS)
    np.testing.assert_allclose(found, (LOGITS - m) / s * 2 + 3, rtol=1e-12)
    with pytest.raises(theano.InvalidArgument, match="'per-activation', 'spatial'"):
        nnet.batch_normalization_train(T.matrix(), 1.0, 0.0, axes="all")
    with pytest.raises(theano.InvalidArgument, match="a parameter has 4, or 1"):
        nnet.batch_normalization_train(T.tensor4(), T.matrix(), T.matrix(), axes="spatial")


def windows(size, window, step, pad, ignore):
    """Yields the begin and end of each window over the padded axis, clipped to the unpadded one."""
    begin = -pad
    while begin + (window if ignore else 1) <= size + pad:
        yield max(begin, 0), min(begin + window, size)
        begin += step
        if not ignore and step < window and begin - step + window >= size:
            return


@pytest.mark.parametrize("mode", ["max", "sum", "average_exc_pad", "average_inc_pad"])
@pytest.mark.parametrize("ws, stride, pad, ignore", [
    ((2, 2), None, (0, 0), True), ((2, 2), None, (0, 0), False), ((3, 2), (1, 2), (0, 0), True),
    ((2, 3), (3, 1), (0, 0), False), ((3, 3), (2, 2), (1, 2), True), ((5, 7), None, (0, 0), True),
    ((2, 4), (1, 3), (0, 0), False),
])  # fmt: skip
def test_pools(mode, ws, stride, pad, ignore):
    found = applied(
        lambda x: pool.pool_2d(x, ws, ignore_border=ignore, stride=stride, pad=pad, mode=mode), IMAGES
    )
    steps = stride or ws
    rows = list(windows(5, ws[0], steps[0], pad[0], ignore))
    columns = list(windows(7, ws[1], steps[1], pad[1], ignore))
    whole = mode == "average_inc_pad" and ignore
    expected = np.empty((2, 3, len(rows), len(columns)))
    for i, (a, b) in enumerate(rows):
        for j, (c, d) in enumerate(columns):
            part = IMAGES[:, :, a:b, c:d].reshape(2, 3, -1)
            expected[:, :, i, j] = (part.max(axis=2) if mode == "max" else part.sum(axis=2) if mode == "sum"
                                    else part.sum(axis=2) / (ws[0] * ws[1] if whole else part.shape[2]))  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_further_pools():
    x = DRAWN.normal(size=(4, 6, 8))
    found = applied(lambda x: pool.pool_3d(x, (2, 3, 4), ignore_border=True), x)
    np.testing.assert_array_equal(found, x.reshape(2, 2, 2, 3, 2, 4).max(axis=(1, 3, 5)))
    found = applied(lambda x: downsample.max_pool_2d(x, (2, 2), ignore_border=True), np.arange(16).reshape(4, 4))
    np.testing.assert_array_equal(found, [[5, 7], [13, 15]])
    gradient.verify_grad(lambda x: T.signal.pool.pool_2d(x, (2, 2), ignore_border=True), [IMAGES])
    for wrong, says in (
        (dict(ws=(2, 2), mode="least"), "mode is 'least'"), (dict(ws=(2,)), "ws is"),
        (dict(ws=(2, 2), pad=(1, 1)), "ignore_border=True"), (dict(ws=(2, 2), pad=(2, 0), ignore_border=True), "smaller"),
    ):  # fmt: skip
        with pytest.raises(theano.InvalidArgument, match=says):
            pool.pool_2d(T.tensor4(), **wrong)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, np.inf, -np.inf, 0.5])
def test_norms_of_vectors(ord):
    x = np.array([3.0, -4.0, 0.0, 1.5])
    np.testing.assert_allclose(applied(lambda v: nlinalg.norm(v, ord), x), np.linalg.norm(x, ord), rtol=1e-14)


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, np.inf, -np.inf])
def test_norms_of_matrices(ord):
    np.testing.assert_allclose(
        applied(lambda x: nlinalg.norm(x, ord), LOGITS), np.linalg.norm(LOGITS, ord), rtol=1e-14
    )
    for wrong in (2, "nuc"):
        with pytest.raises(theano.InvalidArgument, match="but must be None, 'fro'"):
            nlinalg.norm(T.matrix(), wrong)


def drawn(make, seed=11):
    return theano.function([], make(RandomStreams(seed)))()


@pytest.mark.parametrize("rate", [0.3, 3.5, 40.0, 900.0])
def test_poisson(rate):
    x = drawn(lambda s: s.poisson((20000,), rate))
    assert x.dtype == np.int64
    error = np.sqrt(rate / 20000)
    assert abs(x.mean() - rate) < 5 * error
    assert abs(x.var() / rate - 1) < 5 * np.sqrt((2 + 1 / rate) / 20000)
    # Compares the frequency of each number with the distribution: a sum of squares of about as many
    # terms.
    numbers = np.arange(int(max(rate - 3 * np.sqrt(rate), 0)), int(rate + 3 * np.sqrt(rate)) + 1)
    logs = numbers * np.log(rate) - rate - np.array([np.sum(np.log(np.arange(1, k + 1))) for k in numbers])
    expected = 20000 * np.exp(logs)
    counts = (x[:, None] == numbers).sum(axis=0)
    chi = ((counts - expected) ** 2 / expected).sum()
    assert chi < len(numbers) + 5 * np.sqrt(2 * len(numbers))


def test_poisson_of_several_rates():
    rates = T.vector("rates")
    f = theano.function([rates], RandomStreams(1).poisson(lam=rates))
    x = np.stack([f([0.0, 2.0, 500.0]) for _ in range(400)])
    assert x[:, 0].max() == 0
    np.testing.assert_allclose(x[:, 1:].mean(axis=0), [2, 500], atol=6)
    assert f([]).shape == (0,)
    with pytest.raises(ValueError, match="lam is -1"):
        RandomStreams(1).poisson((2,), -1)
    rows, updates = theano.scan(lambda: RandomStreams(5).poisson((3,), 2.0), n_steps=4)
    assert len(np.unique(theano.function([], rows, updates=updates)(), axis=0)) > 1


def test_multinomial():
    p = np.array([[0.1, 0.9], [1.0, 0.0], [0.0, 1.0]])
    x = T.matrix("p")
    f = theano.function([x], RandomStreams(2).multinomial(pvals=x))
    all_draws = np.stack([f(p) for _ in range(1000)])
    np.testing.assert_array_equal(all_draws.sum(axis=2), 1)
    np.testing.assert_allclose(all_draws.mean(axis=0), p, atol=0.05)
    x = drawn(lambda s: s.multinomial((500,), n=10, pvals=[0.1, 0.2, 0.7]))
    assert x.shape == (500, 3) and set(x.sum(axis=1)) == {10}
    np.testing.assert_allclose(x.mean(axis=0), [1, 2, 7], atol=0.4)
    with pytest.raises(ValueError, match="n is 0"):
        RandomStreams(1).multinomial(n=0, pvals=[1.0])


def test_choice_and_permutations():
    x = drawn(lambda s: s.choice((6000,), 3))
    np.testing.assert_allclose(np.bincount(x) / 6000, [1 / 3] * 3, atol=0.03)
    x = drawn(lambda s: s.choice((6000,), a=np.array([1.5, 2.5]), p=[0.25, 0.75]))
    assert x.dtype == np.float64
    np.testing.assert_allclose(x.mean(), 2.25, atol=0.03)
    f = theano.function([], RandomStreams(3).choice((2,), a=3, replace=False, p=[0.0, 0.2, 0.8]))
    first = np.array([f() for _ in range(2000)])
    assert set(map(tuple, first)) == {(1, 2), (2, 1)}
    np.testing.assert_allclose((first[:, 0] == 2).mean(), 0.8, atol=0.04)
    assert drawn(lambda s: s.choice(a=5)).shape == ()
    x = drawn(lambda s: s.permutation((2000,), n=3))
    assert {tuple(row) for row in x} == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    assert (x == np.arange(3)).all(axis=1).mean() < 0.25
    shuffled = applied(RandomStreams(4).shuffle_row_elements, LOGITS)
    np.testing.assert_array_equal(np.sort(shuffled), np.sort(LOGITS))
    assert (shuffled != LOGITS).any()
    np.testing.assert_array_equal(np.sort(applied(RandomStreams(4).shuffle_row_elements, np.arange(9))), np.arange(9))


def test_streams_of_the_sandbox():
    a, b = MRG_RandomStreams([1, 2, 3], use_cuda=False), MRG_RandomStreams([1, 2, 3])
    for make in (lambda s: s.uniform((3,), nstreams=4), lambda s: s.normal((3,), std=2, nstreams=4),
                 lambda s: s.binomial((3,), p=0.5, nstreams=4),
                 lambda s: s.multinomial(pvals=[[0.5, 0.5]], nstreams=4)):  # fmt: skip
        np.testing.assert_array_equal(theano.function([], make(a))(), theano.function([], make(b))())
    assert theano.sandbox.rng_mrg is sandbox.rng_mrg


def test_print(capsys):
    x = T.vector("x")
    twice = printing.Print("twice", attrs=["__str__", "shape"])(2 * x)
    total = printing.Print("total")(twice.sum())
    f = theano.function([x], [total, T.grad(total, x)])
    value, slope = f([1, 2])
    assert value == 6 and slope.tolist() == [2, 2]
    shown = "twice __str__ = [2. 4.]\ntwice shape = (2,)\ntotal __str__ = 6.0\n"
    assert capsys.readouterr().out == shown
    for other in (f.copy(), pickle.loads(pickle.dumps(f))):
        other([1, 2])
        assert capsys.readouterr().out == shown
    theano.function([x], x + 1)([1])
    assert capsys.readouterr().out == ""
    told = []
    g = printing.Print("m", global_fn=lambda op, value: told.append((op.message, value.tolist())))
    count = theano.shared(0.0)
    assert theano.function([x], updates={count: g(x.sum())})([1, 2]) == []
    assert told == [("m", 3.0)] and count.get_value() == 3


def test_print_in_a_step_warns():
    x = T.vector("x")
    rows, _ = theano.scan(lambda a: printing.Print("row")(a) + 1, x)
    with pytest.warns(UserWarning, match="Print 'row' is inside a loop's step"):
        f = theano.function([x], rows)
    assert f([1, 2]).tolist() == [2, 3]


STREAM, X = RandomStreams(1), T.matrix("x")
FUNCTION = theano.function([X], X)


@pytest.mark.parametrize("whole, name, says", [
    (theano, "subgraph_grad", "known_grads"), (theano, "verify_grad", "scanloom.gradient.verify_grad"),
    (theano, "get_mode", "scanloom.compile"), (theano, "d3viz", "printing.plot"), (theano, "misc", "fn.save"),
    (T, "tensor6", "T.TensorType"), (T, "sigmoid", "T.nnet"), (T, "linspace", "T.arange"), (T, "Print", "printing.Print"),
    (T, "meshgrid", "dimshuffle"), (T, "ScalarFromTensor", "leave it out"), (T.extra_ops, "searchsorted", "dimshuffle"),
    (nnet, "conv3d", "T.nnet.conv2d"), (nnet, "bn", "in T.nnet"), (nnet, "h_softmax", "T.nnet.softmax"), (nnet, "ctc", "logaddexp"),
    (nlinalg, "svd", "with numpy"), (nlinalg, "qr", "T.slinalg.cholesky"), (nlinalg, "eigh", "with numpy"),
    (nlinalg, "pinv", "T.slinalg.solve"), (nlinalg, "lstsq", "T.slinalg.solve"), (nlinalg, "tensorinv", "reshape"),
    (slinalg, "expm", "series"), (slinalg, "eigvalsh", "with numpy"), (T.signal, "conv", "T.nnet.conv2d"),
    (sandbox, "cuda", "no other device"), (gradient, "DisconnectedType", "return_disconnected"),
    (printing, "min_informative_str", "pprint"), (scan_module, "scan_op", "explain"),
    (compile_module, "NanGuardMode", "numpy.isnan"), (compile_module, "ProfileStats", "profile=True"),
    (STREAM, "gamma", "uniform, normal"), (STREAM, "multinomial_wo_replacement", "replace=False"),
    (X, "owner", "debugprint"), (X, "clone", "x.type"), (X, "data", "only constants have it"), (X, "item", "eval"),
    (FUNCTION, "maker", "explain"), (FUNCTION, "container", "get_shared"),
])  # fmt: skip
def test_what_is_missing_says_what_to_write(whole, name, says):
    with pytest.raises(AttributeError, match=f"{name}.* here: .*{says}"):
        getattr(whole, name)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        whole.nothing_like_it
    assert not hasattr(whole, name)


def test_modules_can_be_imported():
    for name in ("tensor.signal.pool", "tensor.signal.downsample", "sandbox.rng_mrg", "tensor.extra_ops"):
        importlib.import_module(f"scanloom.{name}")
    assert T.signal.pool is pool


def test_advice_for_missing_decompositions_is_right():
    tall = DRAWN.normal(size=(6, 3))
    x = T.matrix("x")
    f = theano.function([x], [slinalg.solve(T.dot(x.T, x), x.T), slinalg.cholesky(T.dot(x.T, x)).T])
    inverse, r = f(tall)
    np.testing.assert_allclose(inverse, np.linalg.pinv(tall), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(r.T @ r, tall.T @ tall, rtol=1e-10)
    q = theano.function([x], slinalg.solve(slinalg.cholesky(T.dot(x.T, x)), x.T).T)(tall)
    np.testing.assert_allclose(q @ r, tall, rtol=1e-9)
    wide = theano.function([x], slinalg.solve(T.dot(x, x.T), x).T)(tall.T)
    np.testing.assert_allclose(wide, np.linalg.pinv(tall.T), rtol=1e-8, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theano.function([x], printing.Print("fine")(x).sum())
