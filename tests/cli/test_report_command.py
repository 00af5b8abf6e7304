"""scanloom report: the page, its data, and the command that it shows."""

import json
import re
import shlex

from command_line import BAD, LIMIT, PROGRAM, scanloom, sums_model


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


def test_errors(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "-o", tmp_path / "absent" / "page.html", expect=BAD)
    assert "cannot write" in answer.stderr
    answer = scanloom("report", model, "--dim", "T=100", "--max-steps", "3", expect=LIMIT)
    assert "step" in answer.stderr
    scanloom("report", model, "--runs", "1001", expect=BAD)
