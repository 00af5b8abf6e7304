"""Weights whose bytes in the file are at no aligned address: a protobuf says nothing about where
they begin."""

import memory_use
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import scanloom

SIDE = 192  # 147,456 bytes
RNG = np.random.default_rng(5)
WEIGHTS = RNG.standard_normal((SIDE, SIDE)).astype(np.float32)
ROWS = RNG.standard_normal((SIDE,)).astype(np.float32)


def save(path, nodes, weights, outputs, side=SIDE):
    """Writes the model so that the weights begin at all remainders by 4, one after another."""
    tensors = []
    for i, (name, value) in enumerate(weights.items()):
        # An odd number of bytes moves all that follow.
        tensors.append(numpy_helper.from_array(np.zeros(i + 1, np.uint8), f"filler{i}"))
        tensors.append(numpy_helper.from_array(value, name))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", side])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return str(path)


def addresses(path, weights):
    """The remainders by 4 of the places of the weights in the file."""
    with open(path, "rb") as file:
        data = file.read()
    return {data.index(value.tobytes()) % 4 for value in weights.values()}


def layers(count, weight=WEIGHTS):
    """`count` products one after another, with weights of their own."""
    weights = {f"w{i}": (weight + np.float32(i)) / 100 for i in range(count)}
    names = ["x", *(f"h{i}" for i in range(count - 1)), "y"]
    nodes = [
        helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(count)
    ]
    return nodes, weights


def expected(x, weights):
    for w in weights.values():
        x = x.astype(np.float64) @ w
    return x


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_products_with_weights_at_all_addresses(tmp_path, rows):
    nodes, weights = layers(8)
    path = save(tmp_path / "m.onnx", nodes, weights, ["y"])
    assert addresses(path, weights) == {0, 1, 2, 3}
    x = RNG.standard_normal((rows, SIDE)).astype(np.float32)
    session = scanloom.InferenceSession(path)
    (y,) = session.run(None, {"x": x})
    want = expected(x, weights)
    assert np.abs(y - want).max() <= 1e-5 * np.abs(want).max()
    # The same with another number of rows in between, which another kernel may take.
    session.run(None, {"x": x[:1]})
    session.run(None, {"x": x[:1].repeat(7, 0)})
    np.testing.assert_array_equal(y, session.run(None, {"x": x})[0])


READERS = {
    "a product and a sum": [("MatMul", ["x", "w1"], ["y"]), ("Add", ["w1", "row"], ["z"])],
    "products from both sides": [("MatMul", ["x", "w1"], ["y"]), ("MatMul", ["w1", "w2"], ["z"])],
    "transposed": [("Gemm", ["x", "w1"], ["y"], {"transB": 1})],
    "a result": [("MatMul", ["x", "w1"], ["y"]), ("Identity", ["w1"], ["z"])],
    "rows": [("Gather", ["w1", "at"], ["z"]), ("MatMul", ["x", "w1"], ["y"])],
    "matrices between each other's rows": [
        ("Reshape", ["w1", "sizes"], ["many"]),
        ("Reshape", ["x", "sizes_of_x"], ["rows"]),
        ("Einsum", ["rows", "many"], ["z"], {"equation": "bik,kbj->bij"}),
    ],
    "sliced": [("Slice", ["w1", "from", "to"], ["part"]), ("MatMul", ["x", "part"], ["y"])],
}


@pytest.mark.parametrize("case", READERS)
def test_other_readers_of_weights(tmp_path, case):
    nodes = [
        helper.make_node(op, inputs, outputs, **(attributes[0] if attributes else {}))
        for op, inputs, outputs, *attributes in READERS[case]
    ]
    weights = {"filled": np.ones(3, np.float32), "w1": WEIGHTS, "w2": WEIGHTS.T.copy()}
    weights |= {"row": ROWS, "at": np.array([5, 0, 190])}
    weights |= {"from": np.array([0, 3]), "to": np.array([SIDE, 100])}
    weights |= {"sizes": np.array([64, 24, 24]), "sizes_of_x": np.array([24, -1, 64])}
    made = [name for _, _, (name,), *_ in READERS[case] if name in "yz"]
    path = save(tmp_path / "m.onnx", nodes, weights, made)
    x = RNG.standard_normal((8, SIDE)).astype(np.float32)
    reference = ReferenceEvaluator(path).run(None, {"x": x})
    for got, want in zip(scanloom.InferenceSession(path).run(None, {"x": x}), reference):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("level", ["ORT_ENABLE_ALL", "ORT_DISABLE_ALL"])
