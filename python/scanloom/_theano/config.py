"""scanloom.config: the settings of Theano."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Union

from .._errors import InvalidArgument

_REALS = ("float64", "float32", "float16")
_TEST_VALUES = ("off", "ignore", "warn", "raise")


# Theano's defaults for settings of devices, compilers and debuggers, none of which have an effect
# here.
_WITHOUT_MEANING = {
    "allow_gc": True, "assert_no_cpu_op": "ignore", "base_compiledir": "", "cast_policy": "custom",
    "compiledir": "", "cxx": "", "deterministic": "default", "device": "cpu",
    "enable_initial_driver_test": True, "exception_verbosity": "low", "force_device": False,
    "gcc.cxxflags": "", "gpuarray.preallocate": 0.0, "ignore_bug_before": "all",
    "init_gpu_device": "", "int_division": "int", "lib.amdlibm": False, "lib.cnmem": 0.0,
    "linker": "cvm", "blas.ldflags": "", "dnn.enabled": "auto", "max_err_ctx": 0,
    "numpy.seterr_all": "ignore", "nvcc.fastmath": False, "openmp": False,
    "openmp_elemwise_minsize": 200000, "optimizer": "fast_run", "optimizer_excluding": "",
    "optimizer_including": "", "optimizer_verbose": False, "pickle_test_value": True,
    "print_active_device": True, "print_test_value": False, "profile_memory": False,
    "profile_optimizer": False, "reoptimize_unpickled_function": False,
    "tensor.cmp_sloppy": 0, "traceback.limit": 8, "unittests.rseed": 666,
    "warn.ignore_bug_before": "all", "warn_float64": "ignore", "DebugMode.check_py": True,
    "NanGuardMode.nan_is_error": True, "NanGuardMode.inf_is_error": True,
    "NanGuardMode.big_is_error": True,
}  # fmt: skip


class _Section:
    """A group of settings without an effect; their names contain a dot."""


class _Scan:
    """Settings of loops. Memory is reused between steps and calls whatever their values are."""

    allow_gc = False
    allow_output_prealloc = True


class Config:
    """The settings. Settings of Theano that have no effect here, such as `device`, can be set and
    read too; everything runs on the CPU.

    floatX: the dtype of T.scalar(), T.vector() and so on.
    scan.allow_gc: accepted; memory is planned before a run.
    compute_test_value: "off", "warn" or "raise": whether each new expression is evaluated with the
        values in variable.tag.test_value. "ignore" skips expressions without test values.
    """

    __module__ = "scanloom._config"  # the former module, which pickles name

    def __init__(self) -> None:
        self._complete: Union[bool, None] = None  # set once all settings exist
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
        """Calls `listener` with compute_test_value, now and on each change."""
        self._listeners.append(listener)
        listener(self._test_value)

    def change_flags(self, *settings: dict[str, Any], **named: Any) -> "change_flags":
        """Changes settings within a `with` block or a decorated function."""
        return change_flags(*settings, **named)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no setting {name!r}{self._meant(name)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:1] != "_" and not hasattr(type(self), name) and name not in vars(self):
            if meant := self._meant(name):
                raise AttributeError(f"config has no setting {name!r}{meant}")
        object.__setattr__(self, name, value)

    def _meant(self, name: str) -> str:
        """The suggestion for an unknown setting, or ""."""
        if vars(self).get("_complete") is None:
            return ""
        known = [each for each in (*vars(self), "floatX", "compute_test_value") if each[0] != "_"]
        import difflib  # only errors need it

        alike = difflib.get_close_matches(name.lower(), [each.lower() for each in known], 1, 0.85)
        found = [each for each in known if alike and each.lower() == alike[0]]
        return f"; it has {found[0]!r}" if found else ""


def _configured() -> Config:
    made = Config()
    for name, value in _WITHOUT_MEANING.items():
        section, _, setting = name.rpartition(".")
        if section and section not in vars(made):
            setattr(made, section, _Section())
        setattr(getattr(made, section) if section else made, setting, value)
    made._complete = True
    return made


config = _configured()


class change_flags(contextlib.ContextDecorator):  # noqa: N801 - Theano's name
    """Changes settings temporarily, as in `with change_flags(compute_test_value="off"):`.

    Raises AttributeError for an unknown setting.
    """

    __module__ = "scanloom._config"  # the former module, which pickles name

    def __init__(self, *settings: dict[str, Any], **named: Any) -> None:
        self._wanted = {key.replace("__", "."): v for key, v in named.items()}
        for each in settings:
            self._wanted.update(each)
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(*_place(name)) for name in self._wanted})
        self._set(self._wanted)

    def __exit__(self, *_: Any) -> None:
        self._set(self._before.pop())

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(*_place(name), value)


def _place(name: str) -> tuple[Any, str]:
    section, _, setting = name.rpartition(".")
    return (getattr(config, section) if section else config), setting

_MODES = (None, "FAST_RUN", "FAST_COMPILE")


def check_mode(mode: Any) -> None:
    """Raises InvalidArgument for an unknown mode."""
    if mode not in _MODES:
        raise InvalidArgument(
            f"unknown mode {mode!r}; modes are None, 'FAST_RUN' and 'FAST_COMPILE'"
        )
