"""Sessions and streams: onnxruntime's interface over the library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from . import _native
from ._errors import Error, InvalidArgument
from ._options import RunOptions, SessionOptions, run_settings, texts

Feeds = Mapping[str, Any]

_PROVIDER = "CPUExecutionProvider"
_OWN_OPTIONS = ("threads", "execution", "optimize", "disabled_passes", "lenient", "states")
_PEER_OPTIONS = ("disabled_optimizers", "read_config_from_model")


class NodeArg(NamedTuple):
    """An input or output of a model; a dim is a number, a symbol's name, or None."""

    name: str
    shape: list[Union[int, str, None]]
    type: str


class ModelMetadata(NamedTuple):
    """What the model says about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: dict[str, str]

    @property
    def graph_description(self) -> str:
        return ""


class CheckReport(NamedTuple):
    """Everything that is wrong with a model; it can run when `errors` is empty."""

    errors: list[Error]
    warnings: list[str]

    @property
    def ok(self) -> bool:
        return not self.errors


def get_available_providers() -> list[str]:
    """The one place where models run: this machine's processor."""
    return [_PROVIDER]


def get_device() -> str:
    return "CPU"


class InferenceSession:
    """A model, loaded and ready to run. May be used from many threads at once.

    path_or_bytes: an ONNX model. Keyword arguments are those of SessionOptions and override it.
    Raises NotFound, InvalidModel (all that is wrong, as notes), Unsupported.
    """

    def __init__(
        self,
        path_or_bytes: Union[str, bytes, "os.PathLike[str]"],
        sess_options: Union[SessionOptions, None] = None,
        providers: Union[Sequence[Any], None] = None,
        provider_options: Union[Sequence[Mapping[str, Any]], None] = None,
        **kwargs: Any,
    ) -> None:
        self._source = _source(path_or_bytes)
        self._notes: list[str] = []
        self._options = self._merge_options(sess_options, kwargs)
        self._note_providers(providers, provider_options)
        self._native = self._load(self._options)
        self._inputs = [NodeArg(name, shape, type) for name, type, shape in self._native.inputs()]
        self._outputs = [NodeArg(name, shape, type) for name, type, shape in self._native.outputs()]
        self._streaming: dict[tuple[tuple[str, str], ...], _native.Session] = {}

    def run(
        self,
        output_names: Union[Sequence[str], None],
        input_feed: Feeds,
        run_options: Union[RunOptions, None] = None,
    ) -> list[Any]:
        """Runs once; returns the outputs named, or all. Feeds are read, never written.

        Tensors are arrays, of str where they hold texts; sequences are lists, and an optional is
        what it holds, or None.

        Raises InvalidArgument, LimitReached, Cancelled, OutOfMemory, Unsupported.
        """
        wanted = _names(output_names)
        results = self._native.run(_feeds(input_feed), wanted, run_settings(run_options))
        return [array for _, array in results]

    def stream(self, states: Union[Mapping[str, str], None] = None) -> "Stream":
        """A stream that keeps states {input: output}; by default those of SessionOptions."""
        pairs = tuple((self._options.states if states is None else states).items())
        if not pairs:
            raise InvalidArgument(
                "a stream keeps states, and none is named",
                ('write session.stream(states={"input": "output"})',),
            )
        session = self._native
        if pairs != tuple(self._options.states.items()):
            if pairs not in self._streaming:
                options = self._merge_options(self._options, {"states": dict(pairs)})
                self._streaming[pairs] = self._load(options)
            session = self._streaming[pairs]
        return Stream(session.stream(), [name for name, _ in pairs], [name for _, name in pairs])

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        return []

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(*self._native.info())

    def get_providers(self) -> list[str]:
        return [_PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        return {_PROVIDER: {}}

    def get_session_options(self) -> SessionOptions:
        return self._options

    def warnings(self) -> list[str]:
        """What was strange but accepted, since the model was loaded."""
        return self._notes + self._native.warnings()

    def explain(self) -> str:
        """What became of every loop, and what stands in the way of something faster."""
        return self._native.explain()

    def ir(self, optimized: bool = True) -> str:
        """The program's text form, before or after rewriting."""
        return self._native.ir(optimized)

    def plan(self, feeds: Union[Feeds, None] = None) -> str:
        """The plan; with feeds also buffers, offsets and kernels for their sizes."""
        return self._native.plan() if feeds is None else self._native.plan_for(_feeds(feeds))

    def operators(self) -> dict[str, int]:
        """How often each operator occurs after rewriting; loops and branches among them."""
        return dict(self._native.operators())

    def _merge_options(
        self, given: Union[SessionOptions, None], overrides: Mapping[str, Any]
    ) -> SessionOptions:
        base = given if given is not None else SessionOptions()
        if not isinstance(base, SessionOptions):
            raise InvalidArgument(f"sess_options is a {type(base)}, not scanloom.SessionOptions")
        unknown = [name for name in overrides if name not in _OWN_OPTIONS + _PEER_OPTIONS]
        if unknown:
            raise TypeError(f"InferenceSession has no argument {unknown[0]!r}")
        values = {name: overrides.get(name, getattr(base, name)) for name in _OWN_OPTIONS}
        self._notes = base.ignored() + [
            f"the argument {name} has no meaning here"
            for name in _PEER_OPTIONS
            if overrides.get(name)
        ]
        return SessionOptions(**values)

    def _note_providers(
        self,
        providers: Union[Sequence[Any], None],
        provider_options: Union[Sequence[Mapping[str, Any]], None],
    ) -> None:
        names = [entry if isinstance(entry, str) else entry[0] for entry in providers or ()]
        self._notes += [
            f"provider {name} is not here: the model runs on the processor"
            for name in names
            if name != _PROVIDER
        ]
        if any(provider_options or ()):
            self._notes.append("provider_options have no meaning here")

    def _load(self, options: SessionOptions) -> _native.Session:
        if isinstance(self._source, bytes):
            return _native.Session.load_bytes(self._source, options.native())
        return _native.Session.load(self._source, options.native())


class Stream:
    """Carried state between runs. For one thread at a time.

    All states of a push are kept together when it succeeds, none when it fails.
    """

    def __init__(self, native: _native.Stream, inputs: list[str], outputs: list[str]) -> None:
        self._native = native
        self._inputs = inputs
        self._outputs = outputs

    def push(
        self,
        feeds: Feeds,
        output_names: Union[Sequence[str], None] = None,
        run_options: Union[RunOptions, None] = None,
    ) -> Any:
        """Runs with the feeds and the kept states.

        Returns the outputs named, as a list; without names those that are no states: a list, or
        the array itself where there is only one.
        """
        kept = [name for name in _feeds(feeds) if name in self._inputs]
        if kept:
            raise InvalidArgument(
                f"input '{kept[0]}' is a state that the stream keeps; it cannot be fed",
                (f"set it with stream.set('{kept[0]}', value)",),
            )
        results = dict(self._native.push(_feeds(feeds), run_settings(run_options)))
        wanted = _names(output_names)
        if not wanted:
            arrays = [array for name, array in results.items() if name not in self._outputs]
            return arrays[0] if len(arrays) == 1 else arrays
        unknown = [name for name in wanted if name not in results]
        if unknown:
            raise InvalidArgument(f"the model has no output '{unknown[0]}'")
        return [results[name] for name in wanted]

    def set(self, input: str, value: Any) -> None:
        """Sets one state. Raises NotFound, InvalidArgument."""
        is_strided = isinstance(value, np.ndarray) and value.ndim > 0
        self._native.set(input, np.ascontiguousarray(value) if is_strided else value)

    def reset(self) -> None:
        """Back to the initial values."""
        self._native.reset()


def check(
    path_or_bytes: Union[str, bytes, "os.PathLike[str]"],
    sess_options: Union[SessionOptions, None] = None,
) -> CheckReport:
    """Everything that is wrong with a model, in one pass."""
    options = sess_options if sess_options is not None else SessionOptions()
    if not isinstance(options, SessionOptions):
        raise InvalidArgument(f"sess_options is a {type(options)}, not scanloom.SessionOptions")
    source = _source(path_or_bytes)
    if isinstance(source, bytes):
        return CheckReport(*_native.check_bytes(source, options.native()))
    return CheckReport(*_native.check(source, options.native()))


def _source(path_or_bytes: Any) -> Union[str, bytes]:
    """The path of a model, or the model itself."""
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        return bytes(path_or_bytes)
    try:
        return os.fsdecode(path_or_bytes)
    except TypeError:
        raise InvalidArgument(
            f"a model is a path or bytes, not a {type(path_or_bytes)}"
        ) from None


def _names(output_names: Union[Sequence[str], None]) -> list[str]:
    return [] if output_names is None else texts("output_names", output_names)


def _feeds(feeds: Feeds) -> dict[str, Any]:
    if isinstance(feeds, dict):
        return feeds
    try:
        return dict(feeds)
    except (TypeError, ValueError):
        raise InvalidArgument(f"feeds are a {type(feeds)}, but must be a dictionary") from None
