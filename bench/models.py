"""The small loops of the questions, made with onnx.helper.

Run as a program, it writes them and the single-kernel models for kernels_bench.cpp:
python bench/models.py FOLDER"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import kernels
from model_file import IR_VERSION, OPSET, save

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

EMA_KEEP, EMA_TAKE = 0.9, 0.1
RNN_WIDTH = 64
COUNTER_STEPS = 1_000_000
# A low-pass filter at a tenth of the sampling rate: b0 b1 b2 a1 a2.
BIQUAD = np.array([0.0675, 0.1349, 0.0675, -1.1430, 0.4128], np.float32)


def _value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def _constant(name, array):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def _scan(path, nodes, shape, constants=(), outer=()):
    """Writes a Scan with one state h and one scanned x of `shape`; the nodes make next and y."""
    body = helper.make_graph(
        nodes,
        "body",
        [_value("h", F32, shape), _value("x", F32, shape)],
        [_value("next", F32, shape), _value("y", F32, shape)],
        list(constants),
    )
    scan = helper.make_node("Scan", ["h0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1)
    rows = ["steps", *shape]
    save(
        path,
        [scan],
        [_value("h0", F32, shape), _value("xs", F32, rows)],
        [_value("last", F32, shape), _value("ys", F32, rows)],
        outer,
    )


def empty_scan(path):
    nodes = [
        helper.make_node("Identity", ["h"], ["next"]),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    _scan(path, nodes, [1])


def ema(path):
    nodes = [
        helper.make_node("Mul", ["h", "keep"], ["kept"]),
        helper.make_node("Mul", ["x", "take"], ["taken"]),
        helper.make_node("Add", ["kept", "taken"], ["next"]),
        helper.make_node("Identity", ["next"], ["y"]),
    ]
    constants = [
        _constant("keep", np.array([EMA_KEEP], np.float32)),
        _constant("take", np.array([EMA_TAKE], np.float32)),
    ]
    _scan(path, nodes, [1], constants)


def rnn_weights():
    generator = np.random.default_rng(7)
    return (generator.standard_normal((RNN_WIDTH, RNN_WIDTH)) * 0.1).astype(np.float32)


def rnn(path):
    nodes = [
        helper.make_node("MatMul", ["h", "weights"], ["product"]),
        helper.make_node("Add", ["product", "x"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"]),
        helper.make_node("Identity", ["next"], ["y"]),
    ]
    _scan(path, nodes, [1, RNN_WIDTH], outer=[_constant("weights", rnn_weights())])


def _counter(path, with_rows, trips=None):
    """Counts from `start`; the trip count is an input, or the constant `trips` if given."""
    nodes = [
        helper.make_node("Add", ["count", "one"], ["next"]),
        helper.make_node("Identity", ["going"], ["go_on"]),
    ]
    body_outputs = [_value("go_on", BOOL, []), _value("next", I64, [])]
    outputs = [_value("last", I64, [])]
    if with_rows:
        nodes.append(helper.make_node("Identity", ["next"], ["row"]))
        body_outputs.append(_value("row", I64, []))
        outputs.append(_value("rows", I64, ["steps"]))
    body = helper.make_graph(
        nodes,
        "body",
        [_value("step", I64, []), _value("going", BOOL, []), _value("count", I64, [])],
        body_outputs,
        [_constant("one", np.int64(1))],
    )
    names = [value.name for value in outputs]
    loop = helper.make_node("Loop", ["trips", "", "start"], names, body=body)
    inputs = [_value("start", I64, [])]
    if trips is None:
        save(path, [loop], [_value("trips", I64, []), *inputs], outputs)
    else:
        save(path, [loop], inputs, outputs, [_constant("trips", np.int64(trips))])


def counter(path):
    _counter(path, with_rows=False)


def counter_rows(path):
    _counter(path, with_rows=True)


def counter_rows_fixed(path):
    _counter(path, with_rows=True, trips=COUNTER_STEPS)


def biquad(path):
    """A second-order filter in direct form 1: four states, one element per step."""
    nodes, total = [], ""
    for index, (name, value) in enumerate(
        [("b0", "x"), ("b1", "x1"), ("b2", "x2"), ("a1", "y1"), ("a2", "y2")]
    ):
        nodes.append(helper.make_node("Mul", [name, value], [f"term{index}"]))
        if index:
            operator = "Sub" if name.startswith("a") else "Add"
            result = "y" if index == 4 else f"sum{index}"
            nodes.append(helper.make_node(operator, [total, f"term{index}"], [result]))
        total = f"sum{index}" if index else "term0"
    for source, target in [("x", "x1n"), ("x1", "x2n"), ("y", "y1n"), ("y1", "y2n")]:
        nodes.append(helper.make_node("Identity", [source], [target]))
    states = ["x1", "x2", "y1", "y2"]
    body = helper.make_graph(
        nodes,
        "body",
        [_value(name, F32, [1]) for name in [*states, "x"]],
        [_value(name, F32, [1]) for name in [*(f"{name}n" for name in states), "y"]],
        [_constant(n, BIQUAD[i : i + 1]) for i, n in enumerate(["b0", "b1", "b2", "a1", "a2"])],
    )
    scan = helper.make_node(
        "Scan",
        [*(f"{name}_0" for name in states), "xs"],
        [*(f"{name}_last" for name in states), "ys"],
        body=body,
        num_scan_inputs=1,
    )
    save(
        path,
        [scan],
        [*(_value(f"{name}_0", F32, [1]) for name in states), _value("xs", F32, ["steps", 1])],
        [_value("ys", F32, ["steps", 1])],
    )


CHAIN_SHAPE = (2, 2)
_CHAIN_CONSTANTS = {
    "weights": np.array([[0, 1], [1, 0]], np.float32),
    "swapped": np.array([1, 0], np.int64),
    "one": np.array([1], np.int64),
    "three": np.array([3], np.int64),
    "zero": np.array([0], np.int64),
}
# Kind -> nodes that compute `target` from `source`; each of them needs its own call.
CHAINS = {
    "add": lambda source, target: [("Add", [source, "x"], [target], {})],
    "matmul": lambda source, target: [("MatMul", [source, "weights"], [target], {})],
    "gather": lambda source, target: [("Gather", [source, "swapped"], [target], {"axis": 0})],
    "concat": lambda source, target: [
        ("Concat", [source, "x"], [f"{target}_both"], {"axis": 0}),
        ("Slice", [f"{target}_both", "one", "three", "zero"], [target], {}),
    ],
}


def chain(path, kind, count):
    """A Scan with one state, whose body is a chain of `count` nodes of one kind."""
    nodes, source = [], "h"
    for index in range(count):
        target = "next" if index == count - 1 else f"link{index}"
        for operator, inputs, outputs, attributes in CHAINS[kind](source, target):
            nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        source = target
    nodes.append(helper.make_node("Identity", ["next"], ["y"]))
    constants = [_constant(name, array) for name, array in _CHAIN_CONSTANTS.items()]
    _scan(path, nodes, list(CHAIN_SHAPE), outer=constants)


NESTED_STEP = 0.5
_GRAPH = onnx.AttributeProto.GRAPH


def _field(number, content):
    """Encodes a message field by hand: protobuf's classes refuse to nest 300 levels."""
    length, encoded = len(content), bytearray([number << 3 | 2])
    while length > 127:
        encoded.append(length & 127 | 128)
        length >>= 7
    return bytes(encoded + bytes([length])) + content


