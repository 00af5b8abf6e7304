#!/usr/bin/env python3
"""Checks the text of files: only ASCII in sources, no path or host of one machine, no to-do
without an issue, and no banned words (banned_words.py)."""

import pathlib
import re
import sys

import source_tree
from banned_words import BANS

TEXT_SUFFIXES = {
    ".c", ".cfg", ".clang-format", ".cmake", ".cpp", ".css", ".h", ".hpp", ".html", ".in", ".inc",
    ".ini", ".ir", ".js", ".json", ".md", ".py", ".pyi", ".sh", ".svg", ".toml", ".txt", ".yaml",
    ".yml",
}
TEXT_NAMES = {"Makefile", "LICENSE", ".gitignore", ".clang-format", "run"}
PROSE_SUFFIXES = {".md", ".svg"}  # may use any letter

# Folders that exist only on one machine. Split, so that this file does not contain them.
_FOLDERS = ("/wo" "rk/", "/ho" "me/", "/ro" "ot/", "/fa" "rm/", "/Us" "ers/", "/mn" "t/", "/me" "dia/")
_PATH = re.compile(r"(?<![\w.}/*-])(?:" + "|".join(map(re.escape, _FOLDERS)) + ")")

# The hosts that the project may name; all of them are public and well known.
HOSTS = {
    "apache.org", "arxiv.org", "debian.org", "doi.org", "github.com", "github.io", "gnu.org",
    "ieee.org", "keepachangelog.com", "librivox.org", "llvm.org", "onnx.ai", "onnxruntime.ai",
    "openvino.ai", "perfetto.dev", "pypi.org", "python.org", "readthedocs.io",
    "scikit-learn.org", "semver.org", "w3.org", "wikipedia.org", "example.com",
}
_URL = re.compile(r"\b(?:https?|ftp|git|ssh)://(?:[^\s/@]*@)?([\w.-]+)")
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)(?:10|172|192)\.\d+\.\d+\.\d+(?![\w.])")

_OPEN_END = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b(?!\(#\d+\))")


def is_text(path: pathlib.Path) -> bool:
    return path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES


def host_is_known(host: str) -> bool:
    parts = host.lower().split(".")
    return any(".".join(parts[start:]) in HOSTS for start in range(len(parts)))


def check_line(path: pathlib.Path, line: str) -> list[str]:
    problems = []
    if path.suffix not in PROSE_SUFFIXES and not line.isascii():
        strange = next(char for char in line if not char.isascii())
        problems.append(f"U+{ord(strange):04X} is not ASCII")
    if _PATH.search(line) and not line.startswith("#!"):
        problems.append(f"names a folder of one machine: {_PATH.search(line)[0]}")
    for host in _URL.findall(line):
        if not host_is_known(host):
            problems.append(f"names the host {host}, which is not in the list of check_words.py")
    if _ADDRESS.search(line):
        problems.append(f"names the address {_ADDRESS.search(line)[0]}")
    if _OPEN_END.search(line):
        problems.append(f"{_OPEN_END.search(line)[1]} without an issue")
    return problems


def banned(path: pathlib.Path, text: str, bans) -> list[tuple[int, str]]:
    """The lines with a word of `bans`, and what to write instead."""
    found = []
    for ban in bans:
        if not ban.applies_to(path.as_posix()) or not ban.regex.search(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if match := ban.regex.search(line):
                found.append((number, f"'{match[0].strip()}': write {ban.write}"))
    return found


def count_open(texts: dict[pathlib.Path, str]) -> None:
    """Prints how often each word that is not enforced yet occurs."""
    for ban in BANS:
        if not ban.enforced:
            lines = sum(len(banned(path, text, [ban])) for path, text in texts.items())
            print(f"{lines:6} {ban.pattern}  ->  {ban.write}")


def main() -> int:
    parser = source_tree.argument_parser(__doc__)
    parser.add_argument(
        "--all", action="store_true", help="count what is not enforced yet, too; fails for none of it"
    )
    options = parser.parse_args()
    paths = [path for path in source_tree.files(options.root) if is_text(path)]
    enforced = [ban for ban in BANS if ban.enforced]
    problems, texts = [], {}
    for path in paths:
        try:
            text = (options.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            problems.append(f"{path}: is not UTF-8")
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            problems += [f"{path}:{number}: {problem}" for problem in check_line(path, line)]
        problems += [f"{path}:{number}: {problem}" for number, problem in banned(path, text, enforced)]
        texts[path] = text
    if options.all:
        count_open(texts)
    return source_tree.report("words", problems, f"{len(paths)} files")


if __name__ == "__main__":
    sys.exit(main())
