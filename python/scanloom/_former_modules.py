"""Makes modules importable under the names that they had before they moved to _ort and _theano.

Pickles name classes and functions by their module. Public classes therefore keep the former name
as their __module__, which also keeps their reprs, and pickles can be exchanged between versions.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

# The modules that moved, by package; they were named _<name> in this package.
_MOVED = {
    "_ort": (
        "binding", "feeding", "loading", "options", "peer", "pickling", "profile", "session",
        "stream", "values",
    ),
    "_theano": (
        "config", "dot", "drawing", "function", "graph", "indexing", "numpy_calls", "saving",
        "scan", "shared", "step", "test_values", "types", "unpack", "variable", "views",
    ),
}  # fmt: skip


# Former module -> where the names are that it no longer holds.
_ELSEWHERE = {
    "saving": "_theano.compiled", "types": "_theano.variable", "variable": "_theano.test_values",
}


class _Former(types.ModuleType):
    """A module under its former name. The real module is imported on first attribute access, so
    that `import scanloom` stays fast."""

    def __init__(self, name: str, present: str) -> None:
        super().__init__(name, f"The former name of {__package__}.{present}.")
        self._present = present
        # inspect looks up the source of a class through __file__.
        self.__file__ = os.path.join(os.path.dirname(__file__), *present.split(".")) + ".py"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own tools ask every module for these
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__package__}.{self._present}")
        elsewhere = _ELSEWHERE.get(self.__name__.rpartition("._")[2])
        if elsewhere is not None and not hasattr(module, name):
            module = importlib.import_module(f"{__package__}.{elsewhere}")
        return getattr(module, name)


def register() -> None:
    """Makes the former names importable."""
    for room, names in _MOVED.items():
        for name in names:
            former = f"{__package__}._{name}"
            sys.modules[former] = _Former(former, f"{room}.{name}")
