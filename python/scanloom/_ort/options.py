"""Options of sessions and runs. Options of onnxruntime that have no effect here are accepted."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from .. import _native
from .._arguments import named_arguments
from .._errors import Cancelled, InvalidArgument, Unsupported
from .._suggest import did_you_mean
from .option_attributes import Options
from .option_values import bytes_or_none, integer, positive_seconds, state_pairs, texts
from .peer import ExecutionMode, ExecutionOrder
from .progress import Progress, is_on_main_thread, progress_callback


class GraphOptimizationLevel(enum.IntEnum):
    """How much the model is rewritten at load: not at all, or fully."""

    __module__ = "scanloom._options"  # the former module, which pickles name

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


# Attributes of onnxruntime's options that have no effect here, with their defaults.
_SESSION_IGNORED: dict[str, Any] = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": ExecutionOrder.DEFAULT,
    "inter_op_num_threads": 0,
    "log_verbosity_level": 0,
    "logid": "",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}
_RUN_IGNORED: dict[str, Any] = {
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "only_execute_path_to_fetches": False,
}
_EXECUTIONS = ("automatic", "stepped", "interpreted", "compiled")
_NUMERICS = ("exact", "fast")


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises InvalidArgument unless the value is one of the choices."""
    if value in choices:
        return
    meant = did_you_mean(str(value), choices)
    raise InvalidArgument(f"{name} is {value!r}, but must be one of {', '.join(choices)}{meant}")


