"""Sessions and streams: onnxruntime's interface over the library."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from .. import _native
from .binding import IOBinding
from .._errors import Error, InvalidArgument, ModelWarning
from .feeding import Feeds, GivenNames, GivenSizes, NodeArg, feeds_of, names_of
from .loading import Source, Variants, loading_notes, merge_options, write_optimized
from .many import ManyIterator, ManyProgress, ManyReport, Resets, SessionReader
from .option_values import state_pairs
from .options import RunOptions, SessionOptions, effective_seed, run_settings
from .peer import OrtMemoryInfo, provider_names, warns
from .pickling import ModelFile, copied_session, restore_session
from .profile import Profiler
from .stream import Stream
from .values import OrtValue, require_cpu

if TYPE_CHECKING:
    from .._report import Report

_PROVIDER = "CPUExecutionProvider"


class ModelMetadata(NamedTuple):
    """The metadata of a model."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: dict[str, str]
    graph_description: str
    producer_version: str


ModelMetadata.__module__ = "scanloom._session"  # the former module, which pickles name


class InferenceSession:
    """A loaded model that is ready to run. Thread safe.

    path_or_bytes: an ONNX model; an OpenVINO IR, whose weights are the .bin next to the .xml or the
        argument `weights`; a saved function; or an onnx.ModelProto or openvino.Model.
    Keyword arguments are those of SessionOptions and override it.
    Raises NotFound, InvalidModel, Unsupported. The message shows the first error and the number of
    errors; check() lists all of them.
    """

    __module__ = "scanloom._session"  # the former module, which pickles name

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
            notes = [*dict.fromkeys(self._provider_notes), *self._given.unknown()]
            for text in [*notes, *self._native.warnings()]:
                warnings.warn(text, ModelWarning, stacklevel=2)

    def _open(self, source: Source, options: SessionOptions, notes: Sequence[str]) -> None:
        begin = time.monotonic_ns()
        self._options = options
        self._options.seed = effective_seed(options.seed)  # kept by pickles
        self._notes: dict[str, None] = dict.fromkeys(notes)
        self._provider_notes: list[str] = []
        self._source = source
        self._native = source.load(options)
        self._files = [ModelFile.now(path) for path in self._native.files()]
        self._variants = Variants(source, options)
        self._given = GivenNames(options._sizes)
        self._inputs = [self._describe(*end) for end in self._native.inputs()]
        self._outputs = [self._describe(*end) for end in self._native.outputs()]
        defaults = [self._describe(*end) for end in self._native.defaults()]
        self._defaults = [end for end in defaults if end.name not in self._options.fed_defaults]
        self._notes.update(dict.fromkeys(self._given.unknown()))
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
        """Pickles the options, and the model as its bytes, or as the path and checksum of its file.
        Raises InvalidModel if the file has changed since it was loaded."""
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
        """Runs the model once and returns the named outputs, or all. Feeds are never modified.

        Tensors are arrays (of str for strings), sequences are lists, and an optional is its value
        or None.

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
        """Same as run(), but takes and returns OrtValues."""
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
        """Same as run_with_ort_values(), but stores the results in the list `fetches`."""
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
        """Runs on another thread, which finally calls callback(results, user_data, error). `error`
        is "" on success."""

        def work() -> None:
            try:
                results, problem = self.run(output_names, input_feed, run_options), ""
            except Error as error:
                results, problem = [], str(error)
            except BaseException as error:  # the callback must be called in every case
                results, problem = [], f"{type(error).__name__}: {error}"
            callback(results, user_data, problem)

        threading.Thread(target=work, name="scanloom.run_async", daemon=True).start()

    def io_binding(self) -> IOBinding:
        """Returns a binding, whose inputs and outputs are bound once and reused by many runs."""
        return IOBinding(self)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: Union[RunOptions, None] = None
    ) -> None:
        """Runs with the bound inputs and outputs; iobinding.get_outputs() returns the results."""
        if not isinstance(iobinding, IOBinding) or iobinding._session is not self:
            raise InvalidArgument("the binding belongs to another session")
        iobinding._keep(self.run(iobinding._wanted(), iobinding._feeds(), run_options))

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor of zeros; see OrtValue.ortvalue_from_shape_and_type."""
        require_cpu(device_type, device_id)
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type)

    def run_many(
        self,
        output_names: Union[Sequence[str], None],
        sequences: Iterable[Feeds],
        *,
        batch: int = 64,
        window: int = 0,
        reset: Resets = None,
        shared: Union[Feeds, None] = None,
        run_options: Union[RunOptions, None] = None,
        progress: Union[ManyProgress, bool, None] = None,
        on_error: str = "raise",
        report: Union[Callable[[ManyReport], object], None] = None,
    ) -> list[Any]:
        """Runs many sequences of unequal lengths; returns what run() returns for each, in order.

        report: called with the ManyReport at the end. Otherwise like iter_many().
        """
        results = self.iter_many(
            output_names, sequences, batch=batch, window=window, reset=reset, shared=shared,
            run_options=run_options, progress=progress, on_error=on_error,
        )  # fmt: skip
        return results._gathered(report)

    def iter_many(
        self,
        output_names: Union[Sequence[str], None],
        sequences: Iterable[Feeds],
        *,
        batch: int = 64,
        window: int = 0,
        reset: Resets = None,
        shared: Union[Feeds, None] = None,
        run_options: Union[RunOptions, None] = None,
        progress: Union[ManyProgress, bool, None] = None,
        on_error: str = "raise",
    ) -> ManyIterator:
        """Runs many sequences of unequal lengths, and yields what run() returns for each, in order.

        Each has the bits that it has alone. Sequences share runs as lanes, without padding, if no
        node computes across the steps (stream()) and all have a form for many sequences at once.
        Bidirectional layers and reversed scans take whole sequences, in padded batches of similar
        lengths; otherwise sequences run one by one on the threads. `report` of the iterator says which, and names
        the node in the way.

        sequences: the feeds of each, as for run(), with 1 as the size of the batch, if the model has
            one. Some may feed inputs that keep their default values in others. They may come from a
            generator without end; only a window of them is in memory. Arrays are not copied: a generator
            must not fill the same one again.
        batch: lanes of each thread; 0: the default.
        window: sequences that are read ahead and sorted by length; 0: 8 for each lane, and up to
            256 MiB of feeds.
        reset: before which steps what loops carry returns to its initial values: the name of a
            boolean feed, with an element per step, or an iterable with such an array (or None) per
            sequence. A name that is no input of the model is fed for this alone.
        shared: feeds that all sequences have in common, such as weights.
        run_options: the deadline counts from the first sequence; other limits hold for each run.
        progress: called about ten times a second with the number of complete sequences, that of all
            or None, and the steps taken; True draws a bar on a terminal.
        on_error: "raise" raises the first error, which names the sequence, after the results before
            it; "return" gives the exception instead of the results of that sequence.

        Raises what run() raises; exceptions of the iterable are passed on.
        """
        return ManyIterator(
            SessionReader(self, shared), output_names, sequences, batch=batch, window=window,
            reset=reset, run_options=run_options, progress=progress, on_error=on_error,
        )  # fmt: skip

    def stream(self, states: Union[Mapping[str, str], None] = None) -> "Stream":
        """Returns a stream that keeps the states {input: output}, by default those of
        SessionOptions.

        Without any states, the stream runs over the steps of the model's loops and recurrent
        layers: each push takes a piece of the sequence axis, and carried values are kept. Raises
        Unsupported, which names the node, if a node computes across steps.
        """
        pairs = state_pairs(self._options.states if states is None else states)
        kept = pairs == list(self._options.states.items())
        native = self._native if kept else self._variants.with_states(pairs)
        return Stream(
            self, native.stream(), pairs, [end.name for end in self._defaults], self._sizes
        )

    def get_inputs(self) -> list[NodeArg]:
        """The inputs in the model's order: name, shape and type of each."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs in the model's order: name, shape and type of each."""
        return list(self._outputs)

    def get_states(self) -> list[NodeArg]:
        """The states of a stream: the variables of ReadValue and Assign in an OpenVINO IR, and the
        states of SessionOptions. A run starts from their initial values."""
        return [self._describe(*end) for end in self._native.states()]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default value. The first run that feeds a given set of them loads the model
        once more without these defaults; the last 8 such variants are kept."""
        return list(self._defaults)

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself: producer, graph name, version, custom metadata."""
        return ModelMetadata(*self._native.info())

    def get_providers(self) -> list[str]:
        """["CPUExecutionProvider"], on which all models run."""
        return [_PROVIDER]

    def set_providers(
        self,
        providers: Union[Sequence[Any], None] = None,
        provider_options: Union[Sequence[Mapping[str, Any]], None] = None,
    ) -> None:
        """Accepted, and noted in warnings(): models run on the CPU."""
        self._note_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """Accepted: there is no fallback."""

    def disable_fallback(self) -> None:
        """Accepted: there is no fallback."""

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
        """Ends profiling, writes the times of all runs to a file and returns its name.

        The file is in the current folder and opens in chrome://tracing and Perfetto. Returns "" if
        SessionOptions.enable_profiling was not set.
        """
        profiler, self._profiler = self._profiler, None
        return "" if profiler is None else profiler.write()

    def get_profiling_start_time_ns(self) -> int:
        """The start on the clock of time.monotonic_ns(); 0 without profiling."""
        return 0 if self._profiler is None else self._profiler.start_ns

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        return {_PROVIDER: {}}

    def get_session_options(self) -> SessionOptions:
        return self._options

    def warnings(self) -> list[str]:
        """Everything unusual that was accepted since the model was loaded."""
        return list(self._notes) + self._native.warnings()

    def explain(self) -> str:
        """Describes how each loop runs, and what prevents a faster strategy.

        Before the first run, strategies are known only if the model fixes the sizes of all inputs.
        """
        return self._native.explain()

    def ir(self, optimized: bool = True) -> str:
        """The text form of the program, before or after rewriting."""
        return self._native.ir(optimized)

    def passes(self) -> str:
        """Reports each pass: counts, lines of the text form that were removed or added, and times.

        Reads and optimizes the model again. Raises what loading raises if the file has changed.
        """
        return self._native.passes()

    def plan(self, feeds: Union[Feeds, None] = None) -> str:
        """The plan. With feeds, it includes buffers, offsets and kernels for their sizes."""
        return self._native.plan() if feeds is None else self._native.plan_for(feeds_of(feeds))

    def nests(self, feeds: Feeds) -> str:
        """The loop nests of bodies that are compiled step by step, for the sizes of the feeds.

        They are shown before their passes and after each pass that changed something.
        """
        return self._native.nests(feeds_of(feeds))

    def llvm(self, feeds: Feeds, optimized: bool = True) -> str:
        """The LLVM IR of compiled loops for the sizes of the feeds and the instruction set in use.

        optimized: after LLVM's own passes, as machine code is generated from it; False: before.

        Loops that compile after more steps are included; comments name each loop and its strategy,
        and say why others have no code. The text differs by machine and version. The code is
        generated again, which takes as long as compiling it.
        """
        return self._native.llvm(feeds_of(feeds), bool(optimized))

    def assembly(self, feeds: Feeds) -> str:
        """The machine code of compiled loops, as assembly; otherwise like llvm."""
        return self._native.assembly(feeds_of(feeds))

    def operators(self) -> dict[str, int]:
        """The number of occurrences of each operator after rewriting, including loops and
        branches."""
        return dict(self._native.operators())

    def report(
        self,
        feeds: Union[Feeds, None] = None,
        run_options: Union[RunOptions, None] = None,
        *,
        title: str = "",
        runs: int = 2,
    ) -> "Report":
        """Returns a report, a page that shows the model: its graph, its loops and what would make
        them faster, the memory of a run, the states of a stream, and programs to copy. Thread safe.

        feeds: as for run(). The model runs with them `runs` times, from 0 to 1000, and then once
            more to time each node. Without feeds nothing runs; sizes and strategies are those of the
            last run.
        run_options: the limits of each run.
        title: by default the name of the file, or of the graph.

        Raises the errors of run(). The report raises Unsupported when it is asked for the page, if
        the package was built without it.
        """
        # Most programs make no report: they do not wait for what it imports.
        from .._report import Report, title_and_runs

        settings = run_settings(run_options)
        title, runs = title_and_runs(title, runs)
        if feeds is None:
            return Report(self._native.report(None, settings, title, runs))
        given = feeds_of(feeds)
        self._sizes.check(given)
        native = self._for_feeds(given) if self._defaults else self._native
        return Report(native.report(given, settings, title, runs))

    def _repr_html_(self) -> Union[str, None]:
        """The report of the session, for notebooks. Runs nothing."""
        return self.report()._repr_html_()

    def _note_providers(
        self,
        providers: Union[Sequence[Any], None],
        provider_options: Union[Sequence[Mapping[str, Any]], None],
    ) -> None:
        for name in provider_names(providers) + self._options._providers:
            if name != _PROVIDER:
                note = f"provider {name} is not available: the model runs on the CPU"
                self._notes[note] = None
                self._provider_notes.append(note)
        if any(provider_options or ()):
            self._notes["provider_options have no meaning here"] = None

    def _describe(self, name: str, type: str, dims: list[Union[int, str, None]]) -> NodeArg:
        """Describes an input or output, with symbols replaced by the sizes from the options."""
        return NodeArg(name, [self._given.size_of(d) for d in dims], type)

    def _for_feeds(self, feeds: Feeds) -> _native.Session:
        """The variant of the session in which exactly the fed inputs with a default are inputs."""
        fed = sorted(end.name for end in self._defaults if end.name in feeds)
        return self._variants.with_fed(fed) if fed else self._native
