"""Tables of the operators supported by the front-ends, from their list.inc files."""

import pathlib
import re

_ONNX = re.compile(r"^SCANLOOM_ONNX_OP\((\w+), \"([\w.]*)\", \w+, ([-\d, ]+)\)$", re.M)
_OPENVINO = re.compile(r"^SCANLOOM_OPENVINO\((\w+), \w+, ([-\d, ]+)\)$", re.M)


def count(low: int, high: int) -> str:
    if high == low:
        return str(low)
    return f"{low} or more" if high < 0 else f"{low} to {high}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def onnx(root: pathlib.Path, domain: str) -> str:
    text = (root / "src/frontends/onnx/list.inc").read_text(encoding="utf-8")
    rows = []
    for name, where, rest in _ONNX.findall(text):
        low, high, outputs, *versions = numbers(rest)
        if where == domain:
            rows.append([f"`{name}`", count(low, high), count(1, outputs) if outputs else "0",
                         ", ".join(map(str, versions))])
    return table(["operator", "inputs", "outputs", "versions"], rows)


def openvino(root: pathlib.Path) -> str:
    text = (root / "src/frontends/openvino/list.inc").read_text(encoding="utf-8")
    rows = []
    for name, rest in _OPENVINO.findall(text):
        low, high, *versions = numbers(rest)
        rows.append([f"`{name}`", count(low, high), ", ".join(map(str, versions))])
    return table(["operation", "inputs", "operation sets"], rows)


PARTS = {
    "operators of ai.onnx": lambda root: onnx(root, ""),
    "operators of ai.onnx.ml": lambda root: onnx(root, "ai.onnx.ml"),
    "operators of com.microsoft": lambda root: onnx(root, "com.microsoft"),
    "operators of ai.onnx.preview": lambda root: onnx(root, "ai.onnx.preview"),
    "operators of ai.onnx.preview.training": lambda root: onnx(root, "ai.onnx.preview.training"),
    "operations of OpenVINO": openvino,
}