def _graph_bytes(nodes, name, inputs, outputs, constants=()):
    """A GraphProto of nodes that are already encoded."""
    rest = helper.make_graph([], name, inputs, outputs, list(constants))
    return b"".join(_field(1, node) for node in nodes) + rest.SerializeToString()


def _node_bytes(operator, inputs, outputs, **bodies):
    node = helper.make_node(operator, inputs, outputs).SerializeToString()
    for name, graph in bodies.items():
        kind = onnx.AttributeProto(name=name, type=_GRAPH).SerializeToString()
        node += _field(5, kind + _field(6, graph))
    return node


def nested(path, kind, depth):
    """Counts `steps` times. If `going`, each step adds NESTED_STEP at each level of `depth` nested
    branches or loops; otherwise it adds nothing."""
    make = _branch if kind == "branches" else _short_loop
    nodes = []
    for level in reversed(range(depth)):
        nodes = make(nodes, level, depth)
    body = _graph_bytes(
        [_node_bytes("Identity", ["c"], ["go_on"]), _node_bytes("Identity", ["v"], ["into0"]), *nodes],
        "steps_body",
        [_value("i", I64, []), _value("c", BOOL, []), _value("v", F32, [2])],
        [_value("go_on", BOOL, []), _value("out0", F32, [2])],
    )
    graph = _graph_bytes(
        [_node_bytes("Loop", ["steps", "", "x0"], ["last"], body=body)],
        path.stem,
        [_value("x0", F32, [2]), _value("going", BOOL, []), _value("steps", I64, [])],
        [_value("last", F32, [2])],
        [_constant("more", np.full(2, NESTED_STEP, np.float32)), _constant("once", np.int64(1))],
    )
    head = onnx.ModelProto(ir_version=IR_VERSION, opset_import=[helper.make_opsetid("", OPSET)])
    path.write_bytes(head.SerializeToString() + _field(7, graph))


