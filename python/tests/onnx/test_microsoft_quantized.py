"""Quantized operators of com.microsoft: against onnxruntime and, where it has no kernel for CPUs,
numpy. Integers are equal, except where a tie that depends on the order of floating-point operations
may be rounded either way."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from microsoft_cases import DOMAIN, Case, agree, by_onnxruntime, bytes_of, case, feeds_of, model_of
from onnx import TensorProto, helper, numpy_helper
from single_node import SYMBOLIC, close, randoms, refused, run, run_every_way

F32 = np.float32
BYTES = (np.uint8, np.int8)


def scale(value):
    return np.array(value, F32)


def zero(dtype, value):
    """A zero point; of int8 it is 128 less, so that both lie alike in their ranges."""
    return np.asarray(np.array(value) - (128 if dtype == np.int8 else 0), dtype)


def element_wise_cases(dtype):
    a, b = bytes_of(dtype, 3, 4, 8), bytes_of(dtype, 3, 4, 8, seed=1)
    name = dtype.__name__
    quantizations = {
        "plain": (scale(0.1), zero(dtype, 120), scale(0.07), zero(dtype, 131), scale(0.15),
                  zero(dtype, 127)),
        "ties": (scale(0.25), zero(dtype, 128), scale(0.25), zero(dtype, 129), scale(0.5),
                 zero(dtype, 127)),
        "without zero points": (scale(0.1), None, scale(0.2), None, scale(0.3), None),
        "in vectors of one": (scale([0.1]), zero(dtype, [120]), scale([0.2]), zero(dtype, [130]),
                              scale([0.3]), zero(dtype, [127])),
    }
    for how, (sa, za, sb, zb, sy, zy) in quantizations.items():
        for op in ("QLinearAdd", "QLinearMul"):
            steps = 1 if how != "ties" else 0
            yield case(f"{op} {name} {how}", op, a, sa, za, b, sb, zb, sy, zy, steps=steps)
            yield case(f"{op} {name} {how}, broadcast", op, a, sa, za, b[0, :1].copy(), sb, zb, sy,
                       zy, steps=steps)
        for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
            y = (scale(1 / 256), zero(dtype, 0)) if op == "QLinearSigmoid" else (sy, zy)
            given = {"alpha": 0.2} if how == "plain" and op == "QLinearLeakyRelu" else {}
            yield case(f"{op} {name} {how}", op, a, sa, za, *y, steps=1, **given)
    sa, za, sb, zb, sy, zy = quantizations["plain"]
    long = bytes_of(dtype, 7, 1037)
    for other in (bytes_of(dtype, 7, 1037, seed=1), bytes_of(dtype, 7, 1), bytes_of(dtype, 1)):
        for op in ("QLinearAdd", "QLinearMul"):
            yield case(f"{op} {name} long, {other.shape}", op, long, sa, za, other, sb, zb, sy, zy,
                       steps=1)
    mask = randoms(3, 4, 8) > 0
    yield case(f"where {name}", "QLinearWhere", mask, a, sa, za, b, sb, zb, sy, zy, steps=1)
    yield case(f"where {name}, broadcast", "QLinearWhere", mask[:, :1].copy(), a, sa, za,
               b[:1].copy(), sb, zb, sb, zb, steps=1)
    yield case(f"concat {name}", "QLinearConcat", sy, zy, a, sa, za, b, sb, zb, a[:, :2].copy(),
               sy, zy, axis=1, steps=1, constants=range(2, 11))
    for opset in (11, 13):
        for axis in (-1, 1):
            inputs = (a, scale(0.05), za, scale(1 / 256), zero(dtype, 0))
            yield Case(f"softmax-{opset} {name} on {axis}", "QLinearSoftmax", inputs,
                       {"opset": opset, "axis": axis}, steps=1)


def pool_cases(dtype):
    x, last = bytes_of(dtype, 2, 3, 6, 7), bytes_of(dtype, 2, 6, 7, 3)
    name = dtype.__name__
    sx, zx, sy, zy = scale(0.1), zero(dtype, 120), scale(0.1), zero(dtype, 129)
    quantization = sx, zx, sy, zy
    op = "QLinearAveragePool"
    yield case(f"pool {name}", op, x, *quantization, kernel_shape=[2, 2], steps=1)
    yield case(f"pool {name}, padded", op, x, *quantization, kernel_shape=[3, 2],
               pads=[1, 0, 1, 1], strides=[2, 1], ceil_mode=1, steps=1)
    yield case(f"pool {name}, padding counted", op, x, *quantization, kernel_shape=[3, 3],
               pads=[1] * 4, count_include_pad=1, steps=1)
    yield case(f"pool {name}, channels last", op, last, *quantization, kernel_shape=[3, 3],
               auto_pad="SAME_UPPER", channels_last=1, steps=1)
    yield case(f"pool {name} of 1 axis", op, bytes_of(dtype, 2, 3, 9), *quantization,
               kernel_shape=[3], steps=1)
    yield case(f"pool {name} without zero points", op, x, sx, None, sy, None, kernel_shape=[2, 3],
               steps=1)
    op = "QLinearGlobalAveragePool"
    yield case(f"global pool {name}", op, x, *quantization)
    yield case(f"global pool {name}, channels last", op, last, *quantization, channels_last=1)
    for plane in ((7, 7), (8, 8), (50, 61)):
        size = "x".join(map(str, plane))
        yield case(f"global pool {name} of {size}", op, bytes_of(dtype, 1, 20, *plane),
                   *quantization)


def product_cases():
    x = randoms(2, 3, 8)
    for dtype in BYTES:
        name = dtype.__name__
        b, bias = bytes_of(dtype, 8, 5), randoms(5)
        op = "DynamicQuantizeMatMul"
        yield case(f"dynamic {name}", op, x, b, scale(0.02), zero(dtype, 125), constants=[1])
        yield case(f"dynamic {name} with a bias", op, x, b, scale(0.02), None, bias)
        yield case(f"dynamic {name} by column", op, x, b, np.abs(randoms(5)) + F32(0.01),
                   bytes_of(dtype, 5), bias)
        yield case(f"dynamic {name} of a batch", op, x, bytes_of(dtype, 2, 8, 5), scale(0.02))
        yield case(f"dynamic {name} of zeros", op, np.zeros((2, 8), F32), b, scale(0.02))
        op = "MatMulIntegerToFloat"
        for a_type in BYTES:
            if a_type == np.int8 and dtype == np.uint8:
                continue
            a = bytes_of(a_type, 3, 8)
            yield case(f"to float {a_type.__name__} {name}", op, a, b, scale(0.1), scale(0.2),
                       zero(a_type, 120), zero(dtype, 125), bias)
            yield case(f"to float {a_type.__name__} {name} by column", op, a, b, scale([0.1]),
                       np.abs(randoms(5)), None, bytes_of(dtype, 5))
    yield case("integer 16", "MatMulInteger16", (randoms(3, 4) * 9999).astype(np.int16),
               (randoms(4, 5) * 9999).astype(np.int16))
    for a_type in BYTES:
        for transposed in (0, 1):
            a, b = bytes_of(a_type, 3, 8), bytes_of(np.int8, 8, 5)
            if transposed:
                a, b = a.T.copy(), b.T.copy()
            name = f"gemm {a_type.__name__} {'transposed' if transposed else ''}"
            given = {"transA": transposed, "transB": transposed, "alpha": 1.5}
            head = (a, scale(0.1), zero(a_type, 120), b)
            whole, columns = (scale(0.2), zero(np.int8, 130)), (np.abs(randoms(5)),
                                                                bytes_of(np.int8, 5))
            addend = (randoms(5) * 1000).astype(np.int32)
            to = (scale(3.0), zero(a_type, 127))
            yield case(name, "QGemm", *head, *whole, addend, *to, **given)
            yield case(name + " by column", "QGemm", *head, *columns, None, *to, **given)
            yield case(name + " to float", "QGemm", *head, *columns, addend, **given)


def convolution_cases():
    for dtype in BYTES:
        x, w = bytes_of(dtype, 2, 6, 7, 4), bytes_of(np.int8, 6, 2, 3, 3)
        parameters = (w, np.abs(randoms(6)) / 100, np.zeros(6, np.int8), scale(1.0),
                      zero(dtype, 128), (randoms(6) * 100).astype(np.int32))
        yield case(f"conv {dtype.__name__} channels last", "QLinearConv", x, scale(0.05),
                   zero(dtype, 125), *parameters, group=2, pads=[1] * 4, channels_last=1,
                   constants=[3, 4, 5])
        yield case(f"conv {dtype.__name__} channels first", "QLinearConv",
                   np.moveaxis(x, -1, 1).copy(), scale(0.05), zero(dtype, 125), *parameters, group=2,
                   strides=[2, 2], constants=[3, 4, 5])


def conversion_cases():
    x = randoms(3, 4)
    types = (np.uint8, np.int8, np.uint16, np.int16, ml_dtypes.uint4, ml_dtypes.int4)
    for dtype in types:
        name = np.dtype(dtype).name
        by_column = np.abs(randoms(4)) + F32(0.05)
        zeros = np.array([1, 2, 3, 0]).astype(dtype)
        q = (np.arange(12).reshape(3, 4) % (8 if name == "int4" else 12)).astype(dtype)
        # onnxruntime takes and returns no arrays of 4 bits.
        constants = [0, 2] if "4" in name else []
        yield case(f"dequantize {name}", "DequantizeLinear", q, scale(0.3),
                   np.asarray(zeros[1], dtype), constants=constants)
        yield case(f"dequantize {name} by column", "DequantizeLinear", q, by_column, zeros, axis=1,
                   constants=constants)
        if "4" in name:
            continue
        yield case(f"quantize {name}", "QuantizeLinear", x, scale(0.3), np.asarray(zeros[1], dtype))
        yield case(f"quantize {name} by column", "QuantizeLinear", x, by_column, zeros, axis=1)
    yield case("dequantize int32", "DequantizeLinear", np.arange(12, dtype=np.int32), scale(0.3))
    yield case("quantize without a zero point", "QuantizeLinear", np.abs(x), scale(0.3))


CASES = [
    *(one for dtype in BYTES for one in element_wise_cases(dtype)),
    *(one for dtype in BYTES for one in pool_cases(dtype)),
    *product_cases(), *convolution_cases(), *conversion_cases(),
]


def explicit(one: Case) -> Case:
    """The case with zero points and scalars where onnxruntime insists on them, in spite of its
    documentation."""
    if one.op not in ("QLinearAdd", "QLinearMul", "QLinearAveragePool"):
        return one
    absent = np.array(0, one.inputs[0].dtype)
    given = [absent if v is None else v.reshape(()) if v.shape == (1,) else v for v in one.inputs]
    return dataclasses.replace(one, inputs=tuple(given))


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto = model_of(one, symbolic)
    fed = feeds_of(one)
    theirs = explicit(one)
    wanted = by_onnxruntime(model_of(theirs), feeds_of(theirs))
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale, one.steps)


def dequantized(x, scale, zero):
    return (x.astype(F32) - F32(zero)) * scale


@pytest.mark.parametrize("dtype", BYTES)
def test_operators_without_a_kernel_in_onnxruntime(dtype):
    x = bytes_of(dtype, 2, 3, 8)
    by, to = (scale(0.1), zero(dtype, 120)), (scale(0.03), zero(dtype, 130))
    mean = dequantized(x, *by).mean((1, 2), keepdims=True, dtype=F32)
    limits = np.iinfo(dtype)
    wanted = np.clip(np.rint(mean / to[0]) + int(to[1]), limits.min, limits.max).astype(dtype)
    for keep in (0, 1):
        [result] = run("QLinearReduceMean", [x, *by, *to], domain=DOMAIN, opset=1, axes=[1, 2],
                       keepdims=keep)
        agree(result, wanted if keep else wanted.reshape(2), steps=1)
    a, b = bytes_of(dtype, 3, 4), bytes_of(dtype, 4)
    [result] = run("MulInteger", [a, by[1], b], domain=DOMAIN, opset=1)
    agree(result, (a.astype(np.int32) - int(by[1])) * b.astype(np.int32))
    [result] = run("MulInteger", [a, None, b, by[1]], domain=DOMAIN, opset=1)
    agree(result, a.astype(np.int32) * (b.astype(np.int32) - int(by[1])))


@pytest.mark.parametrize("dtype", [ml_dtypes.uint4, ml_dtypes.int4])
def test_quantizing_to_4_bits(dtype):
    x, by_column = randoms(3, 4), np.abs(randoms(4)) + F32(0.05)
    zeros = np.array([1, 2, 3, 0]).astype(dtype)
    [result] = run("QuantizeLinear", [x, by_column, zeros], domain=DOMAIN, opset=1, axis=1)
    low, high = (0, 15) if dtype == ml_dtypes.uint4 else (-8, 7)
    wanted = np.clip(np.rint(x / by_column) + zeros.astype(F32), low, high)
    assert result.dtype == dtype
    assert np.array_equal(result.astype(F32), wanted)


def test_unsigned_words_of_16_bits_are_multiplied_to_unsigned_ones():
    a, b = bytes_of(np.uint16, 3, 4), bytes_of(np.uint16, 4, 5)
    [result] = run("MatMulInteger16", [a, b], domain=DOMAIN, opset=1)
    agree(result, a.astype(np.uint32) @ b.astype(np.uint32))


def test_quantized_operators_in_a_loop():
    """The body of a Scan with a state of bytes, as the quantizer writes it."""
    nodes = [
        helper.make_node("DynamicQuantizeMatMul", ["x", "w", "ws", "wz", "b"], ["p"],
                         domain=DOMAIN),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["q"]),
        helper.make_node("QLinearAdd", ["q", "s", "z", "h", "s", "z", "s", "z"], ["sum"],
                         domain=DOMAIN),
        helper.make_node("QLinearSigmoid", ["sum", "s", "z", "ys", "yz"], ["gate"], domain=DOMAIN),
        helper.make_node("QLinearMul", ["gate", "ys", "yz", "sum", "s", "z", "s", "z"], ["next"],
                         domain=DOMAIN),
        helper.make_node("DequantizeLinear", ["next", "s", "z"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    row, state, real = [2, 8], TensorProto.UINT8, TensorProto.FLOAT
    body = helper.make_graph(nodes, "body", [info("h", state, row), info("x", real, row)],
                             [info("next", state, row), info("y", real, row)])
    scan = helper.make_node("Scan", ["h0", "xs"], ["last", "out"], body=body, num_scan_inputs=1)
    arrays = {"w": bytes_of(np.int8, 8, 8), "ws": scale(0.02), "wz": np.array(3, np.int8),
              "b": randoms(8), "s": scale(0.05), "z": np.array(128, np.uint8),
              "ys": scale(1 / 256), "yz": np.array(0, np.uint8)}
    graph = helper.make_graph(
        [scan], "scan", [info("h0", state, row), info("xs", real, ["T", *row])],
        [info("last", state, row), info("out", real, ["T", *row])],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()])
    proto = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])
    fed = {"h0": bytes_of(np.uint8, *row), "xs": randoms(9, *row)}
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        close(result, right)


U8, I8 = bytes_of(np.uint8, 2, 3), bytes_of(np.int8, 2, 3)
S, Z = scale(0.1), np.array(3, np.uint8)
MISTAKES = [
    ("QLinearAdd", [U8, S, Z, I8, S, Z, S, Z], "int8, not uint8", {}),
    ("QLinearAdd", [U8, S, np.array(1, np.int8), U8, S, Z, S, Z], "int8, not uint8", {}),
    ("QLinearAdd", [U8, scale([1, 2]), Z, U8, S, Z, S, Z], "has 2 elements, but 1", {}),
    ("QLinearMul", [randoms(2), S, None, randoms(2), S, None, S], "not uint8 or int8", {}),
    ("QLinearSoftmax", [U8, S, Z, S, Z], "'opset' is missing", {}),
    ("QLinearConcat", [S, Z, U8, S, Z, U8], "has 6 inputs", {"axis": 0}),
    ("QLinearAveragePool", [bytes_of(np.uint8, 1, 1, 4), S, Z, S, Z], "is missing", {}),
    ("QLinearAveragePool", [bytes_of(np.uint8, 1, 1, 4), S, Z, S, Z], "has 2 sizes",
     {"kernel_shape": [2, 2]}),
    ("DynamicQuantizeMatMul", [randoms(2, 3), bytes_of(np.int8, 4, 2), S], "3.*4|4.*3", {}),
    ("DynamicQuantizeMatMul", [randoms(2, 3).astype(np.float16), I8, S], "not float", {}),
    ("MatMulIntegerToFloat", [U8, bytes_of(np.int8, 3, 2), scale([1, 2]), S], "has 2 elements", {}),
    ("MatMulInteger16", [U8, U8], "not int16 or uint16", {}),
    ("QGemm", [U8, S, Z, bytes_of(np.int8, 3, 2), S, Z], "uint8, not int8", {}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)
