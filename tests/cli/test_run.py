import json
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from command_line import (
    BAD,
    FINE,
    INTERRUPTED,
    LIMIT,
    PROGRAM,
    endless_model,
    product_model,
    save_tensor,
    scanloom,
    softmax_model,
    sums_model,
    typed_model,
)

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


@pytest.fixture
def sums(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return sums_model(tmp_path / "sums.onnx")


def run_json(*arguments, **options):
    return json.loads(scanloom("run", *arguments, "--json", **options).stdout)


def test_prints_results_for_people(sums, tmp_path):
    answer = scanloom("run", sums, "--feed", "x=x.npy", "--feed", "start=0.5", cwd=tmp_path)
    assert answer.stderr == ""
    lines = answer.stdout.splitlines()
    assert lines[0].split() == ["last", "float32[2]", "9.5", "12.5"]
    assert lines[1].split()[:3] == ["y", "float32[3,2]", "1.5"]
    assert "1 run in" in lines[2] and "1 loop, 3 steps" in lines[2]


def test_large_results_are_shortened(sums):
    answer = scanloom("run", sums, "--feed", "x=ones", "--feed", "start=zeros", "--dim", "T=50")
    assert answer.stdout.splitlines()[1].split() == [
        "y", "float32[50,2]", "1", "1", "2", "2", "3", "3", "..."
    ]  # fmt: skip


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_feeds_from_archives(sums, tmp_path, save):
    save(tmp_path / "in.npz", x=X, start=np.float32([1, 1]), other=X)
    out = run_json(sums, "--feed", "x=in.npz:x", "--feed", "start=in.npz", cwd=tmp_path)
    assert out["outputs"]["last"] == {"type": "float32", "shape": [2], "values": [10, 13]}
    save(tmp_path / "all.npz", x=X, start=np.float32([1, 1]))
    assert run_json(sums, "--feed", "all.npz", cwd=tmp_path)["outputs"] == out["outputs"]


def test_feeds_from_tensor_files(sums, tmp_path):
    save_tensor(tmp_path / "x.pb", X)
    out = run_json(sums, "--feed", "x=x.pb", "--feed", "start=ones", cwd=tmp_path)
    assert out["outputs"]["last"]["values"] == [10, 13]


def test_feeds_in_fortran_order(sums, tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    out = run_json(sums, "--feed", "x=f.npy", "--feed", "start=zeros", cwd=tmp_path)
    assert out["outputs"]["y"]["values"] == [1, 2, 4, 6, 9, 12]


def test_results_go_to_numpy_files(sums, tmp_path):
    feeds = ["--feed", "x=x.npy", "--feed", "start=zeros"]
    scanloom("run", sums, *feeds, "--out", "out.npz", cwd=tmp_path)
    with np.load(tmp_path / "out.npz") as out:
        assert sorted(out) == ["last", "y"]
        np.testing.assert_array_equal(out["y"], np.cumsum(X, 0))
        assert out["y"].dtype == np.float32
    scanloom("run", sums, *feeds, "--output", "y", "--out", "y.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.cumsum(X, 0))
    answer = scanloom("run", sums, *feeds, "--out", "y.npy", cwd=tmp_path, expect=BAD)
    assert "a .npy file holds one result, there are 2" in answer.stderr


def test_element_types_pass_through(tmp_path):
    model = typed_model(tmp_path / "typed.onnx")
    feeds = {
        "half": np.float16([1.5, -2, 6e-8]),
        "double": np.array([0.1, np.inf, np.nan]),
        "byte": np.uint8([0, 255, 7]),
        "long": np.int64([-(2**63), 2**63 - 1, 0]),
        "truth": np.array([True, False, True]),
    }
    np.savez(tmp_path / "in.npz", **feeds)
    scanloom("run", model, "--feed", "in.npz", "--out", "out.npz", cwd=tmp_path)
    with np.load(tmp_path / "out.npz") as out:
        for name, array in feeds.items():
            np.testing.assert_array_equal(out[name + "_out"], array)
            assert out[name + "_out"].dtype == array.dtype
    out = run_json(model, "--feed", "in.npz", cwd=tmp_path)["outputs"]
    assert out["long_out"]["values"] == feeds["long"].tolist()
    assert out["double_out"]["values"] == [0.1, "inf", "nan"]
    assert out["truth_out"]["values"] == [True, False, True]


def test_numbers_are_rounded_to_the_type(tmp_path):
    model = typed_model(tmp_path / "typed.onnx")
    numbers = ["half=65504.1", "double=0.1", "byte=200", "long=-3", "truth=1"]
    feeds = [part for number in numbers for part in ("--feed", number)]
    out = run_json(model, *feeds, "--dim", "N=1")["outputs"]
    assert [out[name + "_out"]["values"][0] for name in ("half", "double", "byte", "long")] == [
        65504, 0.1, 200, -3
    ]  # fmt: skip


def test_random_feeds_follow_the_seed(sums):
    one = run_json(sums, "--random", "--dim", "T=4", "--seed", 1)["outputs"]
    assert one == run_json(sums, "--random", "--dim", "T=4", "--seed", 1)["outputs"]
    assert one != run_json(sums, "--random", "--dim", "T=4", "--seed", 2)["outputs"]


def test_every_way_to_execute_agrees(sums):
    feeds = ["--random", "--dim", "T=1000"]
    ways = [[], ["--no-jit"], ["--interpret"], ["--no-passes"], ["--threads", "1"]]
    outputs = [run_json(sums, *feeds, *way)["outputs"] for way in ways]
    assert all(output == outputs[0] for output in outputs)


def test_unknown_sizes_are_one_and_said_so(sums):
    answer = scanloom("run", sums, "--random")
    assert "note: axis 0 of input 'x' is taken as 1 (--dim T=SIZE sets it)" in answer.stderr


def test_a_trace_asks_for_a_profile(sums, tmp_path):
    scanloom("run", sums, "--random", "--dim", "T=5", "--trace", "own.json", cwd=tmp_path)
    assert json.loads((tmp_path / "own.json").read_text())["traceEvents"]


def test_results_are_named_once(sums):
    answer = scanloom(
        "run", sums, "--random", "--dim", "T=5", "--output", "last", "--output", "last", expect=BAD
    )
    assert "'last' is named twice" in answer.stderr


def test_profile_and_trace(sums, tmp_path):
    answer = scanloom(
        "run", sums, "--random", "--dim", "T=500", "--no-jit", "--profile", cwd=tmp_path
    )
    assert "share     calls  node" in answer.stdout
    assert "'sums' (Scan-16)" in answer.stdout
    trace = json.loads((tmp_path / "scanloom-trace.json").read_text())
    assert any("sums" in event["name"] for event in trace["traceEvents"])
    assert all(event["ph"] == "X" for event in trace["traceEvents"])


def test_nodes_in_machine_code_are_timed(tmp_path):
    model = product_model(tmp_path / "product.onnx")
    answer = scanloom(
        "run", model, "--random", "--dim", "T=3000", "--jit", "--repeat", 20, "--profile", "--trace",
        "trace.json", cwd=tmp_path,
    )
    assert "(compiled per step)" in answer.stdout
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    code = [event for event in trace if event["cat"] == "machine code"]
    names = " ".join(event["name"] for event in code)
    for node in ("times", "bent"):
        assert f"'{node}'" in names
    assert all(event["args"]["calls"] == 2999 for event in code)
    (loop,) = (event for event in trace if event["cat"] == "compiled per step")
    assert sum(event["dur"] for event in code) <= loop["dur"] * 1.01
    assert any(event["name"] == "of these: reading the clock" for event in trace)


def test_profile_names_the_parts_of_a_node(tmp_path):
    model = softmax_model(tmp_path / "softmax.onnx")
    answer = scanloom("run", model, "--random", "--repeat", 20, "--profile", cwd=tmp_path)
    assert "'columns' (Softmax-13) (exp by pointwise)" in answer.stdout
    for kind in ("max", "sum"):
        assert f"'columns' (Softmax-13) ({kind} by reduce)" in answer.stdout


def test_profile_names_the_last_node_of_a_group(tmp_path):
    model = softmax_model(tmp_path / "softmax.onnx")
    answer = scanloom("run", model, "--random", "--repeat", 20, "--profile", cwd=tmp_path)
    assert "'minus' (Neg-13) (rows)" in answer.stdout
    for name in ("squared", "rows"):
        assert f"'{name}'" not in answer.stdout


def test_profile_names_the_parts_of_a_node_in_machine_code(tmp_path):
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(1, 300, 40)), "r": rng.normal(size=(1, 300, 100)) / 30}
    graph = helper.make_graph(
        [helper.make_node("GRU", ["xs", "w", "r"], ["ys"], hidden_size=100, name="layer")],
        "g",
        [helper.make_tensor_value_info("xs", TensorProto.FLOAT, ["T", 1, 40])],
        [helper.make_tensor_value_info("ys", TensorProto.FLOAT, ["T", 1, 1, 100])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    model = tmp_path / "gru.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), model)
    answer = scanloom(
        "run", model, "--random", "--dim", "T=500", "--jit", "--repeat", 20, "--profile", cwd=tmp_path
    )  # a first run compiles, which makes the shares of nodes too small to be printed
    rows = [line for line in answer.stdout.splitlines() if "(machine code)" in line]
    assert any("node 'layer' (GRU-14) [contract]" in row for row in rows)
    assert not any("'layer' (GRU-14) + node 'layer'" in row for row in rows)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nothere.onnx"], "nothere.onnx"),
        (["sums.onnx"], "input 'start' (tensor(float)) has no feed"),
        (["sums.onnx", "--random", "--feed", "z=1"], "the model has no input 'z'"),
        (["sums.onnx", "--random", "--feed", "x"], "is not of the form NAME=VALUE"),
        (["sums.onnx", "--random", "--feed", "x=many"], "is not a number, zeros, ones or random"),
        (["sums.onnx", "--random", "--feed", "x=no.npy"], "cannot read no.npy"),
        (["sums.onnx", "--random", "--feed", "x=sums.onnx.npy"], "it is not a .npy file"),
        (["sums.onnx", "--random", "--feed", "x=cut.npy"], "float32[3,2] needs 24"),
        (["sums.onnx", "--random", "--feed", "x=big.npy"], "big-endian"),
        (["sums.onnx", "--random", "--feed", "x=x.npy.npz"], "it is not an .npz file"),
        (["sums.onnx", "--random", "--feed", "x=in.npz:y"], "there is no 'y' in it"),
        (["sums.onnx", "--random", "--feed", "x=x.npy.pb"], "malformed bytes in a TensorProto"),
        (["sums.onnx", "--random", "--dim", "T=-1"], "is not a size"),
        (["sums.onnx", "--random", "--dim", "S=3"], "no size 'S'"),
        (["sums.onnx", "--random", "--dim", "x.2=3"], "no size 'x.2'"),
        (["sums.onnx", "--random", "--dim", "x.1=3"], "axis 1 of input 'x' is 2, not 3"),
        (["sums.onnx", "--random", "--dim", "T=99999999999999"], "more than 2^40 elements"),
        (["sums.onnx", "--random", "--feed", "x=wide.npy"], "'x'"),
        (["sums.onnx", "--random", "--output", "z"], "'z'"),
        (["sums.onnx", "--out", "result.txt"], "must end in .npz or .npy"),
        (["sums.onnx", "--threads", "0"], "--threads"),
        (["sums.onnx", "--frobnicate"], "--frobnicate"),
        ([], "model is required"),
    ],
)
def test_wrong_use_and_wrong_input(sums, tmp_path, arguments, message):
    content = (tmp_path / "x.npy").read_bytes()
    for name in ("x.npy.npz", "x.npy.pb"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "sums.onnx.npy").write_bytes(sums.read_bytes())
    (tmp_path / "cut.npy").write_bytes(content[:-1])
    np.save(tmp_path / "big.npy", X.astype(">f4"))
    np.save(tmp_path / "wide.npy", np.ones((3, 7), np.float32))
    np.savez(tmp_path / "in.npz", x=X)
    answer = scanloom("run", *arguments, cwd=tmp_path, expect=BAD)
    assert answer.stderr.splitlines()[-2:] and "error: " in answer.stderr
    assert message in answer.stderr
    assert answer.stdout == ""


@pytest.mark.parametrize("damage", range(0, 330, 7))
def test_damaged_archives_end_in_an_error_or_a_result(sums, tmp_path, damage):
    np.savez_compressed(tmp_path / "in.npz", x=X)
    content = bytearray((tmp_path / "in.npz").read_bytes())
    content[damage % len(content)] ^= 0xFF
    (tmp_path / "in.npz").write_bytes(content)
    answer = subprocess.run(
        [str(PROGRAM), "run", str(sums), "--feed", "x=in.npz", "--feed", "start=0"],
        capture_output=True,
        cwd=tmp_path,
    )
    assert answer.returncode in (FINE, BAD)
    assert (answer.returncode == BAD) == (b"error: " in answer.stderr)


@pytest.mark.parametrize("way", [[], ["--no-jit"], ["--interpret"]])
@pytest.mark.parametrize(
    "limit, message",
    [(["--max-steps", "1000"], "step limit of 1000"), (["--deadline", "0.05"], "the deadline of 0.05 s")],
)
def test_limits(tmp_path, limit, message, way):
    model = endless_model(tmp_path / "endless.onnx")
    answer = scanloom("run", model, *limit, *way, expect=LIMIT)
    assert answer.stderr.startswith("error: ")
    assert message in answer.stderr
    assert "max_steps" not in answer.stderr
    if limit[0] == "--max-steps":
        assert "note: raise it with --max-steps\n" in answer.stderr


@pytest.mark.parametrize("way", [[], ["--interpret"]])
def test_a_limit_of_no_steps(tmp_path, way):
    model = endless_model(tmp_path / "endless.onnx")
    answer = scanloom("run", model, "--max-steps", "0", *way, expect=LIMIT)
    assert "--max-steps" in answer.stderr and "max_steps" not in answer.stderr


def test_the_process_ends_while_code_is_made(tmp_path):
    model = endless_model(tmp_path / "endless.onnx")
    runs = [
        subprocess.Popen(
            [str(PROGRAM), "run", str(model), "--deadline", "0.05"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(24)
    ]  # many at once, so that making code takes long
    for run in runs:
        errors = run.communicate(timeout=120)[1]
        assert run.returncode == LIMIT, errors


def test_memory_budget(sums):
    arguments = ["--random", "--dim", "T=100000", "--max-memory", "64KB"]
    answer = scanloom("run", sums, *arguments, expect=LIMIT)
    assert "65536" in answer.stderr
    assert "note: raise it with --max-memory\n" in answer.stderr and "max_memory" not in answer.stderr


def test_interrupt(tmp_path):
    model = endless_model(tmp_path / "endless.onnx")
    with subprocess.Popen(
        [str(PROGRAM), "run", str(model)], stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == INTERRUPTED
    assert errors.startswith("error: ")


@pytest.mark.parametrize("arguments", [[], ["--no-jit"], ["--jit"], ["--interpret"], ["--no-passes"]])
def test_sizes_that_contradict_the_model_are_a_warning_unless_strict(tmp_path, arguments):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xyz"]
    join = helper.make_node("Concat", ["x", "y"], ["z"], axis=0)
    graph = helper.make_graph([join], "joined", ends[:2], ends[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    onnx.save(model, str(tmp_path / "joined.onnx"))
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    np.save(tmp_path / "y.npy", np.array([3, 4, 5], np.float32))
    feeds = ["joined.onnx", "--feed", "x=x.npy", "--feed", "y=y.npy", *arguments]
    answer = scanloom("run", *feeds, "--json", cwd=tmp_path)
    assert "warning: " in answer.stderr and "'N'" in answer.stderr
    assert json.loads(answer.stdout)["outputs"]["z"]["values"] == [1, 2, 3, 4, 5]
    refused = scanloom("run", *feeds, "--strict", cwd=tmp_path, expect=BAD)
    assert "input 'y' has 3 for 'N' on axis 0, but input 'x' has 2" in refused.stderr
