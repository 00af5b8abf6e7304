"""Streams over the steps of a model: random pieces give the bits of the whole, and what computes
across the steps is named."""


import numpy as np
import onnx
import onnxruntime
import pytest

import scanloom
from places import PROJECT
from loop_models import parse

STEPS = 19
HIDDEN = 3
_CUMULATE = """Scan <num_scan_inputs = 1,
    body = step (float[N,C] a, float[N,C] b) => (float[N,C] c, float[N,C] d) {
      c = Add(a, b)
      d = Tanh(c)
    }> (zero, v)"""
_ZERO = "zero = Constant <value = float[2,3] {0,0,0,0,0,0}> ()"


def model(before: str = "v = Identity(x)", after: str = "y = Identity(w)", size: str = "T,2,3"):
    """A running sum over T steps of [2,3], with nodes before it and after it."""
    return parse(
        f"""g (float[{size}] x) => (float[*] y, float[2,3] h) {{
          {_ZERO}
          {before}
          h, w = {_CUMULATE}
          {after}
        }}""".replace("float[*] y", "float y")
    )


def pieces_of(steps: int, seed: int):
    if seed == 0:
        return [(at, at + 1) for at in range(steps)]
    random = np.random.default_rng(seed)
    cuts = sorted(random.integers(0, steps + 1, 4).tolist())
    return list(zip([0, *cuts], [*cuts, steps]))


def axis_of_steps(shape, steps: int):
    return list(shape).index(steps)


def check_pieces(session, feeds, begin=(), axis_in=0):
    """Feeds named in `begin` are given to the first piece alone."""
    whole = session.run(None, feeds)
    names = [end.name for end in session.get_outputs()]
    for seed in range(3):
        stream = session.stream()
        parts = []
        for first, last in pieces_of(STEPS, seed):
            given = {
                name: array if name in begin else np.take(array, range(first, last), axis_in)
                for name, array in feeds.items()
                if name not in begin or not parts
            }
            parts.append(stream.push(given, names))
        for index, wanted in enumerate(whole):
            if STEPS in wanted.shape:
                axis = axis_of_steps(wanted.shape, STEPS)
                got = np.concatenate([part[index] for part in parts], axis)
            else:
                got = parts[-1][index]
            assert got.shape == wanted.shape
            assert got.tobytes() == wanted.tobytes(), names[index]


