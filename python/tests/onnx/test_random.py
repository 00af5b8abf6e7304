"""Random operators: distributions, and the dependence of samples on the seed or node, the run and
the execution."""

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto

import scanloom
from single_node import EXECUTIONS, feeds, model

REALS = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT16: np.float16,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
}


def session(proto, **options):
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return scanloom.InferenceSession(data, scanloom.SessionOptions(**options))


def draw(op, inputs=(), **attributes):
    proto = model(op, list(inputs), opset=22, **attributes)
    return session(proto).run(None, feeds(inputs))[0]


@pytest.mark.parametrize("kind", REALS)
def test_uniform_numbers(kind):
    y = draw("RandomUniform", shape=[100, 300], low=-2.0, high=4.0, dtype=kind)
    assert (y.shape, y.dtype) == ((100, 300), np.dtype(REALS[kind]))
    y = y.astype(np.float64).reshape(-1)
    assert y.min() >= -2 and y.max() <= 4
    np.testing.assert_allclose([y.mean(), y.var()], [1, 3], atol=0.06)
    counts = np.histogram(y, 10, (-2, 4))[0]
    assert ((counts - 3000) ** 2 / 3000).sum() < 40
    assert abs(np.corrcoef(y[:-1], y[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("kind", REALS)
def test_normal_numbers(kind):
    y = draw("RandomNormal", shape=[30000], mean=1.0, scale=2.0, dtype=kind)
    assert (y.shape, y.dtype) == ((30000,), np.dtype(REALS[kind]))
    z = (y.astype(np.float64) - 1) / 2
    moments = [z.mean(), (z**2).mean(), (z**3).mean(), (z**4).mean()]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.2)
    assert abs((np.abs(z) < 1).mean() - 0.6827) < 0.015
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.03


def test_like_takes_shape_and_type():
    x = np.zeros((3, 0, 2), np.float64)
    for op in ("RandomNormalLike", "RandomUniformLike"):
        assert draw(op, [x]).shape == (3, 0, 2)
        assert draw(op, [x]).dtype == np.float64
        assert draw(op, [x], dtype=TensorProto.FLOAT).dtype == np.float32
    y = draw("RandomUniformLike", [np.zeros(5, np.int32)], dtype=TensorProto.FLOAT)
    assert y.shape == (5,) and (y >= 0).all() and (y < 1).all()


def test_bernoulli():
    p = np.repeat(np.array([[0], [0.25], [0.75], [1]], np.float32), 20000, 1)
    for kind, dtype in ((None, np.float32), (TensorProto.INT32, np.int32), (TensorProto.BOOL, bool)):
        y = draw("Bernoulli", [p], **({} if kind is None else {"dtype": kind}))
        assert y.dtype == dtype
        means = y.astype(np.float64).mean(1)
        np.testing.assert_allclose(means, [0, 0.25, 0.75, 1], atol=0.015)
        assert means[0] == 0 and means[3] == 1


def test_multinomial():
    p = np.array([[0.1, 0, 0.6, 0.3], [1, 0, 0, 0], [0, 0, 0.5, 0.5]], np.float32)
    with np.errstate(divide="ignore"):
        logarithms = np.log(p) + 3
    y = draw("Multinomial", [logarithms], sample_size=20000)
    assert (y.shape, y.dtype) == ((3, 20000), np.int32)
    shares = np.stack([(y == k).mean(1) for k in range(4)], 1)
    np.testing.assert_allclose(shares, p, atol=0.015)
    assert (shares[p == 0] == 0).all()
    assert draw("Multinomial", [logarithms], dtype=TensorProto.INT64).dtype == np.int64


def test_a_fresh_session_repeats_and_a_second_run_does_not():
    proto = model("RandomNormal", [], opset=22, shape=[64])
    one, other = session(proto), session(proto)
    first, second = one.run(None, {})[0], one.run(None, {})[0]
    assert not (first == second).any()
    np.testing.assert_array_equal(other.run(None, {})[0], first)
    np.testing.assert_array_equal(other.run(None, {})[0], second)


def test_seeds():
    def drawn(seed):
        return draw("RandomUniform", shape=[50], seed=seed)

    np.testing.assert_array_equal(drawn(3.0), drawn(3.0))
    assert not (drawn(3.0) == drawn(4.0)).any()
    assert not (drawn(0.0) == draw("RandomUniform", shape=[50])).any()


def test_the_seed_of_the_session():
    proto = model("RandomUniform", [], opset=22, shape=[50])

    def drawn(**options):
        return session(proto, **options).run(None, {})[0]

    np.testing.assert_array_equal(drawn(seed=3), drawn(seed=3))
    assert not (drawn(seed=3) == drawn(seed=4)).any()
    scanloom.set_seed(3)
    try:
        np.testing.assert_array_equal(drawn(), drawn(seed=3))
    finally:
        scanloom.set_seed(0)
    np.testing.assert_array_equal(drawn(), drawn(seed=0))
    seeded = model("RandomUniform", [], opset=22, shape=[50], seed=3.0)
    np.testing.assert_array_equal(
        session(seeded, seed=1).run(None, {})[0], session(seeded, seed=2).run(None, {})[0]
    )
    for wrong in (-1, 2**63, "one"):
        with pytest.raises(scanloom.InvalidArgument, match="seed is"):
            drawn(seed=wrong)


def parse(graph):
    header = '<ir_version: 8, opset_import: ["" : 18]>\n'
    return onnx.parser.parse_model(header + graph).SerializeToString()


TWO_NODES = parse(
    """g () => (float[40] a, float[40] b) {
      a = RandomNormal <shape = [40]> ()
      b = RandomNormal <shape = [40]> ()
    }"""
)

LOOP = parse(
    """g (int64 n) => (float[S, 7] rows, float[7] last) {
      yes = Constant <value = bool {1}> ()
      zeros = Constant <value_floats = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> ()
      last, rows = Loop (n, yes, zeros) <body = step (int64 i, bool c, float[7] h)
          => (bool d, float[7] next, float[7] row) {
        d = Identity(c)
        row = RandomUniform <shape = [7]> ()
        next = Add(h, row)
      }>
    }"""
)

NESTED = parse(
    """g (float[T, 3] x) => (float[T, 3, 5] rows) {
      rows = Scan <num_scan_inputs = 1, body = outer (float[3] v) => (float[3, 5] r) {
        r = Scan <num_scan_inputs = 1, body = inner (float w) => (float[5] q) {
          n = RandomNormal <shape = [5]> ()
          q = Mul(w, n)
        }> (v)
      }> (x)
    }"""
)

GROWING = parse(
    """g (int64 n) => (float[S] last) {
      yes = Constant <value = bool {1}> ()
      none = Constant <value_floats = [0.5]> ()
      last = Loop (n, yes, none) <body = step (int64 i, bool c, float[A] h)
          => (bool d, float[B] next) {
        d = Identity(c)
        more = RandomUniformLike(h)
        next = Concat <axis = 0> (h, more)
      }>
    }"""
)

CASES = {
    "two_nodes": (TWO_NODES, {}),
    "loop": (LOOP, {"n": np.array(9)}),
    "nested": (NESTED, {"x": np.ones((4, 3), np.float32)}),
    "growing": (GROWING, {"n": np.array(6)}),
    "large": (
        model("RandomNormal", [], opset=22, shape=[300, 301], dtype=11).SerializeToString(),
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_are_the_same_bits_in_every_way(name):
    proto, fed = CASES[name]
    wanted = None
    for execution in EXECUTIONS:
        for threads in (1, 2, 7):
            for optimize in (True, False):
                options = {"execution": execution, "threads": threads, "optimize": optimize}
                one = session(proto, **options)
                results = [*one.run(None, fed), *one.run(None, fed)]
                wanted = wanted or results
                for result, expected in zip(results, wanted):
                    assert result.tobytes() == expected.tobytes(), options


def test_nodes_draw_apart():
    a, b = session(TWO_NODES).run(None, {})
    assert not (a == b).any()


def test_each_step_draws_anew():
    rows, last = session(LOOP).run(None, {"n": np.array(50)})
    assert len(np.unique(rows)) == rows.size
    np.testing.assert_allclose(last, rows.sum(0), rtol=1e-5)
    (rows,) = session(NESTED).run(None, {"x": np.ones((20, 3), np.float32)})
    assert len(np.unique(rows)) == rows.size
    (grown,) = session(GROWING).run(None, {"n": np.array(10)})
    assert len(np.unique(grown)) == grown.size == 1024


def test_errors():
    for op, attributes, words in (
        ("RandomNormal", {}, "'shape' is missing"),
        ("RandomNormal", {"shape": [2, -1]}, "negative size -1"),
        ("RandomUniform", {"shape": [2**30, 2**30]}, "elements"),
        ("RandomUniform", {"shape": [2], "dtype": TensorProto.INT64}, "a floating-point type is needed"),
    ):
        with pytest.raises(scanloom.Error, match=words):
            draw(op, **attributes)
    with pytest.raises(scanloom.Error, match="'dtype' is float"):
        draw("Multinomial", [np.zeros((1, 2), np.float32)], dtype=TensorProto.FLOAT)
    with pytest.raises(scanloom.Error, match="has 1 axes, but at least 2"):
        draw("Multinomial", [np.zeros(2, np.float32)])

