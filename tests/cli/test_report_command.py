"""scanloom report: the page, its data, and the command that it shows."""

import json
import re
import shlex

import numpy as np
from command_line import BAD, LIMIT, PROGRAM, save, scanloom, sums_model, tensor
from onnx import helper


def data_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S)[1])


def test_writes_a_page(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--dim", "T=100", "-o", tmp_path / "page.html")
    assert answer.stdout == "" and "open it in a browser" in answer.stderr
    data = data_of(tmp_path / "page.html")
    assert data["title"] == "sums.onnx"
    assert data["run"]["steps"] == 100 and data["loops"][0]["measured"]["steps"] == 200
    assert str(tmp_path) not in (tmp_path / "page.html").read_text()


def test_the_file_has_a_default_name(tmp_path):
    scanloom("report", sums_model(tmp_path / "sums.onnx"), "--no-run", "--title", "Sums", cwd=tmp_path)
    data = data_of(tmp_path / "report.html")
    assert (data["title"], data["run"]) == ("Sums", None)


def test_data_go_to_stdout(tmp_path):
    answer = scanloom("report", sums_model(tmp_path / "sums.onnx"), "--json", "--runs", "0")
    data = json.loads(answer.stdout)
    assert data["schema"] == 1 and data["loops"][0]["measured"] is None


def test_a_measured_machine_gives_the_roof(tmp_path, monkeypatch):
    monkeypatch.setenv("SCANLOOM_MACHINE", str(tmp_path / "machine.txt"))
    model = sums_model(tmp_path / "sums.onnx")
    assert json.loads(scanloom("report", model, "--json").stdout)["machine"] is None
    data = json.loads(scanloom("report", model, "--json", "--calibrate").stdout)
    assert data["machine"]["operations_per_second"] > 0
    assert data["loops"][0]["work"]["least_seconds"] > 0


def test_the_command_runs(tmp_path):
    model = sums_model(tmp_path / "sums of 'rows'.onnx")
    command = json.loads(scanloom("report", model, "--json").stdout)["code"]["command"]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == PROGRAM.name
    scanloom(*words[1:], cwd=tmp_path)
    assert (tmp_path / "results.npz").exists()


def test_the_command_runs_whatever_the_names_are(tmp_path):
    nodes = [helper.make_node("Add", [name, "-x"], [f"y{i}"]) for i, name in enumerate(["=eq=1", "=eq", "a b"])]
    inputs = [tensor(name, ["T", 2]) for name in ("=eq=1", "=eq", "a b", "-x")]
    graph = helper.make_graph(nodes, "names", inputs, [tensor(f"y{i}", ["T", 2]) for i in range(3)])
    save(graph, tmp_path / "-m.onnx")
    data = json.loads(scanloom("report", "./-m.onnx", "--json", "--dim", "T=3", cwd=tmp_path).stdout)
    words = shlex.split(data["code"]["command"].replace("\\\n", " "))
    scanloom(*words[1:], cwd=tmp_path)
    with np.load(tmp_path / "results.npz") as results:
        assert {name: results[name].shape for name in results} == {f"y{i}": (3, 2) for i in range(3)}


def test_the_model_is_not_overwritten(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    before = model.read_bytes()
    (tmp_path / "link.onnx").symlink_to(model)
    for out in ("sums.onnx", "./sums.onnx", "link.onnx"):
        answer = scanloom("report", "sums.onnx", "-o", out, cwd=tmp_path, expect=BAD)
        assert f"--out: '{out}' is a file of the model" in answer.stderr
    assert model.read_bytes() == before


def test_the_page_goes_to_stdout(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--no-run", "-o", "-", cwd=tmp_path)
    assert answer.stdout.startswith("<!doctype html>") and answer.stdout.rstrip().endswith("</html>")
    assert "note" not in answer.stderr
    assert json.loads(scanloom("report", model, "--json", "-o", "-", cwd=tmp_path).stdout)["title"] == "sums.onnx"
    assert [path.name for path in tmp_path.iterdir()] == ["sums.onnx"]


def test_measurements_that_cannot_be_saved_still_give_the_roof(tmp_path, monkeypatch):
    monkeypatch.setenv("SCANLOOM_MACHINE", "/dev/null/machine.txt")
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--json", "--calibrate")
    assert "warning: the measurements of this machine are not saved: '/dev/null/machine.txt" in answer.stderr
    assert json.loads(answer.stdout)["machine"]["operations_per_second"] > 0
    answer = scanloom("bench", "--calibrate")
    assert "warning: " in answer.stderr and "GFLOP/s" in answer.stdout


def test_no_home_folder_is_created(tmp_path, monkeypatch):
    monkeypatch.delenv("SCANLOOM_MACHINE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    answer = scanloom("bench", "--calibrate")
    assert f"the home folder '{tmp_path / 'absent'}' does not exist" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_errors(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "-o", tmp_path / "absent" / "page.html", expect=BAD)
    assert "cannot write" in answer.stderr
    answer = scanloom("report", model, "--dim", "T=100", "--max-steps", "3", expect=LIMIT)
    assert "step" in answer.stderr
    scanloom("report", model, "--runs", "1001", expect=BAD)
    for given in (("--feed", "x=absent.npy"), ("--dim", "T=100")):
        answer = scanloom("report", model, "--no-run", *given, expect=BAD)
        assert f"{given[0]} excludes --no-run" in answer.stderr
