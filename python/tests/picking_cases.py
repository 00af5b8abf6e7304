"""Operators that scatter, gather, select and rearrange, and the recurrent layers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
from operator_cases import F32, RANDOM, Case, case, floats, i64, whole


def scatter_cases() -> list[Case]:
    cases = []
    data, updates = floats(3, 4, 5), floats(2, 4, 5)
    indices = whole(2, 4, 5, low=-3, high=3)
    for reduction in ("add", "mul", "max", "min"):
        cases.append(
            case(reduction, "ScatterElements", data, indices, updates, axis=0, reduction=reduction)
        )
        pairs = whole(2, 3, 2, low=0, high=3)
        slices = floats(2, 3, 5)
        cases.append(case(reduction, "ScatterND", data, pairs, slices, reduction=reduction))
    distinct = np.stack([RANDOM.permutation(5) for _ in range(12)]).reshape(3, 4, 5)
    for opset in (11, 13, 16, 18):
        new = floats(3, 4, 5)
        cases.append(
            case(f"{opset}", "ScatterElements", data, distinct, new, axis=-1, opset=opset)
        )
        place = i64(2, 0).reshape(2, 1)
        cases.append(case(f"{opset}", "ScatterND", data, place, floats(2, 4, 5), opset=opset))
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
        case("batches", "GatherND", floats(2, 4, 3), whole(2, 5, 1, low=0, high=4), batch_dims=1)
    )
    cases += [
        case(f"{opset}", "GatherND", floats(4, 3), tuples, opset=opset) for opset in (11, 12, 13)
    ]
    return cases


def recurrent(op: str, gates: int, name: str, **more: Any) -> Case:
    steps, batch, size, hidden = 4, 3, 2, 5
    directions = 2 if more.get("direction") == "bidirectional" else 1
    dtype = more.pop("dtype", F32)
    lengths = more.pop("lengths", None)
    x = floats(steps, batch, size, dtype=dtype)
    initial = floats(directions, batch, hidden, dtype=dtype)
    if more.get("layout"):
        x, initial = x.transpose(1, 0, 2).copy(), initial.transpose(1, 0, 2).copy()
    return case(
        name,
        op,
        x,
        floats(directions, gates * hidden, size, dtype=dtype) / dtype(2),
        floats(directions, gates * hidden, hidden, dtype=dtype) / dtype(2),
        floats(directions, 2 * gates * hidden, dtype=dtype),
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
            x = floats(3, 4)
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
    return cases


def arranging_cases() -> list[Case]:
    cases = []
    x = floats(2, 3, 4)
    cases += [
        case("last", "Hardmax", x),
        case("middle", "Hardmax", x, axis=1),
        case("flat", "Hardmax", x, axis=1, opset=11, source="onnxruntime"),
        case("half", "Hardmax", floats(3, 4, dtype=np.float16)),
        case("usual", "EyeLike", floats(3, 4)),
        case("moved", "EyeLike", floats(4, 3), k=-1, dtype=onnx.TensorProto.INT32),
        case(
            "booleans",
            "EyeLike",
            floats(2, 3),
            k=1,
            dtype=onnx.TensorProto.BOOL,
            expected=(np.eye(2, 3, 1, bool),),
        ),
        case(
            "batch",
            "ReverseSequence",
            floats(3, 4),
            i64(1, 4, 2),
            time_axis=1,
            batch_axis=0,
            opset=10,
        ),
        case("axis", "Compress", floats(3, 4), np.array([False, True, True]), axis=0),
        case("negative", "Compress", floats(3, 4), np.array([True, False, True]), axis=-1),
        case("flat", "Compress", floats(3, 4), np.array([False, True, True, False, True])),
        case("nothing", "Compress", floats(3, 4), np.zeros(3, bool), axis=0),
        case("one", "Det", floats(3, 3), source="reference", tolerance=1e-4),
        case("batch", "Det", floats(2, 2, 4, 4), tolerance=1e-4, opset=11),
        case("double", "Det", floats(5, 5, dtype=np.float64)),
    ]
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
            case(mode, "DepthToSpace", floats(2, 12, 2, 3), blocksize=2, mode=mode, opset=13)
        )
    cases.append(
        case("1", "DepthToSpace", floats(1, 4, 2, 3), blocksize=2, opset=10, source="onnxruntime")
    )
    cases.append(case("13", "SpaceToDepth", floats(2, 3, 4, 6), blocksize=2, opset=13))
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
    return cases


def in_order_of_appearance(table: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    _, first, places, counts = np.unique(table, True, True, True, axis=axis)
    order = np.argsort(first)
    place_of = np.argsort(order)
    kept = np.take(table, first[order], axis=axis)
    return kept, first[order], place_of[places.reshape(-1)], counts[order]


def selecting_cases() -> list[Case]:
    cases = []
    numbers = whole(12, low=0, high=5)
    table = whole(5, 3, low=0, high=2)
    for order in (0, 1):
        cases.append(case(f"flat_{order}", "Unique", numbers, sorted=order, outputs=4))
        for axis in (0, 1, -1):
            # The reference evaluator takes unsorted columns for rows.
            right = None if order else in_order_of_appearance(table, axis)
            cases.append(
                case(
                    f"{axis}_{order}",
                    "Unique",
                    table,
                    axis=axis,
                    sorted=order,
                    outputs=4,
                    expected=right,
                )
            )
    cases.append(case("floats", "Unique", floats(3, 4), outputs=4))
    boxes, scores = np.sort(np.abs(floats(2, 20, 4)), -1), np.abs(floats(2, 3, 20))
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
