"""Models that dequantize bytes, compute and quantize again, and products of quantized matrices:
against exact sums in numpy, in all executions and with the passes disabled."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import scanloom

RANDOM = np.random.default_rng(5)
X_SCALE, Y_SCALE = np.float32(0.031), np.float32(0.37)


def model_of(nodes, x, initializers, result):
    graph = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", result, None)],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def same_in_all_executions(model, x):
    """The result, which must have the same bits interpreted and with several threads."""
    y = scanloom.InferenceSession(model).run(None, {"x": x})[0]
    for options in ({"execution": "interpreted"}, {"threads": 1}, {"threads": 7}):
        np.testing.assert_array_equal(
            scanloom.InferenceSession(model, **options).run(None, {"x": x})[0], y
        )
    return y


def assert_quantized(y, real, zero):
    """Equal to the exact numbers, rounded; either way is right close to halfway."""
    limits = np.iinfo(y.dtype)
    scaled = real / np.float64(Y_SCALE)
    wanted = np.clip(np.rint(scaled) + zero, limits.min, limits.max)
    halfway = np.abs(scaled - np.floor(scaled) - 0.5) < 1e-3
    wrong = (np.abs(y - wanted) > halfway).sum()
    assert wrong == 0, f"{wrong} of {y.size} differ"


def bytes_of(dtype, shape):
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def exact(x, w, wz, scales):
    return (x.astype(np.float64) - 3) @ (w.astype(np.float64) - wz) * (np.float64(X_SCALE) * scales)


@pytest.mark.parametrize(
    ("a", "b", "per_column", "quantizes"),
    list(itertools.product((np.uint8, np.int8), (np.uint8, np.int8), (False, True), (False, True))),
)
def test_matmul_of_dequantized(a, b, per_column, quantizes):
    n = 37
    x, w = bytes_of(a, (2, 9, 50)), bytes_of(b, (50, n))
    wz = bytes_of(b, n) if per_column else bytes_of(b, ())
    ws = (RANDOM.random(n if per_column else ()) + 0.1).astype(np.float32) * np.float32(0.01)
    bias = RANDOM.standard_normal(n).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["dx"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=1),
        helper.make_node("MatMul", ["dx", "dw"], ["m"]),
        helper.make_node("Add", ["m", "bias"], ["r" if quantizes else "y"]),
    ]
    if quantizes:
        nodes.append(helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"]))
    constants = {"w": w, "ws": ws, "wz": wz, "xs": X_SCALE, "xz": a(3), "bias": bias}
    constants |= {"ys": Y_SCALE, "yz": np.uint8(101)} if quantizes else {}
    result = onnx.TensorProto.UINT8 if quantizes else onnx.TensorProto.FLOAT
    y = same_in_all_executions(model_of(nodes, x, constants, result), x)
    real = exact(x, w, wz, ws.astype(np.float64)) + bias
    if quantizes:
        assert_quantized(y, real, 101)
    else:
        np.testing.assert_allclose(y, real, rtol=1e-5, atol=1e-4)


def test_gemm_with_transposed_weights():
    x, w = bytes_of(np.uint8, (5, 64)), bytes_of(np.int8, (20, 64))
    ws = (RANDOM.random(20) + 0.1).astype(np.float32) * np.float32(0.01)
    bias = RANDOM.integers(-500, 500, 20).astype(np.int32)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["dx"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["db"], axis=0),
        helper.make_node("Gemm", ["dx", "dw", "db"], ["m"], transB=1),
        helper.make_node("Relu", ["m"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    constants = {"w": w, "ws": ws, "wz": np.zeros(20, np.int8), "xs": X_SCALE, "xz": np.uint8(3)}
    constants |= {"b": bias, "bs": ws * X_SCALE, "ys": Y_SCALE, "yz": np.uint8(0)}
    model = model_of(nodes, x, constants, onnx.TensorProto.UINT8)
    y = same_in_all_executions(model, x)
    real = exact(x, w.T, 0, ws.astype(np.float64)) + bias * ws.astype(np.float64) * X_SCALE
    assert_quantized(y, np.maximum(real, 0), 0)


@pytest.mark.parametrize("x_type", [np.uint8, np.int8])
@pytest.mark.parametrize("has_relu", [False, True])
@pytest.mark.parametrize("strides", [1, 2, 3])
def test_conv_of_dequantized(x_type, has_relu, strides):
    x, w = bytes_of(x_type, (2, 3, 11, 21)), bytes_of(np.int8, (10, 3, 3, 3))
    ws = (RANDOM.random(10) + 0.1).astype(np.float32) * np.float32(0.01)
    bias = RANDOM.integers(-500, 500, 10).astype(np.int32)
    pads = {"pads": [1, 1, 1, 1], "strides": [strides, strides]}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["dx"]),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["dw"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["db"], axis=0),
        helper.make_node("Conv", ["dx", "dw", "db"], ["m"], **pads),
        helper.make_node("Relu" if has_relu else "Identity", ["m"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    zero = np.uint8(0 if has_relu else 77)
    constants = {"w": w, "ws": ws, "xs": X_SCALE, "xz": x_type(3), "ys": Y_SCALE, "yz": zero}
    constants |= {"b": bias, "bs": ws * X_SCALE}
    model = model_of(nodes, x, constants, onnx.TensorProto.UINT8)
    y = same_in_all_executions(model, x)
    padded = np.pad(x.astype(np.float64) - 3, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    windows = windows[:, :, ::strides, ::strides]
    sums = np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.float64))
    real = (sums + bias[:, None, None]) * (ws.astype(np.float64) * X_SCALE)[:, None, None]
    assert_quantized(y, np.maximum(real, 0) if has_relu else real, int(zero))


@pytest.mark.parametrize("w_type", [np.uint8, np.int8])
@pytest.mark.parametrize("group", [1, 4])
def test_conv_integer(w_type, group):
    x, w = bytes_of(np.uint8, (1, 8, 9, 33)), bytes_of(w_type, (12, 8 // group, 3, 3))
    w_zero = w_type(128 if w_type is np.uint8 else 5)
    node = helper.make_node(
        "ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 1, 1], group=group
    )
    constants = {"w": w, "xz": np.uint8(12), "wz": w_zero}
    y = same_in_all_executions(model_of([node], x, constants, onnx.TensorProto.INT32), x)
    padded = np.pad(x.astype(np.int64) - 12, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    windows = windows.reshape(1, group, 8 // group, *windows.shape[2:])
    weights = (w.astype(np.int64) - int(w_zero)).reshape(group, 12 // group, 8 // group, 3, 3)
    np.testing.assert_array_equal(
        y, np.einsum("ngchwij,gfcij->ngfhw", windows, weights).reshape(y.shape)
    )


def test_dynamically_quantized_product():
    x, w = RANDOM.standard_normal((3, 40)).astype(np.float32), bytes_of(np.int8, (40, 30))
    bias = RANDOM.standard_normal(30).astype(np.float32)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["i"]),
        helper.make_node("Cast", ["i"], ["c"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "ws"], ["t"]),
        helper.make_node("Mul", ["c", "t"], ["m"]),
        helper.make_node("Add", ["bias", "m"], ["y"]),
    ]
    constants = {"w": w, "wz": np.int8(0), "ws": np.float32(0.02), "bias": bias}
    model = model_of(nodes, x, constants, onnx.TensorProto.FLOAT)
    y = same_in_all_executions(model, x)
    np.testing.assert_allclose(y, x @ (w * 0.02) + bias, atol=0.3)
    high, low = np.float32(max(x.max(), 0)), np.float32(min(x.min(), 0))
    scale = (high - low) / np.float32(255)
    zero = np.rint(-low / scale)
    q = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.int64)
    sums = ((q - int(zero)) @ w.astype(np.int64)).astype(np.float32)
    np.testing.assert_array_equal(y, sums * (scale * np.float32(0.02)) + bias)


def quantized(x, scale, zero):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(zero.dtype)


def dequantized(x, scale, zero):
    return (x.astype(np.int32) - zero).astype(np.float32) * scale


def pooled(x):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return windows[:, :, ::2, ::2].max((-1, -2))


MOVES = {
    "transpose": ("Transpose", {"perm": [0, 2, 3, 1]}, [], lambda x: x.transpose(0, 2, 3, 1)),
    "reshape": ("Reshape", {}, [np.array([3, -1])], lambda x: x.reshape(3, -1)),
    "slice": ("Slice", {}, [np.array([1, 2]), np.array([3, 9]), np.array([1, 2])],
              lambda x: x[:, 1:3, 2:9]),
    "gather": ("Gather", {"axis": 2}, [np.array([[3, 0], [5, 3]])], lambda x: x[:, :, [[3, 0], [5, 3]]]),
    "max_pool": ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}, [], pooled),
    "concat": ("Concat", {"axis": 1}, ["dx"], lambda x: np.concatenate([x, x], 1)),
    "resize": ("Resize", {"mode": "nearest"}, ["", np.array([1, 1, 2, 2], np.float32)],
               lambda x: x.repeat(2, 2).repeat(2, 3)),
    "relu": ("Relu", {}, [], lambda x: np.maximum(x, 0)),
    "clip": ("Clip", {}, [np.float32(-0.5), np.float32(2)],
             lambda x: np.clip(x, np.float32(-0.5), np.float32(2))),
    "leaky_relu": ("LeakyRelu", {"alpha": 0.25}, [], lambda x: np.where(x < 0, x * np.float32(0.25), x)),
    "add": ("Add", {}, ["dx"], lambda x: x + x),
    "mul": ("Mul", {}, ["dx"], lambda x: x * x),
    "row": ("Sub", {}, [np.arange(11, dtype=np.float32)], lambda x: x - np.arange(11, dtype=np.float32)),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("name", MOVES)
def test_bytes_stay_bytes(name, same, dtype):
    op, attributes, operands, expected = MOVES[name]
    x, zero = bytes_of(dtype, (3, 7, 10, 11)), dtype(19)
    to = (X_SCALE, zero) if same else (Y_SCALE, dtype(5))
    constants = {"xs": X_SCALE, "xz": zero, "ys": to[0], "yz": to[1]}
    names = []
    for i, operand in enumerate(operands):
        names.append(operand if isinstance(operand, str) else f"c{i}")
        if not isinstance(operand, str):
            constants[f"c{i}"] = operand
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["dx"]),
        helper.make_node(op, ["dx", *names], ["m"], **attributes),
        helper.make_node("QuantizeLinear", ["m", "ys", "yz"], ["y"]),
    ]
    model = model_of(nodes, x, constants, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    y = same_in_all_executions(model, x)
    np.testing.assert_array_equal(y, quantized(expected(dequantized(x, X_SCALE, zero)), *to))


def test_what_is_read_elsewhere_is_kept():
    """The values between two steps are results too."""
    x = bytes_of(np.uint8, (2, 3, 40, 41))
    constants = {"s": X_SCALE, "z": np.uint8(100), "ys": Y_SCALE}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0, 3, 2]),
        helper.make_node("QuantizeLinear", ["t", "s", "z"], ["q"]),
        helper.make_node("Sigmoid", ["t"], ["e"]),
        helper.make_node("QuantizeLinear", ["e", "ys", "z"], ["f"]),
        helper.make_node("DequantizeLinear", ["f", "ys", "z"], ["g"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["h"]),
        helper.make_node("Add", ["g", "h"], ["y"]),
    ]
    model = onnx.load_from_string(model_of(nodes, x, constants, onnx.TensorProto.FLOAT))
    for name, dtype in (("t", onnx.TensorProto.FLOAT), ("q", onnx.TensorProto.UINT8)):
        model.graph.output.append(helper.make_tensor_value_info(name, dtype, None))
    session = scanloom.InferenceSession(model.SerializeToString())
    interpreted = scanloom.InferenceSession(model.SerializeToString(), execution="interpreted")
    y, t, q = session.run(None, {"x": x})
    for ours, theirs in zip((y, t, q), interpreted.run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(t, dequantized(x, X_SCALE, np.uint8(100)).transpose(1, 0, 3, 2))
    np.testing.assert_array_equal(q, x.transpose(1, 0, 3, 2))


def narrow(bits, *shape):
    dtype = {8: np.int8, -8: np.uint8, 4: ml_dtypes.int4, -4: ml_dtypes.uint4}[bits]
    low, high = (0, 2**-bits) if bits < 0 else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return RANDOM.integers(low, high, shape).astype(dtype)


def product_with_dequantized(weights, scale, zero, transposed, axis):
    """x . weights, which are dequantized and then perhaps transposed."""
    operands = ["w", "s"] if zero is None else ["w", "s", "z"]
    nodes = [helper.make_node("DequantizeLinear", operands, ["d"], axis=axis)]
    if transposed:
        nodes.append(helper.make_node("Transpose", ["d"], ["t"]))
    nodes.append(helper.make_node("MatMul", ["x", "t" if transposed else "d"], ["y"]))
    given = {"w": weights, "s": scale} | ({} if zero is None else {"z": zero})
    depth = weights.shape[1 if transposed else 0]
    x = RANDOM.standard_normal((2, 3, depth)).astype(np.float32)
    model = onnx.load_from_string(model_of(nodes, x, given, onnx.TensorProto.FLOAT))
    model.opset_import[0].version = 21
    model.ir_version = 10
    return model.SerializeToString(), x


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("bits", [8, -8, 4, -4])
def test_large_weights_stay_quantized(bits, per_column, transposed):
    """The bits are those of products with f32 weights, which another axis of scales gives."""
    depth, columns = 301, 260
    shape = (columns, depth) if transposed else (depth, columns)
    weights, axis = narrow(bits, *shape), 0 if transposed else 1
    scale = np.abs(RANDOM.standard_normal(columns if per_column else ())).astype(np.float32) + 0.01
    zero = narrow(bits, columns) if per_column else None
    model, x = product_with_dequantized(weights, scale, zero, transposed, axis)
    y = same_in_all_executions(model, x)
    zeros = np.float32(0) if zero is None else zero.astype(np.float32)
    if transposed and per_column:
        scale, zeros = scale[:, None], zeros[:, None]
    real = (weights.astype(np.float32) - zeros) * scale
    real = real.T if transposed else real
    np.testing.assert_allclose(y, x @ real, atol=1e-5 * float((np.abs(x) @ np.abs(real)).max()))
    product = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    plain = model_of(product, x, {"w": real}, onnx.TensorProto.FLOAT)
    np.testing.assert_array_equal(y, scanloom.InferenceSession(plain).run(None, {"x": x})[0])


def test_scales_of_the_summed_axis_are_left_alone():
    weights, scale = narrow(8, 301, 260), np.abs(RANDOM.standard_normal(301)).astype(np.float32)
    model, x = product_with_dequantized(weights, scale, None, False, 0)
    y = same_in_all_executions(model, x)
    real = weights.astype(np.float32) * scale[:, None]
    np.testing.assert_allclose(y, x @ real, atol=1e-5 * float((np.abs(x) @ np.abs(real)).max()))
