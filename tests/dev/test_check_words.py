import pytest


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
