"""Nodes that one call computes: element-wise ones, softmax and normalizations with their neighbours,
convolutions with what follows.
All executions and numbers of threads give the same bits; numpy says which numbers."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import scanloom

SHAPES = [(1, 7), (5, 64), (17, 255), (33, 256), (2, 3, 1000), (3, 4097), (1, 20000), (600, 8)]


def model_of(nodes, feeds, constants, results):
    graph = helper.make_graph(
        nodes,
        "groups",
        [helper.make_tensor_value_info(name, 1, value.shape) for name, value in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def run(nodes, feeds, constants, results):
    """The results, the same for every execution and number of threads."""
    model = model_of(nodes, feeds, constants, results)
    wanted = scanloom.InferenceSession(model, execution="interpreted").run(None, feeds)
    for threads in (1, 2, 7):
        found = scanloom.InferenceSession(model, threads=threads).run(None, feeds)
        for one, other in zip(found, wanted):
            np.testing.assert_array_equal(one, other, strict=True)
    return wanted


def randoms(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax_of_scores(shape):
    feeds = {"x": randoms(*shape), "mask": (randoms(shape[-1]) > 1) * np.float32(-1e9)}
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "mask"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["y"], axis=-1),
        helper.make_node("LogSoftmax", ["scores"], ["z"], axis=-1),
    ]
    y, z = run(nodes, feeds, {"scale": np.float32(0.3)}, ["y", "z"])
    scores = feeds["x"].astype(np.float64) * np.float32(0.3) + feeds["mask"]
    logs = scores - scores.max(-1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    np.testing.assert_allclose(y, np.exp(logs), rtol=3e-6, atol=1e-12)
    np.testing.assert_allclose(z, logs, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_normalization_of_a_sum(shape):
    feeds = {"x": randoms(*shape), "skip": randoms(*shape)[..., ::-1].copy()}
    constants = {"gamma": randoms(shape[-1]), "beta": randoms(1, shape[-1])[0]}
    nodes = [
        helper.make_node("Add", ["x", "skip"], ["sum"]),
        helper.make_node(
            "LayerNormalization", ["sum", "gamma", "beta"], ["normal", "mean", "inverse"]
        ),
        helper.make_node("Sigmoid", ["normal"], ["gate"]),
        helper.make_node("Mul", ["normal", "gate"], ["y"]),
    ]
    results = ["y", "sum", "mean", "inverse"]
    y, total, mean, inverse = run(nodes, feeds, constants, results)
    x = (feeds["x"] + feeds["skip"]).astype(np.float64)
    np.testing.assert_array_equal(total, feeds["x"] + feeds["skip"])
    np.testing.assert_allclose(mean, x.mean(-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(
        inverse, 1 / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5)), rtol=1e-5
    )
    normal = (x - x.mean(-1, keepdims=True)) * inverse * constants["gamma"] + constants["beta"]
    np.testing.assert_allclose(y, normal / (1 + np.exp(-normal)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(4, 5), (16, 16), (64, 64), (70, 71)], ids=str)
def test_instances_with_transposed_operands(size):
    feeds = {"x": randoms(2, *size, 3)}
    constants = {"scale": randoms(3), "bias": randoms(1, 3)[0]}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 2, 1]),
        helper.make_node("InstanceNormalization", ["t", "scale", "bias"], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    (y,) = run(nodes, feeds, constants, ["y"])
    x = feeds["x"].transpose(0, 3, 2, 1).astype(np.float64)
    centred = x - x.mean((2, 3), keepdims=True)
    normal = centred / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    channels = [constants[name].reshape(3, 1, 1) for name in ("scale", "bias")]
    np.testing.assert_allclose(y, np.maximum(normal * channels[0] + channels[1], 0), atol=1e-5)


CONVOLUTIONS = {
    # input, weights, attributes of the node
    "dense": ((2, 6, 9, 11), (10, 6, 3, 3), {"pads": [1, 1, 1, 1]}),
    "many_filters": ((1, 12, 25, 26), (40, 12, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strided": ((1, 5, 51, 50), (34, 5, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "depthwise": ((2, 7, 14, 13), (7, 1, 5, 5), {"pads": [2, 2, 2, 2], "group": 7}),
    "pointwise": ((1, 20, 7, 7), (36, 20, 1, 1), {}),
    "large_pointwise": ((1, 20, 30, 31), (36, 20, 1, 1), {}),
    "one_position": ((1, 30, 1, 1), (12, 30, 1, 1), {}),
    "signal": ((2, 8, 300), (16, 8, 7), {"pads": [9, 9], "dilations": [3]}),
    "wide": ((1, 20, 9, 9), (40, 20, 3, 3), {"pads": [6] * 4, "dilations": [6, 6]}),
    "trimmed": ((1, 3, 6, 6), (9, 3, 3, 3), {"pads": [12] * 4, "dilations": [12, 12]}),
}


def convolved(x, weights, bias, attributes):
    """What numpy computes in f64, window by window."""
    axes = x.ndim - 2
    pads, strides, dilations = (
        attributes.get(name, [least] * axes)[:axes]
        for name, least in (("pads", 0), ("strides", 1), ("dilations", 1))
    )
    reach = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], dilations)]
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((pad, pad) for pad in pads)])
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, x.ndim)))
    steps = tuple(slice(None, None, step) for step in [*strides, *dilations])
    windows = windows[(slice(None), slice(None), *steps)]
    channels = weights.shape[1]
    filters = weights.shape[0] // attributes.get("group", 1)
    results = [
        np.tensordot(
            windows[:, f // filters * channels :][:, :channels],
            weights[f].astype(np.float64),
            ([1, *range(2 + axes, 2 + 2 * axes)], list(range(1 + axes))),
        )
        + bias[f]
        for f in range(weights.shape[0])
    ]
    return np.stack(results, axis=1)


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_with_what_follows(case):
    sizes, filters, attributes = CONVOLUTIONS[case]
    generator = np.random.default_rng(5)
    feeds = {"x": generator.standard_normal(sizes).astype(np.float32)}
    weights = generator.standard_normal(filters).astype(np.float32) / 8
    bias = generator.standard_normal(filters[0]).astype(np.float32)
    scale = generator.standard_normal((filters[0],) + (1,) * (len(sizes) - 2)).astype(np.float32)
    constants = {
        "w": weights,
        "b": bias,
        "scale": scale,
        "zero": np.float32(0),
        "six": np.float32(6),
        "three": np.float32(3),
        **{f"number{i}": np.float32(0.1 * (i + 1)) for i in range(20)},
    }
    convolution = helper.make_node("Conv", ["x", "w", "b"], ["c"], **attributes)
    wanted = convolved(feeds["x"], weights, bias, attributes)
    residual = generator.standard_normal(wanted.shape).astype(np.float32)

    followers = {
        "relu": ([helper.make_node("Relu", ["c"], ["y"])], lambda c: np.maximum(c, 0)),
        "clip": (
            [helper.make_node("Clip", ["c", "zero", "six"], ["y"])],
            lambda c: np.clip(c, 0, 6),
        ),
        "silu": (
            [
                helper.make_node("Sigmoid", ["c"], ["gate"]),
                helper.make_node("Mul", ["c", "gate"], ["y"]),
            ],
            lambda c: c / (1 + np.exp(-c)),
        ),
        "hard_swish": (
            [helper.make_node("HardSwish", ["c"], ["y"])],
            lambda c: c * np.clip(c / 6 + 0.5, 0, 1),
        ),
        "hard_swish_between_lines": (
            [
                helper.make_node("Mul", ["number3", "c"], ["scaled"]),
                helper.make_node("Add", ["scaled", "number7"], ["line"]),
                helper.make_node("Add", ["line", "three"], ["moved"]),
                helper.make_node("Clip", ["moved", "zero", "six"], ["gate"]),
                helper.make_node("Mul", ["line", "gate"], ["gated"]),
                helper.make_node("Div", ["gated", "six"], ["swish"]),
                helper.make_node("Mul", ["number1", "swish"], ["shrunk"]),
                helper.make_node("Add", ["shrunk", "number4"], ["y"]),
            ],
            lambda c: (lambda t: t * np.clip(t + 3, 0, 6) / 6)(c * 0.4 + 0.8) * 0.2 + 0.5,
        ),
        "more_numbers_than_a_call_takes": (
            [
                helper.make_node(
                    "Add", [f"s{i}" if i else "c", f"number{i}"], [f"s{i + 1}" if i < 19 else "y"]
                )
                for i in range(20)
            ],
            lambda c: c + 21,
        ),
        "residual": (
            [
                helper.make_node("Mul", ["c", "scale"], ["scaled"]),
                helper.make_node("Add", ["r", "scaled"], ["sum"]),
                helper.make_node("LeakyRelu", ["sum"], ["y"], alpha=0.1),
            ],
            lambda c: (lambda t: np.where(t < 0, t * 0.1, t))(c * scale + residual),
        ),
    }
    for name, (nodes, function) in followers.items():
        given = feeds | ({"r": residual} if name == "residual" else {})
        (y,) = run([convolution, *nodes], given, constants, ["y"])
        np.testing.assert_allclose(y, function(wanted), rtol=2e-5, atol=2e-5, err_msg=name)


def test_convolutions_whose_results_are_read_elsewhere():
    feeds = {"x": randoms(1, 6, 9, 9)}
    constants = {"v": randoms(8, 6, 3, 3), "w": randoms(8, 6, 3, 3)[::-1].copy()}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["first"]),
        helper.make_node("Conv", ["x", "v"], ["second"]),
        helper.make_node("Add", ["first", "second"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
        helper.make_node("ReduceMean", ["y"], ["mean"], axes=[2, 3]),
        helper.make_node("Greater", ["second", "first"], ["greater"]),
    ]
    y, mean, greater, first = run(nodes, feeds, constants, ["y", "mean", "greater", "first"])
    (second,) = run(nodes, feeds, constants, ["second"])
    np.testing.assert_array_equal(y, np.maximum(first + second, 0))
    np.testing.assert_array_equal(greater, second > first)
    np.testing.assert_allclose(mean, y.mean((2, 3), keepdims=True), rtol=1e-6)
