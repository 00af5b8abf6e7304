"""Random steps of scan(): sequences in lanes have the bits of calls."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scanloom
import scanloom.tensor as T
from scanloom.compile import Function

WIDTH = 3
ways: dict[str, int] = {}


def numbers(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


class RandomStep:
    """A step over values of `rank` axes, each of WIDTH elements, with shared weights."""

    def __init__(self, seed: int, rank: int) -> None:
        self._source = random.Random(seed)
        self._rank = rank
        self._weights = scanloom.shared(numbers(seed, WIDTH, WIDTH), name="weights")
        self._count = self._source.randint(1, 6)

    def __call__(self, now: Any, before: Any, context: Any) -> Any:
        source = random.Random(self._source.random())
        values = [now, before, context]
        for _ in range(self._count):
            values.append(self._node(source, values))
        return T.tanh(values[-1] + before * np.float32(0.5))

    def _node(self, source: random.Random, values: list[Any]) -> Any:
        a, b = (source.choice(values[-4:]) for _ in range(2))
        made = [
            lambda: a + b,
            lambda: a * b,
            lambda: T.maximum(a, b),
            lambda: T.switch(a > b, a, b),
            lambda: T.exp(-a * a),
            lambda: a.sum() + b,
        ]
        if self._rank > 0:
            made += [
                lambda: T.dot(a, self._weights),
                lambda: a - a.mean(axis=-1, keepdims=True),
                lambda: T.concatenate([a[..., 1:], b[..., :1]], axis=-1),
                lambda: a[..., ::-1],
                lambda: T.cumsum(a, axis=self._rank - 1),
                lambda: a - a.max(axis=0),
            ]
        if self._rank == 1:
            made += [lambda: T.dot(self._weights, a), lambda: a * T.dot(a, b)]
        if self._rank == 2:
            made += [lambda: T.dot(a, b), lambda: a.T, lambda: a.flatten().reshape((WIDTH, WIDTH))]
        return source.choice(made)()


def function_of(seed: int, rank: int) -> Function:
    x = T.TensorType("float32", (False,) * (rank + 1))("x")
    first = T.TensorType("float32", (False,) * rank)("first")
    context = T.TensorType("float32", (False,) * rank)("context")
    rows, _ = scanloom.scan(
        RandomStep(seed, rank), x, outputs_info=first, non_sequences=context, strict=False
    )
    outputs = [rows, rows[-1], rows.sum(axis=-1) if rank else rows * 2]
    return scanloom.function([x, first, context], outputs)


@settings(
    max_examples=80, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(0, 2),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=10),
    batch=st.sampled_from([1, 2, 7, 64]),
    window=st.sampled_from([0, 3]),
)
def check_steps(seed: int, rank: int, lengths: list[int], batch: int, window: int) -> None:
    fn = function_of(seed, rank)
    sizes = (WIDTH,) * rank
    sequences = [
        (numbers(seed + i, steps, *sizes), numbers(i, *sizes), numbers(i + 1, *sizes))
        for i, steps in enumerate(lengths)
    ]
    reports: list[Any] = []
    found = fn.run_many(sequences, batch=batch, window=window, report=reports.append)
    ways[reports[0].way] = ways.get(reports[0].way, 0) + 1
    for results, arguments in zip(found, sequences):
        for a, b in zip(results, fn(*arguments)):
            assert a.dtype == b.dtype and a.shape == b.shape
            nan = np.isnan(a)
            assert np.array_equal(nan, np.isnan(b))
            assert np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()


def test_random_steps() -> None:
    ways.clear()
    check_steps()
    assert ways["lanes"] >= 60
