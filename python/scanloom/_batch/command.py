"""scanloom batch: jobs on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .._errors import Error, InvalidArgument, LimitReached
from .run import run
from .spelling import as_options, spelled_as_options

_ABOUT = """\
Runs a model on every row of files and writes the results as Parquet, each row exactly once. A job that
stopped, for any reason, continues when the same command is started again."""
_EXAMPLE = """\
example:
  scanloom batch model.onnx in/*.parquet out/ --columns x=samples --on-error quarantine

Options that take several values come after the paths. The exit status is 0 if the job is complete, 2
after an error, 3 when a limit was reached, and 130 after Ctrl-C."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgument(message, ("'scanloom batch --help' shows the possibilities",))


def main(arguments: Sequence[str]) -> int:
    """Runs a job; returns the exit status."""
    try:
        args = _parser().parse_args(arguments)
        if len(args.paths) < 2:
            raise InvalidArgument(f"the folder of the outputs is missing after '{args.paths[0]}'")
        *inputs, outputs = args.paths
        with spelled_as_options():
            report = run(args.model, inputs, outputs, **_options(args))
    except (Error, ImportError) as error:
        print(f"error: {as_options(str(error))}", file=sys.stderr)
        return 3 if isinstance(error, LimitReached) else 2
    except KeyboardInterrupt:
        print("error: interrupted\n  note: start the job again to continue it", file=sys.stderr)
        return 130
    print(report)
    return 0


def _options(args: argparse.Namespace) -> dict[str, Any]:
    shapes = {name: _sizes(name, text) for name, text in _pairs("--shape", args.shape)}
    return {
        "columns": dict(_pairs("--columns", args.columns)), "shapes": shapes,
        "key": args.key, "output_names": args.output, "engine": args.engine, "address": args.address,
        "workers": args.workers, "threads": args.threads, "batch": args.batch, "by_length": args.by_length,
        "memory": args.memory, "retries": args.retries, "on_error": args.on_error, "progress": not args.quiet,
    }  # fmt: skip


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    for text in texts:
        if "=" not in text:
            raise InvalidArgument(f"{option} is '{text}', but must be INPUT=VALUE",
                                  ("options that take several values come after the paths",))  # fmt: skip
    return [(name, value) for name, _, value in (text.partition("=") for text in texts)]


def _sizes(name: str, text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise InvalidArgument(f"--shape gives '{text}' for '{name}', but must be sizes like -1,1,40") from None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="scanloom batch", usage="%(prog)s [OPTION...] MODEL INPUT... OUTPUTS", description=_ABOUT,
        epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("model", metavar="MODEL", help="an ONNX model or an OpenVINO IR")
    add("paths", metavar="INPUT... OUTPUTS", nargs="+",
        help="files or patterns of Parquet, Arrow, CSV or NPZ, then the folder of the outputs")  # fmt: skip
    add("--columns", metavar="INPUT=COLUMN", nargs="+", action="extend", default=[],
        help="columns of the model's inputs, where their names differ; INPUT= keeps its default value")  # fmt: skip
    add("--shape", metavar="INPUT=SIZES", action="append", default=[],
        help="the shape of a row, such as x=-1,1,40")  # fmt: skip
    add("--key", metavar="COLUMN", nargs="+", action="extend", help="columns to copy (default: file and row)")
    add("--output", metavar="NAME", nargs="+", action="extend", help="the outputs to keep (default: all)")
    add("--engine", default="local", metavar="ENGINE", help="local, ray or dask (default: local)")
    add("--address", help="where a Ray or a Dask runs (default: start one here)")
    add("--workers", type=int, metavar="N", help="shards at a time (default: as many as cores)")
    add("--threads", type=int, default=1, metavar="N", help="threads of a worker (default: 1)")
    add("--batch", type=int, default=64, metavar="N", help="sequences that run together (default: 64)")
    add("--no-by-length", dest="by_length", action="store_false", help="keep the order of the rows in batches")
    add("--memory", metavar="SIZE", help="what a worker may take, such as 2GB (default: no limit)")
    add("--retries", type=int, default=3, metavar="N",
        help="how often a shard is tried again whose worker dies (default: 3)")  # fmt: skip
    add("--on-error", default="raise", metavar="WHAT",
        help="at a row that fails: raise stops (default), quarantine sets it aside with its error")  # fmt: skip
    add("--quiet", action="store_true", help="show no progress bar (there is none except on a terminal)")
    return parser
