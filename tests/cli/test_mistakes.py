"""Wrong numbers, sizes and files: each is refused by name, and nothing is lost in silence."""

import json
import os
import pathlib
import signal
import subprocess
import time
import zipfile

import numpy as np
import pytest
from command_line import (
    BAD,
    DIFFERS,
    INTERRUPTED,
    LIMIT,
    PIPE_CLOSED,
    PROGRAM,
    broken_model,
    save,
    save_tensor,
    scanloom,
    sums_model,
    tensor,
)
from onnx import TensorProto, helper

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)

ELEMENT_TYPES = {
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "float16": TensorProto.FLOAT16,
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
}


@pytest.fixture
def sums(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return sums_model(tmp_path / "sums.onnx")


@pytest.fixture
def scalar(tmp_path):
    """Makes a model that passes one element on."""

    def make(type_name):
        node = helper.make_node("Identity", ["n"], ["y"])
        ends = [[tensor(name, [], ELEMENT_TYPES[type_name])] for name in "ny"]
        return save(helper.make_graph([node], "scalar", *ends), tmp_path / f"{type_name}.onnx")

    return make


@pytest.mark.parametrize(
    "type_name, text",
    [
        ("int64", "9223372036854775807"),
        ("int64", "-9223372036854775808"),
        ("int64", "9007199254740993"),
        ("int64", "1e3"),
        ("int64", "16000.0"),
        ("uint64", "18446744073709551615"),
        ("int8", "-128"),
        ("uint8", "255"),
        ("bool", "1"),
        ("float16", "-65504"),
        ("double", "1e308"),
        ("float", "inf"),
    ],
)
def test_numbers_are_fed_exactly(scalar, type_name, text):
    answer = scanloom("run", scalar(type_name), "--feed", f"n={text}", "--json")
    expected = text if text == "inf" else float(text) if "." in text or "e" in text else int(text)
    assert json.loads(answer.stdout)["outputs"]["y"]["values"] == [expected]


@pytest.mark.parametrize(
    "type_name, text, allowed",
    [
        ("int64", "9223372036854775808", "from -9223372036854775808 to 9223372036854775807"),
        ("int64", "1.5", "an integer from -9223372036854775808 to"),
        ("int64", "nan", "an integer from"),
        ("int64", "-inf", "an integer from"),
        ("int64", "1e30", "an integer from"),
        ("uint64", "18446744073709551616", "from 0 to 18446744073709551615"),
        ("uint64", "-1", "from 0 to 18446744073709551615"),
        ("int8", "128", "from -128 to 127"),
        ("uint8", "256", "from 0 to 255"),
        ("int32", "-2147483649", "from -2147483648 to 2147483647"),
        ("bool", "2", "from 0 to 1"),
        ("bool", "nan", "from 0 to 1"),
        ("float16", "65520", "from -65504 to 65504"),
        ("float", "1e39", "from -3.40282e+38 to 3.40282e+38"),
        ("double", "1e999", "from -1.79769e+308 to 1.79769e+308"),
    ],
)
def test_numbers_that_the_type_cannot_hold(scalar, type_name, text, allowed):
    answer = scanloom("run", scalar(type_name), "--feed", f"n={text}", expect=BAD)
    assert f"{text} for input 'n'" in answer.stderr and allowed in answer.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "--deadline", "nan"], "--deadline: 'nan' is not a finite number above 0"),
        (["run", "--deadline", "inf"], "--deadline: 'inf' is not a finite number above 0"),
        (["run", "--deadline", "0"], "--deadline: '0' is not a finite number above 0"),
        (["run", "--max-steps", "-1"], "--max-steps: '-1' is not a whole number from 0"),
        (["run", "--max-steps", "1.5"], "--max-steps: '1.5' is not a whole number from 0"),
        (["run", "--max-memory", "-1"], "--max-memory: '-1' is not a number of bytes from 1"),
        (["run", "--max-memory", "0"], "--max-memory: '0' is not a number of bytes from 1"),
        (["run", "--max-memory", "99999999999999999999"], "is not a number of bytes from 1"),
        (["run", "--max-memory", "9999999999GB"], "is not a number of bytes from 1"),
        (["run", "--max-memory", "12furlongs"], "is not a number of bytes from 1"),
        (["run", "--seed", "-1"], "--seed: '-1' is not a whole number from 0"),
        (["run", "--repeat", "0"], "--repeat: '0' is not a whole number from 1 to 1000000000"),
        (["run", "--threads", "0"], "--threads: '0' is not a whole number from 1 to 4096"),
        (["bench", "--threads", "1,x"], "--threads: 'x' is not a whole number from 1 to 4096"),
        (["bench", "--seconds", "nan"], "--seconds: 'nan' is not a finite number above 0"),
        (["bench", "--seconds", "0"], "--seconds: '0' is not a finite number above 0"),
        (["compare", "--rtol", "nan"], "--rtol: 'nan' is not a finite number of at least 0"),
        (["compare", "--rtol", "-5"], "--rtol: '-5' is not a finite number of at least 0"),
        (["compare", "--atol", "nan"], "--atol: 'nan' is not a finite number of at least 0"),
    ],
)
def test_values_of_options(sums, arguments, message):
    command, *options = arguments
    answer = scanloom(command, sums, *options, expect=BAD)
    assert message in answer.stderr
    assert max(map(len, answer.stderr.splitlines())) < 120


