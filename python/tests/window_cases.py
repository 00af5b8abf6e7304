"""Operators over windows of images: pools, convolutions, resizing and sampling."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from operator_cases import F32, Case, case, floats, i64, whole


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
        x = floats(*shape)
        cases.append(case(name, "MaxPool", x, opset=12, outputs=2, **ort))
        cases.append(case(name + "_19", "AveragePool", x, opset=19, **ort))
        cases.append(case(name + "_7", "AveragePool", x, opset=10, count_include_pad=1, **ort))
        cases.append(case(name + "_p3", "LpPool", x, opset=18, p=3, tolerance=1e-4, **ort))
        cases.append(case(name + "_p1", "LpPool", x, opset=18, p=1, **ort))
    ort = dict(source="onnxruntime", kernel_shape=[2, 3])
    x = floats(2, 2, 6, 7)
    cases += [
        case("columns", "MaxPool", x, opset=12, outputs=2, storage_order=1, **ort),
        case("dilated", "MaxPool", x, opset=12, outputs=2, dilations=[3, 2], **ort),
        case("dilated", "AveragePool", x, opset=19, dilations=[3, 2], **ort),
        case("dilated", "LpPool", x, opset=18, dilations=[3, 2], **ort),
        case("bytes", "MaxPool", whole(1, 1, 5, 5, low=0, dtype=np.uint8), opset=12, **ort),
        case("signed", "MaxPool", whole(1, 1, 5, 5, dtype=np.int8), opset=12, **ort),
        case("old", "MaxPool", x, opset=1, kernel_shape=[2, 3], expected=None, source="reference"),
        case("half", "AveragePool", floats(1, 1, 5, 5, dtype=np.float16), kernel_shape=[2, 2]),
        case("bfloat16", "AveragePool", x.astype(ml_dtypes.bfloat16), kernel_shape=[2, 2]),
    ]
    for p in (1, 2, 3):
        wanted = (np.abs(x.astype(np.float64)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
        cases.append(case(f"{p}", "GlobalLpPool", x, p=p, expected=(wanted.astype(F32),)))
    pooled = floats(1, 1, 2, 2)
    places = i64(5, 7, 13, 15).reshape(1, 1, 2, 2)
    by_two = dict(kernel_shape=[2, 2], strides=[2, 2])
    cases.append(case("11", "MaxUnpool", pooled, places, opset=11, **by_two))
    larger = i64(1, 1, 5, 5)
    cases.append(case("larger", "MaxUnpool", pooled, places, larger, opset=11, **by_two))
    cases.append(
        case("larger_constant", "MaxUnpool", pooled, places, larger, constants=(2,), **by_two)
    )
    regions = np.array([[0, 1, 1, 5, 4], [1, 0, 2, 8, 9], [0, 3, 3, 3, 3]], F32)
    cases.append(
        case(
            "regions",
            "MaxRoiPool",
            floats(2, 3, 8, 9),
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
                    floats(2, 2, 8, 9),
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
        cases.append(case(name, "ConvTranspose", floats(*x), floats(*w), floats(filters), **ort))
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64):
        parts = [floats(*shape, dtype=dtype) for shape in ((1, 2, 4), (2, 1, 3))]
        cases.append(case(np.dtype(dtype).name, "ConvTranspose", *parts, strides=[2]))
    return cases


def quantized_cases() -> list[Case]:
    cases = []
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
    return cases


def quantized_product_cases() -> list[Case]:
    cases = []
    a = whole(4, 3, low=0, high=256, dtype=np.uint8)
    b = whole(3, 5, low=0, high=256, dtype=np.uint8)
    ort = dict(source="onnxruntime", opset=10)
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
    positive = np.abs(floats(3, 4)) + 1
    for name, x in (("mixed", floats(3, 4)), ("positive", positive), ("negative", -positive)):
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
    return cases


def deformed_cases() -> list[Case]:
    cases = []
    offset = floats(1, 2 * 2 * 2 * 2, 3, 3)
    mask = np.abs(floats(1, 2 * 2 * 2, 3, 3))
    deform = dict(source="onnxruntime", opset=19, offset_group=2, tolerance=1e-4)
    cases.append(
        case(
            "groups",
            "DeformConv",
            floats(1, 4, 4, 4),
            floats(2, 4, 2, 2),
            offset,
            floats(2),
            mask,
            **deform,
        ),
    )
    cases.append(
        case(
            "padded",
            "DeformConv",
            floats(1, 1, 3, 3),
            floats(1, 1, 2, 2),
            floats(1, 8, 4, 4),
            pads=[1, 1, 1, 1],
            source="onnxruntime",
            opset=19,
            tolerance=0.0001,
        ),
    )
    blocks = [
        ("plain", floats(1, 5, 5), i64(5, 5), i64(1, 5), {}),
        ("strided", floats(1, 9, 4), i64(5, 5), i64(3, 3), dict(strides=[2, 2])),
        ("padded", floats(1, 5, 15), i64(5, 5), i64(1, 5), dict(pads=[0, 1, 0, 1])),
        ("dilated", floats(2, 8, 5), i64(6, 6), i64(2, 2), dict(dilations=[1, 5])),
        ("volume", floats(1, 10, 12), i64(3, 4, 5), i64(1, 1, 5), {}),
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
    x = floats(1, 2, 4, 5)
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
    return cases


def resize_variants() -> list[Case]:
    cases = []
    none = np.array([], F32)
    x = floats(1, 2, 4, 5)
    up, down = np.array([1, 1, 2, 1.6], F32), np.array([1, 1, 0.6, 0.8], F32)
    cases += [
        case("antialias_linear", "Resize", x, None, down, mode="linear", antialias=1, opset=18),
        case("antialias_cubic", "Resize", x, None, down, mode="cubic", antialias=1, opset=18),
        case(
            "antialias_sizes",
            "Resize",
            floats(1, 1, 9, 8),
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
            floats(1, 1, 3, 3, dtype=np.float16),
            None,
            np.array([1, 1, 2, 2], F32),
            mode="linear",
            opset=19,
        ),
    ]
    return cases


def old_resize_cases() -> list[Case]:
    none = np.array([], F32)
    x = floats(1, 2, 4, 5)
    up = np.array([1, 1, 2, 1.6], F32)
    cases = [
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
    return cases


def sampling_cases() -> list[Case]:
    cases = []
    x, grid = floats(2, 3, 4, 5), floats(2, 3, 2, 2) * F32(0.7)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
                name = f"{mode}_{padding}_{align}"
                both = dict(padding_mode=padding, align_corners=align, tolerance=1e-4)
                # ONNX's evaluator clamps the point there, not the pixels around it.
                edge = mode == "cubic" and padding == "border"
                if not edge:
                    cases.append(case(name, "GridSample", x, grid, mode=mode, opset=20, **both))
                peer = dict(mode=old, opset=16, source="onnxruntime", **both)
                cases.append(case(name + "_16", "GridSample", x, grid, **peer))
    cases.append(
        case(
            "volume",
            "GridSample",
            floats(1, 2, 3, 2, 4),
            floats(1, 2, 3, 2, 3) / 2,
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
        theta2, theta3 = floats(2, 2, 3), floats(1, 3, 4)
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
    x = floats(5, 8, 3)
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
