"""Exceptions: one class per error code of the library, all of them scanloom.Error."""

from __future__ import annotations

import re

import numpy as np

from ._suggest import did_you_mean


class Error(Exception):
    """What went wrong: the first line in `text`, what would help in `notes`, a word in `code`."""

    code: str = "error"
    text: str
    notes: tuple[str, ...]

    def __init__(self, text: str, notes: tuple[str, ...] = ()) -> None:
        text, *shown = (_utf8(line) for line in (text, *notes))
        super().__init__("\n".join([text, *(f"  note: {note}" for note in shown)]))
        self.text = text
        self.notes = tuple(shown)


def _utf8(text: str) -> str:
    """The text, which may quote what a program gave, in a form that can be written to a file."""
    return text.encode("utf-8", "backslashreplace").decode()


class ModelWarning(UserWarning):
    """What is strange about a model, or how it is loaded, but was accepted."""


class InvalidArgument(Error, ValueError):
    """An argument, a feed or an option is not acceptable."""

    code = "invalid_argument"


class InvalidType(InvalidArgument, TypeError):
    """An argument of another kind than the one that is needed."""


class IndexOutside(InvalidArgument, IndexError):
    """An index that its axis does not have."""


class SingularMatrix(InvalidArgument, np.linalg.LinAlgError):
    """A matrix without an inverse, or one that is not positive definite."""


class Contradiction(InvalidArgument, KeyError):
    """Two updates of one shared variable that differ."""

    __str__ = Exception.__str__


class InvalidModel(Error, ValueError):
    """The model breaks a rule of its format."""

    code = "invalid_model"


class Unsupported(Error, NotImplementedError):
    """The model is legal but needs something that is not here."""

    code = "unsupported"


class NotFound(Error, LookupError):
    """A file, an input or an output does not exist."""

    code = "not_found"


class FileNotWritten(Error, OSError):
    """The system refuses to write a file."""

    code = "file_not_written"


class FolderNotFound(FileNotWritten, FileNotFoundError):
    """The folder of a file does not exist."""


class LimitReached(Error):
    """A step limit, a deadline or a memory budget was reached."""

    code = "limit_reached"


class Cancelled(Error):
    """The caller cancelled the run."""

    code = "cancelled"


class OutOfMemory(Error, MemoryError):
    """The system has no memory left."""

    code = "out_of_memory"


class Internal(Error, RuntimeError):
    """A mistake of this library."""

    code = "internal"


_CLASSES = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        InvalidModel,
        Unsupported,
        NotFound,
        LimitReached,
        Cancelled,
        OutOfMemory,
        Internal,
    )
}


# What the kernels say of an index.
_OUTSIDE = re.compile(
    r"index -?\d+ is outside an axis of \d+ elements"
    r"|the vector holds -\d+, but numbers are at least 0"
    r"|a mask of \d+ elements on axis \d+ for an axis of \d+ elements"
)


# An unknown name, and the note that lists those there are.
_UNKNOWN = re.compile(r"(?:has no (?:in|out)put|no state|no such \w+) '(?P<name>[^']*)'$")
_LISTED = re.compile(r"its (?:inputs|outputs|states) are: (?P<names>.*)")

# A cast that would help, in the words of the library.
_CASTS = re.compile(r"(?:[Cc]ast|, or) (?P<what>[^;:,]*?) to (?P<dtype>bool|bfloat16|(?:u?int|float|complex)\d+)\b")

_SINGULAR = re.compile(r"matrix is (singular|not positive definite): ")


# The library's names of element types, and texts in quotes, which are the user's.
_DTYPES = re.compile(r"'[^']*'|\b(boolean|bf16|[iufc]\d{1,3})\b")
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


def _numpy_name(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:
        return found[0]
    if name in ("boolean", "bf16"):
        return "bool" if name == "boolean" else "bfloat16"
    return _KINDS[name[0]] + name[1:]


def make_of_expression(code: str, text: str, notes: list[str]) -> Error:
    """The same with numpy's names of element types, and casts as they are written."""
    lines = [in_numpy_words(line) for line in (text, *notes)]
    casts = [f".astype('{found['dtype']}') casts {found['what']}" for found in _CASTS.finditer(lines[0])]
    return make(code, lines[0], lines[1:] + casts)


def make(code: str, text: str, notes: list[str]) -> Error:
    """The exception for an error of the library."""
    kind = _CLASSES[code]
    text = _with_suggestion(text, notes)
    if kind is InvalidArgument and _OUTSIDE.search(text):
        kind = IndexOutside
    if kind is InvalidArgument and _SINGULAR.search(text):
        kind = SingularMatrix
    return kind(text, tuple(notes))


def _with_suggestion(text: str, notes: list[str]) -> str:
    """The text; of an unknown name with the one that was meant."""
    unknown = _UNKNOWN.search(text)
    listed = [found for note in notes if (found := _LISTED.match(note))]
    if unknown is None or not listed:
        return text
    return text + did_you_mean(unknown["name"], listed[0]["names"].split(", "))


def in_numpy_words(text: str) -> str:
    """The text with numpy's names of element types; what stands in quotes stays."""
    return _DTYPES.sub(_numpy_name, text)
