"""How runs end early: signals within long runs, exceptions of the caller's iterable, deadlines."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from batch_models import numbers, with_constants
from loop_models import parse
from many_runs import expect_same

import scanloom
from scanloom import InferenceSession


class Rang(Exception):
    """Raised by the handler of a signal."""


@pytest.fixture
def ringing() -> Iterator[None]:
    """A signal every 30 ms, whose handler raises Rang when it is called for the sixth time since
    the last call of RINGS.clear(). Without calls from within a long kernel it is called less often:
    while feeds are made, before and after the kernel, and after the run."""

    def ring(*_: Any) -> None:
        RINGS.append(0)
        if len(RINGS) == ENOUGH:
            raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


RINGS: list[int] = []
ENOUGH = 6


def rings_within(run: Callable[[int], object]) -> bool:
    """Whether a handler can end a run; `run` takes more time for a larger number."""
    size = 1000
    while size < 1 << 22:
        RINGS.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
        try:
            run(size)
            RINGS.extend([0] * ENOUGH)  # a handler that is called after the run does not raise
        except Rang:
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        size *= 2
    return False


def layer(direction: str, threads: int) -> InferenceSession:
    """An LSTM of inputs [steps, 1, 2] whose steps take long for what they read."""
    units, ways = 128, 2 if direction == "bidirectional" else 1
    body = f"""g (float[T, 1, 2] x) => (float[?, ?, ?] last) {{
      y, last = LSTM <hidden_size = {units}, direction = "{direction}"> (x, W, R)
    }}"""
    constants = {"W": numbers(1, ways, 4 * units, 2), "R": numbers(2, ways, 4 * units, units)}
    return InferenceSession(with_constants(parse(body), constants), threads=threads)


def of_steps(steps: int) -> dict[str, Any]:
    return {"x": np.zeros((steps, 1, 2), np.float32)}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_handler_is_called_within_a_layer(ringing: None, threads: int) -> None:
    session = layer("forward", threads)
    assert rings_within(lambda steps: session.run(None, of_steps(steps)))
    expect_same(session.run(None, of_steps(9)), session.run(None, of_steps(9)))


@pytest.mark.parametrize(
    ("node", "execution"),
    [
        ("y = Conv(x, w)", "interpreted"),
        ("y = MatMul(x, w)", "interpreted"),
        ("y = Tanh(x)", "interpreted"),
        ("y = Softmax(x)", "interpreted"),
        ("y, i = TopK(x, k)", "automatic"),
        ("y = Transpose(x)", "automatic"),
    ],
)
def test_a_handler_is_called_within_a_node(ringing: None, node: str, execution: str) -> None:
    rows = "1, 8, T, 64" if "Conv" in node else "T, 512"
    weights = [64, 8, 3, 3] if "Conv" in node else [512, 64]
    body = f"g (float[{rows}] x, int64[1] k, int64 zero) => (float[?] y) {{ {node} }}"
    model = onnx.load_model_from_string(with_constants(parse(body), {"w": numbers(1, *weights)}))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    session = InferenceSession(model.SerializeToString(), execution=execution, threads=1)

    def run(steps: int) -> None:
        shape = (1, 8, steps, 64) if "Conv" in node else (steps, 512)
        x = np.zeros(shape, np.float32)
        session.run(None, {"x": x, "k": np.array([16]), "zero": np.array(0)})

    assert rings_within(run)


@pytest.mark.parametrize("lengths", [[1, 0], [0, 1]], ids=["short last", "short first"])
def test_a_handler_is_called_while_another_thread_computes_the_longest_row(
    ringing: None, lengths: list[int]
) -> None:
    units = 64  # threads share the units of larger layers instead of the rows
    body = """g (float[T, 2, 2] x, int32[2] lengths) => (float[?, ?, ?] last) {
      y, last = LSTM <hidden_size = 64> (x, W, R, , lengths)
    }"""
    constants = {"W": numbers(1, 1, 4 * units, 2), "R": numbers(2, 1, 4 * units, units)}
    session = InferenceSession(with_constants(parse(body), constants), threads=2)

    def feeds(steps: int) -> dict[str, Any]:
        rows = np.array(lengths, np.int32) * (steps - 1) + 1
        return {"x": np.zeros((steps, 2, 2), np.float32), "lengths": rows}

    assert rings_within(lambda steps: session.run(None, feeds(steps)))
    expect_same(session.run(None, feeds(9)), session.run(None, feeds(9)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lengths", [[1] * 40, [1], [8, 1]], ids=str)
def test_a_handler_is_called_within_padded_batches(
    ringing: None, threads: int, lengths: list[int]
) -> None:
    session = layer("bidirectional", threads)
    assert rings_within(
        lambda steps: session.run_many(None, [of_steps(steps * length) for length in lengths])
    )
    assert len(session.run_many(None, [of_steps(9)] * 3)) == 3


def results_until(error: type[BaseException], iterator: Iterator[Any]) -> list[Any]:
    """The results that come before the iterator raises."""
    found = []
    with pytest.raises(error):
        for result in iterator:
            found.append(result)
    assert next(iterator, None) is None
    return found


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_results_before_an_exception_of_the_iterable_are_delivered(
    direction: str, count: int
) -> None:
    session = layer(direction, 2)

    def given() -> Iterator[dict[str, Any]]:
        for i in range(count):
            yield of_steps(3 + i)
        raise ValueError("no more")

    found = results_until(ValueError, session.iter_many(None, given()))
    assert len(found) == count
    for i, result in enumerate(found):
        expect_same(result, session.run(None, of_steps(3 + i)))
    with pytest.raises(ValueError, match="no more"):
        session.run_many(None, given())


def test_an_interrupt_in_the_iterable_is_raised_at_once() -> None:
    def given() -> Iterator[dict[str, Any]]:
        yield of_steps(3)
        raise KeyboardInterrupt

    assert results_until(KeyboardInterrupt, layer("forward", 1).iter_many(None, given())) == []


def results_before_the_deadline(
    session: InferenceSession, given: Callable[[], Iterator[dict[str, Any]]]
) -> list[Any]:
    """The results that come before LimitReached, of a deadline that passes after the first one. It is
    later each time that the machine is too slow for a result."""
    found: list[Any] = []
    deadline = 0.5
    while not found and deadline < 600:
        deadline *= 2

        def wait(sequences: int, *_: Any, rest: float = deadline) -> None:
            """Is called before each run, ten times a second at most."""
            time.sleep(rest if sequences > 0 else 0.11)

        options = scanloom.RunOptions(deadline=deadline)
        iterator = session.iter_many(
            None, given(), batch=1, run_options=options, progress=wait, on_error="return"
        )
        found = results_until(scanloom.LimitReached, iterator)
    return found


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_results_before_the_deadline_are_delivered(direction: str) -> None:
    session = layer(direction, 1)
    given = [of_steps(9), of_steps(3), {"x": np.zeros(3, np.float32)}, of_steps(3)]
    found = results_before_the_deadline(session, lambda: iter(given))
    assert len(found) == 1
    expect_same(found[0], session.run(None, given[0]))


def test_a_deadline_that_passes_before_an_exception_of_the_iterable_is_due_is_raised() -> None:
    session = layer("forward", 1)

    def given() -> Iterator[dict[str, Any]]:
        yield from (of_steps(9), of_steps(3), of_steps(3))
        raise ValueError("no more")

    assert len(results_before_the_deadline(session, given)) == 1
    options = scanloom.RunOptions(deadline=600)
    iterator = session.iter_many(None, given(), run_options=options)
    assert len(results_until(ValueError, iterator)) == 3


def test_a_cancelled_flag_ends_the_reading_of_an_iterable() -> None:
    session = layer("forward", 1)
    options = scanloom.RunOptions()
    read = []

    def given() -> Iterator[dict[str, Any]]:
        for i in range(1000):
            if i == 3:
                options.cancel()
            read.append(i)
            yield of_steps(2)

    with pytest.raises(scanloom.Cancelled):
        next(session.iter_many(None, given(), run_options=options))
    assert len(read) == 4


def test_a_deadline_ends_the_reading_of_a_slow_iterable() -> None:
    session = layer("forward", 1)
    read = []

    def given() -> Iterator[dict[str, Any]]:
        for i in range(1000):
            time.sleep(0.01)
            read.append(i)
            yield of_steps(2)

    with pytest.raises(scanloom.LimitReached, match="0.05 s"):
        next(session.iter_many(None, given(), run_options=scanloom.RunOptions(deadline=0.05)))
    assert len(read) < 100
