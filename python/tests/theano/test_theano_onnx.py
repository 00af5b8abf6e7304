"""Functions as ONNX models: accepted by the checker, equal in onnxruntime and in a session."""

import numpy as np
import onnx
import onnxruntime
import pytest

import scanloom as theano
import scanloom.tensor as T

RANDOM = np.random.default_rng(3)


def draw(*shape):
    return RANDOM.standard_normal(shape)


def power():
    k, a = T.lscalar("k"), T.vector("a")
    powers, _ = theano.scan(
        lambda product, a: product * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k
    )
    return [a, k], [powers, powers[-1]], [draw(4), np.int64(5)]


def polynomial():
    coefficients, x = T.vector("coefficients"), T.scalar("x")
    terms, _ = theano.scan(
        lambda c, k, x: c * x**k, sequences=[coefficients, T.arange(1000)], non_sequences=x
    )
    return [coefficients, x], [terms.sum()], [draw(6), np.float64(1.5)]


def taps():
    u, w, x0, y0 = T.matrix("u"), T.matrix("w"), T.matrix("x0"), T.vector("y0")

    def step(before, now, third, last, y, w):
        return T.tanh(T.dot(last, w) + before - now + third * y), T.dot(third, w).sum() + y

    outputs, _ = theano.scan(
        step, sequences={"input": u, "taps": [-2, 1]},
        outputs_info=[{"initial": x0, "taps": [-3, -1]}, y0], non_sequences=w,
    )
    return [u, w, x0, y0], list(outputs), [draw(9, 3), draw(3, 3), draw(3, 3), draw(3)]


def far_taps():
    x0, u = T.matrix("x0"), T.matrix("u")
    rows, _ = theano.scan(
        lambda now, far, near: T.tanh(far - near * now), u, {"initial": x0, "taps": [-20, -2]}
    )
    return [x0, u], [rows, *T.grad((rows**2).sum(), [x0, u])], [draw(20, 2), draw(50, 2)]


def until():
    limit = T.scalar("limit")
    values, _ = theano.scan(
        lambda x, limit: (x * 2, theano.scan_module.until(x * 2 > limit)),
        outputs_info=T.constant(1.0, dtype="float64"), non_sequences=limit, n_steps=1024,
    )
    return [limit], [values], [np.float64(45)]


def backwards():
    x = T.matrix("x")
    rows, _ = theano.scan(
        lambda row, total: total * 0.5 + row, sequences=x, outputs_info=T.zeros_like(x[0]),
        go_backwards=True,
    )
    return [x], [rows], [draw(5, 2)]


def gradient():
    x, w, h = T.matrix("x"), T.matrix("w"), T.vector("h")
    rows, _ = theano.scan(
        lambda row, h, w: T.tanh(T.dot(h, w) + row), sequences=x, outputs_info=h, non_sequences=w
    )
    cost = (rows**2).sum() + T.log(T.nnet.softmax(rows)[:, 0]).sum() + T.log1p(rows).sum()
    cost = cost + T.log(T.exp(rows).sum()) - T.expm1(rows).sum() + T.log1p(x**2 * 1e-12).sum()
    return [x, w, h], [cost, *T.grad(cost, [x, w, h])], [draw(4, 3), draw(3, 3), draw(3)]


def nested():
    x, h = T.tensor3("x"), T.vector("h")

    def outer(matrix, h):
        inner, _ = theano.scan(lambda row, h: T.tanh(h + row), sequences=matrix, outputs_info=h)
        return inner[-1] + inner.mean(axis=0)

    rows, _ = theano.scan(outer, sequences=x, outputs_info=h)
    return [x, h], [rows, T.grad(rows.sum(), h)], [draw(3, 4, 2), draw(2)]


def branches():
    x, y = T.vector("x"), T.vector("y")
    chosen = theano.ifelse.ifelse(x.sum() > 0, T.exp(x) * y, T.log(T.abs_(x) + 1))
    return [x, y], [chosen, T.grad(chosen.sum(), x)], [draw(3), draw(3)]


def parts():
    x, i = T.matrix("x"), T.lvector("i")
    written = T.set_subtensor(x[1:3, ::2], 7.0)
    more = T.inc_subtensor(x[i], x[0])
    return (
        [x, i], [written, more, x[::-1, i], x[2, 1], x[:, None, 0], T.concatenate([x, x], axis=1)],
        [draw(4, 4), np.array([0, 2, 2])],
    )


def operators():
    x, n, m = T.vector("x"), T.lvector("n"), T.ivector("m")
    return (
        [x, n, m],
        [
            T.switch(x > 0, x, -x), T.clip(x, -0.5, 0.5), x.max(), x.argmax(), T.cumsum(x),
            n // 3, n % 3, n / 2, T.cast(x, "int32"), T.nnet.sigmoid(x), T.floor(x), x**3, n & m,
            T.eq(n, m), T.any(n > 2), x.prod(), T.outer(x, x), T.nnet.relu(x), T.sgn(x),
        ],
        [draw(5), np.array([-4, 0, 3, 7, 8]), np.array([1, 0, 3, 2, 9], np.int32)],
    )


