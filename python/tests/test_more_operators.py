"""Scattering, recurrent layers, pools, transposed and deformed convolutions, resizing, sampling and
what else has an operator of its own: against onnx's reference evaluator, onnxruntime or numpy, run
in both ways, with sizes known and unknown when the model is loaded."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from onnx import helper

import scanloom

F32 = np.float32
RANDOM = np.random.default_rng(4)


@dataclasses.dataclass(frozen=True)
class Case:
    """One node; right is what `source` gives, 'reference' or 'onnxruntime', or what is stated."""

    name: str
    op: str
    inputs: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    opset: int = 22
    outputs: int = 1
    source: str = "reference"
    expected: Optional[tuple] = None
    constants: tuple = ()
    tolerance: float = 2e-5


def reals(*shape: int, dtype: Any = F32) -> np.ndarray:
    return (RANDOM.integers(-16, 17, shape) / 8).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(dtype)


def case(name: str, op: str, *inputs: Any, **more: Any) -> Case:
    fields = {field.name for field in dataclasses.fields(Case)}
    own = {key: value for key, value in more.items() if key in fields}
    rest = {key: value for key, value in more.items() if key not in fields}
    return Case(name=f"{op}_{name}", op=op, inputs=inputs, attributes=rest, **own)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def model_of(one: Case, symbolic: bool = False) -> bytes:
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(one.inputs)]
    node = helper.make_node(
        one.op, names, [f"o{k}" for k in range(one.outputs)], "node", **one.attributes
    )
    inputs, initialisers = [], []
    for k, (name, value) in enumerate(zip(names, one.inputs)):
        if value is None:
            continue
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        if k in one.constants:
            initialisers.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [f"{name}_{axis}" for axis in range(value.ndim)] if symbolic else value.shape
        inputs.append(helper.make_tensor_value_info(name, number, shape))
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = helper.make_graph([node], "graph", inputs, outputs, initialisers)
    opsets = [helper.make_opsetid("", one.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def feeds_of(one: Case) -> dict[str, np.ndarray]:
    return {
        f"i{k}": value
        for k, value in enumerate(one.inputs)
        if value is not None and k not in one.constants
    }


def wide(value: Any) -> Any:
    """Reals narrower than f32 as f32, for evaluators that do not know them."""
    narrow = value is not None and value.dtype.kind in "fV" and value.dtype.itemsize < 4
    return value.astype(F32) if narrow else value


def expected_of(one: Case) -> list[np.ndarray]:
    if one.expected is not None:
        return list(one.expected)
    plain = dataclasses.replace(one, inputs=tuple(wide(value) for value in one.inputs))
    model = model_of(plain)
    if one.source == "onnxruntime":
        session = onnxruntime.InferenceSession(model)
        return session.run(None, feeds_of(plain))
    return onnx.reference.ReferenceEvaluator(onnx.load_from_string(model)).run(
        None, feeds_of(plain)
    )


def compare(result: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    wanted = np.asarray(wanted)
    assert result.shape == wanted.shape
    if wanted.dtype.kind in "US" or wanted.dtype == object:
        assert result.astype(str).tolist() == wanted.astype(str).tolist()
        return
    if result.dtype.kind in "fV" and result.dtype.itemsize < 4:
        tolerance = max(tolerance, 1e-2 if result.dtype == ml_dtypes.bfloat16 else 2e-3)
    assert result.dtype.kind == wanted.dtype.kind or result.dtype.itemsize < 4
    if result.dtype.kind in "fVc":
        kind = wanted.dtype if wanted.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            result.astype(kind), wanted.astype(kind), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(result, wanted)


def scatter_cases() -> list[Case]:
    cases = []
    data, updates = reals(3, 4, 5), reals(2, 4, 5)
    indices = whole(2, 4, 5, low=-3, high=3)
    for reduction in ("add", "mul", "max", "min"):
        cases.append(
            case(reduction, "ScatterElements", data, indices, updates, axis=0, reduction=reduction)
        )
        pairs = whole(2, 3, 2, low=0, high=3)
        slices = reals(2, 3, 5)
        cases.append(case(reduction, "ScatterND", data, pairs, slices, reduction=reduction))
    distinct = np.stack([RANDOM.permutation(5) for _ in range(12)]).reshape(3, 4, 5)
    for opset in (11, 13, 16, 18):
        new = reals(3, 4, 5)
        cases.append(
            case(f"{opset}", "ScatterElements", data, distinct, new, axis=-1, opset=opset)
        )
        place = i64(2, 0).reshape(2, 1)
        cases.append(case(f"{opset}", "ScatterND", data, place, reals(2, 4, 5), opset=opset))
    stated = np.arange(3, dtype=F32)
    stated[[0, 2]] = 7, 8
    cases.append(
        case(
            "9",
            "Scatter",
            np.arange(3, dtype=F32),
            i64(0, 2),
            np.array([7, 8], F32),
            opset=9,
            expected=(stated,),
        )
    )
    for dtype in (np.float16, np.float64, np.int8, np.uint16, np.int32):
        plus = dict(axis=1, reduction="add")
        values = whole(2, 3, low=0, high=9, dtype=dtype)
        wanted = values * 2
        every = np.tile(np.arange(3), (2, 1))
        name = np.dtype(dtype).name
        cases.append(
            case(name, "ScatterElements", values, every, values, expected=(wanted,), **plus)
        )
    words = np.array(["a", "b", "c"])
    cases.append(
        case(
            "words",
            "ScatterElements",
            words,
            i64(1),
            np.array(["z"]),
            expected=(np.array(["a", "z", "c"]),),
        )
    )
    tuples = whole(2, 3, 1, low=0, high=4)
    cases.append(
        case("batches", "GatherND", reals(2, 4, 3), whole(2, 5, 1, low=0, high=4), batch_dims=1)
    )
    cases += [
        case(f"{opset}", "GatherND", reals(4, 3), tuples, opset=opset) for opset in (11, 12, 13)
    ]
    return cases


def recurrent(op: str, gates: int, name: str, **more: Any) -> Case:
    steps, batch, size, hidden = 4, 3, 2, 5
    directions = 2 if more.get("direction") == "bidirectional" else 1
    dtype = more.pop("dtype", F32)
    lengths = more.pop("lengths", None)
    x = reals(steps, batch, size, dtype=dtype)
    initial = reals(directions, batch, hidden, dtype=dtype)
    if more.get("layout"):
        x, initial = x.transpose(1, 0, 2).copy(), initial.transpose(1, 0, 2).copy()
    return case(
        name,
        op,
        x,
        reals(directions, gates * hidden, size, dtype=dtype) / dtype(2),
        reals(directions, gates * hidden, hidden, dtype=dtype) / dtype(2),
        reals(directions, 2 * gates * hidden, dtype=dtype),
        lengths,
        initial,
        hidden_size=hidden,
        outputs=2,
        **more,
    )


def recurrent_cases() -> list[Case]:
    cases = []
    for op, gates in (("GRU", 3), ("RNN", 1)):
        for direction in ("forward", "reverse", "bidirectional"):
            for opset in (7, 14, 22):
                name = f"{direction}_{opset}"
                cases.append(recurrent(op, gates, name, direction=direction, opset=opset))
        ort = dict(source="onnxruntime", opset=14)
        lengths = np.array([4, 1, 2], np.int32)
        cases.append(recurrent(op, gates, "lengths", lengths=lengths, **ort))
        both = dict(direction="bidirectional", **ort)
        cases.append(recurrent(op, gates, "lengths_both", lengths=lengths, **both))
        cases.append(recurrent(op, gates, "clip", clip=0.25, **ort))
        cases.append(recurrent(op, gates, "half", dtype=np.float16))
        cases.append(recurrent(op, gates, "bfloat16", dtype=ml_dtypes.bfloat16))
        cases.append(recurrent(op, gates, "double", dtype=np.float64, tolerance=1e-9))
        cases.append(recurrent(op, gates, "batch_first", layout=1))
    more = dict(activations=["HardSigmoid", "ScaledTanh", "Elu"], opset=14, source="onnxruntime")
    parameters = dict(activation_alpha=[0.25, 1.5, 0.5], activation_beta=[0.375, 0.5])
    cases.append(recurrent("LSTM", 4, "parameters", **more, **parameters))
    cases.append(
        recurrent("GRU", 3, "linear", linear_before_reset=1, source="onnxruntime", opset=14)
    )
    for name, alpha, beta in (
        ("LeakyRelu", [0.25], []),
        ("Elu", [0.5], []),
        ("HardSigmoid", [0.25], [0.375]),
        ("Affine", [0.5], [0.125]),
        ("ScaledTanh", [1.5], [0.5]),
        ("Softplus", [], []),
        ("Softsign", [], []),
        ("Relu", [], []),
    ):
        more = dict(source="onnxruntime", opset=14, activation_alpha=alpha, activation_beta=beta)
        more = {key: value for key, value in more.items() if value != []}
        cases.append(recurrent("RNN", 1, name, activations=[name], **more))
        cases.append(recurrent("GRU", 3, name, activations=["Sigmoid", name], **more))
    return cases


def pool_cases() -> list[Case]:
    image = (1, 1, 7, 6)
    shapes = {
        "line": ((2, 3, 9), dict(kernel_shape=[3])),
        "image": ((1, 2, 7, 6), dict(kernel_shape=[3, 2], strides=[2, 1])),
        "padded": ((1, 2, 7, 6), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2])),
        "ceil": ((1, 1, 7, 6), dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
        "volume": ((1, 1, 4, 3, 5), dict(kernel_shape=[2, 2, 3])),
        "same_upper": (image, dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
        "same_lower": (image, dict(kernel_shape=[2, 4], strides=[2, 3], auto_pad="SAME_LOWER")),
        "valid": (image, dict(kernel_shape=[2, 4], strides=[2, 3], auto_pad="VALID")),
    }
    cases = []
    for name, (shape, attributes) in shapes.items():
        ort = dict(source="onnxruntime", **attributes)
        x = reals(*shape)
        cases.append(case(name, "MaxPool", x, opset=12, outputs=2, **ort))
        cases.append(case(name + "_19", "AveragePool", x, opset=19, **ort))
        cases.append(case(name + "_7", "AveragePool", x, opset=10, count_include_pad=1, **ort))
        cases.append(case(name + "_p3", "LpPool", x, opset=18, p=3, tolerance=1e-4, **ort))
        cases.append(case(name + "_p1", "LpPool", x, opset=18, p=1, **ort))
    ort = dict(source="onnxruntime", kernel_shape=[2, 3])
    x = reals(2, 2, 6, 7)
    cases += [
        case("columns", "MaxPool", x, opset=12, outputs=2, storage_order=1, **ort),
        case("dilated", "MaxPool", x, opset=12, outputs=2, dilations=[3, 2], **ort),
        case("dilated", "AveragePool", x, opset=19, dilations=[3, 2], **ort),
        case("dilated", "LpPool", x, opset=18, dilations=[3, 2], **ort),
        case("bytes", "MaxPool", whole(1, 1, 5, 5, low=0, dtype=np.uint8), opset=12, **ort),
        case("signed", "MaxPool", whole(1, 1, 5, 5, dtype=np.int8), opset=12, **ort),
        case("old", "MaxPool", x, opset=1, kernel_shape=[2, 3], expected=None, source="reference"),
        case("half", "AveragePool", reals(1, 1, 5, 5, dtype=np.float16), kernel_shape=[2, 2]),
        case("bfloat16", "AveragePool", x.astype(ml_dtypes.bfloat16), kernel_shape=[2, 2]),
    ]
    for p in (1, 2, 3):
        wanted = (np.abs(x.astype(np.float64)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
        cases.append(case(f"{p}", "GlobalLpPool", x, p=p, expected=(wanted.astype(F32),)))
    pooled = reals(1, 1, 2, 2)
    places = i64(5, 7, 13, 15).reshape(1, 1, 2, 2)
    halves = dict(kernel_shape=[2, 2], strides=[2, 2])
    cases.append(case("11", "MaxUnpool", pooled, places, opset=11, **halves))
    larger = i64(1, 1, 5, 5)
    cases.append(case("larger", "MaxUnpool", pooled, places, larger, opset=11, **halves))
    cases.append(
        case("larger_constant", "MaxUnpool", pooled, places, larger, constants=(2,), **halves)
    )
    regions = np.array([[0, 1, 1, 5, 4], [1, 0, 2, 8, 9], [0, 3, 3, 3, 3]], F32)
    cases.append(
        case(
            "regions",
            "MaxRoiPool",
            reals(2, 3, 8, 9),
            regions,
            pooled_shape=[2, 3],
            spatial_scale=0.75,
            source="onnxruntime",
            opset=12,
        )
    )
    corners, images = regions[:, 1:].copy(), i64(0, 1, 0)
    for mode in ("avg", "max"):
        for opset, more in (
            (10, {}),
            (16, dict(coordinate_transformation_mode="half_pixel")),
            (16, dict(coordinate_transformation_mode="output_half_pixel")),
            (22, {}),
        ):
            tag = more.get("coordinate_transformation_mode", "usual")
            reference = dict(more)
            if opset == 10:
                reference = {}
            cases.append(
                case(
                    f"{mode}_{opset}_{tag}",
                    "RoiAlign",
                    reals(2, 2, 8, 9),
                    corners,
                    images,
                    mode=mode,
                    output_height=3,
                    output_width=2,
                    sampling_ratio=2,
                    spatial_scale=0.5,
                    opset=opset,
                    tolerance=1e-4,
                    source="onnxruntime" if opset == 10 and mode == "avg" else "reference",
                    **reference,
                )
            )
    # onnxruntime's maximum of version 10 is another one.
    return [one for one in cases if not one.name.startswith("RoiAlign_max_10")]


def rearranging_cases() -> list[Case]:
    cases = []
    for opset in (9, 11, 22):
        for axis in (0, 1, -1):
            indices = whole(2, 3, low=0, high=4)
            values = np.array([2, 5], F32)
            depth = np.array(4, np.int64)
            more = dict(axis=axis, opset=opset, constants=(1,))
            cases.append(case(f"{axis}_{opset}", "OneHot", indices, depth, values, **more))
    hot = np.where(np.arange(3) == np.array([[2], [0], [7]]), "on", "off")
    cases.append(
        case(
            "words",
            "OneHot",
            np.array([-1, 0, 5], F32),
            np.array([3.0], F32),
            np.array(["off", "on"]),
            expected=(hot,),
        )
    )
    for exclusive in (0, 1):
        for reverse in (0, 1):
            x = reals(3, 4)
            both = x if not reverse else x[:, ::-1]
            total = np.cumprod(both, 1)
            if exclusive:
                total = np.concatenate([np.ones((3, 1), F32), total[:, :-1]], 1)
            wanted = total if not reverse else total[:, ::-1]
            attributes = dict(exclusive=exclusive, reverse=reverse, opset=26)
            cases.append(
                case(
                    f"{exclusive}{reverse}",
                    "CumProd",
                    x,
                    np.array(1),
                    expected=(wanted,),
                    **attributes,
                )
            )
    x = reals(2, 3, 4)
    cases += [
        case("last", "Hardmax", x),
        case("middle", "Hardmax", x, axis=1),
        case("flat", "Hardmax", x, axis=1, opset=11, source="onnxruntime"),
        case("half", "Hardmax", reals(3, 4, dtype=np.float16)),
        case("usual", "EyeLike", reals(3, 4)),
        case("moved", "EyeLike", reals(4, 3), k=-1, dtype=onnx.TensorProto.INT32),
        case(
            "booleans",
            "EyeLike",
            reals(2, 3),
            k=1,
            dtype=onnx.TensorProto.BOOL,
            expected=(np.eye(2, 3, 1, bool),),
        ),
        case(
            "time",
            "ReverseSequence",
            reals(4, 3, 2),
            i64(4, 0, 2),
            time_axis=0,
            batch_axis=1,
            opset=10,
            expected=None,
        ),
        case(
            "batch",
            "ReverseSequence",
            reals(3, 4),
            i64(1, 4, 2),
            time_axis=1,
            batch_axis=0,
            opset=10,
        ),
        case("axis", "Compress", reals(3, 4), np.array([False, True, True]), axis=0),
        case("negative", "Compress", reals(3, 4), np.array([True, False, True]), axis=-1),
        case("flat", "Compress", reals(3, 4), np.array([False, True, True, False, True])),
        case("nothing", "Compress", reals(3, 4), np.zeros(3, bool), axis=0),
        case("one", "Det", reals(3, 3), source="reference", tolerance=1e-4),
        case("batch", "Det", reals(2, 2, 4, 4), tolerance=1e-4, opset=11),
        case("double", "Det", reals(5, 5, dtype=np.float64)),
    ]
    cases = [one for one in cases if one.name != "ReverseSequence_time"]
    turned = np.arange(12, dtype=F32).reshape(4, 3)
    wanted = turned.copy()
    wanted[:, 0] = turned[::-1, 0]
    wanted[:2, 2] = turned[1::-1, 2]
    cases.append(
        case(
            "time",
            "ReverseSequence",
            turned,
            i64(4, 0, 2),
            time_axis=0,
            batch_axis=1,
            opset=10,
            expected=(wanted,),
        )
    )
    for mode in ("DCR", "CRD"):
        cases.append(
            case(mode, "DepthToSpace", reals(2, 12, 2, 3), blocksize=2, mode=mode, opset=13)
        )
    cases.append(
        case("1", "DepthToSpace", reals(1, 4, 2, 3), blocksize=2, opset=10, source="onnxruntime")
    )
    cases.append(case("13", "SpaceToDepth", reals(2, 3, 4, 6), blocksize=2, opset=13))
    cases.append(
        case(
            "words",
            "SpaceToDepth",
            np.array([[[["a", "b"], ["c", "d"]]]]),
            blocksize=2,
            opset=13,
            expected=(np.array(["a", "b", "c", "d"]).reshape(1, 4, 1, 1),),
        ),
    )
    numbers = whole(12, low=0, high=5)
    table = whole(5, 3, low=0, high=2)
    for order in (0, 1):
        cases.append(case(f"flat_{order}", "Unique", numbers, sorted=order, outputs=4))
        for axis in (0, 1, -1):
            cases.append(
                case(f"{axis}_{order}", "Unique", table, axis=axis, sorted=order, outputs=4)
            )
    cases.append(case("reals", "Unique", reals(3, 4), outputs=4))
    boxes, scores = np.sort(np.abs(reals(2, 20, 4)), -1), np.abs(reals(2, 3, 20))
    scores += RANDOM.random((2, 3, 20), F32) / 16
    limits = (i64(4), np.array([0.3], F32), np.array([0.5], F32))
    cases.append(
        case("corners", "NonMaxSuppression", boxes, scores, *limits, opset=11, source="onnxruntime")
    )
    cases.append(
        case(
            "centres",
            "NonMaxSuppression",
            boxes,
            scores,
            *limits,
            center_point_box=1,
            opset=11,
            source="onnxruntime",
        ),
    )
    cases.append(
        case(
            "no_scores",
            "NonMaxSuppression",
            boxes,
            scores,
            i64(3),
            np.array([0.5], F32),
            opset=11,
            source="onnxruntime",
        ),
    )
    return cases


def convolution_cases() -> list[Case]:
    cases = []
    shapes = {
        "line": ((2, 3, 5), (3, 2, 3), {}),
        "image": ((1, 2, 4, 3), (2, 3, 3, 2), dict(strides=[2, 3], pads=[1, 0, 0, 1])),
        "dilated": ((1, 2, 4, 3), (2, 1, 2, 2), dict(dilations=[2, 3])),
        "groups": ((1, 4, 4, 3), (4, 2, 3, 3), dict(group=2, strides=[2, 2])),
        "extra": ((1, 2, 4, 3), (2, 1, 3, 3), dict(strides=[2, 2], output_padding=[1, 0])),
        "shape": ((1, 1, 3, 3), (1, 2, 3, 3), dict(strides=[3, 2], output_shape=[8, 6])),
        "upper": ((1, 1, 3, 3), (1, 2, 4, 4), dict(strides=[2, 3], auto_pad="SAME_UPPER")),
        "lower": ((1, 1, 3, 3), (1, 2, 3, 4), dict(strides=[2, 2], auto_pad="SAME_LOWER")),
        "volume": ((1, 1, 2, 3, 2), (1, 1, 2, 2, 2), dict(strides=[1, 2, 1])),
    }
    for name, (x, w, attributes) in shapes.items():
        filters = w[1] * attributes.get("group", 1)
        ort = dict(source="onnxruntime", opset=11, **attributes)
        cases.append(case(name, "ConvTranspose", reals(*x), reals(*w), reals(filters), **ort))
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64):
        parts = [reals(*shape, dtype=dtype) for shape in ((1, 2, 4), (2, 1, 3))]
        cases.append(case(np.dtype(dtype).name, "ConvTranspose", *parts, strides=[2]))
    x, w = whole(1, 2, 5, 4, low=0, high=256, dtype=np.uint8), whole(3, 2, 2, 3, dtype=np.int8)
    zero = np.array(7, np.uint8)
    ort = dict(source="onnxruntime", opset=10)
    plain = whole(3, 2, 2, 3, low=0, high=256, dtype=np.uint8)
    padded = dict(pads=[1, 0, 1, 2], strides=[2, 1])
    per_filter = np.array([1, -2, 3], np.int8)
    exact = np.zeros((1, 3, 3, 4), np.int64)
    around = np.pad(x.astype(np.int64) - 7, ((0, 0), (0, 0), (1, 1), (0, 2)))
    for m in range(3):
        for i in range(3):
            for k in range(4):
                window = around[0, :, 2 * i : 2 * i + 2, k : k + 3]
                exact[0, m, i, k] = (window * (w[m].astype(np.int64) - per_filter[m])).sum()
    cases += [
        case("plain", "ConvInteger", x, plain, **ort),
        case("zeros", "ConvInteger", x, plain, zero, np.array(3, np.uint8), **padded, **ort),
        case(
            "per_filter",
            "ConvInteger",
            x,
            w,
            zero,
            per_filter,
            opset=10,
            expected=(exact.astype(np.int32),),
            **padded,
        ),
    ]
    (a, b) = (
        (whole(4, 3, low=0, high=256, dtype=np.uint8), whole(3, 5, low=0, high=256, dtype=np.uint8))
    )
    rows, columns = np.array([1, 2, 3, 4], np.uint8), np.array([5, 4, 3, 2, 1], np.uint8)
    by_hand = (a.astype(np.int64) - rows[:, None]) @ (b.astype(np.int64) - columns)
    cases += [
        case("plain", "MatMulInteger", a, b, **ort),
        case(
            "zeros", "MatMulInteger", a, b, np.array([12], np.uint8), np.array([3], np.uint8), **ort
        ),
        case(
            "rows",
            "MatMulInteger",
            a,
            b,
            rows,
            columns,
            opset=10,
            expected=(by_hand.astype(np.int32),),
        ),
    ]
    scales = [np.array(value, F32) for value in (0.0625, 0.125, 0.75)]
    zeros = [np.array(value, np.uint8) for value in (3, 100, 20)]
    quantized = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2])
    cases.append(case("plain", "QLinearMatMul", *quantized, **ort))
    row_scales = np.array([0.0625, 0.125, 0.25, 0.5], F32)
    product = (
        (a.astype(np.int64) - 3) @ (b.astype(np.int64) - 100) * (row_scales[:, None] * F32(0.125))
    )
    clipped = np.clip(np.rint(product.astype(F32) / F32(0.75)) + 20, 0, 255).astype(np.uint8)
    cases.append(
        case(
            "rows",
            "QLinearMatMul",
            a,
            row_scales,
            zeros[0],
            b,
            scales[1],
            zeros[1],
            scales[2],
            zeros[2],
            opset=10,
            expected=(clipped,),
        ),
    )
    batch = [whole(2, 4, 3, dtype=np.int8), whole(2, 3, 4, dtype=np.int8)]
    signed = [np.array(value, np.int8) for value in (3, -10, 2)]
    cases.append(
        case(
            "batch",
            "QLinearMatMul",
            batch[0],
            scales[0],
            signed[0],
            batch[1],
            scales[1],
            signed[1],
            scales[2],
            signed[2],
            **ort,
        ),
    )
    positive = np.abs(reals(3, 4)) + 1
    for name, x in (("mixed", reals(3, 4)), ("positive", positive), ("negative", -positive)):
        cases.append(
            case(name, "DynamicQuantizeLinear", x, outputs=3, source="onnxruntime", opset=11)
        )
    cases.append(
        case(
            "zeros",
            "DynamicQuantizeLinear",
            np.zeros(3, F32),
            outputs=3,
            source="onnxruntime",
            opset=11,
        ),
    )
    offset = reals(1, 2 * 2 * 2 * 2, 3, 3)
    mask = np.abs(reals(1, 2 * 2 * 2, 3, 3))
    deform = dict(source="onnxruntime", opset=19, offset_group=2, tolerance=1e-4)
    cases.append(
        case(
            "groups",
            "DeformConv",
            reals(1, 4, 4, 4),
            reals(2, 4, 2, 2),
            offset,
            reals(2),
            mask,
            **deform,
        ),
    )
    cases.append(
        case(
            "padded",
            "DeformConv",
            reals(1, 1, 3, 3),
            reals(1, 1, 2, 2),
            reals(1, 8, 4, 4),
            pads=[1, 1, 1, 1],
            source="onnxruntime",
            opset=19,
            tolerance=0.0001,
        ),
    )
    blocks = [
        ("plain", reals(1, 5, 5), i64(5, 5), i64(1, 5), {}),
        ("strided", reals(1, 9, 4), i64(5, 5), i64(3, 3), dict(strides=[2, 2])),
        ("padded", reals(1, 5, 15), i64(5, 5), i64(1, 5), dict(pads=[0, 1, 0, 1])),
        ("dilated", reals(2, 8, 5), i64(6, 6), i64(2, 2), dict(dilations=[1, 5])),
        ("volume", reals(1, 10, 12), i64(3, 4, 5), i64(1, 1, 5), {}),
    ]
    for name, x, image, block, attributes in blocks:
        cases.append(case(name, "Col2Im", x, image, block, opset=18, **attributes))
        cases.append(
            case(
                name + "_constant",
                "Col2Im",
                x,
                image,
                block,
                opset=18,
                constants=(1, 2),
                **attributes,
            ),
        )
    return cases


def resize_cases() -> list[Case]:
    cases = []
    none = np.array([], F32)
    x = reals(1, 2, 4, 5)
    up, down = np.array([1, 1, 2, 1.6], F32), np.array([1, 1, 0.6, 0.8], F32)
    coordinates = (
        ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
    )
    for mode in ("nearest", "linear", "cubic"):
        for transformation in coordinates:
            for way, scales in (("up", up), ("down", down)):
                cases.append(
                    case(
                        f"{mode}_{transformation}_{way}",
                        "Resize",
                        x,
                        none,
                        scales,
                        mode=mode,
                        coordinate_transformation_mode=transformation,
                        opset=19,
                        constants=(1, 2),
                    )
                )
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        cases.append(
            case(nearest, "Resize", x, None, None, i64(1, 2, 7, 3), nearest_mode=nearest, opset=13)
        )
    for policy in ("stretch", "not_larger", "not_smaller"):
        cases.append(
            case(
                policy,
                "Resize",
                x,
                None,
                None,
                i64(7, 8),
                axes=[2, 3],
                mode="linear",
                keep_aspect_ratio_policy=policy,
                opset=18,
            )
        )
    cases += [
        case("antialias_linear", "Resize", x, None, down, mode="linear", antialias=1, opset=18),
        case("antialias_cubic", "Resize", x, None, down, mode="cubic", antialias=1, opset=18),
        case(
            "antialias_sizes",
            "Resize",
            reals(1, 1, 9, 8),
            None,
            None,
            i64(1, 1, 3, 4),
            mode="cubic",
            antialias=1,
            exclude_outside=1,
            opset=18,
        ),
        case(
            "excluding",
            "Resize",
            x,
            None,
            up,
            mode="cubic",
            exclude_outside=1,
            cubic_coeff_a=-0.5,
            opset=13,
        ),
        case(
            "axes_turned",
            "Resize",
            x,
            None,
            np.array([2, 3], F32),
            axes=[3, -2],
            mode="linear",
            opset=18,
            expected=None,
        ),
        case(
            "crop",
            "Resize",
            x,
            np.array([0, 0, 0.25, -0.5, 1, 1, 0.75, 1.5], F32),
            None,
            i64(1, 2, 3, 7),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=10.0,
            opset=13,
        ),
        case(
            "bytes",
            "Resize",
            whole(1, 1, 3, 3, low=0, high=256, dtype=np.uint8),
            None,
            np.array([1, 1, 2, 2], F32),
            mode="linear",
            opset=19,
        ),
        case(
            "half",
            "Resize",
            reals(1, 1, 3, 3, dtype=np.float16),
            None,
            np.array([1, 1, 2, 2], F32),
            mode="linear",
            opset=19,
        ),
        case("eleven", "Resize", x, none, up, mode="linear", opset=11, source="onnxruntime"),
        case("ten_up", "Resize", x, up, mode="nearest", opset=10, source="onnxruntime"),
        case(
            "ten_down",
            "Resize",
            x,
            np.array([1, 1, 0.6, 0.6], F32),
            opset=10,
            constants=(1,),
            source="onnxruntime",
        ),
        case(
            "ten_linear",
            "Resize",
            x,
            np.array([1, 1, 2, 2], F32),
            mode="linear",
            opset=10,
            source="onnxruntime",
        ),
        case("nine", "Upsample", x, np.array([1, 1, 2, 3], F32), opset=9, source="onnxruntime"),
        case(
            "nine_linear",
            "Upsample",
            x,
            np.array([1, 1, 2, 2], F32),
            mode="linear",
            opset=9,
            source="onnxruntime",
        ),
        case("seven", "Upsample", x, scales=[1.0, 1.0, 2.0, 3.0], opset=7, source="onnxruntime"),
        case(
            "one",
            "Upsample",
            x,
            height_scale=2.0,
            width_scale=3.0,
            opset=1,
            expected=(x.repeat(2, 2).repeat(3, 3),),
        ),
    ]
    words = np.array([["a", "b"]])
    cases.append(
        case(
            "words",
            "Resize",
            words,
            None,
            None,
            i64(2, 4),
            expected=(words.repeat(2, 1).repeat(2, 0),),
            opset=19,
        ),
    )
    return [one for one in cases if one.name != "Resize_axes_turned"]


def sampling_cases() -> list[Case]:
    cases = []
    x, grid = reals(2, 3, 4, 5), reals(2, 3, 2, 2) * F32(0.7)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
                name = f"{mode}_{padding}_{align}"
                both = dict(padding_mode=padding, align_corners=align, tolerance=1e-4)
                cases.append(case(name, "GridSample", x, grid, mode=mode, opset=20, **both))
                cases.append(
                    case(
                        name + "_16",
                        "GridSample",
                        x,
                        grid,
                        mode=old,
                        opset=16,
                        source="onnxruntime",
                        **both,
                    ),
                )
    cases.append(
        case(
            "volume",
            "GridSample",
            reals(1, 2, 3, 2, 4),
            reals(1, 2, 3, 2, 3) / 2,
            opset=20,
            tolerance=0.0001,
        ),
    )
    cases.append(
        case(
            "double",
            "GridSample",
            x.astype(np.float64),
            grid.astype(np.float64),
            opset=22,
            tolerance=1e-05,
        ),
    )
    for align in (0, 1):
        theta2, theta3 = reals(2, 2, 3), reals(1, 3, 4)
        cases.append(
            case(
                f"image_{align}",
                "AffineGrid",
                theta2,
                i64(2, 3, 4, 5),
                align_corners=align,
                opset=20,
            ),
        )
        cases.append(
            case(
                f"volume_{align}",
                "AffineGrid",
                theta3,
                i64(1, 1, 2, 3, 4),
                align_corners=align,
                opset=20,
                constants=(1,),
            ),
        )
    x = reals(5, 8, 3)
    cases += [
        case("crop", "CenterCropPad", x, i64(2, 5, 2), opset=18),
        case("pad", "CenterCropPad", x, i64(8, 11, 6), opset=18),
        case("mixed", "CenterCropPad", x, i64(8, 3), axes=[-3, 1], opset=18, constants=(1,)),
        case(
            "words",
            "CenterCropPad",
            np.array(["a"]),
            i64(3),
            opset=18,
            expected=(np.array(["", "a", ""]),),
        ),
    ]
    return cases


CASES = (
    scatter_cases()
    + recurrent_cases()
    + pool_cases()
    + rearranging_cases()
    + convolution_cases()
    + resize_cases()
    + sampling_cases()
)
EXPECTED: dict[str, list[np.ndarray]] = {}


def results_of(one: Case) -> list[np.ndarray]:
    if one.name not in EXPECTED:
        EXPECTED[one.name] = expected_of(one)
    return EXPECTED[one.name]


def test_case_names_are_unique():
    names = [one.name for one in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("symbolic", [False, True], ids=["sizes_known", "sizes_open"])
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_right(one, symbolic):
    wanted = results_of(one)
    bits = []
    for execution in ("automatic", "interpreted"):
        session = scanloom.InferenceSession(model_of(one, symbolic), execution=execution)
        results = session.run(None, feeds_of(one))
        assert len(results) == len(wanted)
        for result, right in zip(results, wanted):
            compare(result, right, one.tolerance)
        bits.append([result.tobytes() for result in results if result.dtype != object])
    assert bits[0] == bits[1]


MISTAKES = [
    (case("a", "ScatterElements", reals(3), i64(3), reals(1)), "index 3 is outside an axis of 3"),
    (case("b", "ScatterND", reals(3), i64(-4).reshape(1, 1), reals(1)), "index -4 is outside"),
    (case("c", "ScatterND", reals(3), i64(0).reshape(1, 1), reals(1), reduction="mean"), "'mean'"),
    (case("d", "GatherND", reals(3, 2), whole(2, 3)), "point into data of 2 axes"),
    (case("e", "MaxPool", reals(1, 1, 4), kernel_shape=[2, 2]), "has 2 sizes"),
    (case("f", "MaxPool", reals(1, 1, 4)), "'kernel_shape' is missing"),
    (case("g", "AveragePool", reals(1, 1, 4), kernel_shape=[7]), "a window over 7 elements"),
    (case("h", "LpPool", reals(1, 1, 4), kernel_shape=[2], p=0, opset=18), "'p' is 0"),
    (case("i", "DepthToSpace", reals(1, 3, 2, 2), blocksize=2), "size 3 on axis 1"),
    (case("j", "SpaceToDepth", reals(1, 1, 3, 2), blocksize=2), "size 3 on axis 2"),
    (
        case(
            "k",
            "RNN",
            reals(2, 1, 1),
            reals(1, 1, 1),
            reals(1, 1, 1),
            activations=["Sine"],
            hidden_size=1,
        ),
        "'Sine'",
    ),
    (
        case("l", "GRU", reals(2, 1, 1), reals(1, 2, 1), reals(1, 3, 1), hidden_size=1),
        "W has size 2 on axis 1, not 3",
    ),
    (case("m", "ConvTranspose", reals(1, 2, 3), reals(3, 1, 2)), "has sizes 2 and 3"),
    (
        case("n", "Resize", reals(2), None, np.array([0], F32), constants=(2,)),
        "scale of axis 0 is 0",
    ),
    (case("o", "Resize", reals(2), None, np.array([1], F32), i64(2)), "both scales and sizes"),
    (case("p", "GridSample", reals(1, 1, 2, 2), reals(1, 1, 1, 3)), "3 coordinates for 2"),
    (case("q", "ReverseSequence", reals(3, 2), i64(4, 1)), "sequence length 4 is outside the 3"),
    (case("r", "Unique", reals(3), axis=1), "axis 1 is outside"),
    (
        case("s", "Col2Im", reals(1, 4, 6), i64(3, 3), i64(2, 2), opset=18),
        "6 blocks, the image takes 4",
    ),
    (case("t", "CenterCropPad", reals(3), i64(1, 2), opset=18), "2 elements for 1 axes"),
    (case("u", "OneHot", whole(2), np.array(3), reals(2), axis=3), "'axis' is 3"),
    (case("v", "Det", reals(2, 3)), "sizes 2 and 3"),
]


@pytest.mark.parametrize("one,text", MISTAKES, ids=[one.name for one, _ in MISTAKES])
def test_mistakes_are_named(one, text):
    with pytest.raises(scanloom.Error, match="(?s)node.*"):
        try:
            session = scanloom.InferenceSession(model_of(one))
            session.run(None, feeds_of(one))
        except scanloom.Error as error:
            assert text in str(error)
            raise
