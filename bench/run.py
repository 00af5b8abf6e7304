#!/usr/bin/env python3
"""Measures Scanloom and its peers in one run; `make bench` calls it.

Prints a table, writes build/bench.json and draws build/bench.svg. The exit status is 1 if a result
is wrong or, with --strict, if a target is missed. docs/benchmarks.md explains the method."""

import argparse
import dataclasses
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path.insert(0, str(FOLDER))

# For functions, which have no option for threads, and for numpy's products. Both are read when the
# package is first used.
os.environ["SCANLOOM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import harness  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import picture  # noqa: E402
import selection  # noqa: E402
from peers import settings  # noqa: E402
from tables import memory_text, print_cells, time_text  # noqa: E402

HEADINGS = ("question", "peer", "scanloom", "peer", "unit", "ratio", "min", "target", "")
WIDTHS = (36, 24, 10, 10, 6, 8, 8, 7, 6)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    selection.add_options(parser, pairs=15)
    parser.add_argument("--peers", nargs="+", default=[], metavar="NAME",
                        help="compare with peers whose names begin with NAME")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build" / "bench.json",
                        help="where the figures go; the picture goes next to it, as .svg")
    parser.add_argument("--strict", action="store_true", help="end with 1 on a missed target")
    arguments = parser.parse_args()
    selection.check_options(parser, arguments)
    return arguments


@dataclasses.dataclass
class Findings:
    """The results; `skipped` and `wrong` give the reasons why something was not measured."""

    comparisons: list[harness.Comparison] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)


def ask(module, place, arguments, findings):
    """Measures the questions of one module."""
    for question in selection.selected(module, place, arguments.clock):
        try:
            harness.check(question, question.ours)
        except harness.Wrong as reason:
            findings.wrong.append(str(reason))
            continue
        for peer in question.peers:
            if not selection.begins_so(peer.engine.name, arguments.peers):
                continue
            if not is_right(question, peer, findings):
                continue
            comparison = harness.compare(
                question, peer, arguments.clock, arguments.pairs, arguments.sample
            )
            findings.comparisons.append(comparison)
            print_cells(row(comparison), WIDTHS)


def is_right(question, peer, findings) -> bool:
    """Whether the peer's result is correct; if not, the reason is added to the findings."""
    if peer.unchecked:
        return True
    try:
        harness.check(question, peer.engine)
    except harness.Wrong as reason:
        (findings.skipped if peer.optional else findings.wrong).append(str(reason))
        return False
    except Exception as error:  # any error of a peer that cannot run a model
        if not peer.optional:
            raise
        telling = max(str(error).splitlines() or [repr(error)], key=len)
        findings.skipped.append(f"{question.name}: {peer.engine.name} fails: {telling[:200]}")
        return False
    return True


def row(found: harness.Comparison) -> tuple[str, ...]:
    verdict = {None: "", True: "met", False: "MISSED"}[found.met]
    target = "" if found.target is None else f"{found.target:.3g}"
    text = memory_text if found.memory else time_text
    return (found.question, found.peer, text(found.ours_ns), text(found.peer_ns),
            found.unit, f"{found.ratio_median:.3g}", f"{found.ratio_min:.3g}", target, verdict)


def main() -> int:
    arguments = parse_arguments()
    os.environ["SCANLOOM_THREADS"] = str(arguments.threads)
    settings.threads = arguments.threads
    place = selection.make_place(
        ROOT / "build" / "bench-data", arguments.only, arguments.sizes, arguments.threads
    )
    here = machine.describe()
    print(machine.summary(here))
    count = "one thread" if arguments.threads == 1 else f"{arguments.threads} threads"
    print(f"{count}, {arguments.pairs} interleaved pairs, {arguments.clock} clock; times: "
          "minimum per unit; ratio: median of scanloom / peer\n")
    print_cells(HEADINGS, WIDTHS)
    findings = Findings()
    for name, module in selection.modules(place):
        try:
            ask(module, place, arguments, findings)
        except harness.Skip as reason:
            findings.skipped.append(f"{name}: {reason}")
    print()
    if peers.absent():
        print(f"absent peers: {', '.join(peers.absent())} (make bench-peers installs them)")
    for text in findings.skipped:
        print(f"skipped {text}")
    for text in findings.wrong:
        print(f"WRONG RESULT {text}")
    if not (findings.comparisons or findings.skipped or findings.wrong):
        print("no question was asked: do --only, --sizes and --peers name any?")
        return 2
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
    drawing = arguments.json.with_suffix(".svg")
    drawing.write_text(picture.draw(picture.rows_of_report(report)))
    print(f"written: {arguments.json}, {drawing}")


if __name__ == "__main__":
    sys.exit(main())
