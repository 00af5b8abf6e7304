#!/usr/bin/env python3
"""Draws Scanloom's time relative to the best peer as an SVG, with one bar per question.

    python3 bench/picture.py build/bench.json build/bench.svg
    python3 bench/picture.py docs/benchmarks.md docs/benchmarks.svg

run.py itself draws build/bench.svg. The second command draws the table of the page, for the
README."""

import argparse
import dataclasses
import html
import json
import math
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping

from tables import time_text

# Prefixes of the peers that people would use instead; a C loop is a lower bound, shown as a mark.
ENGINES = ("onnxruntime", "ort ", "openvino", "jax", "numba", "pytensor", "scipy", "torch", "numpy",
           "onednn")
FLOOR = "C loop"
STRATEGIES = ("compiled", "compiled_steps", "mixed", "stepped")

LEFT, PLOT, RIGHT, TOP, ROW = 230, 400, 250, 58, 15
LEAST, MOST = 1e-3, 10.0  # the range of the axis; a bar that exceeds it ends in an arrow
AHEAD, BEHIND, INK, GRID = "#2b6cb0", "#c05621", "#1a202c", "#cbd5e0"


@dataclasses.dataclass(frozen=True)
class Row:
    """One question compared with one peer."""

    question: str
    peer: str
    ours: str
    ratio: float


@dataclasses.dataclass(frozen=True)
class Picture:
    where: str  # the machine
    rows: list[Row]


@dataclasses.dataclass(frozen=True)
class Bar:
    name: str
    best: Row  # compared with the fastest peer
    floor: float | None  # the ratio to the C loop


def rows_of_report(report: Mapping) -> Picture:
    """Reads the JSON written by run.py, without the questions about memory."""
    machine = report["machine"]
    where = f"{machine['cpu']} (family {machine['family']}), {machine['date']}"
    if report["threads"] > 1:
        where += f", {report['threads']} threads"
    rows = [
        Row(item["question"], item["peer"], time_text(item["ours_ns"]), item["ratio_median"])
        for item in report["comparisons"]
        if not item["memory"]
    ]
    # OpenVINO's models would add seventy bars with the same peer; draw them only on their own.
    others = [row for row in rows if not row.question.startswith("openvino/")]
    return Picture(where, others or rows)


def rows_of_page(text: str) -> Picture:
    """Reads the first table of docs/benchmarks.md with a column of peers."""
    chapter = text.partition("\n## Measured\n")[2]
    where, _, rest = chapter.partition(";")
    table = rest.partition("| question | peer | Scanloom |")[2].partition("\n\n")[0]
    rows = []
    for line in table.splitlines()[2:]:
        question, peer, ours, _, ratio, _ = (cell.strip() for cell in line.strip("|").split("|"))
        if not ours.endswith("MiB"):
            rows.append(Row(question, peer, ours, float(ratio)))
    return Picture(" ".join(where.split()), rows)


def bars(rows: Iterable[Row]) -> list[Bar]:
    """Sorts by advantage, largest first. Stepped times are used only if there are no others."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_without_strategy(row.question), []).append(row)
    made = []
    for name, group in found.items():
        fast = [row for row in group if not row.question.endswith("/stepped")]
        peers = [row for row in fast or group if row.peer.startswith(ENGINES)]
        floors = [row.ratio for row in fast or group if row.peer == FLOOR]
        if peers:
            best = max(peers, key=lambda row: row.ratio)
            made.append(Bar(name, best, max(floors, default=None)))
    return sorted(made, key=lambda bar: bar.best.ratio)


def _without_strategy(question: str) -> str:
    head, _, word = question.rpartition("/")
    return head if head and word in STRATEGIES else question


def draw(picture: Picture) -> str:
    """Returns the SVG text, which depends only on the figures."""
    found = bars(picture.rows)
    height = TOP + ROW * len(found) + 16
    width = LEFT + PLOT + RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="{INK}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(8, 16, "Scanloom's time over the best peer's (shorter is better; 1: equal; "
              "black mark: a plain C loop)", size=13),
        _text(8, 32, picture.where),
        *_axis(height),
    ]
    for index, bar in enumerate(found):
        lines += _draw_bar(bar, TOP + ROW * index)
    return "\n".join([*lines, "</svg>", ""])


def _axis(height: int) -> Iterator[str]:
    for power in range(round(math.log10(LEAST)), round(math.log10(MOST)) + 1):
        at, ink = _place(10**power), INK if power == 0 else GRID
        yield f'<path d="M{at:.1f} {TOP - 4}V{height - 12}" stroke="{ink}"/>'
        yield _text(at, TOP - 8, f"{10**power:g}", "middle")


def _draw_bar(bar: Bar, y: int) -> Iterator[str]:
    """Draws from 1 to the ratio, with the name on the left and the figures on the right."""
    ratio, one = bar.best.ratio, _place(1)
    end, color = _place(ratio), AHEAD if ratio <= 1 else BEHIND
    left, length = min(end, one), abs(end - one)
    yield _text(LEFT - 8, y + 11, bar.name, "end")
    yield (f'<rect x="{left:.1f}" y="{y + 2}" width="{length:.1f}" height="{ROW - 4}" '
           f'fill="{color}"/>')
    if ratio < LEAST:
        yield f'<path d="M{LEFT} {y + 2}v{ROW - 4}l-6 {-(ROW - 4) / 2:g}z" fill="{color}"/>'
    if bar.floor is not None:
        at = _place(bar.floor)
        yield f'<path d="M{at:.1f} {y + 1}v{ROW - 2}" stroke="#000000" stroke-width="2"/>'
    figures = f"{ratio:.2g} of {bar.best.peer} ({bar.best.ours})"
    yield _text(LEFT + PLOT + 8, y + 11, figures)


def _place(ratio: float) -> float:
    """The position of a ratio on the logarithmic axis."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + PLOT * share


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 11) -> str:
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">'
            f"{html.escape(text, quote=False)}</text>")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", type=pathlib.Path, help="bench.json, or the page with a table")
    parser.add_argument("drawing", type=pathlib.Path, help="the SVG to write")
    arguments = parser.parse_args()
    text = arguments.figures.read_text()
    is_page = arguments.figures.suffix == ".md"
    found = rows_of_page(text) if is_page else rows_of_report(json.loads(text))
    if not bars(found.rows):
        parser.error(f"{arguments.figures} compares Scanloom with none of its peers")
    arguments.drawing.write_text(draw(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
