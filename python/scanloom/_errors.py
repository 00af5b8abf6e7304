"""Exceptions: one class per error code of the library, all derived from scanloom.Error."""

from __future__ import annotations

import re

import numpy as np

from ._suggest import did_you_mean


class Error(Exception):
    """An error: `text` is the first line, `notes` are hints, `code` names the kind of error."""

    code: str = "error"
    text: str
    notes: tuple[str, ...]

    def __init__(self, text: str, notes: tuple[str, ...] = ()) -> None:
        text, *shown = (_utf8(line) for line in (text, *notes))
        super().__init__("\n".join([text, *(f"  note: {note}" for note in shown)]))
        self.text = text
        self.notes = tuple(shown)


def _utf8(text: str) -> str:
    """Returns the text, which may quote user input, in a form that can be encoded as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


class ModelWarning(UserWarning):
    """Something unusual in a model, or in how it is loaded, that was accepted."""


class InvalidArgument(Error, ValueError):
    """An argument, feed or option is invalid."""

    code = "invalid_argument"


class InvalidType(InvalidArgument, TypeError):
    """An argument has the wrong type."""


class IndexOutside(InvalidArgument, IndexError):
    """An index is out of bounds."""


class SingularMatrix(InvalidArgument, np.linalg.LinAlgError):
    """A matrix is singular or not positive definite."""


class Contradiction(InvalidArgument, KeyError):
    """Two updates of one shared variable disagree."""

    __str__ = Exception.__str__


class InvalidModel(Error, ValueError):
    """The model violates its format."""

    code = "invalid_model"


class Unsupported(Error, NotImplementedError):
    """The model is valid but needs something that is not supported."""

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
    """The system is out of memory."""

    code = "out_of_memory"


class Internal(Error, RuntimeError):
    """A bug in this library."""

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


# The message of kernels about an index that is out of bounds.
_OUTSIDE = re.compile(
    r"index -?\d+ is outside an axis of \d+ elements"
    r"|the vector holds -\d+, but numbers are at least 0"
    r"|a mask of \d+ elements on axis \d+ for an axis of \d+ elements"
)


# A message about an unknown name, and the note that lists the available ones.
_UNKNOWN = re.compile(r"(?:has no (?:in|out)put|no state|no such \w+) '(?P<name>[^']*)'$")
_LISTED = re.compile(r"its (?:inputs|outputs|states) are: (?P<names>.*)")

# The part of a message that suggests a cast.
_CASTS = re.compile(r"(?:[Cc]ast|, or) (?P<what>[^;:,]*?) to (?P<dtype>bool|bfloat16|(?:u?int|float|complex)\d+)\b")

_SINGULAR = re.compile(r"matrix is (singular|not positive definite): ")


# The library's names of element types, and quoted text, which comes from the user.
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
    """The exception for an error in an expression: numpy's dtype names, and casts as code to
    write."""
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
    """Appends the most similar known name to a message about an unknown one."""
    unknown = _UNKNOWN.search(text)
    listed = [found for note in notes if (found := _LISTED.match(note))]
    if unknown is None or not listed:
        return text
    return text + did_you_mean(unknown["name"], listed[0]["names"].split(", "))


def in_numpy_words(text: str) -> str:
    """Replaces the library's names of element types by numpy's, except in quoted text."""
    return _DTYPES.sub(_numpy_name, text)
