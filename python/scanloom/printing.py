"""Expressions as text and pictures."""

from __future__ import annotations

import os
import sys
from typing import Any, Union

from . import _native
from ._errors import InvalidArgument, InvalidType, in_numpy_words
from ._files import written
from ._missing import PRINTING, refuse
from ._theano.node_style import title as title
from ._theano.prints import Print as Print, printed_by as printed_by
from ._theano.variable import TensorVariable

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<", "less_equal": "<="}
_SIGNS = {"pow": "**", "contract": "dot"}
_LONG = 400  # characters; longer parts are named and written only once


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: Any = None,
    ids: str = "CHAR",
    stop_on_name: bool = False,
    **_: Any,
) -> Union[str, None]:
    """The graph of a variable, a list of them or a function: one value per line, operands below it.

    Loops are named, and their bodies follow at the end. file="str" returns the text; None writes it
    to standard output. Raises InvalidType.
    """
    graph = _native.graph([x._expr for x in variables_of(obj)])
    lines: list[str] = []
    bodies: list[tuple[str, Any]] = []
    _tree(graph, depth, print_type, lines, bodies)
    for title, body in bodies:  # grows during the loop
        lines += ["", f"body of {title}:"]
        _tree(body, depth, print_type, lines, bodies)
    text = "\n".join(lines) + "\n"
    if file == "str":
        return text
    (sys.stdout if file is None else file).write(text)
    return None


def variables_of(obj: Any) -> list[TensorVariable]:
    """The variables that the object is, contains or computes. Raises InvalidType."""
    listed = list(obj) if isinstance(obj, (list, tuple)) else [obj]
    found: list[TensorVariable] = []
    for each in listed:
        if isinstance(each, TensorVariable):
            found.append(each)
        elif hasattr(each, "outputs") and hasattr(each, "explain"):
            found += each.outputs
        else:
            raise InvalidType(f"{each!r:.80} is neither a variable nor a function")
    return found


def _tree(
    graph: Any, depth: int, print_type: bool, lines: list[str], bodies: list[tuple[str, Any]]
) -> None:
    nodes = graph["nodes"]
    seen: set[int] = set()
    open_values = [(value, 0, "") for value in reversed(graph["outputs"])]
    while open_values:
        value, level, port = open_values.pop()
        if value is None or 0 <= depth <= level:
            continue
        place, output = value
        node = nodes[place]
        label = title(node) + (f".{output}" if len(node["types"]) > 1 else "")
        kind = f" <{in_numpy_words(node['types'][output])}>" if print_type else ""
        lead = " |" * level + (f"{port}: " if port else "")
        again = place in seen and node["inputs"]
        lines.append(f"{lead}{label} [id {place}]{kind}{' ...' if again else ''}")
        if place in seen:
            continue
        seen.add(place)
        ports = node["ports"] or [""] * len(node["inputs"])
        open_values += [
            (part, level + 1, name)
            for part, name in reversed(list(zip(node["inputs"], ports)))
        ]
        for i, body in enumerate(node["bodies"]):
            side = f", side {i + 1}" if len(node["bodies"]) > 1 else ""
            bodies.append((f"{title(node)} [id {place}]{side}", body))


def pprint(obj: Any, **_: Any) -> str:
    """Formats a variable as a formula. Long parts that are used twice are named and follow it."""
    variables = variables_of(obj)
    graph = _native.graph([x._expr for x in variables])
    uses: dict[int, int] = {}
    for node in graph["nodes"]:
        for value in node["inputs"]:
            if value is not None:
                uses[value[0]] = uses.get(value[0], 0) + 1
    texts: list[str] = []
    named: list[str] = []
    for place, node in enumerate(graph["nodes"]):
        text = _formula(node, texts)
        if len(text) > _LONG or (uses.get(place, 0) > 1 and len(text) > _LONG // 8):
            named.append(f"t{place} = {text}")
            text = f"t{place}"
        texts.append(text)
    results = ", ".join(_at(value, graph["nodes"], texts) for value in graph["outputs"])
    return results + (f" where {'; '.join(named)}" if named else "")


def _at(value: Any, nodes: Any, texts: list[str]) -> str:
    place: int = value[0]
    output: int = value[1]
    return texts[place] + (f".{output}" if len(nodes[place]["types"]) > 1 else "")


def _formula(node: Any, texts: list[str]) -> str:
    operation = node["operation"]
    parts: list[str] = [texts[value[0]] for value in node["inputs"] if value is not None]
    if not parts:
        return title(node)
    if operation in _INFIX and len(parts) == 2:
        return f"({parts[0]} {_INFIX[operation]} {parts[1]})"
    if operation == "pow" and len(parts) == 2:
        return f"({parts[0]} ** {parts[1]})"
    if operation == "identity":
        return parts[0]
    if operation == "neg":
        return f"-{parts[0]}"
    if operation == "gather" and len(parts) == 2:
        return f"{parts[0]}[{parts[1]}]"
    return f"{_SIGNS.get(operation, title(node))}({', '.join(parts)})"


pp = pprint


def pydotprint(
    fct: Any, outfile: Any = None, compact: bool = True, format: str = "svg",  # noqa: A002
    with_ids: bool = False, **_: Any,
) -> None:
    """Draws a variable, a list of them or a function to a file; see plot."""
    name = f"scanloom-graph.{format}" if outfile is None else outfile
    plot(fct, name)


def plot(obj: Any, path: Union[str, "os.PathLike[str]"]) -> None:
    """Draws the graph: values flow down, and loops and branches show their ports and bodies.

    The extension of the path selects the format: .svg, or .png, .pdf and .dot in the layout of
    Graphviz. Its program `dot` must be installed for .png and .pdf. Raises InvalidArgument for
    other extensions, NotFound without that program.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in (".svg", ".png", ".pdf", ".dot"):
        raise InvalidArgument(
            f"a picture can be SVG, PNG, PDF or DOT, not {os.fspath(path)!r}",
            ("use the extension .svg, which needs no other program",),
        )
    graph = _native.graph([x._expr for x in variables_of(obj)])
    if ending == ".svg":
        from ._theano.drawing import drawing  # imports xml, which is rarely needed

        written(path, drawing(graph))
        return
    from ._theano.dot import dot_text, drawn_by_dot  # imports subprocess, which is rarely needed

    text = dot_text(graph)
    written(path, text if ending == ".dot" else drawn_by_dot(text, ending[1:]))


def __getattr__(name: str) -> Any:
    return refuse("printing", name, PRINTING, globals())
