#!/usr/bin/env python3
"""Compares two builds of Scanloom: bench/compare.py OLD NEW [--only NAME...]

OLD and NEW are folders: a package (scanloom, or the folder that contains it), or a build
(build/release), whose libraries are then run under the installed package. Each runs in its own
process, both answer run.py's questions, and their samples alternate. The exit status is 1 if
results differ, or if the median of NEW / OLD exceeds the threshold twice. See
docs/benchmarks.md."""

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import numpy as np  # noqa: E402

import harness  # noqa: E402
import selection  # noqa: E402
from tables import memory_text, print_cells, time_text  # noqa: E402

LIBRARIES = ("libscanloom.so.0", "libscanloom_jit.so")
HEADINGS = ("question", "old", "new", "unit", "ratio", "min", "bits", "")
WIDTHS = (38, 10, 10, 6, 8, 8, 6, 6)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    selection.add_options(parser, pairs=11)
    parser.add_argument("--threshold", type=float, default=0.1, metavar="SHARE",
                        help="by how much the new build may be slower (default 0.1)")
    parser.add_argument("--work", type=pathlib.Path, default=selection.ROOT / "build" / "compare",
                        help="folder for models, results and compare.json")
    arguments = parser.parse_args()
    selection.check_options(parser, arguments)
    if not arguments.threshold >= 0:
        parser.error(f"--threshold is {arguments.threshold}, but must be 0 or more")
    return arguments


