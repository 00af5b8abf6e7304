"""A job before it runs: its model, its inputs cut into shards, and what identifies it."""

from __future__ import annotations

import copy
import glob
import hashlib
import os
import pathlib
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._errors import InvalidArgument, NotFound
from .._ort.options import SessionOptions
from .._ort.session import InferenceSession
from .feeding import Feed, check_column, dtype_of, element_type, feed_plan, given_sizes, is_text, unfed
from .formats import format_of
from .parts import ERROR, key_schema
from .results import output_fields, output_plan
from .scoring import Scoring
from .shards import InputFile, Shard
from .spelling import are_options, named
from .work import Work, versions

Path = Union[str, "os.PathLike[str]"]


class Job(NamedTuple):
    """`work` is what workers get; `identity` says whether two starts are the same job."""

    shards: list[Shard]
    work: Work
    identity: dict[str, Any]


class Given(NamedTuple):
    """The arguments of run() that decide what is computed."""

    columns: Mapping[str, Union[str, None]]
    key: tuple[str, ...]
    outputs: tuple[str, ...]
    shared: Mapping[str, Any]
    shapes: Mapping[str, Sequence[int]]
    batch: int
    by_length: bool
    memory: Union[int, None]
    quarantine: bool


def open_session(model: Any, options: Union[SessionOptions, None], threads: int) -> InferenceSession:
    """A session that is sent to workers, with `threads` threads unless the options have a number. Raises
    InvalidArgument and what InferenceSession does."""
    if options is not None and not isinstance(options, SessionOptions):
        raise InvalidArgument(f"options is a {type(options).__name__}, but must be a scanloom.SessionOptions")
    if isinstance(model, InferenceSession):
        options = options or model.get_session_options()
        source = model._source
        model = os.fsdecode(source.data) if source.is_path else source.data
    made = copy.copy(options) if options is not None else SessionOptions()
    made.threads = made.threads or threads
    return InferenceSession(model, made)


