#!/usr/bin/env python3
"""Adds the cases of ONNX's backend suite that pass to tests/data/backend_suite.txt.

Needs the Python package (make python) and build/venv: build/venv/bin/python
tools/dev/update_backend_table.py [--failing]. A listed case that fails is reported and kept,
because the table only grows; the exit status is then 1."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "demo"), str(ROOT / "python" / "tests")]

import backend_suite  # noqa: E402
import fetch_models  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failing", action="store_true", help="name what fails, and why")
    arguments = parser.parse_args()
    try:
        suite = fetch_models.fetch_backend_suite()
    except fetch_models.Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 2
    listed = set(backend_suite.read_table()) if backend_suite.TABLE.exists() else set()
    outcomes = backend_suite.run_all(suite)
    for name in backend_suite.control_flow_names(suite):
        outcomes[name] = outcomes[name] or backend_suite.failure(suite / name, "interpreted")
    passing = {name for name, wrong in outcomes.items() if not wrong}
    lost = sorted(listed - passing)
    for name in lost:
        print(f"fails, but is listed: {name}: {outcomes.get(name, 'there is no such case')}")
    if arguments.failing:
        for name in sorted(set(outcomes) - passing):
            print(f"fails: {name}: {outcomes[name]}")
    backend_suite.write_table(sorted(listed | passing))
    print(f"{len(passing)} of {len(outcomes)} pass; "
          f"{len(passing - listed)} added, {len(listed | passing)} listed")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
