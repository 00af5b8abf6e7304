"""Measures one model: every step is a process of its own, so that a crash, a hang or a model that
takes all memory is a row of the table, and not the end of the run."""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo import agreement, quantized
from zoo.jobs import Job

BENCH = pathlib.Path(__file__).resolve().parents[1]
IMPORTED = ("scanloom", "onnxruntime", "openvino")  # by the server, before it forks workers
MAX_MESSAGE = 400

# Asked in this order when Scanloom and the peer disagree, after the framework that made the model.
# The first two compute the nodes as they are written; OpenVINO fuses quantized ones, for example.
PLAIN = "onnxruntime-plain"
ARBITERS = ("reference", PLAIN, "openvino")

Row = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Settings:
    """`limit`: seconds for each process. `budget`: seconds of timing. `tries`: how often each
    engine loads the model in a new process."""

    threads: Sequence[int] = (1, 2)
    limit: float = 180
    budget: float = 3
    clock: str = "wall"
    tries: int = 3


class Failed(Exception):
    """A worker has ended with an error, by a signal or at the time limit."""


class Server:
    """Runs zoo.worker in processes that zoo.server forks. Started at the first request, and again
    if it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[object], limit: float) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "zoo.server", *IMPORTED], cwd=BENCH, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request = json.dumps({"arguments": [str(each) for each in arguments], "limit": limit})
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise Failed("the server of workers has ended") from None


SERVER = Server()


def work(arguments: Sequence[object], limit: float) -> dict[str, float]:
    """Runs zoo.worker; returns what it measured."""
    done = SERVER.run(arguments, limit)
    status = done["status"]
    if status is None:
        raise Failed(f"took more than {limit:g} s")
    if status < 0:
        raise Failed(f"ended by signal {-status}")
    if status:
        raise Failed(message_of(done["complaint"]) or f"ended with status {status}")
    return json.loads(done["output"].splitlines()[-1])


def message_of(complaint: str) -> str:
    """The error at the end of a traceback, which may have several lines, as one line."""
    lines = complaint.strip().splitlines()
    first = max((i for i, line in enumerate(lines) if line.startswith("  File ")), default=-1)
    ends = [line for line in lines[first + 1:] if line and not line.startswith(" ")]
    text = " | ".join(ends or lines[-1:])
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "..."


class Measurement:
    """The processes of one model. Each step adds to `row`."""

    def __init__(self, job: Job, folder: pathlib.Path, settings: Settings) -> None:
        self._job, self._folder, self._settings = job, folder, settings
        self._tolerance, self._least = agreement.TOLERANCE, 0.0
        self.row: Row = {"name": job.name, "group": job.group, "peer": job.peer,
                         "bytes": job.model.stat().st_size, "errors": {}}

    def run(self) -> Row:
        engines = ("scanloom", self._job.peer)
        for _ in range(self._settings.tries):
            for engine in engines:
                if engine not in self.row["errors"]:
                    self._first(engine)
        if "scanloom" in self.row["errors"]:
            self.row["right"] = ""
        elif self._job.peer in self.row["errors"]:
            self._ask_arbiters(None)
        else:
            if quantized.rounds_to_bytes(self._job.model):
                self._tolerance = agreement.TOLERANCE_BYTES
            elif quantized.computes_in_f16(self._job.model):
                self._tolerance, self._least = agreement.TOLERANCE_F16, agreement.MIN_NORMAL_F16
            apart = self.row["apart"] = self._difference("scanloom", self._job.peer)
            self.row["right"] = "yes" if apart <= 1 else ""
            if apart > 1:
                self._ask_arbiters(self._job.peer)
        if not self.row["errors"]:
            self._time()
        return self.row

    def _results(self, engine: str) -> pathlib.Path:
        return self._folder / f"{engine.replace(' ', '_')}.npz"

    def _first(self, engine: str) -> bool:
        try:
            measured = work(["first", engine, self._job.model, self._job.feeds,
                             self._results(engine), self._settings.clock],
                            self._settings.limit)
        except Failed as problem:
            text = str(problem).replace(str(self._job.model), self._job.model.name)
            self.row["errors"][engine] = text
            return False
        best = self.row.setdefault("first", {}).setdefault(engine, measured)
        for key, value in measured.items():
            best[key] = min(best[key], value)
        return True

    def _difference(self, got: str, want: str) -> float:
        return agreement.difference(_read(self._results(got)), _read(self._results(want)),
                                    self._tolerance, self._least)

    def _ask_arbiters(self, peer: str | None) -> None:
        """Who is nearer to a third result decides, if Scanloom and the peer are apart. The first
        arbiter that agrees with one of them is believed; if none does, the nearest one is. That
        the peer agrees with itself counts only if nobody else answers."""
        answers, itself = [], []
        for arbiter in ("framework", *ARBITERS):
            if not self._answer(arbiter):
                continue
            ours = self._difference("scanloom", arbiter)
            theirs = self._difference(peer, arbiter) if peer else float("inf")
            answer = {"name": arbiter, "ours": ours, "peer": theirs}
            if arbiter == PLAIN and ours > 1:
                itself.append(answer)
                continue
            answers.append(answer)
            if min(ours, theirs) <= 1:
                break
        self.row.setdefault("right", "")
        answers = answers or itself
        if answers:
            said = min(answers, key=lambda answer: min(answer["ours"], answer["peer"]))
            self.row["arbiter"] = said
            self.row["right"] = "yes" if said["ours"] <= max(1.0, said["peer"]) else "no"

    def _answer(self, arbiter: str) -> bool:
        if arbiter != "framework":
            failed = dict(self.row["errors"])
            there = self._first(arbiter)
            self.row["errors"] = failed  # of an arbiter, they do not count
            return there
        if self._job.expected is None:
            return False
        self._results(arbiter).write_bytes(self._job.expected.read_bytes())
        return True

    def _time(self) -> None:
        settings = self._settings
        times = self.row.setdefault("times", {})
        for threads in settings.threads:
            # Processor time would count both threads, and those that wait busily.
            clock = settings.clock if threads == 1 else "wall"
            try:
                times[str(threads)] = work(
                    ["pair", self._job.peer, self._job.model, self._job.feeds, threads,
                     settings.budget, clock], settings.limit + settings.budget)
            except Failed as problem:
                self.row["errors"][f"{threads} threads"] = str(problem)


def _read(path: pathlib.Path) -> list[np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return [stored[name] for name in sorted(stored.files, key=int)]


def measure(job: Job, settings: Settings) -> Row:
    """The row of a model."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        measurement = Measurement(job, pathlib.Path(folder), settings)
        try:
            return measurement.run()
        except (OSError, ValueError) as problem:
            measurement.row["errors"]["zoo"] = str(problem)
            return measurement.row