def check_given(session: InferenceSession, shared: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> None:
    """Raises InvalidArgument unless arrays for all rows, and rows of the given shapes, can feed the
    model. Otherwise every row would fail, and no row could say why."""
    if shared:
        _check_feeds(session, "shared", shared)
    ends = {end.name: end for end in (*session.get_inputs(), *session.get_overridable_initializers())}
    for name, shape in shapes.items():
        if name not in ends:  # a mistake that feed_plan() names
            continue
        dims = list(ends[name].shape)
        sizes = list(given_sizes(name, shape))
        for axis, size in enumerate(sizes):
            fixed = dims[axis] if len(sizes) == len(dims) else None
            if isinstance(fixed, int) and size not in (fixed, -1):
                raise InvalidArgument(f"{named('shapes')}: input '{name}' has size {fixed} on axis {axis}, but the feed has {size}")
            # The row is fed, so it should be small.
            sizes[axis] = fixed if isinstance(fixed, int) else min(abs(size), 2)
        row = np.broadcast_to(np.zeros((), dtype_of(ends[name].type, f"the input '{name}'")), sizes)
        _check_feeds(session, "shapes", {name: row})


def _check_feeds(session: InferenceSession, argument: str, feeds: Mapping[str, Any]) -> None:
    try:
        session.iter_many(None, (), shared=dict(feeds)).close()
    except InvalidArgument as error:
        raise InvalidArgument(f"{named(argument)}: {error.text.removeprefix('shared: ')}", error.notes) from None


def expand(inputs: Union[Path, Sequence[Path]]) -> list[str]:
    """The files of the inputs, sorted. Raises NotFound for what matches no file."""
    listed = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    found: dict[str, str] = {}
    for each in listed:
        pattern = os.fspath(each)
        if os.path.isdir(pattern):
            raise InvalidArgument(f"the input '{pattern}' is a folder", (f"write '{pattern.rstrip('/')}/*.parquet'",))
        is_pattern = glob.has_magic(pattern) and not os.path.exists(pattern)
        paths = sorted(glob.glob(pattern, recursive=True)) if is_pattern else [pattern]
        if not paths or not all(os.path.exists(path) for path in paths):
            raise NotFound(f"the input '{pattern}' {'matches no file' if is_pattern else 'does not exist'}")
        for path in paths:  # two spellings of a path are one file, whose rows count once
            found.setdefault(os.path.abspath(path), path)
    if not found:
        raise InvalidArgument("the inputs name no file")
    return sorted(found.values())


def plan(session: InferenceSession, paths: Sequence[str], folder: pathlib.Path, given: Given) -> Job:
    """Opens every input once. Raises InvalidArgument, and NotFound for a file that is missing."""
    shards, schema, others = _shards(paths)
    defaults = session.get_overridable_initializers()
    feeds = feed_plan(session.get_inputs(), schema, given.columns, given.shared, given.shapes, defaults)
    check_given(session, given.shared, given.shapes)
    kept = unfed(defaults, schema, given.columns, given.shared)
    outputs = output_plan(session.get_outputs(), given.outputs)
    _check_names(schema, given.key, [field.name for field in output_fields(outputs)])
    for path, other in others:
        _check_columns(path, other, feeds, given.key)
        _check_key_types(path, other, schema, given.key)
        _check_kept(path, other, [name for name in kept if name not in given.columns])
    scoring = Scoring(tuple(feeds), tuple(outputs), given.shared, given.batch, given.by_length, given.memory)
    keys = key_schema(given.key, schema) if given.key else pa.schema([])
    work = Work(pickle.dumps(session), scoring, given.key, keys, str(folder), given.quarantine)
    return Job(shards, work, _identity(session, shards, paths, work))


def _shards(paths: Sequence[str]) -> tuple[list[Shard], pa.Schema, list[tuple[str, pa.Schema]]]:
    """The shards, the schema of the first file that has rows, and later files with another schema."""
    shards: list[Shard] = []
    others = []
    first = None
    for index, path in enumerate(paths):
        try:
            file = InputFile.now(path, os.path.abspath(path))
            schema, groups = format_of(path).inspect(path)
        except (OSError, pa.ArrowException) as error:
            raise InvalidArgument(f"the input '{path}' cannot be read: {error}") from None
        made = [Shard(index, file, group) for group in groups if group.rows]
        if not shards:  # files without rows often have columns without types
            first = schema
        elif made and not schema.equals(first):
            others.append((path, schema))
        shards += made
    assert first is not None  # there is a path
    return shards, first, others


def _check_columns(path: str, schema: pa.Schema, feeds: Sequence[Feed], key: Sequence[str]) -> None:
    """Raises InvalidArgument unless a file has the columns that the first one has."""
    for feed in feeds:
        try:
            check_column(schema, feed)
        except InvalidArgument as error:
            raise InvalidArgument(f"'{path}', unlike the first file: {error.text}",
                                  (f"its columns are {', '.join(schema.names)}",)) from None  # fmt: skip
    for name in key:
        if schema.get_field_index(name) < 0:
            raise InvalidArgument(f"'{path}', unlike the first file, lacks the key column '{name}'",
                                  (f"its columns are {', '.join(schema.names)}",))  # fmt: skip


def _check_key_types(path: str, schema: pa.Schema, first: pa.Schema, key: Sequence[str]) -> None:
    """Raises InvalidArgument if a key is a text in one file and a number in another: texts may be no
    numbers, and numbers as texts lose leading zeros."""
    for name in key:
        found, wanted = schema.field(name).type, first.field(name).type
        if is_text(element_type(found)) != is_text(element_type(wanted)):
            raise InvalidArgument(f"'{path}', unlike the first file, has {found} in the key column '{name}', not {wanted}",
                                  ("write the column of all files with one type, in Parquet rather than CSV",))  # fmt: skip


def _check_kept(path: str, schema: pa.Schema, kept: Sequence[str]) -> None:
    """Raises InvalidArgument if a file would feed an input that the first file leaves to its default."""
    for name in kept:
        if schema.get_field_index(name) >= 0:
            give = f"--columns {name}=" if are_options() else f'columns={{"{name}": None}}'
            raise InvalidArgument(f"'{path}', unlike the first file, has a column '{name}' for the input '{name}'",
                                  (f"write {give} to keep the default value of the input in all files",))  # fmt: skip


def _check_names(schema: pa.Schema, key: Sequence[str], outputs: Sequence[str]) -> None:
    for name in key:
        if schema.get_field_index(name) < 0:
            raise InvalidArgument(f"{named('key')} names the column '{name}', which the inputs lack",
                                  (f"they have {', '.join(schema.names)}",))  # fmt: skip
    names = [*(key or ("file", "row")), *outputs]
    twice = sorted({name for name in names if names.count(name) > 1} | ({ERROR} & set(key)))
    if twice:
        raise InvalidArgument(f"'{twice[0]}' would be the name of two columns of the output")


def _identity(session: Any, shards: Sequence[Shard], paths: Sequence[str], work: Work) -> dict[str, Any]:
    """What decides the bytes of the output. Memory, batches and workers do not."""
    scoring = work.scoring
    files = {shard.file.name: shard.file for shard in shards}
    return {
        **versions(),
        "model": _model_hash(session),
        "options": {name: repr(value) for name, value in sorted(_own_options(session).items())},
        "columns": {feed.name: feed.column for feed in scoring.feeds},
        "shapes": {feed.name: feed.shape for feed in scoring.feeds},
        "shared": {name: _array_hash(value) for name, value in sorted(scoring.shared.items())},
        "key": list(work.keys),
        "outputs": [output.name for output in scoring.outputs],
        "inputs": [[path, *_file_identity(files, path)] for path in paths],
    }


def _file_identity(files: Mapping[str, InputFile], path: str) -> tuple[int, int]:
    file = files.get(path) or InputFile.now(path, path)  # the second is a file without rows
    return file.size, file.changed_ns


def _own_options(session: Any) -> dict[str, Any]:
    options = session.get_session_options()
    names = ("numerics", "optimize", "disabled_passes", "lenient", "strict", "seed", "states", "fed_defaults",
             "low_latency")  # fmt: skip
    return {name: getattr(options, name) for name in names}


def _model_hash(session: Any) -> str:
    source = session._source
    digest = hashlib.sha256(b"" if source.is_path else source.data)
    for file in session._files:
        digest.update(file.with_checksum().sha256.encode())
    digest.update(source.weights or b"")
    digest.update(session.get_session_options().weights or b"")
    return digest.hexdigest()


def _array_hash(value: Any) -> str:
    array = np.ascontiguousarray(value)
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()
