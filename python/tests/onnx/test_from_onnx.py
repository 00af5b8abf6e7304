"""ONNX models as expressions: the values of a session, loops over them, gradients."""

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest

import real_models
import scanloom as theano
import scanloom.tensor as T
from scanloom import gradient

RANDOM = np.random.default_rng(7)
HEAD = '<ir_version: 8, opset_import: ["" : 19]>\n'


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
    inputs, outputs = list(made.inputs.values()), list(made.outputs.values())
    f = theano.function(inputs, outputs, on_unused_input="ignore")
    for found, expected in zip(f(*feeds.values()), session.run(None, feeds)):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    return made


def test_sizes_that_the_model_has_counted_on():
    model = model_of(
        """mean (double[3] x) => (double y) {
            total = ReduceSum<keepdims = 0>(x)
            count = Size(x)
            real = CastLike(count, total)
            y = Div(total, real)
        }"""
    )
    made = theano.from_onnx(model)
    v = T.vector("v")
    f = theano.function([v], made(v))
    assert f([1, 2, 6]) == 3
    with pytest.raises(theano.InvalidArgument, match="'x' has size 6 on axis 0, not 3"):
        f(np.ones(6))
    with pytest.raises(theano.InvalidArgument, match="'x'"):
        made(np.ones(6))


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
        floats = [y.flatten() for y in listed if y.dtype == "float64"]
        return T.concatenate(floats)

    gradient.verify_grad(outputs, list(points), rel_tol=1e-5, abs_tol=1e-6)
    return made


