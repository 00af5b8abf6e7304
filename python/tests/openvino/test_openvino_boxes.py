"""OpenVINO's layers that suppress boxes: NonMaxSuppression, NMSRotated, MulticlassNms, MatrixNms."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from box_formulas import Kept, best_of_images, decayed, overlap, suppress, turned_overlap
from openvino_cases import Case, case, check_here, check_peer, check_refused, fixed

Report = Callable[[str], None]


def some_boxes(seed: int, images: int, count: int, scale: float = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, side = rng.random((images, count, 2)), 0.2 + 0.6 * rng.random((images, count, 2))
    return (np.concatenate([low, low + side], 2) * scale).astype(np.float32)


def some_scores(seed: int, *shape: int) -> np.ndarray:
    """All different, since the order of equal ones is not defined."""
    rng = np.random.default_rng(seed)
    return (rng.permutation(int(np.prod(shape))).reshape(shape) / np.prod(shape)).astype(np.float32)


def rows_of(kept: list[Kept]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (np.array([k[:3] for k in kept], np.int64).reshape(-1, 3),
            np.array([(k[0], k[1], k[3]) for k in kept], np.float32).reshape(-1, 3),
            np.array([len(kept)], np.int64))  # fmt: skip


def by_class(boxes: np.ndarray, scores: np.ndarray, select: Callable[..., Any], **more: Any) -> list[Kept]:
    return [(i, k, box, score) for i in range(scores.shape[0]) for k in range(scores.shape[1])
            for box, score in select(boxes[i], scores[i, k], **more)]  # fmt: skip


def soft_cases() -> list[Case]:
    boxes, scores = some_boxes(1, 2, 12), some_scores(2, 2, 3, 12)
    centers = np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], 2)
    cases = []
    for version in (5, 9):
        for sigma, most, least in ((0.5, 4, 0.1), (0.1, 20, 0.3), (2.0, 7, 0.0)):
            kept = by_class(boxes, scores, suppress, threshold=1, least=least, most=most, sigma=sigma)
            limits = [fixed(most), fixed(0.4, np.float32), fixed(least, np.float32), fixed(sigma, np.float32)]
            cases.append(case("NonMaxSuppression", version, [boxes, scores, *limits], *rows_of(kept), tolerance=1e-5,
                              box_encoding="corner", sort_result_descending=False, output_type="i64"))  # fmt: skip
            kept.sort(key=lambda k: -k[3])
            cases.append(case("NonMaxSuppression", version, [centers, scores, *limits], *rows_of(kept), tolerance=1e-5,
                              box_encoding="center", sort_result_descending=True, output_type="i64"))  # fmt: skip
    return cases


def turned_cases() -> list[Case]:
    rng = np.random.default_rng(3)
    boxes = np.concatenate([rng.random((2, 14, 2)) * 4, 0.5 + 3 * rng.random((2, 14, 2)),
                            rng.uniform(-4, 4, (2, 14, 1))], 2).astype(np.float32)  # fmt: skip
    boxes[0, 1] = boxes[0, 0]  # equal
    boxes[0, 3] = boxes[0, 2] + np.float32([0.25, 0, 0, 0, 0])  # of one direction
    boxes[1, 1] = boxes[1, 0] * np.float32([1, 1, 0.5, 0.5, 1])  # one in the other
    boxes[1, 2:5, 4] = 0
    scores = some_scores(4, 2, 2, 14)
    cases = []
    for clockwise in (True, False):
        own = boxes if clockwise else boxes * np.float32([1, 1, 1, 1, -1])
        for threshold, most in ((0.2, 20), (0.5, 4), (0.05, 20)):
            kept = by_class(own, scores, suppress, threshold=threshold, least=0.1, most=most, of=turned_overlap)
            limits = [fixed(most), fixed(threshold, np.float32), fixed(0.1, np.float32)]
            cases.append(case("NMSRotated", 13, [boxes, scores, *limits], *rows_of(kept), clockwise=clockwise,
                              sort_result_descending=False, output_type="i64"))  # fmt: skip
            kept.sort(key=lambda k: -k[3])
            cases.append(case("NMSRotated", 13, [boxes, scores, *limits], *rows_of(kept), clockwise=clockwise,
                              sort_result_descending=True, output_type="i64"))  # fmt: skip
    return cases


def detections(boxes: np.ndarray, kept: list[Kept], images: int, dtype: Any) -> tuple[np.ndarray, ...]:
    rows = [[k[1], k[3], *boxes[k[0], k[2]]] for k in kept]
    positions = [[k[0] * boxes.shape[1] + k[2]] for k in kept]
    counts = [sum(k[0] == i for k in kept) for i in range(images)]
    return (np.array(rows, np.float32).reshape(-1, 6), np.array(positions, dtype).reshape(-1, 1),
            np.array(counts, dtype))  # fmt: skip


def multiclass_cases() -> list[Case]:
    cases = []
    scores = some_scores(6, 2, 3, 12)
    for normalized, eta, order, across, background in (
        (True, 1.0, "score", False, -1), (False, 1.0, "classid", False, 1), (True, 0.7, "score", True, 0),
        (True, 0.7, "classid", True, -1), (False, 1.0, "none", False, -1)):  # fmt: skip
        boxes = some_boxes(5, 2, 12, 1 if normalized else 10)
        for candidates, limit in ((-1, -1), (6, 5)):
            kept = by_class(boxes, scores, suppress, threshold=0.6, least=0.1, candidates=candidates, eta=eta,
                            inclusive=True, of=functools.partial(overlap, margin=0 if normalized else 1))  # fmt: skip
            kept = best_of_images([k for k in kept if k[1] != background], limit, order, across)
            for version, word in ((8, "i64"), (9, "i32")):
                cases.append(case("MulticlassNms", version, [boxes, scores],
                                  *detections(boxes, kept, 2, np.int64 if word == "i64" else np.int32),
                                  sort_result_type=order, sort_result_across_batch=across, output_type=word,
                                  iou_threshold=0.6, score_threshold=0.1, nms_top_k=candidates, keep_top_k=limit,
                                  background_class=background, normalized=normalized, nms_eta=eta))  # fmt: skip
    return cases


def boxes_by_class_cases() -> list[Case]:
    """Boxes of their own for each class; those of all images follow one another."""
    classes, lengths = 3, [4, 0, 5]
    boxes, scores = some_boxes(7, classes, sum(lengths)), some_scores(8, classes, sum(lengths))
    starts = np.cumsum([0, *lengths])
    kept: list[Kept] = []
    for image in range(len(lengths)):
        own = slice(starts[image], starts[image + 1])
        for k in range(classes):
            found = suppress(boxes[k, own], scores[k, own], 0.4, 0.2, inclusive=True)
            kept += [(image, k, starts[image] + box, score) for box, score in found if k != 1]
    cases = []
    for order, across, limit in (("score", False, -1), ("classid", False, 4), ("score", True, -1)):
        chosen = best_of_images(kept, limit, order, across)
        rows = np.array([[k[1], k[3], *boxes[k[1], k[2]]] for k in chosen], np.float32).reshape(-1, 6)
        positions = np.array([[k[2] * classes + k[1]] for k in chosen], np.int64).reshape(-1, 1)
        counts = np.array([sum(k[0] == i for k in chosen) for i in range(len(lengths))], np.int64)
        cases.append(case("MulticlassNms", 9, [boxes, scores, np.array(lengths, np.int64)], rows, positions, counts,
                          sort_result_type=order, sort_result_across_batch=across, output_type="i64",
                          iou_threshold=0.4, score_threshold=0.2, nms_top_k=-1, keep_top_k=limit, background_class=1,
                          normalized=True, nms_eta=1.0))  # fmt: skip
    return cases


def matrix_cases() -> list[Case]:
    cases = []
    scores = some_scores(10, 2, 3, 12)
    for normalized, gaussian, order, across, background in (
        (True, False, "score", False, -1), (False, False, "classid", False, 1), (True, True, "score", True, 0),
        (True, True, "classid", True, -1), (True, False, "none", False, -1)):  # fmt: skip
        boxes = some_boxes(9, 2, 12, 1 if normalized else 10)
        of = functools.partial(overlap, margin=0 if normalized else 1, touching=True)
        for candidates, limit in ((-1, -1), (6, 5)):
            kept = by_class(boxes, scores, decayed, least=0.1, of=of, candidates=candidates,
                            sigma=2.0 if gaussian else None)  # fmt: skip
            kept = [k for k in kept if k[1] != background and k[3] > 0.15]
            # Within an image OpenVINO orders them by score alone.
            kept = best_of_images(kept, limit, order if across else "score", across)
            cases.append(case("MatrixNms", 8, [boxes, scores], *detections(boxes, kept, 2, np.int64), tolerance=1e-5,
                              sort_result_type=order, sort_result_across_batch=across, output_type="i64",
                              score_threshold=0.1, nms_top_k=candidates, keep_top_k=limit, post_threshold=0.15,
                              background_class=background, normalized=normalized, gaussian_sigma=2.0,
                              decay_function="gaussian" if gaussian else "linear"))  # fmt: skip
    return cases


def hard_cases() -> list[Case]:
    """Of other element types than f32: results are computed in f32."""
    cases = []
    boxes, scores = some_boxes(11, 2, 12).astype(np.float16), some_scores(12, 2, 3, 12).astype(np.float16)
    kept = by_class(boxes.astype(np.float32), scores, suppress, threshold=0.3, least=0.1, most=4)
    limits = [fixed(4), fixed(0.3, np.float32), fixed(0.1, np.float32)]
    for dtype in (np.float16, np.float64):
        rows, found, count = rows_of(kept)
        cases.append(case("NonMaxSuppression", 9, [boxes.astype(dtype), scores.astype(dtype), *limits], rows,
                          found.astype(dtype), count, tolerance=1e-3, box_encoding="corner",
                          sort_result_descending=False, output_type="i64",
                          differs="the plugin's scores are f32"))  # fmt: skip
    return cases


def types_of(cases: list[Case]) -> list[Case]:
    """Cases whose results have the type of the boxes, in f64."""
    wide: list[Case] = []
    for one in cases[:2]:
        operands = tuple(x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x
                         for x in one.operands)  # fmt: skip
        expected = tuple(x.astype(np.float64) if x.dtype == np.float32 else x for x in one.expected)
        wide.append(dataclasses.replace(one, operands=operands, expected=expected,
                                        differs="the plugin's rows are f32"))  # fmt: skip
    return wide


GROUPS = {"soft suppression": soft_cases(), "turned boxes": turned_cases(), "classes of boxes": multiclass_cases(),
          "boxes of classes": boxes_by_class_cases(), "matrix suppression": matrix_cases(), "element types of boxes": hard_cases() + types_of(multiclass_cases()) +
          types_of(matrix_cases())}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


BOXES, SCORES = some_boxes(1, 1, 3), some_scores(1, 1, 2, 3)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (case("NMSRotated", 13, [BOXES, SCORES], BOXES), "input 0 has 4 numbers per box, not 5"),
        (case("MulticlassNms", 9, [BOXES, SCORES[0]], BOXES, BOXES, BOXES),
         "input 1 has 2 axes, but 3 are needed without input 2"),
        (case("MulticlassNms", 8, [BOXES, SCORES[..., :2]], BOXES, BOXES, BOXES), "axis 1 of boxes and axis 2 of scores"),
        (case("MatrixNms", 8, [BOXES, SCORES], BOXES, BOXES, BOXES, decay_function="cubic"), "cubic"),
        (case("MatrixNms", 8, [BOXES[..., :3], SCORES], BOXES, BOXES, BOXES), "boxes has 3 numbers per box, not 4"),
        (case("NonMaxSuppression", 9, [BOXES, SCORES[0], fixed(3), fixed(0.5, np.float32), fixed(0.0, np.float32),
              fixed(0.5, np.float32)], BOXES), "scores has 2 axes, not 3"),
    ],
    ids=lambda value: f"{value.kind}-{value.version}" if isinstance(value, Case) else None,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)
