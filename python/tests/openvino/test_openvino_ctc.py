"""OpenVINO's CTCLoss."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections.abc import Callable, Sequence

import numpy as np
from openvino_cases import Case, case, check_here, check_peer, plain_model, run_model

Report = Callable[[str], None]


def loss(scores: np.ndarray, labels: Sequence[int], blank: int, unique: bool, collapse: bool, merge: bool) -> float:
    """All ways to align the labels with the steps, one by one."""
    kept = list(dict.fromkeys(labels)) if unique else list(labels)
    if collapse and not unique:
        kept = [k for k, _ in itertools.groupby(labels)]
    chances = np.exp(scores.astype(np.float64))
    chances /= chances.sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(sorted({blank, *kept}), repeat=len(scores)):
        run = [k for k, _ in itertools.groupby(path)] if merge else path
        if [k for k in run if k != blank] == kept:
            total += math.prod(chances[t, k] for t, k in enumerate(path))
    return -math.log(total)


def loss_cases() -> list[Case]:
    cases = []
    scores = np.random.default_rng(1).standard_normal((3, 6, 5)).astype(np.float32)
    labels, lengths, steps = np.array([[0, 1, 1, 0, 0, 0], [2, 2, 3, 9, 9, 9], [3, 0, 0, 0, 0, 0]]), [4, 3, 1], [6, 5, 4]
    for unique, collapse, merge in itertools.product((False, True), repeat=3):
        for blank, dtype in ((4, np.int32), (1, np.int64), (None, np.int64)):
            own = labels if blank != 1 else np.where(labels == 1, 4, labels)
            made = [loss(scores[i, : steps[i]], own[i, : lengths[i]].tolist(), 4 if blank is None else blank, unique,
                         collapse, merge) for i in range(3)]  # fmt: skip
            operands = [scores, np.array(steps, dtype), own.astype(dtype), np.array(lengths, dtype)]
            operands += [] if blank is None else [np.array(blank, dtype)]
            cases.append(case("CTCLoss", 4, operands, np.float32(made), tolerance=1e-5, unique=unique,
                              preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge))  # fmt: skip
    return cases


def test_losses_here(tmp_path: pathlib.Path, report: Report) -> None:
    check_here(loss_cases(), "CTC losses", tmp_path, report)


def test_losses_as_openvino(tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(loss_cases(), "CTC losses", tmp_path, report)


def test_labels_that_do_not_fit(tmp_path: pathlib.Path) -> None:
    """There is no way to align them, whatever the labels after the last one are."""
    scores = np.random.default_rng(2).standard_normal((2, 3, 4)).astype(np.float32)
    labels = np.array([[1, 1, -7], [1, 2, 99]])
    one = case("CTCLoss", 4, [scores, np.array([2, 2]), labels, np.array([2, 2])], np.zeros(2, np.float32))
    (y,) = run_model(one, plain_model(one).save(tmp_path))
    assert y[0] == np.inf
    np.testing.assert_allclose(y[1], loss(scores[1, :2], [1, 2], 3, False, False, True), rtol=1e-5)
