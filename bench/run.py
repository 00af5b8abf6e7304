#!/usr/bin/env python3
"""Measures Scanloom beside its peers in one run; `make bench` calls it.

Prints a table and writes build/bench.json. Ends with 1 when a result is wrong, and with --strict
also when a target is missed. docs/benchmarks.md explains the method."""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import pkgutil
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path.insert(0, str(FOLDER))

# Of functions, which take no number of threads. The package reads it when it is first used.
os.environ["SCANLOOM_THREADS"] = "1"

import harness  # noqa: E402
import machine  # noqa: E402
import models  # noqa: E402
import native  # noqa: E402
import peers  # noqa: E402
import questions  # noqa: E402

HEADINGS = ("question", "peer", "scanloom", "peer", "unit", "ratio", "min", "target", "")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="ask only the questions whose names begin so")
    parser.add_argument("--peers", nargs="+", default=[], metavar="NAME",
                        help="measure beside the peers whose names begin so")
    parser.add_argument("--threads", type=int, default=1,
                        help="of Scanloom and its peer (default 1); with more, only the questions "
                        "whose peers can are asked: openvino")
    parser.add_argument("--pairs", type=int, default=15,
                        help="interleaved pairs per comparison (default 15)")
    parser.add_argument("--sample", type=float, default=0.02, metavar="SECONDS",
                        help="least length of one sample (default 0.02)")
    parser.add_argument("--clock", choices=sorted(harness.CLOCKS), default="wall",
                        help="cpu leaves out what other programs take on a busy machine")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--strict", action="store_true", help="end with 1 on a missed target")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error(f"--pairs is {arguments.pairs}, but must be 1 or more")
    if arguments.threads < 1:
        parser.error(f"--threads is {arguments.threads}, but must be 1 or more")
    return arguments


def make_place(only: list[str], threads: int) -> harness.Place:
    build = ROOT / "build" / "bench-data"
    return harness.Place(
        build=build,
        shared=ROOT.parent / "shared" / "models",
        cache=ROOT / "build" / "cache",
        models=models.write_all(build),
        baseline=native.Baseline(build),
        only=only,
        threads=threads,
    )


@dataclasses.dataclass
class Findings:
    """What came out; `skipped` and `wrong` say why something was not measured."""

    comparisons: list[harness.Comparison] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)


def ask(module, place, arguments, findings):
    """Asks the questions of one module."""
    for question in module.questions(place, arguments.clock):
        if not begins_so(question.name, arguments.only):
            continue
        try:
            harness.check(question, question.ours)
        except harness.Wrong as reason:
            findings.wrong.append(str(reason))
            continue
        for peer in question.peers:
            if not begins_so(peer.engine.name, arguments.peers):
                continue
            if not is_right(question, peer, findings):
                continue
            comparison = harness.compare(
                question, peer, arguments.clock, arguments.pairs, arguments.sample
            )
            findings.comparisons.append(comparison)
            print_row(row(comparison))


def begins_so(name: str, beginnings: list[str]) -> bool:
    """Whether the name begins as one of them does; all names do when there are none."""
    return not beginnings or name.startswith(tuple(beginnings))


def is_right(question, peer, findings) -> bool:
    """Whether the peer gives the right result; otherwise the reason is among the findings."""
    if peer.unchecked:
        return True
    try:
        harness.check(question, peer.engine)
    except harness.Wrong as reason:
        (findings.skipped if peer.optional else findings.wrong).append(str(reason))
        return False
    except Exception as error:  # whatever a peer raises where it cannot run a model
        if not peer.optional:
            raise
        telling = max(str(error).splitlines() or [repr(error)], key=len)
        findings.skipped.append(f"{question.name}: {peer.engine.name} fails: {telling[:200]}")
        return False
    return True


def time_text(nanoseconds: float) -> str:
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def memory_text(size: float) -> str:
    return f"{size / 2**20:.3g} MiB"


def row(found: harness.Comparison) -> tuple[str, ...]:
    verdict = {None: "", True: "met", False: "MISSED"}[found.met]
    target = "" if found.target is None else f"{found.target:.3g}"
    text = memory_text if found.memory else time_text
    return (found.question, found.peer, text(found.ours_ns), text(found.peer_ns),
            found.unit, f"{found.ratio_median:.3g}", f"{found.ratio_min:.3g}", target, verdict)


def print_row(cells: tuple[str, ...]) -> None:
    widths = (34, 15, 10, 10, 6, 8, 8, 7, 6)
    print(" ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip(), flush=True)


def main() -> int:
    arguments = parse_arguments()
    os.environ["SCANLOOM_THREADS"] = str(arguments.threads)
    place = make_place(arguments.only, arguments.threads)
    here = machine.describe()
    print(machine.summary(here))
    count = "one thread" if arguments.threads == 1 else f"{arguments.threads} threads"
    print(f"{count}, {arguments.pairs} interleaved pairs, {arguments.clock} clock; times: "
          "minimum per unit; ratio: median of scanloom / peer\n")
    print_row(HEADINGS)
    findings = Findings()
    for info in sorted(pkgutil.iter_modules(questions.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"questions.{info.name}")
        if arguments.threads > 1 and not getattr(module, "ANY_THREADS", False):
            continue
        try:
            ask(module, place, arguments, findings)
        except harness.Skip as reason:
            findings.skipped.append(f"{info.name}: {reason}")
    print()
    if peers.absent():
        print(f"absent peers: {', '.join(peers.absent())} (make bench-peers installs them)")
    for text in findings.skipped:
        print(f"skipped {text}")
    for text in findings.wrong:
        print(f"WRONG RESULT {text}")
    write_json(arguments, here, findings)
    missed = [comparison for comparison in findings.comparisons if comparison.met is False]
    return int(bool(findings.wrong) or (arguments.strict and bool(missed)))


def write_json(arguments, here, findings) -> None:
    report = {
        "machine": here,
        "clock": arguments.clock,
        "threads": arguments.threads,
        "comparisons": [
            dataclasses.asdict(item) | {"met": item.met} for item in findings.comparisons
        ],
        "absent": peers.absent(),
        "skipped": findings.skipped,
        "wrong": findings.wrong,
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written: {arguments.json}")


if __name__ == "__main__":
    sys.exit(main())
