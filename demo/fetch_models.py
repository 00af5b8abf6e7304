#!/usr/bin/env python3
"""Puts the demo's models and recordings into build/cache, once.

    build/cache/silero-vad/*.onnx    the six models of PyPI's wheel silero-vad 6.2.3, unpacked as data:
                                     nothing of the wheel is installed or run
    build/cache/recordings/*.wav     read speech from Debian's pocketsphinx-testdata (LibriVox)
    build/cache/backend-suite/       only when asked for: the backend tests of PyPI's wheel onnx 1.22.0,
                                     unpacked as data as well

The wheels and the package themselves stay in build/cache, too. Exit status 2 with a message about
what is missing when there is neither a cache nor a network.
"""

from __future__ import annotations

import dataclasses
import fcntl
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

CACHE = pathlib.Path(__file__).resolve().parents[1] / "build" / "cache"
MODELS = CACHE / "silero-vad"
RECORDINGS = CACHE / "recordings"
BACKEND_SUITE = CACHE / "backend-suite"

VOICE_MODEL = "silero_vad.onnx"
VOICE_MODEL_SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
MODEL_COUNT = 6

BACKEND_DATA = "onnx/backend/test/data/"
BACKEND_KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
BACKEND_SUITE_SHA256 = "b12e8b7d8c973bb766aae22f654e76b3a9126ebaf3001135c48afd46d334c459"
# Written last, holds the checksum: thousands of files are not read again to know that all is there.
SEAL = "checked.sha256"

PACKAGE = "pocketsphinx-testdata"
PACKAGE_FILES = f"{PACKAGE}_*.deb"
RECORDING_FILES = "usr/share/pocketsphinx/test/data/librivox/*.wav"


# One more try and a short wait: without a network the answer comes within seconds.
PIP_PATIENCE = ["--retries", "1", "--timeout", "15"]
APT_PATIENCE = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=15"]
NO_NETWORK = (
    "Failed to establish a new connection",
    "name resolution",
    "Name or service not known",
    "Temporary failure resolving",
    "Network is unreachable",
    "Connection timed out",
    "Could not connect",
    "Cannot connect to proxy",
    "Tunnel connection failed",
)


class Missing(Exception):
    """What the demo needs and could not get, and what helps."""

    def __init__(self, text: str, note: str) -> None:
        super().__init__(f"{text}\n  note: {note}")


Fetched = TypeVar("Fetched")


