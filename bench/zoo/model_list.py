"""Reads the list of packages whose models are fetched.

The file is TOML: packages, each with its requirement, the pattern of its file, its licence and its
models; a model has the member of the archive, its checksum and, where the file leaves sizes open or
random values would mean nothing, its inputs. A mistake in the list is a ListError that names the
entry."""

import dataclasses
import pathlib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

PACKAGES = pathlib.Path(__file__).with_name("packages.toml")

_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ListError(Exception):
    """An entry of a list is not as it should be."""


@dataclasses.dataclass(frozen=True)
class Input:
    """How to make one input. `fill` sets every element; otherwise elements are uniform in
    [low, high), or standard normal if neither is given."""

    shape: tuple[int, ...] | None = None
    low: float | None = None
    high: float | None = None
    fill: float | None = None


@dataclasses.dataclass(frozen=True)
class Model:
    name: str  # unique, and the name of its files
    member: str  # the path inside the archive
    sha256: str
    inputs: Mapping[str, Input]


@dataclasses.dataclass(frozen=True)
class Package:
    requirement: str
    files: str  # pattern of the archive's file name
    licence: str
    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0]


def is_plain_member(member: str) -> bool:
    """Whether the path stays inside the folder that it is unpacked to."""
    path = pathlib.PurePosixPath(member)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and (
        "\\" not in member and "\0" not in member and ":" not in member)


def read(path: pathlib.Path = PACKAGES) -> list[Package]:
    """The packages of a list, in its order."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ListError(f"{path.name}: {problem}") from None
    _check_keys(path.name, table, {"package"})
    packages = [_package(row) for row in table.get("package", [])]
    names = [model.name for package in packages for model in package.models]
    for name in sorted(set(names)):
        if names.count(name) > 1:
            raise ListError(f"model {name!r} is listed {names.count(name)} times")
    return packages


def _package(row: Mapping[str, Any]) -> Package:
    where = str(row.get("requirement", "a package without requirement"))
    _check_keys(where, row, {"requirement", "files", "licence", "model"})
    requirement = _text(where, row, "requirement", _REQUIREMENT)
    files = _text(where, row, "files", re.compile(r"[^/\\]+"))
    licence = _text(where, row, "licence", re.compile(r".+"))
    models = tuple(_model(where, model) for model in row.get("model", []))
    if not models:
        raise ListError(f"{where}: no model is listed")
    return Package(requirement, files, licence, models)


def _model(package: str, row: Mapping[str, Any]) -> Model:
    where = f"{package}: {row.get('name', 'a model without name')}"
    _check_keys(where, row, {"name", "member", "sha256", "inputs"})
    member = _text(where, row, "member", re.compile(r".+"))
    if not is_plain_member(member):
        raise ListError(f"{where}: member {member!r} leaves the folder")
    inputs = {name: _input(f"{where}: input {name!r}", value)
              for name, value in row.get("inputs", {}).items()}
    return Model(_text(where, row, "name", _NAME), member, _text(where, row, "sha256", _SHA256),
                 inputs)


def _input(where: str, row: Mapping[str, Any]) -> Input:
    _check_keys(where, row, {"shape", "low", "high", "fill"})
    shape = row.get("shape")
    if shape is not None and not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ListError(f"{where}: shape {shape} is not a list of sizes")
    if ("low" in row) != ("high" in row):
        raise ListError(f"{where}: low and high belong together")
    if "fill" in row and "low" in row:
        raise ListError(f"{where}: fill excludes low and high")
    return Input(None if shape is None else tuple(shape), row.get("low"), row.get("high"),
                 row.get("fill"))


def _check_keys(where: str, row: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(row) - known)
    if unknown:
        raise ListError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")


def _text(where: str, row: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ListError(f"{where}: {key} is {value!r}, which does not match {pattern.pattern}")
    return value
