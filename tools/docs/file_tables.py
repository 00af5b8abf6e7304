"""Writes tables of the files in a folder as Markdown, from their opening comments."""

import ast
import pathlib
import re

import markdown_text

_MARK = re.compile(r"^<!-- files of (.*) -->$", re.M)


def opening(path: pathlib.Path) -> str:
    """Returns the opening comment of a file, or the first paragraph of a module's docstring, as one
    line; "" if there is none."""
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        return " ".join(text.split("\n\n")[0].split())
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//") or line in ("//", "///"):
            break
        lines.append(line.lstrip("/ ").strip())
    return " ".join(lines)


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s+(?=[A-Z`\"])", text)[0].rstrip(";")


def table(folder: pathlib.Path) -> str:
    """Returns a row for each header, each module of Python, and each source with an opening comment
    and no header."""
    rows = {}
    for path in [*folder.glob("*.py"), *folder.glob("*.cpp"), *folder.glob("*.h")]:
        if text := opening(path):
            rows[path.stem] = f"| `{path.stem}` | {markdown_text.escape(first_sentence(text))} |\n"
    return "| file | what it holds |\n|---|---|\n" + "".join(rows[stem] for stem in sorted(rows))


def filled_in(markdown: str, root: pathlib.Path) -> str:
    """Replaces `<!-- files of src/a src/b -->` by tables of these folders."""

    def tables(match: re.Match) -> str:
        return "\n".join(f"`{name}`:\n\n{table(root / name)}" for name in match[1].split())

    return _MARK.sub(tables, markdown)
