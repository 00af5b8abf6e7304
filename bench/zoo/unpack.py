"""Takes named files out of a downloaded archive, as data.

Archives are not trusted. Only listed members are read, under names of ours, as plain files; their
sizes are bounded while they are written, because the size in an archive's directory may be wrong;
and a file appears under its name only after its checksum was compared. Members that are compressed
once more, by gzip, are decompressed, and their checksum is that of the content."""

import contextlib
import gzip
import hashlib
import os
import pathlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO

MAX_FILE_BYTES = 1 << 30
COMPRESSED = ".gz"
_CHUNK = 1 << 20


class UnpackError(Exception):
    """An archive is broken, or does not hold what the list says."""


def unpack(archive: pathlib.Path, wanted: Mapping[str, tuple[str, str]], folder: pathlib.Path,
           max_bytes: int = MAX_FILE_BYTES) -> list[pathlib.Path]:
    """Writes the members `wanted`, {member: (file name, sha256)}, of a wheel or source archive to
    the folder, and returns their paths in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    try:
        with _open(archive) as members:
            for member, (name, checksum) in wanted.items():
                if pathlib.PurePath(name).name != name or name in ("", ".", ".."):
                    raise UnpackError(f"{name!r} is not the name of a file")
                with members(member) as packed, _content(member, packed) as source:
                    paths.append(_write(source, f"{archive.name}: {member}", folder / name,
                                        checksum, max_bytes))
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError,
            NotImplementedError, RuntimeError) as problem:
        raise UnpackError(f"{archive.name} is broken: {problem}") from None
    return paths


def has_checksum(path: pathlib.Path, checksum: str) -> bool:
    """Whether the file exists and has the checksum."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == checksum


@contextlib.contextmanager
def _open(archive: pathlib.Path) -> Iterator:
    """A function that opens a member by name."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield lambda member: _zip_member(archive, zipped, member)
    else:
        with tarfile.open(archive) as tarred:
            yield lambda member: _tar_member(archive, tarred, member)


def _content(member: str, packed: IO[bytes]) -> contextlib.AbstractContextManager[IO[bytes]]:
    if member.endswith(COMPRESSED):
        return gzip.GzipFile(fileobj=packed)
    return contextlib.nullcontext(packed)


def _zip_member(archive: pathlib.Path, zipped: zipfile.ZipFile, member: str) -> IO[bytes]:
    try:
        return zipped.open(member)
    except KeyError:
        raise UnpackError(f"{archive.name} has no member {member}") from None


def _tar_member(archive: pathlib.Path, tarred: tarfile.TarFile, member: str) -> IO[bytes]:
    try:
        info = tarred.getmember(member)
    except KeyError:
        raise UnpackError(f"{archive.name} has no member {member}") from None
    # A link would be followed to another member.
    source = tarred.extractfile(info) if info.isreg() else None
    if source is None:
        raise UnpackError(f"{archive.name}: {member} is not a plain file")
    return source


def _write(source: IO[bytes], what: str, path: pathlib.Path, checksum: str,
           max_bytes: int) -> pathlib.Path:
    unfinished = path.with_name(path.name + ".unfinished")
    digest, size = hashlib.sha256(), 0
    try:
        with open(unfinished, "wb") as target:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > max_bytes:
                    raise UnpackError(f"{what} exceeds the limit of {max_bytes} bytes")
                digest.update(chunk)
                target.write(chunk)
        if digest.hexdigest() != checksum:
            raise UnpackError(f"{what} has the checksum {digest.hexdigest()}, but {checksum} is "
                              "listed")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