class SessionOptions(Options):
    """How a model is loaded.

    threads (also intra_op_num_threads): the maximum number of threads per run; 0: all cores
        available to the process.
    execution: "automatic" (compile loops where that pays off), "stepped" (no machine code),
        "interpreted" (the oracle), or "compiled" (compile every loop that can be, at once); see
        docs/execution.md.
    numerics: "exact" (every operation is rounded as written, in the order of the steps) or "fast"
        (a product and a sum are rounded once; linear recurrences and cumulative sums are computed
        as trees over blocks of steps). The bits do not depend on the number of threads; see
        docs/numbers.md for the error.
    optimize (also graph_optimization_level): False runs the model as it was read.
    disabled_passes: the names of rewrites to skip.
    lenient: accept names in bodies that shadow outer names; warn about, instead of refusing,
        unknown attributes and operator sets and IR versions that are too new.
    strict: refuse feeds that give two sizes to one symbol of the model. By default, this is only
        one of the session's warnings().
    seed: the seed of random operators without a seed attribute; None: the one of set_seed.
    states: {input: output}, the values that a stream keeps from one push to the next.
    low_latency: turn the values that loops and recurrent layers carry along a sequence of open
        length into states of the session. A stream then takes the sequence in pieces, and its
        results are bitwise equal to those of the whole sequence.
    speculate: let idle threads compute later steps of a long loop from a guess of its state, where
        that has proven to pay. Results do not change: docs/threads-and-cost.md.
    fed_defaults: inputs with a default value that must be fed. run() does the same for each such
        input that is fed, by loading the model once more.
    weights: (OpenVINO IR) the bytes of the .bin, instead of the file next to the .xml. Required if
        the model is given as bytes.
    enable_profiling: record the times of all runs; session.end_profiling() writes them to a file
        whose name begins with profile_file_prefix.
    log_severity_level: from 3 on, unusual things in a model raise no Python warning (ModelWarning)
        and are only listed by the session's warnings(); -1: as set by
        set_default_logger_severity.
    optimized_model_filepath: write the model there as ONNX at load, with constants folded. Loops
        stay loops. Rewrites that ONNX has no operators for are applied again at each load.
    """

    __module__ = "scanloom._options"  # the former module, which pickles name

    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    inter_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    use_deterministic_compute: bool
    use_per_session_threads: bool

    _kind = "session"
    _defaults = _SESSION_IGNORED
    _known = frozenset(
        ["threads", "execution", "numerics", "optimize", "disabled_passes", "lenient", "strict", "seed", "states", "fed_defaults", "low_latency", "speculate", "weights"]
        + ["intra_op_num_threads", "graph_optimization_level"]
        + ["enable_profiling", "profile_file_prefix"]
        + ["log_severity_level", "optimized_model_filepath"]
    )

    @named_arguments
    def __init__(
        self,
        *,
        threads: int = 0,
        execution: str = "automatic",
        numerics: str = "exact",
        optimize: bool = True,
        disabled_passes: Union[list[str], tuple[str, ...]] = (),
        lenient: bool = False,
        strict: bool = False,
        seed: Union[int, None] = None,
        states: Union[Mapping[str, str], None] = None,
        fed_defaults: Union[list[str], tuple[str, ...]] = (),
        low_latency: bool = False,
        speculate: bool = True,
        weights: Union[bytes, bytearray, memoryview, None] = None,
    ) -> None:
        super().__init__()
        self.threads = threads
        self.execution = execution
        self.numerics = numerics
        self.optimize = optimize
        self.disabled_passes = texts("disabled_passes", disabled_passes)
        self.lenient = lenient
        self.strict = strict
        self.seed = seed
        self.states = dict(state_pairs(states or {}))
        self.fed_defaults = texts("fed_defaults", fed_defaults)
        self.low_latency = low_latency
        self.speculate = speculate
        self.weights = weights
        self.enable_profiling = False
        self.profile_file_prefix = "onnxruntime_profile_"
        self.log_severity_level = -1
        self.optimized_model_filepath = ""
        self._level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self._sizes: dict[str, int] = {}
        self._providers: list[str] = []
        self._cancel_load = False

    @property
    def intra_op_num_threads(self) -> int:
        return self.threads

    @intra_op_num_threads.setter
    def intra_op_num_threads(self, threads: int) -> None:
        self.threads = threads

    @property
    def graph_optimization_level(self) -> GraphOptimizationLevel:
        level = GraphOptimizationLevel
        return self._level if self.optimize else level.ORT_DISABLE_ALL

    @graph_optimization_level.setter
    def graph_optimization_level(self, level: int) -> None:
        self.optimize = int(level) != 0
        if self.optimize:
            self._level = GraphOptimizationLevel(int(level))

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Accepted for compatibility with onnxruntime; has no effect."""
        self._add_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """Returns an entry that was added. Raises NotFound."""
        return self._get_entry(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes the size of the dimension with this name; feeds of another size are refused."""
        self._sizes[name] = integer(f"the size of dimension '{name}'", size, 0)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Accepted for compatibility with onnxruntime; sizes are taken from the feeds."""
        self._notes.append(
            f"dimensions denoted '{denotation}' = {size} are not fixed: sizes are those of the feeds"
        )

    def add_initializer(self, name: str, value: Any) -> None:
        raise Unsupported(f"initializer '{name}' cannot be replaced: weights come from the model")

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        raise Unsupported("external initializers are read from the model's folder only")

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        raise Unsupported("external initializers are read from the model's folder only")

    def register_custom_ops_library(self, path: str) -> None:
        """Accepted. A model with unknown operators is refused, and the error lists them."""
        self._notes.append(f"custom operators of {path} are not loaded")

    def add_provider(self, name: str, options: Mapping[str, str]) -> None:
        """Accepted: models run on the CPU."""
        self._providers.append(name)

    def add_provider_for_devices(self, devices: Sequence[Any], options: Mapping[str, str]) -> None:
        """Accepted: models run on the CPU."""
        self._providers.append("of the devices")

    def has_providers(self) -> bool:
        return bool(self._providers)

    def set_provider_selection_policy(self, policy: int) -> None:
        self._notes.append("a policy to select providers has no meaning here")

    def set_provider_selection_policy_delegate(self, delegate: Callable[..., Any]) -> None:
        self._notes.append("a policy to select providers has no meaning here")

    def set_ep_context_data_read_func(
        self, read_func: Callable[..., Any], max_data_size: int
    ) -> None:
        self._notes.append("a function that reads EPContext data has no meaning here")

    def clear_ep_context_data_read_func(self) -> None:
        """Does nothing: no such function is ever set."""

    def set_load_cancellation_flag(self, cancelled: bool) -> None:
        """Makes sessions created with these options raise Cancelled if `cancelled` is True."""
        self._cancel_load = bool(cancelled)

    def native(self) -> _native.SessionOptions:
        """Converts the options to the library's form. Raises InvalidArgument, Cancelled."""
        if self._cancel_load:
            raise Cancelled("loading was cancelled")
        _check_choice("execution", self.execution, _EXECUTIONS)
        _check_choice("numerics", self.numerics, _NUMERICS)
        return _native.SessionOptions(
            integer("threads", self.threads, 0, 4096),
            self.execution,
            self.numerics,
            bool(self.optimize),
            texts("disabled_passes", self.disabled_passes),
            bool(self.lenient),
            bool(self.strict),
            integer("seed", effective_seed(self.seed), 0, 2**63 - 1),
            state_pairs(self.states),
            texts("fed_defaults", self.fed_defaults),
            bool(self.low_latency),
            bool(self.speculate),
            bytes_or_none("weights", self.weights),
        )


