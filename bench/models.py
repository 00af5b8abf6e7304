"""The small loops that the questions run, made with onnx.helper.

Called by hand it writes them, and the models of single kernels, for kernels_bench.cpp:
python bench/models.py FOLDER"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 17
IR_VERSION = 8
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


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, list(constants))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _scan(path, nodes, shape, constants=(), outer=()):
    """One state h and one scanned x of `shape`; the body's nodes make next and y."""
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
    """Counts from `start`; the trip count is an input, or a constant where `trips` gives it."""
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
    """Second-order filter in direct form 1: four states, one element per step."""
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
    import kernels

    write_all(pathlib.Path(sys.argv[1]) / "loops")
    kernels.write_all(pathlib.Path(sys.argv[1]) / "kernels")
