"""Names of sizes that are no identifiers, and what suggestions make of names that a shell would
execute."""

import shlex
import subprocess

import pytest
from command_line import BAD, PROGRAM, save, scanloom, tensor
from onnx import helper


def passed_on(path, size):
    node = helper.make_node("Identity", ["x"], ["y"])
    return save(helper.make_graph([node], "g", [tensor("x", [size])], [tensor("y", [size])]), path)


@pytest.mark.parametrize("name", ["batch size", "seq-len", "N+1", "a=b", '"quoted"', "back\\slash", "$(touch pwn)"])
def test_the_name_of_the_model_sets_the_size(tmp_path, name):
    model = passed_on(tmp_path / "m.onnx", name)
    assert f"[{name}]" in scanloom("show", model).stdout
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for given in (name, quoted):
        answer = scanloom("run", model, "--random", "--dim", f"{given}=3")
        assert "float32[3]" in answer.stdout and answer.stderr == ""


@pytest.mark.parametrize("name", ["$(touch pwn)", "`touch pwn`", "a'; touch pwn; '", "x\ntouch pwn", "plain"])
def test_a_suggestion_executes_nothing(tmp_path, name):
    model = passed_on(tmp_path / "m.onnx", name)
    note = scanloom("run", model, "--random").stderr
    option = note[note.index("(--dim ") + 1 : note.rindex(" sets it)")]
    command = f"{shlex.quote(str(PROGRAM))} run m.onnx --random {option.replace('=SIZE', '=3')}"
    answer = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "float32[3]" in answer.stdout, answer.stderr
    assert not (tmp_path / "pwn").exists()


def test_no_name_turns_the_direction_of_the_text(tmp_path):
    model = passed_on(tmp_path / "m.onnx", "a\u202eb\u2066c")
    for answer in (scanloom("show", model), scanloom("run", model, expect=BAD), scanloom("run", model, "--random")):
        for mark in "\u202e\u2066":
            assert mark not in answer.stdout + answer.stderr


def test_sizes_that_are_computed(tmp_path):
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    model = save(helper.make_graph([node], "g", [tensor("x", ["T"])], [tensor("y", [None])]), tmp_path / "m.onnx")
    assert "y  tensor(float) [2*T]" in scanloom("show", model).stdout
