"""bench/: the comparison of two builds, the picture, what --sizes selects, and workloads that every
engine of the project computes right."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import PROJECT

BENCH = PROJECT / "bench"
sys.path.insert(0, str(BENCH))

import harness  # noqa: E402
import native  # noqa: E402
import picture  # noqa: E402
import selection  # noqa: E402

# Is appended to a copy of the package to make it slower and wrong.
SLOWER = """
import time
_run = InferenceSession.run
def _slower(self, *arguments):
    time.sleep(0.02)
    return _run(self, *arguments)
InferenceSession.run = _slower
"""
WRONG = """
_run = InferenceSession.run
def _wrong(self, *arguments):
    first, *rest = _run(self, *arguments)
    return [first + 1, *rest]
InferenceSession.run = _wrong
"""


@pytest.fixture
def copied(tmp_path):
    """A function that copies the package, with text added at its end."""
    installed = pathlib.Path(importlib.util.find_spec("scanloom").origin).parent

    def copy(name: str, added: str = "") -> pathlib.Path:
        package = tmp_path / name
        shutil.copytree(installed, package, ignore=shutil.ignore_patterns("__pycache__"))
        with open(package / "__init__.py", "a") as file:
            file.write(added)
        return package

    return copy


def compare(tmp_path, old, new, *options):
    command = [sys.executable, str(BENCH / "compare.py"), str(old), str(new),
               "--only", "empty_scan", "--pairs", "3", "--sample", "0.001", "--work", str(tmp_path / "work"), *options]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def test_a_copy_is_as_fast_and_has_the_same_bits(copied, tmp_path):
    # Names of folders do not matter; nor does noise at this threshold.
    status, output = compare(tmp_path, copied("old"), copied("new/scanloom").parent,
                             "--threshold", "50")
    assert status == 0, output
    (found,) = json.loads((tmp_path / "work" / "compare.json").read_text())["compared"]
    assert found["question"] == "empty_scan/stepped"
    assert found["same_bits"] and not found["slower"] and found["pairs"] == 3
    assert "empty_scan/stepped" in output and "SLOWER" not in output


def test_a_slower_build_ends_the_comparison_with_1(copied, tmp_path):
    status, output = compare(tmp_path, copied("old"), copied("new", SLOWER))
    assert status == 1, output
    assert "slower by more than 10%: empty_scan/stepped" in output


def test_other_results_end_the_comparison_with_1(copied, tmp_path):
    status, output = compare(tmp_path, copied("old"), copied("new", WRONG))
    assert status == 1, output
    assert "DIFFERENT RESULT" in output and "differs from the reference" in output


def test_what_holds_no_build_is_refused(copied, tmp_path):
    status, output = compare(tmp_path, copied("old"), tmp_path)
    assert status == 2
    assert f"{tmp_path} holds neither the package scanloom nor lib/libscanloom.so.0" in output


def test_nothing_asked_is_no_success(copied, tmp_path):
    status, output = compare(tmp_path, copied("old"), tmp_path / "old", "--sizes", "h=7")
    assert status == 2
    assert "no question was asked" in output


def test_the_picture_shows_the_table_of_the_page():
    page, drawing = (PROJECT / "docs" / f"benchmarks.{end}" for end in ("md", "svg"))
    found = picture.rows_of_page(page.read_text())
    assert len(picture.bars(found.rows)) > 40
    assert drawing.read_text() == picture.draw(found), (
        "python3 bench/picture.py docs/benchmarks.md docs/benchmarks.svg draws it anew"
    )


def test_a_bar_compares_with_the_best_peer():
    row = picture.Row
    found = picture.bars([
        row("lstm/scan/compiled", "jax", "1 us", 0.5),
        row("lstm/scan/compiled", "onnxruntime", "1 us", 0.1),
        row("lstm/scan/compiled", "C loop", "1 us", 0.9),
        row("lstm/scan/stepped", "onnxruntime", "2 us", 0.7),
        row("overhead/step", "60 ns", "20 ns", 0.3),
        row("ema/stepped", "onnxruntime", "3 ns", 0.03),
    ])  # fmt: skip
    assert [(bar.name, bar.best.peer, bar.best.ratio, bar.floor) for bar in found] == [
        ("ema", "onnxruntime", 0.03, None),
        ("lstm/scan", "jax", 0.5, 0.9),
    ]


def test_a_report_is_drawn_without_memory(tmp_path):
    comparison = {"question": "ema/compiled", "peer": "jax", "ours_ns": 2.0, "ratio_median": 0.2,
                  "memory": False}
    report = {
        "machine": {"cpu": "Fast <CPU>", "family": "6", "date": "2026-01-02"},
        "threads": 2,
        "comparisons": [comparison, comparison | {"question": "memory/rows", "memory": True}],
    }
    figures, drawing = tmp_path / "bench.json", tmp_path / "bench.svg"
    figures.write_text(json.dumps(report))
    command = [sys.executable, str(BENCH / "picture.py"), str(figures), str(drawing)]
    subprocess.run(command, check=True)
    text = drawing.read_text()
    assert "Fast &lt;CPU&gt; (family 6), 2026-01-02, 2 threads" in text
    assert "0.2 of jax (2 ns)" in text and "memory" not in text


@pytest.mark.parametrize("text", ["h", "h=", "=3", "h=3,", "h=0", "h=-1", "h=x"])
def test_sizes_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match="no letter with numbers"):
        selection.parse_sizes([text])


def test_sizes_select():
    sizes = selection.parse_sizes(["h=128,256", "b=1"])
    assert sizes == {"h": [128, 256], "b": [1]}
    place = harness.Place(None, None, None, {}, None, only=["lstm"], sizes=sizes)
    assert place.wants("lstm_b1_h128", {"b": 1, "h": 128})
    assert not place.wants("lstm_b32_h128", {"b": 32, "h": 128})
    assert not place.wants("gru_b1_h128", {"b": 1, "h": 128})
    assert not place.has_sizes({"n": 4})


def test_sizes_outside_of_a_table_are_all_combinations_of_what_is_named():
    known = [{"b": 1, "h": 128}, {"b": 32, "h": 128}]
    usual = {"b": 1, "h": None}

    def further(*texts):
        sizes = selection.parse_sizes(texts)
        return harness.Place(None, None, None, {}, None, sizes=sizes).further_sizes(known, usual)

    assert further() == []
    assert further("b=2") == []
    assert further("n=2", "h=3") == []
    assert further("h=128") == []
    assert further("h=128,512", "b=1,2") == [{"b": 1, "h": 512}, {"b": 2, "h": 128},
                                             {"b": 2, "h": 512}]  # fmt: skip


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    return native.Baseline(tmp_path_factory.mktemp("baseline"))


@pytest.mark.parametrize("name", [
    "beam_search", "cascade/", "crf", "ctc", "dopri", "heat", "hmc", "pagerank", "rts_smoother",
    "sinkhorn", "thomas",
])  # fmt: skip
def test_loops_compiled_stepped_and_in_c_give_the_reference(name, baseline, tmp_path):
    place = harness.Place(tmp_path, None, None, {}, baseline, only=[name])
    found = []
    for _, module in selection.modules(place):
        for question in selection.selected(module, place, "wall"):
            engines = [question.ours, *(peer.engine for peer in question.peers)]
            for engine in engines:
                if engine.name in ("scanloom", "C loop", "C fast"):
                    harness.check(question, engine)
                    found.append(engine.execution or engine.name)
    # Where no loop of a model is compiled there is one question less.
    assert sorted(set(found) - {"stepped"}) == ["C fast", "C loop", "compiled"]


def test_the_gradient_of_heat_is_right_within_its_budget(tmp_path):
    place = harness.Place(tmp_path, None, None, {}, None, only=["gradients/heat"])
    ((_, module),) = selection.modules(place)
    (question,) = selection.selected(module, place, "wall")
    harness.check(question, question.ours)
