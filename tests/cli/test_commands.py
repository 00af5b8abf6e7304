import json

import numpy as np
import pytest
from command_line import (
    BAD,
    DIFFERS,
    VERSION,
    broken_model,
    save_tensor,
    scanloom,
    sums_model,
)

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
START = np.zeros(2, np.float32)
COMMANDS = ["run", "show", "explain", "check", "bench", "compare", "convert"]


@pytest.fixture
def sums(tmp_path):
    return sums_model(tmp_path / "sums.onnx")


def test_help_and_version():
    answer = scanloom("--help").stdout
    assert all(f"  {command} " in answer for command in COMMANDS)
    assert "Exit status" in answer
    assert scanloom("--version").stdout.strip() == VERSION


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(command):
    assert f"Example: scanloom {command} " in scanloom(command, "--help").stdout


@pytest.mark.parametrize("arguments", [(), ("frobnicate",)])
def test_wrong_use(arguments):
    answer = scanloom(*arguments, expect=BAD)
    assert answer.stderr.startswith("error: ")
    assert "scanloom --help" in answer.stderr


def test_show_tells_the_interface(sums):
    answer = scanloom("show", sums).stdout
    assert "x      tensor(float) [T, 2]" in answer
    assert "last  tensor(float) [2]" in answer
    assert "loop 1" in answer


def test_show_gives_the_interface_to_programs(sums):
    shown = json.loads(scanloom("show", sums, "--json").stdout)
    assert shown["inputs"][1] == {"name": "x", "type": "tensor(float)", "shape": ["T", 2]}
    assert [output["name"] for output in shown["outputs"]] == ["last", "y"]
    assert (shown["graph"], shown["operators"]["loop"], shown["metadata"]) == ("sums", 1, {})
    answer = scanloom("show", sums, "--json", "--plan", expect=BAD)
    assert "--json" in answer.stderr


