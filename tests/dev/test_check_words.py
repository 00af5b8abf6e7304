import importlib
import pathlib

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("src/a.cpp", "// caf\u00e9\n", "src/a.cpp:1: U+00E9 is not ASCII"),
        ("a.py", "x = '/ho" "me/someone/data'\n", "a folder of one machine: /ho" "me/"),
        ("a.md", "see https:/" "/wheels.example.net/simple\n", "the host wheels.example.net"),
        ("a.md", "see https:/" "/user:secret@wheels.example.net\n", "the host wheels.example.net"),
        ("Makefile", "HOST = 10.1" ".2.3\n", "the address 10.1" ".2.3"),
        ("a.h", "// TO" "DO later\n", "TO" "DO without an issue"),
        ("CMakeLists.txt", "# FIX" "ME\n", "FIX" "ME without an issue"),
    ],
)
def test_names_file_line_and_word(tree, name, text, problem):
    tree.write(name, text)
    assert problem in tree.fails("check_words.py")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "na\u00efve, see https://github.com/onnx/onnx and https://docs.python.org/3/\n"),
        ("a.h", "// TO" "DO(#12): widen\n"),
        ("a.sh", "#!/usr/bin/env bash\ncat /proc/cpuinfo src/ho" "me/x 127.0.0.1 1.10.2.3.4\n"),
    ],
)
def test_accepts(tree, name, text):
    tree.write(name, text)
    tree.passes("check_words.py")


def test_wants_utf8(tree):
    (tree.root / "a.md").write_bytes(b"caf\xe9\n")
    assert "a.md: is not UTF-8" in tree.fails("check_words.py")


def test_looks_at_no_build_folder(tree):
    tree.write("build/release/a.h", "// TO" "DO\n")
    tree.passes("check_words.py")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("src/a.cpp", "constexpr int kMo" "st = 3;\n", "src/a.cpp:1: 'kMo" "st': write kMax..."),
        ("src/a.h", "// a\nconstexpr int kLea" "stRows = 3;\n", "src/a.h:2: 'kLea" "st': write kMin..."),
        ("docs/a.md", "What the second ca" "che holds.\n", "docs/a.md:1: 'second ca" "che': write L1, L2"),
        ("docs/a.md", "the pass merge_lo" "ops\n", "fuse_sibling_loops"),
    ],
)
def test_banned_words_are_named_with_what_to_write(tree, name, text, problem):
    tree.write(name, text)
    assert problem in tree.fails("check_words.py")


def test_history_may_have_banned_words(tree):
    tree.write("CHANGELOG.md", "- The pass merge_lo" "ops merges more loops.\n")
    tree.passes("check_words.py")


def test_words_that_are_not_enforced_yet_are_counted(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(PROJECT / "tools" / "dev"))
    check_words = importlib.import_module("check_words")
    ban = importlib.import_module("banned_words").Ban(r"\bold\b", "new", enforced=False)
    monkeypatch.setattr(check_words, "BANS", (ban,))
    check_words.count_open({pathlib.Path("a.md"): "old\nand old\n"})
    assert capsys.readouterr().out.split() == ["2", ban.pattern, "->", "new"]
