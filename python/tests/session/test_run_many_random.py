"""Random cells and lengths: sequences in lanes have the bits that they have alone."""

from __future__ import annotations

import batch_models
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scanloom import InferenceSession

ways: dict[tuple[bool, str], int] = {}


def bits(array: np.ndarray) -> tuple[object, ...]:
    nan = np.isnan(array)
    return array.dtype, array.shape, np.where(nan, 0, array).tobytes(), nan.tobytes()


@settings(
    max_examples=180, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(0, 40), max_size=12),
    batch=st.sampled_from([0, 1, 2, 3, 7, 20, 64]),
    window=st.sampled_from([0, 1, 5]),
    resets=st.booleans(),
    has_batch=st.booleans(),
)
def check_cells(
    seed: int, lengths: list[int], batch: int, window: int, resets: bool, has_batch: bool
) -> None:
    model = batch_models.random_model(seed) if has_batch else batch_models.random_vectors(seed)
    session = InferenceSession(model.model)
    sequences = [model.feeds(steps, seed + i) for i, steps in enumerate(lengths)]
    random = np.random.default_rng(seed)
    flags = [random.random(steps) < 0.1 for steps in lengths] if resets else None
    reports = []
    found = session.run_many(
        None, sequences, batch=batch, window=window, reset=flags, report=reports.append
    )
    way = has_batch, reports[0].way
    ways[way] = ways.get(way, 0) + 1
    assert len(found) == len(sequences)
    axis = model.steps["X"]
    for i, feeds in enumerate(sequences):
        cuts = np.flatnonzero(flags[i]) if flags is not None else []
        parts = np.split(feeds["X"], [cut for cut in cuts if cut > 0], axis)
        alone = [session.run(None, {**feeds, "X": part}) for part in parts]
        assert bits(found[i][0]) == bits(alone[-1][0])
        rows = axis if has_batch else 0  # without a batch, rows are stacked first
        assert bits(found[i][1]) == bits(np.concatenate([each for _, each in alone], rows))


def test_random_cells() -> None:
    ways.clear()
    check_cells()
    for has_batch in (False, True):
        assert ways[has_batch, "lanes"] > 20 and ways[has_batch, "one by one"] > 2