def numbers(*shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


ALIKE = {
    "plain": {},
    "pointwise": dict(
        before="b = Constant <value = float[3] {1,2,3}> () u = Mul(x, b) v = Sigmoid(u)",
        after="y = Neg(w)",
    ),
    "product": dict(
        before="""m = Constant <value = float[3,3] {1,2,3,4,5,6,7,8,9}> () u = MatMul(x, m)
                  b = Constant <value = float[3] {1,2,3}> () v = Add(u, b)""",
        after="""k = Constant <value = float[3,2] {1,2,3,4,5,6}> () y = MatMul(w, k)""",
    ),
    "transposed": dict(size="2,3,T", before="v = Transpose <perm = [2,0,1]> (x)", axis=2,
                       after="y = Transpose <perm = [1,2,0]> (w)"),
    "squeezed": dict(
        size="1,T,2,3", axis=1,
        before="a = Constant <value = int64[1] {0}> () v = Squeeze(x, a)",
        after="b = Constant <value = int64[2] {0,2}> () y = Unsqueeze(w, b)",
    ),
    "reduced": dict(after="a = Constant <value = int64[2] {-1,1}> () "
                          "y = ReduceSum <keepdims = 0> (w, a)"),
    "softmax": dict(after="y = Softmax <axis = -1> (w)"),
    "concatenated": dict(after="y = Concat <axis = 2> (w, x)"),
    "split": dict(after="a, b = Split <axis = 1, num_outputs = 2> (w) y = Sub(a, b)"),
    "sliced": dict(after="""s = Constant <value = int64[1] {0}> () e = Constant <value = int64[1] {2}> ()
                            a = Constant <value = int64[1] {2}> () y = Slice(w, s, e, a)"""),
    "gathered": dict(after="i = Constant <value = int64[2] {2,0}> () y = Gather <axis = 2> (w, i)"),
    "summed": dict(after="a = Constant <value = int64 {2}> () y = CumSum(w, a)"),
    "index of the maximum": dict(after="i = ArgMax <axis = 2, keepdims = 0> (w) y = Cast <to = 1> (i)"),
    "reshaped": dict(after="s = Constant <value = int64[2] {0,6}> () y = Reshape(w, s)"),
    "normalised": dict(after="""g = Constant <value = float[3] {1,2,3}> ()
                                y = LayerNormalization <axis = -1> (w, g)"""),
    "embedded": dict(
        before="""a = Constant <value = int64[1] {2}> ()
                  t = Constant <value = float[4,3] {1,2,3,4,5,6,7,8,9,10,11,12}> ()
                  l = Constant <value = float {0}> () g = Greater(x, l) i = Cast <to = 7> (g)
                  j = ReduceSum <keepdims = 0> (i, a) v = Gather <axis = 0> (t, j)""",
    ),
    "einsum": dict(after='y = Einsum <equation = "...ij,...kj->...ik"> (w, x)'),
    "convolution": dict(after="k = Constant <value = float[1,2,2] {1,2,3,4}> () y = Conv(w, k)"),
    "pool": dict(after="y = MaxPool <kernel_shape = [2]> (w)"),
    "best": dict(after="k = Constant <value = int64[1] {2}> () y, i = TopK <axis = -1> (w, k)"),
    "padded": dict(after="p = Constant <value = int64[6] {0,1,2,0,0,1}> () y = Pad(w, p)"),
    "one_hot": dict(after="""i = ArgMax <axis = 2, keepdims = 0> (w) d = Constant <value = int64 {3}> ()
                             e = Constant <value = float[2] {0,1}> () y = OneHot(i, d, e)"""),
    "instances": dict(after="""g = Constant <value = float[2] {1,2}> ()
                               y = InstanceNormalization(w, g, g)"""),
    "negative_axes": dict(
        after="""a, b = Split <axis = -2, num_outputs = 2> (w) c = Concat <axis = -1> (b, a)
                 y = Softmax <axis = -2> (c)"""
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_pieces_give_the_bits_of_the_whole(name):
    case = dict(ALIKE[name])
    axis = case.pop("axis", 0)
    sizes = [STEPS if size == "T" else int(size) for size in case.get("size", "T,2,3").split(",")]
    session = scanloom.InferenceSession(model(**case))
    check_pieces(session, {"x": numbers(*sizes)}, axis_in=axis)
    plain = scanloom.InferenceSession(
        model(**case), scanloom.SessionOptions(optimize=False)
        if hasattr(scanloom.SessionOptions(), "optimize") else None
    )
    check_pieces(plain, {"x": numbers(*sizes)}, axis_in=axis)


def test_resizing_each_step():
    """The model computes sizes from the number of steps when it is read; the passes know them."""
    after = """k = Constant <value = float[3] {1,1,2}> () y = Resize <mode = "linear"> (w, , k)"""
    check_pieces(scanloom.InferenceSession(model(after=after)), {"x": numbers(STEPS, 2, 3)})


def second_sum(direction: str) -> str:
    """Another running sum after the first one."""
    sum_of_w = _CUMULATE.replace("(zero, v)", "(zero, w)")
    return "k, y = " + sum_of_w.replace("= 1,", f"= 1, {direction} = [1],", 1)


ACROSS = {
    "sum": (dict(after="a = Constant <value = int64[1] {0}> () y = ReduceSum(w, a)"),
            "ReduceSum.*reduces over them"),
    "backwards": (dict(after=second_sum("scan_input_directions")), "walks backwards"),
    "reversed_rows": (dict(after=second_sum("scan_output_directions")), "rows are in reverse order"),
    "noise": (dict(after="r = RandomNormal <seed = 1.0, shape = [2,3]> () y = Mul(w, r)"),
              "RandomNormal.*draws other numbers"),
    "convolution": (dict(after="""k = Constant <value = float[1,3,2] {1,2,3,4,5,6}> ()
                                  u = Transpose <perm = [1,2,0]> (w) y = Conv(u, k)"""),
                    "Conv.*windows hold several of them"),
    "softmax": (dict(after="y = Softmax <axis = 0> (w)"), "Softmax.*works along their axis"),
    "running_sum": (dict(after="a = Constant <value = int64 {0}> () y = CumSum(w, a)"),
                    "works along their axis"),
    "last_row": (dict(after="""s = Constant <value = int64[1] {0}> () e = Constant <value = int64[1] {5}> ()
                               a = Constant <value = int64[1] {0}> () y = Slice(w, s, e, a)"""),
                 "selects some of them"),
    "end": (dict(after="y = Add(w, h)"), "needs the final state of a loop"),
    "doubled": (dict(after="y = Concat <axis = 0> (w, w)"), "it concatenates them"),
    "pool": (dict(after="u = Transpose <perm = [1,2,0]> (w) y = MaxPool <kernel_shape = [2]> (u)"),
             "MaxPool.*windows hold several of them"),
    "places": (dict(after="i = NonZero(w) y = Cast <to = 1> (i)"), "no rule for streams"),
    "mixed": (dict(after="s = Constant <value = int64[3] {2,-1,3}> () y = Reshape(w, s)"), "mixes their axis"),
    "length": (dict(after="s = Shape(x) c = Cast <to = 1> (s) y = Identity(c)"), "it reads their number"),
}


@pytest.mark.parametrize("name", ACROSS)
def test_what_computes_across_the_steps_is_named(name):
    case, words = ACROSS[name]
    session = scanloom.InferenceSession(model(**case))
    with pytest.raises(scanloom.Unsupported, match=words):
        session.stream()


def test_models_without_such_loops_say_so():
    session = scanloom.InferenceSession(parse("g (float[N] x) => (float[N] y) { y = Neg(x) }"))
    with pytest.raises(scanloom.Unsupported, match="nothing to keep between pieces"):
        session.stream()


def test_sequences_of_a_fixed_length_say_so():
    session = scanloom.InferenceSession(parse("g (float[5] x) => (float[5] y) { y = Neg(x) }"))
    with pytest.raises(scanloom.Unsupported, match="all input sizes of the model are fixed"):
        session.stream()


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_low_latency_with_any_batch(operator):
    """States begin with zeros whose number of rows is that of the first piece."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    rng = np.random.default_rng(4)
    arrays = {"w": (1, gates * 3, 2), "r": (1, gates * 3, 3)}
    constants = [onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
                 for name, shape in arrays.items()]  # fmt: skip
    node = onnx.helper.make_node(operator, ["x", "w", "r"], ["y"], hidden_size=3)
    ends = [onnx.helper.make_tensor_value_info(name, 1, shape)
            for name, shape in (("x", ["T", "N", 2]), ("y", ["T", 1, "N", 3]))]  # fmt: skip
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:], constants)
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)
    for batch in (1, 4):
        x = rng.standard_normal((7, batch, 2)).astype(np.float32)
        (whole,) = scanloom.InferenceSession(made.SerializeToString()).run(None, {"x": x})
        stream = scanloom.InferenceSession(made.SerializeToString(), low_latency=True).stream()
        pieces = [stream.push({"x": x[first:last]}) for first, last in ((0, 2), (2, 3), (3, 7))]
        assert np.array_equal(np.concatenate(pieces), whole)


def test_a_batch_in_groups_can_be_streamed():
    """Rows of a batch that steps keep apart become an outer loop, which a stream must not meet."""
    session = scanloom.InferenceSession(parse(
        """g (float[T,32,128] x, float[128,128] m) => (float[32,128] h, float[T,32,128] y) {
          zero = Constant <value = float {0}> ()
          sizes = Constant <value = int64[2] {32,128}> ()
          zeros = Expand(zero, sizes)
          h, y = Scan <num_scan_inputs = 1,
            body = step (float[32,128] a, float[32,128] b) => (float[32,128] c, float[32,128] d) {
              p = MatMul(a, m)
              q = Add(p, b)
              c = Tanh(q)
              d = Identity(c)
            }> (zeros, x)
        }"""
    ))
    assert "part 16" in session.ir()
    feeds = {"x": numbers(STEPS, 32, 128), "m": numbers(128, 128) / 11}
    whole = session.run(None, feeds)
    stream = session.stream()
    for first, last in pieces_of(STEPS, 1):
        h, y = stream.push({"x": feeds["x"][first:last], "m": feeds["m"]})
        assert y.tobytes() == whole[1][first:last].tobytes()
    assert h.tobytes() == whole[0].tobytes()


SUM_FROM = parse(
    """g (float[T,3] x, float[3] h0) => (float[3] h, float[T,3] y) {
      twice = Add(h0, h0)
      h, y = Scan <num_scan_inputs = 1,
        body = step (float[3] a, float[3] b) => (float[3] c, float[3] d) {
          c = Add(a, b)
          d = Identity(c)
        }> (twice, x)
    }"""
)


def test_first_values_may_be_computed():
    feeds = {"x": numbers(STEPS, 3), "h0": numbers(3)}
    session = scanloom.InferenceSession(SUM_FROM)
    check_pieces(session, feeds, begin=("h0",))
    stream = session.stream()
    with pytest.raises(scanloom.InvalidArgument, match="'h0'"):
        stream.push({"x": feeds["x"]})
    stream.push(feeds)
    with pytest.raises(scanloom.InvalidArgument, match="'h0' is only read when a stream begins"):
        stream.push(feeds)
    with pytest.raises(scanloom.InvalidArgument, match="'h0' is only read when a stream begins"):
        stream.set("h0", feeds["h0"])
    stream.reset()
    first = stream.push(feeds, ["y"])[0]
    stream.reset()
    stream.set("h0", feeds["h0"])
    assert stream.push({"x": feeds["x"]}, ["y"])[0].tobytes() == first.tobytes()


def test_an_input_may_be_the_first_value():
    model = parse(
        """g (float[T,3] x, float[3] h0) => (float[3] h, float[T,3] y) {
          h, y = Scan <num_scan_inputs = 1,
            body = step (float[3] a, float[3] b) => (float[3] c, float[3] d) {
              c = Add(a, b)
              d = Identity(c)
            }> (h0, x)
        }"""
    )
    session = scanloom.InferenceSession(model)
    feeds = {"x": numbers(STEPS, 3), "h0": numbers(3)}
    check_pieces(session, feeds, begin=("h0",))
    stream = session.stream()
    with pytest.raises(scanloom.InvalidArgument, match="'h0'.* is not fed"):
        stream.push({"x": feeds["x"]})
    stream.set("h0", feeds["h0"])
    assert stream.push({"x": feeds["x"]}, ["y"])[0].tobytes() == session.run(["y"], feeds)[0].tobytes()
    with pytest.raises(scanloom.InvalidArgument, match="'h0' is only read when a stream begins"):
        stream.push(feeds)


LAYERS = {
    name: parse(
        f"""g (float[T,N,4] x, float[1,{gates},4] w, float[1,{gates},3] r) => (float[T,1,N,3] y) {{
          y{rest} = {name} <hidden_size = 3> (x, w, r)
        }}"""
    )
    for name, gates, rest in (("LSTM", 12, ", h, c"), ("GRU", 9, ", h"), ("RNN", 3, ", h"))
}


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers(name):
    session = scanloom.InferenceSession(LAYERS[name])
    gates = {"LSTM": 12, "GRU": 9, "RNN": 3}[name]
    feeds = {"x": numbers(STEPS, 2, 4), "w": numbers(1, gates, 4), "r": numbers(1, gates, 3)}
    (whole,) = session.run(None, feeds)
    stream = session.stream()
    parts = [stream.push({**feeds, "x": feeds["x"][a:b]}) for a, b in pieces_of(STEPS, 5)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    peer = onnxruntime.InferenceSession(LAYERS[name], providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(whole, peer.run(None, feeds)[0], rtol=2e-5, atol=2e-6)


def test_qlstm():
    folder = PROJECT.parent / "shared" / "models" / "qlstm"
    if not folder.exists():
        pytest.skip("the shared models are not here")
    session = scanloom.InferenceSession(str(folder / "model.onnx"))
    (given,) = session.get_inputs()
    check_pieces(session, {given.name: numbers(STEPS, 3)})


def test_streams_of_one_session_are_independent():
    session = scanloom.InferenceSession(model())
    one, two = session.stream(), session.stream()
    x = numbers(STEPS, 2, 3)
    first = one.push({"x": x}, ["y"])[0]
    assert two.push({"x": x}, ["y"])[0].tobytes() == first.tobytes()
    assert one.push({"x": x}, ["y"])[0].tobytes() != first.tobytes()


def test_two_open_axes_are_refused():
    model = parse(
        f"""g (float[T,2,3] x, float[S,2,3] z) => (float[T,2,3] y, float[2,3] k) {{
          {_ZERO}
          h, y = {_CUMULATE.replace("(zero, v)", "(zero, x)")}
          k, w = {_CUMULATE.replace("(zero, v)", "(zero, z)")}
        }}"""
    )
    with pytest.raises(scanloom.Unsupported, match="another axis whose size is open"):
        scanloom.InferenceSession(model).stream()


def test_another_open_axis_within_a_branch_is_refused():
    inner = _CUMULATE.replace("(zero, v)", "(zero, z)")
    model = parse(
        f"""g (float[T,2,3] x, float[S,2,3] z, bool go) => (float[T,2,3] y, float[2,3] k) {{
          {_ZERO}
          h, y = {_CUMULATE.replace("(zero, v)", "(zero, x)")}
          k = If (go) <then_branch = one () => (float[2,3] p) {{ p, w = {inner} }},
                      else_branch = other () => (float[2,3] q) {{ q = Identity(zero) }}>
        }}"""
    )
    with pytest.raises(scanloom.Unsupported, match="another axis whose size is open"):
        scanloom.InferenceSession(model).stream()


def test_scales_along_the_steps_are_refused():
    model = parse(
        f"""g (int8[T,2,3] x, float[T] q) => (float[2,3] h) {{
          {_ZERO}
          v = DequantizeLinear <axis = 1> (x, q)
          h, w = {_CUMULATE}
        }}"""
    )
    with pytest.raises(scanloom.Unsupported, match="other than the first"):
        scanloom.InferenceSession(model).stream()


def test_draws_in_a_body_are_refused():
    model = parse(
        """g (float[T,2] x) => (float[T,2] y) {
          s = Constant <value = float[2] {0,0}> ()
          f, y = Scan <num_scan_inputs = 1,
            body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {
              q = RandomNormalLike <seed = 1.0> (b)
              e = Add(a, q)
              c = Add(e, b)
              d = Identity(c)
            }> (s, x)
        }"""
    )
    with pytest.raises(scanloom.Unsupported, match="draws other numbers for each piece"):
        scanloom.InferenceSession(model).stream()


@pytest.mark.parametrize("name", ["state.0", "state 0 of node 1 (Scan-15) making 'h'", "first.0"])
def test_names_of_inputs_do_not_meet_those_of_states(name):
    import onnx

    proto = onnx.load_from_string(model())
    for node in proto.graph.node:
        node.input[:] = [name if each == "x" else each for each in node.input]
    proto.graph.input[0].name = name
    session = scanloom.InferenceSession(proto.SerializeToString())
    check_pieces(session, {name: numbers(STEPS, 2, 3)})


LSTM = parse(
    """g (float[T,B,2] x, float[1,8,2] w, float[1,8,2] r) => (float[T,1,B,2] y) {
      sizes = Shape(x)
      i = Constant <value = int64 {1}> ()
      b = Gather(sizes, i)
      axis = Constant <value = int64[1] {0}> ()
      many = Unsqueeze(b, axis)
      one = Constant <value = int64[1] {1}> ()
      two = Constant <value = int64[1] {2}> ()
      all = Concat <axis = 0> (one, many, two)
      zeros = ConstantOfShape(all)
      y = LSTM <hidden_size = 2> (x, w, r, , , zeros, zeros)
    }"""
)


def check_layer(model, feeds, begin=(), axis=0):
    session = scanloom.InferenceSession(model)
    (whole,) = session.run(None, feeds)
    stream = session.stream()
    parts = []
    for first, last in pieces_of(STEPS, 5):
        given = {name: array for name, array in feeds.items() if name not in begin or not parts}
        parts.append(stream.push({**given, "x": np.take(feeds["x"], range(first, last), axis)}))
    assert np.concatenate(parts, axis).tobytes() == whole.tobytes()


def test_zeros_as_many_as_the_batch():
    check_layer(LSTM, {"x": numbers(STEPS, 3, 2), "w": numbers(1, 8, 2), "r": numbers(1, 8, 2)})


def test_an_lstm_with_one_input_for_both_states():
    model = parse(
        """g (float[T,B,2] x, float[1,8,2] w, float[1,8,2] r, float[1,B,2] h0) => (float[T,1,B,2] y) {
          y = LSTM <hidden_size = 2> (x, w, r, , , h0, h0)
        }"""
    )
    feeds = {"x": numbers(STEPS, 3, 2), "w": numbers(1, 8, 2), "r": numbers(1, 8, 2),
             "h0": numbers(1, 3, 2)}
    check_layer(model, feeds, begin=("h0",))


def test_an_lstm_with_the_batch_first_and_peepholes():
    model = parse(
        """g (float[B,T,2] x, float[1,8,2] w, float[1,8,2] r, float[1,6] p) => (float[B,T,1,2] y) {
          y = LSTM <hidden_size = 2, layout = 1> (x, w, r, , , , , p)
        }"""
    )
    feeds = {"x": numbers(3, STEPS, 2), "w": numbers(1, 8, 2), "r": numbers(1, 8, 2),
             "p": numbers(1, 6)}
    check_layer(model, feeds, axis=1)


@pytest.mark.parametrize("change", ['direction = "reverse"', "lengths"])
def test_an_lstm_that_cannot_be_cut(change):
    lengths = change == "lengths"
    model = parse(
        f"""g (float[T,2,2] x, float[1,8,2] w, float[1,8,2] r, int32[2] n) => (float[T,1,2,2] y) {{
          y = LSTM <hidden_size = 2 {"" if lengths else ", " + change}> (x, w, r, {", n" if lengths else ""})
        }}""".replace("(x, w, r, )", "(x, w, r)")
    )
    with pytest.raises(scanloom.Unsupported, match="have their own lengths" if lengths else "walks backwards"):
        scanloom.InferenceSession(model).stream()


def test_a_failed_push_leaves_the_stream_as_it_was():
    session = scanloom.InferenceSession(model())
    x = numbers(STEPS, 2, 3)
    stream, other = session.stream(), session.stream()
    stream.push({"x": x[:7]})
    with pytest.raises(scanloom.InvalidArgument):
        stream.push({"x": x[:, :1]})
    other.push({"x": x[:7]})
    rest = {"x": x[7:]}
    assert stream.push(rest, ["y"])[0].tobytes() == other.push(rest, ["y"])[0].tobytes()


def carrying(changes: str, inits: str, kept: list[str]):
    """A Scan over x with the state s, which changes, between others that need not."""
    states = ", ".join(f"float[3] {name}" for name in ["s", *kept])
    ends = ", ".join(f"float[3] {name}_next" for name in ["s", *kept])
    last = ", ".join(f"{name}_last" for name in ["s", *kept])
    outputs = ", ".join(f"float[3] {name}_last" for name in ["s", *kept])
    inputs = ", ".join(f"float[3] {name}" for name in dict.fromkeys(inits.split(", ")))
    return parse(
        f"""g (float[T,3] x, {inputs}) => ({outputs}, float[T,3] y) {{
          {last}, y = Scan <num_scan_inputs = 1,
            body = step ({states}, float[3] b) => ({ends}, float[3] d) {{ {changes} }}> ({inits}, x)
        }}"""
    )


# The inputs of s, k, m and what else there is; what becomes of them in a step.
KEPT_STATES = {
    "one_of_two": ("t = Mul(s, k) s_next = Add(t, b) k_next = Identity(k) d = Tanh(s_next)",
                   "s0, k0", ["k"]),
    "two_of_three": ("""t = Mul(s, k) u = Add(t, m) s_next = Add(u, b) k_next = Identity(k)
                        m_next = Identity(m) d = Identity(s_next)""", "s0, k0, m0", ["k", "m"]),
    "swapped": ("""t = Mul(s, k) s_next = Add(t, b) k_next = Identity(m) m_next = Identity(k)
                   d = Identity(s_next)""", "s0, k0, m0", ["k", "m"]),
    "twice_the_same": ("""t = Mul(s, k) u = Add(t, m) s_next = Add(u, b) k_next = Identity(k)
                          m_next = Identity(m) d = Identity(s_next)""", "s0, k0, k0", ["k", "m"]),
    "all_alike": ("""s_next = Add(s, b) k_next = Add(k, b) m_next = Add(m, b) d = Identity(s_next)""",
                  "s0, s0, s0", ["k", "m"]),
    "read_by_nothing": ("s_next = Add(s, b) k_next = Add(k, b) d = Identity(s)", "s0, k0", ["k"]),
    "none_changes": ("s_next = Identity(s) k_next = Identity(k) t = Mul(k, b) d = Add(t, s)",
                     "s0, k0", ["k"]),
    "delay": ("s_next = Identity(b) d = Add(s, b)", "s0", []),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT_STATES)
@pytest.mark.parametrize("optimize", [True, False])
def test_states_that_stay_are_states(name, optimize):
    """Which inputs a stream begins with does not depend on what passes find out."""
    changes, inits, kept = KEPT_STATES[name]
    options = scanloom.SessionOptions(optimize=optimize)
    session = scanloom.InferenceSession(carrying(changes, inits, kept), options)
    begin = tuple(end.name for end in session.get_inputs() if end.name != "x")
    feeds = {"x": numbers(STEPS, 3), **{n: numbers(4, 3)[i + 1] for i, n in enumerate(begin)}}
    check_pieces(session, feeds, begin)
    stream = session.stream()
    for given in begin:
        stream.set(given, feeds[given])
    stream.push({"x": feeds["x"][:7]})
    with pytest.raises(scanloom.InvalidArgument, match="is only read when a stream begins"):
        stream.push({"x": feeds["x"][7:], begin[-1]: feeds[begin[-1]]})
    rest = stream.push({"x": feeds["x"][7:]}, ["y"])[0]
    assert rest.tobytes() == session.run(["y"], feeds)[0][7:].tobytes()
    fresh = session.stream()
    with pytest.raises(scanloom.InvalidArgument, match=f"'{begin[-1]}'.* is not fed"):
        fresh.push({name: feeds[name] for name in feeds if name != begin[-1]})


@pytest.mark.parametrize("optimize", [True, False])
def test_some_states_are_read_by_no_result(optimize):
    model = parse(
        """g (float[T,3] x, float[3] s0, float[3] k0) => (float[T,3] y) {
          s, k, y = Scan <num_scan_inputs = 1,
            body = step (float[3] a, float[3] b, float[3] c) => (float[3] d, float[3] e, float[3] f) {
              d = Add(a, c)
              e = Add(b, c)
              f = Identity(d)
            }> (s0, k0, x)
        }"""
    )
    session = scanloom.InferenceSession(model, scanloom.SessionOptions(optimize=optimize))
    feeds = {"x": numbers(STEPS, 3), "s0": numbers(3), "k0": numbers(2, 3)[1]}
    check_pieces(session, feeds, begin=("s0", "k0"))


def test_random_states_with_and_without_passes():
    """Models of several states, of which some stay, cut at random."""
    random = np.random.default_rng(11)
    for _ in range(6):
        kept = [f"k{i}" for i in range(random.integers(1, 4))]
        reads, steps = "s", []
        for name in kept:
            steps.append(f"r_{name} = {random.choice(['Mul', 'Add'])}({reads}, {name})")
            reads = f"r_{name}"
        for name in kept:
            stays = random.random() < 0.6
            steps.append(f"{name}_next = Identity({name})" if stays else f"{name}_next = Sin(r_{name})")
        body = "\n".join([*steps, f"t = Tanh({reads})", "s_next = Add(t, b)", "d = Neg(s_next)"])
        begin = tuple(["s0", *(f"{name}0" for name in kept)])
        feeds = {"x": numbers(STEPS, 3), **{n: numbers(6, 3)[i + 1] for i, n in enumerate(begin)}}
        given = carrying(body, ", ".join(begin), kept)
        for optimize in (True, False):
            options = scanloom.SessionOptions(optimize=optimize)
            check_pieces(scanloom.InferenceSession(given, options), feeds, begin)


MAPS = {
    "pure": "float[3] b) => (float[3] d) { d = Tanh(b) }> (x)",
    "captured": "float[3] b) => (float[3] d) { t = Tanh(b) d = Mul(t, w) }> (x)",
    "sorted": """float[3] b) => (float[3] d) { n = Constant <value = int64[1] {3}> ()
                 d, i = TopK(b, n) }> (x)""",
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("optimize", [True, False])
def test_loops_without_states_stream(name, optimize):
    """Pieces do not depend on each other; what passes make of the loop does not matter."""
    model = parse(
        f"""g (float[T,3] x, float[3] w) => (float[T,3] y) {{
          u = Scan <num_scan_inputs = 1, body = step ({MAPS[name]}
          y = Add(u, w)
        }}"""
    )
    session = scanloom.InferenceSession(model, scanloom.SessionOptions(optimize=optimize))
    feeds = {"x": numbers(STEPS, 3), "w": numbers(3)}
    (whole,) = session.run(None, feeds)
    for seed in range(3):
        stream = session.stream()
        parts = [stream.push({**feeds, "x": feeds["x"][a:b]}) for a, b in pieces_of(STEPS, seed)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize("optimize", [True, False])
def test_what_stands_behind_a_loop_without_states_is_named(optimize):
    model = parse(
        f"""g (float[T,3] x) => (float[3] y) {{
          u = Scan <num_scan_inputs = 1, body = step ({MAPS["sorted"]}
          a = Constant <value = int64[1] {{0}}> ()
          y = ReduceMax <keepdims = 0> (u, a)
        }}"""
    )
    session = scanloom.InferenceSession(model, scanloom.SessionOptions(optimize=optimize))
    with pytest.raises(scanloom.Unsupported, match="ReduceMax.* computes across the steps"):
        session.stream()


def test_models_without_loops_name_what_reads_the_input():
    session = scanloom.InferenceSession(parse("g (float[N] x) => (float[N] y) { y = Neg(x) }"))
    with pytest.raises(scanloom.Unsupported, match=r"\(Neg-13\) making 'y' reads 'x' without one"):
        session.stream()


def test_a_state_that_stays_in_a_loop_that_counts():
    """Its steps pick rows by their counter, which a pass writes as slices first."""
    model = parse(
        """g (float[T,3] x, float[3] s0, float[3] k0) => (float[3] s, float[3] k, float[T,3] y) {
          n = Shape <start = 0, end = 1> (x)
          z = Constant <value = int64[1] {0}> ()
          m = Squeeze(n, z)
          s, k, y = Loop <body = step (int64 i, bool c, float[3] a, float[3] b)
                              => (bool go, float[3] a2, float[3] b2, float[3] d) {
            r = Gather <axis = 0> (x, i)
            t = Mul(a, b)
            a2 = Add(t, r)
            b2 = Identity(b)
            d = Neg(a2)
            go = Identity(c)
          }> (m, , s0, k0)
        }"""
    )
    feeds = {"x": numbers(STEPS, 3), "s0": numbers(3), "k0": numbers(2, 3)[1]}
    check_pieces(scanloom.InferenceSession(model), feeds, begin=("s0", "k0"))