@pytest.mark.parametrize("text", ["1048576", "1024KB", "1mb", "1 MiB", "1M"])
def test_memory_with_units(sums, text):
    arguments = ["--random", "--dim", "T=1000000", "--max-memory", text]
    assert "1048576" in scanloom("run", sums, *arguments, expect=LIMIT).stderr


def test_a_command_that_does_not_exist():
    answer = scanloom("frobnicate", "model.onnx", expect=BAD)
    assert answer.stderr.startswith("error: unknown command 'frobnicate'\n")
    assert "did you mean" not in answer.stderr


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (["runn", "m.onnx"], "run"),
        (["chek", "m.onnx"], "check"),
        (["--versoin"], "--version"),
        (["run", "m.onnx", "--fed", "x=1"], "--feed"),
        (["run", "m.onnx", "--max-step=3"], "--max-steps"),
        (["run", "--randon"], "--random"),
        (["check", "m.onnx", "--jsn"], "--json"),
    ],
)
def test_names_that_are_misspelt(arguments, meant):
    answer = scanloom(*arguments, expect=BAD)
    assert f"\n  note: did you mean '{meant}'?\n" in answer.stderr


@pytest.mark.parametrize("arguments", [["run", "m.onnx", "--frobnicate"], ["run"], [], ["run", "m.onnx", "other.onnx"]])
def test_nothing_is_meant_where_nothing_is_close(arguments):
    assert "did you mean" not in scanloom(*arguments, expect=BAD).stderr


@pytest.mark.parametrize(
    "feeds",
    [
        ["x=x.npy", "x=other.npy"],
        ["x=x.npy", "x=ones"],
        ["x=1", "x=2"],
        ["both.npz", "x=x.npy"],
        ["x=x.npy", "both.npz"],
    ],
)
def test_an_input_that_is_fed_twice(sums, tmp_path, feeds):
    np.save(tmp_path / "other.npy", X)
    np.savez(tmp_path / "both.npz", x=X, start=X[0])
    arguments = [part for feed in feeds for part in ("--feed", feed)]
    answer = scanloom("run", sums, "--random", *arguments, cwd=tmp_path, expect=BAD)
    assert answer.stderr == "error: --feed: input 'x' is fed twice\n"


