"""Integers narrower than a byte in weights: u1, u2, u3, u4, u6 and i4 as OpenVINO packs them, read,
computed with, and written again."""

from __future__ import annotations

import pathlib
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from openvino_ir import Graph

import scanloom

try:
    import openvino
except ImportError:
    openvino = None

BITS = {"u1": 1, "u2": 2, "u3": 3, "u4": 4, "u6": 6, "i4": 4}


def packed(word: str, values: np.ndarray) -> bytes:
    """The packing that OpenVINO documents: u1 begins with the highest bit; u2, u4 and i4 with the
    lowest ones. In u3 and u6, two bytes hold lower bits and a third one the upper bits, all
    beginning at the top."""
    bits, data = BITS[word], bytearray()
    if word in ("u3", "u6"):
        group, low = (8, 2) if word == "u3" else (4, 4)
        high = bits - low
        for start in range(0, len(values), group):
            part = [int(v) for v in values[start : start + group]] + [0] * (start + group - len(values))
            for half in (part[: group // 2], part[group // 2 : group]):
                data.append(sum((v & (1 << low) - 1) << 8 - low * (i + 1) for i, v in enumerate(half)))
            data.append(sum((v >> low) << 8 - high * (i + 1) for i, v in enumerate(part[:group])))
        return bytes(data)
    per_byte = 8 // bits
    for start in range(0, len(values), per_byte):
        places = [8 - bits * (i + 1) if word == "u1" else bits * i for i in range(per_byte)]
        data.append(sum((int(v) & (1 << bits) - 1) << at
                        for v, at in zip(values[start : start + per_byte], places, strict=False)))  # fmt: skip
    return bytes(data)


def numbers(word: str, count: int) -> np.ndarray:
    low, high = (-8, 8) if word == "i4" else (0, 1 << BITS[word])
    return np.random.default_rng(count).integers(low, high, count)


def model(word: str, values: np.ndarray, shape: tuple[int, ...]) -> Graph:
    """y = x + Convert(constant)."""
    graph = Graph()
    data = packed(word, values)
    graph.weights += data
    constant = graph.add("Const", (), 1, 1, "narrow", word.upper(), element_type=word,
                         shape=",".join(map(str, shape)), offset=0, size=len(data))  # fmt: skip
    wide = graph.add("Convert", [constant], precision="I32", destination_type="i32")
    graph.result(graph.add("Add", [graph.parameter("x", "int32", shape), wide], precision="I32"))
    return graph


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 7, 8, 9, 16, 33, 1000])
@pytest.mark.parametrize("word", BITS)
def test_weights(word: str, count: int, tmp_path: pathlib.Path) -> None:
    values = numbers(word, count)
    path = model(word, values, (count,)).save(tmp_path)
    for execution in ("automatic", "interpreted", "compiled"):
        (y,) = scanloom.InferenceSession(path, execution=execution).run(None, {"x": np.full(count, 100, np.int32)})
        np.testing.assert_array_equal(y, 100 + values)


@pytest.mark.skipif(openvino is None, reason="openvino is not installed")
@pytest.mark.parametrize("word", BITS)
def test_weights_that_openvino_packs(word: str) -> None:
    values = numbers(word, 21)
    constant = openvino.op.Constant(getattr(openvino.Type, word), openvino.Shape([3, 7]), values.tolist())
    wide = openvino.opset8.convert(constant, "i32")
    y = openvino.Model([openvino.opset8.result(wide)], [], "narrow")
    (found,) = scanloom.InferenceSession(y).run(None, {})
    np.testing.assert_array_equal(found, values.reshape(3, 7))


@pytest.mark.parametrize("word", BITS)
def test_written_again(word: str, tmp_path: pathlib.Path) -> None:
    """A constant that stays narrow in the model has the same bytes in the IR that is written of it."""
    values = numbers(word, 24)
    graph = Graph()
    data = packed(word, values)
    graph.weights += data
    table = graph.add("Const", (), 1, 1, "narrow", word.upper(), element_type=word, shape="24", offset=0,
                      size=len(data))  # fmt: skip
    picked = graph.add("Gather", [table, graph.parameter("x", "int64", (5,)), graph.constant(0, "int64")], version=8,
                       precision=word.upper(), batch_dims=0)  # fmt: skip
    graph.result(graph.add("Convert", [picked], precision="I32", destination_type="i32"))
    feeds = {"x": np.array([0, 23, 7, 8, 1])}
    written = tmp_path / "written.xml"
    scanloom.convert(graph.save(tmp_path), str(written))
    for path in (tmp_path / "model.xml", written):
        np.testing.assert_array_equal(scanloom.InferenceSession(str(path)).run(None, feeds)[0], values[feeds["x"]])
    constants = [layer for layer in ElementTree.parse(written).iter("layer") if layer.get("type") == "Const"]
    (own,) = [layer.find("data") for layer in constants if layer.find("data").get("element_type") == word]
    offset, size = int(own.get("offset")), int(own.get("size"))
    assert written.with_suffix(".bin").read_bytes()[offset : offset + size] == data


