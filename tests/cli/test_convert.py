"""scanloom convert: files, mistakes, and that results stay."""

import os
import stat

import numpy as np
import onnx
import pytest
from command_line import BAD, broken_model, scanloom, sums_model

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


@pytest.fixture
def sums(tmp_path):
    return sums_model(tmp_path / "sums.onnx")


def run(model, folder):
    np.save(folder / "x.npy", X)
    out = folder / "out.npz"
    scanloom("run", model, "--feed", f"x={folder / 'x.npy'}", "--feed", "start=zeros", "--out", out)
    return dict(np.load(out))


def test_onnx_to_onnx(sums, tmp_path):
    answer = scanloom("convert", sums, tmp_path / "again.onnx")
    assert answer.stdout == answer.stderr == ""
    onnx.checker.check_model(str(tmp_path / "again.onnx"), full_check=True)
    before, after = run(sums, tmp_path), run(tmp_path / "again.onnx", tmp_path)
    assert list(before) == list(after) == ["last", "y"]
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_weights_in_a_file_beside(tmp_path):
    weights = np.arange(4096, dtype=np.float32).reshape(2, 2048)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 2])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 2048])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(tmp_path / "in.onnx"))
    out = tmp_path / "out.onnx"
    scanloom("convert", tmp_path / "in.onnx", out, "--external-data")
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "out.onnx", "out.onnx.data"]
    assert os.path.getsize(out) < 1000
    read = onnx.load(str(out))
    assert np.array_equal(onnx.numpy_helper.to_array(read.graph.initializer[0]), weights)
    scanloom("run", out, "--feed", "x=ones", "--dim", "n=3")
    scanloom("convert", tmp_path / "in.onnx", out, "--external-data")  # replaced
    os.remove(out)
    refused = scanloom("convert", tmp_path / "in.onnx", out, "--external-data", expect=BAD)
    assert "out.onnx.data' would be replaced, but there is no" in refused.stderr


def test_files_are_replaced_whole_or_not_at_all(sums, tmp_path):
    target = tmp_path / "there.onnx"
    target.write_bytes(b"before")
    broken = broken_model(tmp_path / "broken.onnx")
    scanloom("convert", broken, target, expect=BAD)
    assert target.read_bytes() == b"before"
    scanloom("convert", sums, target)
    onnx.checker.check_model(str(target))
    assert sorted(os.listdir(tmp_path)) == ["broken.onnx", "sums.onnx", "there.onnx"]


def test_the_model_itself_is_not_replaced(sums, tmp_path):
    before = sums.read_bytes()
    os.link(sums, tmp_path / "same.onnx")
    for target in (sums, tmp_path / "same.onnx"):
        answer = scanloom("convert", sums, target, expect=BAD)
        assert "belongs to the model being read; choose another name" in answer.stderr
    assert sums.read_bytes() == before


@pytest.mark.parametrize("name", ["a", "a.bin", "a.onnx.gz", ".onnx"])
def test_other_extensions(sums, tmp_path, name):
    answer = scanloom("convert", sums, tmp_path / name, expect=BAD)
    assert "ends in neither .onnx nor .xml" in answer.stderr


def test_places_that_cannot_be_written(sums, tmp_path):
    answer = scanloom("convert", sums, tmp_path / "no" / "a.onnx", expect=BAD)
    assert "no/a.onnx' cannot be written: No such file or directory" in answer.stderr
    (tmp_path / "folder.onnx").mkdir()
    answer = scanloom("convert", sums, tmp_path / "folder.onnx", expect=BAD)
    assert "folder.onnx' cannot be written: Is a directory" in answer.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_without_permission(sums, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    answer = scanloom("convert", sums, folder / "a.onnx", expect=BAD)
    assert "cannot be written: Permission denied" in answer.stderr


def test_models_that_are_not_there(tmp_path):
    answer = scanloom("convert", tmp_path / "none.onnx", tmp_path / "a.onnx", expect=BAD)
    assert answer.stderr.startswith("error: ") and "none.onnx" in answer.stderr



def test_states_of_loops(sums, tmp_path):
    scanloom("convert", "--stream", sums, tmp_path / "stream.onnx")
    graph = onnx.load(tmp_path / "stream.onnx").graph
    inputs, outputs = ([end.name for end in ends] for ends in (graph.input, graph.output))
    (kept,) = (name for name in inputs if name.endswith("/kept"))
    state = kept.removesuffix("/kept")
    assert state.endswith("/variable_0") and state in inputs and f"{state} (next)" in outputs


@pytest.mark.parametrize("extension", [".onnx", ".xml"])
def test_fixed_inputs(sums, tmp_path, extension):
    target = tmp_path / f"fixed{extension}"
    scanloom("convert", sums, target, "--dim", "x.0=3", "--feed", "start=ones")
    np.save(tmp_path / "x.npy", X)
    scanloom("run", target, "--feed", f"x={tmp_path / 'x.npy'}", "--out", tmp_path / "out.npz")
    assert np.load(tmp_path / "out.npz")["last"].tolist() == (X.sum(0) + 1).tolist()
    refused = scanloom("run", target, "--random", "--dim", "x.0=4", expect=BAD)
    assert "axis 0 of input 'x' is 3, not 4" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--dim", "x.0=-1"], "'-1' in 'x.0=-1' is not a size"),
     (["--dim", "m=3"], "the model has no size 'm'"),
     (["--dim", "x.1=3"], "axis 1 of input 'x' is 2, not 3"),
     (["--feed", "z=1"], "the model has no input 'z'"),
     (["--feed", "start=one"], "is not a number, zeros, ones or random")],
)  # fmt: skip
def test_fixed_inputs_that_do_not_fit(sums, tmp_path, arguments, words):
    answer = scanloom("convert", sums, tmp_path / "fixed.onnx", *arguments, expect=BAD)
    assert words in answer.stderr
    assert not (tmp_path / "fixed.onnx").exists()
