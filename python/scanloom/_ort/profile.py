"""The profile of a session, and the file that it is written to."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from .. import _native

_LIMIT = 1_000_000  # events, the same limit as onnxruntime's


class Profiler:
    """Collects the times of runs; thread safe. Its file opens in chrome://tracing and Perfetto."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.monotonic_ns()
        self._prefix = prefix
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []

    def add_session(self, name: str, begin_ns: int) -> None:
        """Adds an event that lasted from `begin_ns` until now."""
        self._add([self._event("Session", name, begin_ns, time.monotonic_ns() - begin_ns, {})])

    def add_run(self, begin_ns: int, rows: list[_native._NodeTime]) -> None:
        """Adds a run that lasted from `begin_ns` until now. All calls of a node form one event.
        Start times are not measured, so events are laid out one after another."""
        events = [
            self._event("Session", "model_run", begin_ns, time.monotonic_ns() - begin_ns, {})
        ]
        next_ns = [begin_ns]  # per depth
        for node, kernel, calls, seconds, depth in rows:
            depth = min(depth, len(next_ns) - 1)
            begin, lasted = next_ns[depth], int(seconds * 1e9)
            details = {"op_name": node, "kernel": kernel, "calls": calls, "depth": depth}
            events.append(self._event("Node", f"{node}_kernel_time", begin, lasted, details))
            next_ns[depth] += lasted
            next_ns = [*next_ns[: depth + 1], begin]
        self._add(events)

    def write(self) -> str:
        """Writes the file into the current folder and returns its name."""
        import json  # only profiles need it

        name = f"{self._prefix}{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        with self._lock, open(name, "w", encoding="utf-8") as file:
            json.dump(self._events, file, indent=0)
        return name

    def _event(
        self, category: str, name: str, begin_ns: int, lasted_ns: int, details: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "dur": lasted_ns // 1000,
            "ts": (begin_ns - self.start_ns) // 1000,
            "ph": "X",
            "name": name,
            "args": details,
        }

    def _add(self, events: list[dict[str, Any]]) -> None:
        with self._lock:
            if len(self._events) < _LIMIT:
                self._events += events
