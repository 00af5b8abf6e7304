"""Test values: with config.compute_test_value, each variable is evaluated as it is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import _native
from .._errors import Error, InvalidArgument
from .._ort.options import SessionOptions, run_settings
from .config import config
from .types import fitted
from .above import above
from .variable import TensorVariable, _tags

_MISSING = object()
_busy = False


class NoTestValue(InvalidArgument, AttributeError):
    """A test value is needed, but a variable has none."""

    __module__ = "scanloom._test_values"  # the former module, which pickles name


def watcher(mode: str) -> Callable[[TensorVariable], None]:
    """Returns a function that evaluates new variables; "warn" and "ignore" continue on failure."""

    def watch(variable: TensorVariable) -> None:
        global _busy
        leaves = _native.leaves([variable._expr])
        if _busy or leaves == [variable._expr]:
            return
        _busy = True
        try:
            setattr(variable.tag, "test_value", _computed(variable, leaves))
        except NoTestValue as error:
            if mode == "raise":
                raise
            if mode == "warn":
                warnings.warn(error.text, stacklevel=4)
        except Error as error:
            if mode == "raise":
                raise
            warnings.warn(f"the test value of {variable}: {error.text}", stacklevel=4)
        finally:
            _busy = False

    return watch


def _listen(mode: str) -> None:
    """Called by config when compute_test_value changes."""
    above.watch = None if mode == "off" else watcher(mode)


config._listen(_listen)


def _computed(variable: TensorVariable, leaves: list[_native.Expr]) -> Any:
    inputs, values = [], []
    for leaf in leaves:
        if _native.as_shared(leaf) is not None:
            continue
        tag = _tags.get(leaf)
        value = getattr(tag, "test_value", _MISSING)
        what = f"input '{leaf.name}'" if leaf.name else f"an input {leaf.dtype}"
        if value is _MISSING:
            raise NoTestValue(
                f"{what} has no test value", ("variable.tag.test_value = ... gives it one",)
            )
        inputs.append(leaf)
        values.append(fitted(value, leaf.dtype, leaf.ndim, f"the test value of {what}"))
    options = SessionOptions(execution="interpreted").native()
    function = _native.compile(inputs, [variable._expr], [], [], True, [], "test value", [], options)
    results, _ = function.call(values, run_settings(None), False)
    return results[0]


def without_test_values(call: Callable[[], Any]) -> Any:
    """Runs the call; variables made by it have no test values."""
    global _busy
    before, _busy = _busy, True
    try:
        return call()
    finally:
        _busy = before
