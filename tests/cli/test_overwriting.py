"""What a command writes never replaces what it reads, by whatever path or link."""

import os

import numpy as np
import onnx
import pytest
from command_line import BAD, scanloom, sums_model

FEEDS = {"start": np.zeros(2, np.float32), "x": np.ones((3, 2), np.float32)}


@pytest.fixture
def folder(tmp_path):
    """A model with its weights in a file, and a file of every kind that --feed reads."""
    sums_model(tmp_path / "sums.onnx")
    for name, array in FEEDS.items():
        np.save(tmp_path / f"{name}.npy", array)
        value = onnx.numpy_helper.from_array(array, name)
        (tmp_path / f"{name}.pb").write_bytes(value.SerializeToString())
    np.savez(tmp_path / "all.npz", **FEEDS)
    (tmp_path / "link.npy").symlink_to("x.npy")
    os.link(tmp_path / "x.npy", tmp_path / "hard.npy")
    (tmp_path / "folder.npy=").mkdir()
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "feeds, out",
    [
        (["start=zeros", "x=x.npy"], "x.npy"),
        (["start=start.npy", "x=x.npy"], "./start.npy"),
        (["start=zeros", "x=x.npy"], "folder.npy=/../x.npy"),
        (["start=zeros", "x=x.npy"], "link.npy"),
        (["start=zeros", "x=link.npy"], "x.npy"),
        (["start=zeros", "x=x.npy"], "hard.npy"),
        (["all.npz"], "all.npz"),
        (["start=zeros", "x=all.npz"], "all.npz"),
        (["start=zeros", "x=all.npz:x"], "all.npz"),
    ],
)
def test_results_do_not_replace_a_feed(folder, feeds, out):
    before = contents(folder)
    options = [word for feed in feeds for word in ("--feed", feed)]
    answer = scanloom("run", "sums.onnx", *options, "--output", "y", "--out", out, cwd=folder, expect=BAD)
    assert f"--out: '{out}' is a file of a feed" in answer.stderr
    assert "it would be overwritten; choose another name" in answer.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("out", ["sums.onnx", "all.npz", "x.pb"])
def test_neither_a_page_nor_a_trace_replaces_what_is_read(folder, out):
    before = contents(folder)
    feeds = ["--feed", "start=all.npz", "--feed", "x=x.pb"]
    whose = "the model" if out == "sums.onnx" else "a feed"
    answer = scanloom("report", "sums.onnx", *feeds, "-o", out, cwd=folder, expect=BAD)
    assert f"--out: '{out}' is a file of {whose}" in answer.stderr
    answer = scanloom("run", "sums.onnx", *feeds, "--trace", out, cwd=folder, expect=BAD)
    assert f"--trace: '{out}' is a file of {whose}" in answer.stderr
    assert contents(folder) == before


def test_results_and_trace_are_two_files(folder):
    answer = scanloom("run", "sums.onnx", "--feed", "all.npz", "--out", "new.npz", "--trace", "./new.npz",
                      cwd=folder, expect=BAD)  # fmt: skip
    assert "--trace: './new.npz' is the file of --out, too" in answer.stderr
    assert not (folder / "new.npz").exists()


def test_files_of_weights_are_kept(folder):
    model = onnx.load(folder / "sums.onnx")
    weights = onnx.numpy_helper.from_array(np.ones((3, 2), np.float32), "x")
    model.graph.initializer.append(weights)
    del model.graph.input[1]
    onnx.save(model, folder / "big.onnx", save_as_external_data=True, location="w.npz", size_threshold=0)
    before = contents(folder)
    run = ("run", "big.onnx", "--feed", "start=zeros")
    answer = scanloom(*run, "--out", "w.npz", cwd=folder, expect=BAD)
    assert "--out: 'w.npz' is a file of the model" in answer.stderr
    answer = scanloom("report", "big.onnx", "--no-run", "-o", "w.npz", cwd=folder, expect=BAD)
    assert "--out: 'w.npz' is a file of the model" in answer.stderr
    assert contents(folder) == before
    scanloom(*run, "--out", "new.npz", cwd=folder)
    assert (folder / "new.npz").exists()


def test_a_converted_model_does_not_replace_a_fixed_input(folder):
    (folder / "new.onnx").symlink_to("x.npy")
    answer = scanloom("convert", "sums.onnx", "new.onnx", "--feed", "x=x.npy", cwd=folder, expect=BAD)
    assert "to: 'new.onnx' is a file of a feed" in answer.stderr
    assert np.array_equal(np.load(folder / "x.npy"), FEEDS["x"])


def test_results_may_replace_earlier_ones(folder):
    for _ in range(2):
        scanloom("run", "sums.onnx", "--feed", "all.npz", "--out", "new.npz", cwd=folder)
    with np.load(folder / "new.npz") as results:
        assert results["y"].tolist() == [[1, 1], [2, 2], [3, 3]]