@pytest.mark.parametrize(
    "arguments, numbers",
    [
        (["--feed", "x=x.npy", "--dim", "T=9"], ["'T' is given as 9", "input 'x' is 3"]),
        (["--feed", "x=x.npy", "--dim", "x.0=9"], ["'x.0' is given as 9", "input 'x' is 3"]),
        (["--dim", "T=9", "--dim", "T=5"], ["'T' is given as 9 and as 5"]),
        (["--dim", "T=9", "--dim", "x.0=5"], ["'x.0' is 5", "'T', the same size, is 9"]),
    ],
)
def test_sizes_that_contradict_each_other(sums, tmp_path, arguments, numbers):
    answer = scanloom("run", sums, "--random", *arguments, cwd=tmp_path, expect=BAD)
    assert all(number in answer.stderr for number in numbers)
    assert answer.stdout == ""


def test_the_size_that_a_feed_has_may_be_given(sums, tmp_path):
    scanloom("run", sums, "--random", "--feed", "x=x.npy", "--dim", "T=3", cwd=tmp_path)


@pytest.mark.parametrize("command", ["run", "explain", "bench"])
def test_sizes_that_no_machine_holds(sums, command):
    answer = scanloom(command, sums, "--random", "--dim", "T=400000000000", expect=LIMIT)
    assert "input 'x': float32[400000000000,2] needs 3200000000000 bytes" in answer.stderr
    assert "80 percent of the memory that is left" in answer.stderr


def test_the_memory_budget_counts_feeds(sums):
    arguments = ["--random", "--dim", "T=1000", "--max-memory", "4KB"]
    answer = scanloom("run", sums, *arguments, expect=LIMIT)
    assert "input 'x': float32[1000,2] needs 8000 bytes" in answer.stderr
    assert "budget of 4096 bytes" in answer.stderr and "--max-memory" in answer.stderr


def test_a_header_that_claims_more_than_the_file_holds(sums, tmp_path):
    content = (tmp_path / "x.npy").read_bytes()
    claim = b"(300000000000, 2)"
    at, end = content.index(b"(3, 2)"), content.index(b"\n")
    header = content[:at] + claim + content[at + 6 : end - (len(claim) - 6)]
    (tmp_path / "vast.npy").write_bytes(header + content[end:])
    answer = scanloom("run", sums, "--random", "--feed", "x=vast.npy", cwd=tmp_path, expect=BAD)
    assert answer.stderr == (
        "error: vast.npy: it holds 24 bytes of data, "
        "float32[300000000000,2] needs 2400000000000\n"
    )


