"""Sequences of unequal lengths for run_many, and comparisons of their results to the bit."""

from __future__ import annotations

from typing import Any

from batch_models import BatchModel

from scanloom import InferenceSession, ManyReport

LENGTHS = [5, 0, 17, 1, 40, 2, 2, 0, 33, 1, 64, 7]


def sequences(model: BatchModel, lengths: list[int] = LENGTHS) -> list[dict[str, Any]]:
    return [model.feeds(steps, 10 * i) for i, steps in enumerate(lengths)]


def expect_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes()


def expect_all_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        expect_same(a, b)


def report_of(session: InferenceSession, feeds: list[Any], **options: Any) -> ManyReport:
    reports: list[ManyReport] = []
    session.run_many(None, feeds, report=reports.append, **options)
    return reports[0]
