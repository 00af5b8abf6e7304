"""The results of each operator in each of its versions, by numpy: the table of
test_old_versions.py.

A row holds for a range of operator sets and is run once for each version of the operator that
begins in that range. Attributes and inputs that a later version would refuse are in separate rows.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Callable

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto as TP

from places import PROJECT

NEWEST = 27
EVERY = (1, NEWEST)


# What ONNX Runtime adds to the domain of ONNX; the tests of com.microsoft compare it.
ADDED_BY_ONNXRUNTIME = {("LayerNormalization", 1), ("SimplifiedLayerNormalization", 1)}


def listed_versions() -> dict[tuple[str, str], list[int]]:
    text = (PROJECT / "src/frontends/onnx/list.inc").read_text(encoding="utf-8")
    number = r"-?\d+"
    row = rf'^SCANLOOM_ONNX_OP\((\w+), "([^"]*)", \w+, {number}, {number}, {number}, ([\d, \n]+)\)'
    listed = {}
    for name, domain, versions in re.findall(row, text, re.MULTILINE):
        numbers = [int(word) for word in versions.split(",")]
        onnx_has = [v for v in numbers if (name, v) not in ADDED_BY_ONNXRUNTIME]
        if domain != "com.microsoft" and onnx_has:
            listed[name, domain] = onnx_has
    return listed


VERSIONS = listed_versions()


@dataclasses.dataclass(frozen=True)
class Row:
    op: str
    range: tuple[int, int]
    inputs: tuple
    expected: tuple
    attributes: dict
    domain: str = ""
    name: str = ""
    tolerance: float = 1e-5
    constant: bool = False  # all operands but the first are initialisers

    def versions(self):
        first, last = self.range
        return [v for v in VERSIONS[self.op, self.domain] if first <= v <= last]


ROWS: list[Row] = []


def row(
    op, span, inputs, expected, domain="", name="", tolerance=1e-5, constant=False, **attributes
):
    """`expected`: what numpy makes of the inputs, or the result or the tuple of results itself."""
    if callable(expected):
        expected = expected(*[value for value in inputs if value is not None])
    if not isinstance(expected, tuple):
        expected = (expected,)
    ROWS.append(
        Row(op, span, tuple(inputs), expected, attributes, domain, name or op, tolerance, constant)
    )


def f32(*values, shape=None):
    array = np.array(values, np.float32)
    return array if shape is None else array.reshape(shape)


def i64(*values):
    return np.array(values, np.int64)


def ramp(*shape, dtype=np.float32, start=-1.0, step=0.37):
    count = math.prod(shape)
    return (start + step * np.arange(count)).astype(dtype).reshape(shape)


X = ramp(2, 3)
LONG = ramp(2, 3, 2)
POSITIVE = ramp(2, 3, start=0.2)
FLAGS = np.array([[True, False, True], [False, False, True]])
OTHERS = np.array([[True, True, False], [False, True, True]])
WHOLE = np.arange(6, dtype=np.int64).reshape(2, 3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def normal(x):
    return np.asarray(x, np.float32)


def unary_rows():
    erf = np.vectorize(math.erf, otypes=[np.float32])
    table: dict[str, tuple[int, Callable]] = {
        "Abs": (1, np.abs),
        "Ceil": (1, np.ceil),
        "Cos": (7, np.cos),
        "Erf": (9, erf),
        "Exp": (1, np.exp),
        "Floor": (1, np.floor),
        "HardSwish": (14, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
        "Identity": (1, np.array),
        "Mish": (18, lambda x: x * np.tanh(softplus(x))),
        "Neg": (1, np.negative),
        "Reciprocal": (1, lambda x: 1 / x),
        "Relu": (1, lambda x: np.maximum(x, 0)),
        "Round": (11, np.round),
        "Sigmoid": (1, sigmoid),
        "Sign": (9, np.sign),
        "Sin": (7, np.sin),
        "Softplus": (1, softplus),
        "Softsign": (1, lambda x: x / (1 + np.abs(x))),
        "Tan": (7, np.tan),
        "Tanh": (1, np.tanh),
    }
    for op, (first, function) in table.items():
        row(op, (first, NEWEST), [X], lambda x, f=function: normal(f(x)))
    row("Log", EVERY, [POSITIVE], np.log)
    row("Sqrt", EVERY, [POSITIVE], np.sqrt)
    row("Not", EVERY, [FLAGS], np.logical_not)
    row("IsNaN", (9, NEWEST), [f32(1, np.nan)], np.isnan)
    row(
        "IsInf",
        (10, NEWEST),
        [f32(1, -np.inf, np.inf)],
        np.array([False, False, True]),
        detect_negative=0,
    )
    row("BitwiseNot", (18, NEWEST), [WHOLE], np.invert)


def activation_rows():
    def elu(x, alpha):
        return normal(np.where(x < 0, alpha * np.expm1(x), x))

    def selu(x, alpha, gamma):
        return gamma * elu(x, alpha)

    row(
        "Celu",
        (12, NEWEST),
        [X],
        lambda x: normal(np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2))),
        alpha=2.0,
    )
    row("Elu", EVERY, [X], lambda x: elu(x, 1))
    row("Elu", EVERY, [X], lambda x: elu(x, 2), alpha=2.0)
    row(
        "Gelu",
        (20, NEWEST),
        [X],
        lambda x: normal(x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    )
    row("HardSigmoid", EVERY, [X], lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0, 1))
    row("LeakyRelu", EVERY, [X], lambda x: normal(np.where(x < 0, 0.01 * x, x)))
    # Coarse defaults in version 1, which a third decimal tells apart from the later ones.
    row("Selu", (1, 5), [X], lambda x: normal(selu(x, 1.6732, 1.0507)), tolerance=1e-6)
    row(
        "Selu",
        (6, NEWEST),
        [X],
        lambda x: normal(selu(x, 1.6732632423543772, 1.0507009873554805)),
        tolerance=1e-6,
    )
    row(
        "Shrink",
        EVERY,
        [X],
        lambda x: normal(np.where(x < -0.5, x + 0.1, np.where(x > 0.5, x - 0.1, 0))),
        bias=0.1,
    )
    row("Swish", EVERY, [X], lambda x: normal(x * sigmoid(x)))
    row("ThresholdedRelu", EVERY, [X], lambda x: normal(np.where(x > 0.3, x, 0)), alpha=0.3)


def broadcasting_rows():
    """Two operands: of one shape up to version 6, or broadcast from attribute axis on."""
    floats = {
        "Add": np.add,
        "Div": np.divide,
        "Mul": np.multiply,
        "Pow": np.power,
        "Sub": np.subtract,
    }
    logical = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
    compared = {"Equal": np.equal, "Greater": np.greater, "Less": np.less}
    for op, function in floats.items():
        base = ramp(2, 3, 2, start=0.3)
        add_broadcasting(op, base, ramp(2, 3, 2, start=2.0, step=-0.1), function)
    for op, function in logical.items():
        add_broadcasting(op, np.stack([FLAGS, OTHERS], -1), np.stack([OTHERS, FLAGS], -1), function)
    for op, function in compared.items():
        a = np.arange(12).reshape(2, 3, 2) % 5
        dtype = np.int32 if op == "Equal" else np.float32
        add_broadcasting(op, a.astype(dtype), np.flip(a).astype(dtype), function)
    for op, function in {"GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal}.items():
        row(op, EVERY, [X, f32(-0.5, 0, 0.11)], function)
    bits = {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}
    for op, function in bits.items():
        row(op, EVERY, [WHOLE, i64(3, 5, 6)], function)
    row(
        "BitShift",
        EVERY,
        [WHOLE.astype(np.uint8), np.array([1, 2, 3], np.uint8)],
        np.left_shift,
        direction="LEFT",
    )
    row("Mod", EVERY, [WHOLE - 3, i64(2, -2, 5)], np.mod)


def add_broadcasting(op, a, b, function):
    row(op, EVERY, [a, b], function)
    row(op, (1, 6), [a, b[0, 0]], function, broadcast=1, name=f"{op}_last_axes")
    row(op, (1, 6), [a, b[0, 0, 0]], function, broadcast=1, name=f"{op}_scalar")
    row(
        op,
        (1, 6),
        [a, b[:, 0, 0]],
        lambda x, y: function(x, y[:, None, None]),
        broadcast=1,
        axis=0,
        name=f"{op}_axis_0",
    )
    row(
        op,
        (1, 6),
        [a, b[0, :, 0]],
        lambda x, y: function(x, y[:, None]),
        broadcast=1,
        axis=1,
        name=f"{op}_axis_1",
    )
    row(
        op,
        (1, 6),
        [a, b[:, :, 0]],
        lambda x, y: function(x, y[:, :, None]),
        broadcast=1,
        axis=0,
        name=f"{op}_axes_0_1",
    )
    row(op, (1, 6), [a, b[0, 0]], function, broadcast=1, axis=2, name=f"{op}_axis_2")
    row(op, (7, NEWEST), [a, b[0, :, :1]], function, name=f"{op}_numpy")
    row(op, (7, NEWEST), [a[0, 0], b], function, name=f"{op}_numpy_first")


def variadic_rows():
    table = {
        "Max": lambda *x: np.maximum.reduce(x),
        "Mean": lambda *x: normal(sum(x) / len(x)),
        "Min": lambda *x: np.minimum.reduce(x),
        "Sum": lambda *x: sum(x),
    }
    for op, function in table.items():
        row(op, EVERY, [X, -X, X * X], function)
        row(op, EVERY, [X], np.array)
        row(op, (8, NEWEST), [X, f32(0.5)], lambda *x, f=function: f(*np.broadcast_arrays(*x)))


def product_rows():
    a, b, c = ramp(2, 4), ramp(4, 3, start=0.5), ramp(2, 3)
    full = normal(0.5 * (a @ b) + 2 * c)
    row("Gemm", EVERY, [a, b, c], full, alpha=0.5, beta=2.0)
    row("Gemm", EVERY, [a.T.copy(), b.T.copy(), c], a @ b + c, transA=1, transB=1)
    row("Gemm", (1, 6), [a, b, c[0]], a @ b + c[0], broadcast=1)
    row("Gemm", (7, NEWEST), [a, b, c[0]], a @ b + c[0])
    row("Gemm", (11, NEWEST), [a, b], a @ b)
    row("MatMul", EVERY, [a, b], np.matmul)
    row("Einsum", EVERY, [a, b], np.matmul, equation="ij,jk->ik")
    chain = normal(np.einsum("...ij,jk,...lk,m->...il", LONG, X[:, :2].T.copy(), LONG, a[0]))
    row(
        "Einsum",
        EVERY,
        [LONG, X[:, :2].T.copy(), LONG, a[0]],
        chain,
        equation="...ij,jk,...lk,m->...il",
    )
    x, w, bias = ramp(1, 2, 5), ramp(3, 2, 2), f32(0.1, 0.2, 0.3)
    windows = np.stack([x[0, :, i : i + 2] for i in range(4)])
    conv = np.einsum("tcw,ocw->ot", windows, w)[None] + bias[:, None]
    row("Conv", EVERY, [x, w, bias], normal(conv))
    signal = np.arange(6, dtype=np.uint8).reshape(1, 1, 6)
    weights = np.array([1, 2], np.uint8).reshape(1, 1, 2)
    exact = signal[0, 0, :-1].astype(int) + 2 * signal[0, 0, 1:].astype(int)
    zero = np.array(0, np.uint8)
    row(
        "QLinearConv",
        EVERY,
        [signal, np.float32(0.5), zero, weights, np.float32(1), zero, np.float32(0.5), zero],
        exact.astype(np.uint8).reshape(1, 1, 5),
    )


def normalization_rows():
    x = ramp(2, 3, 4)
    scale, bias, mean, variance = f32(1, 2, 3), f32(0.1, 0.2, 0.3), f32(-1, 0, 1), f32(1, 2, 4)
    parts = [scale, bias, mean, variance]

    def normalised(x, scale, bias, mean, variance):
        per = (slice(None),) + (None,) * (x.ndim - 2)
        inverse = 1 / np.sqrt(variance + 1e-5)
        return normal((x - mean[per]) * inverse[per] * scale[per] + bias[per])

    tested = normalised(x, *parts)
    row("BatchNormalization", (7, NEWEST), [x, *parts], tested)
    row("BatchNormalization", (1, 6), [x, *parts], tested, is_test=1)
    row("BatchNormalization", (9, NEWEST), [x[:, :, 0], *parts], normalised(x[:, :, 0], *parts))
    by_place = [ramp(3, 4, start=start) for start in (0.5, 0.1, -0.3, 1.0)]
    places = (x - by_place[2]) / np.sqrt(by_place[3] + 1e-5) * by_place[0] + by_place[1]
    row("BatchNormalization", (7, 8), [x, *by_place], normal(places), spatial=0)
    row("BatchNormalization", (1, 6), [x, *by_place], normal(places), spatial=0, is_test=1)
    flat = [part.reshape(-1) for part in by_place]
    row("BatchNormalization", (7, 8), [x, *flat], normal(places), spatial=0)
    now = x.mean((0, 2)), x.var((0, 2))
    running = [normal(0.8 * old + 0.2 * new) for old, new in zip((mean, variance), now)]
    trained = normalised(x, scale, bias, *now)
    row(
        "BatchNormalization",
        (14, NEWEST),
        [x, *parts],
        (trained, *running),
        training_mode=1,
        momentum=0.8,
    )
    old = (trained, *running, *map(normal, now))
    row("BatchNormalization", (7, 13), [x, *parts], old, momentum=0.8)
    row("BatchNormalization", (1, 6), [x, *parts], old, momentum=0.8, is_test=0)

    centred = x - x.mean(-1, keepdims=True)
    layer = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * f32(1, 2, 3, 4)
    row("LayerNormalization", EVERY, [x, f32(1, 2, 3, 4)], normal(layer))
    square = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * f32(1, 2, 3, 4)
    row("RMSNormalization", EVERY, [x, f32(1, 2, 3, 4)], normal(square))
    row("GlobalAveragePool", EVERY, [x], x.mean(2, keepdims=True))
    row("GlobalMaxPool", EVERY, [x], x.max(2, keepdims=True))


def cast_rows():
    values = f32(-1.7, 0, 2.5)
    for span, to in (((1, 5), "{}"), ((6, NEWEST), None)):
        for text, dtype in (
            ("INT64", np.int64), ("DOUBLE", np.float64), ("BOOL", np.bool_), ("FLOAT16", np.float16)
        ):
            wanted = text if to else getattr(TP, text)
            row("Cast", span, [values], values.astype(dtype), to=wanted, name=f"Cast_{text}")
    row("CastLike", EVERY, [values, i64(1)], values.astype(np.int64))
    # Past 464 and from 61440 on a number is rounded to one that the type does not have.
    many = f32(1.0625, 464, 465, -1e9, np.inf, np.nan)
    narrow = {"FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz}
    wide = {"FLOAT8E5M2": ml_dtypes.float8_e5m2, "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz}
    for text, dtype in (narrow | wide).items():
        given = many if text in narrow else f32(1.0625, 61439, 61440, -1e9, np.inf, np.nan)
        row(
            "Cast",
            (19, NEWEST),
            [given],
            given.astype(dtype),
            to=getattr(TP, text),
            saturate=0,
            name=f"Cast_{text}",
        )
    nibbles = f32(-9, -8, 7, 8, 100)
    row(
        "Cast",
        (21, NEWEST),
        [nibbles],
        nibbles.astype(np.int32).astype(ml_dtypes.int4),
        to=TP.INT4,
        name="Cast_INT4",
    )
    row("Clip", (1, 10), [X], np.clip(X, -0.5, 0.25), min=-0.5, max=0.25)
    row("Clip", (1, 10), [X], np.maximum(X, 0), min=0.0)
    row("Clip", (11, NEWEST), [X, np.float32(-0.5), np.float32(0.25)], np.clip)
    row("Clip", (11, NEWEST), [X, None, np.float32(0.25)], np.minimum(X, 0.25))
    row("Clip", (12, NEWEST), [WHOLE, np.int64(1), np.int64(4)], np.clip)


def quantize_rows():
    scale, zero = np.float32(0.5), np.array(10, np.uint8)
    bytes_ = np.array([7, 10, 255], np.uint8)
    row("QuantizeLinear", EVERY, [f32(-1.5, 0, 200), scale, zero], bytes_)
    row("DequantizeLinear", EVERY, [bytes_, scale, zero], f32(-1.5, 0, 122.5))
    blocks = f32(0.5, 2, 1, 4, shape=(2, 2))
    zeros = np.array([[1, 2], [3, 4]], np.uint8)
    spread = np.repeat(blocks, 2, 1)[:, :3]
    offsets = np.repeat(zeros, 2, 1)[:, :3]
    x = ramp(2, 3, step=7)
    quantized = np.clip(np.round(x / spread) + offsets, 0, 255).astype(np.uint8)
    row("QuantizeLinear", (21, NEWEST), [x, blocks, zeros], quantized, axis=1, block_size=2)
    back = (quantized.astype(np.float32) - offsets) * spread
    row("DequantizeLinear", (21, NEWEST), [quantized, blocks, zeros], back, axis=1, block_size=2)


def constant_rows():
    tensor = onnx.numpy_helper.from_array(X)
    row("Constant", EVERY, [], X, value=tensor)
    row("Constant", (12, NEWEST), [], i64(3, 4), value_ints=[3, 4])
    filling = onnx.numpy_helper.from_array(i64(7))
    row("ConstantOfShape", EVERY, [i64(2, 3)], np.full((2, 3), 7), value=filling)
    row("Range", EVERY, [np.int64(1), np.int64(8), np.int64(3)], i64(1, 4, 7))


def selection_rows():
    row("Concat", (1, 3), [X, X], np.concatenate([X, X], 1))
    row("Concat", EVERY, [X, X], np.concatenate([X, X], 0), axis=0)
    row("Gather", EVERY, [X, i64(2, 0)], X[:, [2, 0]], axis=1)
    row(
        "GatherElements",
        EVERY,
        [X, i64(1, 0, 1).reshape(1, 3)],
        np.take_along_axis(X, i64(1, 0, 1).reshape(1, 3), 0),
    )
    row("ArrayFeatureExtractor", EVERY, [X, i64(2, 0)], X[:, [2, 0]], domain="ai.onnx.ml")
    row("NonZero", EVERY, [FLAGS], np.array(np.nonzero(FLAGS), np.int64))
    row("Slice", (1, 9), [X], X[:1, 1:3], starts=[0, 1], ends=[1, 3], axes=[0, 1])
    row("Slice", (10, NEWEST), [X, i64(2), i64(0), i64(1), i64(-1)], X[:, 2:0:-1])
    row("Where", EVERY, [FLAGS, X, -X], np.where)
    pieces = X[:, :1], X[:, 1:]
    row("Split", (1, 12), [X], pieces, axis=1, split=[1, 2], name="Split_attribute")
    row("Split", (1, 1), [X, f32(1, 2)], pieces, axis=1, name="Split_operand")
    row("Split", (13, NEWEST), [X, i64(1, 2)], pieces, axis=1)
    row("Split", (2, 17), [X], (X[:1], X[1:]), name="Split_equal")
    row(
        "Split", (18, NEWEST), [X], (X[:, :2], X[:, 2:]), axis=1, num_outputs=2, name="Split_uneven"
    )
    top = (X[:, [2, 1]], np.array([[2, 1], [2, 1]], np.int64))
    row("TopK", (1, 9), [X], top, k=2)
    row("TopK", (10, NEWEST), [X, i64(2)], top)
    row("Trilu", EVERY, [X], np.triu)
    row("CumSum", EVERY, [X, np.int64(1)], lambda x, axis: np.cumsum(x, 1, dtype=np.float32))


def shape_rows():
    row("Expand", EVERY, [X[:, :1], i64(2, 3)], np.broadcast_to(X[:, :1], (2, 3)))
    row("Flatten", EVERY, [LONG], LONG.reshape(2, 6))
    row("Flatten", (11, NEWEST), [LONG], LONG.reshape(6, 2), axis=-1)
    row("Reshape", (1, 4), [LONG], LONG.reshape(2, 6), shape=[0, -1])
    row("Reshape", (5, NEWEST), [LONG, i64(0, -1)], LONG.reshape(2, 6))
    row("Shape", EVERY, [LONG], i64(2, 3, 2))
    row("Shape", (15, NEWEST), [LONG], i64(3, 2), start=1)
    row("Size", EVERY, [LONG], np.int64(12))
    ones = X.reshape(1, 2, 3, 1)
    row("Squeeze", (1, 12), [ones], X, axes=[0, 3])
    row("Squeeze", (13, NEWEST), [ones, i64(0, -1)], X)
    row("Squeeze", EVERY, [ones], X, name="Squeeze_all")
    row("Unsqueeze", (1, 12), [X], ones, axes=[0, 3])
    row("Unsqueeze", (13, NEWEST), [X, i64(0, -1)], ones)
    row("Squeeze", (13, NEWEST), [ones, i64(0, -1)], X, constant=True)
    row("Unsqueeze", (13, NEWEST), [X, i64(0, -1)], ones, constant=True)
    row("Tile", (1, 5), [X, np.float32(2), np.float32(1)], np.tile(X, (1, 2)))
    row("Tile", (1, 5), [X, f32(3), f32(0)], np.tile(X, (3, 1)))
    row("Tile", (6, NEWEST), [X, i64(2, 1)], np.tile(X, (2, 1)))
    row("Transpose", EVERY, [LONG], LONG.transpose(2, 0, 1), perm=[2, 0, 1])
    padded = np.pad(X, ((0, 1), (2, 0)), constant_values=1.5)
    row("Pad", (1, 1), [X], padded, paddings=[0, 2, 1, 0], value=1.5)
    row("Pad", (2, 10), [X], padded, pads=[0, 2, 1, 0], value=1.5)
    row("Pad", (11, NEWEST), [X, i64(0, 2, 1, 0), np.float32(1.5)], padded)
    row(
        "Pad",
        (1, 1),
        [X],
        np.pad(X, ((0, 1), (2, 0)), "reflect"),
        paddings=[0, 2, 1, 0],
        mode="reflect",
    )


def reduction_rows():
    table = {
        "ReduceL1": lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
        "ReduceL2": lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims)),
        "ReduceLogSum": lambda x, axis, keepdims: np.log(x.sum(axis, keepdims=keepdims)),
        "ReduceLogSumExp": lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims)),
        "ReduceMax": lambda x, axis, keepdims: x.max(axis, keepdims=keepdims),
        "ReduceMean": lambda x, axis, keepdims: x.mean(axis, keepdims=keepdims),
        "ReduceMin": lambda x, axis, keepdims: x.min(axis, keepdims=keepdims),
        "ReduceProd": lambda x, axis, keepdims: x.prod(axis, keepdims=keepdims),
        "ReduceSum": lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims),
        "ReduceSumSquare": lambda x, axis, keepdims: (x * x).sum(axis, keepdims=keepdims),
    }
    x = ramp(2, 3, 2, start=0.2)
    for op, function in table.items():
        operand = 13 if op == "ReduceSum" else 18
        row(op, (1, operand - 1), [x], function(x, (0, 2), True), axes=[0, 2])
        row(op, (1, operand - 1), [x], function(x, (1,), False), axes=[1], keepdims=0)
        row(op, (operand, NEWEST), [x, i64(0, 2)], function(x, (0, 2), True))
        row(op, (operand, NEWEST), [x, i64(0, 2)], function(x, (0, 2), True), constant=True)
        row(op, (operand, NEWEST), [x, i64(-2)], function(x, (1,), False), keepdims=0)
        row(op, EVERY, [x], function(x, None, True))
    for op, function in {"ArgMax": np.argmax, "ArgMin": np.argmin}.items():
        row(op, EVERY, [X], function(X, 1)[:, None], axis=1)
        row(op, EVERY, [X], function(X, 0), keepdims=0)


def softmax_rows():
    def soft(x, axis):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    flat = soft(LONG.reshape(2, 6), 1).reshape(LONG.shape)
    for op, last in {"Softmax": lambda y: y, "LogSoftmax": np.log}.items():
        row(op, (1, 12), [LONG], normal(last(flat)))
        row(op, (13, NEWEST), [LONG], normal(last(soft(LONG, -1))))
        row(op, (13, NEWEST), [LONG], normal(last(soft(LONG, 1))), axis=1)


def prelu_rows():
    def slope(x, s):
        return normal(np.where(x < 0, s * x, x))

    row("PRelu", (1, 6), [LONG, f32(0.1, 0.2, 0.3)], lambda x, s: slope(x, s[:, None]))
    row("PRelu", (1, 6), [X, f32(0.1, 0.2, 0.3)], slope)
    row("PRelu", EVERY, [LONG, f32(0.25)], slope)
    row("PRelu", (7, NEWEST), [LONG, f32(0.1, 0.2)], slope)


def dropout_rows():
    row("Dropout", (1, 6), [X], X, is_test=1)
    row("Dropout", (7, 9), [X], (X, np.ones_like(X)))
    row("Dropout", (10, NEWEST), [X], (X, np.ones(X.shape, bool)))
    row("Dropout", (1, 6), [X], X, is_test=0, ratio=0.0)
    kept = (X, np.ones(X.shape, bool))
    row("Dropout", (12, NEWEST), [X, np.float32(0), np.array(True)], kept, constant=True)
    row("Dropout", (12, NEWEST), [X, np.float32(0.5), np.array(False)], kept, constant=True)


def lstm_reference(x, w, r, b):
    size = r.shape[-1]
    h = c = np.zeros((x.shape[1], size), np.float32)
    rows = []
    for step in x:
        gates = step @ w[0].T + h @ r[0].T + b[0, : 4 * size] + b[0, 4 * size :]
        i, o, f, g = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        rows.append(h[None])
    return normal(np.stack(rows)), normal(h[None]), normal(c[None])


def recurrent_rows():
    x, w, r = ramp(3, 2, 2, step=0.1), ramp(1, 12, 2, step=0.05), ramp(1, 12, 3, step=0.03)
    b = ramp(1, 24, step=0.02)
    row("LSTM", EVERY, [x, w, r, b], lstm_reference, hidden_size=3)
    row("LSTM", (1, 6), [x, w, r, b], lstm_reference, hidden_size=3, output_sequence=1)


def value(name, dtype=None, shape=None):
    return oh.make_tensor_value_info(name, dtype, shape) if dtype else onnx.ValueInfoProto(
        name=name
    )


def body(nodes, inputs, outputs):
    graph = onnx.GraphProto(name="body")
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.output.extend(outputs)
    return graph


def control_rows():
    neg = body([oh.make_node("Neg", ["x0"], ["y"])], [], [value("y", TP.FLOAT, [2, 3])])
    same = body([oh.make_node("Abs", ["x0"], ["z"])], [], [value("z", TP.FLOAT, [2, 3])])
    row(
        "If", EVERY, [np.array(False), X], -X, then_branch=same, else_branch=neg, name="If_captured"
    )
    step = body(
        [
            oh.make_node("Identity", ["c"], ["d"]),
            oh.make_node("Sum", ["s", "s"], ["t"]),
            oh.make_node("Identity", ["t"], ["u"]),
        ],
        [value("i", TP.INT64, []), value("c", TP.BOOL, []), value("s", TP.FLOAT, [2, 3])],
        [value("d", TP.BOOL, []), value("t", TP.FLOAT, [2, 3]), value("u", TP.FLOAT, [2, 3])],
    )
    rows = np.stack([2 * X, 4 * X, 8 * X])
    row("Loop", EVERY, [np.int64(3), np.array(True), X], (8 * X, rows), body=step)
    step = body(
        [oh.make_node("Sum", ["s", "r"], ["t"]), oh.make_node("Identity", ["t"], ["u"])],
        [value("s", TP.FLOAT, [3]), value("r", TP.FLOAT, [3])],
        [value("t", TP.FLOAT, [3]), value("u", TP.FLOAT, [3])],
    )
    sums = np.cumsum(X, 0, dtype=np.float32)
    row(
        "Scan",
        (9, NEWEST),
        [np.zeros(3, np.float32), X],
        (sums[-1], sums),
        body=step,
        num_scan_inputs=1,
    )
    batch = np.stack([X, -X])
    row(
        "Scan",
        (8, 8),
        [None, np.zeros((2, 3), np.float32), batch],
        (np.stack([sums[-1], -sums[-1]]), np.stack([sums, -sums])),
        body=step,
        num_scan_inputs=1,
    )


for add_rows in (
    unary_rows,
    activation_rows,
    broadcasting_rows,
    variadic_rows,
    product_rows,
    normalization_rows,
    cast_rows,
    quantize_rows,
    constant_rows,
    selection_rows,
    shape_rows,
    reduction_rows,
    softmax_rows,
    prelu_rows,
    dropout_rows,
    recurrent_rows,
    control_rows,
):
    add_rows()
