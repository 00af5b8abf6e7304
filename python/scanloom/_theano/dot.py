"""Graphs as Graphviz text, and as pictures rendered by its program."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from .._errors import InvalidArgument, NotFound
from .node_style import COLORS, title


def dot_text(graph: Any) -> str:
    """A directed graph. Bodies of loops and branches are clusters, connected to their node."""
    lines = ["digraph {", "node [shape=box, style=filled, fillcolor=white, fontname=sans];"]
    waiting = [("n", "", "", graph)]
    while waiting:
        prefix, owner, heading, current = waiting.pop(0)
        if owner:
            lines.append(f"subgraph cluster_{prefix} {{ label={json.dumps(heading)};")
        for place, node in enumerate(current["nodes"]):
            name = f"{prefix}{place}"
            color = COLORS.get(node["operation"], "#ffffff")
            lines.append(f'{name} [label={json.dumps(title(node))}, fillcolor="{color}"];')
            ports = node["ports"] or [""] * len(node["inputs"])
            for value, port in zip(node["inputs"], ports):
                if value is not None:
                    label = f" [label={json.dumps(port)}]" if port else ""
                    lines.append(f"{prefix}{value[0]} -> {name}{label};")
            for side, body in enumerate(node["bodies"]):
                told = f"body of {title(node)}" + (f", side {side + 1}" if side else "")
                waiting.append((f"{name}_{side}_", name, told, body))
        for i, value in enumerate(current["outputs"]):
            if value is None:
                continue
            end = f"{prefix}out{i}"
            lines.append(f'{end} [label="output {i}", shape=plaintext, fillcolor=none];')
            lines.append(f"{prefix}{value[0]} -> {end};")
        if owner:
            lines.append("}")
            if current["outputs"]:
                lines.append(f"{prefix}out0 -> {owner} [style=dashed];")
    return "\n".join([*lines, "}", ""])


def drawn_by_dot(text: str, kind: str) -> bytes:
    """Renders the text as a file of that kind. Raises NotFound, InvalidArgument."""
    program = shutil.which("dot")
    if program is None:
        raise NotFound(
            f"{kind} pictures need Graphviz's program 'dot', which is not installed",
            ("use the extension .svg, which needs no other program",),
        )
    done = subprocess.run([program, f"-T{kind}"], input=text.encode(), capture_output=True)
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip()[:500]
        raise InvalidArgument(f"'dot' failed: {told}")
    return done.stdout
