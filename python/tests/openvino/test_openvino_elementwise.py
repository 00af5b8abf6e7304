"""OpenVINO's operations element by element, its reductions and conversions."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from openvino_cases import Case, case, check_here, check_peer, check_refused, failures_here, fixed, plain_model

import scanloom

RNG = np.random.default_rng(7)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
Y = RNG.uniform(-3, 3, (3, 1)).astype(np.float32)
UNIT = RNG.uniform(-0.9, 0.9, (2, 3)).astype(np.float32)
POSITIVE = RNG.uniform(0.1, 4, (2, 3)).astype(np.float32)
WHOLE = np.array([-7, -3, 0, 1, 2, 5, 9], np.int32)
OTHER = np.array([2, -2, 3, 3, -4, 2, -2], np.int32)
TRUTH = np.array([[True, False], [True, True]])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, 1, -2], np.float32)
erf = np.vectorize(math.erf, otypes=[np.float64])

AXIS_0 = "its reader takes no axis of pdpd but 0"
PDPD = "the plugin aligns operands of pdpd with the last axes when it compiles them"
UNPYTHONIC = "the plugin truncates quotients of i32 whatever m_pythondiv says"


def unary(kind: str, version: int, x: np.ndarray, f: Callable, **more) -> Case:
    """f in f64, rounded to the nearest whole number of integers."""
    y = f(x.astype(np.float64))
    return case(kind, version, [x], (np.rint(y) if x.dtype.kind in "iu" else y).astype(x.dtype), **more)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


SMALL = np.array([-2, -1, 0, 1, 2], np.int32)
HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4999999, 1.2, -3.7], np.float32)

FUNCTIONS = [
    unary("Abs", 1, X, np.abs), unary("Abs", 1, WHOLE, np.abs),
    unary("Acos", 1, UNIT, np.arccos), unary("Acosh", 4, POSITIVE + 1, np.arccosh),
    unary("Asin", 1, UNIT, np.arcsin), unary("Asinh", 4, X, np.arcsinh),
    unary("Atan", 1, X, np.arctan), unary("Atanh", 4, UNIT, np.arctanh),
    unary("Ceiling", 1, X, np.ceil), unary("Ceiling", 1, WHOLE, np.ceil),
    unary("Clamp", 1, X, lambda x: np.clip(x, -0.5, 1.25), min=-0.5, max=1.25),
    unary("Clamp", 1, WHOLE, lambda x: np.clip(x, -2, 3), min=-2.5, max=3.75),
    unary("Clamp", 1, WHOLE, lambda x: np.clip(x, -2, None), min=-2, max=1e20),
    unary("Cos", 1, X, np.cos), unary("Cosh", 1, X, np.cosh),
    unary("Elu", 1, X, lambda x: np.where(x < 0, 0.7 * np.expm1(x), x), alpha=0.7),
    unary("Erf", 1, X, erf), unary("Exp", 1, X, np.exp), unary("Exp", 1, SMALL, np.exp),
    unary("Floor", 1, X, np.floor), unary("Floor", 1, WHOLE, np.floor),
    unary("Gelu", 2, X, lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))),
    unary("Gelu", 7, X, lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))),
    unary("Gelu", 7, X, lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), approximation_mode="ERF"),
    unary("Gelu", 7, X, lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
          approximation_mode="TANH"),
    case("HardSigmoid", 1, [X, fixed(0.3, np.float32), fixed(0.4, np.float32)],
         np.clip(np.float32(0.3) * X + np.float32(0.4), 0, 1)),
    unary("HSigmoid", 5, X, lambda x: np.clip(x + 3, 0, 6) / 6),
    unary("HSwish", 4, X, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    unary("Log", 1, POSITIVE, np.log),
    unary("Mish", 4, X, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    unary("Negative", 1, X, np.negative), unary("Negative", 1, WHOLE, np.negative),
    case("PReLU", 1, [X, fixed([0.1, 0.2, 0.3], np.float32)],
         np.where(X < 0, X * np.array([0.1, 0.2, 0.3], np.float32)[:, None], X)),
    case("PReLU", 1, [X, fixed([0.25], np.float32)], np.where(X < 0, X * np.float32(0.25), X)),
    unary("ReLU", 1, X, lambda x: np.maximum(x, 0)), unary("Relu", 1, WHOLE, lambda x: np.maximum(x, 0)),
    unary("Round", 5, HALVES, np.rint), unary("Round", 5, HALVES, np.rint, mode="half_to_even"),
    unary("Round", 5, HALVES, half_away, mode="half_away_from_zero"),
    case("Selu", 1, [X, fixed([1.6], np.float32), fixed([1.05], np.float32)],
         (np.float32(1.05) * np.where(X > 0, X, np.float32(1.6) * np.expm1(X)))),
    unary("Sigmoid", 1, X, sigmoid), unary("Sigmoid", 1, SMALL, sigmoid),
    unary("Sign", 1, X, np.sign), unary("Sign", 1, WHOLE, np.sign),
    unary("Sin", 1, X, np.sin), unary("Sinh", 1, X, np.sinh),
    unary("SoftPlus", 4, X, lambda x: np.log1p(np.exp(x))),
    unary("SoftSign", 9, X, lambda x: x / (1 + np.abs(x))),
    unary("Sqrt", 1, POSITIVE, np.sqrt), unary("Sqrt", 1, np.abs(WHOLE), np.sqrt),
    unary("Swish", 4, X, lambda x: x * sigmoid(x)),
    case("Swish", 4, [X, fixed(1.5, np.float32)], (X * sigmoid(np.float32(1.5) * X)).astype(np.float32)),
    case("Swish", 4, [X, np.array(0.5, np.float32)], (X * sigmoid(np.float32(0.5) * X)).astype(np.float32)),
    unary("Tan", 1, UNIT, np.tan), unary("Tanh", 1, X, np.tanh),
    case("IsFinite", 10, [SPECIAL], np.isfinite(SPECIAL)),
    case("IsInf", 10, [SPECIAL], np.isinf(SPECIAL)),
    case("IsInf", 10, [SPECIAL], np.isposinf(SPECIAL), detect_negative=False),
    case("IsInf", 10, [SPECIAL], np.isneginf(SPECIAL), detect_positive=False),
    case("IsNaN", 10, [SPECIAL], np.isnan(SPECIAL)),
    case("LogicalNot", 1, [TRUTH], ~TRUTH),
    case("BitwiseNot", 13, [WHOLE], ~WHOLE), case("BitwiseNot", 13, [TRUTH], ~TRUTH),
]  # fmt: skip

ROW = RNG.uniform(0.5, 2, 3).astype(np.float32)  # aligned with axis 1 of X under pdpd
BITS = np.array([1, 2, 0, 3, 1, 0, 2], np.int32)
UNSIGNED = np.array([1, 2, 0, 3, 250, 17, 2], np.uint8)


def binary(kind: str, f: Callable, a: np.ndarray = X, b: np.ndarray = Y, version: int = 1, **more) -> Case:
    return case(kind, version, [a, b], f(a, b), **more)


PAIRS = [
    *(binary(kind, f, a, b)
      for kind, f in [("Add", np.add), ("Subtract", np.subtract), ("Multiply", np.multiply),
                      ("Maximum", np.maximum), ("Minimum", np.minimum),
                      ("SquaredDifference", lambda a, b: (a - b) * (a - b))]
      for a, b in [(X, Y), (WHOLE, OTHER)]),
    *(binary(kind, f, a, b)
      for kind, f in [("Equal", np.equal), ("NotEqual", np.not_equal), ("Less", np.less),
                      ("LessEqual", np.less_equal), ("Greater", np.greater),
                      ("GreaterEqual", np.greater_equal)]
      for a, b in [(np.rint(X), np.rint(Y)), (WHOLE, WHOLE[::-1].copy())]),
    binary("Equal", np.equal, TRUTH, TRUTH[0]),
    binary("Less", np.less, TRUTH, TRUTH[0]),
    binary("Divide", np.divide), binary("Divide", np.divide, auto_broadcast="NUMPY"),
    binary("Divide", lambda a, b: a // b, WHOLE, OTHER, differs=UNPYTHONIC),
    binary("Divide", lambda a, b: a // b, WHOLE, OTHER, m_pythondiv=True, differs=UNPYTHONIC),
    binary("Divide", lambda a, b: np.trunc(a / b).astype(np.int32), WHOLE, OTHER, m_pythondiv=False),
    binary("Divide", lambda a, b: a // b, UNSIGNED, UNSIGNED[::-1] + np.uint8(1)),
    binary("Mod", np.fmod), binary("Mod", np.fmod, WHOLE, OTHER),
    binary("FloorMod", np.mod), binary("FloorMod", np.mod, WHOLE, OTHER),
    binary("Power", np.power, POSITIVE, UNIT), binary("Power", np.power, WHOLE, np.abs(SMALL)[2:3]),
    *(binary(kind, f, TRUTH, np.array([True, False]))
      for kind, f in [("LogicalAnd", np.logical_and), ("LogicalOr", np.logical_or),
                      ("LogicalXor", np.logical_xor), ("Xor", np.logical_xor)]),
    *(binary(kind, f, a, b, 13)
      for kind, f in [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or),
                      ("BitwiseXor", np.bitwise_xor)]
      for a, b in [(WHOLE, OTHER), (UNSIGNED, UNSIGNED[::-1].copy()), (TRUTH, TRUTH[1])]),
    binary("BitwiseLeftShift", np.left_shift, np.abs(WHOLE), BITS, 15),
    binary("BitwiseRightShift", np.right_shift, np.abs(WHOLE), BITS, 15),
    *(binary(kind, f, X, X[::-1].copy(), auto_broadcast="none")
      for kind, f in [("Add", np.add), ("Maximum", np.maximum), ("Less", np.less)]),
    *(case(kind, 1, [X, ROW], f(X, ROW[:, None]), auto_broadcast="pdpd", axis=1, differs=AXIS_0)
      for kind, f in [("Add", np.add), ("Multiply", np.multiply), ("Greater", np.greater)]),
    *(case(kind, 1, [X, ROW[:2]], f(X, ROW[:2, None, None]), auto_broadcast="pdpd", axis=0)
      for kind, f in [("Add", np.add), ("Multiply", np.multiply), ("Maximum", np.maximum)]),
    case("Greater", 1, [X, ROW[:2]], X > ROW[:2, None, None], auto_broadcast="pdpd", axis=0, differs=PDPD),
    case("Add", 1, [X, X[0]], X + X[0], auto_broadcast="pdpd", axis=-1, differs=AXIS_0),
    case("Add", 1, [X, X[0, :, :1]], X + X[0, :, :1], auto_broadcast="pdpd", axis=1, differs=AXIS_0),
    case("Add", 1, [X, X[..., :1]], X + X[..., :1], auto_broadcast="pdpd", axis=0),
    case("Add", 1, [X[0], X[0, :, :1, None]], X[0] + X[0, :, :1], auto_broadcast="pdpd", axis=0,
         differs="the plugin keeps axes of one element at the end", sized=True),
    case("Select", 1, [X > 0, X, -X], np.abs(X)),
    case("Select", 1, [np.array([True, False, True])[:, None], X, Y],
         np.where(np.array([True, False, True])[:, None], X, Y)),
    case("Select", 1, [X > 0, WHOLE[:1], OTHER[:1]], np.where(X > 0, WHOLE[:1], OTHER[:1])),
    case("Select", 1, [X > 0, X, -X], np.abs(X), auto_broadcast="none"),
    case("Select", 1, [X[0, :, 0] > 0, X, ROW], np.where(X[0, :, :1] > 0, X, ROW[:, None]),
         auto_broadcast="pdpd", axis=1, differs=AXIS_0),
    case("Select", 1, [X[:, 0, 0] > 0, X, ROW[:2]],
         np.where(X[:, :1, :1] > 0, X, ROW[:2, None, None]), auto_broadcast="pdpd", axis=0,
         differs=PDPD),
]  # fmt: skip

F16, F64 = X.astype(np.float16), X.astype(np.float64)
SCALED = X * 100


def promote(a: np.ndarray, b: np.ndarray, dtype: type, **more) -> Case:
    return case("ConvertPromoteTypes", 14, [a, b], a.astype(dtype), b.astype(dtype), **more)


CONVERSIONS = [
    case("Convert", 1, [X], X.astype(np.int32), destination_type="i32"),
    case("Convert", 1, [X], X.astype(np.float16), destination_type="f16"),
    case("Convert", 1, [X], X.astype(np.float64), destination_type="f64"),
    case("Convert", 1, [WHOLE], WHOLE.astype(np.int64), destination_type="i64"),
    case("Convert", 1, [WHOLE], WHOLE != 0, destination_type="boolean"),
    case("Convert", 1, [np.array([0, 0.5, -2], np.float32)], np.array([False, True, True]),
         destination_type="boolean"),
    case("Convert", 1, [TRUTH], TRUTH.astype(np.float32), destination_type="f32"),
    case("Convert", 1, [F16], F16.astype(np.float32), destination_type="f32"),
    case("ConvertLike", 1, [X, WHOLE], X.astype(np.int32)),
    case("ConvertLike", 1, [WHOLE, X], WHOLE.astype(np.float32)),
    promote(X, F16, np.float32), promote(WHOLE, UNSIGNED, np.int32),
    promote(UNSIGNED, WHOLE.astype(np.int8), np.int16, promote_unsafe=True),
    promote(WHOLE, X, np.float32, promote_unsafe=True),
    promote(TRUTH, UNSIGNED, np.uint8), promote(WHOLE, WHOLE.astype(np.int64), np.int64),
    promote(WHOLE, np.array(2, np.int16), np.int32, pytorch_scalar_promotion=True),
    promote(WHOLE, np.array(2, np.int64), np.int32, pytorch_scalar_promotion=True, promote_unsafe=True),
    promote(np.array(2, np.float16), UNSIGNED, np.float16, pytorch_scalar_promotion=True),
    promote(WHOLE.astype(np.int64), np.array(3, np.uint64), np.float32, promote_unsafe=True),
    promote(X, F64, np.float64),
]  # fmt: skip



def of_all_types() -> list[Case]:
    """Sums and the like wrap in integers of every size; f16 is rounded once."""
    cases = []
    for name in ("float16", "float64", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"):
        a, b = np.array([7, 1, 0, 5, 3]).astype(name), np.array([3, 1, 2, 4, 7]).astype(name)
        for kind, f in (("Add", np.add), ("Subtract", np.subtract), ("Multiply", np.multiply),
                        ("Maximum", np.maximum), ("Less", np.less), ("FloorMod", np.mod)):
            wraps = kind == "Subtract" and name == "uint8"
            cases.append(binary(kind, f, a, b, differs="the plugin saturates" if wraps else ""))
        cases.append(case("ReduceSum", 1, [a, fixed([0])], np.array(16, name)))
        cases.append(case("ReduceMax", 1, [a, fixed([0])], np.array(7, name)))
        cases.append(unary("Abs", 1, a, np.abs))
        if name.startswith("f"):
            tolerance = 2e-3 if name == "float16" else 2e-7
            x = F16 if name == "float16" else F64
            cases += [unary(kind, version, x, f, tolerance=tolerance)
                      for kind, version, f in (("HSwish", 4, lambda x: x * np.clip(x + 3, 0, 6) / 6),
                                               ("Tanh", 1, np.tanh), ("Exp", 1, np.exp))]
            cases.append(unary("Gelu", 7, x, lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
                               tolerance=tolerance,
                               differs="the plugin has f32 alone" if name == "float64" else ""))  # fmt: skip
    return cases


EIGHT_BITS = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def fake_convert(word: str, shift: float | None) -> Case:
    scale = np.array([2, 0.5, 1, 4], np.float32)
    moved = SCALED * scale - np.float32(shift or 0)
    limit = np.float32(448 if word == "f8e4m3" else 57344)
    kept = np.clip(moved, -limit, limit).astype(getattr(ml_dtypes, EIGHT_BITS[word])).astype(np.float32)
    rest = [fixed([shift] * 4, np.float32)] if shift is not None else []
    return case("FakeConvert", 13, [SCALED, fixed(scale), *rest],
                (kept + np.float32(shift or 0)) / scale, destination_type=word)  # fmt: skip


FAKED = [fake_convert(word, shift) for word in EIGHT_BITS for shift in (None, 1.5)]


def reductions() -> list[Case]:
    kinds = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min, "Prod": np.prod,
             "L1": lambda x, **how: np.abs(x).sum(**how),
             "L2": lambda x, **how: np.sqrt(np.square(x).sum(**how))}  # fmt: skip
    cases = []
    for kind, f in kinds.items():
        version = 4 if kind in ("L1", "L2") else 1
        for axes, keep in (([1], None), ([0, -1], True), ([2, 0], False), (1, True)):
            y = f(X, axis=tuple(np.atleast_1d(axes)), keepdims=bool(keep))
            data = {} if keep is None else {"keep_dims": keep}
            cases.append(case(f"Reduce{kind}", version, [X, fixed(axes)], y, **data))
        computed = np.array([1, 2], np.int64)
        cases.append(case(f"Reduce{kind}", version, [X, computed], f(X, axis=(1, 2)),
                          differs="the plugin needs constant axes", keep_dims=False))  # fmt: skip
    for kind, f in {"Sum": np.sum, "Max": np.max, "Min": np.min, "Prod": np.prod}.items():
        x = WHOLE.reshape(1, 7)
        cases.append(case(f"Reduce{kind}", 1, [x, fixed([1])], f(x, axis=1).astype(np.int32)))
    for kind, f in {"LogicalAnd": np.all, "LogicalOr": np.any}.items():
        for axes, keep in (([0], False), ([1], True), ([0, 1], False)):
            y = f(TRUTH, axis=tuple(axes), keepdims=keep)
            cases.append(case(f"Reduce{kind}", 1, [TRUTH, fixed(axes)], y, keep_dims=keep))
    return cases


TABLES = {"functions": FUNCTIONS, "pairs": PAIRS, "conversions": [*CONVERSIONS, *FAKED],
          "reductions": reductions(), "element types": of_all_types()}  # fmt: skip


@pytest.mark.parametrize("title", TABLES)
def test_formula(title: str, tmp_path: pathlib.Path, report: Callable[[str], None]) -> None:
    check_here(TABLES[title], title, tmp_path, report)


def test_any_rank(tmp_path: pathlib.Path) -> None:
    """Operands of which nothing but the element type is known."""
    cases = [one for one in [*FUNCTIONS, *PAIRS, *CONVERSIONS]
             if one.kind not in ("PReLU", "ConvertPromoteTypes") and "pdpd" not in one.name]  # fmt: skip
    failures = failures_here(cases, {"any rank": lambda one: plain_model(one, "any")}, tmp_path)
    assert not failures, "\n".join(failures)


def test_any_rank_refused(tmp_path: pathlib.Path) -> None:
    """A list of slopes applies to the axis of channels, which is unknown here."""
    one = case("PReLU", 1, [X, fixed([0.1, 0.2, 0.3], np.float32)], X)
    with pytest.raises(scanloom.Unsupported, match="input 0 has an unknown number of axes"):
        scanloom.InferenceSession(plain_model(one, "any").save(tmp_path))


@pytest.mark.parametrize("title", TABLES)
def test_openvino(title: str, tmp_path: pathlib.Path, report: Callable[[str], None]) -> None:
    check_peer(TABLES[title], title, tmp_path, report)


def refused(message: str, kind: str, version: int, operands: list, **data) -> tuple[Case, str]:
    return case(kind, version, operands, np.zeros(0), **data), message


REFUSED = [
    refused(r"inputs 0 and 1 are f32\[2,3,4\] and i32\[7\]", "Add", 1, [X, WHOLE]),
    refused(r"auto_broadcast is none, but the inputs have sizes \[2,3,4\] and \[3,1\]", "Add", 1, [X, Y],
            auto_broadcast="none"),
    refused("input 1 has 2 axes, which do not match 3 from axis 2 on", "Add", 1, [X, X[0]],
            auto_broadcast="pdpd", axis=2),
    refused("'auto_broadcast' is 'sideways', but must be one of numpy, none, pdpd", "Add", 1, [X, X],
            auto_broadcast="sideways"),
    refused("it has 1 inputs, but Add takes 2", "Add", 1, [X]),
    refused("'min' is 2, above 'max', which is 1", "Clamp", 1, [X], min=2, max=1),
    refused("attribute 'min' is missing", "Clamp", 1, [X], max=1),
    refused("input 0, the condition, is f32", "Select", 1, [X, X, X]),
    refused("IsNaN was added in opset10, but the layer is of opset9", "IsNaN", 9, [X]),
    refused("'mode' is 'up', but must be one of half_to_even, half_away_from_zero", "Round", 5, [X], mode="up"),
    refused("u8 and i8 become i16, which loses values", "ConvertPromoteTypes", 14,
            [UNSIGNED, UNSIGNED.astype(np.int8)]),
    refused("'destination_type' is f16, but f8e4m3 or f8e5m2", "FakeConvert", 13, [X, fixed([1], np.float32)],
            destination_type="f16"),
    refused("attribute 'destination_type': unknown element type 'f33'", "Convert", 1, [X],
            destination_type="f33"),
    refused(r"axis 3 is outside \[-3, 3\)", "ReduceSum", 1, [X, fixed([3])]),
    refused("input 0 is f32.*booleans are needed", "ReduceLogicalAnd", 1, [X, fixed([0])]),
    refused("input 1 is f32.*integers are needed", "ReduceSum", 1, [X, Y]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "message"), REFUSED)
def test_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)
