"""Files that hold no model: the error says what they are, and what to do about it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pathlib
import pickle
import re
import struct
import tarfile
import zipfile
from typing import Union

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

import scanloom
from loop_models import parse

GOOD = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")
WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4)


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, b"data of " + name.encode())
    return made.getvalue()


def tarred(name: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(GOOD)
        archive.addfile(info, io.BytesIO(GOOD))
    return made.getvalue()


def saved(array: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def field(number: int, value: Union[int, bytes]) -> bytes:
    """Returns a field of a protobuf message; numbers and lengths must be below 128."""
    if isinstance(value, int):
        return varint(number << 3) + bytes([value])
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    made = b""
    while value >= 128:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


# tensorflow/core/framework: NodeDef is name 1, op 2, attr 5; GraphDef is node 1, versions 4;
# MetaGraphDef is meta_info_def 1, graph_def 2; SavedModel is saved_model_schema_version 1,
# meta_graphs 2.
NODE_DEF = field(1, b"input") + field(2, b"Placeholder") + field(5, field(1, b"dtype"))
GRAPH_DEF = field(1, NODE_DEF) + field(4, field(1, 27))
SAVED_MODEL = field(1, 1) + field(2, field(1, field(5, b"2.16.1")) + field(2, GRAPH_DEF))
# mlmodel/format/Model.proto: specificationVersion 1, description 2, neuralNetwork 500.
CORE_ML = field(1, 5) + field(2, field(1, field(1, b"image"))) + field(500, field(1, b"layer"))
SAFETENSORS = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
OLD_TORCH = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001, protocol=2)

KINDS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("is empty", "0 bytes", "download")),
    "html": (
        b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>",
        ("web page", "404 Not Found", "download"),
    ),
    "html_spaced": (b"\n\n  <HTML lang='en'>\n<body>hello</body></HTML>", ("web page", "download")),
    "html_after_a_mark": (b"\xef\xbb\xbf<html></html>", ("web page",)),
    "xhtml": (
        b'<?xml version="1.0"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml"/>',
        ("web page",),
    ),
    "storage_error": (
        b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>',
        ("server", "'AccessDenied'", "download it again"),
    ),
    "git_lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 1234\n",
        ("Git LFS", "git lfs pull"),
    ),
    "zip": (zipped("readme.txt"), ("zip archive", "unpack it")),
    "zip_empty": (zipped(), ("an empty zip archive",)),
    "docx": (zipped("[Content_Types].xml", "word/document.xml"), ("an Office document",)),
    "odt": (zipped("mimetype", "content.xml"), ("an Office document",)),
    "zip_of_a_model": (zipped("a/readme.txt", "a/b/net.onnx"), ("zip", "'a/b/net.onnx'", "unpack")),
    "zip_cut_off": (zipped("a/net.onnx")[:60], ("zip archive", "a/net.onnx")),
    "torch": (
        zipped("archive/version", "archive/data.pkl", "archive/data/0"),
        ("PyTorch", "torch.onnx.export"),
    ),
    "torch_exported": (zipped("m/archive_format", "m/models/model.json"), ("PyTorch",)),
    "torch_old": (OLD_TORCH, ("PyTorch", "torch.onnx.export")),
    "keras": (zipped("metadata.json", "config.json", "model.weights.h5"), ("Keras", "format='onnx'")),
    "npz": (zipped("a.npy", "b.npy"), ("NumPy", ".npz", "feed")),
    "gzip": (gzip.compress(GOOD), ("gzip", "unpack")),
    "bzip2": (bz2.compress(GOOD), ("bzip2", "unpack")),
    "xz": (lzma.compress(GOOD), ("xz", "unpack")),
    "zstd": (b"\x28\xb5\x2f\xfd" + GOOD, ("zstd", "unpack")),
    "tar": (tarred("net.onnx"), ("tar archive", "unpack")),
    "safetensors": (
        struct.pack("<Q", len(SAFETENSORS)) + SAFETENSORS + bytes(4),
        ("safetensors", "export"),
    ),
    "safetensors_cut_off": (
        struct.pack("<Q", len(SAFETENSORS)) + SAFETENSORS[:20],
        ("safetensors", "export"),
    ),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(40), ("TensorFlow Lite", "--tflite")),
    "ort_format": (b"\x08\0\0\0ORTM" + bytes(40), ("ORT format", "onnxruntime", ".onnx")),
    "frozen_graph": (GRAPH_DEF, ("TensorFlow", "GraphDef", "--graphdef")),
    "saved_model": (SAVED_MODEL, ("TensorFlow", "SavedModel", "--saved-model")),
    "core_ml": (CORE_ML, ("Core ML", "export")),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(40), ("HDF5", "Keras")),
    "npy": (saved(WEIGHTS), ("NumPy", ".npy", "feed")),
    "pickle": (pickle.dumps({"w": WEIGHTS}), ("pickle", "export")),
    **{
        f"pickle_{protocol}_{name}": (pickle.dumps(value, protocol=protocol), ("pickle", "export"))
        for protocol in (0, 1)
        for name, value in (("dict", {"w": 1}), ("list", [1]), ("object", WEIGHTS), ("path", pathlib.PurePath("a")))
    },
    "gguf": (b"GGUF\x03\0\0\0" + bytes(40), ("GGUF",)),
    "onnx_tensor": (
        onnx.numpy_helper.from_array(WEIGHTS, "w").SerializeToString(),
        ("TensorProto", "feed"),
    ),
    "onnx_graph": (onnx.load_from_string(GOOD).graph.SerializeToString(), ("GraphProto", "onnx.helper.make_model")),
    "onnx_scalar": (
        onnx.numpy_helper.from_array(np.float32(2)).SerializeToString(),
        ("TensorProto",),
    ),
    "onnx_text": (b'<\n  ir_version: 8, opset_import: ["" : 13]\n>\ng () => () {}', ("onnx.parser",)),
    "onnx_textproto": (b'ir_version: 8\nproducer_name: "me"\n', ("textproto", "onnx.load")),
    "json": (b'{"error": "not found"}', ("JSON", '{"error": "not found"}')),
    "text": (b"Entry not found", ("a text of 15 bytes", "'Entry not found'", "download it again")),
    "zeros": (bytes(64), ("zeros", "download it again")),
    "ones": (b"\xff" * 1000, ("not an ONNX model", "malformed")),
    "noise": (bytes(range(3, 8)) * 20, ("not an ONNX model", "malformed")),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["model.onnx", "model.xml", "model"])
def test_a_file_is_told_by_its_name_and_kind(kind: str, name: str, tmp_path: pathlib.Path) -> None:
    content, words = KINDS[kind]
    if name.endswith(".xml") and kind in ("frozen_graph", "onnx_graph", "onnx_scalar", "zeros", "ones", "noise"):
        words = ("not XML",)  # what the bytes are is known only to who reads them as ONNX
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(scanloom.InvalidModel) as caught:
        scanloom.InferenceSession(str(path))
    message = str(caught.value)
    assert f"'{name}'" in message
    for word in words:
        assert word in message
    (error,) = scanloom.check(str(path)).errors
    assert str(error).splitlines()[0] in message or message in str(error)


@pytest.mark.parametrize("name", ["model.onnx", "model.xml", "model"])
def test_a_damaged_saved_function_is_named(name: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"scanloom function\nformat 3\n")
    with pytest.raises(scanloom.InvalidModel, match=f"'{name}': a damaged saved function"):
        scanloom.InferenceSession(str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_in_memory_are_told_alike(kind: str) -> None:
    content, words = KINDS[kind]
    with pytest.raises(scanloom.InvalidModel) as caught:
        scanloom.InferenceSession(content)
    assert re.search("the model |this is not an ONNX model", str(caught.value))
    for word in words:
        assert word in str(caught.value)


def test_every_part_of_a_model_is_truncated(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "part.onnx"
    for size in range(1, len(GOOD)):
        path.write_bytes(GOOD[:size])
        with pytest.raises(scanloom.InvalidModel, match="truncated"):
            scanloom.InferenceSession(str(path))
    with pytest.raises(scanloom.InvalidModel) as caught:
        scanloom.InferenceSession(GOOD[: len(GOOD) // 2])
    assert f" of its {len(GOOD) // 2}: field 7 is " in str(caught.value)
    assert "download or copy it again" in str(caught.value)


def test_damage_inside_is_not_called_truncated() -> None:
    model = onnx.load_from_string(GOOD)
    damaged = GOOD.replace(model.graph.node[0].SerializeToString(), b"\xff" * model.graph.node[0].ByteSize())
    with pytest.raises(scanloom.InvalidModel, match="malformed bytes in a NodeProto") as caught:
        scanloom.InferenceSession(damaged)
    assert "truncated" not in str(caught.value)


@pytest.mark.parametrize("content", [saved(WEIGHTS)[128:], b"\x08" + bytes(range(200)), b"plain text"])
@pytest.mark.parametrize("there", [True, False])
def test_the_weights_of_an_ir_are_not_the_model(content: bytes, there: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(content)
    if there:
        (tmp_path / "net.xml").write_text("<net/>")
    with pytest.raises(scanloom.InvalidModel, match="'net.bin' is not an? (ONNX )?model") as caught:
        scanloom.InferenceSession(str(path))
    assert "load 'net.xml'" in str(caught.value)
    assert ("missing" in str(caught.value)) != there


def test_a_model_may_have_any_name(tmp_path: pathlib.Path) -> None:
    for name in ("net.bin", "net.zip", "net.pt", "net.xml", "net"):
        (tmp_path / name).write_bytes(GOOD)
        (result,) = scanloom.InferenceSession(str(tmp_path / name)).run(None, {"x": np.ones(2, "f")})
        assert result.tolist() == [-1, -1]


def test_folders_are_told_with_what_is_in_them(tmp_path: pathlib.Path) -> None:
    def message() -> str:
        with pytest.raises(scanloom.Error) as caught:
            scanloom.InferenceSession(str(tmp_path))
        return str(caught.value)

    assert "is a folder that contains no models" in message()
    (tmp_path / "net.onnx").write_bytes(GOOD)
    assert "load the model in it ('net.onnx')" in message()
    (tmp_path / "saved_model.pb").write_bytes(SAVED_MODEL)
    assert "SavedModel" in message() and "--saved-model" in message()


def test_hostile_archives_are_only_looked_at() -> None:
    """Directories whose sizes and offsets are wrong."""
    whole = zipped(*(f"f{i}" for i in range(20)))
    for at in range(0, len(whole)):
        for change in (b"\xff", b"\x00"):
            damaged = whole[:at] + change + whole[at + 1 :]
            with pytest.raises(scanloom.Error):
                scanloom.InferenceSession(damaged)


def test_the_ort_format_is_converted_as_the_error_says(tmp_path: pathlib.Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    given = tmp_path / "given.onnx"
    given.write_bytes(
        parse("g (float[3] x) => (float[3] y) { one = Constant <value_float = 1.0> () t = Add(x, one) y = Sin(t) }")
    )
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    ort.InferenceSession(str(given), options, providers=["CPUExecutionProvider"])
    with pytest.raises(scanloom.InvalidModel, match="optimized_model_filepath = 'model.onnx'"):
        scanloom.InferenceSession(str(tmp_path / "model.ort"))
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.onnx")
    peer = ort.InferenceSession(str(tmp_path / "model.ort"), options, providers=["CPUExecutionProvider"])
    x = np.arange(3, dtype=np.float32)
    [y] = scanloom.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"x": x})
    np.testing.assert_allclose(y, peer.run(None, {"x": x})[0], rtol=1e-6)
