"""Element types that numpy lacks, texts, and archives of many members."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from command_line import BAD, save, scanloom, tensor
from onnx import TensorProto, helper, numpy_helper

SMALL = {
    "int4": ([-8, -1, 0, 7, 3], TensorProto.INT4),
    "uint4": ([15, 0, 9], TensorProto.UINT4),
    "int2": ([-2, 1, 0, -1, 1], TensorProto.INT2),
    "uint2": ([3, 0, 2], TensorProto.UINT2),
    "float4_e2m1fn": ([0.5, -6, 3], TensorProto.FLOAT4E2M1),
    "float8_e4m3fn": ([0.5, -448, 3], TensorProto.FLOAT8E4M3FN),
    "float8_e5m2": ([0.5, -49152, 3], TensorProto.FLOAT8E5M2),
    "float8_e8m0fnu": ([0.5, 2, 8], TensorProto.FLOAT8E8M0),
    "bfloat16": ([0.5, 2, -8], TensorProto.BFLOAT16),
}


def identity_model(path, element_type):
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    ends = [tensor("x", ["N"], element_type)], [tensor("y", ["N"], element_type)]
    model = helper.make_model(
        helper.make_graph(nodes, "same", *ends),
        opset_imports=[helper.make_opsetid("", 25)],
        ir_version=13,
    )
    onnx.save(model, str(path))
    return path


@pytest.fixture(params=list(SMALL))
def small(request, tmp_path):
    numbers, element_type = SMALL[request.param]
    identity_model(tmp_path / "model.onnx", element_type)
    return tmp_path, np.array(numbers).astype(getattr(ml_dtypes, request.param)), element_type


def test_small_types_are_read_from_tensor_files(small):
    folder, array, element_type = small
    (folder / "test_data_set_0").mkdir()
    raw = numpy_helper.from_array(array)
    typed = helper.make_tensor("", element_type, array.shape, array.astype(np.float32))
    for one, other in ((raw, typed), (typed, raw)):
        (folder / "test_data_set_0/input_0.pb").write_bytes(one.SerializeToString())
        (folder / "test_data_set_0/output_0.pb").write_bytes(other.SerializeToString())
        answer = scanloom("compare", folder)
        assert "1 of 1 outputs are as expected" in answer.stdout


def test_small_types_go_through_numpys_files(small):
    folder, array, _ = small
    np.savez(folder / "in.npz", x=array)
    np.save(folder / "x.npy", array)
    for feed in ("in.npz", "x=in.npz", "x=in.npz:x", "x=x.npy"):
        scanloom("run", "model.onnx", "--feed", feed, "--out", "y.npy", cwd=folder)
        assert np.load(folder / "y.npy").view(np.uint8).tobytes() == low_bits(array)
        scanloom("run", "model.onnx", "--feed", "x=y.npy", "--out", "z.npz", cwd=folder)
        with np.load(folder / "z.npz") as again:
            assert again["y"].tobytes() == (folder / "y.npy").read_bytes()[-array.nbytes :]
    np.savez(folder / "both.npz", x=array, y=array)
    assert "1 of 1" in scanloom("compare", "model.onnx", "both.npz", cwd=folder).stdout


def low_bits(array):
    """Returns the bytes that the program writes: signed integers in full, other types bit by
    bit."""
    if array.dtype.name in ("int4", "int2"):
        return array.astype(np.int8).tobytes()
    return array.tobytes()


@pytest.mark.parametrize(
    "name, bytes_", [("int4", np.int8([8])), ("uint4", np.uint8([16])), ("int2", np.uint8([5]))]
)
def test_bytes_that_are_no_small_number_are_refused(tmp_path, name, bytes_):
    identity_model(tmp_path / "model.onnx", SMALL[name][1])
    np.save(tmp_path / "x.npy", bytes_)
    answer = scanloom("run", "model.onnx", "--feed", "x=x.npy", cwd=tmp_path, expect=BAD)
    assert f"x.npy: at [0] it is {bytes_[0]}, which is not a valid {name}" in answer.stderr


def test_fields_of_tensor_files_come_in_any_order(tmp_path):
    identity_model(tmp_path / "model.onnx", TensorProto.INT8)
    whole = helper.make_tensor("", TensorProto.INT8, [2], [1, -2])
    parts = [TensorProto(int32_data=whole.int32_data), TensorProto(data_type=3, dims=[2])]
    content = b"".join(part.SerializeToString() for part in parts)
    (tmp_path / "x.pb").write_bytes(content)
    out = scanloom("run", "model.onnx", "--feed", "x=x.pb", "--json", cwd=tmp_path).stdout
    assert json.loads(out)["outputs"]["y"]["values"] == [1, -2]


@pytest.mark.parametrize("content", [b"\x0d\0\0\0\0", b"\x12\x01\x01", b"\x48\x01", b"\x08"])
def test_tensor_files_of_wrong_wire_types_are_refused(tmp_path, content):
    identity_model(tmp_path / "model.onnx", TensorProto.INT8)
    (tmp_path / "x.pb").write_bytes(content)
    answer = scanloom("run", "model.onnx", "--feed", "x=x.pb", cwd=tmp_path, expect=BAD)
    assert "x.pb: " in answer.stderr and "internal" not in answer.stderr


TEXTS = np.array([["a", "", "\u00e4\U0001f600"], ["x\0y", "zz", "\u4e2d"]])


@pytest.fixture
def texts(tmp_path):
    ends = [tensor("x", ["N", "M"], TensorProto.STRING)], [tensor("y", ["N", "M"], TensorProto.STRING)]
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    save(helper.make_graph(nodes, "texts", *ends), tmp_path / "model.onnx")
    return tmp_path


def test_texts_go_through_numpys_files(texts):
    np.savez(texts / "in.npz", x=TEXTS)
    scanloom("run", "model.onnx", "--feed", "in.npz", "--out", "out.npz", cwd=texts)
    with np.load(texts / "out.npz", allow_pickle=False) as out:
        assert out["y"].dtype.kind == "U"
        np.testing.assert_array_equal(out["y"], TEXTS)
    np.save(texts / "x.npy", np.asfortranarray(TEXTS))
    scanloom("run", "model.onnx", "--feed", "x=x.npy", "--out", "y.npy", cwd=texts)
    np.testing.assert_array_equal(np.load(texts / "y.npy"), TEXTS)
    np.savez(texts / "both.npz", x=TEXTS, y=TEXTS)
    assert "1 of 1" in scanloom("compare", "model.onnx", "both.npz", cwd=texts).stdout


def test_no_texts_at_all(texts):
    np.save(texts / "x.npy", TEXTS[:0])
    scanloom("run", "model.onnx", "--feed", "x=x.npy", "--out", "y.npy", cwd=texts)
    assert np.load(texts / "y.npy").shape == (0, 3)


def test_texts_that_numpy_cannot_hold_are_refused(texts):
    for content, words in ((b"\xff", "not UTF-8"), (b"a\0", "ends in a zero byte")):
        proto = TensorProto(data_type=TensorProto.STRING, dims=[1, 1], string_data=[content])
        (texts / "x.pb").write_bytes(proto.SerializeToString())
        arguments = ["--feed", "x=x.pb", "--out", "y.npz"]
        answer = scanloom("run", "model.onnx", *arguments, cwd=texts, expect=BAD)
        assert words in answer.stderr
    many = TensorProto(data_type=TensorProto.STRING, dims=[1, 3000], string_data=[b"a" * 1000000] + [b""] * 2999)
    (texts / "x.pb").write_bytes(many.SerializeToString())
    answer = scanloom("run", "model.onnx", *arguments, cwd=texts, expect=BAD)
    assert "more than 2 GiB" in answer.stderr


@pytest.mark.parametrize("descr", ["<U0", "<U-1", "<U99999999999999999999", "<U", "<U5"])
def test_text_files_that_claim_too_much_are_refused(texts, descr):
    np.save(texts / "x.npy", TEXTS)
    content = (texts / "x.npy").read_bytes().replace(b"'<U3'", repr(descr).encode(), 1)
    (texts / "x.npy").write_bytes(content)
    scanloom("run", "model.onnx", "--feed", "x=x.npy", cwd=texts, expect=BAD)


@pytest.mark.parametrize("count", [65534, 65535, 65536, 70001])
def test_archives_hold_any_number_of_tensors(tmp_path, count):
    sequence = helper.make_sequence_type_proto(
        helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", "M"])
    )
    nodes = [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)]
    inputs = [tensor("x", ["N", 1])]
    outputs = [helper.make_value_info("s", sequence)]
    save(helper.make_graph(nodes, "parts", inputs, outputs), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.arange(count, dtype=np.float32).reshape(count, 1))
    arguments = ["--feed", "x=x.npy", "--out", "out.npz"]
    scanloom("run", "model.onnx", *arguments, cwd=tmp_path)
    with np.load(tmp_path / "out.npz") as out:
        assert len(out.files) == count
        assert out[f"s.{count - 1}"] == count - 1
    identity_model(tmp_path / "same.onnx", TensorProto.FLOAT)
    again = ["--feed", f"x=out.npz:s.{count - 1}", "--json"]
    answer = scanloom("run", "same.onnx", *again, cwd=tmp_path, expect=BAD)
    assert "rank" in answer.stderr or "axes" in answer.stderr
