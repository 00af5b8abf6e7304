"""Sessions and streams: onnxruntime's interface over the library."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from .. import _native
from .binding import IOBinding
from .._errors import Error, InvalidArgument, ModelWarning
from .feeding import Feeds, GivenSizes, NodeArg, feeds_of, names_of
from .loading import Source, Variants, loading_notes, merge_options, write_optimized
from .options import RunOptions, SessionOptions, effective_seed, run_settings, state_pairs
from .peer import OrtMemoryInfo, provider_names, warns
from .pickling import ModelFile, copied_session, restore_session
from .profile import Profiler
from .stream import Stream
from .values import OrtValue, require_cpu

_PROVIDER = "CPUExecutionProvider"


class ModelMetadata(NamedTuple):
    """What the model says about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: dict[str, str]
    graph_description: str
    producer_version: str


ModelMetadata.__module__ = "scanloom._session"  # its former place, by which pickles name it


class InferenceSession:
    """A model, loaded and ready to run. May be used from many threads at once.

    path_or_bytes: an ONNX model; an IR of OpenVINO, whose weights are the .bin beside the path, or
        the argument `weights`; a saved function; or an onnx.ModelProto or openvino.Model.
    Keyword arguments are those of SessionOptions and override it.
    Raises NotFound, InvalidModel, Unsupported: the first thing that is wrong, and how many there
    are; check() names all.
    """

    __module__ = "scanloom._session"  # its former place, by which pickles name it

    def __init__(
        self,
        path_or_bytes: Union[str, bytes, "os.PathLike[str]", Any],
        sess_options: Union[SessionOptions, None] = None,
        providers: Union[Sequence[Any], None] = None,
        provider_options: Union[Sequence[Mapping[str, Any]], None] = None,
        **kwargs: Any,
    ) -> None:
        options = merge_options(sess_options, kwargs)
        self._open(Source.of(path_or_bytes), options, loading_notes(options, kwargs))
        self._note_providers(providers, provider_options)
        if options.optimized_model_filepath:
            write_optimized(self._source, options)
        if warns(options.log_severity_level):
            for text in [*dict.fromkeys(self._provider_notes), *self._native.warnings()]:
                warnings.warn(text, ModelWarning, stacklevel=2)

    def _open(self, source: Source, options: SessionOptions, notes: Sequence[str]) -> None:
        begin = time.monotonic_ns()
        self._options = options
        self._options.seed = effective_seed(options.seed)  # that of the next process is its own
        self._notes: dict[str, None] = dict.fromkeys(notes)
        self._provider_notes: list[str] = []
        self._source = source
        self._native = source.load(options)
        self._files = [ModelFile.now(path) for path in self._native.files()]
        self._variants = Variants(source, options)
        self._inputs = [self._describe(*end) for end in self._native.inputs()]
        self._outputs = [self._describe(*end) for end in self._native.outputs()]
        defaults = [self._describe(*end) for end in self._native.defaults()]
        self._defaults = [end for end in defaults if end.name not in self._options.fed_defaults]
        self._sizes = GivenSizes(self._options._sizes, self._inputs)
        self._start_profiler()
        if self._profiler is not None:
            self._profiler.start_ns = begin
            self._profiler.add_session("model_loading", begin)

    def _start_profiler(self) -> None:
        self._profiler: Union[Profiler, None] = None
        if self._options.enable_profiling:
            self._profiler = Profiler(self._options.profile_file_prefix)

    def __reduce__(self) -> tuple[Any, ...]:
        """The model's bytes, or the path of its file with a checksum, and the options. Raises
        InvalidModel where the file has changed since it was loaded."""
        self._files = [file.with_checksum() for file in self._files]
        source = self._source
        if source.is_path:
            source = source._replace(data=os.path.abspath(source.data))
        return restore_session, (type(self), source, self._options, self._files, list(self._notes))

    def __copy__(self) -> "InferenceSession":
        return copied_session(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "InferenceSession":
        return copied_session(self)

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
        wanted = names_of(output_names)
        settings = run_settings(run_options)
        feeds = feeds_of(input_feed)
        self._sizes.check(feeds)
        if run_options is not None:
            self._notes.update(dict.fromkeys(run_options.worth_noting()))
        native = self._for_feeds(feeds) if self._defaults else self._native
        profiler = self._profiler
        if profiler is None:
            return [array for _, array in native.run(feeds, wanted, settings)]
        begin = time.monotonic_ns()
        results, rows = native.run_profiled(feeds, wanted, settings)
        profiler.add_run(begin, rows)
        return [array for _, array in results]

    def run_with_ort_values(
        self,
        output_names: Union[Sequence[str], None],
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: Union[RunOptions, None] = None,
    ) -> list[OrtValue]:
        """The same, with values in and values out."""
        wanted = names_of(output_names) or [output.name for output in self._outputs]
        results = self.run(wanted, input_dict_ort_values, run_options)
        types = {output.name: output.type for output in self._outputs}
        return [OrtValue(result, types[name]) for name, result in zip(wanted, results)]

    def run_with_ortvaluevector(
        self,
        run_options: Union[RunOptions, None],
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[Any],
    ) -> None:
        """The same; `fetches` becomes the list of results."""
        given = dict(zip(feed_names, feeds))
        fetches[:] = self.run_with_ort_values(fetch_names, given, run_options)

    def run_async(
        self,
        output_names: Union[Sequence[str], None],
        input_feed: Feeds,
        callback: Callable[[list[Any], Any, str], object],
        user_data: Any,
        run_options: Union[RunOptions, None] = None,
    ) -> None:
        """Runs on another thread, which calls callback(results, user_data, error) at the end;
        `error` is "" where all went well."""

        def work() -> None:
            try:
                results, problem = self.run(output_names, input_feed, run_options), ""
            except Error as error:
                results, problem = [], str(error)
            except BaseException as error:  # whoever waits for the callback must hear of it
                results, problem = [], f"{type(error).__name__}: {error}"
            callback(results, user_data, problem)

        threading.Thread(target=work, name="scanloom.run_async", daemon=True).start()

    def io_binding(self) -> IOBinding:
        """Inputs and outputs to bind once and use in many runs."""
        return IOBinding(self)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: Union[RunOptions, None] = None
    ) -> None:
        """Runs with what is bound; iobinding.get_outputs() has the results."""
        if not isinstance(iobinding, IOBinding) or iobinding._session is not self:
            raise InvalidArgument("the binding is not one of this session")
        iobinding._keep(self.run(iobinding._wanted(), iobinding._feeds(), run_options))

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Zeros, as OrtValue.ortvalue_from_shape_and_type makes them."""
        require_cpu(device_type, device_id)
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type)

    def stream(self, states: Union[Mapping[str, str], None] = None) -> "Stream":
        """A stream that keeps states {input: output}; by default those of SessionOptions.

        Where none is named, over the steps of the model's loops and recurrent layers: a push takes
        a piece of the axis that they walk along, and what they carry is kept. Raises Unsupported,
        which names a node that computes across the steps.
        """
        pairs = state_pairs(self._options.states if states is None else states)
        kept = pairs == list(self._options.states.items())
        native = self._native if kept else self._variants.with_states(pairs)
        return Stream(
            self, native.stream(), pairs, [end.name for end in self._defaults], self._sizes
        )

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_states(self) -> list[NodeArg]:
        """What a stream keeps: variables of ReadValue and Assign in an IR of OpenVINO, and the
        states of SessionOptions. A run begins with their initial values."""
        return [self._describe(*end) for end in self._native.states()]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default value. The first run that feeds some of them loads the model once
        more, without those values in its compiled form; of such forms the last 8 are kept."""
        return list(self._defaults)

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(*self._native.info())

    def get_providers(self) -> list[str]:
        return [_PROVIDER]

    def set_providers(
        self,
        providers: Union[Sequence[Any], None] = None,
        provider_options: Union[Sequence[Mapping[str, Any]], None] = None,
    ) -> None:
        """Accepted, and noted in warnings(): models run on the processor."""
        self._note_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """Accepted: there is nothing to fall back from."""

    def disable_fallback(self) -> None:
        """Accepted: there is nothing to fall back from."""

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._inputs]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._outputs]

    def get_input_epdevices(self) -> list[Any]:
        return [None for _ in self._inputs]

    def get_provider_graph_assignment_info(self) -> list[Any]:
        return []

    def get_tuning_results(self) -> list[Any]:
        return []

    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None:
        """Accepted: kernels are chosen by sizes and instruction sets."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted, and noted in warnings()."""
        self._notes.update(
            dict.fromkeys(f"the dynamic option '{key}' has no meaning here" for key in options)
        )

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Accepted: nothing is captured."""

    def end_profiling(self) -> str:
        """Writes the times of all runs so far, ends profiling, and returns the name of the file.

        The file lies in the current folder and opens in chrome://tracing and Perfetto; "" where
        SessionOptions.enable_profiling was not set.
        """
        profiler, self._profiler = self._profiler, None
        return "" if profiler is None else profiler.write()

    def get_profiling_start_time_ns(self) -> int:
        """On the clock of time.monotonic_ns(); 0 where nothing is profiled."""
        return 0 if self._profiler is None else self._profiler.start_ns

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        return {_PROVIDER: {}}

    def get_session_options(self) -> SessionOptions:
        return self._options

    def warnings(self) -> list[str]:
        """What was strange but accepted, since the model was loaded."""
        return list(self._notes) + self._native.warnings()

    def explain(self) -> str:
        """What became of every loop, and what stands in the way of something faster.

        Before the first run strategies are known where the model fixes the sizes of all inputs.
        """
        return self._native.explain()

    def ir(self, optimized: bool = True) -> str:
        """The program's text form, before or after rewriting."""
        return self._native.ir(optimized)

    def passes(self) -> str:
        """What every pass did: counts, lines of the text form that went and came, times.

        The model is read and optimised again. Raises what loading raises, where its file has changed.
        """
        return self._native.passes()

    def plan(self, feeds: Union[Feeds, None] = None) -> str:
        """The plan; with feeds also buffers, offsets and kernels for their sizes."""
        return self._native.plan() if feeds is None else self._native.plan_for(feeds_of(feeds))

    def operators(self) -> dict[str, int]:
        """How often each operator occurs after rewriting; loops and branches among them."""
        return dict(self._native.operators())

    def _note_providers(
        self,
        providers: Union[Sequence[Any], None],
        provider_options: Union[Sequence[Mapping[str, Any]], None],
    ) -> None:
        for name in provider_names(providers) + self._options._providers:
            if name != _PROVIDER:
                note = f"provider {name} is not here: the model runs on the processor"
                self._notes[note] = None
                self._provider_notes.append(note)
        if any(provider_options or ()):
            self._notes["provider_options have no meaning here"] = None

    def _describe(self, name: str, type: str, dims: list[Union[int, str, None]]) -> NodeArg:
        """An input or output, with the sizes that the options give to symbols."""
        sizes = self._options._sizes
        return NodeArg(name, [sizes.get(d, d) if isinstance(d, str) else d for d in dims], type)

    def _for_feeds(self, feeds: Feeds) -> _native.Session:
        """The session in which just those inputs with a default value that are fed are inputs."""
        fed = sorted(end.name for end in self._defaults if end.name in feeds)
        return self._variants.with_fed(fed) if fed else self._native