def test_a_tensor_file_that_claims_more_than_it_holds(sums, tmp_path):
    save_tensor(tmp_path / "x.pb", X)
    vast = helper.make_tensor("x", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    vast.dims[0] = 300000000000
    (tmp_path / "x.pb").write_bytes(vast.SerializeToString())
    answer = scanloom("run", sums, "--random", "--feed", "x=x.pb", cwd=tmp_path, expect=BAD)
    assert "x.pb: tensor 'x': it holds fewer than the 300000000000" in answer.stderr


@pytest.mark.parametrize("store", [np.savez, np.savez_compressed])
def test_a_damaged_archive_is_refused(sums, tmp_path, store):
    path = tmp_path / "in.npz"
    store(path, x=np.arange(64, dtype=np.float32).reshape(32, 2))
    with zipfile.ZipFile(path) as archive:
        (member,) = archive.infolist()
        end = archive.start_dir
    content = bytearray(path.read_bytes())
    content[end - member.compress_size // 4] ^= 1
    path.write_bytes(content)
    answer = scanloom("run", sums, "--random", "--feed", "x=in.npz", cwd=tmp_path, expect=BAD)
    assert "in.npz: " in answer.stderr
    if store is np.savez:
        assert "member 'x.npy' is damaged: its CRC-32 differs" in answer.stderr


PRINTING = [
    ["run", "--random"],
    ["run", "--random", "--json"],
    ["run", "--random", "--json", "--dim", "T=20000"],
    ["show"],
    ["show", "--json"],
    ["explain"],
    ["check"],
    ["bench", "--repeat", "1"],
    ["bench", "--repeat", "1", "--json"],
]


def ended_without_stdout(redirection, arguments):
    command = f'exec "$0" "$@" {redirection}'
    answer = subprocess.run(
        ["bash", "-c", command, str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return answer.returncode, answer.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.parametrize(
    "redirection, why",
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
def test_results_that_cannot_be_written(sums, redirection, why, arguments):
    command, *options = arguments
    status, message = ended_without_stdout(redirection, [command, sums, *options])
    assert (status, message) == (BAD, f"error: cannot write the results: {why}")


@pytest.mark.parametrize("arguments", [["run", "--random", "--json"], ["show", "--ir"]], ids=" ".join)
def test_a_pipe_that_is_closed_ends_the_program_quietly(sums, arguments):
    """The program ends like other filters: by SIGPIPE or, if the signal is ignored, as Python does
    for programs that it starts, with the status that a shell gives to that."""
    command, *options = arguments
    shell = [str(PROGRAM), command, str(sums), *options, "--dim", "T=100000"]
    for prepare, status in (("", -signal.SIGPIPE), ("trap '' PIPE; ", PIPE_CLOSED)):
        read, write = os.pipe()
        os.close(read)
        answer = subprocess.run(
            ["bash", "-c", prepare + 'exec "$0" "$@"', *shell],
            stdout=write, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
        os.close(write)
        assert (answer.returncode, answer.stderr) == (status, "")


def test_help_and_failed_checks_that_cannot_be_written(tmp_path):
    assert ended_without_stdout(">/dev/full", ["--help"])[0] == BAD
    model = broken_model(tmp_path / "broken.onnx")
    scanloom("check", model, expect=DIFFERS)
    assert ended_without_stdout(">/dev/full", ["check", model])[0] == BAD


def test_no_file_is_taken_for_stdout(sums, tmp_path):
    out = tmp_path / "y.npy"
    arguments = ["run", sums, "--random", "--output", "y", "--out", out]
    assert ended_without_stdout("<&- >&-", arguments)[0] == BAD
    assert np.load(out).shape == (1, 2)


def test_bench_prints_no_table_without_rows(sums):
    answer = scanloom("bench", sums, "--feed", "x=nothere.npy", expect=BAD)
    assert answer.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["run", "--random", "--repeat", "1000000000"], ["bench", "--seconds", "1e6"]]
)
def test_one_interrupt_ends_many_short_runs(sums, arguments):
    command, *options = arguments
    status, errors = ended_by_one_interrupt([command, sums, *options])
    assert status == INTERRUPTED
    assert errors.splitlines()[-1].startswith("error: ")


def test_one_interrupt_ends_a_comparison(sums, tmp_path):
    x = np.ones((20000, 2), np.float32)
    np.savez(tmp_path / "io.npz", x=x, start=np.zeros(2, np.float32), y=np.cumsum(x, 0))
    status, errors = ended_by_one_interrupt(["compare", sums, *["io.npz"] * 20000], tmp_path)
    assert status == INTERRUPTED and "error: " in errors


def ended_by_one_interrupt(arguments, cwd=None):
    """The exit status and what was printed to stderr."""
    process = subprocess.Popen(
        [str(PROGRAM), *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until_caught(process)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, errors


def wait_until_caught(process):
    """Waits until the program catches SIGINT."""
    status = pathlib.Path("/proc") / str(process.pid) / "status"
    for _ in range(1000):
        caught = [line for line in status.read_text().splitlines() if line.startswith("SigCgt:")]
        if caught and int(caught[0].split()[1], 16) & 1 << (signal.SIGINT - 1):
            return
        time.sleep(0.01)
    pytest.fail("the program does not catch SIGINT")
