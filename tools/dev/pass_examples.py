"""The passes with an example each, from src/passes/list.inc and the cases in tests/passes."""

import pathlib
import re

_ROW = re.compile(r'^SCANLOOM_(LAST_)?PASS\((\w+), (?:\w+, )?"(.*)"\)$', re.M)
_CASE = re.compile(r"^// ==== (.*)\n", re.M)


def rows(root: pathlib.Path) -> list[tuple[str, str]]:
    """The name and documentation line of each pass, in the order in which they run."""
    text = (root / "src/passes/list.inc").read_text(encoding="utf-8")
    return [(name, doc) for _, name, doc in _ROW.findall(text)]


def table(root: pathlib.Path) -> str:
    lines = ["| | pass | does |\n", "|---|---|---|\n"]
    for number, (name, doc) in enumerate(rows(root), start=1):
        lines.append(f"| {number} | [`{name}`](#{name}) | {doc} |\n")
    return "".join(lines)


def cases(path: pathlib.Path) -> dict[str, list[str]]:
    """The cases of a file in tests/passes: the module before and, if it changes, after the pass."""
    _, *parts = _CASE.split(path.read_text(encoding="utf-8"))
    return {title: re.split(r"^// ----\n", body, flags=re.M)
            for title, body in zip(parts[::2], parts[1::2])}


def example(root: pathlib.Path, argument: str) -> str:
    """The example of a pass. `argument` is a pass, for the first case that it changes, or
    `<pass> case <number>`, which counts these cases from 1."""
    name, _, number = argument.partition(" case ")
    path = root / "tests" / "passes" / f"{name}.ir"
    if not path.is_file():
        raise LookupError(f"there is no tests/passes/{name}.ir")
    changed = [parts for parts in cases(path).values() if len(parts) == 2]
    wanted = int(number or 1)
    if not 1 <= wanted <= len(changed):
        raise LookupError(f"tests/passes/{name}.ir has {len(changed)} cases that the pass changes")
    before, after = changed[wanted - 1]
    return f"Before:\n\n```text\n{before}```\n\nAfter:\n\n```text\n{after}```\n"
