"""Options of sessions and of runs. What onnxruntime's have and Scanloom needs not is accepted."""

from __future__ import annotations

import enum
import math
import operator
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Union

from . import _native
from ._errors import InvalidArgument

Progress = Callable[[str, int, int], object]


class GraphOptimizationLevel(enum.IntEnum):
    """How much is rewritten at load: nothing, or everything."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted for programs written for onnxruntime; the order of nodes is always the same."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


# Attributes of onnxruntime's options that change nothing here, with their initial values.
_SESSION_IGNORED: dict[str, Any] = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "enable_profiling": False,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": 0,
    "inter_op_num_threads": 0,
    "log_severity_level": 2,
    "log_verbosity_level": 0,
    "logid": "",
    "optimized_model_filepath": "",
    "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}
_RUN_IGNORED: dict[str, Any] = {
    "log_severity_level": 2,
    "log_verbosity_level": 0,
    "logid": "",
    "only_execute_path_to_fetches": False,
    "training_mode": False,
}
_EXECUTIONS = ("automatic", "stepped", "interpreted")


class SessionOptions:
    """How a model is loaded.

    threads (also intra_op_num_threads): at most so many per run; 0: all cores of the process.
    execution: "automatic", or "stepped" (no machine code), or "interpreted" (the oracle).
    optimize (also graph_optimization_level): False runs the model as it was read.
    disabled_passes: names of rewrites to leave out.
    lenient: accept names in bodies that shadow outer names.
    states: {input: output}, values that a stream keeps from one push to the next.
    """

    def __init__(
        self,
        *,
        threads: int = 0,
        execution: str = "automatic",
        optimize: bool = True,
        disabled_passes: Union[list[str], tuple[str, ...]] = (),
        lenient: bool = False,
        states: Union[Mapping[str, str], None] = None,
    ) -> None:
        self.threads = threads
        self.execution = execution
        self.optimize = optimize
        self.disabled_passes = texts("disabled_passes", disabled_passes)
        self.lenient = lenient
        self.states = dict(_pairs("states", states or {}))
        self._ignored = dict(_SESSION_IGNORED)
        self._notes: list[str] = []

    @property
    def intra_op_num_threads(self) -> int:
        return self.threads

    @intra_op_num_threads.setter
    def intra_op_num_threads(self, threads: int) -> None:
        self.threads = threads

    @property
    def graph_optimization_level(self) -> GraphOptimizationLevel:
        level = GraphOptimizationLevel
        return level.ORT_ENABLE_ALL if self.optimize else level.ORT_DISABLE_ALL

    @graph_optimization_level.setter
    def graph_optimization_level(self, level: int) -> None:
        self.optimize = int(level) != 0

    def __getattr__(self, name: str) -> Any:
        ignored = self.__dict__.get("_ignored", {})
        if name in ignored:
            return ignored[name]
        raise AttributeError(f"SessionOptions has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SESSION_IGNORED:
            self._ignored[name] = value
        elif name.startswith("_") or name in _SESSION_NAMES:
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(f"SessionOptions has no attribute {name!r}")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Accepted for programs written for onnxruntime; changes nothing."""
        self._notes.append(f"the session option '{key}' = '{value}' has no meaning here")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Accepted for programs written for onnxruntime; sizes are taken from the feeds."""
        self._notes.append(f"dimension '{name}' = {size} is not fixed: sizes are those of the feeds")

    def ignored(self) -> list[str]:
        """One sentence for every setting that changes nothing."""
        changed = [
            f"the session option {name} = {value!r} has no meaning here"
            for name, value in self._ignored.items()
            if value != _SESSION_IGNORED[name]
        ]
        return changed + self._notes

    def native(self) -> _native.SessionOptions:
        """The options as the library takes them. Raises InvalidArgument."""
        if self.execution not in _EXECUTIONS:
            raise InvalidArgument(
                f"execution is {self.execution!r}, but must be one of {', '.join(_EXECUTIONS)}"
            )
        return _native.SessionOptions(
            _integer("threads", self.threads, 0, 4096),
            self.execution,
            bool(self.optimize),
            texts("disabled_passes", self.disabled_passes),
            bool(self.lenient),
            _pairs("states", self.states),
        )


_SESSION_NAMES = frozenset(
    ["threads", "execution", "optimize", "disabled_passes", "lenient", "states"]
    + ["intra_op_num_threads", "graph_optimization_level"]
)


class RunOptions:
    """Limits of one run, and who is told how far it is.

    deadline: seconds; None: none.
    max_steps: per execution of a loop; None: 1e8 for loops without a trip count.
    max_memory: bytes of the run; None: three quarters of the machine's memory.
    progress: called with (node, step, steps) about ten times a second, steps -1 where not known;
        True draws a bar on a terminal.
    cancel() ends the runs that use these options, from any thread, with scanloom.Cancelled.
    """

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
        for name, value in _RUN_IGNORED.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or name in _RUN_NAMES or name in _RUN_IGNORED):
            raise AttributeError(f"RunOptions has no attribute {name!r}")
        object.__setattr__(self, name, value)

    def cancel(self) -> None:
        self._flag.cancel()

    @property
    def terminate(self) -> bool:
        """onnxruntime's name for cancel(); False lets these options be used again."""
        return self._flag.cancelled()

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self._flag.cancel()
        else:
            self._flag.reset()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted for programs written for onnxruntime; changes nothing."""

    def native(self) -> _native.RunSettings:
        """The options as the library takes them. Raises InvalidArgument."""
        return _native.RunSettings(
            0.0 if self.deadline is None else _seconds("deadline", self.deadline),
            -1 if self.max_steps is None else _integer("max_steps", self.max_steps, 0),
            0 if self.max_memory is None else _integer("max_memory", self.max_memory, 1),
            self._flag,
            _callback(self.progress),
            _on_main_thread(),
        )


_RUN_NAMES = frozenset(["deadline", "max_steps", "max_memory", "progress", "terminate"])


def run_settings(options: Union[RunOptions, None]) -> _native.RunSettings:
    if options is None:
        return _native.RunSettings(0.0, -1, 0, None, None, _on_main_thread())
    if not isinstance(options, RunOptions):
        raise InvalidArgument(f"run_options is a {type(options)}, not scanloom.RunOptions")
    return options.native()


def texts(name: str, values: Any) -> list[str]:
    """The values as a list, all of them texts. Raises InvalidArgument."""
    if isinstance(values, str):
        raise InvalidArgument(f"{name} is the text {values!r}", (f"write [{values!r}]",))
    try:
        listed = list(values)
    except TypeError:
        raise InvalidArgument(f"{name} is {values!r}, but must be a list of texts") from None
    for value in listed:
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} holds {value!r}, but must hold texts only")
    return listed


def _pairs(name: str, values: Any) -> list[tuple[str, str]]:
    """The items of a mapping from texts to texts. Raises InvalidArgument."""
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"{name} is {values!r}, but must be a dictionary {{input: output}}")
    return list(zip(texts(name, values.keys()), texts(name, values.values())))


def _integer(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """The value, unless it is no integer or outside the range. Raises InvalidArgument."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{name} is {value!r}, but must be an integer") from None
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}, but must be {least} to {most}")
    return number


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = float(value)
    except (OverflowError, TypeError, ValueError):
        seconds = math.nan
    if not (seconds > 0 and math.isfinite(seconds)):
        raise InvalidArgument(f"{name} is {value!r} s, but must be a finite number above 0 s")
    return seconds


def _on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _callback(progress: Union[Progress, bool, None]) -> Union[Progress, None]:
    if progress is True:
        return _draw_bar if sys.stderr.isatty() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise InvalidArgument(f"progress is {progress!r}, but must be callable, True or None")
    return progress


def _draw_bar(node: str, step: int, steps: int) -> None:
    if steps > 0:
        filled = min(30, 30 * step // steps)
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {100 * step // steps:3d} % {node}"
    else:
        text = f"{step} steps {node}"
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
