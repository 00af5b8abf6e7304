"""Loading: model sources, merged options, and the variants of a session."""

from __future__ import annotations

import copy
import importlib
import os
import pathlib
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from .. import _native
from .._arguments import named_arguments, refuse_argument
from .._errors import Error, InvalidArgument, InvalidType
from .._files import writable
from .options import SessionOptions

_OWN_OPTIONS = ("threads", "execution", "numerics", "optimize", "disabled_passes", "lenient", "strict", "seed", "states", "fed_defaults",
                "low_latency", "speculate", "weights")
_ARGUMENTS = ("path_or_bytes", "sess_options", "providers", "provider_options")
_PEER_OPTIONS = ("disabled_optimizers", "enable_fallback", "read_config_from_model")

_MOST_VARIANTS = 8


class CheckReport(NamedTuple):
    """All errors and warnings about a model; it can run if `errors` is empty."""

    errors: list[Error]
    warnings: list[str]

    @property
    def ok(self) -> bool:
        return not self.errors


CheckReport.__module__ = "scanloom._loading"  # the former module, which pickles name


class Source(NamedTuple):
    """The bytes of a model, or the path of its file in the encoding of the system."""

    data: bytes
    is_path: bool
    weights: Union[bytes, None] = None  # of an OpenVINO model in memory

    @classmethod
    def of(cls, path_or_bytes: Any) -> "Source":
        """Makes a source of a path, bytes or a model object. Raises InvalidArgument."""
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            return cls(bytes(path_or_bytes), False)
        if type(path_or_bytes).__name__ == "ModelProto":
            return cls(path_or_bytes.SerializeToString(), False)
        if type(path_or_bytes).__name__ == "Model" and hasattr(path_or_bytes, "get_ordered_ops"):
            return cls._of_openvino(path_or_bytes)
        try:
            return cls(os.fsencode(path_or_bytes), True)
        except TypeError:
            raise InvalidType(
                "a model must be a path, bytes, or a model object of onnx or OpenVINO, not a "
                f"{type(path_or_bytes)}"
            ) from None
        except UnicodeEncodeError:
            raise InvalidArgument(f"{path_or_bytes!r} is not a valid path") from None

    @classmethod
    def _of_openvino(cls, model: Any) -> "Source":
        """Goes through a temporary folder, because OpenVINO writes models to files only."""
        openvino: Any = importlib.import_module("openvino")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.xml")
            openvino.serialize(model, str(path))
            return cls(path.read_bytes(), False, path.with_suffix(".bin").read_bytes())

    def native_options(self, options: SessionOptions) -> _native.SessionOptions:
        """Returns the options with this source's weights. Raises what SessionOptions.native()
        raises."""
        if self.weights is None:
            return options.native()
        own = copy.copy(options)
        own.weights = self.weights
        return own.native()

    def load(self, options: SessionOptions) -> _native.Session:
        load = _native.Session.load if self.is_path else _native.Session.load_bytes
        return load(self.data, self.native_options(options))


@named_arguments
def check(
    path_or_bytes: Union[str, bytes, "os.PathLike[str]", Any],
    sess_options: Union[SessionOptions, None] = None,
) -> CheckReport:
    """Reports everything that is wrong with a model or a saved function, in one pass."""
    options = sess_options if sess_options is not None else SessionOptions()
    if not isinstance(options, SessionOptions):
        raise InvalidArgument(f"sess_options is a {type(options)}, not scanloom.SessionOptions")
    source = Source.of(path_or_bytes)
    look = _native.check if source.is_path else _native.check_bytes
    return CheckReport(*look(source.data, source.native_options(options)))


def merge_options(
    given: Union[SessionOptions, None], overrides: Mapping[str, Any]
) -> SessionOptions:
    """Copies the options and applies the overrides. Raises InvalidArgument, TypeError."""
    if given is not None and not isinstance(given, SessionOptions):
        raise InvalidArgument(f"sess_options is a {type(given)}, not scanloom.SessionOptions")
    for name in overrides:
        if name not in _OWN_OPTIONS + _PEER_OPTIONS:
            refuse_argument("InferenceSession", name, (*_ARGUMENTS, *_OWN_OPTIONS))
    own = {name: overrides[name] for name in _OWN_OPTIONS if name in overrides}
    if given is None:
        return SessionOptions(**own)
    options = copy.copy(given)
    options._notes = list(given._notes)
    options._entries = dict(given._entries)
    checked = SessionOptions(**{name: own.get(name, getattr(given, name)) for name in _OWN_OPTIONS})
    for name in _OWN_OPTIONS:
        setattr(options, name, getattr(checked, name))
    return options


def write_optimized(source: Source, options: SessionOptions) -> None:
    """Writes the model to options.optimized_model_filepath, as convert() does.

    Raises InvalidArgument (the path does not end in .onnx), FileNotWritten, and Unsupported, which
    lists all operators that ONNX cannot express.
    """
    path = os.fspath(options.optimized_model_filepath)
    if os.path.splitext(path)[1].lower() != ".onnx":
        raise InvalidArgument(
            f"optimized_model_filepath is {path!r}: the model is written as ONNX",
            ("give a path that ends in .onnx",),
        )
    _native.convert(
        source.data, source.is_path, writable(path), False, False, [], [],
        source.native_options(options),
    )  # fmt: skip


def loading_notes(options: SessionOptions, arguments: Mapping[str, Any]) -> list[str]:
    """Notes about settings that were given at load and have no effect."""
    return options.ignored() + [
        f"the argument {name} has no meaning here"
        for name in _PEER_OPTIONS
        if name != "enable_fallback" and arguments.get(name)
    ]


class Variants:
    """Copies of the model loaded with other states, or with other inputs that replace their default
    values. A copy uses as much memory as a session, so only the most recently used ones are
    kept."""

    def __init__(self, source: Source, options: SessionOptions) -> None:
        self._source = source
        self._options = options
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, ...], _native.Session] = {}  # least recently used first

    def __len__(self) -> int:
        return len(self._kept)

    def with_states(self, states: Sequence[tuple[str, str]]) -> _native.Session:
        return self._get(("states", *states), {"states": dict(states)})

    def with_fed(self, names: Sequence[str]) -> _native.Session:
        """The variant in which these inputs must be fed, in addition to those of the options."""
        fed = [*self._options.fed_defaults, *names]
        return self._get(("fed_defaults", *fed), {"fed_defaults": fed})

    def _get(self, key: tuple[Any, ...], overrides: dict[str, Any]) -> _native.Session:
        with self._lock:
            session = self._kept.pop(key, None)
            if session is not None:
                self._kept[key] = session
                return session
        session = self._source.load(merge_options(self._options, overrides))
        with self._lock:
            self._kept[key] = session
            while len(self._kept) > _MOST_VARIANTS:
                del self._kept[next(iter(self._kept))]
        return session
