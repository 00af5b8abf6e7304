"""The reference that tools/docs writes from headers, signatures and docstrings."""

import pathlib
import re
import sys

import pytest

import scanloom
import scanloom.tensor

PROJECT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = PROJECT / "include" / "scanloom"
sys.path.insert(0, str(PROJECT / "tools" / "docs"))

import cpp_reference  # noqa: E402
import file_tables  # noqa: E402
import operator_reference  # noqa: E402
import python_reference  # noqa: E402


@pytest.fixture(scope="module")
def python_pages():
    return python_reference.pages()


@pytest.fixture(scope="module")
def cpp_pages():
    return cpp_reference.pages(INCLUDE)


def test_every_function_of_the_headers_has_an_entry(cpp_pages):
    for header in INCLUDE.glob("*.h"):
        page = cpp_pages.get("c" if cpp_reference.is_c(header) else f"cpp/{header.stem}", "")
        text = header.read_text(encoding="utf-8")
        exported = set(re.findall(r"^SCANLOOM_API [^;{]*?\b(\w+)\(", text, re.M))
        exported |= set(re.findall(r"^(?:class|struct) (?:SCANLOOM_API )?(\w+)[^;]*\{", text, re.M))
        for name in exported:
            assert re.search(rf"\b{name}\b", page), f"{header.name}: {name}"


def test_what_is_private_is_left_out(cpp_pages):
    session = cpp_pages["cpp/session"]
    assert "impl_" not in session and "friend" not in session
    assert "Expected<Stream> stream() const;" in session


def test_lists_are_written_out(cpp_pages):
    assert re.search(r"enum class DType : std::uint8_t \{\n  f32,\n  u8,", cpp_pages["cpp/dtype"])
    assert "SCANLOOM_DTYPE(" not in cpp_pages["cpp/dtype"]


def test_anchors_are_unique(cpp_pages, python_pages):
    for name, page in {**cpp_pages, **python_pages}.items():
        anchors = re.findall(r"\{ #([\w-]+).*\}$", page, re.M)
        assert len(anchors) == len(set(anchors)), name


def test_every_name_of_the_package_has_an_entry(python_pages):
    for page, module in (("sessions", scanloom), ("tensor", scanloom.tensor)):
        text = python_pages[f"python/{page}"]
        for name in module.__all__:
            assert f"`{name}`" in text or f" {name}" in text, f"{page}: {name}"


def test_every_operator_of_the_ir_has_an_entry():
    page = operator_reference.page(PROJECT / "src" / "ops")
    listed = re.findall(r"^SCANLOOM_OP\((\w+)\)", (PROJECT / "src/ops/list.inc").read_text(), re.M)
    assert sorted(re.findall(r"^### `(\w+)`", page, re.M)) == sorted(listed)
    assert "add(a: numeric, b: numeric) -> y\n```\n\nSum; integers wrap." in page


def test_files_are_listed_by_their_opening_comments(tmp_path):
    (tmp_path / "a.h").write_text("// A tree: it_grows. It\n// sheds.\n#pragma once\n")
    (tmp_path / "a.cpp").write_text("// How.\n")
    (tmp_path / "b.cpp").write_text('#include "b.h"\n')
    page = file_tables.filled_in(f"<!-- files of {tmp_path.name} -->", tmp_path.parent)
    assert "| `a` | A tree: it\\_grows. |\n" in page and "`b`" not in page


def test_docstrings_become_markdown():
    text = "Runs x_*y*.\n\n    x = 1\n\nfirst: one\n    line more.\nsecond: `two`.\nRaises Error."
    assert python_reference.doc_markdown(text) == (
        "Runs x\\_\\*y\\*.\n\n```python\nx = 1\n```\n\n\n"
        "- **first**: one line more.\n- **second**: `two`.\n\nRaises Error.\n")