def _one_at_a_time(fetch: Callable[[], Fetched]) -> Callable[[], Fetched]:
    """Lets other processes that want to fill the cache wait until this one has filled it."""

    @functools.wraps(fetch)
    def alone() -> Fetched:
        CACHE.mkdir(parents=True, exist_ok=True)
        folder = os.open(CACHE, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            return fetch()
        finally:
            os.close(folder)

    return alone


def _run(command: list[str], folder: pathlib.Path) -> str:
    """Runs a command; returns "" or what it complained about, shortened."""
    try:
        answer = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
    except OSError as problem:
        return str(problem)
    if answer.returncode == 0:
        return ""
    told = (answer.stderr or answer.stdout).strip()
    if any(sign in told for sign in NO_NETWORK):
        return "there is no network"
    lines = told.splitlines()
    return lines[-1] if lines else f"{command[0]} ended with status {answer.returncode}"


def _download(what: str, command: list[str], pattern: str) -> str:
    """Puts the file that a command downloads into the cache, in place of one like it that was there.

    Returns "" or what went wrong."""
    print(f"downloading {what}", file=sys.stderr)
    folder = CACHE / "download.unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    problem = _run(command, folder)
    for path in sorted(folder.glob(pattern))[:1]:
        for old in CACHE.glob(pattern):
            old.unlink()
        path.rename(CACHE / path.name)
    shutil.rmtree(folder)
    return problem


def _first(pattern: str) -> pathlib.Path | None:
    return min(CACHE.glob(pattern), default=None)


@dataclasses.dataclass(frozen=True)
class Wheel:
    """A wheel of PyPI that is unpacked as data.

    `keep`: where a member goes inside the folder; None leaves it out. `wrong`: "" or what an
    unpacked folder lacks; it may seal the folder. `is_complete` is asked at every use."""

    requirement: str
    files: str
    keep: Callable[[str], str | None]
    wrong: Callable[[pathlib.Path], str]
    is_complete: Callable[[pathlib.Path], bool]


def _is_voice_model(path: pathlib.Path) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == VOICE_MODEL_SHA256


def _keep_model(member: str) -> str | None:
    return pathlib.PurePosixPath(member).name if member.endswith(".onnx") else None


def _wrong_models(folder: pathlib.Path) -> str:
    if _is_voice_model(folder / VOICE_MODEL):
        return ""
    return f"does not hold the expected {VOICE_MODEL}: its checksum differs"


def _has_models(folder: pathlib.Path) -> bool:
    complete = len(list(folder.glob("*.onnx"))) == MODEL_COUNT
    return complete and _is_voice_model(folder / VOICE_MODEL)


def _keep_case(member: str) -> str | None:
    name = member.removeprefix(BACKEND_DATA)
    return name if name != member and name.split("/")[0] in BACKEND_KINDS else None


def _wrong_cases(folder: pathlib.Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            whole.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size} ".encode())
            whole.update(path.read_bytes())
    if whole.hexdigest() != BACKEND_SUITE_SHA256:
        return "does not hold the expected backend tests: their checksum differs"
    (folder / SEAL).write_text(BACKEND_SUITE_SHA256)
    return ""


def _has_cases(folder: pathlib.Path) -> bool:
    seal = folder / SEAL
    return seal.is_file() and seal.read_text() == BACKEND_SUITE_SHA256


VOICE_WHEEL = Wheel(
    "silero-vad==6.2.3", "silero_vad-6.2.3-*.whl", _keep_model, _wrong_models, _has_models
)
BACKEND_WHEEL = Wheel(
    "onnx==1.22.0", "onnx-1.22.0-*.whl", _keep_case, _wrong_cases, _has_cases
)


def _write_members(wheel: Wheel, path: pathlib.Path, folder: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = None if member.endswith("/") else wheel.keep(member)
            if name is None:
                continue
            target = folder / name
            if ".." in target.parts:
                raise zipfile.BadZipFile(f"{member} leaves the folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))


def _unpack(wheel: Wheel, path: pathlib.Path, folder: pathlib.Path) -> str:
    """Fills the folder; returns "" or what is wrong with the wheel."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        _write_members(wheel, path, unfinished)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as problem:
        shutil.rmtree(unfinished)
        return f"{path.name} is broken: {problem}"
    wrong = wheel.wrong(unfinished)
    if wrong:
        shutil.rmtree(unfinished)
        return f"{path.name} {wrong}"
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)
    return ""


def _fetch(wheel: Wheel, folder: pathlib.Path) -> pathlib.Path:
    """The folder with what the wheel holds, filled if it was not."""
    if wheel.is_complete(folder):
        return folder
    path = _first(wheel.files)
    wrong = _unpack(wheel, path, folder) if path else f"PyPI's wheel {wheel.requirement} is missing"
    if not wrong:
        return folder
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *PIP_PATIENCE]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", "."]
    command += [wheel.requirement]
    problem = _download(f"PyPI's wheel {wheel.requirement}", command, wheel.files)
    if problem:
        raise Missing(f"{wrong}, and it could not be downloaded: {problem}",
                      f"put {wheel.files} into {CACHE}")
    path = _first(wheel.files)
    wrong = _unpack(wheel, path, folder) if path else "pip has downloaded no wheel"
    if wrong:
        raise Missing(wrong, f"put the {wheel.files} of PyPI into {CACHE}")
    return folder


@_one_at_a_time
def fetch_models() -> pathlib.Path:
    """The folder of the models, filled if it was not."""
    return _fetch(VOICE_WHEEL, MODELS)


@_one_at_a_time
def fetch_backend_suite() -> pathlib.Path:
    """The folder of ONNX's backend tests, <kind>/<case>/, filled if it was not."""
    return _fetch(BACKEND_WHEEL, BACKEND_SUITE)


def _installed_recordings() -> list[pathlib.Path]:
    return sorted(pathlib.Path("/").glob(RECORDING_FILES))


def _unpack_recordings() -> list[pathlib.Path]:
    package = _first(PACKAGE_FILES)
    if package is None or _run(["dpkg-deb", "-x", package.name, PACKAGE], CACHE):
        return []
    return sorted((CACHE / PACKAGE).glob(RECORDING_FILES))


def _downloaded_recordings() -> list[pathlib.Path]:
    """The recordings of the package where it is not installed: unpacked, not installed."""
    found = _unpack_recordings()
    if found:
        return found
    command = ["apt-get", "download", "-q", *APT_PATIENCE, PACKAGE]
    problem = _download(f"Debian's package {PACKAGE}", command, PACKAGE_FILES)
    found = _unpack_recordings()
    if not found:
        why = problem or "what was downloaded cannot be unpacked"
        raise Missing(
            f"Debian's package {PACKAGE} is neither installed nor could it be downloaded: {why}",
            f"install it, or put {PACKAGE_FILES} into {CACHE}",
        )
    return found


@_one_at_a_time
def fetch_recordings() -> list[pathlib.Path]:
    """The recordings, in order."""
    if not list(RECORDINGS.glob("*.wav")):
        sources = _installed_recordings() or _downloaded_recordings()
        unfinished = RECORDINGS.with_name("recordings.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for source in sources:
            shutil.copyfile(source, unfinished / source.name)
        unfinished.rename(RECORDINGS)
    return sorted(RECORDINGS.glob("*.wav"))


PARTS = {
    "backend-suite": fetch_backend_suite,
    "models": fetch_models,
    "recordings": fetch_recordings,
}


def main(wanted: Sequence[str] = ("models", "recordings")) -> int:
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"error: '{unknown[0]}' is none of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    try:
        for name in wanted:
            PARTS[name]()
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ("models", "recordings")))