class RunOptions(Options):
    """Limits and progress reports of a run.

    deadline: in seconds; None: no deadline.
    max_steps: per execution of a loop; None: 1e8 for loops without a trip count.
    max_memory: in bytes, for the run; None: 80 percent of the free memory of the machine or cgroup.
    progress: called with (node, step, steps) about ten times a second; steps is -1 if unknown.
        True draws a progress bar on a terminal.
    cancel() may be called from any thread. It ends all runs that use these options with
    scanloom.Cancelled; later runs end at once until reset() is called.
    """

    __module__ = "scanloom._options"  # the former module, which pickles name

    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool

    _kind = "run"
    _defaults = _RUN_IGNORED
    _known = frozenset(["deadline", "max_steps", "max_memory", "progress", "terminate"])

    @named_arguments
    def __init__(
        self,
        deadline: Union[float, None] = None,
        max_steps: Union[int, None] = None,
        max_memory: Union[int, None] = None,
        progress: Union[Progress, bool, None] = None,
    ) -> None:
        self.deadline = deadline
        self.max_steps = max_steps
        self.max_memory = max_memory
        self.progress = progress
        self._flag = _native.CancelFlag()
        super().__init__()
        self._noted = False

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _RUN_IGNORED:
            object.__setattr__(self, "_noted", True)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flag": self._flag.cancelled()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Gives a copy a cancellation flag of its own."""
        self.__dict__.update(state, _flag=_native.CancelFlag())
        if state["_flag"]:
            self._flag.cancel()

    def cancel(self) -> None:
        """Ends the runs that use these options, and later ones until reset()."""
        self._flag.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether cancel() has been called since the last reset()."""
        return self._flag.cancelled()

    def reset(self) -> None:
        """Makes these options usable again after cancel()."""
        self._flag.reset()

    def __repr__(self) -> str:
        limits = ("deadline", "max_steps", "max_memory", "progress")
        shown = [f"{name}={getattr(self, name)!r}" for name in limits if getattr(self, name) is not None]
        return f"RunOptions({', '.join(shown)}){', cancelled' if self.cancelled else ''}"

    @property
    def terminate(self) -> bool:
        """onnxruntime's name for cancel(); setting it to False is reset()."""
        return self._flag.cancelled()

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self._flag.cancel()
        else:
            self._flag.reset()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted for compatibility with onnxruntime; has no effect."""
        self._add_entry(key, value)
        self._noted = True

    def get_run_config_entry(self, key: str) -> str:
        """Returns an entry that was added. Raises NotFound."""
        return self._get_entry(key)

    def add_active_adapter(self, adapter: Any) -> None:
        raise Unsupported("adapters cannot be applied: weights come from the model")

    def worth_noting(self) -> list[str]:
        """Same as ignored(), but fast if there is nothing to report."""
        return self.ignored() if self._noted else []

    def native(self) -> _native.RunSettings:
        """Converts the options to the library's form. Raises InvalidArgument, Cancelled."""
        if self._flag.cancelled():
            raise Cancelled(
                "these run options have been cancelled",
                ("call options.reset() to use them again, or create new ones",),
            )
        return _native.RunSettings(
            0.0 if self.deadline is None else positive_seconds("deadline", self.deadline),
            -1 if self.max_steps is None else integer("max_steps", self.max_steps, 0),
            0 if self.max_memory is None else integer("max_memory", self.max_memory, 1),
            self._flag,
            progress_callback(self.progress),
            is_on_main_thread(),
        )


def run_settings(
    options: Union[RunOptions, None], cancel: Union[_native.CancelFlag, None] = None
) -> _native.RunSettings:
    """Converts run options to the library's form. `cancel` applies if there are no options."""
    if options is None:
        return _native.RunSettings(0.0, -1, 0, cancel, None, is_on_main_thread())
    if not isinstance(options, RunOptions):
        raise InvalidArgument(f"run_options is a {type(options)}, not scanloom.RunOptions")
    return options.native()


_default_seed = 0


def set_seed(seed: int) -> None:
    """Sets the seed of later sessions whose options have none; see SessionOptions.seed.

    Raises InvalidArgument unless it is an integer in [0, 2**63)."""
    global _default_seed
    _default_seed = integer("seed", seed, 0)


def effective_seed(seed: Union[int, None]) -> int:
    """Returns the seed, or the one of set_seed if it is None."""
    return _default_seed if seed is None else seed
