#!/usr/bin/env python3
"""Writes the generated parts of docs/ and of the Python package: tables of operators and of tensor
functions, examples of passes, and the functions of include/scanloom/functions.inc.

A generated part is enclosed by two comments in its page,

    <!-- generated NAME -->
    <!-- end -->

and comes from the sources; everything else in a page is edited by hand. The tensor functions need
the Python package: build/venv/bin/python tools/dev/update_docs.py [--check]. With --check, nothing
is written; if a file is out of date, a diff is printed and the exit status is 1. After a change of
functions.inc, run it before `make python`, and again after it for the table of tensor functions."""

import argparse
import difflib
import pathlib
import re
import sys

import element_functions
import operator_tables
import pass_examples

PART = re.compile(r"(<!-- generated (.+?) -->\n).*?(<!-- end -->)", re.S)


def text_of(name: str, root: pathlib.Path) -> str:
    """Returns the text of the part `name`. Raises LookupError if there is no such part."""
    kind, _, argument = name.partition(" ")
    if kind == "pass":
        return pass_examples.example(root, argument)
    if name == "list of passes":
        return pass_examples.table(root)
    if name == "tensor functions":
        return tensor_tables()
    return operator_tables.PARTS[name](root)


def tensor_tables() -> str:
    try:
        import tensor_functions
    except ModuleNotFoundError as missing:
        raise LookupError(f"needs the Python package (make python, build/venv): {missing}") from None
    return tensor_functions.tables()


def updated(page: str, root: pathlib.Path) -> str:
    return PART.sub(lambda part: part[1] + "\n" + text_of(part[2], root) + "\n" + part[3], page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    check = parser.parse_args().check
    root = pathlib.Path(__file__).resolve().parents[2]
    stale = False
    of_package = map(root.joinpath, element_functions.PARTS)
    for path in [*of_package, *sorted((root / "docs").glob("**/*.md"))]:
        old = path.read_text(encoding="utf-8")
        name = str(path.relative_to(root))
        try:
            if name in element_functions.PARTS:
                new = element_functions.updated(name, old, element_functions.functions(root))
            else:
                new = updated(old, root)
        except LookupError as problem:
            print(f"error: {name}: {problem}", file=sys.stderr)
            return 2
        if new == old:
            continue
        stale = True
        if check:
            sys.stdout.writelines(difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), name, f"{name} (up to date)"))
        else:
            path.write_text(new, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
