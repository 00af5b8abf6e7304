#!/usr/bin/env python3
"""Checks that every header of include/ and src/ has #pragma once and compiles alone.

A header that passed is compiled again only after it, or one of our headers that it includes, has
changed. Most of the time is spent on system headers, which are precompiled in a few groups. A group
is used only for headers that include all of it themselves, so it never hides a missing include."""

import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import source_tree

FLAGS = ["-std=c++20", "-fsyntax-only", "-w", "-x", "c++"]
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
_CONDITION = re.compile(r"^\s*#\s*(if|endif)")
# The slowest headers, with their cost in about tenths of a second; and the number of groups.
HEAVY = {"fmt/format.h": 6, "functional": 4, "algorithm": 4, "memory": 4, "string": 3, "map": 3, "unordered_map": 3,
         "vector": 2, "span": 2, "variant": 2, "optional": 2, "array": 1, "string_view": 1, "utility": 1}  # fmt: skip
GROUPS = 10
Group = frozenset[str]


class Checker:
    def __init__(self, root: pathlib.Path, compiler: list[str]):
        self.root = root
        self.compiler = compiler
        self.llvm_flags = self._find_llvm()
        self._includes: dict[pathlib.Path, list[str]] = {}
        self.precompiled: dict[Group, pathlib.Path] = {}
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True).stdout
        self._salt = "\n".join([version, *compiler, *FLAGS, *self.flags()])

    @staticmethod
    def _find_llvm() -> list[str] | None:
        """Flags to find LLVM's headers, or None if they are not installed."""
        try:
            answer = subprocess.run(
                ["llvm-config-19", "--includedir"], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return ["-isystem", answer.stdout.strip()]

    def flags(self) -> list[str]:
        folders = [self.root / "src", self.root / "include"]
        flags = [f"-I{folder}" for folder in folders]
        if os.uname().machine == "x86_64":
            flags.append("-march=x86-64-v2")
        return flags + (self.llvm_flags or [])

    def includes(self, path: pathlib.Path) -> list[str]:
        if path not in self._includes:
            text = path.read_text(encoding="utf-8", errors="replace")
            self._includes[path] = _INCLUDE.findall(text)
        return self._includes[path]

    def reached(self, header: pathlib.Path) -> dict[pathlib.Path, None]:
        """Our headers that the header includes, starting with itself, in the order of inclusion."""
        seen: dict[pathlib.Path, None] = {header: None}
        pending = [header]
        while pending:
            path = pending.pop()
            for name in self.includes(path):
                for folder in (path.parent, self.root / "src", self.root / "include"):
                    target = folder / name
                    if target.is_file() and target not in seen:
                        seen[target] = None
                        pending.append(target)
        return seen

    def needs_llvm(self, header: pathlib.Path) -> bool:
        return any(
            name.startswith(("llvm/", "llvm-c/"))
            for path in self.reached(header)
            for name in self.includes(path)
        )

    def key(self, header: pathlib.Path) -> str:
        digest = hashlib.sha256(self._salt.encode())
        for path in self.reached(header):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def heavy(self, header: pathlib.Path) -> Group:
        """The headers of HEAVY that it includes unconditionally, directly or through our
        headers."""
        found: set[str] = set()
        for path in self.reached(header):
            depth = 0
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if condition := _CONDITION.match(line):
                    depth += 1 if condition[1] == "if" else -1
                elif depth == 0:
                    found.update(_INCLUDE.findall(line))
        return frozenset(found & HEAVY.keys())

    def precompile(self, groups: list[Group], folder: pathlib.Path) -> None:
        flags = [flag for flag in FLAGS if flag not in ("-fsyntax-only", "-x", "c++")]
        for group in groups:
            path = folder / f"group{len(self.precompiled)}.h"
            path.write_text("".join(f"#include <{name}>\n" for name in sorted(group)))
            command = [*self.compiler, *flags, *self.flags(), "-x", "c++-header", str(path)]
            made = subprocess.run([*command, "-o", f"{path}.gch"], capture_output=True)
            if made.returncode == 0:  # otherwise its users show the error
                self.precompiled[group] = path

    def compile(self, header: pathlib.Path) -> str | None:
        """Compiles a file that includes only this header; returns the compiler's errors, or
        None."""
        command = [*self.compiler, *FLAGS, *self.flags(), "-"]
        heavy = self.heavy(header)
        if fitting := [group for group in self.precompiled if group <= heavy]:
            command[1:1] = ["-include", str(self.precompiled[max(fitting, key=weight)])]
        source = f'#include "{header}"\n'
        run = subprocess.run(command, input=source, capture_output=True, text=True)
        return None if run.returncode == 0 else run.stderr.strip()


def weight(group: Group) -> int:
    return sum(HEAVY[name] for name in group)


def best_groups(sets: list[Group]) -> list[Group]:
    """Greedily picks the groups that save the most time; each must pay for its precompilation."""
    counts = collections.Counter(sets)
    chosen: list[Group] = []
    for _ in range(GROUPS):
        read = {one: max((weight(group) for group in chosen if group <= one), default=0) for one in counts}

        def saved(group: Group, read: dict[Group, int] = read) -> int:
            return sum(
                max(0, weight(group) - read[one]) * count for one, count in counts.items() if group <= one
            ) - 2 * weight(group)

        best = max(counts, key=lambda group: (saved(group), sorted(group)), default=None)
        if best is None or saved(best) <= 0:
            break
        chosen.append(best)
    return chosen


def read_passed(store: pathlib.Path) -> dict[str, str]:
    try:
        return dict(json.loads(store.read_text()))
    except (OSError, ValueError):
        return {}


def main() -> int:
    parser = source_tree.argument_parser(__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at once")
    parser.add_argument(
        "--compiler", default=os.environ.get("CXX", "g++"), help="compiler (default $CXX or g++)"
    )
    options = parser.parse_args()
    root = options.root.resolve()
    checker = Checker(root, shlex.split(options.compiler))
    store = root / "build" / "headers-alone.json"
    passed = read_passed(store)
    headers = source_tree.sources(root, ("include", "src"), source_tree.HEADER_SUFFIXES)
    problems, keys, skipped = [], {}, 0
    for header in headers:
        if "#pragma once" not in (root / header).read_text(encoding="utf-8", errors="replace"):
            problems.append(f"{header}: has no #pragma once")
        if checker.llvm_flags is None and checker.needs_llvm(root / header):
            skipped += 1
            continue
        keys[str(header)] = checker.key(root / header)
    todo = [name for name, key in keys.items() if passed.get(name) != key]
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool,
    ):
        groups = best_groups([checker.heavy(root / name) for name in todo])
        checker.precompile(groups, pathlib.Path(folder))
        messages = list(pool.map(lambda name: checker.compile(root / name), todo))
    for name, message in zip(todo, messages):
        if message is not None:
            problems.append(f"{name}: does not compile alone\n{message}")
            del keys[name]
    store.parent.mkdir(exist_ok=True)
    store.write_text(json.dumps(keys, indent=1))
    checked = f"{len(headers)} headers, {len(todo)} compiled"
    checked += f", {skipped} left out for want of LLVM" if skipped else ""
    return source_tree.report("headers", problems, checked)


if __name__ == "__main__":
    sys.exit(main())
