#!/usr/bin/env python3
"""Checks the sizes of files (800 lines), functions (100) and C++ classes (250, 30 methods).

C++ functions and classes are found by matching braces, Python functions by Python's parser.
Exceptions are listed in tools/dev/sizes_allowed.txt, one per line: a file, file:function,
file:Class.lines or file:Class.methods, followed by the limit and the reason."""

import ast
import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator

import source_tree

FILE_LIMIT = 800
FILE_ADVICE = 400
FUNCTION_LIMIT = 100
CLASS_LINES_LIMIT = 250
CLASS_METHODS_LIMIT = 30
ALLOWED = pathlib.Path("tools/dev/sizes_allowed.txt")

_CHECKED_SUFFIXES = (*source_tree.CXX_SUFFIXES, ".py", ".pyi", ".sh", ".cmake")
_SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum)\b|\bextern\s*"\s*"')
_CONDITION = re.compile(r"\b(requires|decltype|alignas)\s*\((?:[^()]|\([^()]*\))*\)")
_NAME = re.compile(r"(operator\s*\(\)|operator[^\s(]+|~?\w+)\s*\(")
_MEMBER_BRACE = re.compile(r"\)\s*(noexcept)?\s*:[^:].*\w$", re.S)
_CLASS = re.compile(r"\b(?<!enum )(?:class|struct)\s+(?:[A-Z_]+\s+)*([\w:]+)")
_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
_NO_METHOD = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)*(?:using|friend|typedef|static_assert)\b")
_METHOD = re.compile(r"(?:operator[^\w\s]*\s*(?:\(\))?|\w)\s*\((?!\s*[*&])")
_GIVEN = re.compile(r"=\s*(?:default|delete)\s*$")


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    line: int
    lines: int


@dataclasses.dataclass
class Class:
    name: str
    line: int
    lines: int = 0
    methods: int = 0  # the ones declared in it, except defaulted or deleted ones


@dataclasses.dataclass(frozen=True)
class _Part:
    """A statement, a function, or the beginning or end of a scope, outside of any function."""

    kind: str  # statement, function, open, close
    head: str  # the text before its brace or semicolon
    first: int
    last: int


def _plain_head(head: str) -> str:
    """The text without conditions, attributes and template arguments."""
    head = _ATTRIBUTE.sub(" ", _CONDITION.sub("", head))
    while (shorter := re.sub(r"<[^<>]*>", " ", head)) != head:
        head = shorter
    return head


def _is_scope(head: str) -> bool:
    """Whether a brace after this text opens a namespace or a type, whose members are counted."""
    head = _plain_head(head)
    before_parenthesis = head.split("(")[0]
    return _SCOPE.search(before_parenthesis) is not None and "=" not in before_parenthesis


def _brace_kind(head: str, in_parentheses: bool) -> str:
    """The kind of a brace after this text, outside any function: scope, function or initialiser."""
    if in_parentheses or _MEMBER_BRACE.search(head):
        return "initialiser"
    if _is_scope(head):
        return "scope"
    return "function" if "(" in head and not head.rstrip().endswith("=") else "initialiser"


def _plain_code(text: str) -> str:
    """Blanks comments, literals and preprocessor lines, and keeps the line numbers."""

    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    code = source_tree.code_only(text)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, code, flags=re.M)


def _parts(text: str) -> Iterator[_Part]:
    scopes: list[str] = []  # kinds of the open braces outside functions
    head, head_line, parentheses = "", 1, 0  # the text since the last statement
    braces_inside = 0  # open braces of the current function
    line = 1
    for char in _plain_code(text):
        line += char == "\n"
        if braces_inside:
            braces_inside += {"{": 1, "}": -1}.get(char, 0)
            if not braces_inside:
                yield _Part("function", head, head_line, line)
                head = ""
            continue
        if not head.strip() and not char.isspace():
            head, head_line = "", line
        parentheses += {"(": 1, ")": -1}.get(char, 0)
        if char == "{":
            kind = _brace_kind(head, parentheses > 0)
            if kind == "function":
                braces_inside = 1
                continue
            scopes.append(kind)
            if kind == "scope":
                yield _Part("open", head, head_line, line)
            head = head + char if kind == "initialiser" else ""
        elif char == "}":
            kind = scopes.pop() if scopes else "scope"
            if kind == "scope":
                yield _Part("close", "", line, line)
            head = head + char if kind == "initialiser" else ""
        elif char == ";" and not parentheses:
            yield _Part("statement", head, head_line, line)
            head = ""
        else:
            head += char