def test_weights_inside_of_branches(tmp_path, level):
    y = helper.make_tensor_value_info("of_branch", TensorProto.FLOAT, ["A", SIDE])
    product = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w1"], ["of_branch"])], "product", [], [y]
    )
    weight = helper.make_graph(
        [helper.make_node("Identity", ["w1"], ["of_branch"])], "weight", [], [y]
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "limit"], ["large"]),
        helper.make_node("If", ["large"], ["some"], then_branch=product, else_branch=weight),
        helper.make_node("Add", ["some", "row"], ["y"]),
    ]
    weights = {"one": np.ones(3, np.float32), "w1": WEIGHTS, "row": ROWS}
    weights["limit"] = np.float32(100)
    path = save(tmp_path / "m.onnx", nodes, weights, ["y"])
    options = scanloom.SessionOptions()
    options.graph_optimization_level = getattr(scanloom.GraphOptimizationLevel, level)
    session = scanloom.InferenceSession(path, options)
    x = RNG.standard_normal((3, SIDE)).astype(np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], WEIGHTS + ROWS)
    x[0, 0] = 1000
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ WEIGHTS + ROWS, atol=1e-3)


def test_weights_inside_of_loops(tmp_path):
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["h", "w1"], ["m"]),
            helper.make_node("Tanh", ["m"], ["next"]),
            helper.make_node("Identity", ["go"], ["goes"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h", TensorProto.FLOAT, ["N", SIDE]),
        ],
        [
            helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, ["N", SIDE]),
        ],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["start"]),
        helper.make_node("Loop", ["trips", "", "start"], ["y"], body=body),
    ]
    weights = {"one": np.ones(3, np.float32), "w1": WEIGHTS / 14, "trips": np.array(4)}
    path = save(tmp_path / "m.onnx", nodes, weights, ["y"])
    x = RNG.standard_normal((2, SIDE)).astype(np.float32)
    (y,) = scanloom.InferenceSession(path).run(None, {"x": x})
    want = x @ weights["w1"]
    for _ in range(4):
        want = np.tanh(want @ weights["w1"])
    np.testing.assert_allclose(y, want, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("depth, columns", [(301, 203), (1100, 901)])
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_have_the_bits_of_fed_matrices(tmp_path, dtype, transposed, depth, columns, rows):
    weights = {"w": RNG.standard_normal((depth, columns)).astype(dtype)}
    if transposed:
        weights["w"] = weights["w"].T.copy()
    x = RNG.standard_normal((rows, depth)).astype(dtype)
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"], transB=transposed)]
    for got, want in bits_of_constants_and_inputs(tmp_path / "m.onnx", nodes, x, weights):
        np.testing.assert_array_equal(got, want)


# x, weights, and the attributes of a convolution.
CONVOLUTIONS = {
    "by filters": ((1, 300, 9), (256, 300, 3), dict(pads=[1, 1])),
    "few taps": ((1, 3, 40, 40), (48, 3, 17, 17), {}),
    "groups": ((2, 64, 20, 21), (96, 32, 5, 3), dict(group=2, pads=[2, 1, 2, 1])),
    "minimal filtering": ((1, 64, 20, 21), (64, 64, 3, 3), dict(pads=[1, 1, 1, 1])),
    "one position": ((2, 160, 20, 21), (256, 160, 1, 1), {}),
    "single channels": ((1, 1700, 9, 8), (1700, 1, 5, 5), dict(group=1700)),
    "strides": ((1, 64, 20, 21), (64, 64, 3, 3), dict(strides=[2, 2])),
    "wide dilations": ((1, 64, 9, 9), (64, 64, 3, 3), dict(dilations=[6, 6], pads=[6] * 4)),
    "wider dilations": ((1, 64, 9, 9), (64, 64, 3, 3), dict(dilations=[9, 9], pads=[9] * 4)),
}


def bits_of_constants_and_inputs(path, nodes, x, weights):
    """Results of nodes whose weights are constants at all remainders by 4 in turn, and those where
    they are inputs."""
    types = {name: helper.np_dtype_to_tensor_dtype(v.dtype) for name, v in weights.items()}
    fed = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)]
    y = [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), None)]

    def run(inputs, tensors, feeds):
        graph = helper.make_graph(nodes, "g", fed + inputs, y, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        onnx.save(model, path)
        return scanloom.InferenceSession(str(path)).run(None, feeds)[0]

    inputs = [
        helper.make_tensor_value_info(name, types[name], v.shape) for name, v in weights.items()
    ]
    want = run(inputs, [], {"x": x, **weights})
    for filler in range(4):
        tensors = [numpy_helper.from_array(np.zeros(filler + 1, np.uint8), "filler")]
        tensors += [numpy_helper.from_array(value, name) for name, value in weights.items()]
        yield run([], tensors, {"x": x}), want


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_with_weights_at_all_addresses(tmp_path, case, dtype):
    of_x, of_w, attributes = CONVOLUTIONS[case]
    x = RNG.standard_normal(of_x).astype(dtype)
    x[0, 0, 0] = np.inf  # sums that are not finite read the weights as they are stored
    weights = {"w": RNG.standard_normal(of_w).astype(dtype)}
    weights["b"] = RNG.standard_normal(of_w[0]).astype(dtype)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)]
    for got, want in bits_of_constants_and_inputs(tmp_path / "m.onnx", nodes, x, weights):
        np.testing.assert_array_equal(got, want)
    # One call computes both nodes.
    nodes[0].output[0] = "c"
    nodes.append(helper.make_node("Relu", ["c"], ["y"]))
    for got, want in bits_of_constants_and_inputs(tmp_path / "m.onnx", nodes, x, weights):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_layers_with_weights_at_all_addresses(tmp_path, op, gates):
    hidden = 160
    x = RNG.standard_normal((5, 2, 130)).astype(np.float32)
    weights = {
        "w": RNG.standard_normal((2, gates * hidden, 130)).astype(np.float32) / 10,
        "r": RNG.standard_normal((2, gates * hidden, hidden)).astype(np.float32) / 10,
        "b": RNG.standard_normal((2, 2 * gates * hidden)).astype(np.float32),
        "h": RNG.standard_normal((2, 2, hidden)).astype(np.float32),
    }
    node = helper.make_node(
        op, ["x", "w", "r", "b", "", "h"], ["y"], hidden_size=hidden, direction="bidirectional"
    )
    for got, want in bits_of_constants_and_inputs(tmp_path / "m.onnx", [node], x, weights):
        np.testing.assert_array_equal(got, want)


SIDE_OF_LARGE, LARGE = 1024, 12  # 4 MB each


def test_packed_weights_have_no_other_copy(tmp_path):
    size = LARGE * SIDE_OF_LARGE**2 * 4
    assert memory_use.measured(__file__, str(tmp_path / "m.onnx")) < 1.4 * size


def measure(path):
    """Returns by how much the process grows when it runs a large model once."""
    weight = np.full((SIDE_OF_LARGE, SIDE_OF_LARGE), 0.5, np.float32)
    nodes, weights = layers(LARGE, weight)
    save(path, nodes, weights, ["y"], side=SIDE_OF_LARGE)
    x = np.ones((8, SIDE_OF_LARGE), np.float32)
    # The libraries' own memory and that of compiled code are not asked about.
    scanloom.InferenceSession(path).run(None, {"x": x})
    return memory_use.growth(lambda: scanloom.InferenceSession(path).run(None, {"x": x}))
