#!/usr/bin/env python3
"""Draws Scanloom's time over that of the best peer, a bar per question, as an SVG.

    python3 bench/picture.py build/bench.json build/bench.svg
    python3 bench/picture.py docs/benchmarks.md docs/benchmarks.svg

run.py draws build/bench.svg itself. The second line draws the table of the page, which the picture
in the README shows."""

import argparse
import dataclasses
import html
import json
import math
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping

from tables import time_text

# Beginnings of the peers that people would use instead; a C loop is a floor and gets a mark.
ENGINES = ("onnxruntime", "ort ", "openvino", "jax", "numba", "pytensor", "scipy", "torch", "numpy",
           "onednn")
FLOOR = "C loop"
STRATEGIES = ("compiled", "compiled_steps", "mixed", "stepped")

LEFT, PLOT, RIGHT, TOP, ROW = 190, 420, 230, 58, 15
LEAST, MOST = 1e-3, 10.0  # of the axis; a shorter bar ends in an arrow
AHEAD, BEHIND, INK, GRID = "#2b6cb0", "#c05621", "#1a202c", "#cbd5e0"


@dataclasses.dataclass(frozen=True)
class Row:
    """One question beside one peer."""

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
    best: Row  # beside the fastest peer
    floor: float | None  # the ratio beside the C loop


def rows_of_report(report: Mapping) -> Picture:
    """From what run.py writes as JSON; memory is no time and stays out."""
    machine = report["machine"]
    where = f"{machine['cpu']} (family {machine['family']}), {machine['date']}"
    if report["threads"] > 1:
        where += f", {report['threads']} threads"
    rows = [
        Row(item["question"], item["peer"], time_text(item["ours_ns"]), item["ratio_median"])
        for item in report["comparisons"]
        if not item["memory"]
    ]
    # Seventy more bars, whose peer is always the same: alone only.
    others = [row for row in rows if not row.question.startswith("openvino/")]
    return Picture(where, others or rows)


def rows_of_page(text: str) -> Picture:
    """From the first table of docs/benchmarks.md that has a column of peers."""
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
    """The largest advantage first. Stepped figures count where there are no others."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_without_strategy(row.question), []).append(row)
    made = []
    for name, group in found.items():
        fast = [row for row in group if not row.question.endswith("/stepped")]
        beside = [row for row in fast or group if row.peer.startswith(ENGINES)]
        floors = [row.ratio for row in fast or group if row.peer == FLOOR]
        if beside:
            best = max(beside, key=lambda row: row.ratio)
            made.append(Bar(name, best, max(floors, default=None)))
    return sorted(made, key=lambda bar: bar.best.ratio)


def _without_strategy(question: str) -> str:
    head, _, word = question.rpartition("/")
    return head if head and word in STRATEGIES else question


def draw(picture: Picture) -> str:
    """The SVG's text; the same figures give the same text."""
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
    """From 1 to the ratio; the name on the left, the figures on the right."""
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
    """Where a ratio lies on the logarithmic axis."""
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
