"""scanloom.config: what programs written for Theano set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ._errors import InvalidArgument

_REALS = ("float64", "float32", "float16")
_TEST_VALUES = ("off", "ignore", "warn", "raise")


class _Scan:
    """Settings of loops; memory is reused between steps and calls whatever they say."""

    allow_gc = False
    allow_output_prealloc = True


class Config:
    """The settings. Those of Theano that have no meaning here may be set and read, too.

    floatX: the dtype of T.scalar(), T.vector() and so on.
    scan.allow_gc: accepted; memory is planned before a run.
    compute_test_value: "off", "warn" or "raise": whether every expression is computed at once for
        the values in variable.tag.test_value; "ignore" where some have none.
    """

    def __init__(self) -> None:
        self._float = "float64"
        self._test_value = "off"
        self._listeners: list[Callable[[str], None]] = []
        self.scan = _Scan()
        self.mode: Union[str, None] = None
        self.on_unused_input = "raise"
        self.profile = False

    @property
    def floatX(self) -> str:  # noqa: N802 - Theano's name
        return self._float

    @floatX.setter
    def floatX(self, name: str) -> None:  # noqa: N802
        if name not in _REALS:
            raise InvalidArgument(f"floatX is {name!r}, but must be one of {', '.join(_REALS)}")
        self._float = name

    @property
    def compute_test_value(self) -> str:
        return self._test_value

    @compute_test_value.setter
    def compute_test_value(self, mode: str) -> None:
        if mode not in _TEST_VALUES:
            known = ", ".join(_TEST_VALUES)
            raise InvalidArgument(f"compute_test_value is {mode!r}, but must be one of {known}")
        self._test_value = mode
        for listener in self._listeners:
            listener(mode)

    def _listen(self, listener: Callable[[str], None]) -> None:
        """Calls `listener` with compute_test_value now and whenever it changes."""
        self._listeners.append(listener)
        listener(self._test_value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no setting {name!r}")


config = Config()

_MODES = (None, "FAST_RUN", "FAST_COMPILE")


def check_mode(mode: Any) -> None:
    """Raises InvalidArgument for a mode that there is not."""
    if mode not in _MODES:
        raise InvalidArgument(
            f"there is no mode {mode!r}; modes are None, 'FAST_RUN' and 'FAST_COMPILE'"
        )
