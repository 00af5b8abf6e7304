#!/usr/bin/env python3
"""Checks that every header of include/ and src/ has #pragma once and compiles alone.

A header that passed is compiled again only after it, or one of our headers that it includes, has
changed. Most of the time is spent on what headers include, system headers and our own, so that is
precompiled in a few groups. A group is used only for headers that include all of it themselves, and
before anything else, so it never hides a missing include. For the same reason one compilation can check
a chain of headers, each of which includes the one before it."""

import collections
import collections.abc
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
# What may precede an include: comments, blank lines and other directives.
_PREAMBLE = re.compile(r"^\s*(#|//|$)")
_CONDITION = re.compile(r"^\s*#\s*(if|endif)")
# What it costs to read a header that no other of the group reads, in about hundredths of a second.
# LLVM's headers read hundreds of their own.
SYSTEM = {"fmt/format.h": 60, "functional": 40, "algorithm": 40, "memory": 40, "string": 30, "map": 30,
          "unordered_map": 30, "vector": 20, "span": 20, "variant": 20, "optional": 20, "array": 10,
          "string_view": 10, "utility": 10}  # fmt: skip
LLVM_COST = 100
OTHER_COST = 5
BYTES_READ = 1000  # of our own headers, in one such hundredth
START_COST = 10  # of a compilation that reads nothing
GROUP_COST = 3  # of precompiling, as a multiple of reading once
MAX_GROUPS = 40
Group = frozenset[str]


class Checker:
    def __init__(self, root: pathlib.Path, compiler: list[str]):
        self.root = root
        self.compiler = compiler
        self.llvm_flags = self._find_llvm()
        self._includes: dict[pathlib.Path, list[str]] = {}
        self._found: dict[tuple[pathlib.Path, str], pathlib.Path | None] = {}
        self._openings: dict[pathlib.Path, set[str]] = {}
        self._closures: dict[pathlib.Path, Group] = {}
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
                target = self.find(path, name)
                if target and target not in seen:
                    seen[target] = None
                    pending.append(target)
        return seen

    def find(self, includer: pathlib.Path, name: str) -> pathlib.Path | None:
        """Our header of this name, or None."""
        if (includer, name) not in self._found:
            folders = (includer.parent, self.root / "src", self.root / "include")
            self._found[includer, name] = next((f / name for f in folders if (f / name).is_file()), None)
        return self._found[includer, name]

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

    def opening(self, path: pathlib.Path) -> set[str]:
        """What a header includes unconditionally, and before any code; our own headers by their
        paths."""
        if path not in self._openings:
            found: set[str] = set()
            depth = 0
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if condition := _CONDITION.match(line):
                    depth += 1 if condition[1] == "if" else -1
                elif not _PREAMBLE.match(line):
                    break
                elif depth == 0:
                    names = [str(self.find(path, name) or name) for name in _INCLUDE.findall(line)]
                    if any(name.endswith(".inc") for name in names):
                        break  # a list, which is code
                    found.update(names)
            self._openings[path] = found
        return self._openings[path]

    def closure(self, header: pathlib.Path) -> Group:
        """All headers that it includes unconditionally, directly or through our headers."""
        if header not in self._closures:
            found: set[str] = set()
            pending = [header]
            while pending:
                new = self.opening(pending.pop()) - found
                found |= new
                pending += [pathlib.Path(name) for name in new if os.path.isabs(name)]
            self._closures[header] = frozenset(found)
        return self._closures[header]

    def cost(self, name: str) -> float:
        if os.path.isabs(name):
            return os.path.getsize(name) / BYTES_READ
        return LLVM_COST if name.startswith("llvm") else SYSTEM.get(name, OTHER_COST)

    def precompile(self, groups: list[Group], folder: pathlib.Path, jobs: concurrent.futures.Executor) -> None:
        flags = [flag for flag in FLAGS if flag not in ("-fsyntax-only", "-x", "c++")]

        def make(numbered: tuple[int, Group]) -> pathlib.Path | None:
            number, group = numbered
            path = folder / f"group{number}.h"
            quoted = (f'"{name}"' if os.path.isabs(name) else f"<{name}>" for name in sorted(group))
            path.write_text("".join(f"#include {name}\n" for name in quoted))
            command = [*self.compiler, *flags, *self.flags(), "-x", "c++-header", str(path)]
            made = subprocess.run([*command, "-o", f"{path}.gch"], capture_output=True)
            return path if made.returncode == 0 else None  # then its users show the error

        for group, path in zip(groups, jobs.map(make, enumerate(groups))):
            if path is not None:
                self.precompiled[group] = path

    def compile(self, chain: list[pathlib.Path]) -> dict[pathlib.Path, str]:
        """Compiles a file that includes only these headers; returns the compiler's errors by header."""
        command = [*self.compiler, *FLAGS, *self.flags(), "-"]
        closure = self.closure(chain[0])
        if fitting := [group for group in self.precompiled if group <= closure]:
            largest = max(fitting, key=lambda group: sum(map(self.cost, group)))
            command[1:1] = ["-include", str(self.precompiled[largest])]
        source = "".join(f'#include "{header}"\n' for header in chain)
        run = subprocess.run(command, input=source, capture_output=True, text=True)
        if run.returncode == 0:
            return {}
        if len(chain) == 1:
            return {chain[0]: run.stderr.strip()}
        errors: dict[pathlib.Path, str] = {}
        for header in chain:  # one of them, or all that include it
            errors |= self.compile([header])
        return errors


