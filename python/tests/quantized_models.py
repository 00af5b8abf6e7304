"""Small models for onnxruntime's quantizer and optimizer: recurrent, convolutional, a transformer."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Collects nodes and weights. Weights are small, so that layers stay far from saturation."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(0)

    def weight(self, name, *shape, offset=0.0):
        value = (self.random.standard_normal(shape) * 0.3 + offset).astype(np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(self, name, value, dtype=np.int64):
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))

    def model(self, name, shape, result, opset):
        def info(value, sizes):
            return helper.make_tensor_value_info(value, TensorProto.FLOAT, sizes)

        graph = helper.make_graph(self.nodes, name, [info("x", shape)], [info("out", result)],
                                  self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    def input(self, *shape):
        return {"x": self.random.standard_normal(shape).astype(np.float32)}


def recurrent() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Two LSTM layers, the first in both directions, and a classifier of each step."""
    b, inputs, hidden = Builder(), 12, 16
    for i, (size, directions) in enumerate([(inputs, 2), (2 * hidden, 1)]):
        b.weight(f"w{i}", directions, 4 * hidden, size)
        b.weight(f"r{i}", directions, 4 * hidden, hidden)
        b.weight(f"b{i}", directions, 8 * hidden)
    b.node("LSTM", ["x", "w0", "r0", "b0"], ["both"], hidden_size=hidden, direction="bidirectional")
    b.node("Transpose", ["both"], ["rows"], perm=[0, 2, 1, 3])
    b.node("Reshape", ["rows", b.constant("joined", [0, 0, -1])], ["states"])
    b.node("LSTM", ["states", "w1", "r1", "b1"], ["all"], hidden_size=hidden)
    b.node("Squeeze", ["all", b.constant("one", [1])], ["last"])
    b.node("MatMul", ["last", b.weight("m", hidden, 10)], ["product"])
    b.node("Add", ["product", b.weight("mb", 10)], ["sum"])
    b.node("Softmax", ["sum"], ["out"], axis=-1)
    return b.model("recurrent", ["T", 2, inputs], ["T", 2, 10], 17), b.input(9, 2, inputs)


def convolutional() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Every operator that the quantizer has a quantized form of."""
    b = Builder()
    b.node("Conv", ["x", b.weight("w1", 8, 3, 3, 3), b.weight("b1", 8)], ["c1"], pads=[1] * 4)
    b.node("Relu", ["c1"], ["r1"])
    b.node("Conv", ["r1", b.weight("w2", 8, 8, 3, 3), b.weight("b2", 8)], ["c2"], pads=[1] * 4)
    b.node("Add", ["c2", "r1"], ["a"])
    b.node("LeakyRelu", ["a"], ["l"], alpha=0.1)
    b.node("AveragePool", ["l"], ["p1"], kernel_shape=[2, 2], strides=[2, 2])
    b.node("Conv", ["p1", b.weight("w3", 16, 8, 1, 1)], ["c3"])
    b.node("Sigmoid", ["c3"], ["s"])
    b.node("Mul", ["c3", "s"], ["m"])
    b.node("Concat", ["m", "s"], ["cat"], axis=1)
    b.node("MaxPool", ["cat"], ["p2"], kernel_shape=[2, 2], strides=[2, 2])
    b.node("Split", ["p2"], ["first", "second"], axis=1, num_outputs=2)
    b.node("GlobalAveragePool", ["first"], ["mean"])
    b.node("Flatten", ["mean"], ["flat"])
    b.node("Gemm", ["flat", b.weight("g", 16, 10), b.weight("gb", 10)], ["gemm"])
    b.node("Softmax", ["gemm"], ["out"])
    return b.model("convolutional", ["N", 3, 16, 16], ["N", 10], 18), b.input(2, 3, 16, 16)


def transformer() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One layer of an encoder."""
    b, width, heads = Builder(), 16, 2
    b.constant("heads", [0, 0, heads, width // heads])
    for name in "qkv":
        b.node("MatMul", ["x", b.weight(f"w{name}", width, width)], [f"{name}0"])
        b.node("Reshape", [f"{name}0", "heads"], [f"{name}1"])
        b.node("Transpose", [f"{name}1"], [name],
               perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    b.node("MatMul", ["q", "k"], ["s0"])
    b.node("Mul", ["s0", b.constant("scale", 0.3535, np.float32)], ["s1"])
    b.node("Softmax", ["s1"], ["s2"], axis=-1)
    b.node("MatMul", ["s2", "v"], ["o0"])
    b.node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3])
    b.node("Reshape", ["o1", b.constant("packed", [0, 0, width])], ["o2"])
    b.node("MatMul", ["o2", b.weight("wo", width, width)], ["o3"])
    b.node("Add", ["o3", b.weight("bo", width)], ["o4"])
    b.node("Add", ["o4", "x"], ["sum0"])
    b.weight("gamma", width, offset=1)
    b.weight("beta", width)
    b.node("LayerNormalization", ["sum0", "gamma", "beta"], ["n"])
    b.node("MatMul", ["n", b.weight("w1", width, 32)], ["f0"])
    b.node("Add", ["f0", b.weight("b1", 32)], ["f1"])
    b.node("Div", ["f1", b.constant("root", 2**0.5, np.float32)], ["e0"])
    b.node("Erf", ["e0"], ["e1"])
    b.node("Add", ["e1", b.constant("1", 1, np.float32)], ["e2"])
    b.node("Mul", ["f1", "e2"], ["e3"])
    b.node("Mul", ["e3", b.constant("half", 0.5, np.float32)], ["f2"])
    b.node("MatMul", ["f2", b.weight("w2", 32, width)], ["f3"])
    b.node("Add", ["f3", b.weight("b2", width)], ["f4"])
    b.node("Add", ["f4", "n"], ["sum1"])
    b.node("LayerNormalization", ["sum1", "gamma", "beta"], ["out"])
    return b.model("transformer", [2, 7, width], [2, 7, width], 17), b.input(2, 7, width)


MODELS = {"recurrent": recurrent, "convolutional": convolutional, "transformer": transformer}
