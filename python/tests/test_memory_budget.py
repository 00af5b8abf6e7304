"""RunOptions.max_memory: what a run may take, whatever runs before it took."""

import numpy as np
import pytest

import scanloom
from loop_models import parse


def test_the_memory_budget_names_the_bytes():
    model = parse(
        """g (int64[1] n) => (float[N] y) {
          y = ConstantOfShape(n)
        }"""
    )
    session = scanloom.InferenceSession(model)
    with pytest.raises((scanloom.LimitReached, scanloom.OutOfMemory), match="4000000"):
        session.run(None, {"n": [1_000_000]}, scanloom.RunOptions(max_memory=1_000_000))
    assert session.run(None, {"n": [5]})[0].shape == (5,)


def test_what_a_large_run_leaves_fails_no_small_one():
    model = parse("g (int64[1] n) => (float[N] y) { y = ConstantOfShape(n) }")
    session = scanloom.InferenceSession(model)
    assert session.run(None, {"n": [1_000_000]})[0].shape == (1_000_000,)
    small = scanloom.RunOptions(max_memory=100_000)
    assert session.run(None, {"n": [5]}, small)[0].shape == (5,)
    assert session.run(None, {"n": [1_000_000]})[0].shape == (1_000_000,)


def test_what_earlier_runs_leave_decides_nothing_within_a_budget():
    model = parse(
        """g (float[N,64] x, int64[1] n) => (float[M] most) <int64[1] zero = {0}, int64[1] one = {1}> {
          some = Slice(x, zero, n, zero)
          turned = Transpose(some)
          products = MatMul(some, turned)
          most = ReduceMax<keepdims = 0>(products, one)
        }"""
    )
    x = np.random.default_rng(6).standard_normal((300, 64)).astype(np.float32)
    interpreted = scanloom.InferenceSession(model, execution="interpreted")

    def outcome(session, rows, options):
        try:
            return session.run(None, {"x": x, "n": [rows]}, options)[0].tobytes()
        except scanloom.LimitReached:
            return None

    sizes = (50, 200, 50, 120, 300, 50, 120, 300, 200, 50)
    wanted = {rows: outcome(interpreted, rows, None) for rows in sizes}
    failed = 0
    for budget in range(20_000, 620_000, 30_000):
        session = scanloom.InferenceSession(model)
        options = scanloom.RunOptions(max_memory=budget)
        for rows in sizes:
            alone = outcome(scanloom.InferenceSession(model), rows, options)
            assert alone in (None, wanted[rows])
            assert outcome(session, rows, options) == alone, (budget, rows)
            failed += alone is None
        # What a run without a budget leaves does not count either.
        assert outcome(session, 300, None) == wanted[300]
        alone = outcome(scanloom.InferenceSession(model), 120, options)
        assert outcome(session, 120, options) == alone
    assert 0 < failed < 20 * len(sizes)
