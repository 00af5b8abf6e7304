"""Files of sequences, optionals and strings, as the tests of ONNX hold them."""

import json

import numpy as np
import onnx
import pytest
from command_line import BAD, DIFFERS, save, save_tensor, scanloom
from onnx import TensorProto, helper, numpy_helper

A, B = np.float32([1, 2]), np.float32([3])


def wrapped(name, kind):
    return helper.make_value_info(name, kind)


@pytest.fixture
def folder(tmp_path):
    """A model that passes a sequence, an optional and texts on, with a set of data."""
    rows = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
    sequence = helper.make_sequence_type_proto(rows)
    optional = helper.make_optional_type_proto(sequence)
    texts = helper.make_tensor_type_proto(TensorProto.STRING, ["M"])
    nodes = [
        helper.make_node("SequenceInsert", ["s", "x"], ["t"]),
        helper.make_node("Identity", ["o"], ["p"]),
        helper.make_node("Identity", ["a"], ["b"]),
    ]
    inputs = [("s", sequence), ("x", rows), ("o", optional), ("a", texts)]
    outputs = [("t", sequence), ("p", optional), ("b", texts)]
    graph = helper.make_graph(
        nodes, "passing", [wrapped(*one) for one in inputs], [wrapped(*one) for one in outputs]
    )
    save(graph, tmp_path / "model.onnx", opset=18)
    write_set(tmp_path / "test_data_set_0", [A, B], None)
    write_set(tmp_path / "test_data_set_1", [], [B])
    return tmp_path


def write_set(path, sequence, optional):
    path.mkdir()
    texts = np.array(["a", "", "\u00e4"], object)
    if optional is None:
        none = onnx.OptionalProto()
        none.elem_type = onnx.OptionalProto.SEQUENCE
        held = none.SerializeToString()
    else:
        held = numpy_helper.from_optional(optional, dtype=onnx.OptionalProto.SEQUENCE)
        held = held.SerializeToString()
    (path / "input_0.pb").write_bytes(numpy_helper.from_list(sequence).SerializeToString())
    save_tensor(path / "input_1.pb", B)
    (path / "input_2.pb").write_bytes(held)
    save_tensor(path / "input_3.pb", texts)
    grown = numpy_helper.from_list([*sequence, B])
    (path / "output_0.pb").write_bytes(grown.SerializeToString())
    (path / "output_1.pb").write_bytes(held)
    save_tensor(path / "output_2.pb", texts)


def test_they_are_compared(folder):
    for way in ([], ["--interpret"]):
        answer = scanloom("compare", folder, *way)
        assert "6 of 6 outputs are as expected" in answer.stdout
        assert "sequence of 3" in answer.stdout


def test_what_differs_is_found(folder):
    path = folder / "test_data_set_0"
    other = numpy_helper.from_list([A, B, B + 1])
    (path / "output_0.pb").write_bytes(other.SerializeToString())
    save_tensor(path / "output_2.pb", np.array(["a", "b", "\u00e4"], object))
    answer = scanloom("compare", folder, path, expect=DIFFERS).stdout
    assert "item 2: 1 of 1 elements differ; at [0] it is 3, expected is 4" in answer
    assert "at [1] it is '', expected is 'b'" in answer
    shorter = numpy_helper.from_list([A])
    (path / "output_0.pb").write_bytes(shorter.SerializeToString())
    answer = scanloom("compare", folder, path, expect=DIFFERS).stdout
    assert "expected is sequence of 1" in answer


def test_they_are_fed_and_printed(folder):
    path = folder / "test_data_set_1"
    feeds = [
        part
        for i, name in enumerate(["s", "x", "o", "a"])
        for part in ("--feed", f"{name}={path}/input_{i}.pb")
    ]
    answer = scanloom("run", folder / "model.onnx", *feeds).stdout
    assert "[3]" in answer
    assert "'a' ''" in answer
    out = json.loads(scanloom("run", folder / "model.onnx", *feeds, "--json").stdout)["outputs"]
    assert [item["values"] for item in out["t"]["items"]] == [[3]]
    assert out["p"]["items"][0]["items"][0]["values"] == [3]
    assert out["b"]["values"] == ["a", "", "\u00e4"]
    saved = ["--output", "t", "--out", "t.npz"]
    scanloom("run", folder / "model.onnx", *feeds, *saved, cwd=folder)
    with np.load(folder / "t.npz") as archive:
        assert list(archive) == ["t.0"]


def test_broken_files_are_refused(folder):
    path = folder / "test_data_set_0"
    (path / "input_0.pb").write_bytes(b"\x1a\xff\xff")
    answer = scanloom("compare", folder, path, expect=BAD)
    assert "input_0.pb" in answer.stderr
    save_tensor(path / "input_0.pb", B)
    answer = scanloom("compare", folder, path, expect=BAD)
    assert "is it a tensor?" in answer.stderr
    answer = scanloom("compare", folder, folder / "nothing", expect=BAD)
    assert "there is no folder or archive" in answer.stderr
    answer = scanloom("run", folder / "model.onnx", "--feed", "s=ones", expect=BAD)
    assert "'ones' is not a value for input 's', which is seq(tensor(float))" in answer.stderr
    assert "note: it takes a list of its items, " in answer.stderr and ".pb" in answer.stderr
