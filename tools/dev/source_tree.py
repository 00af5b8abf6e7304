"""The project's files, and C++ text without comments and strings; shared by the checks."""

import argparse
import pathlib
import re
import subprocess
import sys

CXX_SUFFIXES = (".h", ".c", ".cpp", ".inc")
HEADER_SUFFIXES = (".h",)

_NOT_SOURCE = {"build", "dist", "__pycache__", ".git", ".cache", ".pytest_cache", ".hypothesis"}

_COMMENT_OR_LITERAL = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|(?P<raw>\bu?8?R"(?P<mark>[^()\s]{0,16})\(.*?\)(?P=mark)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.S | re.X,
)


def argument_parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2],
        help="the tree to check (default: the one that contains this script)",
    )
    return parser


def files(root: pathlib.Path) -> list[pathlib.Path]:
    """Every file of the project, relative to root and sorted: tracked and untracked files that git
    does not ignore or, outside a git checkout, everything except build outputs."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard", "--", "."],
        capture_output=True,
        text=True,
    ) if (root / ".git").exists() else None
    if listing is not None and listing.returncode == 0:
        found = [pathlib.Path(name) for name in listing.stdout.split("\0") if name]
        return sorted(path for path in set(found) if (root / path).is_file())
    found = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in found if not _NOT_SOURCE.intersection(path.parts))


def sources(root: pathlib.Path, folders: tuple[str, ...], suffixes: tuple[str, ...]):
    return [p for p in files(root) if p.parts[0] in folders and p.suffix in suffixes]


def code_only(text: str) -> str:
    """Blanks comments and the contents of literals in C++ text, and keeps the line numbers."""

    def blank(match: re.Match) -> str:
        kept = re.sub(r"[^\n]", " ", match.group())
        return kept if match.group("comment") is not None else '"' + kept[1:-1] + '"'

    return _COMMENT_OR_LITERAL.sub(blank, text)


def report(name: str, problems: list[str], checked: str) -> int:
    """Prints the result of a check in the common form and returns the exit status."""
    for problem in problems:
        print(problem)
    outcome = f"{len(problems)} problem{'s' * (len(problems) != 1)}" if problems else "ok"
    print(f"{name}: {checked}: {outcome}", file=sys.stderr if problems else sys.stdout)
    return 1 if problems else 0
