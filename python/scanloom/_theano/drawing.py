"""Graphs as SVG, laid out in rows: every node is below its inputs."""

from __future__ import annotations

from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from .node_style import COLORS, title

_CHAR, _HEIGHT, _GAP, _ROW = 7.2, 26, 18, 62


class _Box(NamedTuple):
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class _Picture(NamedTuple):
    """Parts of a drawing and their total size."""

    parts: list[str]
    width: float
    height: float


def drawing(graph: Any) -> str:
    """The SVG file: the graph, followed by the bodies of its loops and branches."""
    panels = [_panel("", graph)]
    waiting = [graph]
    while waiting:
        current = waiting.pop(0)
        for node in current["nodes"]:
            for i, body in enumerate(node["bodies"]):
                side = f", side {i + 1}" if len(node["bodies"]) > 1 else ""
                panels.append(_panel(f"body of {title(node)}{side}", body))
                waiting.append(body)
    top, parts = 0.0, []
    for panel in panels:
        parts.append(f'<g transform="translate(0 {top:.0f})">{"".join(panel.parts)}</g>')
        top += panel.height
    width = max(panel.width for panel in panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}"'
        f' font-family="sans-serif" font-size="12">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _panel(heading: str, graph: Any) -> _Picture:
    nodes = graph["nodes"]
    boxes, width, bottom = _layout(nodes, 40 if heading else 16)
    parts = [f'<text x="16" y="24" font-weight="bold">{escape(heading)}</text>'] if heading else []
    for place, node in enumerate(nodes):
        ports = node["ports"] or [""] * len(node["inputs"])
        for i, (value, port) in enumerate(zip(node["inputs"], ports)):
            if value is not None:
                parts.append(_edge(boxes[value[0]], boxes[place], i, len(ports), port))
    parts += [_node(box, node) for box, node in zip(boxes, nodes)]
    for value in graph["outputs"]:
        if value is not None:
            box = boxes[value[0]]
            end = box.y + _HEIGHT
            parts.append(
                f'<path d="M{box.middle:.0f} {end:.0f} v14" stroke="#333" stroke-width="2"/>'
            )
    return _Picture(parts, width, bottom + 30)


def _layout(nodes: Any, top: float) -> tuple[list[_Box], float, float]:
    """Assigns nodes to rows by the longest path from a leaf."""
    rows: list[int] = []
    for node in nodes:
        above = [rows[value[0]] for value in node["inputs"] if value is not None]
        rows.append(max(above) + 1 if above else 0)
    ends: dict[int, float] = {}
    boxes = []
    for node, row in zip(nodes, rows):
        wanted = max(_CHAR * len(_label(node)) + 16, 18.0 * len(node["ports"]), 40)
        x = ends.get(row, 16.0)
        boxes.append(_Box(x, top + row * _ROW, wanted))
        ends[row] = x + wanted + _GAP
    return boxes, max(ends.values(), default=80.0), top + (max(rows, default=0) + 1) * _ROW


def _label(node: Any) -> str:
    text: str = title(node)
    return text if len(text) <= 40 else text[:37] + "..."


def _node(box: _Box, node: Any) -> str:
    color = COLORS.get(node["operation"], "#ffffff")
    types = escape(", ".join(node["types"]))
    return (
        f'<g><title>{escape(title(node))}: {types}</title>'
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{_HEIGHT}"'
        f' rx="4" fill="{color}" stroke="#555"/>'
        f'<text x="{box.middle:.0f}" y="{box.y + 17:.0f}" text-anchor="middle">'
        f"{escape(_label(node))}</text></g>"
    )


def _edge(start: _Box, end: _Box, i: int, count: int, port: str) -> str:
    x = end.x + end.width * (i + 1) / (count + 1)
    y0, y1 = start.y + _HEIGHT, end.y
    line = (
        f'<path d="M{start.middle:.0f} {y0:.0f} C{start.middle:.0f} {y0 + 18:.0f} {x:.0f}'
        f' {y1 - 18:.0f} {x:.0f} {y1:.0f}" fill="none" stroke="#888"/>'
    )
    if not port:
        return line
    return line + (
        f'<circle cx="{x:.0f}" cy="{y1:.0f}" r="3" fill="#555"><title>{port}</title></circle>'
        f'<text x="{x + 3:.0f}" y="{y1 - 4:.0f}" font-size="8" fill="#555">{port}</text>'
    )
