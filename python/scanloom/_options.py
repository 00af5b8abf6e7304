"""Options of sessions and of runs. What onnxruntime's have and Scanloom needs not is accepted."""

from __future__ import annotations

import enum
import math
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
        self.disabled_passes = list(disabled_passes)
        self.lenient = lenient
        self.states = dict(states or {})
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
        if not 0 <= self.threads <= 4096:
            raise InvalidArgument(f"threads is {self.threads}, but must be 0 to 4096")
        return _native.SessionOptions(
            int(self.threads),
            self.execution,
            bool(self.optimize),
            list(self.disabled_passes),
            bool(self.lenient),
            list(self.states.items()),
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
    An interpreted session reports no progress.
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
        deadline = 0.0 if self.deadline is None else float(self.deadline)
        if self.deadline is not None and not (deadline > 0 and math.isfinite(deadline)):
            raise InvalidArgument(f"deadline is {self.deadline} s, but must be more than 0 s")
        if self.max_steps is not None and self.max_steps < 0:
            raise InvalidArgument(f"max_steps is {self.max_steps}, but must be 0 or more")
        if self.max_memory is not None and self.max_memory <= 0:
            raise InvalidArgument(f"max_memory is {self.max_memory}, but must be 1 or more")
        return _native.RunSettings(
            deadline,
            -1 if self.max_steps is None else int(self.max_steps),
            0 if self.max_memory is None else int(self.max_memory),
            self._flag,
            _callback(self.progress),
            _on_main_thread(),
        )


def run_settings(options: Union[RunOptions, None]) -> _native.RunSettings:
    if options is None:
        return _native.RunSettings(0.0, -1, 0, None, None, _on_main_thread())
    return options.native()


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
