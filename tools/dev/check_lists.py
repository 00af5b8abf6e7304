#!/usr/bin/env python3
"""Checks that list.inc files are sorted where they say so, and match the files next to them.

A list whose comment says 'sorted' is sorted by the first argument of its rows, and by the second
one, a string, where the comment says 'then by'. The rows are the
operators defined in src/ops, the kernels in src/kernels, or the passes in src/passes and
src/loopnest. Each is named by a file in the same folder of tests/."""

import pathlib
import re
import sys

import source_tree

_ROW = re.compile(r"^\s*SCANLOOM_\w+\(\s*(\w+)", re.M)
_ROW_OF_TWO = re.compile(r"^\s*SCANLOOM_\w+\(\s*(\w+),\s*\"([^\"]*)\"", re.M)
_OPERATOR = re.compile(r"\bOpDef\s+(\w+)_op\s*[{=]")
_KERNEL = re.compile(r"\bKernelDef\s+(\w+)_kernel\s*[{=]")
_NEST_PASS = re.compile(r"^void\s+(\w+)\(BodyParts\s*&", re.M)
_PASS = re.compile(r"^Expected<Change>\s+(\w+)\(ir::Module\s*&", re.M)


def rows(path: pathlib.Path, row: re.Pattern = _ROW) -> list:
    """The first arguments of the rows of a list; empty if the file does not exist."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.lstrip().startswith(("//", "#")))
    return row.findall(code)


def shown(name: str | tuple[str, str]) -> str:
    return name if isinstance(name, str) else f"{name[0]} of '{name[1]}'"


def check_sorted(root: pathlib.Path, path: pathlib.Path) -> list[str]:
    comment = re.search(r"^//.*\bsorted\b.*$", (root / path).read_text(encoding="utf-8"), re.M | re.I)
    if comment is None:
        return []
    names = rows(root / path, _ROW_OF_TWO if "then by" in comment[0] else _ROW)
    for before, after in zip(names, names[1:]):
        if before == after:
            return [f"{path}: {shown(after)} stands twice"]
        if before > after:
            return [f"{path}: {shown(after)} must stand before {shown(before)}"]
    return []


def defined(root: pathlib.Path, folder: str, pattern: re.Pattern) -> dict[str, pathlib.Path]:
    """The files <name>.cpp in a folder of src/, or below it, that define <name>."""
    found = {}
    for path in source_tree.sources(root, ("src",), (".cpp",)):
        if path.parts[:2] == ("src", folder):
            text = source_tree.code_only((root / path).read_text(encoding="utf-8"))
            found.update({name: path for name in pattern.findall(text) if name == path.stem})
    return found


def check_defined(root: pathlib.Path, folder: str, pattern: re.Pattern) -> list[str]:
    listed = set(rows(root / "src" / folder / "list.inc"))
    found = defined(root, folder, pattern)
    problems = [
        f"{path}: {name} has no row in src/{folder}/list.inc"
        for name, path in sorted(found.items())
        if name not in listed
    ]
    return problems + [
        f"src/{folder}/list.inc: {name} is not defined in a {name}.cpp of src/{folder}"
        for name in sorted(listed - set(found))
    ]


def check_tested(root: pathlib.Path, folder: str) -> list[str]:
    """Each row is named by a file of tests/<folder>, by name or in its text. An operator is named
    by its function <name>_samples."""
    word = re.compile(r"\b(\w+)_samples\b" if folder == "ops" else r"\b(\w+)\b")
    named: set[str] = set()
    for path in source_tree.files(root):
        if path.parts[:2] == ("tests", folder):
            named.add(re.sub(r"_test$", "", path.stem))
            named.update(word.findall((root / path).read_text(errors="replace")))
    return [
        f"src/{folder}/list.inc: {name} is in no file of tests/{folder}"
        for name in rows(root / "src" / folder / "list.inc")
        if name not in named
    ]


def main() -> int:
    options = source_tree.argument_parser(__doc__).parse_args()
    root = options.root
    lists = [path for path in source_tree.files(root) if path.suffix == ".inc"]
    problems = [problem for path in lists for problem in check_sorted(root, path)]
    patterns = {"ops": _OPERATOR, "kernels": _KERNEL, "loopnest": _NEST_PASS, "passes": _PASS}
    for folder, pattern in patterns.items():
        problems += check_defined(root, folder, pattern) + check_tested(root, folder)
    return source_tree.report("lists", problems, f"{len(lists)} lists")


if __name__ == "__main__":
    sys.exit(main())
