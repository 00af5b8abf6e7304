#!/usr/bin/env python3
"""Writes the skeleton of an element-wise operator of one operand, with its gradient and interfaces.

    tools/dev/new_operator.py log_cosh --doc "log(cosh(x)), which does not overflow."

The skeleton computes 1 * x: it builds and passes the tests as it is, and the program of the
operator, its samples and its gradient are to be filled in. What ONNX or OpenVINO know under the same
name is read and written as the new operator. Everything is written, or nothing if a place was not
found."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import element_functions

PROJECT = pathlib.Path(__file__).resolve().parents[2]

OPERATOR = """\
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {{
namespace {{
namespace {name} {{

ir::Reg scalar(ir::ScalarCtx& s) {{
  const ir::Reg x = s.in(0);
  return s.binary(ir::ScalarOp::mul, x, s.constant(1, s.dtype(x)));
}}

}}  // namespace {name}
}}  // namespace

constinit const ir::OpDef {name}_op{{
    .name = "{name}",
    .doc = "{doc}",
    .inputs = {{{{"x", ir::Accept::real}}}},
    .outputs = {{"y"}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<{name}::scalar>,
    .reference = reference_from_scalar<{name}::scalar>,
    .scalar = {name}::scalar,
}};

}}  // namespace scanloom::ops
"""

SAMPLES = """\
#include "tests/ops/samples.h"

namespace scanloom::ops {{

std::vector<Sample> {name}_samples() {{
  return {{
      {{.name = "normal",
       .inputs = {{f32({{2, 2}}, {{0.5, -1.25, 3, -20}})}},
       .outputs = {{f32({{2, 2}}, {{0.5, -1.25, 3, -20}})}},
       .ulps = 2}},
      {{.name = "special_values",
       .inputs = {{f32({{5}}, {{0, -0.0, kInf, -kInf, kNan}})}},
       .outputs = {{f32({{5}}, {{0, -0.0, kInf, -kInf, kNan}})}}}},
      {{.name = "f64",
       .inputs = {{f64({{3}}, {{0.5, -1.25, 3}})}},
       .outputs = {{f64({{3}}, {{0.5, -1.25, 3}})}},
       .ulps = 2}},
      {{.name = "f16",
       .inputs = {{floats(DType::f16, {{2}}, {{0.5, 0.125}})}},
       .outputs = {{floats(DType::f16, {{2}}, {{0.5, 0.125}})}},
       .ulps = 1}},
      {{.name = "empty", .inputs = {{f32({{2, 0}}, {{}})}}, .outputs = {{f32({{2, 0}}, {{}})}}}},
  }};
}}

}}  // namespace scanloom::ops
"""


class PlaceMissing(Exception):
    """A file is not laid out as this script expects."""


class Edits:
    """Changes to the files of a tree, kept in memory until all of them are known."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.texts: dict[str, str] = {}

    def read(self, path: str) -> str:
        if path not in self.texts:
            self.texts[path] = (self.root / path).read_text(encoding="utf-8")
        return self.texts[path]

    def insert_before(self, path: str, anchor: str, text: str) -> None:
        """Inserts whole lines before the first line that begins with `anchor` after its indent,
        and indents them like it."""
        found = re.search(rf"^([ \t]*){re.escape(anchor)}", self.read(path), re.M)
        if found is None:
            raise PlaceMissing(f"{path}: no line begins with '{anchor}'")
        old, at = self.texts[path], found.start()
        self.texts[path] = old[:at] + textwrap.indent(text, found[1]) + old[at:]

    def insert_sorted(self, path: str, row: str, pattern: str) -> None:
        """Inserts a line among those that match `pattern`, by its first group."""
        key = re.match(pattern, row)[1]
        found = list(re.finditer(rf"^{pattern}.*\n", self.read(path), re.M))
        if not found:
            raise PlaceMissing(f"{path}: no line is like '{row.strip()}'")
        at = next((other.start() for other in found if other[1] > key), found[-1].end())
        self.texts[path] = self.texts[path][:at] + row + "\n" + self.texts[path][at:]

    def substitute(self, path: str, pattern: str, text: str) -> None:
        new, count = re.subn(pattern, lambda _: text, self.read(path), count=1, flags=re.M | re.S)
        if count == 0:
            raise PlaceMissing(f"{path}: nothing matches '{pattern}'")
        self.texts[path] = new

    def write(self) -> list[str]:
        """Writes every changed file and returns their paths, sorted."""
        changed = [path for path, text in self.texts.items()
                   if not (self.root / path).is_file()
                   or (self.root / path).read_text(encoding="utf-8") != text]
        for path in changed:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(self.texts[path], encoding="utf-8")
        return sorted(changed)


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def add_operator(edits: Edits, name: str, doc: str) -> None:
    edits.texts[f"src/ops/elementwise/{name}.cpp"] = OPERATOR.format(name=name, doc=quoted(doc))
    edits.texts[f"tests/ops/elementwise/{name}.cpp"] = SAMPLES.format(name=name)
    edits.insert_sorted("src/ops/list.inc", f"SCANLOOM_OP({name})", r"SCANLOOM_OP\((\w+)\)")


def add_gradient(edits: Edits, name: str) -> None:
    path = "src/grad/elementwise.cpp"
    edits.insert_before(path, "void pull_relu(", f"void pull_{name}(Pull& p) {{ p.give(0, p.g()); }}\n")
    edits.insert_before(path, "{&ops::relu_op,", f"{{&ops::{name}_op, pull_{name}}},\n")


def add_functions(edits: Edits, name: str, doc: str, group: str) -> None:
    """The function of C++ and of Python: one row, and what is generated from it."""
    path = element_functions.LIST
    section = re.search(rf"^// {re.escape(group)}\n(?:SCANLOOM_FUNCTION\(.*\n)*", edits.read(path), re.M)
    if section is None:
        raise PlaceMissing(f"{path}: no group '// {group}'")
    row = f'SCANLOOM_FUNCTION({name}, "{name}", "{quoted(doc)}")\n'
    edits.texts[path] = edits.texts[path][:section.end()] + row + edits.texts[path][section.end():]
    listed = element_functions.parse(edits.texts[path])
    for generated in element_functions.PARTS:
        try:
            edits.texts[generated] = element_functions.updated(
                generated, edits.read(generated), listed)
        except LookupError as missing:
            raise PlaceMissing(str(missing)) from None
    document(edits, name, doc, group)


def document(edits: Edits, name: str, doc: str, group: str) -> None:
    """The row that update_docs.py would write once the package is built."""
    page = "docs/tensor-functions.md"
    table = re.search(rf"^### {re.escape(group)}\n\n(?:\|.*\n)+", edits.read(page), re.M)
    if table is None:
        raise PlaceMissing(f"{page}: no table follows '### {group}'")
    head, stop, _ = doc.partition(". ")
    line = f"| `{name}` | {(head + '.' if stop else doc)} |\n".replace("\\", "\\\\")
    edits.texts[page] = edits.texts[page][:table.end()] + line + edits.texts[page][table.end():]


class Format:
    """A format's list of operators, its table of operators of the same meaning, and its forms."""

    def __init__(self, folder: str, row: str, converter: str, context: str):
        self.folder, self.row, self.converter, self.context = folder, row, converter, context

    def find(self, edits: Edits, name: str):
        """The row of the operator of that name, in whatever spelling; None if there is none."""
        rows = re.finditer(self.row, edits.read(f"src/frontends/{self.folder}/list.inc"), re.M)
        plain = name.replace("_", "")
        return next((row for row in rows if row["name"].lower() == plain), None)

    def add(self, edits: Edits, name: str) -> list[str]:
        """Reads and writes the format's operator as the new one. Returns what is left to do."""
        row = self.find(edits, name)
        if row is None:
            return []
        known, old = row["name"], row["converter"]
        same = f"src/frontends/{self.folder}/ops/pointwise.cpp"
        if old == self.converter:
            return [f"{same}: {known} is read as another operator; decide which it is"]
        edits.insert_sorted(same, f'    {{"{known}", &ops::{name}_op}},',
                            r'    \{"(\w+)", &ops::\w+_op')
        changed = row[0].replace(f", {old},", f", {self.converter},")
        edits.substitute(f"src/frontends/{self.folder}/list.inc", re.escape(row[0]), changed)
        form = (f'    {{&ops::{name}_op, "{known}"}},' if self.folder == "onnx" else
                f'    {{&ops::{name}_op, nullptr, "{known}", {row["versions"].split(",")[-1].strip()}}},')
        edits.insert_sorted(f"src/exporters/{self.folder}/forms.cpp", form, r"    \{&ops::(\w+)_op, ")
        return self.without_old_converter(edits, known, old)

    def without_old_converter(self, edits: Edits, known: str, old: str) -> list[str]:
        """Removes the function that read the operator before, or says where it is to be removed."""
        if old in [row["converter"] for row in
                   re.finditer(self.row, edits.read(f"src/frontends/{self.folder}/list.inc"), re.M)]:
            return [f"src/frontends/{self.folder}/ops: convert_{old} no longer reads {known}; "
                    "remove what it did for it"]
        function = rf"^(//[^\n]*\n)*Expected<void> convert_{old}\({self.context}& ctx\) \{{\n.*?^\}}\n\n?"
        for path in sorted((edits.root / f"src/frontends/{self.folder}/ops").glob("*.cpp")):
            inside = str(path.relative_to(edits.root))
            if re.search(function, edits.read(inside), re.M | re.S):
                edits.substitute(inside, function, "")
                return [f"{inside}: convert_{old} was removed; if {known} has attributes, restore it "
                        f"and its row in src/frontends/{self.folder}/list.inc"]
        return [f"src/frontends/{self.folder}/ops: remove convert_{old}, which nothing uses now"]


FORMATS = (
    Format("onnx", r'^SCANLOOM_ONNX_OP\((?P<name>\w+), "", (?P<converter>\w+), 1, 1, 1, '
           r"(?P<versions>[-\d, ]+)\)$", "pointwise", "NodeCtx"),
    Format("openvino", r"^SCANLOOM_OPENVINO\((?P<name>\w+), (?P<converter>\w+), 1, 1, "
           r"(?P<versions>[-\d, ]+)\)$", "unary", "LayerCtx"),
)


def left_to_fill(name: str) -> list[str]:
    return [
        f"src/ops/elementwise/{name}.cpp: scalar(), the program of one element; now 1 * x; if it is "
        "more expensive than a load, .recompute = ir::Recompute::expensive",
        f"tests/ops/elementwise/{name}.cpp: values from an independent source; ulps, or none",
        f"src/grad/elementwise.cpp: pull_{name}, the cotangent; now that of 1 * x",
        "CHANGELOG.md: a line under Unreleased",
    ]


def format_sources(root: pathlib.Path, paths: list[str]) -> None:
    sources = [path for path in paths if path.endswith((".h", ".cpp"))]
    if shutil.which("clang-format-19"):
        subprocess.run(["clang-format-19", "-i", *sources], cwd=root, check=True)
    else:
        print("clang-format-19 is missing: check the layout with tools/dev/check_format.sh")


def check_name(root: pathlib.Path, name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        sys.exit(f"error: '{name}' is no name of an operator: write it like log1p or hard_sigmoid")
    header = (root / "include/scanloom/expr.h").read_text(encoding="utf-8")
    listed = (root / "src/ops/list.inc").read_text(encoding="utf-8")
    if f"SCANLOOM_OP({name})" in listed:
        sys.exit(f"error: src/ops/list.inc has the operator {name}: choose another name")
    if re.search(rf"\b{name}\(", header):
        sys.exit(f"error: include/scanloom/expr.h has the function {name}: choose another name")
    groups = (root / "tools/dev/tensor_functions.py").read_text(encoding="utf-8")
    if name in re.findall(r"\w+", groups.partition("GROUPS = {")[2].partition("\n}\n")[0]):
        sys.exit(f"error: scanloom.tensor has the function {name}: choose another name")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the operator, in lower case: log1p, hard_sigmoid")
    parser.add_argument("--doc", help="what it gives, as a sentence with its full stop")
    parser.add_argument("--group", default="Exponentials and logarithms",
                        help=f"its group in {element_functions.LIST} (default: %(default)s)")
    parser.add_argument("--root", type=pathlib.Path, default=PROJECT,
                        help="the tree to write to (default: the one this script is in)")
    return parser.parse_args()


def main() -> int:
    given = options()
    name, doc, root = given.name, given.doc or f"The function {given.name}.", given.root.resolve()
    check_name(root, name)
    edits, left = Edits(root), left_to_fill(name)
    try:
        add_operator(edits, name, doc)
        add_gradient(edits, name)
        add_functions(edits, name, doc, given.group)
        for each in FORMATS:
            left += each.add(edits, name)
    except PlaceMissing as missing:
        print(f"error: {missing}; adapt {pathlib.Path(__file__).name}", file=sys.stderr)
        return 1
    written = edits.write()
    format_sources(root, written)
    print("written:", *written, "left to fill in:", *left, sep="\n  ")
    print("then: build/venv/bin/python tools/dev/update_docs.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