def cxx_functions(text: str) -> list[Function]:
    """The functions defined at namespace or class level, from signature to closing brace."""
    found: list[Function] = []
    for part in _parts(text):
        if part.kind == "function":
            name = _NAME.search(_CONDITION.sub("", part.head))
            lines = part.last - part.first + 1
            found.append(Function(name[1] if name else "?", part.first, lines))
    return found


def _declares_method(head: str) -> bool:
    head = _plain_head(head)
    if _NO_METHOD.match(head) or _GIVEN.search(head):
        return False
    method = _METHOD.search(head)
    # A parenthesis after an equals sign or a brace is part of an initialiser.
    return method is not None and not re.search("[={]", head[: method.start()])


def cxx_classes(text: str) -> list[Class]:
    """The classes and structs defined in the text, in the order in which they end."""
    found: list[Class] = []
    open_scopes: list[Class | None] = []  # None: a namespace, enumeration or union
    for part in _parts(text):
        if part.kind == "open":
            name = _CLASS.search(_plain_head(part.head))
            open_scopes.append(Class(name[1], part.first) if name else None)
        elif part.kind == "close":
            scope = open_scopes.pop() if open_scopes else None
            if scope is not None:
                scope.lines = part.last - scope.line + 1
                found.append(scope)
        elif open_scopes and open_scopes[-1] is not None:
            if part.kind == "function" or _declares_method(part.head):
                open_scopes[-1].methods += 1
    return found


def python_functions(text: str) -> list[Function]:
    return [
        Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def read_allowed(root: pathlib.Path) -> tuple[dict[str, int], list[str]]:
    """The allow-list as limits, and the problems in it."""
    limits: dict[str, int] = {}
    problems = []
    path = root / ALLOWED
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+)\s+(\d+)\s+(\S.*)", line)
        if match is None:
            problems.append(f"{ALLOWED}:{number}: needs a file, a limit and a reason")
        else:
            limits[match[1]] = int(match[2])
    return limits, problems


def check_file(path: pathlib.Path, text: str, limits: dict[str, int], used: set[str]) -> list[str]:
    is_cxx = path.suffix in source_tree.CXX_SUFFIXES

    def limit(key: str, default: int) -> int:
        if key in limits:
            used.add(key)
        return limits.get(key, default)

    problems = []
    lines = text.count("\n")
    allowed = limit(path.as_posix(), FILE_LIMIT)
    if lines > allowed:
        problems.append(f"{path}: {lines} lines, the limit is {allowed}")
    functions = python_functions(text) if path.suffix in (".py", ".pyi") else []
    if is_cxx:
        functions = cxx_functions(text)
    for function in functions:
        allowed = limit(f"{path.as_posix()}:{function.name}", FUNCTION_LIMIT)
        if function.lines > allowed:
            problems.append(
                f"{path}:{function.line}: {function.name} has {function.lines} lines,"
                f" the limit is {allowed}"
            )
    for found in cxx_classes(text) if is_cxx else []:
        sizes = (
            ("lines", found.lines, CLASS_LINES_LIMIT),
            ("methods", found.methods, CLASS_METHODS_LIMIT),
        )
        for what, size, default in sizes:
            allowed = limit(f"{path.as_posix()}:{found.name}.{what}", default)
            if size > allowed:
                problems.append(
                    f"{path}:{found.line}: {found.name} has {size} {what}, the limit is {allowed}"
                )
    return problems


def main() -> int:
    parser = source_tree.argument_parser(__doc__)
    parser.add_argument(
        "--advice", action="store_true", help=f"name files over {FILE_ADVICE} lines, as advice"
    )
    options = parser.parse_args()
    limits, problems = read_allowed(options.root)
    used: set[str] = set()
    paths = [p for p in source_tree.files(options.root) if p.suffix in _CHECKED_SUFFIXES]
    total = 0
    for path in paths:
        text = (options.root / path).read_text(encoding="utf-8", errors="replace")
        total += text.count("\n")
        problems += check_file(path, text, limits, used)
        if options.advice and text.count("\n") > FILE_ADVICE:
            print(f"advice: {path}: {text.count(chr(10))} lines, the aim is {FILE_ADVICE}")
    problems += [f"{ALLOWED}: {key} is not needed" for key in sorted(set(limits) - used)]
    return source_tree.report("sizes", problems, f"{len(paths)} files, {total} lines")


if __name__ == "__main__":
    sys.exit(main())