def test_show_lists_the_states(sums, tmp_path):
    """The states of ReadValue and Assign are listed: a sum that continues from run to run."""
    layers = (
        ("x", "Parameter", 'shape="?,2" element_type="f32"', 0),
        ("total", "ReadValue", 'variable_id="total" variable_type="f32" variable_shape="?,2"', 0),
        ("sum", "Add", 'auto_broadcast="numpy"', 2),
        ("keep", "Assign", 'variable_id="total" variable_type="f32" variable_shape="?,2"', 1),
        ("y", "Result", "", 1),
    )
    text = '<net name="m" version="11"><layers>'
    for at, (name, kind, data, inputs) in enumerate(layers):
        ports = "".join(f'<port id="{i}"/>' for i in range(inputs))
        output = "" if kind == "Result" else f'<output><port id="{inputs}" precision="FP32"/></output>'
        text += (f'<layer id="{at}" name="{name}" type="{kind}" version="opset6"><data {data}/>'
                 f"<input>{ports}</input>{output}</layer>")  # fmt: skip
    text += "</layers><edges>"
    for maker, port, reader, to in ((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (2, 2, 4, 0)):
        text += f'<edge from-layer="{maker}" from-port="{port}" to-layer="{reader}" to-port="{to}"/>'
    model = tmp_path / "m.xml"
    model.write_text(text + "</edges></net>")
    assert "states\n  total  tensor(float) [?, 2]\n" in scanloom("show", model).stdout
    (state,) = json.loads(scanloom("show", model, "--json").stdout)["states"]
    assert state == {"name": "total", "type": "tensor(float)", "shape": [None, 2]}
    assert json.loads(scanloom("show", sums, "--json").stdout)["states"] == []
    assert "states" not in scanloom("show", sums).stdout


def test_show_explains_the_plan(sums):
    answer = scanloom("show", sums, "--plan", "--dim", "T=7").stdout
    assert "strategy" in answer and "7 steps" in answer


def test_show_prints_the_program_and_the_plan(sums):
    assert "loop" in scanloom("show", sums, "--ir").stdout
    passes = scanloom("show", sums, "--passes").stdout
    before, what, after = (passes.index(f"// {part}") for part in ("before passes", "passes\n", "after passes"))
    assert before < what < after
    assert "// round 1: " in passes[what:after] and "// nothing to do for " in passes[what:after]
    assert "loop" in passes[before:what] and "loop" in passes[after:]
    assert scanloom("show", sums, "--plan").stdout
    bound = scanloom("show", sums, "--plan", "--dim", "T=7").stdout
    assert "7" in bound and bound != scanloom("show", sums, "--plan").stdout


def test_show_prints_what_each_pass_did(sums):
    """In order, with counts, the loop that changed, and the lines that went and came."""
    passes = scanloom("show", sums, "--passes").stdout
    assert "  in node 'sums' (Scan-16)\n- %" in passes
    steps = [line for line in passes.splitlines() if line.startswith("// round ")]
    assert all(" from " in line and " node" in line and " to " in line for line in steps)
    assert steps == sorted(steps, key=lambda line: int(line.split()[2].rstrip(":")))
    first = steps[0].split()[3].rstrip(":")
    assert any(line.startswith(f"//   {first} ") and "changed something" in line for line in passes.splitlines())
    without = scanloom("show", sums, "--passes", "--disable-pass", first).stdout
    assert f": {first}: " not in without
    assert "no passes" in scanloom("show", sums, "--passes", "--no-passes").stdout


def test_show_prints_loop_nests_before_and_after_their_passes(sums):
    nests = scanloom("show", sums, "--nests", "--dim", "T=7").stdout
    assert nests.startswith("// node 'sums' (Scan-16): ")
    before, after, idle = (
        nests.index(f"\n// {part}") for part in ("before passes\nbody ", "after ", "nothing to do for ")
    )
    assert before < after < idle
    assert "no loop nests" in scanloom("show", sums, "--nests", "--no-jit").stdout
    assert "as a whole" in scanloom("show", sums, "--nests", "--dim", "T=7", "--jit").stdout
    assert "loop" in scanloom("show", sums, "--ir", "--plan", "--nests").stdout


def test_show_prints_the_code_of_loops(sums):
    command = ("show", sums, "--dim", "T=7")
    llvm = scanloom(*command, "--llvm").stdout
    assert llvm.startswith("; node 'sums' (Scan-16): stepped: ")
    assert "\ndefine i64 @scanloom_" in llvm
    compiled = scanloom(*command, "--llvm", "--jit").stdout
    assert compiled.startswith("; node 'sums' (Scan-16): compiled ")
    unoptimized = scanloom(*command, "--llvm-unoptimized", "--jit").stdout
    assert "\ndefine i64 @scanloom_" in unoptimized
    assembly = scanloom(*command, "--assembly", "--jit").stdout
    assert assembly.startswith("# node 'sums' (Scan-16): compiled ") and "\nscanloom_" in assembly
    assert "?" not in assembly
    assert scanloom(*command, "--llvm", "--no-jit").stdout == "; no code: compilation is disabled\n"
    assert scanloom(*command, "--assembly", "--no-jit").stdout == "# no code: compilation is disabled\n"


def test_explain_names_the_loop_and_its_strategy(sums):
    answer = scanloom("explain", sums, "--dim", "T=3").stdout
    assert "'sums' (Scan-16)" in answer
    assert "3 steps" in answer


def test_check_of_a_good_model(sums):
    assert scanloom("check", sums).stdout.endswith("sums.onnx: fine\n")
    assert json.loads(scanloom("check", sums, "--json").stdout)["fine"] is True


def test_check_tells_where_a_truncated_file_stops_making_sense(sums, tmp_path):
    whole, cut = sums.read_bytes(), tmp_path / "cut.onnx"
    cut.write_bytes(whole[:-20])
    text = scanloom("check", cut, expect=DIFFERS).stderr
    assert "malformed bytes in a ModelProto, at byte " in text
    assert f" of its {len(whole) - 20}: field " in text and " are left" in text


@pytest.mark.parametrize("command", [["check"], ["show"], ["explain"], ["run", "--random"]])
def test_a_web_page_is_told_as_such(command, tmp_path):
    page = tmp_path / "net.onnx"
    page.write_text("<!DOCTYPE html><html><title>Sign in</title></html>")
    text = scanloom(command[0], page, *command[1:], expect=DIFFERS if command[0] == "check" else BAD).stderr
    assert "'net.onnx' is a web page (HTML) with the title 'Sign in', not a model: download" in text


def test_an_unknown_pass_is_answered_with_those_there_are(sums):
    text = scanloom("explain", sums, "--disable-pass", "inlining", expect=BAD).stderr
    assert "unknown pass 'inlining'\n" in text and "unroll_short_loop, " in text
    text = scanloom("explain", sums, "--disable-pass", "unrol_short_loops", expect=BAD).stderr
    assert "'unrol_short_loops'; did you mean 'unroll_short_loop'?" in text


def test_check_names_everything_at_once(tmp_path):
    model = broken_model(tmp_path / "broken.onnx")
    answer = scanloom("check", model, expect=DIFFERS)
    assert "Frobnicate" in answer.stderr and "'lonely'" in answer.stderr
    assert answer.stdout.endswith("broken.onnx: 2 errors\n")
    report = json.loads(scanloom("check", model, "--json", expect=DIFFERS).stdout)
    assert report["fine"] is False and len(report["errors"]) == 2
    assert "Frobnicate" in scanloom("run", model, expect=BAD).stderr
    scanloom("check", tmp_path / "nothere.onnx", expect=BAD)


def test_bench_counts_runs_and_steps(sums):
    answer = scanloom(
        "bench", sums, "--dim", "T=100", "--threads", "1,2", "--repeat", "5", "--json"
    )
    rows = json.loads(answer.stdout)
    assert [row["threads"] for row in rows] == [1, 2]
    for row in rows:
        assert (row["runs"], row["steps"]) == (5, 100)
        assert 0 < row["min_seconds"] <= row["median_seconds"] <= row["p95_seconds"]
        assert row["p95_seconds"] <= row["p99_seconds"]
    assert "per step" in scanloom("bench", sums, "--repeat", "2").stdout


def write_data_sets(folder, expected):
    save_tensor(folder / "test_data_set_0" / "input_0.pb", START)
    save_tensor(folder / "test_data_set_0" / "input_1.pb", X)
    save_tensor(folder / "test_data_set_0" / "output_0.pb", expected[-1])
    save_tensor(folder / "test_data_set_0" / "output_1.pb", expected)


def test_compare_with_the_folders_of_onnx(sums, tmp_path):
    write_data_sets(tmp_path, np.cumsum(X, 0))
    assert "2 of 2 outputs are as expected" in scanloom("compare", tmp_path).stdout
    assert "2 of 2" in scanloom("compare", sums).stdout


def test_compare_finds_what_differs(tmp_path):
    sums_model(tmp_path / "model.onnx")
    expected = np.cumsum(X, 0)
    expected[1, 1] += 0.5
    write_data_sets(tmp_path, expected)
    answer = scanloom("compare", tmp_path, expect=DIFFERS).stdout
    assert "1 of 6 elements differ; at [1,1] it is 6, expected is 6.5" in answer
    assert "1 of 2 outputs are as expected" in answer
    scanloom("compare", tmp_path, "--atol", "0.6")
    rows = json.loads(scanloom("compare", tmp_path, "--json", expect=DIFFERS).stdout)
    assert [(row["output"], row["same"]) for row in rows] == [("last", True), ("y", False)]
    assert rows[1]["largest_difference"] == 0.5


def test_compare_with_archives(sums, tmp_path):
    np.savez(tmp_path / "io.npz", x=X, start=START, y=np.cumsum(X, 0))
    assert "1 of 1" in scanloom("compare", sums, tmp_path / "io.npz").stdout
    np.savez(tmp_path / "io.npz", x=X, start=START, y=np.cumsum(X, 0).astype(np.float64))
    answer = scanloom("compare", sums, tmp_path / "io.npz", expect=DIFFERS).stdout
    assert "expected is float64[3,2]" in answer
    np.savez(tmp_path / "io.npz", x=X, start=START, z=X)
    answer = scanloom("compare", sums, tmp_path / "io.npz", expect=BAD)
    assert "'z' is neither an input nor an output" in answer.stderr


def test_compare_without_anything_to_compare(sums, tmp_path):
    assert "nothing to compare" in scanloom("compare", sums, expect=BAD).stderr
    (tmp_path / "empty").mkdir()
    assert "holds 0 .onnx files" in scanloom("compare", tmp_path / "empty", expect=BAD).stderr


@pytest.mark.parametrize("variable", ["SCANLOOM_ISA", "SCANLOOM_THREADS"])
def test_variables_that_mean_nothing_are_told(sums, variable, monkeypatch):
    monkeypatch.setenv(variable, "nonsense")
    assert f"warning: {variable} is no" in scanloom("show", sums).stderr
    monkeypatch.setenv(variable, "")
    assert "warning" not in scanloom("show", sums).stderr
