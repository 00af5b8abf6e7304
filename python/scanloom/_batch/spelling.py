"""How messages name the arguments of a job: as those of run(), or as options of the command line."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_ARE_OPTIONS = contextvars.ContextVar("are options", default=False)
_OPTIONS = {"output_names": "--output", "shapes": "--shape"}


@contextlib.contextmanager
def spelled_as_options() -> Iterator[None]:
    """Within it, messages name the options of `scanloom batch`."""
    before = _ARE_OPTIONS.set(True)
    try:
        yield
    finally:
        _ARE_OPTIONS.reset(before)


def are_options() -> bool:
    return _ARE_OPTIONS.get()


def named(argument: str) -> str:
    """The name that the caller knows an argument of run() by."""
    if not are_options():
        return argument
    return _OPTIONS.get(argument) or "--" + argument.replace("_", "-")


def given(argument: str, value: object) -> str:
    """How the caller gives the argument this value."""
    if are_options():
        return f"{named(argument)} {value}"
    return f'{argument}="{value}"' if isinstance(value, str) else f"{argument}={value!r}"


# Options of the library in its messages, which are written for whoever makes a session. A job on the
# command line has none of them.
_PHRASES = {
    "the option lenient ": "the option --lenient of 'scanloom convert', which writes another model, ",
    "under the same name, or give its bytes as the option 'weights'": "under the same name",
}


def as_options(text: str) -> str:
    """The text of a message with options of the command line instead of those of the library. Matches
    whole phrases, because a model may use the bare names."""
    for library, own in _PHRASES.items():
        text = text.replace(library, own)
    return text
