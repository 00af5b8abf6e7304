"""Operators that onnxruntime's optimizer writes: against onnxruntime and, where it has no kernel
for CPUs, numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, case, feeds_of, model_of, one_run
from onnx import TensorProto, helper
from single_node import SYMBOLIC, close, randoms, refused, run, run_every_way

import scanloom

F32 = np.float32


def activation_cases():
    x, bias = randoms(2, 3, 8), randoms(8)
    yield case("gelu", "Gelu", x)
    yield case("fast gelu", "FastGelu", x)
    yield case("fast gelu with a bias", "FastGelu", x, bias)
    yield case("bias gelu", "BiasGelu", x, bias)
    yield case("quick gelu", "QuickGelu", x)
    yield case("quick gelu with alpha", "QuickGelu", x, alpha=2.5)
    yield case("scaled silu", "ScaledSiLU", x, alpha=1.5)
    for dtype in (np.float16, np.float32):
        typed = x.astype(dtype)
        yield case(f"scaled silu by an operand {dtype.__name__}", "ScaledSiLU", typed,
                   np.array(0.75, F32))
        yield case(f"gated add {dtype.__name__}", "GatedAdd", typed, typed[::-1].copy(),
                   randoms(2, 3, 1).astype(dtype))


def normalization_cases():
    x, skip = randoms(2, 3, 8), randoms(2, 3, 8, seed=1)
    gamma, beta, bias = (randoms(8, seed=seed) for seed in (2, 3, 4))
    name = "SkipLayerNormalization"
    yield case("skip layer norm", name, x, skip, gamma, beta)
    yield case("skip layer norm without beta", name, x, skip, gamma)
    yield case("skip layer norm with a bias", name, x, skip, gamma, beta, bias, epsilon=1e-3)
    yield case("skip layer norm of 1 x S x H", name, x, skip[:1], gamma, beta)
    yield case("skip layer norm of S x H", name, x, skip[0], gamma, beta)
    yield case("skip layer norm in 2 axes", name, x[0], skip[0], gamma, beta)
    name = "SkipSimplifiedLayerNormalization"
    yield case("skip rms norm", name, x, skip, gamma)
    yield case("skip rms norm with a bias", name, x, skip, gamma, bias, epsilon=1e-3)
    typed = [value.astype(np.float16) for value in (x, skip, gamma, beta)]
    yield case("skip layer norm f16", "SkipLayerNormalization", *typed, scale=4)
    yield case("skip rms norm f16", name, *typed[:3], scale=4)
    yield case("rms norm", "SimplifiedLayerNormalization", x, gamma, domain="", opset=13)
    yield case("rms norm of two axes", "SimplifiedLayerNormalization", x, randoms(3, 8), axis=1,
               domain="", opset=13, epsilon=0.01)
    yield case("early layer norm", "LayerNormalization", x, gamma, beta, domain="", opset=13)
    yield case("early layer norm of all", "LayerNormalization", x, gamma, beta, outputs=3,
               domain="", opset=12)
    # Mean and inverse deviation have the type that stash_type names.
    wide = [value.astype(np.float64) for value in (x, gamma, beta)]
    yield case("layer norm f64 of all", "LayerNormalization", *wide, outputs=3, domain="", opset=17)
    yield case("rms norm f64 of all", "SimplifiedLayerNormalization", *wide[:2], outputs=2, domain="",
               opset=17)
    for activation in ("silu", "swish", "sigmoid"):
        yield case(f"gated rms norm {activation}", "GatedRMSNorm", x, randoms(4), skip,
                   activation=activation)
    yield case("branch rms norm", "BranchwiseRMSNorm", x)
    yield case("branch rms norm of parts", "BranchwiseRMSNorm", x, randoms(4), num_branches=2)
    yield case("branch rms norm, all scales", "BranchwiseRMSNorm", x, randoms(24))
    yield case("branch rms norm, a matrix of scales", "BranchwiseRMSNorm", x, randoms(3, 8))


def product_cases():
    a, b = randoms(2, 3, 4), randoms(2, 4, 5)
    yield case("matmul", "FusedMatMul", a, b, alpha=0.5)
    yield case("matmul of transposed", "FusedMatMul", a.swapaxes(1, 2).copy(),
               b.swapaxes(1, 2).copy(), transA=1, transB=1)
    yield case("matmul with an early batch", "FusedMatMul", randoms(3, 2, 4), b, transBatchA=1)
    yield case("matmul with early batches", "FusedMatMul", randoms(3, 2, 6, 4),
               randoms(4, 2, 6, 5), transBatchA=1, transBatchB=1)
    yield case("matmul with early batches, transposed", "FusedMatMul", randoms(4, 2, 6, 3),
               randoms(5, 2, 6, 4), transBatchA=1, transBatchB=1, transA=1, transB=1)
    yield case("matmul of a vector", "FusedMatMul", randoms(4), b, transA=1)
    yield case("matmul f64", "FusedMatMul", a.astype(np.float64), b.astype(np.float64), alpha=2.0)
    yield case("transposed matmul", "TransposeMatMul", a, randoms(2, 5, 4), transB=1, alpha=3.0)
    m, n, c = randoms(3, 4), randoms(4, 5), randoms(5)
    for activation, attributes in {
        "Relu": {}, "Sigmoid": {}, "Tanh": {}, "Softplus": {}, "Softsign": {},
        "LeakyRelu": {"activation_alpha": 0.2},
        "Elu": {"activation_alpha": 0.7},
        "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
        "ThresholdedRelu": {"activation_alpha": 0.5},
    }.items():
        yield case(f"gemm and {activation}", "FusedGemm", m, n, c, alpha=0.5, beta=2.0,
                   activation=activation, **attributes)
    yield case("gemm of transposed", "FusedGemm", m.T.copy(), n.T.copy(), transA=1, transB=1,
               activation="Relu")


def window_cases():
    x, w, b = randoms(2, 3, 6, 7), randoms(4, 3, 3, 3), randoms(4)
    for activation, parameters in {
        "": None, "Relu": None, "Sigmoid": None, "Tanh": None, "LeakyRelu": [0.25],
        "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4],
    }.items():
        given = {"activation": activation} if activation else {}
        if parameters:
            given["activation_params"] = parameters
        yield case(f"conv and {activation}", "FusedConv", x, w, b, pads=[1, 1, 1, 1], **given)
    z = randoms(2, 4, 6, 7)
    yield case("conv plus z", "FusedConv", x, w, b, z, pads=[1] * 4, activation="Relu")
    yield case("conv plus z without bias", "FusedConv", x, w, None, z, auto_pad="SAME_UPPER",
               kernel_shape=[3, 3])
    yield case("conv in groups", "FusedConv", randoms(1, 4, 9), randoms(6, 2, 3), group=2,
               strides=[2], dilations=[2], activation="Relu")
    for dtype in (np.int8, np.uint8):
        image = (randoms(2, 6, 7, 3) * 50).astype(np.int64).astype(dtype)
        yield case(f"nhwc max pool {dtype.__name__}", "NhwcMaxPool", image, kernel_shape=[3, 2],
                   pads=[1, 0, 1, 1], strides=[2, 1], ceil_mode=1)
        yield case(f"nhwc max pool with dilations {dtype.__name__}", "NhwcMaxPool", image,
                   kernel_shape=[2, 2], dilations=[2, 2], auto_pad="VALID")
    pads = np.array([1, 1, 0, 1], np.int64)
    yield case("conv transpose", "ConvTransposeWithDynamicPads", x, randoms(3, 2, 3, 3), pads,
               randoms(2), constants=[2], strides=[2, 2], output_padding=[1, 0])


CASES = [*activation_cases(), *normalization_cases(), *product_cases(), *window_cases()]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto = model_of(one, symbolic)
    fed = feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale, one.steps)


def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def exact_gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def group_norm(x, gamma, beta, groups, epsilon, last):
    """By the definition, with the channels first inside."""
    first = np.moveaxis(x.astype(np.float64), -1, 1) if last else x.astype(np.float64)
    parts = first.reshape(first.shape[0], groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(
        parts.var(2, keepdims=True) + epsilon)
    scale = (-1,) + (1,) * (x.ndim - 2)
    y = parts.reshape(first.shape) * gamma.reshape(scale) + beta.reshape(scale)
    return np.moveaxis(y, 1, -1) if last else y


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=["f32", "f16"])
def test_operators_without_a_kernel_in_onnxruntime(dtype):
    x, bias, skip = (randoms(*shape).astype(dtype) for shape in ((2, 3, 8), (8,), (2, 3, 8)))
    wide_x, wide_bias, wide_skip = (v.astype(np.float64) for v in (x, bias, skip))
    sum_ = wide_x + wide_bias
    expected = {
        "BiasAdd": ((x, bias, skip), sum_ + wide_skip, {}),
        "BiasSplitGelu": ((x, bias), sum_[..., :4] * exact_gelu(sum_[..., 4:]), {}),
        "BiasDropout": ((x, bias, skip), sum_ + wide_skip, {}),
        "BitmaskDropout": ((x,), wide_x, {}),
        "BiasSoftmax": ((x, bias), softmax(sum_, -1), {"axis": 2, "is_inner_broadcast": 0}),
        "GemmFastGelu": ((x, randoms(8, 8).astype(dtype), bias), None, {}),
    }
    for op, (inputs, wanted, attributes) in expected.items():
        if op == "GemmFastGelu":
            z = wide_x @ inputs[1].astype(np.float64) + wide_bias
            wanted = z / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        [result] = one_run(op, inputs, **attributes)
        close(result, wanted.astype(dtype), 4)


def test_softmax_with_a_bias_over_several_axes():
    x, bias = randoms(2, 3, 4, 5), randoms(2, 1, 1, 5)
    [result] = one_run("BiasSoftmax", [x, bias], axis=2, is_inner_broadcast=1)
    wanted = softmax((x + bias).reshape(6, 20), -1).reshape(x.shape)
    close(result, wanted)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(last, activation):
    x = randoms(2, 3, 5, 8) if last else randoms(2, 8, 3, 5)
    gamma, beta, bias = randoms(8, seed=1), randoms(8, seed=2), randoms(8, seed=3)
    attributes = {"groups": 4, "epsilon": 1e-3, "activation": activation, "channels_last": last}
    wanted = group_norm(x, gamma, beta, 4, 1e-3, last)
    [result] = one_run("GroupNorm", [x, gamma, beta], **attributes)
    close(result, (wanted * sigmoid(wanted) if activation else wanted).astype(F32), 4)
    rows = randoms(2, 8, seed=4)
    spread = rows[:, None, None, :] if last else rows[:, :, None, None]
    columns = bias if last else bias[:, None, None]
    for skip in (rows, spread, randoms(*x.shape, seed=5)):
        added = x + (spread if skip is rows else skip) + columns
        wanted = group_norm(added, gamma, beta, 4, 1e-3, last)
        results = one_run("SkipGroupNorm", [x, gamma, beta, skip, bias], 2, **attributes)
        close(results[0], (wanted * sigmoid(wanted) if activation else wanted).astype(F32), 4)
        close(results[1], added)


@pytest.mark.parametrize("op", ["NhwcConv", "NhwcFusedConv"])
def test_convolutions_with_the_channels_last(op):
    x, w, b = randoms(2, 6, 7, 4), randoms(6, 2, 3, 3), randoms(6)
    attributes = {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    [wanted] = run("Conv", [np.moveaxis(x, -1, 1).copy(), w, b], **attributes)
    wanted = np.moveaxis(wanted, 1, -1)
    inputs = [x, w, b]
    if op == "NhwcFusedConv":
        z = randoms(*wanted.shape)
        inputs.append(z)
        wanted = np.maximum(wanted + z, 0)
        attributes["activation"] = "Relu"
    [result] = one_run(op, inputs, **attributes)
    close(result, wanted)


def test_fused_matmul_with_activations():
    a, b = randoms(3, 4), randoms(4, 5)
    [result] = one_run("FusedMatMulActivation", [a, b], activation="Relu", alpha=0.5)
    close(result, np.maximum(0.5 * (a @ b), 0))
    [result] = one_run("FusedMatMulActivation", [a, b], activation="Softmax", activation_axis=0)
    close(result, softmax(a @ b, 0))
    [result] = one_run("FusedMatMulActivation", [a, b], activation="Selu", activation_alpha=1.5,
                       activation_gamma=2.0)
    product = a @ b
    close(result, (2 * np.where(product > 0, product, 1.5 * np.expm1(product))).astype(F32))


def test_masks_of_dropouts_keep_everything():
    x, bias = randoms(3, 11), randoms(11)
    [_, mask] = one_run("BitmaskDropout", [x], 2)
    assert mask.dtype == np.uint32 and mask.tolist() == [0xFFFFFFFF] * 2
    [_, mask] = one_run("BitmaskBiasDropout", [x, bias], 2)
    assert mask.tolist() == [0xFFFFFFFF] * 2
    [result, mask] = one_run("BiasDropout", [x, bias], 2)
    assert mask.dtype == bool and mask.all() and mask.shape == x.shape
    close(result, x + bias)


def test_fused_operators_in_a_loop():
    """A body of a Scan: a layer of a transformer's decoder, step by step."""
    width = 8
    nodes = [
        helper.make_node("FusedMatMul", ["h", "w"], ["p"], domain=DOMAIN, transB=1, alpha=0.5),
        helper.make_node("SkipLayerNormalization", ["p", "x", "g", "b"], ["n"], domain=DOMAIN),
        helper.make_node("FastGelu", ["n", "b"], ["a"], domain=DOMAIN),
        helper.make_node("SkipSimplifiedLayerNormalization", ["a", "h", "g"], ["next"],
                         domain=DOMAIN),
        helper.make_node("QuickGelu", ["next"], ["y"], domain=DOMAIN),
    ]
    row = [2, width]
    info = helper.make_tensor_value_info
    body = helper.make_graph(nodes, "body",
                             [info("h", TensorProto.FLOAT, row), info("x", TensorProto.FLOAT, row)],
                             [info("next", TensorProto.FLOAT, row), info("y", TensorProto.FLOAT, row)])
    scan = helper.make_node("Scan", ["h0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1)
    arrays = {"w": randoms(width, width), "g": randoms(width, seed=1), "b": randoms(width, seed=2)}
    graph = helper.make_graph(
        [scan], "scan",
        [info("h0", TensorProto.FLOAT, row), info("xs", TensorProto.FLOAT, ["T", *row])],
        [info("last", TensorProto.FLOAT, row), info("ys", TensorProto.FLOAT, ["T", *row])],
        [helper.make_tensor(k, TensorProto.FLOAT, v.shape, v.tobytes(), raw=True)
         for k, v in arrays.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    fed = {"h0": randoms(*row), "xs": randoms(7, *row)}
    proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        close(result, right, 20)


def test_the_domain_need_not_be_imported():
    proto = model_of(case("", "QuickGelu", randoms(3)))
    del proto.opset_import[1]
    fed = feeds_of(case("", "QuickGelu", randoms(3)))
    [result] = scanloom.InferenceSession(proto.SerializeToString()).run(None, fed)
    close(result, by_onnxruntime(proto, fed)[0])


X = randoms(2, 3, 8)
MISTAKES = [
    ("FusedConv", [randoms(1, 1, 4), randoms(1, 1, 2)], "'Gelu'", {"activation": "Gelu"}),
    ("FusedGemm", [randoms(2, 2), randoms(3, 2)], "2 .*3|3 .*2", {"activation": "Relu"}),
    ("GroupNorm", [X, randoms(8), randoms(8)], "'groups' is 3", {"groups": 3, "activation": 0}),
    ("GroupNorm", [X, randoms(8), randoms(8)], "'groups' is 0", {"groups": 0, "activation": 0}),
    ("GroupNorm", [X, randoms(8), randoms(8)], "'activation' is 2", {"groups": 2, "activation": 2}),
    ("BiasSplitGelu", [randoms(1, 2, 7), randoms(7)], "has 7 elements", {}),
    ("SkipLayerNormalization", [X, X, randoms(7)], "8 .*7|7 .*8", {}),
    ("BiasDropout", [X, randoms(8), None, None, np.array(True)], "constant false", {}),
    ("GatedRMSNorm", [X, randoms(4), X], "'tanh'", {"activation": "tanh"}),
    ("BranchwiseRMSNorm", [X], "'num_branches' is -1", {"num_branches": -1}),
    ("BranchwiseRMSNorm", [X], "elements|sizes", {"num_branches": 3}),
    ("NhwcMaxPool", [randoms(1, 4, 4, 2).astype(np.int8)], "has 1 sizes", {"kernel_shape": [2]}),
    ("ConvTransposeWithDynamicPads", [randoms(1, 1, 4), randoms(1, 1, 2), np.zeros(2, np.int64)],
     "must be a constant", {}),
    ("Gelu", [X], "at most 1", {}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    if op == "Gelu":
        inputs = [*inputs, X]
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)
