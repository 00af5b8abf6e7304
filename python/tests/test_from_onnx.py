"""ONNX models as expressions: the values of a session, loops over them, gradients."""

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import gradient

RANDOM = np.random.default_rng(7)
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def draws(*shape):
    return RANDOM.uniform(-1, 1, shape)


def model_of(text):
    return onnx.parser.parse_model(HEAD + text).SerializeToString()


def checked(model, **feeds):
    """The model as expressions, whose values are those of a session."""
    made = theano.from_onnx(model)
    session = theano.InferenceSession(model)
    assert list(made.inputs) == [value.name for value in session.get_inputs()]
    assert list(made.outputs) == [value.name for value in session.get_outputs()]
    f = theano.function(list(made.inputs.values()), list(made.outputs.values()))
    for found, expected in zip(f(*feeds.values()), session.run(None, feeds)):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    return made


def differentiated(model, *points, **feeds):
    """Checks the values, and gradients with respect to the first inputs."""
    names = [value.name for value in theano.InferenceSession(model).get_inputs()]
    for name, value in zip(names, points):
        feeds[name] = value
    made = checked(model, **{name: feeds[name] for name in names})
    rest = {name: feeds[name] for name in names[len(points):]}

    def outputs(*xs):
        results = made(*xs, **rest)
        listed = results if isinstance(results, list) else [results]
        reals = [y.flatten() for y in listed if y.dtype == "float64"]
        return T.concatenate(reals)

    gradient.verify_grad(outputs, list(points), rel_tol=1e-5, abs_tol=1e-6)
    return made


MLP = """
g (double[N,4] x, double[4,3] w, double[3] b) => (double[N,3] y, double[N] z) {
  h = Gemm(x, w, b)
  a = Tanh(h)
  n = LayerNormalization(a, b)
  y = Softmax(n)
  s = Sigmoid(a)
  z = ReduceLogSumExp<axes = [1], keepdims = 0>(s)
}
"""


def test_a_network():
    made = differentiated(model_of(MLP), draws(5, 4), draws(4, 3), draws(3))
    assert [x.name for x in made.inputs.values()] == ["x", "w", "b"]
    assert repr(made) == "<model (x, w, b) -> (y, z)>"


def test_steps_of_a_loop_that_are_a_model(tmp_path):
    text = """
    cell (double[B,3] x, double[B,2] h) => (double[B,2] next) {
      w = Constant<value = double[3,2] {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}>()
      xw = MatMul(x, w)
      sum = Add(xw, h)
      next = Tanh(sum)
    }
    """
    path = tmp_path / "cell.onnx"
    path.write_bytes(model_of(text))
    cell = theano.from_onnx(path)
    xs, h0 = T.tensor3("xs"), T.matrix("h0")
    rows, _ = theano.scan(lambda x, h: cell(x, h=h), xs, h0)
    slopes = theano.grad(rows[-1].sum(), [xs, h0])
    f = theano.function([xs, h0], [rows[-1], *slopes])
    session = theano.InferenceSession(str(path))
    data, h = draws(4, 5, 3), draws(5, 2)
    found = f(data, h)
    for x in data:
        (h,) = session.run(None, {"x": x, "h": h})
    np.testing.assert_allclose(found[0], h)
    gradient.verify_grad(
        lambda xs, h0: theano.scan(lambda x, h: cell(x, h), xs, h0)[0], [data, draws(5, 2)]
    )


