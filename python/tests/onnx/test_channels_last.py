"""Convolutions whose results stay with their channels last from node to node. All executions and
numbers of threads give the same bits; onnx's reference evaluator says which numbers."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import scanloom


class Network:
    """Collects nodes and random constants; every method returns the name of its result."""

    def __init__(self, dtype):
        self.random = np.random.default_rng(3)
        self.dtype, self.nodes, self.constants = dtype, [], {}

    def constant(self, *shape):
        name = f"c{len(self.constants)}"
        value = self.random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))
        self.constants[name] = value.astype(self.dtype)
        return name

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def conv(self, x, channels, filters, kernel=1, bias=True, **attributes):
        weights = self.constant(filters, channels, kernel, kernel)
        pads = [kernel // 2] * 4
        more = [self.constant(filters)] if bias else []
        return self.node("Conv", x, weights, *more, pads=pads, **attributes)

    def scaled(self, x, channels):
        """As a batch normalization with the constants folded."""
        product = self.node("Mul", x, self.constant(1, channels, 1, 1))
        return self.node("Add", product, self.constant(channels, 1, 1))


def model_of(network, result, *shape):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(network.dtype))
    graph = helper.make_graph(
        network.nodes,
        "network",
        [helper.make_tensor_value_info("x", kind, shape)],
        [onnx.ValueInfoProto(name=result)],
        [numpy_helper.from_array(value, name) for name, value in network.constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(network, result, *shape):
    model = model_of(network, result, *shape)
    feeds = {"x": network.random.standard_normal(shape).astype(network.dtype)}
    text = model.SerializeToString()
    [wanted] = scanloom.InferenceSession(text, execution="interpreted").run(None, feeds)
    for threads in (1, 2, 7):
        [found] = scanloom.InferenceSession(text, threads=threads).run(None, feeds)
        np.testing.assert_array_equal(found, wanted, strict=True)
    [numbers] = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(wanted, numbers, rtol=1e-4, atol=1e-4 * np.abs(numbers).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residual_blocks(dtype):
    net = Network(dtype)
    stem = net.node("Relu", net.scaled(net.conv("x", 3, 32, 7, bias=False, strides=[2, 2]), 32))
    x = net.node("MaxPool", stem, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for channels, stride in ((32, 1), (64, 2), (64, 1)):
        y = net.node("Relu", net.scaled(net.conv(x, channels, 32), 32))
        y = net.node("Relu", net.scaled(net.conv(y, 32, 32, 3, strides=[stride] * 2), 32))
        y = net.scaled(net.conv(y, 32, 64, bias=False), 64)
        if (channels, stride) != (64, 1):
            x = net.conv(x, channels, 64, strides=[stride] * 2)
        x = net.node("Relu", net.node("Add", y, x))
    check(net, net.node("GlobalAveragePool", x), 2, 3, 45, 50)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_branches_that_are_merged(dtype):
    net = Network(dtype)
    x = net.node("Relu", net.conv("x", 4, 32, 3))
    for _ in range(2):
        squeezed = net.node("Relu", net.conv(x, 32, 16))
        wide = net.node("Relu", net.conv(squeezed, 16, 16, 3))
        pooled = net.node("AveragePool", squeezed, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        x = net.node("Concat", wide, pooled, axis=1)
        x = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 1])
    check(net, net.node("AveragePool", x, kernel_shape=[4, 14]), 1, 4, 16, 16)


def test_other_functions_and_many_channels():
    net = Network(np.float32)
    x = net.node("HardSwish", net.conv("x", 8, 1024))
    y = net.conv(x, 1024, 256, strides=[2, 2])
    y = net.node("Mul", y, net.node("Sigmoid", y))
    z = net.node("LeakyRelu", net.conv(y, 256, 512, 3))
    z = net.node("Clip", net.conv(z, 512, 48, 3), net.constant(), "")
    check(net, net.conv(z, 48, 33, 3), 1, 8, 9, 9)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_sums_that_are_not_finite(dtype, tmp_path):
    # Only these read the weights themselves once a plan has transformed them. Pages of a file that
    # hold them have been given back to the system by then.
    net = Network(dtype)
    x = net.node("Relu", net.conv("x", 128, 64, 3))
    x = net.node("Conv", x, net.constant(96, 64, 3, 3), pads=[2, 1, 2, 1], dilations=[2, 1])
    feeds = {"x": net.random.standard_normal((2, 128, 9, 11)).astype(dtype)}
    feeds["x"][0, 3, 4, 5] = np.inf
    feeds["x"][1, 5, 8, 8] = np.nan
    path = tmp_path / "model.onnx"
    onnx.save(model_of(net, x, *feeds["x"].shape), path)
    [wanted] = scanloom.InferenceSession(str(path), execution="interpreted").run(None, feeds)
    assert 0 < np.isnan(wanted).sum() < wanted.size / 2
    for threads in (1, 7):
        session = scanloom.InferenceSession(str(path), threads=threads)
        for _ in range(2):
            np.testing.assert_array_equal(session.run(None, feeds)[0], wanted, strict=True)
