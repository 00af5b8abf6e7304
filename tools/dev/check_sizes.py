#!/usr/bin/env python3
"""Checks that files stay under 800 lines and functions under 100.

C++ functions are found by matching braces, Python's by its own parser. What may be longer stands
in tools/dev/sizes_allowed.txt, one per line: a file or file:function, the limit, the reason."""

import ast
import dataclasses
import pathlib
import re
import sys

import source_tree

FILE_LIMIT = 800
FILE_ADVICE = 400
FUNCTION_LIMIT = 100
ALLOWED = pathlib.Path("tools/dev/sizes_allowed.txt")

_CHECKED_SUFFIXES = (*source_tree.CXX_SUFFIXES, ".py", ".pyi", ".sh", ".cmake")
_SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum)\b|\bextern\s*"\s*"')
_CONDITION = re.compile(r"\b(requires|decltype|alignas)\s*\((?:[^()]|\([^()]*\))*\)")
_NAME = re.compile(r"(operator\s*\(\)|operator[^\s(]+|~?\w+)\s*\(")
_MEMBER_BRACE = re.compile(r"\)\s*(noexcept)?\s*:[^:].*\w$", re.S)


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    line: int
    lines: int


def _is_scope(head: str) -> bool:
    """Whether a brace after this text opens a namespace or a type, whose members count themselves."""
    head = _CONDITION.sub("", head)
    while (shorter := re.sub(r"<[^<>]*>", " ", head)) != head:
        head = shorter
    before_parenthesis = head.split("(")[0]
    return _SCOPE.search(before_parenthesis) is not None and "=" not in before_parenthesis


def _brace_kind(head: str, in_parentheses: bool) -> str:
    """What a brace after this text opens, outside any function: scope, function or initialiser."""
    if in_parentheses or _MEMBER_BRACE.search(head):
        return "initialiser"
    if _is_scope(head):
        return "scope"
    return "function" if "(" in head and not head.rstrip().endswith("=") else "initialiser"


def _plain_code(text: str) -> str:
    """The text without comments, literals and preprocessor lines, on the same lines."""

    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    code = source_tree.code_only(text)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, code, flags=re.M)


def cxx_functions(text: str) -> list[Function]:
    """The functions defined at namespace or class level, from signature to closing brace."""
    found: list[Function] = []
    scopes: list[str] = []  # kinds of the open braces outside functions
    head, head_line, parentheses = "", 1, 0  # what was read since the last statement
    braces_inside = 0  # open braces of the function being read
    line = 1
    for char in _plain_code(text):
        line += char == "\n"
        if braces_inside:
            braces_inside += {"{": 1, "}": -1}.get(char, 0)
            if not braces_inside:
                name = _NAME.search(_CONDITION.sub("", head))
                found.append(Function(name[1] if name else "?", head_line, line - head_line + 1))
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
            head = head + char if kind == "initialiser" else ""
        elif char == "}":
            kind = scopes.pop() if scopes else "scope"
            head = head + char if kind == "initialiser" else ""
        elif char == ";" and not parentheses:
            head = ""
        else:
            head += char
    return found


def python_functions(text: str) -> list[Function]:
    return [
        Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def read_allowed(root: pathlib.Path) -> tuple[dict[str, int], list[str]]:
    """The allow-list as limits, and its own faults."""
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
    if path.suffix in source_tree.CXX_SUFFIXES:
        functions = cxx_functions(text)
    for function in functions:
        allowed = limit(f"{path.as_posix()}:{function.name}", FUNCTION_LIMIT)
        if function.lines > allowed:
            problems.append(
                f"{path}:{function.line}: {function.name} has {function.lines} lines,"
                f" the limit is {allowed}"
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
