"""Names, texts and descriptions of models that would move the cursor, colour the terminal or ring."""

import os
import pty
import re
import subprocess
import sys
import termios

import numpy as np
import onnx
import pytest
from command_line import PROGRAM, endless_model, save, scanloom, sums_model, tensor
from onnx import TensorProto, helper

HOSTILE = "x\x1b[31m\x07\r\u009b2J\ny\x7f"


@pytest.fixture
def hostile(tmp_path):
    """A model whose names and descriptions speak to terminals."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["c2" + HOSTILE]),
            helper.make_node("Add", ["v", HOSTILE], ["w"]),
        ],
        "body",
        [tensor("i", [], TensorProto.INT64), tensor("c", [], TensorProto.BOOL), tensor("v", [])],
        [tensor("c2" + HOSTILE, [], TensorProto.BOOL), tensor("w", [])],
    )
    node = helper.make_node("Loop", ["n", "", HOSTILE], ["y" + HOSTILE], name=HOSTILE, body=body)
    inputs = [
        tensor("n", [], TensorProto.INT64),
        tensor(HOSTILE, []),
        tensor("a", [HOSTILE], TensorProto.STRING),
    ]
    outputs = [tensor("y" + HOSTILE, []), tensor("b", [HOSTILE], TensorProto.STRING)]
    nodes = [node, helper.make_node("Identity", ["a"], ["b"])]
    graph = helper.make_graph(nodes, HOSTILE, inputs, outputs)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8, producer_name=HOSTILE
    )
    model.doc_string = HOSTILE
    helper.set_model_props(model, {HOSTILE: HOSTILE})
    onnx.save(model, str(tmp_path / "model.onnx"))
    np.savez(tmp_path / "a.npz", a=np.array([HOSTILE]))
    (tmp_path / "a.pb").write_bytes(
        helper.make_tensor("a", TensorProto.STRING, [1], [HOSTILE.encode() + b"\x9b"]).SerializeToString()
    )
    return tmp_path


def controls_in(text):
    return sorted({c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"})


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "model.onnx"],
        ["show", "model.onnx", "--passes"],
        ["show", "model.onnx", "--plan"],
        ["show", "model.onnx", "--nests", "--feed", "a=a.npz:a"],
        ["show", "model.onnx", "--llvm", "--jit", "--feed", "a=a.npz:a"],
        ["show", "model.onnx", "--assembly", "--jit", "--feed", "a=a.npz:a"],
        ["run", "model.onnx", "--random", "--feed", "a=a.npz:a"],
        ["run", "model.onnx", "--random", "--feed", "a=a.pb"],
        ["run", "model.onnx", "--random", "--feed", "a=a.pb", "--profile", "--no-jit"],
        ["check", "model.onnx"],
    ],
)
def test_nothing_that_is_printed_speaks_to_the_terminal(hostile, arguments):
    answer = scanloom(*arguments, cwd=hostile)
    assert controls_in(answer.stdout) == []
    assert controls_in(answer.stderr) == []
    if arguments[0] == "show" and len(arguments) == 2:
        assert "x?[31m???2J?y?" in answer.stdout


@pytest.mark.parametrize(
    "command",
    ["explain", "show", "show --ir", "show --passes", "show --plan", "show --plan --random", "show --nests"],
)
def test_a_line_feed_in_a_name_begins_no_line(command, tmp_path):
    name = "x\nstrategy"
    body = helper.make_graph(
        [helper.make_node("Add", [f"state {name}", "row"], [f"next {name}"], name=f"add {name}")],
        f"body {name}",
        [tensor(f"state {name}", [2]), tensor("row", [2])],
        [tensor(f"next {name}", [2])],
    )
    nodes = [
        helper.make_node("Scan", ["start", name], ["last"], name=f"scan {name}", num_scan_inputs=1, body=body),
        helper.make_node("Relu", ["last"], [f"y {name}"], name=f"relu {name}"),
    ]
    inputs = [tensor("start", [2]), tensor(name, [f"T {name}", 2])]
    save(helper.make_graph(nodes, name, inputs, [tensor(f"y {name}", [2])]), tmp_path / "model.onnx")
    subcommand, *options = command.split()
    lines = scanloom(subcommand, tmp_path / "model.onnx", *options).stdout.splitlines()
    assert len(lines) > 1
    assert [line for line in lines if line.startswith("strategy")] == []


def on_a_terminal(arguments, cwd, columns=0):
    """What a command draws on a terminal that is its stderr."""
    try:
        ours, theirs = pty.openpty()
    except OSError as reason:
        pytest.skip(f"no terminal to draw on: {reason}")
    termios.tcsetwinsize(theirs, (24, columns))
    subprocess.run(
        [str(PROGRAM), *arguments],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    return drawn.decode(errors=sys.getfilesystemencodeerrors())


def lines_of(drawn):
    """The lines, one drawn in place of the other."""
    return [line for line in drawn.split("\r\x1b[K") if line]


def lines_of_longer_work(arguments, sizes, cwd, drawn, columns=0):
    """The lines of the first size that takes this machine long enough to draw what `drawn` finds."""
    for size in sizes:
        lines = lines_of(on_a_terminal([argument.format(size) for argument in arguments], cwd, columns))
        if drawn(lines):
            return lines
    raise AssertionError(f"not drawn even with a size of {sizes[-1]}: {lines}")


def test_progress_speaks_to_the_terminal_alone(hostile):
    arguments = ["run", "model.onnx", "--feed", "n=1000000000000", "--deadline", "0.6", "--no-jit"]
    names = [f"{HOSTILE}=0", "a=a.npz:a"]
    feeds = [part for name in names for part in ("--feed", name)]
    text = on_a_terminal([*arguments, *feeds], hostile)
    assert "steps" in text
    assert controls_in(text.replace("\r\x1b[K", "").replace("\r\n", "\n")) == []


def has_steps(lines):
    return any("steps" in line for line in lines)


def test_progress_fits_the_terminal(tmp_path):
    """A line that is longer than the terminal is wide would be wrapped, and its first part stay."""
    endless_model(tmp_path / "endless.onnx")
    arguments = ["run", "endless.onnx", "--deadline", "{}", "--no-jit"]
    whole, cut = (
        next(line for line in lines_of_longer_work(arguments, [0.6, 3, 15], tmp_path, has_steps, columns)
             if "steps" in line) for columns in (0, 30)
    )  # fmt: skip
    assert len(whole) > 40 and "..." not in whole
    assert len(cut) == 29 and cut.startswith("node 'en") and "..." in cut and cut.endswith("steps")


@pytest.fixture
def product(tmp_path):
    """A product of matrices, which takes long where it is interpreted: a model without any loop."""
    node = helper.make_node("MatMul", ["x", "x"], ["y"])
    graph = helper.make_graph([node], "product", [tensor("x", ["n", "n"])], [tensor("y", ["n", "n"])])
    save(graph, tmp_path / "product.onnx")
    return tmp_path


def test_repeated_runs_show_the_time_left(tmp_path):
    sums_model(tmp_path / "sums.onnx")
    arguments = ["bench", "sums.onnx", "--dim", "T=1000", "--seconds", "1.5", "--interpret"]
    lines = lines_of(on_a_terminal(arguments, tmp_path))
    assert any(re.fullmatch(r"run \d+, [12] s left", line) for line in lines), lines
    arguments = ["run", "sums.onnx", "--random", "--dim", "T={}", "--repeat", "10", "--interpret"]
    within = r"node 'sums' \(Scan-16\)  +\d+%  \d+ of \d+ steps, run \d+ of 10, \d.* s left"
    lines_of_longer_work(
        arguments,
        [20_000, 100_000, 500_000, 2_500_000],
        tmp_path,
        lambda lines: any(re.fullmatch(within, line) for line in lines),
    )


def test_work_without_a_known_end_shows_how_long_it_takes(product):
    arguments = ["run", "product.onnx", "--random", "--dim", "n={}", "--interpret"]
    lines = lines_of_longer_work(
        arguments, [900, 1_350, 2_000, 3_000], product, lambda lines: "running product.onnx, 1 s" in lines
    )
    assert lines[-1].startswith("running product.onnx, ")  # and nothing is left of it


@pytest.mark.parametrize("command", ["bench sums.onnx --seconds 1.2", "run sums.onnx --random --repeat 3",
                                     "convert sums.onnx other.onnx"])  # fmt: skip
def test_nothing_is_drawn_elsewhere(command, tmp_path):
    sums_model(tmp_path / "sums.onnx")
    answer = scanloom(*command.split(), cwd=tmp_path)
    assert "\x1b" not in answer.stderr + answer.stdout and "left" not in answer.stderr
