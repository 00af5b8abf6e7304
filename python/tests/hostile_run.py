"""Meets every hostile case in a process of its own, whose address space is limited.

Prints one JSON line per case: what became of it, in how many seconds, and the most memory that the
process has held so far. Called with the number of the first case; a case that ends the process
leaves no line."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import hostile_bytes
import hostile_graphs
import hostile_requests
import scanloom
from hostile_graphs import Hostile

# The library is one of the sanitizers, which are slow and take any address.
WATCHED = os.environ.get("SCANLOOM_WATCHED") == "1"
ADDRESS_SPACE = 6 << 30
FLIPPED = 500 if WATCHED else 3000
DAMAGED = {"cut": hostile_bytes.cut_files, "too_long": hostile_bytes.long_files,
           "retyped": hostile_bytes.retyped_files, "foreign": hostile_bytes.foreign_files}


def most_memory() -> int:
    """KiB of this program. What getrusage says counts the process that has started it, too."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def graph_cases() -> list[Hostile]:
    graphs, requests = hostile_graphs, hostile_requests
    makers = (graphs.tensors, graphs.sparse_tensors, graphs.attributes, graphs.maps, graphs.structure,
              requests.functions, requests.nesting, requests.loops, requests.sizes,
              requests.external_data, requests.feeds)
    return [case for make in makers for case in make()]


def byte_cases() -> list[Hostile]:
    """Whatever is left of a file that is cut is malformed."""
    rich, x = hostile_bytes.rich_model(), {"x": np.ones(2, np.float32)}
    cases = []
    for how, make in DAMAGED.items():
        # What is skipped or of no importance may be of any wire type.
        codes = ("invalid_model",) if how != "retyped" else ("invalid_model", "fine")
        words = ("malformed",) if how != "retyped" else ()
        cases += [Hostile(name, lambda _, data=data: data, codes, words, x)
                  for name, data in make(rich).items()]
    return cases


def meet(case: Hostile, execution: str) -> tuple[str, str]:
    """The code of the error, or "fine", and its text."""
    with tempfile.TemporaryDirectory() as folder:
        model = case.make(pathlib.Path(folder))
        try:
            session = scanloom.InferenceSession(model, execution=execution)
            if case.feeds is not None:
                session.run(None, case.feeds, scanloom.RunOptions(**(case.limits or {})))
        except scanloom.Error as error:
            return error.code, str(error)
    return "fine", ""


def meet_flipped() -> dict[str, int]:
    """How often each code was met over files with some bits turned."""
    counts: collections.Counter[str] = collections.Counter()
    x, limits = {"x": np.ones(2, np.float32)}, {"deadline": 2, "max_memory": 1 << 28}
    for data in hostile_bytes.flipped(hostile_bytes.rich_model(), FLIPPED, 11):
        case = Hostile("flipped", lambda _, data=data: data, (), (), x, limits)
        counts[meet(case, "automatic")[0]] += 1
    return dict(counts)


def answers(first: int) -> Iterator[dict[str, Any]]:
    cases = graph_cases() + byte_cases()
    for number, case in enumerate(cases[first:], start=first):
        for execution in case.executions:
            began = time.monotonic()
            code, text = meet(case, execution)
            seconds = time.monotonic() - began
            yield {"number": number, "name": case.name, "execution": execution, "code": code,
                   "text": text, "seconds": seconds}
    yield {"number": len(cases), "name": "flipped", "execution": "", "counts": meet_flipped()}


def main() -> None:
    if not WATCHED:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for answer in answers(int(sys.argv[1])):
        answer["megabytes"] = most_memory() >> 10
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
