"""Every two-operand operation of OpenVINO in every auto_broadcast mode and every element type, and
attribute values that the tests of single operations leave out."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
import openvino_formulas as formulas
import pytest
from openvino_cases import Case, case, check_here, check_peer, check_refused, fixed

RNG = np.random.default_rng(37)
Report = Callable[[str], None]
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a / b if a.dtype.kind == "f" else a // b


ARITHMETIC: dict[str, Formula] = {
    "Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Divide": floor_divide,
    "Maximum": np.maximum, "Minimum": np.minimum, "FloorMod": np.mod, "Mod": np.fmod,
    "SquaredDifference": lambda a, b: (a - b) * (a - b), "Power": np.power,
}  # fmt: skip
COMPARISONS: dict[str, Formula] = {
    "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less, "LessEqual": np.less_equal,
    "Greater": np.greater, "GreaterEqual": np.greater_equal,
}  # fmt: skip
LOGIC: dict[str, Formula] = {
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalXor": np.logical_xor, "Xor": np.logical_xor,
}  # fmt: skip
BITS: dict[str, tuple[int, Formula]] = {
    "BitwiseAnd": (13, np.bitwise_and), "BitwiseOr": (13, np.bitwise_or), "BitwiseXor": (13, np.bitwise_xor),
    "BitwiseLeftShift": (15, np.left_shift), "BitwiseRightShift": (15, np.right_shift),
}  # fmt: skip
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
REALS = [np.float16, np.float32, np.float64]

# The sizes of the second operand next to [2, 3, 4], its axes as numpy aligns them, and attributes.
MODES: list[tuple[list[int], list[int], dict[str, object]]] = [
    ([2, 3, 4], [2, 3, 4], {"auto_broadcast": "none"}),
    ([2, 3, 4], [2, 3, 4], {"auto_broadcast": "numpy"}),
    ([3, 1], [3, 1], {"auto_broadcast": "numpy"}),
    ([3, 4], [1, 3, 4], {"auto_broadcast": "pdpd", "axis": 1}),
    ([2, 3], [2, 3, 1], {"auto_broadcast": "pdpd", "axis": 0}),
    ([3], [1, 3, 1], {"auto_broadcast": "pdpd", "axis": 1}),
    ([4], [1, 1, 4], {"auto_broadcast": "pdpd", "axis": -1}),
]


PLACED_THERE = {"Add", "Multiply", "Maximum", "Minimum", "FloorMod", "SquaredDifference", "Power"}


def operand(dtype: type, sizes: list[int]) -> np.ndarray:
    """Small numbers, none of them 0."""
    if dtype is np.bool_:
        return RNG.random(sizes) < 0.5
    return RNG.integers(1, 6, sizes).astype(dtype)


def mode_cases() -> list[Case]:
    typed = [(kind, 1, formula, np.float32) for kind, formula in (ARITHMETIC | COMPARISONS).items()]
    typed += [(kind, 1, formula, np.bool_) for kind, formula in LOGIC.items()]
    typed += [(kind, version, formula, np.int32) for kind, (version, formula) in BITS.items()]
    cases = []
    for kind, version, formula, dtype in typed:
        for sizes, aligned, data in MODES:
            a, b = operand(dtype, [2, 3, 4]), operand(dtype, sizes)
            differs = "its reader takes no axis of pdpd but 0" if data.get("axis", 0) != 0 else ""
            if data["auto_broadcast"] == "pdpd" and kind not in PLACED_THERE:
                differs = "the plugin fails at pdpd of this operation"
            cases.append(case(kind, version, [a, b], formula(a, b.reshape(aligned)), differs=differs,
                              sized=data["auto_broadcast"] == "pdpd", tolerance=1e-5, **data))  # fmt: skip
    return cases


def type_cases() -> list[Case]:
    cases = []
    for dtype in [*INTEGERS, *REALS]:
        a, b = operand(dtype, [2, 3]), operand(dtype, [3])
        large = np.maximum(a, 5)  # differences without a sign
        for kind, formula in (ARITHMETIC | COMPARISONS).items():
            first = large if kind in ("Subtract", "SquaredDifference") else a
            differs = "the plugin computes with f32, or does not take the type" if dtype in (np.uint64, np.uint32) else ""
            if kind == "SquaredDifference" and np.dtype(dtype).itemsize == 1:
                differs = "the plugin's squares of 8 bits are wrong"
            tolerance = 2e-3 if dtype == np.float16 else 1e-5
            with np.errstate(over="ignore"):
                expected = formula(first, b)
            if kind == "Power" and dtype in (np.int8, np.uint8):
                first, expected = first * 0 + 2, np.power(first * 0 + 2, b)
            cases.append(case(kind, 1, [first, b], expected, tolerance=tolerance, differs=differs))
        if np.dtype(dtype).kind != "f":
            for kind, (version, formula) in BITS.items():
                cases.append(case(kind, version, [a, b], formula(a, b).astype(dtype),
                                  differs="the plugin does not take all of these types"))  # fmt: skip
    for kind, formula in {**LOGIC, "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less,
                          "GreaterEqual": np.greater_equal}.items():  # fmt: skip
        a, b = operand(np.bool_, [2, 3]), operand(np.bool_, [3])
        cases.append(case(kind, 1, [a, b], formula(a, b)))
    return cases


def sign_cases() -> list[Case]:
    """Quotients and remainders of either sign, powers of negative numbers."""
    cases = []
    a, b = np.array([7, -7, 7, -7, 6, -6, 0, -1]), np.array([3, 3, -3, -3, 3, -3, 5, 5])
    truncated = np.trunc(a / b)
    for dtype in (np.int32, np.int64, np.float32):
        x, y = a.astype(dtype), b.astype(dtype)
        quotient = (a / b) if dtype is np.float32 else np.floor_divide(a, b)
        cases += [
            case("FloorMod", 1, [x, y], np.mod(x, y)),
            case("Mod", 1, [x, y], np.fmod(x, y)),
            case("Divide", 1, [x, y], quotient.astype(dtype), m_pythondiv=True,
                 differs="" if dtype is np.float32 else "the plugin rounds quotients of integers towards 0"),
        ]
        if dtype is not np.float32:
            cases.append(case("Divide", 1, [x, y], truncated.astype(dtype), m_pythondiv=False))
    floats = np.float32([-2, -2, -2, -0.5, 4, 0, 2])
    exponents = np.float32([2, 3, -1, -2, -0.5, 0, 10])
    return [*cases, case("Power", 1, [floats, exponents], np.power(floats, exponents), tolerance=1e-5)]


def left_out_cases() -> list[Case]:
    x = RNG.standard_normal((2, 3, 5)).astype(np.float32)
    order = np.argsort(-x, -1, kind="stable")[..., :3]
    best, cases = np.take_along_axis(x, order, -1), []
    for sort, stable in (("value", False), ("value", True)):
        for word, dtype in (("i32", np.int32), ("i64", np.int64)):
            cases.append(case("TopK", 11, [x, fixed(3)], best, order.astype(dtype), axis=-1, mode="max", sort=sort,
                              stable=stable, index_element_type=word))  # fmt: skip
    places = np.array([[0, 2, 1, 0, 1]]).repeat(2, 0)[:, None]
    updates = RNG.standard_normal((2, 1, 5)).astype(np.float32)
    written = x.copy()
    np.put_along_axis(written, places, updates, 1)
    cases.append(case("ScatterElementsUpdate", 12, [x, places, updates, fixed(1)], written, reduction="none",
                      use_init_val=True))  # fmt: skip
    table, wanted = np.float32([1, 3, 3, 5]), np.float32([0, 3, 4, 9])
    for right, side in ((False, "left"), (True, "right")):
        cases.append(case("SearchSorted", 15, [table, wanted], np.searchsorted(table, wanted, side).astype(np.int64),
                          right_mode=right))  # fmt: skip
    cases += [
        case("NonZero", 3, [x > 0], np.array(np.nonzero(x > 0), np.int64), output_type="i64"),
        case("Unique", 10, [np.int32([3, 1, 3])], np.int32([1, 3]), np.array([1, 0]), np.array([1, 0, 1]),
             np.array([1, 2]), sorted=True, index_element_type="i64", count_element_type="i64"),
        case("IsInf", 10, [np.float32([np.inf, -np.inf, 1])], np.array([True, True, False]), detect_negative=True,
             detect_positive=True),
        case("ReduceMean", 1, [np.int32([[1, 2], [-1, -2]]), fixed([1])], np.int32([1, -1]), keep_dims=False,
             differs="the plugin rounds means of integers in its own way"),
    ]  # fmt: skip
    return cases


def window_cases() -> list[Case]:
    x, w = RNG.standard_normal((1, 2, 5, 6)).astype(np.float32), RNG.standard_normal((3, 2, 2, 2)).astype(np.float32)
    pads = {"pads_begin": [1, 1], "pads_end": [1, 1]}  # which explicit padding alone heeds
    unit = {"strides": [1, 1], "dilations": [1, 1]}
    cases = []
    for auto_pad, begin, end in (("explicit", [1, 1], [1, 1]), ("valid", [0, 0], [0, 0]),
                                 ("same_upper", [0, 0], [1, 1]), ("same_lower", [1, 1], [0, 0])):  # fmt: skip
        cases.append(case("Convolution", 1, [x, w], formulas.convolution(x, w, [1, 1], begin, end, [1, 1]),
                          auto_pad=auto_pad, tolerance=1e-5, **pads, **unit))  # fmt: skip
        cases.append(case("GroupConvolution", 1, [x, fixed(w[None])],
                          formulas.convolution(x, w, [1, 1], begin, end, [1, 1]), auto_pad=auto_pad, tolerance=1e-5,
                          **pads, **unit))  # fmt: skip
        wide = np.pad(x, ((0, 0), (0, 0), (begin[0], end[0]), (begin[1], end[1])), constant_values=np.nan)
        seen = np.lib.stride_tricks.sliding_window_view(wide, (2, 2), (2, 3)).reshape(
            1, 2, wide.shape[2] - 1, wide.shape[3] - 1, 4)  # fmt: skip
        pooling = {"kernel": [2, 2], "strides": [1, 1], "auto_pad": auto_pad, "rounding_type": "floor", **pads}
        cases.append(case("MaxPool", 1, [x], np.nanmax(seen, -1), **pooling))
        cases.append(case("AvgPool", 1, [x], np.nanmean(seen, -1), tolerance=1e-5, **{"exclude-pad": True}, **pooling))
    return cases


GROUPS = {"broadcasting": mode_cases(), "element types": type_cases(), "signs": sign_cases(),
          "attributes": left_out_cases(), "padding": window_cases()}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("kind", ARITHMETIC)
def test_without_broadcasting_sizes_must_be_equal(kind: str, tmp_path: pathlib.Path) -> None:
    a, b = operand(np.float32, [2, 3]), operand(np.float32, [3])
    one = case(kind, 1, [a, b], a, auto_broadcast="none")
    check_refused(one, r"auto_broadcast is none, but the inputs have sizes \[2,3\] and \[3\]", tmp_path)
