"""Runs the command line for its tests, and builds the small models that they run."""

import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SCANLOOM_BUILD", PROJECT / "build" / "release"))
PROGRAM = BUILD / "bin" / "scanloom"
MODELS = PROJECT / "build" / "cache" / "silero-vad"
RECORDINGS = PROJECT / "build" / "cache" / "recordings"

# The one place where a version is written.
VERSION = re.search(r"project\(scanloom VERSION (\S+)", (PROJECT / "CMakeLists.txt").read_text())[1]

FINE, DIFFERS, BAD, LIMIT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141


def scanloom(*arguments, cwd=None, expect=FINE):
    """Runs the program and returns what it printed, after a look at its exit status."""
    answer = subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert answer.returncode == expect, (answer.returncode, answer.stdout, answer.stderr)
    return answer


def save(graph, path, opset=16):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, str(path))
    return path


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def sums_model(path):
    """y[t] = x[0] + ... + x[t], and the last of them, by a Scan."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["before", "x_t"], ["after"], name="add_up"),
            helper.make_node("Identity", ["after"], ["y_t"]),
        ],
        "body",
        [tensor("before", [2]), tensor("x_t", [2])],
        [tensor("after", [2]), tensor("y_t", [2])],
    )
    scan = helper.make_node(
        "Scan", ["start", "x"], ["last", "y"], name="sums", num_scan_inputs=1, body=body
    )
    inputs = [tensor("start", [2]), tensor("x", ["T", 2])]
    outputs = [tensor("last", [2]), tensor("y", ["T", 2])]
    return save(helper.make_graph([scan], "sums", inputs, outputs), path)


def endless_model(path):
    """Counts to 10^12."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["go_on"]),
            helper.make_node("Add", ["count", "one"], ["next"], name="count_up"),
        ],
        "body",
        [
            tensor("i", [], TensorProto.INT64),
            tensor("going", [], TensorProto.BOOL),
            tensor("count", []),
        ],
        [tensor("go_on", [], TensorProto.BOOL), tensor("next", [])],
    )
    loop = helper.make_node("Loop", ["trips", "", "zero"], ["count_out"], name="endless", body=body)
    values = [
        helper.make_tensor("trips", TensorProto.INT64, [], [10**12]),
        helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0]),
        helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
    ]
    graph = helper.make_graph([loop], "endless", [], [tensor("count_out", [])], values)
    return save(graph, path)


def softmax_model(path):
    """A softmax of the columns, which takes several calls; one of the rows, which is one call
    together with the nodes around it; and an output that is an input: what no node makes."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["y"], name="columns", axis=0),
        helper.make_node("Mul", ["x", "x"], ["squares"], name="squared"),
        helper.make_node("Softmax", ["squares"], ["shares"], name="rows", axis=1),
        helper.make_node("Neg", ["shares"], ["z"], name="minus"),
        helper.make_node("Identity", ["x"], ["same"]),
    ]
    sizes = [200, 300]  # large enough for the share of every call to be printed
    outputs = [tensor(name, sizes) for name in ("y", "z", "same")]
    return save(helper.make_graph(nodes, "softmax", [tensor("x", sizes)], outputs), path)


def product_model(path):
    """h' = tanh(h W + x): a Scan whose body is no element program."""
    width = 40
    weights = np.random.default_rng(3).uniform(-0.1, 0.1, (width, width)).astype(np.float32)
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["h", "W"], ["hw"], name="times"),
            helper.make_node("Add", ["hw", "x_t"], ["sum"], name="plus"),
            helper.make_node("Tanh", ["sum"], ["next"], name="bent"),
            helper.make_node("Identity", ["next"], ["row"]),
        ],
        "body",
        [tensor("h", [width]), tensor("x_t", [width])],
        [tensor("next", [width]), tensor("row", [width])],
        [onnx.numpy_helper.from_array(weights, "W")],
    )
    scan = helper.make_node(
        "Scan", ["start", "x"], ["last", "rows"], name="steps", body=body, num_scan_inputs=1
    )
    inputs = [tensor("start", [width]), tensor("x", ["T", width])]
    outputs = [tensor("last", [width]), tensor("rows", ["T", width])]
    return save(helper.make_graph([scan], "product", inputs, outputs), path)


def typed_model(path):
    """Passes one tensor of each of some types on."""
    types = {
        "half": TensorProto.FLOAT16,
        "double": TensorProto.DOUBLE,
        "byte": TensorProto.UINT8,
        "long": TensorProto.INT64,
        "truth": TensorProto.BOOL,
    }
    nodes = [helper.make_node("Identity", [name], [name + "_out"]) for name in types]
    inputs = [tensor(name, ["N"], dtype) for name, dtype in types.items()]
    outputs = [tensor(name + "_out", ["N"], dtype) for name, dtype in types.items()]
    return save(helper.make_graph(nodes, "typed", inputs, outputs), path)


def broken_model(path):
    """Two mistakes: an operator that does not exist, and one with too few inputs."""
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="unknown"),
        helper.make_node("Add", ["x"], ["b"], name="lonely"),
    ]
    graph = helper.make_graph(
        nodes, "broken", [tensor("x", [2])], [tensor("a", [2]), tensor("b", [2])]
    )
    return save(graph, path)


def save_tensor(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(onnx.numpy_helper.from_array(np.asarray(array)).SerializeToString())
