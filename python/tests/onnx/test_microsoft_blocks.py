"""Weights quantized in blocks (MatMulNBits, MatMulBnb4, GatherBlockQuantized) against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, bytes_of, case, feeds_of, model_of
from single_node import SYMBOLIC, close, randoms, refused, run_every_way

import scanloom

F32 = np.float32


def nbits(name, bits, k, n, block, *, zeros="", dtype=F32, order=None, bias=False, rows=(2, 3),
          flat=False, variable=False, **attributes):
    blocks = -(-k // block)
    packed = bytes_of(np.uint8, n, blocks, block * bits // 8)
    scales = np.abs(randoms(n, blocks)).astype(dtype) / 8 + dtype(0.01)
    zero_points = None
    if zeros == "packed":
        zero_points = bytes_of(np.uint8, n, -(-blocks * bits // 8))
    elif zeros == "typed":
        zero_points = (np.abs(randoms(n, blocks)) * 4).astype(dtype)
    if flat:
        scales = scales.reshape(-1)
        zero_points = None if zero_points is None else zero_points.reshape(-1)
    inputs = [randoms(*rows, k).astype(dtype), packed, scales, zero_points, order,
              randoms(n).astype(dtype) if bias else None]
    while inputs[-1] is None:
        inputs.pop()
    constants = [] if variable else [i for i in range(1, len(inputs)) if inputs[i] is not None]
    return case(name, "MatMulNBits", *inputs, constants=constants, bits=bits, K=k, N=n,
                block_size=block, scale=4 if dtype == np.float16 else 2, **attributes)


def bnb4(name, quant_type, k, n, block, **attributes):
    count = n * k
    transposed = attributes.get("transB", 1)
    x = randoms(2, 3, k if transposed else n)
    return case(name, "MatMulBnb4", x, bytes_of(np.uint8, (count + 1) // 2),
                np.abs(randoms(-(-count // block))), constants=[1, 2], K=k, N=n, block_size=block,
                quant_type=quant_type, scale=2, **attributes)


def gather_cases():
    indices = np.array([[0, 3], [-1, 2]], np.int64)
    for dtype in (ml_dtypes.uint4, ml_dtypes.int4):
        data = (bytes_of(np.uint8, 4, 40) % 8).astype(dtype)
        name = np.dtype(dtype).name
        scales, zeros = np.abs(randoms(4, 3)), (bytes_of(np.uint8, 4, 3) % 8).astype(dtype)
        rest = {"constants": [0, 2, 3], "block_size": 16}
        yield case(f"gather {name}", "GatherBlockQuantized", data, indices, scales, zeros, **rest)
        yield case(f"gather {name} without zeros", "GatherBlockQuantized", data, indices, scales,
                   constants=[0, 2], block_size=16)
        yield case(f"gather {name} across blocks", "GatherBlockQuantized", data,
                   np.array([39, 0, 17], np.int32), scales, zeros, gather_axis=1, **rest)
        yield case(f"gather {name} quantized on axis 0", "GatherBlockQuantized",
                   (bytes_of(np.uint8, 40, 4) % 8).astype(dtype), indices, np.abs(randoms(3, 4)),
                   (bytes_of(np.uint8, 3, 4) % 8).astype(dtype), quantize_axis=0, **rest)
        yield case(f"gather {name} outside", "GatherBlockQuantized", data,
                   np.array([4, 1, -5], np.int64), scales, zeros, **rest)
    for bits in (2, 4, 8):
        data, scales = bytes_of(np.uint8, 4, 48 * bits // 8), np.abs(randoms(4, 3))
        zeros = bytes_of(np.uint8, 4, -(-3 * bits // 8))
        rest = {"block_size": 16, "bits": bits}
        yield case(f"gather bytes of {bits} bits", "GatherBlockQuantized", data, indices, scales,
                   zeros, constants=[0, 2, 3], **rest)
        yield case(f"gather bytes of {bits} bits without zeros", "GatherBlockQuantized", data,
                   indices, scales.astype(np.float16), constants=[0, 2], **rest)


CASES = [
    *(nbits(f"{bits} bits", bits, 64, 5, 16) for bits in (2, 4, 8)),
    *(nbits(f"{bits} bits, packed zeros", bits, 72, 5, 32, zeros="packed") for bits in (2, 4, 8)),
    nbits("4 bits, zeros of the type", 4, 64, 5, 32, zeros="typed"),
    nbits("4 bits, a bias", 4, 64, 5, 32, bias=True),
    nbits("4 bits, lists", 4, 64, 5, 32, zeros="packed", flat=True),
    nbits("4 bits, one row", 4, 32, 8, 16, rows=()),
    # Here all columns of a block have one index: onnxruntime reads the others wrongly.
    nbits("4 bits, an order of blocks", 4, 64, 5, 16,
          order=np.repeat(np.array([2, 0, 3, 1], np.int32), 16)),
    nbits("4 bits, variable", 4, 64, 5, 32, zeros="packed", variable=True),
    nbits("4 bits f16", 4, 64, 5, 32, zeros="packed", dtype=np.float16, bias=True),
    nbits("8 bits f16", 8, 64, 5, 32, dtype=np.float16),
    # Large weights stay quantized.
    *(nbits(f"{bits} bits, large", bits, 160, 500, 32, zeros="packed") for bits in (2, 4, 8)),
    nbits("4 bits, large, zeros of the type", 4, 150, 500, 16, zeros="typed", rows=(9,)),
    nbits("4 bits, large, one row, a bias", 4, 256, 300, 128, rows=(), bias=True),
    nbits("4 bits, large, f16", 4, 256, 300, 32, dtype=np.float16),
    nbits("4 bits, large, variable", 4, 160, 500, 32, zeros="packed", variable=True),
    bnb4("fp4", 0, 16, 6, 16), bnb4("nf4", 1, 20, 5, 16), bnb4("nf4 in large blocks", 1, 16, 6, 256),
    *gather_cases(),
]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = model_of(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


def test_blocks_in_any_order():
    """By the documentation: onnxruntime ignores the zero points here."""
    order = np.random.default_rng(0).permutation(np.arange(64) // 16).astype(np.int32)
    one = nbits("", 4, 64, 5, 16, zeros="packed", order=order)
    [result] = run_every_way(model_of(one), feeds_of(one))
    x, packed, scales, zeros, _ = one.inputs
    numbers = np.stack([packed & 15, packed >> 4], -1).reshape(5, 64).astype(F32)
    zero = np.stack([zeros & 15, zeros >> 4], -1).reshape(5, 4).astype(F32)
    weights = (numbers - zero[:, order]) * scales[:, order]
    close(result, x @ weights.T, 4)


def test_4_bit_floats_that_are_not_transposed():
    """By the documentation: onnxruntime transposes them all the same."""
    one, other = bnb4("", 1, 16, 8, 32, transB=0), bnb4("", 1, 16, 8, 32)
    identity = np.eye(16, dtype=F32)
    proto = model_of(case("", "MatMulBnb4", identity, *other.inputs[1:], constants=[1, 2],
                          **other.attributes))
    [weights] = by_onnxruntime(proto, {"x0": identity})
    [result] = run_every_way(model_of(one), feeds_of(one))
    close(result, one.inputs[0] @ weights.T, 4)


def test_a_low_accuracy_level_allows_bytes_but_does_not_need_them():
    one = nbits("", 4, 64, 5, 32, accuracy_level=4)
    proto, fed = model_of(one), feeds_of(one)
    [result], [wanted] = run_every_way(proto, fed), by_onnxruntime(proto, fed)
    np.testing.assert_allclose(result, wanted, atol=0.05 * np.abs(wanted).max())
    exact = run_every_way(model_of(nbits("", 4, 64, 5, 32)), fed)
    close(result, exact[0])


@pytest.mark.parametrize("file", ["out.onnx", "out.xml"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_converted_models_unpack_the_bytes(bits, file, tmp_path):
    for one in (nbits("", bits, 72, 5, 32, zeros="packed"), nbits("", bits, 64, 5, 16)):
        onnx.save(model_of(one), tmp_path / "in.onnx")
        scanloom.convert(tmp_path / "in.onnx", tmp_path / file)
        fed, [wanted] = feeds_of(one), by_onnxruntime(model_of(one), feeds_of(one))
        [result] = scanloom.InferenceSession(tmp_path / file).run(None, fed)
        agree(result, wanted, one.scale)


X, B, S = randoms(2, 64), bytes_of(np.uint8, 5, 4, 8), np.abs(randoms(5, 4))
GIVEN = {"bits": 4, "K": 64, "N": 5, "block_size": 16}
MISTAKES = [
    ("MatMulNBits", [X, B, S], "'bits' is 3", {**GIVEN, "bits": 3}),
    ("MatMulNBits", [X, B, S], "'block_size' is 8", {**GIVEN, "block_size": 8}),
    ("MatMulNBits", [X, B, S], "'N' is 0", {**GIVEN, "N": 0}),
    ("MatMulNBits", [X, B, S], f"'K' is {2**62}", {**GIVEN, "K": 2**62}),
    ("MatMulNBits", [X, B, S], "'N' is missing", {"K": 64, "block_size": 16}),
    ("MatMulNBits", [X, B[:4].copy(), S], "has 128 elements, but 160", GIVEN),
    ("MatMulNBits", [X, B, S[:4].copy()], "has 16 elements, but 20", GIVEN),
    ("MatMulNBits", [X, B, S, bytes_of(np.uint8, 5, 3)], "has 15 elements, but 10", GIVEN),
    ("MatMulNBits", [X, B.astype(np.int8), S], "int8, not uint8", GIVEN),
    ("MatMulNBits", [X, B, S, None, np.full(64, 4, np.int32)], "index 4 is outside", GIVEN),
    ("MatMulNBits", [X, B, S], "layout of GPUs", {**GIVEN, "weight_prepacked": 1}),
    ("MatMulNBits", [randoms(2, 63), B, S], "63.*64|64.*63", GIVEN),
    ("MatMulBnb4", [randoms(2, 16), bytes_of(np.uint8, 8), np.ones(1, F32)], "'quant_type' is 2",
     {"K": 16, "N": 1, "block_size": 16, "quant_type": 2}),
    ("MatMulBnb4", [randoms(2, 16), bytes_of(np.uint8, 7), np.ones(1, F32)], "has 7 elements, but 8",
     {"K": 16, "N": 1, "block_size": 16, "quant_type": 1}),
    ("GatherBlockQuantized", [bytes_of(np.uint8, 4, 16), np.array([0]), np.ones((4, 2), F32)], "along axis 0",
     {"block_size": 16, "gather_axis": 1}),
    ("GatherBlockQuantized", [bytes_of(np.uint8, 4, 16), np.array([0]), np.ones(4, F32)], "has 1 axes",
     {"block_size": 16}),
    ("GatherBlockQuantized", [bytes_of(np.uint8, 4, 16), np.array([0]), np.ones((4, 2), F32)],
     "'gather_axis' is 2", {"block_size": 16, "gather_axis": 2}),
    ("GatherBlockQuantized", [randoms(4, 16), np.array([0]), np.ones((4, 2), F32)], "not uint8",
     {"block_size": 16}),
]


@pytest.mark.parametrize("op, inputs, words, attributes", MISTAKES)
def test_mistakes_are_errors(op, inputs, words, attributes):
    refused(op, inputs, words, domain=DOMAIN, opset=1, **attributes)