def package_in(folder: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The package in a folder, as a folder named scanloom, which is made in `work` if necessary.
    For a build, it is the installed package with the build's libraries. Raises
    FileNotFoundError."""
    made = work / "package" / "scanloom"
    made.parent.mkdir(parents=True, exist_ok=True)
    for package in (folder / "scanloom", folder):
        if not (package / "__init__.py").exists():
            continue
        if package.resolve().name == made.name:
            return package.resolve()
        _remove(made)
        made.symlink_to(package.resolve())
        return made
    built = [folder / "lib" / name for name in LIBRARIES]
    if not built[0].exists():
        raise FileNotFoundError(
            f"{folder} holds neither the package scanloom nor lib/{LIBRARIES[0]}"
        )
    installed = importlib.util.find_spec("scanloom")
    if installed is None:
        raise FileNotFoundError("no package scanloom is installed to run the build's libraries "
                                "under")
    _remove(made)
    shutil.copytree(pathlib.Path(installed.origin).parent, made)
    for library in built:
        (made / "lib" / library.name).unlink(missing_ok=True)
        if library.exists():
            shutil.copy(library, made / "lib")
    return made


def _remove(package: pathlib.Path) -> None:
    if package.is_symlink():
        package.unlink()
    shutil.rmtree(package, ignore_errors=True)


class Build:
    """One of the two builds, answering in its own process."""

    def __init__(self, side: str, folder: pathlib.Path, arguments: argparse.Namespace) -> None:
        self.side = side
        work = arguments.work / side
        work.mkdir(parents=True, exist_ok=True)
        package = package_in(folder, work)
        options = {name: getattr(arguments, name)
                   for name in ("only", "sizes", "threads", "clock", "sample")}
        environment = os.environ | {
            "PYTHONPATH": str(package.parent),
            "SCANLOOM_THREADS": str(arguments.threads),
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(FOLDER / "compare_worker.py"), str(work), str(package),
             json.dumps(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        start = self._answer()
        self.modules = start["modules"]
        print(f"{side}: {package}, version {start['version']}", flush=True)

    def __call__(self, *command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise ChildProcessError(
                f"the process of the {self.side} build ended with {self._process.wait()}"
            )
        return json.loads(line)


@dataclasses.dataclass
class Compared:
    question: str
    unit: str
    memory: bool
    old_ns: float  # the minimum per unit; bytes for memory, as in run.py
    new_ns: float
    ratio_median: float
    ratio_min: float
    pairs: int
    same_bits: bool
    slower: bool
    old_strategy: str
    new_strategy: str


@dataclasses.dataclass
class Findings:
    compared: list[Compared] = dataclasses.field(default_factory=list)
    different: list[str] = dataclasses.field(default_factory=list)  # make the exit status 1
    unpaired: list[str] = dataclasses.field(default_factory=list)


def pairs_of(answers: list[dict], findings: Findings) -> Iterator[tuple[int, int, dict, dict]]:
    """The positions and descriptions of the questions that both builds answer."""
    old, new = ({item["pairing"]: (index, item) for index, item in enumerate(answer["questions"])}
                for answer in answers)
    findings.unpaired += [f"old: {text}" for text in answers[0]["failures"]]
    findings.different += [f"new: {text}" for text in answers[1]["failures"]]
    findings.unpaired += [f"skipped {text}" for text in answers[1]["skipped"]]
    for name in [*old, *(name for name in new if name not in old)]:
        if name in old and name in new:
            yield old[name][0], new[name][0], old[name][1], new[name][1]
        else:
            findings.unpaired.append(f"{name}: answered by the {'old' if name in old else 'new'} "
                                     "build alone")


def have_same_bits(old: dict, new: dict) -> bool:
    """Whether results are bitwise equal. Raises Wrong if they differ beyond the tolerance."""
    arrays = []
    for item in (old, new):
        with np.load(item["results"]) as file:
            arrays.append(list(file.values()))
    question = harness.Question(
        name=new["name"], about="", unit=new["unit"], units=new["units"], ours=None, peers=[],
        reference=arrays[0], tolerance=new["tolerance"],
    )
    harness.check_results(question, "the new build", arrays[1], arrays[0], "the old one")
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(*arrays))


def sampled(old: Build, new: Build, places: tuple[int, int], pairs: int) -> list[tuple]:
    """(old, new) of each pair; which one runs first alternates."""
    samples = []
    for pair in range(pairs):
        if pair % 2:
            newer = new("sample", places[1])
            samples.append((old("sample", places[0]), newer))
        else:
            older = old("sample", places[0])
            samples.append((older, new("sample", places[1])))
    return samples


def compare(old, new, places, items, arguments) -> Compared:
    """A build counts as slower only if a second round confirms the first."""
    same_bits = have_same_bits(*items)
    item = items[1]
    pairs = min(arguments.pairs, harness.PAIRS_OF_MEMORY) if item["memory"] else arguments.pairs
    for _ in range(2):
        samples = sampled(old, new, places, pairs)
        ratios = [newer / older for older, newer in samples]
        slower = statistics.median(ratios) > 1 + arguments.threshold
        if not slower:
            break
    scales = [(1 if x["memory"] else 1e9) / x["units"] for x in items]
    return Compared(
        question=item["pairing"],
        unit=item["unit"],
        memory=item["memory"],
        old_ns=min(older for older, _ in samples) * scales[0],
        new_ns=min(newer for _, newer in samples) * scales[1],
        ratio_median=statistics.median(ratios),
        ratio_min=min(ratios),
        pairs=pairs,
        same_bits=same_bits,
        slower=slower,
        old_strategy=items[0]["strategy"],
        new_strategy=item["strategy"],
    )


def print_row(found: Compared) -> None:
    text = memory_text if found.memory else time_text
    print_cells((found.question, text(found.old_ns), text(found.new_ns), found.unit,
                 f"{found.ratio_median:.3g}", f"{found.ratio_min:.3g}",
                 "same" if found.same_bits else "differ", "SLOWER" if found.slower else ""), WIDTHS)


def compare_all(old: Build, new: Build, arguments: argparse.Namespace) -> Findings:
    findings = Findings()
    for name in new.modules:
        answers = [old("ask", name), new("ask", name)]
        for first, second, *items in pairs_of(answers, findings):
            try:
                found = compare(old, new, (first, second), items, arguments)
            except harness.Wrong as reason:
                findings.different.append(str(reason))
                continue
            findings.compared.append(found)
            print_row(found)
    return findings


def main() -> int:
    arguments = parse_arguments()
    with contextlib.ExitStack() as stack:
        builds = []
        try:
            for side in ("old", "new"):
                builds.append(Build(side, getattr(arguments, side), arguments))
                stack.callback(builds[-1].close)
        except (FileNotFoundError, ChildProcessError) as reason:
            print(f"compare: {reason}", file=sys.stderr)
            return 2
        print(f"{arguments.pairs} interleaved pairs, {arguments.clock} clock; times: minimum per "
              "unit; ratio: median of new / old\n")
        print_cells(HEADINGS, WIDTHS)
        findings = compare_all(*builds, arguments)
    print()
    for text in findings.unpaired:
        print(text)
    for text in findings.different:
        print(f"DIFFERENT RESULT {text}")
    slower = [found.question for found in findings.compared if found.slower]
    if slower:
        print(f"slower by more than {arguments.threshold:.0%}: {', '.join(slower)}")
    (arguments.work / "compare.json").write_text(
        json.dumps(dataclasses.asdict(findings), indent=2) + "\n"
    )
    if not findings.compared and not findings.different:
        print("no question was asked: do --only and --sizes name any?")
        return 2
    return int(bool(slower or findings.different))


if __name__ == "__main__":
    sys.exit(main())