MLP = """
g (double[N,4] x, double[4,3] w, double[3] b) => (double[N,3] y, double[N] z) {
  h = Gemm(x, w, b)
  a = Tanh(h)
  n = LayerNormalization(a, b)
  y = Softmax(n)
  s = Sigmoid(a)
  rows = Constant<value_ints = [1]>()
  z = ReduceLogSumExp<keepdims = 0>(s, rows)
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
        (lambda: made(1, 2, 3), "2 inputs, but 3 are given"), (lambda: made(w=1), "no input 'w'"),
        (lambda: made([1], x=[2]), "two values for 'x'"), (lambda: made(T.fmatrix()), "1 axes"),
        (lambda: made(T.dvector()), "float32, but the value given for it is float64"),
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


def test_copies_and_turned_parts():
    text = """
    g (double[3,2] x, int64[2] n, int64[2] lengths) => (double[A,B] a, double[3,2] b, double[3,C] c,
        double[2,3] d, double[3,2] e) {
      a = Tile(x, n)
      b = ReverseSequence<batch_axis = 1, time_axis = 0>(x, lengths)
      sizes = Constant<value = int64[2] {3, 4}>()
      first = Constant<value = int64[2] {0, 1}>()
      last = Constant<value = int64[2] {3, 2}>()
      column = Slice(x, first, last)
      c = Expand(column, sizes)
      d = Transpose(x)
      axis = Constant<value = int64 {0}>()
      e = CumSum<reverse = 1>(x, axis)
    }
    """
    differentiated(model_of(text), draws(3, 2), n=np.array([2, 3]), lengths=np.array([2, 3]))


OTHERS = [
    ("BatchNormalization", dict(x=(2, 3, 4), s=(3,), b=(3,), m=(3,), v=(3,)), {}),
    ("InstanceNormalization", dict(x=(2, 3, 4), s=(3,), b=(3,)), {}),
    ("PRelu", dict(x=(2, 3), s=(3,)), {}), ("HardSwish", dict(x=(2, 3)), {}),
    ("Gelu", dict(x=(2, 3)), {}), ("Mish", dict(x=(2, 3)), {}), ("Celu", dict(x=(2, 3)), {}),
    ("ReduceMean", dict(x=(2, 3)), {}), ("ReduceMax", dict(x=(2, 3)), {}),
    ("ReduceProd", dict(x=(2, 3)), {}), ("ReduceL2", dict(x=(2, 3)), {}),
    ("Einsum", dict(a=(2, 3), b=(3, 4)), dict(equation="ij,jk->ik")),
    ("DepthToSpace", dict(x=(1, 4, 2, 2)), dict(blocksize=2)),
    ("GlobalAveragePool", dict(x=(1, 2, 3, 4)), {}), ("GlobalMaxPool", dict(x=(1, 2, 3, 4)), {}),
    ("Gemm", dict(a=(2, 3), b=(4, 3), c=(4,)), dict(transB=1, alpha=0.5)),
    ("Trilu", dict(x=(3, 3)), {}), ("LogSoftmax", dict(x=(3, 4)), {}),
    ("Max", dict(a=(3,), b=(3,), c=(3,)), {}), ("Pow", dict(a=(3,), b=(3,)), {}),
]  # fmt: skip


@pytest.mark.parametrize("operator, sizes, attributes", OTHERS, ids=[row[0] for row in OTHERS])
def test_other_operators(operator, sizes, attributes):
    feeds = {name: RANDOM.uniform(0.2, 1.5, shape) for name, shape in sizes.items()}
    differentiated(one_node(operator, feeds, **attributes), *feeds.values())


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
    with pytest.raises(ValueError, match="a path, bytes"):
        theano.from_onnx(3)


def one_node(operator, feeds, outputs=("y",), absent=(), **attributes):
    """A model of one node; feeds by the names of its inputs, some of which are absent."""
    names = ["" if name in absent else name for name in feeds]
    node = onnx.helper.make_node(operator, names, list(outputs), "it", **attributes)
    kinds = {np.dtype(np.float64): onnx.TensorProto.DOUBLE, np.dtype(np.int32): onnx.TensorProto.INT32}
    graph = onnx.helper.make_graph(
        [node], "g",
        [onnx.helper.make_tensor_value_info(name, kinds[value.dtype], [None] * value.ndim)
         for name, value in feeds.items() if name not in absent],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in outputs
         if name],
    )  # fmt: skip
    imports = [onnx.helper.make_opsetid("", 22)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


CONVOLUTIONS = [
    ((2, 3, 7, 6), (4, 3, 3, 2), {}),
    ((2, 3, 7, 6), (4, 3, 3, 2), dict(pads=[1, 0, 2, 3], strides=[2, 1])),
    ((1, 2, 9, 8), (3, 2, 3, 3), dict(dilations=[2, 3], strides=[3, 2], pads=[2, 2, 1, 1])),
    ((2, 4, 6, 5), (6, 2, 3, 3), dict(group=2, pads=[1, 1, 1, 1])),
    ((1, 4, 6, 5), (4, 1, 3, 3), dict(group=4, strides=[2, 2])),
    ((2, 2, 9), (3, 2, 4), dict(strides=[3], pads=[1, 2])),
    ((1, 2, 4, 5, 3), (2, 2, 2, 3, 2), dict(pads=[1, 0, 0, 0, 1, 1])),
    ((2, 2, 7, 6), (3, 2, 3, 2), dict(auto_pad="SAME_UPPER", strides=[2, 2])),
    ((2, 2, 7, 6), (3, 2, 4, 2), dict(auto_pad="SAME_LOWER", strides=[2, 1])),
]


@pytest.mark.parametrize("x, w, attributes", CONVOLUTIONS)
def test_convolutions(x, w, attributes):
    feeds = dict(x=draws(*x), w=draws(*w), b=draws(w[0]))
    model = one_node("Conv", feeds, kernel_shape=list(w[2:]), **attributes)
    differentiated(model, *feeds.values())


TRANSPOSED = [
    ((2, 3, 4, 3), (3, 2, 3, 2), {}),
    ((1, 2, 4, 3), (2, 3, 3, 3), dict(strides=[2, 3], pads=[1, 0, 2, 1], dilations=[1, 2])),
    ((1, 2, 4, 3), (2, 3, 2, 2), dict(strides=[3, 2], output_padding=[2, 1])),
    ((2, 4, 3, 4), (4, 3, 2, 3), dict(group=2, pads=[1, 1, 0, 0])),
    ((2, 2, 5), (2, 3, 4), dict(strides=[2])),
]


@pytest.mark.parametrize("x, w, attributes", TRANSPOSED)
def test_transposed_convolutions(x, w, attributes):
    feeds = dict(x=draws(*x), w=draws(*w), b=draws(w[1] * attributes.get("group", 1)))
    differentiated(one_node("ConvTranspose", feeds, **attributes), *feeds.values())


POOLS = [
    ((2, 3, 7, 6), dict(kernel_shape=[3, 2])),
    ((1, 2, 7, 6), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    ((1, 2, 7, 6), dict(kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 2, 1], ceil_mode=1)),
    ((1, 2, 9), dict(kernel_shape=[3], dilations=[2], strides=[2])),
    ((1, 2, 7, 5), dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
    ((1, 1, 4, 5, 4), dict(kernel_shape=[2, 2, 3], strides=[1, 2, 1])),
]


@pytest.mark.parametrize("x, attributes", POOLS)
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "counting"])
def test_pools(kind, x, attributes):
    feeds = dict(x=draws(*x))
    if kind == "counting":
        model = one_node("AveragePool", feeds, count_include_pad=1, **attributes)
    else:
        model = one_node(kind, feeds, **attributes)
    differentiated(model, feeds["x"])


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("axes", [False, True])
def test_padding(mode, axes):
    pads = "2] {1, 2}" if axes else "4] {0, 1, 2, 2}"
    text = f"""
    g (double[3,4] x, double v) => (double[N,M] y) {{
      pads = Constant<value = int64[{pads}>()
      axes = Constant<value = int64[1] {{1}}>()
      y = Pad<mode = "{mode}">(x, pads, {'v' if mode == 'constant' else '""'}{', axes' if axes else ''})
    }}
    """
    model = model_of(text)
    if mode == "constant":
        differentiated(model, draws(3, 4), draws())
    else:
        differentiated(model, draws(3, 4), v=draws())


STATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", STATES)
@pytest.mark.parametrize("lengths", [False, True])
def test_recurrent_layers(operator, direction, lengths):
    steps, batch, size, hidden = 4, 3, 2, 2
    count, rows = (2 if direction == "bidirectional" else 1), STATES[operator] * hidden
    feeds = dict(
        x=draws(steps, batch, size), w=draws(count, rows, size), r=draws(count, rows, hidden),
        b=draws(count, 2 * rows), lengths=np.array([4, 1, 3], np.int32),
        h0=draws(count, batch, hidden),
    )  # fmt: skip
    outputs = ["y", "h"]
    if operator == "LSTM":
        feeds.update(c0=draws(count, batch, hidden), p=draws(count, 3 * hidden))
        outputs.append("c")
    absent = () if lengths else ("lengths", "p")
    model = one_node(operator, feeds, outputs, absent, direction=direction, hidden_size=hidden)
    check_layer(model, {name: value for name, value in feeds.items() if name not in absent})


def check_layer(model, feeds):
    made = checked(model, **feeds)
    floats = [name for name, value in feeds.items() if value.dtype == np.float64]
    rest = {name: value for name, value in feeds.items() if name not in floats}

    def outputs(*xs):
        results = made(**dict(zip(floats, xs)), **rest)
        return T.concatenate([y.flatten() for y in (results if isinstance(results, list) else [results])])

    gradient.verify_grad(outputs, [feeds[name] for name in floats], rel_tol=1e-5, abs_tol=1e-6)


@pytest.mark.parametrize(
    "operator, attributes",
    [("GRU", dict(linear_before_reset=1)), ("LSTM", dict(input_forget=1, clip=0.4)),
     ("RNN", dict(clip=0.3)), ("GRU", dict(clip=0.5)), ("LSTM", dict(layout=1)), ("GRU", dict(layout=1))],
)  # fmt: skip
def test_forms_of_recurrent_layers(operator, attributes):
    rows = STATES[operator] * 2
    first = (3, 4) if attributes.get("layout") else (4, 3)
    feeds = dict(x=draws(*first, 2), w=draws(1, rows, 2), r=draws(1, rows, 2))
    model = one_node(operator, feeds, ["y", "h"], hidden_size=2, **attributes)
    check_layer(model, feeds)


USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@pytest.mark.parametrize("operator", STATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_activations_that_are_the_usual_ones(operator, direction):
    count, rows = (2 if direction == "bidirectional" else 1), STATES[operator] * 2
    feeds = dict(x=draws(4, 3, 2), w=draws(count, rows, 2), r=draws(count, rows, 2))
    names = USUAL[operator] * count
    names[0] = names[0].lower()  # in any case, as in onnxruntime
    model = one_node(
        operator, feeds, direction=direction, hidden_size=2, activations=names,
        activation_alpha=[0.7], activation_beta=[0.1],  # which none of them takes
    )  # fmt: skip
    check_layer(model, feeds)


@pytest.mark.parametrize("operator", STATES)
@pytest.mark.parametrize("name, more", [("Relu", {}), ("ScaledTanh", dict(activation_alpha=[1.0]))])
def test_other_activations_are_refused(operator, name, more):
    rows = STATES[operator] * 2
    feeds = dict(x=draws(4, 3, 2), w=draws(1, rows, 2), r=draws(1, rows, 2))
    names = [*USUAL[operator][:-1], name]
    made = theano.from_onnx(one_node(operator, feeds, hidden_size=2, activations=names, **more))
    with pytest.raises(gradient.NullTypeGradError, match=rf"node 'it' \({operator}.*activation '{name}"):
        theano.grad(list(made.outputs.values())[0].sum(), made.inputs["x"])


def test_an_initial_state_that_depends_on_the_sequence():
    names = ("x", "w", "r", "b", "lengths", "h0")
    feeds = dict(x=draws(4, 3, 2), w=draws(1, 2, 2), r=draws(1, 2, 2), b=None, lengths=None,
                 h0=draws(1, 3, 2))
    model = one_node("RNN", {name: np.zeros(0) if value is None else value
                             for name, value in feeds.items()}, ["y"], ("b", "lengths"), hidden_size=2)
    layer = theano.from_onnx(model)
    assert list(layer.inputs) == [name for name in names if feeds[name] is not None]

    def summed(x, w):
        return layer(x, w, feeds["r"], T.tanh(x.sum(axis=0, keepdims=True))).flatten()

    gradient.verify_grad(summed, [feeds["x"], feeds["w"]], rel_tol=1e-5, abs_tol=1e-6)


def test_sizes_that_decide_branches():
    text = """
    g (double[N,M] x) => (double[K] y) {
      size = Shape(x)
      zero = Constant<value = int64 {0}>()
      rows = Gather(size, zero)
      one = Constant<value = int64 {1}>()
      single = Equal(rows, one)
      z = If(single) <then_branch = a () => (double[P] p) { axes = Constant<value = int64[1] {0}>()
                                                           p = Squeeze(x, axes) },
                      else_branch = b () => (double[Q,R] q) { q = Identity(x) }>
      y = Exp(z)
    }
    """
    with pytest.raises(theano.Unsupported, match="node .* the rank of"):
        theano.from_onnx(model_of(text))
    for rows in (1, 2):
        made = theano.from_onnx(model_of(text), {"x": (rows, 3)})
        x = draws(rows, 3)
        f = theano.function(list(made.inputs.values()), made.outputs["y"])
        np.testing.assert_allclose(f(x), np.exp(x[0] if rows == 1 else x))
        with pytest.raises(ValueError):
            f(draws(3, 3))
    made = theano.from_onnx(model_of(text), values={"x": [[1.0, 2.0]]})
    assert not made.inputs
    np.testing.assert_allclose(made.outputs["y"].eval(), np.exp([1.0, 2.0]))
    for value, says in ((np.float32([[1]]), "is f64.*the value for it f32"), ([1.0], "1 sizes")):
        with pytest.raises(ValueError, match=says):
            theano.from_onnx(model_of(text), values={"x": value})
    for sizes, says in (({"w": (1,)}, "no input 'w'"), ({"x": (1,)}, "1 sizes are given")):
        with pytest.raises((theano.NotFound, ValueError), match=says):
            theano.from_onnx(model_of(text), sizes)


@pytest.mark.parametrize("case", real_models.shared_cases(), ids=lambda case: case.name)
def test_real_models(case):
    is_voice = case.name == "silero_vad.onnx"  # whose side for another rate takes other sizes
    made = theano.from_onnx(
        case.model, {"input": (1, 576)} if is_voice else None,
        {"sr": case.feeds["sr"]} if is_voice else None,
    )  # fmt: skip
    feeds = {name: case.feeds[name] for name in made.inputs}
    expected = theano.InferenceSession(case.model).run(None, case.feeds)
    outputs = list(made.outputs.values())
    f = theano.function(list(made.inputs.values()), outputs)
    for found, wanted in zip(f(*feeds.values()), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    floats = [x for x in made.inputs.values() if x.dtype == "float32"]
    cost = sum(T.sqr(y).sum() for y in outputs if y.dtype == "float32")
    try:
        slopes = theano.grad(cost, floats, disconnected_inputs="ignore")
    except gradient.NullTypeGradError as error:
        assert "node" in str(error), error
        return
    g = theano.function(list(made.inputs.values()), [cost, *slopes])
    _, *found = g(*feeds.values())
    if case.name == "qlstm/model.onnx":  # whose quantised values move in steps
        assert all(np.isfinite(slope).all() for slope in found)
        return
    compare_along_a_line(g, feeds, [x.name for x in floats], found)


def compare_along_a_line(g, feeds, names, slopes):
    """The slopes in one direction, against differences, as far as float32 says them."""
    random = np.random.default_rng(1)
    lines = {name: random.standard_normal(feeds[name].shape).astype(np.float32) for name in names}

    def moved(step):
        there = {name: x + step * lines[name] if name in lines else x for name, x in feeds.items()}
        return float(g(*there.values())[0])

    step = np.float32(1e-3)
    near = (moved(step) - moved(-step)) / (2 * step)
    exact = sum(float((lines[name] * slope).sum()) for name, slope in zip(names, slopes))
    assert exact == pytest.approx(near, rel=0.01, abs=0.01)
