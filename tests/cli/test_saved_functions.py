"""Saved functions on the command line: they are run, shown, explained, checked like models."""

import json

import numpy as np
import pytest
from command_line import BAD, DIFFERS, LIMIT, scanloom as command

import scanloom
import scanloom.tensor as T

X = np.array([0.5, -2.0, 3.0])


@pytest.fixture
def saved(tmp_path):
    """h[t] = 0.5 h[t-1] + w x[t], all of them and the sum, and a count of the calls."""
    x, start = T.vector("x"), T.scalar("start")
    w, calls = scanloom.shared(2.0, "w"), scanloom.shared(np.int64(4), "calls")
    h, _ = scanloom.scan(
        lambda x_t, before, w: 0.5 * before + w * x_t,
        sequences=x, outputs_info=start, non_sequences=w, name="filter",
    )  # fmt: skip
    f = scanloom.function([x, start], [h, h.sum(), calls], updates={calls: calls + 1}, name="filtered")
    f.save(tmp_path / "f.scanloom")
    return tmp_path / "f.scanloom"


def filtered(x, start, w=2.0):
    h = []
    for x_t in x:
        start = 0.5 * start + w * x_t
        h.append(start)
    return np.array(h)


FEEDS = ["--feed", f"x={X.tolist()}", "--feed", "start=1"]


@pytest.mark.parametrize("way", ["", "--no-jit", "--jit", "--interpret", "--no-passes", "--threads 1"])
def test_they_run(saved, way):
    before = saved.read_bytes()
    out = json.loads(command("run", saved, *FEEDS, *way.split(), "--json").stdout)
    h, total, calls = out["outputs"].values()
    np.testing.assert_allclose(h["values"], filtered(X, 1), rtol=1e-15)
    np.testing.assert_allclose(total["values"], [filtered(X, 1).sum()], rtol=1e-15)
    assert calls == {"type": "int64", "shape": [], "values": [4]}
    assert out["steps"] == 3
    assert saved.read_bytes() == before  # a run changes no file


def test_their_results_go_to_files(saved, tmp_path):
    np.savez(tmp_path / "in.npz", x=X, start=np.float64(1))
    command("run", saved, "--feed", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        assert len(out.files) == 3
        np.testing.assert_allclose(out[out.files[0]], filtered(X, 1), rtol=1e-15)


def test_they_are_shown(saved):
    shown = command("show", saved).stdout
    assert "x      tensor(double) [x.0]" in shown and "start  tensor(double) []" in shown
    assert "states\n  calls  tensor(int64) []\n" in shown
    assert "loop 1" in shown and "scanloom" in shown
    told = json.loads(command("show", saved, "--json").stdout)
    assert [each["name"] for each in told["inputs"]] == ["x", "start"]
    assert [each["type"] for each in told["outputs"]] == ["tensor(double)", "tensor(double)", "tensor(int64)"]
    assert [each["name"] for each in told["states"]] == ["calls"]
    assert (told["producer"], told["graph"]) == ("scanloom", "filtered")
    program = command("show", saved, "--ir").stdout
    assert "loop" in program and "state" in program
    passes = command("show", saved, "--passes").stdout
    assert passes.index("// before passes") < passes.index("// after passes")
    assert "strategy" in command("show", saved, "--plan", "--dim", "x.0=7").stdout


def test_they_are_explained(saved):
    answer = command("explain", saved, "--dim", "x.0=1000").stdout
    assert "'filter'" in answer and "1000 steps" in answer and "strategy" in answer
    assert "3 steps" in command("explain", saved, *FEEDS).stdout


def test_they_are_measured_and_compared(saved, tmp_path):
    rows = json.loads(command("bench", saved, "--dim", "x.0=50", "--repeat", 1, "--json").stdout)
    assert rows[0]["steps"] == 50
    outputs = [each["name"] for each in json.loads(command("show", saved, "--json").stdout)["outputs"]]
    h = filtered(X, 1)
    np.savez(tmp_path / "io.npz", x=X, start=1.0, **dict(zip(outputs, (h, h.sum(), np.int64(4)))))
    assert "3 of 3 outputs are as expected" in command("compare", saved, tmp_path / "io.npz").stdout


def test_they_obey_limits(saved):
    command("run", saved, *FEEDS, "--max-steps", 2, expect=LIMIT)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        (["--feed", "x=[1]"], "input 'start' (tensor(double)) has no feed"),
        ([*FEEDS, "--feed", "y=1"], "the model has no input 'y'"),
        ([*FEEDS, "--feed", "calls=1"], "'calls'"),
        (["--feed", "x=[[1]]", "--feed", "start=1"], "'x'"),
        (["--feed", "x=[one]", "--feed", "start=1"], "'one' at [0] is not a number, as float64 needs"),
        ([*FEEDS, "--output", "nothing"], "the model has no output 'nothing'"),
    ],
)
def test_mistakes_are_told(saved, feeds, message):
    answer = command("run", saved, *feeds, expect=BAD)
    assert message in answer.stderr


def test_they_are_checked(saved, tmp_path):
    assert command("check", saved).stdout == f"{saved}: fine\n"
    assert json.loads(command("check", saved, "--json").stdout) == {"fine": True, "errors": [], "warnings": []}
    whole = saved.read_bytes()
    damaged = tmp_path / "damaged"
    for content, why in (
        (whole[:-40], "damaged saved function"),
        (whole.replace(b"inputs 2", b"inputs 3"), "its checksum is"),
        (whole.replace(b"format 3", b"format 9"), "saved in format 9, but this version reads formats up to 3"),
        (b"scanloom function\n", "damaged saved function"),
    ):
        damaged.write_bytes(content)
        answer = command("check", damaged, expect=DIFFERS)
        assert why in answer.stderr and answer.stdout == f"{damaged}: 1 error\n"
        assert why in command("run", damaged, "--random", expect=BAD).stderr


def test_random_numbers_and_constants_that_a_function_keeps(tmp_path):
    stream = T.shared_randomstreams.RandomStreams(seed=3)
    table = scanloom.shared(np.arange(60.0).reshape(20, 3), "table")
    i = T.lscalar("i")
    f = scanloom.function([i], [table[i], stream.uniform((4,))])
    f.save(tmp_path / "f")
    out = json.loads(command("run", tmp_path / "f", "--feed", "i=7", "--json").stdout)["outputs"]
    row, drawn = out.values()
    assert row["values"] == [21, 22, 23]
    assert drawn["values"] == f(7)[1].tolist()  # those of the first call
    states = json.loads(command("show", tmp_path / "f", "--json").stdout)["states"]
    assert len(states) == 1  # the stream; the table stays


def test_functions_without_names_inputs_or_loops(tmp_path):
    a, b = T.scalar(), T.scalar()
    scanloom.function([a, b], a - b).save(tmp_path / "f")
    names = [each["name"] for each in json.loads(command("show", tmp_path / "f", "--json").stdout)["inputs"]]
    assert len(set(names)) == 2
    feeds = [part for name, value in zip(names, (5, 3)) for part in ("--feed", f"{name}={value}")]
    (result,) = json.loads(command("run", tmp_path / "f", *feeds, "--json").stdout)["outputs"].values()
    assert result["values"] == [2]
    scanloom.function([], T.constant(np.arange(3.0)) * 2).save(tmp_path / "g")
    (result,) = json.loads(command("run", tmp_path / "g", "--json").stdout)["outputs"].values()
    assert result["values"] == [0, 2, 4]
    assert command("explain", tmp_path / "g").returncode == 0
