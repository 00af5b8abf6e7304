"""Markdown for the pages of the reference: escaped comments, headings, listings, anchors."""

import re

_MOST_NAMES = 4  # in a heading
_CODE = re.compile(r"(`[^`]*`)")


def escape(text: str) -> str:
    """Returns text of a comment, with the characters escaped that are markup in Markdown."""
    parts = _CODE.split(text)
    return "".join(
        part if part.startswith("`") and len(part) > 1
        else re.sub(r"([*_\[\]|])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def code(text: str, language: str) -> str:
    """Returns a fenced block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def heading(level: int, names: list[str], anchor: str, label: str = "") -> str:
    """Returns a heading of names; `label` replaces them in the table of contents."""
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown += f" and {len(names) - _MOST_NAMES} more"
    label = f' data-toc-label="{label}"' if label else ""
    return f"{'#' * level} {shown} {{ #{anchor}{label} }}\n"


def wrap_call(head: str, arguments: list[str], tail: str, columns: int = 88) -> str:
    """Returns `head(arguments)tail`, with an argument per line where one line is too short."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= columns or not arguments:
        return line
    return f"{head}(\n" + "".join(f"    {each},\n" for each in arguments)[:-2] + f"\n){tail}"


def unique_anchors(page: str) -> str:
    """Returns the page with numbers appended to anchors that occur before."""
    seen: dict[str, int] = {}

    def numbered(match: re.Match) -> str:
        seen[match[1]] = seen.get(match[1], 0) + 1
        suffix = f"-{seen[match[1]]}" if seen[match[1]] > 1 else ""
        return f"{{ #{match[1]}{suffix}{match[2] or ''} }}"

    return re.sub(r"\{ #([\w-]+)( data-[^}]*)? \}$", numbered, page, flags=re.M)