def test_values_for_inputs():
    made = theano.from_onnx(model_of("g (float[N] x, float[N] y) => (float[N] z) { z = Sub(x, y) }"))
    np.testing.assert_array_equal(made([3, 4], y=np.float32([1, 1])).eval(), [2, 3])
    z = T.fvector("z")
    np.testing.assert_array_equal(made(z, z).eval({z: np.float32([5])}), [0])
    for wrong, says in (
        (lambda: made(1, 2, 3), "2 inputs, 3 are given"), (lambda: made(w=1), "no input 'w'"),
        (lambda: made([1], x=[2]), "two values for 'x'"), (lambda: made(T.fmatrix()), "1 axes"),
        (lambda: made(T.dvector()), "float32, what is given for it float64"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=says):
            wrong()


def test_bodies_with_a_condition():
    text = """
    g (int64 n, bool go, double[2] x) => (double[2] last, double[S,2] rows) {
      last, rows = Loop(n, go, x) <body = step (int64 i, bool cond_in, double[2] h) =>
          (bool cond, double[2] next, double[2] row) {
        next = Mul(h, x)
        row = Tanh(next)
        total = ReduceSum<keepdims = 0>(next)
        most = Constant<value = double {-50.0}>()
        cond = Greater(total, most)
      }>
    }
    """
    model = model_of(text)
    for n, go in ((3, True), (3, False), (0, True)):
        made = checked(model, n=np.array(n), go=np.array(go), x=np.array([1.5, -2.0]))
    for n in (3, 9):  # 9 would end by the condition

        def cost(x):
            last, rows = made(n, np.array(True), x)
            return T.concatenate([last, rows.sum(axis=0)])

        gradient.verify_grad(cost, [np.array([1.1, -2.0])])


def test_loops_without_a_number_of_steps():
    text = """
    g (bool go, double x) => (double last, double[S] rows) {
      last, rows = Loop("", go, x) <body = step (int64 i, bool cond_in, double h) =>
          (bool cond, double next, double row) {
        next = Mul(h, x)
        row = Sin(h)
        most = Constant<value = double {100.0}>()
        cond = Less(next, most)
      }>
    }
    """
    model = model_of(text)
    for go in (True, False):
        made = checked(model, go=np.array(go), x=np.array(3.0))

        def cost(x):
            last, rows = made(np.array(go), x)
            return last + rows.sum()

        gradient.verify_grad(cost, [np.array(3.0)])


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(axis, backwards):
    sizes = ["T", "2"] if axis == 0 else ["2", "T"]
    text = f"""
    g (double[2] h0, double[{','.join(sizes)}] xs) => (double[2] h, double[{','.join(sizes)}] ys) {{
      h, ys = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_output_axes = [{axis}],
          scan_input_directions = [{backwards}], scan_output_directions = [{1 - backwards}],
          body = step (double[2] before, double[2] x) => (double[2] next, double[2] y) {{
        sum = Add(before, x)
        next = Tanh(sum)
        y = Mul(next, x)
      }}> (h0, xs)
    }}
    """
    differentiated(model_of(text), draws(2), draws(*((4, 2) if axis == 0 else (2, 4))))


def test_branches():
    text = """
    g (double[N] x, bool c) => (double[N] y) {
      y = If(c) <then_branch = a () => (double[N] p) { p = Exp(x) },
                 else_branch = b () => (double[N] q) { r = Mul(x, x) q = Mul(r, x) }>
    }
    """
    for c in (True, False):
        differentiated(model_of(text), draws(4), c=np.array(c))


def test_indexing():
    text = """
    g (double[4,3] x, double[2,3] u, int64[2] i, int64[2,2] j) => (double[2,3] a, double[4,3] b,
        double[2,2] c, double[4,3] d, double[2,2] e, double[M,3] s) {
      a = Gather<axis = 0>(x, i)
      k = Unsqueeze<axes = [1]>(i, one)
      b = ScatterND(x, k, u)
      c = GatherElements<axis = 1>(a, j)
      zero = Constant<value = double {0.0}>()
      positive = Greater(x, zero)
      d = Where(positive, x, b)
      e = GatherND(x, j)
      starts = Constant<value = int64[2] {1, 0}>()
      ends = Constant<value = int64[2] {4, 3}>()
      s = Slice(x, starts, ends)
    }
    """.replace("k = Unsqueeze<axes = [1]>(i, one)", "one = Constant<value = int64[1] {1}>()\n k = Unsqueeze(i, one)")
    differentiated(model_of(text), draws(4, 3), draws(2, 3), i=np.array([2, 0]), j=np.array([[1, 0], [0, 2]]))


def test_what_has_no_gradient_is_named():
    made = theano.from_onnx(model_of("""
    g (float[1,1,4,4] x, float[1,2,2,2] grid) => (float[1,1,2,2] y) { [sampler] y = GridSample(x, grid) }
    """))
    x = list(made.inputs.values())[0]
    cost = list(made.outputs.values())[0].sum()
    with pytest.raises(gradient.NullTypeGradError, match="node 'sampler' .GridSample"):
        theano.grad(cost, x)


def test_values_that_are_no_tensors():
    text = """
    g (float[N] x) => (float[N] y) {
      s = SequenceConstruct(x, x)
      zero = Constant<value = int64 {0}>()
      y = SequenceAt(s, zero)
    }
    """
    with pytest.raises(theano.Unsupported, match="expressions are tensors"):
        theano.from_onnx(model_of(text))
    with pytest.raises(theano.NotFound):
        theano.from_onnx("/no such model.onnx")
    with pytest.raises(theano.InvalidModel):
        theano.from_onnx(b"no model")
    with pytest.raises(ValueError, match="a path or bytes"):
        theano.from_onnx(3)
