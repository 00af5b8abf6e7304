#!/usr/bin/env python3
"""Draws the pictures of the documents: python3 docs/drawings/draw.py [FOLDER].

Text stays text, and the colours follow the reader's choice of light or dark.
"""

import html
import pathlib
import sys

STYLE = """
    .card { fill: #ffffff; stroke: #d0d7de }
    .box { fill: #e8ecfb; stroke: #4254c5 }
    .soft { fill: #f3f5f7; stroke: #8c959f }
    .hot { fill: #fdeedd; stroke: #b35900 }
    .area { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
    text { font: 14px sans-serif; fill: #1f2328; text-anchor: middle }
    .left { text-anchor: start }
    .right { text-anchor: end }
    .strong { font-weight: bold }
    .note { font-size: 12px; fill: #57606a }
    .code { font-family: monospace; font-size: 13px }
    .line { stroke: #57606a; stroke-width: 1.4; fill: none }
    .arrow { stroke: #57606a; stroke-width: 1.4; fill: none; marker-end: url(#tip) }
    .tip { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .card { fill: #171a21; stroke: #3d444d }
      .box { fill: #232b52; stroke: #8c9bf5 }
      .soft { fill: #252a32; stroke: #848d97 }
      .hot { fill: #3d2a14; stroke: #f0a55a }
      .area { stroke: #848d97 }
      text { fill: #e6edf3 }
      .note { fill: #a5adb8 }
      .line, .arrow { stroke: #a5adb8 }
      .tip { fill: #a5adb8 }
    }"""


