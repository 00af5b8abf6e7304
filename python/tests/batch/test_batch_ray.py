"""Jobs on Ray whose head cannot be reached, with a stand-in for Ray."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from scanloom import batch  # noqa: E402

Space = types.SimpleNamespace
MODULE = "scanloom._batch.ray_engine"
UNREACHABLE = "127.0.0.1:1"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, with a Ray whose task ends at the third question."""
    asked: list[float] = []

    def wait(tasks: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        asked.append(timeout)
        return (tasks, []) if len(asked) == 3 else ([], tasks)

    ray = types.ModuleType("ray")
    ray.__dict__.update(
        wait=wait,
        get=lambda task: f"outcome of {task}",
        remote=lambda **_: lambda _: Space(remote=lambda *_: "task"),
        nodes=lambda: [{"Alive": True, "Resources": {"CPU": 2}}],
        util=Space(client=Space(ray=Space(is_connected=lambda: False))),
        get_runtime_context=lambda: Space(gcs_address=UNREACHABLE),
        exceptions=Space(
            WorkerCrashedError=OSError, NodeDiedError=OSError, OutOfMemoryError=OSError, RayError=OSError
        ),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    engine = importlib.import_module(MODULE)
    monkeypatch.setattr(engine, "_HEAD_SECONDS", 0)
    yield engine
    del sys.modules[MODULE], sys.modules["scanloom._batch"].ray_engine  # of the stand-in


def wait_for_a_task(engine: Any) -> Any:
    jobs = engine.RayEngine(None, 1, 1, contextlib.ExitStack())
    jobs.submit("shard")
    return jobs.wait()


def test_a_head_that_does_not_answer_ends_the_job(engine: Any) -> None:
    with pytest.raises(batch.JobFailed, match=f"Ray's head at '{UNREACHABLE}' does not answer"):
        wait_for_a_task(engine)


def test_a_client_does_not_ask_for_the_head(engine: Any) -> None:
    """Its address is one that only the cluster may reach."""
    sys.modules["ray"].util.client.ray.is_connected = lambda: True
    assert wait_for_a_task(engine) == ("shard", "outcome of task")
