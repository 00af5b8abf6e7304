"""One build under comparison, in its own process: compare_worker.py FOLDER PACKAGE OPTIONS.

It writes a JSON line with the version and the modules of the selected questions. compare.py then
writes one command per line and reads one line in answer:
    ["ask", module]    the questions of a module, checked; the results go to FOLDER/<index>.npz
    ["sample", index]  seconds (or bytes) of one run of a question of that module"""

import json
import os
import pathlib
import sys

import numpy as np

import scanloom

import harness
import selection


class Worker:
    def __init__(self, folder: pathlib.Path, options: dict) -> None:
        self._folder = folder
        self._options = options
        self._clock = options["clock"]
        self._place = selection.make_place(
            folder, options["only"], options["sizes"], options["threads"]
        )
        self.modules = dict(selection.modules(self._place))
        self._questions: list[harness.Question] = []
        self._timers: dict[int, harness.Timer] = {}

    def ask(self, name: str) -> dict:
        """The questions and the reasons for skipping others; a failure here may not occur in the
        other build."""
        self._questions, self._timers = [], {}
        found, failures, skipped = [], [], []
        try:
            for question in selection.selected(self.modules[name], self._place, self._clock):
                try:
                    results = harness.results_of(question.ours)
                    harness.check_results(question, "scanloom", results, question.reference)
                except harness.Wrong as reason:
                    failures.append(str(reason))
                    continue
                found.append(self._describe(question, results))
                self._questions.append(question)
        except harness.Skip as reason:
            skipped.append(f"{name}: {reason}")
        except Exception as error:  # any error of a build that cannot run a model
            failures.append(f"{name}: {type(error).__name__}: {error}")
        return {"questions": found, "failures": failures, "skipped": skipped}

    def sample(self, index: int) -> float:
        if index not in self._timers:
            clock = harness.CLOCKS[self._clock]
            engine = self._questions[index].ours
            self._timers[index] = harness.Timer(engine, clock, self._options["sample"])
        return self._timers[index].sample()

    def _describe(self, question: harness.Question, results: harness.Arrays) -> dict:
        path = self._folder / f"{len(self._questions)}.npz"
        np.savez(path, *(np.asarray(array) for array in results))
        return {
            "pairing": question.pairing or question.name,
            "name": question.name,
            "unit": question.unit,
            "units": question.units,
            "tolerance": question.tolerance,
            "memory": question.memory,
            "strategy": question.ours.strategy,
            "results": str(path),
        }


def main() -> None:
    folder, package, options = pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    # Keep the output of libraries out of the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    found = pathlib.Path(scanloom.__file__).resolve().parent
    if found != pathlib.Path(package).resolve():
        sys.exit(f"imported {found}, not {package}")
    worker = Worker(folder, options)
    start = {"version": scanloom.__version__, "modules": list(worker.modules)}
    print(json.dumps(start), file=answers, flush=True)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer = getattr(worker, command)(*arguments)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
