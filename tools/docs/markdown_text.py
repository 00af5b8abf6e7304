"""What the pages of the reference share: text of comments as Markdown."""

import re

_MOST_NAMES = 4  # in a heading
_CODE = re.compile(r"(`[^`]*`)")


def escape(text: str) -> str:
    """Text of a comment with the characters escaped that Markdown would take as markup."""
    parts = _CODE.split(text)
    return "".join(
        part if part.startswith("`") and len(part) > 1
        else re.sub(r"([*_\[\]|])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def code(text: str, language: str) -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def heading(level: int, names: list[str], anchor: str, label: str = "") -> str:
    """A heading of names of the program, by another label in the table of contents if need be."""
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown += f" and {len(names) - _MOST_NAMES} more"
    label = f' data-toc-label="{label}"' if label else ""
    return f"{'#' * level} {shown} {{ #{anchor}{label} }}\n"


def wrap_call(head: str, arguments: list[str], tail: str, columns: int = 88) -> str:
    """`head(arguments)tail` on one line, or an argument a line where that is too long."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= columns or not arguments:
        return line
    return f"{head}(\n" + "".join(f"    {each},\n" for each in arguments)[:-2] + f"\n){tail}"


def unique_anchors(page: str) -> str:
    """The page with a number behind each anchor that it has had already."""
    seen: dict[str, int] = {}

    def numbered(match: re.Match) -> str:
        seen[match[1]] = seen.get(match[1], 0) + 1
        suffix = f"-{seen[match[1]]}" if seen[match[1]] > 1 else ""
        return f"{{ #{match[1]}{suffix}{match[2] or ''} }}"

    return re.sub(r"\{ #([\w-]+)( data-[^}]*)? \}$", numbered, page, flags=re.M)
