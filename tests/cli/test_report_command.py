"""scanloom report: the page, its data, and the command that it shows."""

import json
import re
import resource
import shlex
import signal
import subprocess

import numpy as np
from command_line import BAD, FINE, LIMIT, PROGRAM, save, scanloom, sums_model, tensor
from onnx import helper


def data_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S)[1])


def test_writes_a_page(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--dim", "T=100", "-o", tmp_path / "page.html")
    assert answer.stdout == "" and "open it in a browser" in answer.stderr
    data = data_of(tmp_path / "page.html")
    assert data["title"] == "sums.onnx"
    assert data["run"]["steps"] == 100 and data["loops"][0]["measured"]["steps"] == 100
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


def test_times_per_step_are_those_of_the_fastest_run(tmp_path):
    """The first run binds, compiles and touches memory: it is no part of them."""
    data = json.loads(scanloom("report", sums_model(tmp_path / "sums.onnx"), "--json", "--dim", "T=100").stdout)
    measured = data["loops"][0]["measured"]
    assert measured["steps"] * measured["seconds_per_step"] <= data["run"]["fastest_seconds"]


def test_data_are_written_to_a_file_of_json(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    for name in ("data.json", "data.JSON"):
        scanloom("report", model, "--no-run", "-o", tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["title"] == "sums.onnx"


def test_what_is_made_up_is_told(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--json", "--feed", "start=[1, 2]")
    assert json.loads(answer.stdout)["made_up"] == {"values": ["x"], "sizes": ["T"]}
    assert "random numbers were fed to 'x'; --feed x=... gives the values" in answer.stderr
    assert "the size 1 was taken for 'T'; --dim T=SIZE sets it" in answer.stderr
    answer = scanloom("report", model, "--json", "--random", "--dim", "T=1", "--feed", "x=0", "--feed", "start=1")
    assert "made_up" not in json.loads(answer.stdout) and "random" not in answer.stderr


def test_small_feeds_are_in_the_programs(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    data = json.loads(scanloom("report", model, "--json", "--feed", "start=[16000, 0.5]", "--feed", "x=0").stdout)
    assert "numpy.array([16000, 0.5], numpy.float32)" in data["code"]["python"]
    assert "const float input0[] = {16000.0, 0.5};" in data["code"]["cpp"]
    assert "--feed 'start=[16000, 0.5]'" in data["code"]["command"]
    words = shlex.split(data["code"]["command"].replace("\\\n", " "))
    scanloom(*words[1:], cwd=tmp_path)
    with np.load(tmp_path / "results.npz") as results:
        assert results["last"].tolist() == [16000, 0.5]


def without_space(*arguments, expect=BAD):
    """Runs the program where files may have no bytes, as on a full disk."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    answer = subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                            timeout=120, preexec_fn=limit, stdin=subprocess.DEVNULL)
    assert answer.returncode == expect, answer.stderr
    return answer


def test_a_full_disk_leaves_the_old_file(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    for command, name in (("report --no-run -o", "page.html"), ("run --random --out", "y.npz"),
                          ("run --random --trace", "trace.json")):
        (tmp_path / name).write_text("old")
        answer = without_space(*command.split(), tmp_path / name, model)
        assert f"cannot write {tmp_path / name}: File too large" in answer.stderr
        assert (tmp_path / name).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "sums.onnx", "trace.json", "y.npz"]


def test_files_are_replaced_where_they_are(tmp_path):
    """Links lead to the new file, permissions stay, and pipes are written into."""
    model = sums_model(tmp_path / "sums.onnx")
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "page.html").chmod(0o640)
    (tmp_path / "link.html").symlink_to("page.html")
    (tmp_path / "dangling.html").symlink_to("new.html")
    scanloom("report", model, "--no-run", "-o", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink() and (tmp_path / "page.html").read_text().startswith("<!doctype")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640
    scanloom("report", model, "--no-run", "-o", tmp_path / "dangling.html")
    assert (tmp_path / "dangling.html").is_symlink() and (tmp_path / "new.html").exists()
    scanloom("report", model, "--no-run", "-o", "/dev/null", expect=FINE)


def test_outputs_are_checked_before_the_run(tmp_path):
    absent = tmp_path / "absent"
    for arguments in (["report", "-o", absent / "x.html"], ["run", "--out", absent / "x.npz"],
                      ["run", "--trace", absent / "x.json"], ["report", "-o", tmp_path]):
        answer = scanloom(arguments[0], "no such model", *arguments[1:], expect=BAD)
        option = "--out" if arguments[1] == "-o" else arguments[1]
        assert f"{option}: cannot write {arguments[2]}: " in answer.stderr


def test_a_note_about_feeds_only_where_it_helps(tmp_path):
    model = sums_model(tmp_path / "sums.onnx")
    answer = scanloom("report", model, "--dim", "T=100", "--max-steps", "3", expect=LIMIT)
    assert "--no-run" not in answer.stderr