@pytest.mark.parametrize("word", BITS)
def test_too_few_bytes(word: str, tmp_path: pathlib.Path) -> None:
    graph = model(word, numbers(word, 9), (9,))
    attributes = graph.layers[0].find("data").attrib
    needs = int(attributes["size"])
    attributes["size"] = str(needs - 1)
    with pytest.raises(scanloom.InvalidModel, match=rf"weights have {needs - 1} bytes, but {word} of sizes \[9\] need {needs}"):
        scanloom.InferenceSession(graph.save(tmp_path))


@pytest.mark.parametrize("word", ["u2", "u4", "i4"])
def test_feeds_and_results(word: str, tmp_path: pathlib.Path) -> None:
    """One byte for each element, as ml_dtypes has them."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = {"u2": ml_dtypes.uint2, "u4": ml_dtypes.uint4, "i4": ml_dtypes.int4}[word]
    graph = Graph()
    x = graph.add("Parameter", (), 1, 1, "x", word.upper(), element_type=word, shape="?")
    graph.result(graph.add("Reshape", [x, graph.constant([2, -1], "int64")], precision=word.upper(), special_zero=False))
    values = numbers(word, 8).astype(dtype)
    (y,) = scanloom.InferenceSession(graph.save(tmp_path)).run(None, {"x": values})
    assert y.dtype == dtype and y.astype(int).tolist() == values.reshape(2, 4).astype(int).tolist()


@pytest.mark.parametrize("word", ["u2", "u3", "u4", "u6"])
def test_numbers_that_do_not_fit_keep_their_low_bits(word: str, tmp_path: pathlib.Path) -> None:
    graph = Graph()
    narrow = graph.add("Convert", [graph.parameter("x", "int32", (-1,))], precision=word.upper(), destination_type=word)
    graph.result(graph.add("Convert", [narrow], precision="I32", destination_type="i32"))
    x = np.arange(-5, 70, dtype=np.int32)
    (y,) = scanloom.InferenceSession(graph.save(tmp_path)).run(None, {"x": x})
    np.testing.assert_array_equal(y, x & ((1 << BITS[word]) - 1))


def windows_of_bits(x: np.ndarray, filters: np.ndarray, strides: tuple[int, int], dilations: tuple[int, int],
                    begin: tuple[int, int], end: tuple[int, int], padding: float) -> np.ndarray:  # fmt: skip
    """Equal elements of each window minus the others."""
    x = np.pad(x, [(0, 0), (0, 0), *zip(begin, end, strict=True)], constant_values=padding)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, filters.shape[2:], strict=True)]
    rows, columns = ((x.shape[2 + i] - reach[i]) // strides[i] + 1 for i in range(2))
    y = np.zeros((len(x), len(filters), rows, columns), x.dtype)
    for n, o, i, k in np.ndindex(*y.shape):
        top, left = i * strides[0], k * strides[1]
        window = x[n, :, top : top + reach[0] : dilations[0], left : left + reach[1] : dilations[1]]
        y[n, o, i, k] = 2 * (window == filters[o]).sum() - filters[o].size
    return y


@pytest.mark.parametrize("sizes", ["known", "unknown"])
@pytest.mark.parametrize("padding", [0.0, 1.0, -1.0])
@pytest.mark.parametrize(("strides", "dilations", "begin", "end"),
                         [((1, 1), (1, 1), (0, 0), (0, 0)), ((2, 1), (1, 2), (1, 2), (0, 1))])  # fmt: skip
def test_convolution_of_bits(strides: tuple[int, int], dilations: tuple[int, int], begin: tuple[int, int],
                             end: tuple[int, int], padding: float, sizes: str, tmp_path: pathlib.Path) -> None:  # fmt: skip
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (2, 3, 7, 8)).astype(np.float32)
    x[0, 1, 2, 3] = 0.5  # equals no bit
    filters = rng.integers(0, 2, (4, 3, 2, 3))
    graph, data = Graph(), packed("u1", filters.ravel())
    graph.weights += data
    weights = graph.add("Const", (), 1, 1, "bits", "BIN", element_type="u1", shape="4,3,2,3", offset=0,
                        size=len(data))  # fmt: skip
    fed = graph.parameter("x", x.dtype, x.shape if sizes == "known" else (-1, 3, -1, -1))
    graph.result(graph.add("BinaryConvolution", [fed, weights], strides=strides, dilations=dilations,
                           pads_begin=begin, pads_end=end, mode="xnor-popcount", pad_value=padding,
                           auto_pad="explicit"))  # fmt: skip
    path = graph.save(tmp_path)
    for execution in ("automatic", "interpreted", "compiled"):
        (y,) = scanloom.InferenceSession(path, execution=execution).run(None, {"x": x})
        np.testing.assert_array_equal(y, windows_of_bits(x, filters, strides, dilations, begin, end, padding))


def test_a_mode_of_convolutions_of_bits(tmp_path: pathlib.Path) -> None:
    graph, data = Graph(), packed("u1", np.ones(8, int))
    graph.weights += data
    weights = graph.add("Const", (), 1, 1, "bits", "BIN", element_type="u1", shape="1,1,2,4", offset=0,
                        size=len(data))  # fmt: skip
    graph.result(graph.add("BinaryConvolution", [graph.parameter("x", "float32", (1, 1, 5, 5)), weights],
                           mode="and", pad_value=0.0))  # fmt: skip
    with pytest.raises(scanloom.Error, match="'mode' is 'and', but must be one of xnor-popcount"):
        scanloom.InferenceSession(graph.save(tmp_path))