def remainders():
    x, y = T.vectors("x", "y")
    return (
        [x, y], [x % y, x // y, *T.grad((x % y).sum(), [x, y])],
        [np.array([5.3, -7, 6, -6, 1e17, 1, -1]), np.array([0.1, 3, -3, 3, 3, np.inf, np.inf])],
    )


def products():
    x = T.matrix("x")
    return (
        [x], [T.cumprod(x, 0), T.cumprod(x, -1), T.cumprod(x), T.grad(T.cumsum(x, 1)[:, 2].sum(), x)],
        [draw(3, 4)],
    )


PROGRAMS = [
    power, polynomial, taps, far_taps, until, backwards, gradient, nested, branches, parts, operators,
    remainders, products,
]


def feeds_of(model, arrays):
    return {
        each.name: np.asarray(array) for each, array in zip(model.graph.input, arrays, strict=True)
    }


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_equal_results(tmp_path, program):
    inputs, outputs, arrays = program()
    function = theano.function(inputs, outputs)
    function.to_onnx(tmp_path / "f.onnx")
    model = onnx.load(tmp_path / "f.onnx")
    onnx.checker.check_model(model, full_check=True)
    feeds = feeds_of(model, arrays)
    expected = function(*arrays)
    for runner in (onnxruntime, theano):
        session = runner.InferenceSession(str(tmp_path / "f.onnx"))
        found = session.run(None, feeds)
        for one, other in zip(found, expected, strict=True):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_convolutions(tmp_path):
    """In float32, the only floating-point type that onnxruntime convolves."""
    x, w = T.ftensor4("x"), T.ftensor4("w")
    made = T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 1))
    function = theano.function([x, w], [made, *T.grad((made**2).sum(), [x, w])])
    function.to_onnx(tmp_path / "f.onnx")
    model = onnx.load(tmp_path / "f.onnx")
    assert "ConvTranspose" in [node.op_type for node in model.graph.node]
    onnx.checker.check_model(model, full_check=True)
    arrays = [draw(2, 3, 7, 6).astype("f"), draw(4, 3, 3, 3).astype("f")]
    session = onnxruntime.InferenceSession(str(tmp_path / "f.onnx"))
    for one, other in zip(session.run(None, feeds_of(model, arrays)), function(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_shared_variables(tmp_path):
    w, count = theano.shared(draw(3), "w"), theano.shared(np.int64(4), "count")
    x = T.vector("x")
    function = theano.function([x], (x * w).sum() + count, updates={count: count + 1})
    function.to_onnx(tmp_path / "f.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "f.onnx"))
    assert [each.name for each in session.get_inputs()] == ["x", "count"]
    value = draw(3)
    result, following = session.run(None, {"x": value, "count": np.asarray(4)})
    np.testing.assert_allclose(result, function(value))
    assert following == count.get_value() == 5


def test_what_has_no_onnx_form(tmp_path):
    streams = T.shared_randomstreams.RandomStreams(1)
    function = theano.function([], streams.normal((2,)))
    with pytest.raises(theano.Unsupported, match="draw"):
        function.to_onnx(tmp_path / "f.onnx")
    assert not (tmp_path / "f.onnx").exists()


def test_spaces_in_names_become_underscores(tmp_path):
    x, n = T.vector("my x"), T.iscalar("n")
    rows, _ = theano.scan(lambda h: h * h.sum(), outputs_info=x, n_steps=n, name="my loop")
    f = theano.function([x, n], rows[-1])
    f.to_onnx(tmp_path / "f.onnx")
    graph = onnx.load(tmp_path / "f.onnx").graph
    assert [each.name for each in graph.input] == ["my_x", "n"]
    assert [node.name.split("/")[0] for node in graph.node if node.op_type == "Loop"] == ["my_loop"]
    f(np.ones(2), 300)
    assert "scan 'my loop'" in f.explain()
    assert "'my_loop/" in theano.InferenceSession(tmp_path / "f.onnx").explain()


def test_variables_of_one_name_or_none(tmp_path):
    same = [theano.shared(float(i), "w") for i in range(2)]
    none = [theano.shared(float(i)) for i in range(2)]
    every = [*same, *none]
    f = theano.function([], sum(every), updates=[(v, v + 1) for v in every])
    f.to_onnx(tmp_path / "f.onnx")
    model = onnx.load(tmp_path / "f.onnx")
    onnx.checker.check_model(model, full_check=True)
    names = [x.name for x in [*model.graph.input, *model.graph.output]]
    assert len(set(names)) == len(names) == 9
    session = onnxruntime.InferenceSession(str(tmp_path / "f.onnx"))
    feeds = {x.name: np.array(float(i)) for i, x in enumerate(session.get_inputs())}
    np.testing.assert_array_equal(session.run(None, feeds), [6, 1, 2, 3, 4])
