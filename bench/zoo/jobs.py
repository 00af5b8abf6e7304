"""The models that are in the data folder, each with its inputs: those of packages and those that
exporters have made."""

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Sequence

from zoo import feeds, fetch
from zoo.model_list import Package

IR_SUFFIX = ".xml"


@dataclasses.dataclass(frozen=True)
class Job:
    """One model to measure. `expected` holds the results of the framework that it was made from."""

    name: str
    group: str
    model: pathlib.Path
    feeds: pathlib.Path
    expected: pathlib.Path | None = None

    @property
    def peer(self) -> str:
        return "openvino" if self.model.suffix == IR_SUFFIX else "onnxruntime"


def of_packages(packages: Sequence[Package], data: pathlib.Path) -> tuple[list[Job], list[str]]:
    """The fetched models, whose inputs are written; and what is wrong with the others."""
    jobs, problems = [], []
    for package in packages:
        for model in package.models:
            path = fetch.model_path(data, model)
            feeds_path = data / "feeds" / f"{model.name}.npz"
            if not path.is_file():
                problems.append(f"{model.name}: {path.name} is not there; run `fetch`")
                continue
            try:
                feeds.write(path, model.inputs, feeds_path)
            except feeds.FeedError as problem:
                problems.append(f"{model.name}: {problem}")
                continue
            jobs.append(Job(model.name, package.name, path, feeds_path))
    return jobs, problems


def _notes(data: pathlib.Path) -> Iterator[tuple[pathlib.Path, dict[str, str]]]:
    """What each exporter script has noted about its models."""
    for notes in sorted((data / "made").glob("*/made.json")):
        for row in json.loads(notes.read_text(encoding="utf-8")):
            yield notes, row


def not_made(data: pathlib.Path) -> list[tuple[str, str]]:
    """The names of models that could not be exported, with the exporters' reasons."""
    return [(f"{notes.parent.name}_{row['name']}", row["reason"])
            for notes, row in _notes(data) if "reason" in row]


def of_exporters(data: pathlib.Path) -> list[Job]:
    """The models that exporters have made; their inputs and results are next to them."""
    jobs = []
    for notes, row in _notes(data):
        if row.get("file"):
            stem = notes.parent / row["name"]
            expected = stem.with_name(stem.name + ".expected.npz")
            jobs.append(Job(
                f"{notes.parent.name}_{row['name']}", notes.parent.name,
                notes.parent / row["file"], stem.with_name(stem.name + ".feeds.npz"),
                expected if expected.is_file() else None))
    return jobs
