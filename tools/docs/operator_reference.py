"""Writes the reference of the IR operators as Markdown, from their definitions in src/ops."""

import pathlib
import re
import textwrap

import markdown_text

_FAMILIES = {
    "elementwise": "Element-wise", "reduce": "Reductions", "matrix": "Matrices",
    "conv_pool": "Convolutions and pools", "index": "Indexing", "shape": "Shapes",
    "sequence": "Sequences and optionals", "string": "Strings", "quantize": "Quantization",
    "random": "Random numbers", "recurrent": "Recurrent layers", "vision": "Images",
    "signal": "Signals", "learning": "Classical machine learning",
}
_EFFECTS = {
    "may_fail": "May fail on data, so it is not moved to where it would not have run.",
    "random": "Draws random numbers.",
}


def field(definition: str, name: str) -> str:
    """Returns the text of a field of an OpDef; "" if it is not set."""
    match = re.search(rf"^    \.{name} =(.*?)(?=^    \.\w+ =|\Z)", definition, re.M | re.S)
    return match[1].strip().rstrip(",") if match else ""


def text_of(literal: str) -> str:
    """Concatenates adjacent string literals."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)).replace('\\"', '"')


def operands(definition: str) -> list[str]:
    """Returns `name: accepted types` for each operand, with ? or ... for optional or variadic."""
    found = []
    pattern = (r'\{(?:\.name = )?"([\w.]+)"(?:, (?:\.accept = )?ir::Accept::(\w+))?'
               r"(?:, (?:\.arity = )?ir::Arity::(\w+))?[^}]*\}")
    for name, accept, arity in re.findall(pattern, field(definition, "inputs")):
        mark = {"optional": "?", "variadic": "..."}.get(arity, "")
        found.append(f"{name}{mark}: {accept}" if accept else f"{name}{mark}")
    return found


def attributes(definition: str) -> list[str]:
    pattern = r'\{"(\w+)", (?:tensor::)?AttrKind::(\w+)(, true)?'
    return [f"{name}{'?' if optional else ''}: {kind}"
            for name, kind, optional in re.findall(pattern, field(definition, "attrs"))]


def entry(definition: str) -> str:
    name = text_of(field(definition, "name"))
    results = ", ".join(re.findall(r'"([\w.]+)"', field(definition, "outputs")))
    given = attributes(definition)
    listed = ", ".join(given)
    if len(listed) > 80:
        listed = "\n" + textwrap.fill(listed, 84, initial_indent="    ", subsequent_indent="    ") + "\n"
    tail = (f" {{{listed}}}" if given else "") + (f" -> {results}" if results else "")
    effects = field(definition, "effects").rpartition("::")[2]
    parts = [
        markdown_text.heading(3, [name], name),
        markdown_text.code(markdown_text.wrap_call(name, operands(definition), tail), "text"),
        markdown_text.escape(text_of(field(definition, "doc"))),
    ]
    if effects in _EFFECTS:
        parts.append(f"\n*{_EFFECTS[effects]}*")
    return "\n".join(parts) + "\n"


def page(ops: pathlib.Path) -> str:
    """Returns the page, with a section per family and an entry per operator."""
    parts = []
    for family, title in _FAMILIES.items():
        entries = {}
        for path in (ops / family).glob("*.cpp"):
            text = path.read_text(encoding="utf-8")
            for definition in re.findall(r"^constinit const (?:ir::)?OpDef \w+_op\{\n(.*?)^\};", text, re.M | re.S):
                entries[text_of(field(definition, "name"))] = entry(definition)
        parts += [f"## {title}\n", *(entries[name] for name in sorted(entries))]
    return "\n".join(parts)
