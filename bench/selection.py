"""Selection of the questions that run.py and compare.py measure."""

import argparse
import importlib
import pathlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

import harness
import models
import native
import questions

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_options(parser: argparse.ArgumentParser, pairs: int) -> None:
    """Adds the options that both commands share."""
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="ask only the questions whose names begin so")
    parser.add_argument("--sizes", nargs="+", default=[], metavar="LETTER=N[,N]",
                        help="ask only the questions of these sizes, say h=128,256 b=1; of cells, "
                        "affine recurrences and products any sizes can be asked for")
    parser.add_argument("--threads", type=int, default=1,
                        help="of Scanloom and its peers (default 1); with more, only the questions "
                        "that can use them are asked: lstm, gru, openvino")
    parser.add_argument("--pairs", type=int, default=pairs,
                        help=f"interleaved pairs per comparison (default {pairs})")
    parser.add_argument("--sample", type=float, default=0.02, metavar="SECONDS",
                        help="least length of one sample (default 0.02)")
    parser.add_argument("--clock", choices=sorted(harness.CLOCKS), default="wall",
                        help="cpu leaves out what other programs take on a busy machine")


def check_options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Exits with a message for invalid numbers; parses the texts of --sizes."""
    for name in ("pairs", "threads"):
        number = getattr(arguments, name)
        if number < 1:
            parser.error(f"--{name} is {number}, but must be 1 or more")
    try:
        arguments.sizes = parse_sizes(arguments.sizes)
    except ValueError as reason:
        parser.error(f"--sizes: {reason}")


def parse_sizes(texts: Sequence[str]) -> dict[str, list[int]]:
    """Parses for example ["h=128,256", "b=1"] to {"h": [128, 256], "b": [1]}."""
    sizes: dict[str, list[int]] = {}
    for text in texts:
        letter, equals, numbers = text.partition("=")
        parts = numbers.split(",")
        if not letter or not equals or not all(part.isdecimal() and int(part) for part in parts):
            raise ValueError(f"'{text}' is no letter with numbers above 0, as in h=128,256")
        sizes.setdefault(letter, []).extend(int(part) for part in parts)
    return sizes


def make_place(
    build: pathlib.Path, only: Sequence[str], sizes: Mapping[str, Sequence[int]], threads: int
) -> harness.Place:
    return harness.Place(
        build=build,
        shared=ROOT.parent / "shared" / "models",
        cache=ROOT / "build" / "cache",
        models=models.write_all(build),
        baseline=native.Baseline(build),
        only=only,
        sizes=sizes,
        threads=threads,
    )


def begins_so(name: str, beginnings: Sequence[str]) -> bool:
    """Whether the name starts with one of the prefixes; True if there are none."""
    return not beginnings or name.startswith(tuple(beginnings))


def modules(place: harness.Place) -> Iterator[tuple[str, ModuleType]]:
    """The modules with selected questions, by name. Their NAMES are the prefixes of question
    names, and ANY_THREADS says that they support several threads."""
    for info in sorted(pkgutil.iter_modules(questions.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"questions.{info.name}")
        has_threads = place.threads == 1 or getattr(module, "ANY_THREADS", False)
        if has_threads and any(place.wants(name) for name in module.NAMES):
            yield info.name, module


def selected(
    module: ModuleType, place: harness.Place, clock: str
) -> Iterator[harness.Question]:
    """The selected questions of a module. Raises Skip."""
    for question in module.questions(place, clock):
        if begins_so(question.name, place.only) and place.has_sizes(question.sizes):
            yield question
