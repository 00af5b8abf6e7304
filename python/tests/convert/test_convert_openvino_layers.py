"""Convolutions, pools, recurrent layers, quantisation and sampling written as an OpenVINO IR, over
their attributes: the same results here, and equal ones in OpenVINO."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

pytest.importorskip("openvino", reason="needs the package openvino")

import converted_openvino  # noqa: E402
from converted_openvino import ORIGINAL_DIFFERS  # noqa: E402

import scanloom  # noqa: E402

Report = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Const:
    """An operand that is an initialiser."""

    value: np.ndarray


@dataclasses.dataclass
class Case:
    """A node of ONNX. Operands are fed, or constants. `bits`: the IR has the same bits."""

    op: str
    operands: Sequence[np.ndarray | Const | None]
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    results: int = 1
    note: str = ""
    bits: bool = True
    symbolic: bool = False
    differs: str = ""
    tolerance: float = 2e-6
    opset: int = 22
    unread: tuple[int, ...] = ()

    def __str__(self) -> str:
        return "-".join([self.op, *([self.note] if self.note else [])])


def value_of(operand: np.ndarray | Const) -> np.ndarray:
    return operand.value if isinstance(operand, Const) else operand


def element_type(dtype: np.dtype) -> int:
    return oh.np_dtype_to_tensor_dtype(dtype)


def write(case: Case, folder: pathlib.Path, symbolic: bool) -> tuple[pathlib.Path, dict[str, Any]]:
    inputs, initializers, names, feeds = [], [], [], {}
    for i, operand in enumerate(case.operands):
        if operand is None:
            names.append("")
            continue
        name, value = f"x{i}", value_of(operand)
        names.append(name)
        if isinstance(operand, Const):
            raw = oh.make_tensor(name, element_type(value.dtype), value.shape, packed(value), raw=True)
            initializers.append(raw)
        else:
            sizes = [f"{name}_{axis}" for axis in range(value.ndim)] if symbolic else value.shape
            inputs.append(oh.make_tensor_value_info(name, element_type(value.dtype), sizes))
            feeds[name] = value
    outputs = ["" if i in case.unread else f"y{i}" for i in range(case.results)]
    node = oh.make_node(case.op, names, outputs, name="layer", **case.attrs)
    results = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = oh.make_graph([node], "layer", inputs, results, initializers)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", case.opset)], ir_version=10)
    onnx.shape_inference.infer_shapes(model)
    path = folder / "layer.onnx"
    path.write_bytes(typed(model).SerializeToString())
    return path, feeds


def packed(value: np.ndarray) -> bytes:
    """The bytes of the elements; two of four bits share one, the first in its lower half."""
    if value.dtype.name not in ("int4", "uint4"):
        return bytes(value.tobytes())
    nibbles = value.astype(np.int8).ravel().view(np.uint8) & 15
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    return (nibbles[::2] | nibbles[1::2] << 4).tobytes()


def typed(model: onnx.ModelProto) -> onnx.ModelProto:
    """With the types of the results, which are inferred."""
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {info.name: info for info in [*inferred.graph.output, *inferred.graph.value_info]}
    for result in model.graph.output:
        result.CopyFrom(known[result.name])
        result.type.tensor_type.ClearField("shape")
    return model


def randoms(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed + 7 * sum(shape)).standard_normal(shape).astype(dtype)


def whole(*shape: int, dtype: Any = np.uint8, seed: int = 0) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed + sum(shape)).integers(limits.min, limits.max + 1, shape).astype(dtype)


def const(value: Any, dtype: Any = np.float32) -> Const:
    return Const(np.asarray(value, dtype))


# --- convolutions


def spatial(axes: int) -> tuple[int, ...]:
    return (9, 8, 7)[:axes]


def conv_cases() -> Iterator[Case]:
    for axes in (1, 2, 3):
        x = randoms(2, 4, *spatial(axes))
        kernel = (3, 2, 3)[:axes]
        for group in (1, 2, 4):
            w = randoms(4, 4 // group, *kernel, seed=group)
            for note, attrs in {
                "plain": {},
                "pads": {"pads": [1, 0, 2][:axes] + [0, 1, 1][:axes]},
                "strides": {"strides": [2, 1, 2][:axes], "dilations": [2, 3, 1][:axes]},
                "upper": {"auto_pad": "SAME_UPPER", "strides": [2, 3, 2][:axes]},
                "lower": {"auto_pad": "SAME_LOWER", "strides": [2, 1, 3][:axes]},
                "valid": {"auto_pad": "VALID"},
            }.items():
                yield Case("Conv", [x, Const(w)], {"group": group, **attrs},
                           note=f"{axes}d_{group}_{note}", symbolic=axes == 2)  # fmt: skip
        w, b = randoms(6, 2, *kernel, seed=5), randoms(6)
        yield Case("Conv", [x, Const(w), Const(b)], {"group": 2}, note=f"{axes}d_bias")
        yield Case("Conv", [x, w, b], {"group": 2}, note=f"{axes}d_computed_filters")
    yield Case("Conv", [randoms(1, 2, 5, dtype=np.float64), const(randoms(3, 2, 2), np.float64)], note="f64")


def conv_transpose_cases() -> Iterator[Case]:
    for axes in (1, 2, 3):
        x = randoms(2, 4, *(size - 3 for size in spatial(axes)))
        kernel = (3, 2, 3)[:axes]
        for group in (1, 2):
            w = randoms(4, 3, *kernel, seed=group)
            for note, attrs in {
                "plain": {},
                "pads": {"pads": [1, 0, 2][:axes] + [0, 1, 1][:axes], "strides": [2, 3, 2][:axes]},
                "padding": {"strides": [3, 2, 2][:axes], "output_padding": [1, 1, 1][:axes]},
                "dilations": {"strides": [2, 2, 1][:axes], "dilations": [2, 3, 2][:axes]},
                "upper": {"auto_pad": "SAME_UPPER", "strides": [2, 3, 2][:axes]},
                "lower": {"auto_pad": "SAME_LOWER", "strides": [2, 3, 2][:axes]},
                "shape": {"output_shape": [13, 10, 9][:axes], "strides": [2, 2, 2][:axes]},
                "large": {"output_shape": [16, 13, 12][:axes], "strides": [2, 2, 2][:axes]},
                "upper_shape": {"output_shape": [12, 9, 8][:axes], "strides": [2, 2, 2][:axes],
                                "auto_pad": "SAME_UPPER"},
            }.items():  # fmt: skip
                yield Case("ConvTranspose", [x, Const(w), Const(randoms(3 * group))], {"group": group, **attrs},
                           note=f"{axes}d_{group}_{note}", bits=False, symbolic=axes == 2)  # fmt: skip


def deform_cases() -> Iterator[Case]:
    x, w = randoms(2, 4, 7, 6), randoms(6, 2, 3, 2)
    for groups, masked, pads in itertools.product((1, 2), (False, True), ([0, 0, 0, 0], [1, 1, 1, 0])):
        rows, columns = 7 + pads[0] + pads[2] - 2, 6 + pads[1] + pads[3] - 1
        offset = 1.5 * randoms(2, groups * 12, rows, columns)
        mask = np.abs(randoms(2, groups * 6, rows, columns)) if masked else None
        yield Case("DeformConv", [x, Const(w), offset, Const(randoms(6)), mask],
                   {"group": 2, "offset_group": groups, "pads": pads},
                   note=f"{groups}_{'mask' if masked else 'plain'}_{sum(pads)}", bits=False)  # fmt: skip


def qlinear_conv_cases() -> Iterator[Case]:
    for group, signed, single in itertools.product((1, 2), (False, True), (False, True)):
        dtype = np.int8 if signed else np.uint8
        x, w = whole(2, 4, 6, 5, dtype=dtype), whole(6, 4 // group, 3, 2, dtype=dtype)
        zeros = whole(6, dtype=dtype, seed=3) if not single else np.array(2, dtype)
        scales = np.abs(randoms(6)) / 50 if not single else np.float32(0.02)
        yield Case("QLinearConv",
                   [x, const(0.03), const(7, dtype), Const(w), const(scales), const(zeros, dtype), const(0.2),
                    const(11, dtype), const(whole(6), np.int32)],
                   {"group": group, "pads": [1, 0, 1, 1]},
                   note=f"{group}_{np.dtype(dtype).name}_{'single' if single else 'each'}")  # fmt: skip


# --- pools


def pool_attributes(axes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for note, attrs in {
        "plain": {},
        "strides": {"strides": [2, 3, 2][:axes]},
        "pads": {"pads": [1, 0, 1][:axes] + [1, 1, 0][:axes], "strides": [2, 1, 2][:axes]},
        "beyond": {"pads": [1, 0, 1][:axes] + [1, 1, 0][:axes], "strides": [3, 4, 3][:axes]},
        "dilations": {"dilations": [2, 1, 3][:axes], "strides": [1, 2, 1][:axes]},
        "upper": {"auto_pad": "SAME_UPPER", "strides": [2, 3, 2][:axes]},
        "lower": {"auto_pad": "SAME_LOWER", "strides": [2, 2, 3][:axes]},
        "valid": {"auto_pad": "VALID", "strides": [2, 1, 1][:axes]},
    }.items():
        for ceil in (0, 1):
            yield note + ("_ceil" if ceil else ""), {"kernel_shape": [3, 2, 2][:axes], "ceil_mode": ceil, **attrs}


def pool_cases() -> Iterator[Case]:
    for axes in (1, 2, 3):
        x = randoms(2, 3, *spatial(axes))
        for note, attrs in pool_attributes(axes):
            if axes != 2 and note not in ("plain", "pads_ceil", "beyond_ceil", "dilations_ceil", "upper"):
                continue
            for counted in (0, 1):
                yield Case("AveragePool", [x], {**attrs, "count_include_pad": counted},
                           note=f"{axes}d_{note}_{counted}", symbolic=axes == 2)  # fmt: skip
            for order in (0, 1):
                yield Case("MaxPool", [x], {**attrs, "storage_order": order}, 2, f"{axes}d_{note}_{order}",
                           symbolic=note == "pads_ceil")  # fmt: skip
            yield Case("MaxPool", [x], attrs, 1, f"{axes}d_{note}_values")
            for p in (1, 2, 3):
                yield Case("LpPool", [x], {**attrs, "p": p}, note=f"{axes}d_{note}_{p}", bits=False,
                           symbolic=axes == 2 and p == 2)  # fmt: skip
        yield from large_pad_cases(x)
    for dtype in (np.float16, np.float64):
        attrs = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [2, 3, 1, 4]}
        yield Case("AveragePool", [randoms(1, 2, 5, 6, dtype=dtype)], attrs, note=f"large_{np.dtype(dtype).name}",
                   bits=False, tolerance=1e-3 if dtype == np.float16 else 2e-6)  # fmt: skip
    yield Case("MaxPool", [whole(2, 3, 7, 6)], {"kernel_shape": [2, 2]}, note="u8")
    yield Case("MaxPool", [whole(2, 3, 7, 6, dtype=np.int8)], {"kernel_shape": [2, 2]}, note="i8")


def large_pad_cases(x: np.ndarray) -> Iterator[Case]:
    """Averages with pads as large as a window, which may then have no elements of x: 0 / 0."""
    axes = x.ndim - 2
    kernel = [3, 2, 2][:axes]
    for note, bits, ceil_bits, begin, end, attrs in [
        ("end", True, True, [1, 0, 1], [3, 2, 2], {"strides": [2, 2, 2]}),
        ("end_dilated", True, True, [0, 2, 1], [5, 3, 1], {"strides": [2, 2, 1], "dilations": [2, 2, 1]}),
        ("end_of_one", False, True, [1, 0, 1], [3, 2, 0], {"strides": [1, 1, 1]}),
        ("far_end", False, True, [0, 1, 0], [7, 4, 5], {"strides": [2, 2, 2]}),
        ("far_steps", False, True, [1, 0, 1], [5, 4, 3], {"strides": [4, 3, 3]}),
        ("begin", False, False, [3, 4, 2], [1, 0, 0], {"strides": [2, 1, 2]}),
        ("both", False, False, [4, 2, 3], [3, 5, 2], {"strides": [1, 3, 2]}),
        ("begin_dilated", False, False, [5, 4, 3], [1, 0, 0], {"strides": [1, 3, 2], "dilations": [2, 3, 1]}),
    ]:
        numbers = {name: values[:axes] for name, values in attrs.items()}
        for ceil, counted in itertools.product((0, 1), (0, 1)):
            all_attrs = {"kernel_shape": kernel, "pads": begin[:axes] + end[:axes], **numbers,
                         "ceil_mode": ceil, "count_include_pad": counted}  # fmt: skip
            yield Case("AveragePool", [x], all_attrs, note=f"{axes}d_large_{note}_{ceil}_{counted}",
                       bits=bool(counted) or (ceil_bits if ceil else bits), symbolic=axes == 2)  # fmt: skip


def unpool_cases() -> Iterator[Case]:
    indices = np.array([5, 7, 13, 15], np.int64).reshape(1, 1, 2, 2)
    x = randoms(1, 1, 2, 2)
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield Case("MaxUnpool", [x, indices], attrs)
    yield Case("MaxUnpool", [x, indices, const([1, 1, 5, 6], np.int64)], attrs, note="shape")
    yield Case("MaxUnpool", [x, indices], {**attrs, "kernel_shape": [3, 3], "pads": [1, 0, 0, 1]}, note="pads")


# --- recurrent layers


def recurrent_case(op: str, direction: str = "forward", layout: int = 0, note: str = "", dtype: Any = np.float32,
                   lengths: bool = False, initial: bool = True, bias: bool = True, peepholes: bool = False,
                   fed: bool = False, results: int = 0, unread: tuple[int, ...] = (), **attrs: Any) -> Case:  # fmt: skip
    steps, batch, size, hidden = 5, 3, 4, 6
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    directions = 2 if direction == "bidirectional" else 1
    wrap = (lambda x: x) if fed else Const
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    operands = [
        randoms(*((batch, steps, size) if layout else (steps, batch, size)), dtype=dtype),
        wrap(0.5 * randoms(directions, gates * hidden, size, dtype=dtype)),
        wrap(0.5 * randoms(directions, gates * hidden, hidden, dtype=dtype)),
        wrap(randoms(directions, 2 * gates * hidden, dtype=dtype)) if bias else None,
        np.array([5, 2, 3], np.int32) if lengths else None,
        randoms(*state, dtype=dtype) if initial else None,
    ]
    if op == "LSTM":
        operands += [randoms(*state, seed=1, dtype=dtype) if initial else None,
                     Const(randoms(directions, 3 * hidden, dtype=dtype)) if peepholes else None]  # fmt: skip
    words = [direction, *(["batch_first"] if layout else []), *(["lengths"] if lengths else []), *([note] if note else [])]
    return Case(op, operands, {"direction": direction, "hidden_size": hidden, "layout": layout, **attrs},
                results or (3 if op == "LSTM" else 2), "_".join(words),
                symbolic=direction == "bidirectional" and not fed, unread=unread)  # fmt: skip


def recurrent_cases() -> Iterator[Case]:
    for op, direction in itertools.product(("LSTM", "GRU", "RNN"), ("forward", "reverse", "bidirectional")):
        directions = 2 if direction == "bidirectional" else 1
        for layout, lengths in itertools.product((0, 1), (False, True)):
            yield recurrent_case(op, direction, layout, lengths=lengths)
        yield recurrent_case(op, direction, note="no_states", initial=False)
        yield recurrent_case(op, direction, note="no_bias", bias=False)
        yield recurrent_case(op, direction, note="computed_weights", fed=True)
        yield recurrent_case(op, direction, note="clip", clip=0.3)
        for one in ("Relu", "HardSigmoid", "Elu", "LeakyRelu", "Softplus", "Softsign", "Affine", "ScaledTanh",
                    "ThresholdedRelu"):  # fmt: skip
            usual = {"LSTM": ["Sigmoid", one, "Tanh"], "GRU": ["Sigmoid", one], "RNN": [one]}[op]
            extra = {"activation_alpha": [0.5] * (directions if one in ("Affine", "ScaledTanh") else 0),
                     "activation_beta": [0.3] * (directions if one in ("Affine", "ScaledTanh") else 0)}  # fmt: skip
            yield recurrent_case(op, direction, note=one, lengths=one == "Elu", layout=int(one == "Softsign"),
                                 activations=usual * directions, clip=0.7 if one == "Affine" else 0.0,
                                 **{key: value for key, value in extra.items() if value})  # fmt: skip
    for direction, layout in itertools.product(("forward", "bidirectional"), (0, 1)):
        yield recurrent_case("LSTM", direction, layout, "peepholes", peepholes=True)
        yield recurrent_case("LSTM", direction, layout, "peepholes", lengths=True, peepholes=True, clip=0.4)
        yield recurrent_case("LSTM", direction, layout, "coupled", input_forget=1)
        yield recurrent_case("LSTM", direction, layout, "coupled", lengths=True, initial=False, input_forget=1)
    for direction, linear in itertools.product(("forward", "reverse", "bidirectional"), (0, 1)):
        yield recurrent_case("GRU", direction, note=f"linear_{linear}", linear_before_reset=linear)
        yield recurrent_case("GRU", direction, note=f"linear_{linear}_no_bias", bias=False, linear_before_reset=linear)
    yield recurrent_case("RNN", "bidirectional", note="two_kinds", activations=["Tanh", "Relu"])
    yield recurrent_case("LSTM", note="last_alone", unread=(0,))
    yield recurrent_case("LSTM", note="all_alone", results=1)
    yield recurrent_case("GRU", note="f16", dtype=np.float16, activations=["Sigmoid", "Softsign"])


# --- quantisation


def quantisation_cases() -> Iterator[Case]:
    x = 40 * randoms(3, 4, 6)
    scale, scales = const(0.5), Const(np.abs(randoms(4)) + np.float32(0.1))
    blocks = Const(np.abs(randoms(3, 4, 3)) + np.float32(0.1))
    for name in ("uint8", "int8", "uint16", "int16", "uint4", "int4"):
        dtype = oh.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name.upper()))
        small = whole(3, 4, 6, dtype=np.uint8).astype(np.int64) % 8

        def zero(*shape: int, dtype: Any = dtype) -> Const:
            return Const((whole(*shape).astype(np.int64) % 8).astype(dtype))

        for note, parameters, attrs in [
            ("tensor", (scale, zero()), {}),
            ("axis", (scales, zero(4)), {"axis": 1}),
            ("blocks", (blocks, zero(3, 4, 3)), {"axis": 2, "block_size": 2}),
        ]:
            yield Case("QuantizeLinear", [x, *parameters], attrs, note=f"{name}_{note}", symbolic=note == "axis")
            yield Case("DequantizeLinear", [small.astype(dtype), *parameters], attrs, note=f"{name}_{note}",
                       symbolic=note == "axis")  # fmt: skip
    for name in ("float8e4m3fn", "float8e5m2"):
        dtype = oh.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name.upper()))
        yield Case("QuantizeLinear", [x, scales, Const(np.zeros(4, dtype))], {"axis": 1}, note=name)
        yield Case("DequantizeLinear", [x.astype(dtype), scales, Const(np.zeros(4, dtype))], {"axis": 1}, note=name)
    yield Case("QuantizeLinear", [x, scale], note="no_zero")
    yield Case("DequantizeLinear", [whole(3, 4, dtype=np.int8), scale], note="no_zero")
    yield Case("DequantizeLinear", [whole(3, 4, dtype=np.int32), scale, const(0, np.int32)], note="int32")


# --- sampling


def resize_cases() -> Iterator[Case]:
    x = randoms(1, 2, 6, 5)
    for coordinates, mode in itertools.product(
        ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
        ("nearest", "linear", "cubic")):  # fmt: skip
        attrs = {"coordinate_transformation_mode": coordinates, "mode": mode}
        note = f"{coordinates}_{mode}"
        yield Case("Resize", [x, None, None, const([1, 2, 9, 11], np.int64)], attrs, note=note + "_sizes",
                   bits=False, symbolic=mode == "linear" and "symmetric" not in coordinates)  # fmt: skip
        yield Case("Resize", [x, None, const([1, 1, 2, 0.6])], attrs, note=note + "_scales", bits=False)
        if mode != "nearest":
            for extra in ({"exclude_outside": 1}, {"antialias": 1}):
                yield Case("Resize", [x, None, const([1, 1, 0.7, 0.6])], {**attrs, **extra},
                           note=f"{note}_{next(iter(extra))}", bits=False)  # fmt: skip
    yield from antialias_cases()
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        yield Case("Resize", [x, None, const([1, 1, 1.5, 2.5])], {"mode": "nearest", "nearest_mode": rounding},
                   note=f"nearest_{rounding}")  # fmt: skip
    region = const([0, 0, 0.2, -0.1, 1, 1, 0.9, 1.3])
    for mode in ("nearest", "linear", "cubic"):
        yield Case("Resize", [x, region, None, const([1, 2, 7, 8], np.int64)],
                   {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": mode, "extrapolation_value": 7.5},
                   note=f"crop_{mode}", bits=False)  # fmt: skip


def antialias_cases() -> Iterator[Case]:
    """Filters over x alone, of which OpenVINO's CPU plugin has those of Pillow, over the last two axes."""
    antialias = {"antialias": 1, "exclude_outside": 1}
    for mode, (ndim, shape) in itertools.product(("linear", "cubic"), enumerate([(7,), (6, 5), (4, 6, 5), (1, 2, 6, 5),
                                                                                  (2, 3, 4, 6, 5)], 1)):  # fmt: skip
        attrs = {**antialias, "mode": mode, "cubic_coeff_a": -0.5}
        for axis, size in itertools.product(range(ndim), (3, 9)):
            yield Case("Resize", [randoms(*shape), None, None, const([size], np.int64)], {**attrs, "axes": [axis]},
                       note=f"antialias_{mode}_{ndim}d_{axis}_{size}", symbolic=True)  # fmt: skip
    x = randoms(1, 2, 6, 5)
    smaller, larger = const([1, 2, 4, 3], np.int64), const([1, 2, 9, 11], np.int64)
    yield Case("Resize", [x, None, None, smaller], {**antialias, "mode": "cubic"}, note="antialias_other_cubic", bits=False)
    for coordinates in ("half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        attrs = {**antialias, "mode": "linear", "coordinate_transformation_mode": coordinates}
        for sizes in (smaller, larger):
            yield Case("Resize", [x, None, None, sizes], attrs, note=f"antialias_{coordinates}_{sizes.value[2]}",
                       bits=False)  # fmt: skip
        yield Case("Resize", [x, None, const([1, 1, 0.7, 0.6])], attrs, note=f"antialias_{coordinates}_scales", bits=False)
    yield Case("Resize", [x, None, const([1, 1, 1.5, 2])], {**antialias, "mode": "linear"}, note="antialias_larger",
               bits=False, symbolic=True)  # fmt: skip


def other_cases() -> Iterator[Case]:
    shape = [const(value, np.int64) for value in ([5, 6], [2, 3])]
    yield Case("Col2Im", [randoms(2, 12, 16), *shape])
    yield Case("Col2Im", [randoms(2, 12, 10), *shape], {"strides": [2, 1], "pads": [0, 1, 1, 0], "dilations": [2, 1]},
               note="attributes")  # fmt: skip
    yield Case("Col2Im", [randoms(2, 6, 5), const([8], np.int64), const([3], np.int64)],
               {"strides": [2], "pads": [1, 2]}, note="line")  # fmt: skip
    for align, sizes in itertools.product((0, 1), ([2, 3, 4, 5], [2, 3, 2, 1, 4])):
        spatial = len(sizes) - 2
        yield Case("AffineGrid", [randoms(2, spatial, spatial + 1), const(sizes, np.int64)], {"align_corners": align},
                   note=f"{spatial}d_{align}")  # fmt: skip
    grams = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 3, "ngram_counts": [0, 4],
             "ngram_indexes": [0, 1, 2, 3, 4, 5, 6], "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]}  # fmt: skip
    rows = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int64)
    for mode, weights in itertools.product(("TF", "IDF", "TFIDF"), (False, True)):
        attrs = {**grams, "mode": mode, **({"weights": [0.5, 2, 1, 3, 1.5, 1, 4]} if weights else {})}
        for x in (rows, rows[0]):
            yield Case("TfIdfVectorizer", [x], attrs, note=f"{mode}_{x.ndim}{'_weights' if weights else ''}")


