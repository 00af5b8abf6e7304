"""The generated parts of docs/ are those that the sources give, and lists by hand are complete."""

import pathlib
import re
import subprocess
import sys

import pytest
from onnx import defs

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def section(page, title):
    """The text under a heading of the second level."""
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    return re.search(rf"^## {title}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def test_generated_parts_are_up_to_date():
    answer = subprocess.run(
        [sys.executable, PROJECT / "tools" / "dev" / "update_docs.py", "--check"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert answer.returncode == 0, (
        answer.stdout + answer.stderr + "\nrun build/venv/bin/python tools/dev/update_docs.py")


def test_a_part_that_nobody_generates_is_an_error(tmp_path):
    sys.path.insert(0, str(PROJECT / "tools" / "dev"))
    import update_docs

    for part in ("operators of nobody", "pass that_there_is_not", "pass fold_constants case 99"):
        with pytest.raises(LookupError):
            update_docs.updated(f"<!-- generated {part} -->\n<!-- end -->\n", PROJECT)


def test_onnx_operators_that_are_not_read_are_named():
    rows = re.findall(r'^SCANLOOM_ONNX_OP\((\w+), "([\w.]*)"',
                      (PROJECT / "src/frontends/onnx/list.inc").read_text(), re.M)
    known = {(domain, name) for name, domain in rows}
    rows = re.findall(r"^\|(.*?)\|", section("operators-onnx.md", "Not read"), re.M)
    named = set(re.findall(r"`(\w+)`", "".join(rows)))
    for schema in defs.get_all_schemas():
        is_read = (schema.domain, schema.name) in known
        assert is_read != (schema.name in named), (schema.domain, schema.name)


def test_operators_of_onnxruntime_that_are_not_read_are_named():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state",
                                reason="compares with onnxruntime's list of operators")
    rows = re.findall(r'^SCANLOOM_ONNX_OP\((\w+), "com.microsoft"',
                      (PROJECT / "src/frontends/onnx/list.inc").read_text(), re.M)
    rest = (PROJECT / "docs/operators-onnx.md").read_text().split("### Not read of com.microsoft")[1]
    first_cells = re.findall(r"^\|(.*?)\|", rest.split("\n## ")[0], re.M)
    named = set(re.findall(r"`(\w+)`", "".join(first_cells)))
    theirs = {s.name for s in state.get_all_operator_schema() if s.domain == "com.microsoft"}
    assert set(rows) & named == set()
    assert theirs - set(rows) - named == set()
    assert named - theirs == set()


def test_every_pass_has_a_section():
    sections = re.findall(r"^## (\w+)$", (PROJECT / "docs/passes.md").read_text(), re.M)
    rows = re.findall(r"^SCANLOOM_(?:LAST_|FAST_)?PASS\((\w+)",
                      (PROJECT / "src/passes/list.inc").read_text(), re.M)
    assert sections == rows
