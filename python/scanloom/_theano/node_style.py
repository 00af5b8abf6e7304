"""Labels and colours of graph nodes, in text and in pictures."""

from __future__ import annotations

from typing import Any

from .._errors import in_numpy_words

COLORS = {
    "input": "#dcebdc", "shared": "#f5e6c8", "constant": "#eeeeee", "loop": "#d4e1f4",
    "branch": "#eadcf0",
}  # fmt: skip


def title(node: Any) -> str:
    """The label of a node: the name or value of a leaf, otherwise the operation."""
    operation, name = node["operation"], node["name"]
    if operation == "constant":
        return node["value"] or name or "constant"
    if operation in ("input", "shared"):
        return name or f"<{in_numpy_words(node['types'][0])}>"
    return f"{operation}{{{name}}}" if name else operation
