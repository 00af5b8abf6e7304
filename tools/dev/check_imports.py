#!/usr/bin/env python3
"""Checks that includes and imports have no cycles, and that the Python package gives a reason for
every import inside a function."""

import ast
import pathlib
import re
import sys

import source_tree

PACKAGE = pathlib.Path("python/scanloom")

# (a, b): modules of package a may not import those of package b.
_CLOSED = {("_ort", "_theano")}

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

Graph = dict[str, dict[str, int]]  # file -> the files it needs, with the line of the include


def include_graph(root: pathlib.Path) -> Graph:
    """The include graph of src."""
    paths = source_tree.sources(root, ("src",), source_tree.CXX_SUFFIXES)
    known = {path.as_posix() for path in paths}
    graph: Graph = {}
    for path in paths:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        targets = graph[path.as_posix()] = {}
        for match in _INCLUDE.finditer(text):
            for folder in (path.parent, pathlib.Path("src")):
                target = (folder / match[1]).as_posix()
                if target in known:
                    targets.setdefault(target, text.count("\n", 0, match.start(1)) + 1)
                    break
    return graph


class Imports(ast.NodeVisitor):
    """The imports of one file: (statement, whether it is inside a function)."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
        self._depth = 0

    def visit_Import(self, node: ast.Import) -> None:
        self.found.append((node, self._depth > 0))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found.append((node, self._depth > 0))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test) and not isinstance(node.test, ast.UnaryOp):
            for statement in node.orelse:
                self.visit(statement)
            return
        self.generic_visit(node)


def modules_of(paths: list[pathlib.Path], top: pathlib.Path) -> dict[str, str]:
    """Maps dotted module names to files, with `top` on Python's path."""
    names = {}
    for path in paths:
        parts = path.relative_to(top).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.as_posix()
    return names


def targets_of(node: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> list[str]:
    """The dotted names that a statement may import, longest first."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parts = module.split(".") if module else []
        parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
        base = ".".join([*parts, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" if base else alias.name for alias in node.names]


def resolved(name: str, names: dict[str, str]) -> str | None:
    """The file of a module, or of the module that defines the name. Python also runs the __init__
    of the enclosing packages; that does not count as an import of them."""
    return names.get(name) or names.get(name.rpartition(".")[0])


def import_graph(root: pathlib.Path, folder: pathlib.Path, top: pathlib.Path) -> tuple[Graph, list[str]]:
    """The import graph of a folder, and the problems of individual imports."""
    paths = [
        path
        for path in source_tree.sources(root, (folder.parts[0],), (".py", ".pyi"))
        if folder in path.parents
    ]
    names = modules_of(paths, top)
    graph: Graph = {}
    problems = []
    for module, path in names.items():
        if path.endswith(".pyi"):  # the stub of an extension
            continue
        text = (root / path).read_text(encoding="utf-8")
        visitor = Imports()
        visitor.visit(ast.parse(text, path))
        targets = graph[path] = {}
        for node, is_within in visitor.found:
            for name in targets_of(node, module, path.endswith("__init__.py")):
                target = resolved(name, names)
                if target is not None and target != path:
                    targets.setdefault(target, node.lineno)
            if is_within and folder == PACKAGE and not has_reason(text.splitlines(), node):
                problems.append(
                    f"{path}:{node.lineno}: an import within a function: move it to the top of the"
                    " file, or say in a comment, on the line or above it, why it stands there"
                )
    return graph, problems + closed_rooms(graph)


def has_reason(lines: list[str], node: ast.stmt) -> bool:
    """Whether a comment is on the lines of a statement or above it."""
    own = lines[node.lineno - 1 : node.end_lineno]
    reasons = [line.partition("#")[2].strip() for line in own]
    above = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
    reasons.append(above[1:].strip() if above.startswith("#") else "")
    return any(reason and not re.match(r"(noqa|type:|fmt:)", reason) for reason in reasons)


def closed_rooms(graph: Graph) -> list[str]:
    problems = []
    for path, targets in graph.items():
        for target, line in targets.items():
            for here, there in _CLOSED:
                if here in path.split("/") and there in target.split("/"):
                    problems.append(f"{path}:{line}: imports {target}: {here} may not import {there}")
    return problems


def circles(graph: Graph) -> list[list[str]]:
    """For each set of files that need each other, a shortest cycle through its first file."""
    found, seen = [], set()
    for start in sorted(graph):
        if start in seen:
            continue
        circle = shortest_way(graph, start)
        if circle:
            found.append(circle)
            together = [each for each in graph if mutual(graph, start, each)]
            seen.update(together)
    return found


def reached(graph: Graph, start: str) -> dict[str, str]:
    """The files that a file needs, each with its predecessor on a shortest path."""
    before: dict[str, str] = {}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        for target in sorted(graph.get(here, {})):
            if target not in before:
                before[target] = here
                waiting.append(target)
    return before


def mutual(graph: Graph, one: str, other: str) -> bool:
    return other in reached(graph, one) and one in reached(graph, other)


def shortest_way(graph: Graph, start: str) -> list[str]:
    """The files of a shortest cycle through `start`; empty if there is none."""
    before = reached(graph, start)
    if start not in before:
        return []
    way = [start]
    while True:
        way.append(before[way[-1]])
        if way[-1] == start:
            return way[::-1]


def described(circle: list[str], graph: Graph) -> str:
    line = graph[circle[0]][circle[1]]
    return f"{circle[0]}:{line}: a circle: {' -> '.join(circle)}"


def main() -> int:
    options = source_tree.argument_parser(__doc__).parse_args()
    graphs = [include_graph(options.root)]
    problems = []
    for folder in (PACKAGE, pathlib.Path("bench")):
        top = folder.parent if folder == PACKAGE else folder
        graph, wrong = import_graph(options.root, folder, top)
        graphs.append(graph)
        problems += wrong
    for graph in graphs:
        problems += [described(circle, graph) for circle in circles(graph)]
    return source_tree.report("imports", problems, f"{sum(map(len, graphs))} files")


if __name__ == "__main__":
    sys.exit(main())
