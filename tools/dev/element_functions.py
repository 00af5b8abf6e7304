"""The element-wise functions of include/scanloom/functions.inc, and what is generated from them."""

import dataclasses
import pathlib
import re

LIST = "include/scanloom/functions.inc"
_ROW = re.compile(r'^SCANLOOM_FUNCTION\((\w+), "(\w*)", "(.*)"\)$|^// ([^:.]+)$', re.M)


@dataclasses.dataclass
class Function:
    name: str  # of the operator, in C++ and in scanloom._native
    python: str  # in scanloom.tensor; empty if it has no function of its own there
    doc: str  # as in the source of a string
    group: str  # of tensor_functions.py


def parse(text: str) -> list[Function]:
    """Returns the functions of a list, in its order."""
    found, group = [], ""
    for row in _ROW.finditer(text):
        if row[4]:
            group = row[4]
        else:
            found.append(Function(row[1], row[2], row[3], group))
    return found


def functions(root: pathlib.Path) -> list[Function]:
    return parse((root / LIST).read_text(encoding="utf-8"))


def bindings(listed: list[Function]) -> str:
    """Their types in _native.pyi."""
    return "".join(f"def {each.name}(x: Expr, /) -> Expr: ...\n" for each in listed)


def tensor_functions(listed: list[Function]) -> str:
    """Their definitions in scanloom.tensor."""
    return "".join(f'{each.python} = _unary(_native.{each.name}, "{each.doc}")\n'
                   for each in listed if each.python)


# The generated part of each file.
PARTS = {
    "python/scanloom/_native.pyi": bindings,
    "python/scanloom/tensor/_elementwise.py": tensor_functions,
}
_PART = re.compile(rf"(^# generated from {re.escape(LIST)}\n).*?(^# end\n)", re.M | re.S)


def updated(path: str, text: str, listed: list[Function]) -> str:
    """Returns the text of the file at `path`, a key of PARTS, with its generated part up to date.
    Raises LookupError if it has none."""
    new, count = _PART.subn(lambda part: part[1] + PARTS[path](listed) + part[2], text)
    if count != 1:
        raise LookupError(f"{path} has no part that begins with '# generated from {LIST}'")
    return new