FAMILIES = {
    "Conv": conv_cases, "ConvTranspose": conv_transpose_cases, "DeformConv": deform_cases,
    "QLinearConv": qlinear_conv_cases, "pools": pool_cases, "MaxUnpool": unpool_cases,
    "recurrent layers": recurrent_cases, "quantisation": quantisation_cases, "Resize": resize_cases,
    "Col2Im, AffineGrid and TfIdfVectorizer": other_cases,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_layers(family: str, tmp_path: pathlib.Path, report: Report) -> None:
    tally, failures = converted_openvino.Tally(), []
    for case in FAMILIES[family]():
        for symbolic in (False, True) if case.symbolic else (False,):
            before, name = tally.same_bits, f"{case}{' of open sizes' if symbolic else ''}"
            try:
                path, feeds = write(case, tmp_path, symbolic)
                converted_openvino.check(path, feeds, tmp_path, tally, case.tolerance, case.differs, name)
                assert not case.bits or tally.same_bits > before, "other bits than those of the model"
            except Exception as error:  # whatever happens, the others are tried
                failures.append(f"{name}: {str(error).strip()[:500]}")
    tally.settle()
    failures += tally.failures
    # What OpenVINO makes of the model of ONNX excuses no form.
    failures += [f"{count} with {ORIGINAL_DIFFERS}" for count in [tally.skipped[ORIGINAL_DIFFERS]] if count]
    report(tally.line(family))
    assert not failures and not tally.unsupported, f"{len(failures)}:\n" + "\n".join(failures + tally.unsupported)


def test_antialias_of_open_sizes(tmp_path: pathlib.Path) -> None:
    """Without known sizes, only a layer's attribute says that filters of other coordinates, or by factors,
    cover more elements."""
    attrs = {"antialias": 1, "exclude_outside": 1, "mode": "linear"}
    other = {"coordinate_transformation_mode": "asymmetric"}
    tally, x = converted_openvino.Tally(), randoms(1, 2, 6, 5)
    for case in (Case("Resize", [x, None, None, const([1, 2, 4, 3], np.int64)], {**attrs, **other}),
                 Case("Resize", [x, None, const([1, 1, 0.7, 0.6])], attrs)):  # fmt: skip
        path, feeds = write(case, tmp_path, True)
        converted_openvino.check(path, feeds, tmp_path, tally, known="antialias left out there")
    tally.settle()
    assert not tally.failures and tally.same_bits == 2


def test_refused(tmp_path: pathlib.Path) -> None:
    """Models that an IR cannot hold, with the reason."""
    image, sizes = randoms(1, 2, 6, 5), const([1, 2, 9, 11], np.int64)
    volume, offset = randoms(1, 2, 5, 5, 5), randoms(1, 24, 4, 4, 4)
    cases = [
        (Case("Resize", [image, None, None, sizes], {"coordinate_transformation_mode": "half_pixel_symmetric"}),
         "sizes, factors or region are computed"),
        (Case("DeformConv", [volume, const(randoms(2, 2, 2, 2, 2)), offset]), "over two axes alone"),
        (Case("Col2Im", [randoms(1, 8, 8), const([3, 3, 3], np.int64), const([2, 2, 2], np.int64)]),
         "along two axes alone"),
        (Case("BitCast", [image], {"to": onnx.TensorProto.INT32}, opset=26), "elements of another type"),
    ]  # fmt: skip
    for case, words in cases:
        path, _ = write(case, tmp_path, True)
        with pytest.raises(scanloom.Unsupported, match=words):
            scanloom.convert(path, tmp_path / "refused.xml")