class Drawing:
    """An SVG in the making; coordinates are pixels from the upper left corner."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img">',
            f"  <title>{html.escape(title)}</title>",
            f"  <style>{STYLE}\n  </style>",
            '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>',
        ]
        self.rect(1, 1, width - 2, height - 2, "card", 8)

    def rect(self, x, y, width, height, kind, radius=4) -> None:
        self.parts.append(f'  <rect class="{kind}" x="{x}" y="{y}" width="{width}"'
                          f' height="{height}" rx="{radius}"/>')

    def text(self, x, y, text, kind="") -> None:
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(f'  <text{kind} x="{x}" y="{y}">{html.escape(text)}</text>')

    def box(self, x, y, width, height, *lines, kind="box") -> None:
        """A box with a strong first line and notes below it, centred."""
        self.rect(x, y, width, height, kind)
        top = y + height / 2 + 5 - 8 * (len(lines) - 1)
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + 16 * i, line, "strong" if i == 0 else "note")

    def arrow(self, *points, kind="arrow") -> None:
        path = "L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'  <path class="{kind}" d="M{path}"/>')

    def brace(self, left, right, y, text) -> None:
        """A span below a row of boxes, with a word under it."""
        self.arrow((left, y), (left, y + 7), (right, y + 7), (right, y), kind="line")
        self.text((left + right) / 2, y + 23, text, "note")

    def svg(self) -> str:
        return "\n".join([*self.parts, "</svg>\n"])


def data_path() -> Drawing:
    """From the bytes of a model to results."""
    d = Drawing("The way of the data: from a model to results", 980, 320)
    for y, name in ((50, "ONNX"), (94, "OpenVINO IR")):
        d.box(20, y, 120, 34, name, kind="soft")
    d.box(20, 138, 120, 34, "C++, Python", kind="soft")
    d.box(180, 50, 120, 78, "front-ends", "bytes to IR", "untrusted input")
    d.box(180, 138, 120, 34, "expr, grad")
    d.box(350, 80, 110, 60, "Module", "one loop,", "one branch")
    d.box(350, 20, 110, 36, "passes")
    d.box(520, 80, 110, 60, "Plan", "packed weights,", "candidates")
    d.box(680, 80, 110, 60, "Binding", "strategies,", "slots, kernels")
    d.box(840, 80, 110, 60, "Run", "executes,", "decides nothing")
    for y in (67, 111):
        d.arrow((140, y), (180, y))
    d.arrow((140, 155), (180, 155))
    d.arrow((300, 89), (325, 89), (325, 104), (350, 104))
    d.arrow((300, 155), (325, 155), (325, 120), (350, 120))
    d.arrow((385, 80), (385, 56))
    d.arrow((425, 56), (425, 80))
    for left, right in ((460, 520), (630, 680), (790, 840)):
        d.arrow((left, 110), (right, 110))
    d.text(895, 68, "feeds in, results out", "note")
    d.box(180, 210, 120, 50, "exporters", "ONNX, IR", kind="soft")
    d.box(350, 210, 110, 50, "interp", "the oracle", kind="soft")
    d.box(560, 210, 150, 50, "jit (plug-in)", "loops as machine code", kind="hot")
    d.box(740, 210, 150, 50, "kernels", "per instruction set", kind="hot")
    d.arrow((405, 140), (405, 210))
    d.arrow((375, 140), (375, 190), (240, 190), (240, 210))
    d.arrow((635, 210), (635, 185), (710, 185), (710, 140))
    d.arrow((815, 210), (815, 185), (760, 185), (760, 140))
    d.brace(180, 630, 278, "once per model")
    d.brace(640, 830, 278, "once per combination of input sizes")
    d.brace(840, 950, 278, "every call")
    return d


def loop_ports() -> Drawing:
    """The four kinds of ports, and the condition."""
    d = Drawing("The ports of a loop", 860, 400)
    d.rect(300, 40, 260, 270, "area", 10)
    d.text(430, 30, "loop", "strong")
    d.box(350, 70, 160, 190, "body", "one step,", "isolated: it reads", "its arguments only")
    rows = [(90, "captured", "the same value in every step"),
            (150, "initial", "the state before the first step"),
            (210, "scanned", "a tensor: step k takes slice k")]
    for y, name, note in rows:
        d.text(230, y + 1, name, "right strong")
        d.text(230, y + 17, note, "right note")
        d.arrow((240, y), (350, y))
    d.text(630, 151, "final", "left strong")
    d.text(630, 167, "the state after the last step", "left note")
    d.text(630, 211, "stacked", "left strong")
    d.text(630, 227, "a tensor: step k makes row k", "left note")
    d.arrow((510, 150), (620, 150))
    d.arrow((510, 210), (620, 210))
    d.arrow((536, 150), (536, 284), (324, 284), (324, 156))
    d.text(430, 302, "carried: the next step reads it", "note")
    d.arrow((510, 90), (620, 90))
    d.text(630, 91, "keep_going", "left code")
    d.text(630, 107, "false: this was the last step", "left note")
    d.text(430, 344, "The loop ends after its trip count, when the first condition or keep_going is false,",
           "note")
    d.text(430, 362, "or when the slices run out. A step leaves states and rows, nothing else.", "note")
    return d


def loop_life() -> Drawing:
    """What a loop is from file to machine code, who makes it and what shows it."""
    d = Drawing("The life of a loop", 860, 610)
    stages = [
        ("node of a file", "Scan, Loop, TensorIterator, scan()", "", "soft"),
        ("loop of a Module", "typed ports, isolated body", "scanloom show", "box"),
        ("loop after passes", "hoisted, fused, batched over steps", "scanloom show --passes", "box"),
        ("node of a Plan", "the kernels that it may use", "scanloom show --plan", "box"),
        ("instructions of a Binding", "strategy, slots, kernels", "scanloom show --plan --dim T=1000", "box"),
        ("loop nests", "statements over elements, fused", "scanloom show --nests", "hot"),
        ("LLVM IR", "any number of steps, vectors of lanes", "scanloom show --llvm", "hot"),
        ("machine code", "states in registers where they fit", "scanloom show --assembly", "hot"),
    ]
    verbs = ["front-end, or lower", "passes", "plan", "bind", "codegen", "jit", "LLVM"]
    d.text(285, 34, "what it is", "note")
    d.text(530, 34, "what shows it", "left note")
    for i, (name, note, shows, kind) in enumerate(stages):
        y = 48 + 68 * i
        d.box(160, y, 250, 44, name, note, kind=kind)
        if shows:
            d.text(530, y + 27, shows, "left code")
        if i < len(verbs):
            d.arrow((285, y + 44), (285, y + 68))
            d.text(295, y + 61, verbs[i], "left note")
    for top, bottom, line in ((48, 296, "once per model"), (320, 364, "once per sizes"),
                              (388, 568, "once it pays")):
        d.arrow((140, top), (132, top), (132, bottom), (140, bottom), kind="line")
        d.text(124, (top + bottom) / 2 + 4, line, "right note")
    d.arrow((410, 342), (470, 342), (470, 546), (410, 546))
    d.text(480, 456, "Steps run as instructions first.", "left note")
    d.text(480, 474, "What outlives a step is stored where both", "left note")
    d.text(480, 492, "find it, so code takes over at any step.", "left note")
    return d


def memory() -> Drawing:
    """Where the values of a loop are stored."""
    d = Drawing("Where the values of a loop are stored", 860, 436)
    d.text(110, 40, "feed x", "strong")
    for i in range(6):
        d.rect(40, 56 + 30 * i, 140, 30, "hot" if i == 2 else "soft", 0)
        d.text(110, 76 + 30 * i, f"x[{i}]", "code")
    d.text(110, 260, "the caller's memory;", "note")
    d.text(110, 276, "a slot moves by one row a step", "note")
    d.text(430, 40, "arena of the Run", "strong")
    d.rect(300, 56, 260, 180, "area", 6)
    d.box(320, 72, 105, 44, "h", "this step reads")
    d.box(435, 72, 105, 44, "h'", "this step writes")
    d.arrow((400, 128), (400, 138), (460, 138), (460, 128))
    d.arrow((460, 128), (460, 138), (400, 138), (400, 128))
    d.text(430, 154, "swapped after each step", "note")
    d.box(320, 170, 220, 44, "temporaries", "offsets by lifetime: one is reused", kind="soft")
    d.text(430, 260, "one block per Run, sized when binding;", "note")
    d.text(430, 276, "no step allocates", "note")
    d.text(750, 40, "result y", "strong")
    for i in range(6):
        d.rect(680, 56 + 30 * i, 140, 30, "hot" if i == 2 else "soft", 0)
        d.text(750, 76 + 30 * i, f"y[{i}]", "code")
    d.text(750, 260, "the result's memory;", "note")
    d.text(750, 276, "rows are written in place", "note")
    d.arrow((180, 131), (300, 131))
    d.arrow((560, 131), (680, 131))
    d.text(240, 122, "read", "note")
    d.text(620, 122, "write", "note")
    d.arrow((40, 310), (820, 310), kind="line")
    d.text(40, 340, "In place", "left strong")
    d.text(150, 340, "a state that steps only write parts of has one buffer instead of two", "left note")
    d.text(40, 364, "Blocked", "left strong")
    d.text(150, 364, "rows that passes compute before the loop are made in blocks of steps that fit into L2",
           "left note")
    d.text(40, 388, "Open", "left strong")
    d.text(150, 388, "a stack whose length only the run knows is reserved when the loop begins, and grows",
           "left note")
    d.text(40, 412, "Dynamic", "left strong")
    d.text(150, 412, "a tensor whose size data decide has memory of its own in the Run", "left note")
    return d


DRAWINGS = {"data-path": data_path, "loop-ports": loop_ports, "loop-life": loop_life, "memory": memory}


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
