"""Markdown for the reference pages: escaping, headings, code blocks, anchors."""

import re

_MOST_NAMES = 4  # in one heading
_CODE = re.compile(r"(`[^`]*`)")


def escape(text: str) -> str:
    """Escapes Markdown markup in the text of a comment."""
    parts = _CODE.split(text)
    return "".join(
        part if part.startswith("`") and len(part) > 1
        else re.sub(r"([*_\[\]|])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def code(text: str, language: str) -> str:
    """Returns a fenced code block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def heading(level: int, names: list[str], anchor: str, label: str = "") -> str:
    """Returns a heading of names; `label` replaces them in the table of contents."""
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown += f" and {len(names) - _MOST_NAMES} more"
    label = f' data-toc-label="{label}"' if label else ""
    return f"{'#' * level} {shown} {{ #{anchor}{label} }}\n"


def wrap_call(head: str, arguments: list[str], tail: str, columns: int = 88) -> str:
    """Returns `head(arguments)tail`, with one argument per line if a single line is too short."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= columns or not arguments:
        return line
    return f"{head}(\n" + "".join(f"    {each},\n" for each in arguments)[:-2] + f"\n){tail}"


def unique_anchors(page: str) -> str:
    """Appends numbers to repeated anchors of a page."""
    seen: dict[str, int] = {}

    def numbered(match: re.Match) -> str:
        seen[match[1]] = seen.get(match[1], 0) + 1
        suffix = f"-{seen[match[1]]}" if seen[match[1]] > 1 else ""
        return f"{{ #{match[1]}{suffix}{match[2] or ''} }}"

    return re.sub(r"\{ #([\w-]+)( data-[^}]*)? \}$", numbered, page, flags=re.M)