def best_groups(closures: list[Group], cost: collections.abc.Callable[[str], float]) -> list[Group]:
    """Greedily picks the groups that save the most time; each must pay for its precompilation."""
    counts = collections.Counter(closures)
    costs = {group: sum(map(cost, group)) for group in counts}
    users = {group: [one for one in counts if group <= one] for group in counts}
    read = dict.fromkeys(counts, 0.0)  # what is read from the largest group that is chosen so far
    chosen: list[Group] = []

    def saved(group: Group) -> float:
        used = sum(max(0.0, costs[group] - read[one]) * counts[one] for one in users[group])
        return used - GROUP_COST * costs[group]

    while counts and len(chosen) < MAX_GROUPS:
        best = max(counts, key=lambda group: (saved(group), sorted(group)))
        if saved(best) <= 0:
            break
        chosen.append(best)
        for one in users[best]:
            read[one] = max(read[one], costs[best])
    return chosen


def chains(closures: dict[pathlib.Path, Group], groups: list[Group],
           cost: collections.abc.Callable[[str], float]) -> list[list[pathlib.Path]]:  # fmt: skip
    """Divides headers into chains in which each includes all before it unconditionally and before any
    code, so that they give it nothing that it does not include itself. Greedily picks the neighbours that
    save the most time, compared with a compilation of each that begins with a precompiled group."""
    costs = {header: sum(map(cost, closure)) for header, closure in closures.items()}
    group_costs = {group: sum(map(cost, group)) for group in groups}
    saved = {}
    for header, closure in closures.items():
        precompiled = max((group_costs[group] for group in groups if group <= closure), default=0.0)
        for name in closure:
            used = pathlib.Path(name)
            if used in closures and used != header and costs[used] + START_COST > precompiled:
                saved[used, header] = costs[used] + START_COST - precompiled
    after: dict[pathlib.Path, pathlib.Path] = {}
    followers = set()
    for used, header in sorted(saved, key=lambda pair: (-saved[pair], pair)):
        if used not in after and header not in followers:
            after[used] = header
            followers.add(header)
    found = []
    for header in closures:
        if header not in followers:
            chain = [header]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            found.append(chain)
    return found


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
        closures = {root / name: checker.closure(root / name) for name in todo}
        groups = best_groups(list(closures.values()), checker.cost)
        chained = chains(closures, groups, checker.cost)
        checker.precompile(groups, pathlib.Path(folder), pool)
        errors = {
            str(header.relative_to(root)): message
            for answer in pool.map(checker.compile, chained)
            for header, message in answer.items()
        }
    for name in filter(errors.get, todo):
        problems.append(f"{name}: does not compile alone\n{errors[name]}")
        del keys[name]
    store.parent.mkdir(exist_ok=True)
    store.write_text(json.dumps(keys, indent=1))
    checked = f"{len(headers)} headers, {len(todo)} compiled"
    checked += f", {skipped} left out for want of LLVM" if skipped else ""
    return source_tree.report("headers", problems, checked)


if __name__ == "__main__":
    sys.exit(main())