def _inside(deeper, level, depth, source):
    """The nodes of a level and the nested ones; they compute the sum, or `out` of the next
    level."""
    made = f"into{level + 1}"
    result = made if level == depth - 1 else f"out{level + 1}"
    return [_node_bytes("Add", [source, "more"], [made]), *deeper], result


def _branch(deeper, level, depth):
    nodes, result = _inside(deeper, level, depth, f"into{level}")
    same = _node_bytes("Identity", [f"into{level}"], [f"same{level}"])
    taken = _graph_bytes(nodes, f"taken{level}", [], [_value(result, F32, [2])])
    left = _graph_bytes([same], f"left{level}", [], [_value(f"same{level}", F32, [2])])
    return [_node_bytes("If", ["going"], [f"out{level}"], then_branch=taken, else_branch=left)]


def _short_loop(deeper, level, depth):
    """A loop of one step or none."""
    nodes, result = _inside(deeper, level, depth, f"state{level}")
    body = _graph_bytes(
        [_node_bytes("Identity", [f"c{level}"], [f"go_on{level}"]), *nodes],
        f"loop{level}",
        [_value(f"i{level}", I64, []), _value(f"c{level}", BOOL, []),
         _value(f"state{level}", F32, [2])],
        [_value(f"go_on{level}", BOOL, []), _value(result, F32, [2])],
    )
    return [_node_bytes("Loop", ["once", "going", f"into{level}"], [f"out{level}"], body=body)]


def _large_chain(count):
    """A chain of pointwise operators."""
    operators = ("Add", "Mul", "Sub", "Tanh", "Max")
    nodes, source = [], "x"
    for index in range(count):
        operator = operators[index % len(operators)]
        inputs = [source] if operator == "Tanh" else [source, f"k{index % 50}"]
        nodes.append(helper.make_node(operator, inputs, [f"v{index}"]))
        source = f"v{index}"
    generator = np.random.default_rng(6)
    constants = [
        _constant(f"k{index}", generator.uniform(0.9, 1.1, 16).astype(np.float32))
        for index in range(50)
    ]
    return nodes, source, constants


def _large_layers(count):
    """Products, biases, activations and reshapes with separate weights, as exporters unroll
    loops."""
    nodes, constants, source = [], [], "x"
    generator = np.random.default_rng(7)
    flat = _constant("flat", np.array([64], np.int64))
    back = _constant("back", np.array([4, 16], np.int64))
    for index in range(count // 5):
        weights = (generator.standard_normal((16, 16)) * 0.2).astype(np.float32)
        constants.append(_constant(f"w{index}", weights))
        constants.append(_constant(f"b{index}", generator.standard_normal(16).astype(np.float32)))
        names = [f"{step}{index}" for step in ("p", "s", "t", "f", "r")]
        nodes += [
            helper.make_node("MatMul", [source, f"w{index}"], [names[0]]),
            helper.make_node("Add", [names[0], f"b{index}"], [names[1]]),
            helper.make_node("Tanh", [names[1]], [names[2]]),
            helper.make_node("Reshape", [names[2], "flat"], [names[3]]),
            helper.make_node("Reshape", [names[3], "back"], [names[4]]),
        ]
        source = names[4]
    return nodes, source, [*constants, flat, back]


LARGE = {"pointwise": _large_chain, "layers": _large_layers}


def large(path, kind, count):
    nodes, result, constants = LARGE[kind](count)
    save(path, nodes, [_value("x", F32, [4, 16])], [_value(result, F32, [4, 16])], constants)


_MAKERS = (biquad, counter, counter_rows, counter_rows_fixed, ema, empty_scan, rnn)
MODELS = {maker.__name__: maker for maker in _MAKERS}


def write_all(folder):
    """Writes every model as FOLDER/<name>.onnx and returns {name: path}."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.onnx" for name in MODELS}
    for name, path in paths.items():
        MODELS[name](path)
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python bench/models.py FOLDER")
    write_all(pathlib.Path(sys.argv[1]) / "loops")
    kernels.write_all(pathlib.Path(sys.argv[1]) / "kernels")
