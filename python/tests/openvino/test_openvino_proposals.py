"""OpenVINO's layers that make regions of predictions: Proposal and its relatives, DetectionOutput and
its relative, PriorBox."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from box_formulas import best_first, clip, filled, moved, overlap, suppress
from openvino_cases import Case, case, check_here, check_peer, check_refused, fixed

Report = Callable[[str], None]
MAX_LOG = math.log(1000 / 16)


def predictions(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.4).astype(np.float32)


def chances(seed: int, *shape: int) -> np.ndarray:
    """All different, since the order of equal ones is not defined."""
    count = int(np.prod(shape))
    return ((np.random.default_rng(seed).permutation(count) + 1) / (count + 1)).reshape(shape).astype(np.float32)


# Proposal.


def anchors_of(base: float, ratios: Sequence[float], scales: Sequence[float], tensorflow: bool) -> np.ndarray:
    margin, anchors = 0 if tensorflow else 1, []
    middle = (base - margin) / 2 - (base / 2 if tensorflow else 0)
    for ratio in ratios:
        width = math.sqrt(base * base / ratio)
        width = width if tensorflow else round(width)
        height = width * ratio if tensorflow else round(width * ratio)
        for scale in scales:
            half = np.array([width * scale - margin, height * scale - margin]) / 2
            anchors.append([*(middle - half), *(middle + half)])
    return np.array(anchors)


def proposals(scores: np.ndarray, deltas: np.ndarray, image: np.ndarray, data: dict[str, Any]) -> list[np.ndarray]:
    tensorflow = data["framework"] == "tensorflow"
    margin, after = 0 if tensorflow else 1, data["post_nms_topn"]
    height, width, down, right = image[0], image[1], image[2], image[-1]
    anchors = anchors_of(data["base_size"], data["ratio"], data["scale"], tensorflow)
    count, (rows, columns) = len(anchors), scores.shape[2:]
    y, x = np.mgrid[:rows, :columns] * data["feat_stride"]
    if tensorflow:
        x, y = y, x
    boxes = np.stack([x, y, x, y], -1)[:, :, None] + anchors
    if tensorflow:  # x counts rows, so it ends at the height of the image
        width, height = height, width
        boxes = clip(boxes, width, height)
    regions, found = [], []
    for i in range(len(scores)):
        by = deltas[i].reshape(count, 4, rows, columns).transpose(2, 3, 0, 1)
        by = by / np.array([data["box_coordinate_scale"]] * 2 + [data["box_size_scale"]] * 2)
        own = moved(boxes, by, margin)
        own = clip(own, width - margin, height - margin) if data["clip_before_nms"] else own
        own = own.reshape(-1, 4)
        large = (own[:, 2] - own[:, 0] + margin >= data["min_size"] * right) & (
            own[:, 3] - own[:, 1] + margin >= data["min_size"] * down)  # fmt: skip
        own_scores = scores[i, count:].transpose(1, 2, 0).ravel() * large
        order = best_first(own_scores, data["pre_nms_topn"])
        of = functools.partial(overlap, margin=margin, touching=True)
        kept = suppress(own[order], own_scores[order], data["nms_thresh"], -1, of, most=after)
        last = own[order][[k for k, _ in kept]]
        last = clip(last, width, height) if data["clip_after_nms"] else last
        last = last / np.array([width, height] * 2) if data["normalize"] else last
        made = filled(np.concatenate([np.full((len(last), 1), i), last], 1), after, 5)
        if len(last) < after:
            made[len(last), 0] = -1
        regions.append(made)
        found.append(filled([s for _, s in kept], after))
    return [np.concatenate(regions), np.concatenate(found)]


def proposal_cases() -> list[Case]:
    usual: dict[str, Any] = {
        "base_size": 16, "pre_nms_topn": 20, "post_nms_topn": 6, "nms_thresh": 0.4, "feat_stride": 16, "min_size": 4,
        "ratio": [0.5, 1.0], "scale": [1.0, 2.0], "clip_before_nms": True, "clip_after_nms": False,
        "normalize": False, "box_size_scale": 1.0, "box_coordinate_scale": 1.0, "framework": ""}  # fmt: skip
    changes: list[dict[str, Any]] = [
        {}, {"framework": "tensorflow", "box_size_scale": 5.0, "box_coordinate_scale": 10.0},
        {"clip_before_nms": False, "clip_after_nms": True, "normalize": True}, {"post_nms_topn": 30, "nms_thresh": 0.1},
        {"min_size": 12, "pre_nms_topn": 1000, "post_nms_topn": 3}]  # fmt: skip
    cases = []
    for seed, change in enumerate(changes):
        data = usual | change
        for images, size in ((1, [48, 64, 1]), (2, [48, 64, 1.5, 0.5])):
            operands = [chances(seed, images, 8, 3, 4), predictions(seed, images, 16, 3, 4), np.float32(size)]
            if images == 1:
                made = proposals(*operands, data)
                cases.append(case("Proposal", 1, operands, made[0], tolerance=1e-4, **data))
            made = proposals(*operands, data)
            undefined = "the plugin leaves scores after the last one undefined" if not made[1].all() else ""
            cases.append(case("Proposal", 4, operands, *made, tolerance=1e-4, differs=undefined, **data))
    return cases


def generated(images: np.ndarray, anchors: np.ndarray, deltas: np.ndarray, scores: np.ndarray, least: float,
              threshold: float, before: int, after: int, normalized: bool) -> list[np.ndarray]:  # fmt: skip
    margin, boxes, values, counts = 0 if normalized else 1, [], [], []
    for i, image in enumerate(images):
        by = deltas[i].reshape(-1, 4, *deltas.shape[2:]).transpose(2, 3, 0, 1).reshape(-1, 4)
        own = moved(anchors.reshape(-1, 4), by, margin, margin, MAX_LOG)
        own = clip(own, image[1] - margin, image[0] - margin)
        flat = scores[i].transpose(1, 2, 0).ravel()
        order = best_first(flat, before)
        own, flat = own[order], flat[order]
        sides = own[:, 2:] - own[:, :2] + margin
        large = (sides[:, 0] >= least * image[-1]) & (sides[:, 1] >= least * image[2])
        own, flat = own[large], flat[large]
        of = functools.partial(overlap, margin=margin, touching=True)
        kept = suppress(own, flat, threshold, -1, of, most=after)
        boxes += [own[k] for k, _ in kept]
        values += [s for _, s in kept]
        counts.append(len(kept))
    return [np.array(boxes, np.float32).reshape(-1, 4), np.array(values, np.float32), np.array(counts, np.int32)]


def some_anchors(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, side = rng.random((*shape, 2)) * 40, 4 + 20 * rng.random((*shape, 2))
    return np.concatenate([low, low + side], -1).astype(np.float32)


def generated_cases() -> list[Case]:
    cases = []
    for seed, normalized, least, threshold, before, after in (
        (1, True, 0.0, 0.5, 14, 5), (2, False, 3.0, 0.2, 100, 30), (3, False, 12.0, 0.7, 8, 3)):  # fmt: skip
        for size in ([[48, 40, 1]] * 2, [[48, 40, 1.5, 0.5], [30, 50, 1, 1]]):
            operands = [np.float32(size), some_anchors(seed, 3, 4, 2), predictions(seed, 2, 8, 3, 4),
                        chances(seed, 2, 2, 3, 4)]  # fmt: skip
            made = generated(*operands, least, threshold, before, after, normalized)
            cases.append(case("GenerateProposals", 9, operands, *made, tolerance=1e-4, min_size=least,
                              nms_threshold=threshold, pre_nms_count=before, post_nms_count=after,
                              normalized=normalized, nms_eta=1.0, roi_num_type="i32"))  # fmt: skip
    return cases


def of_one_image(image: np.ndarray, anchors: np.ndarray, deltas: np.ndarray, scores: np.ndarray, least: float,
                 threshold: float, before: int, after: int) -> list[np.ndarray]:  # fmt: skip
    by = deltas.reshape(-1, 4, *deltas.shape[1:]).transpose(2, 3, 0, 1).reshape(-1, 4)
    own = clip(moved(anchors, by, 1, 1, MAX_LOG), image[1] - 1, image[0] - 1)
    sides = own[:, 2:] - own[:, :2] + 1
    flat = scores.transpose(1, 2, 0).ravel() * (sides >= least).all(1)
    order = best_first(flat, before)
    kept = suppress(own[order], flat[order], threshold, -1, most=after)
    return [filled(own[order][[k for k, _ in kept]], after, 4), filled([s for _, s in kept], after)]


def single_image_cases() -> list[Case]:
    cases = []
    for seed, least, threshold, before, after in ((4, 0.0, 0.5, 14, 5), (5, 3.0, 0.2, 100, 30), (6, 10.0, 0.7, 8, 3)):
        operands = [np.float32([48, 40, 1]), some_anchors(seed, 24), predictions(seed, 8, 3, 4), chances(seed, 2, 3, 4)]
        cases.append(case("ExperimentalDetectronGenerateProposalsSingleImage", 6, operands,
                          *of_one_image(*operands, least, threshold, before, after), tolerance=1e-4, min_size=least,
                          nms_threshold=threshold, pre_nms_count=before, post_nms_count=after))  # fmt: skip
    return cases


# The last layers of detectors.


def detected(location: np.ndarray, confidence: np.ndarray, priors: np.ndarray, more: Sequence[np.ndarray],
             data: dict[str, Any], classes: int) -> np.ndarray:  # fmt: skip
    each, shared = 4 if data["normalized"] else 5, data["share_location"]
    count, images = priors.shape[2] // each, len(location)
    scale = np.array([1.0] * 4 if data["normalized"] else [data["input_width"], data["input_height"]] * 2)
    rows = []
    for i in range(images):
        own = priors[i if len(priors) > 1 else 0]
        boxes = own[0].reshape(count, each)[:, -4:] / scale
        spread = np.ones((count, 4)) if data["variance_encoded_in_target"] else own[1, : count * 4].reshape(count, 4)

        def decoded(boxes: np.ndarray, by: np.ndarray, spread: np.ndarray = spread) -> np.ndarray:
            by = by.reshape(count, -1, 4) * spread[:, None]
            center = data["code_type"].endswith("SIZE")
            made = moved(boxes, by) if center else boxes + by
            return clip(made, 1, 1) if data["clip_before_nms"] else made

        boxes = boxes[:, None]
        scores = confidence[i].reshape(count, classes).astype(np.float64)
        if more:
            boxes = decoded(boxes, more[1][i]) / scale  # twice, as OpenVINO does
            nothing = more[0][i].reshape(count, 2)[:, 1] < data["objectness_score"]
            scores[nothing] = np.arange(classes) == data["background_label_id"]
        boxes = decoded(boxes, location[i])
        of_class = [boxes[:, 0 if shared else k] for k in range(classes)]
        if data["decrease_label_id"]:
            best = 1 + scores[:, 1:].argmax(1)
            chosen = np.array([scores[p, best[p]] for p in range(count)])
            order = [p for p in best_first(chosen, count) if chosen[p] > data["confidence_threshold"]]
            order = order[: data["top_k"] if data["top_k"] >= 0 else None]
            masked = np.full((count, classes), -np.inf)
            masked[order, best[order]] = chosen[order]
            scores = masked
        kept = []
        for k in range(classes):
            if k != data["background_label_id"]:
                limit = -1 if data["decrease_label_id"] else data["top_k"]
                kept += [(k, p, s) for p, s in suppress(of_class[k], scores[:, k], data["nms_threshold"],
                                                        data["confidence_threshold"], candidates=limit)]  # fmt: skip
        if 0 <= data["keep_top_k"][0] < len(kept):
            kept = sorted(kept, key=lambda one: -one[2])[: data["keep_top_k"][0]]
            kept.sort(key=lambda one: (one[0], -one[2]))
        for k, p, s in kept:
            box = of_class[k][p]
            box = clip(box, 1, 1) if data["clip_after_nms"] else box
            rows.append([i, k - data["decrease_label_id"], s, *box])
    keep, top = data["keep_top_k"][0], data["top_k"]
    total = images * (keep if keep > 0 else top * classes if top > 0 else count * classes)
    result = filled(rows, total, 7)
    if len(rows) < total:
        result[len(rows), 0] = -1
    return result.reshape(1, 1, total, 7)


def detection_cases() -> list[Case]:
    corner, center = "caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE"
    usual: dict[str, Any] = {
        "background_label_id": 0, "top_k": 6, "variance_encoded_in_target": False, "keep_top_k": [5],
        "code_type": center, "share_location": True, "nms_threshold": 0.3, "confidence_threshold": 0.2,
        "clip_after_nms": False, "clip_before_nms": False, "decrease_label_id": False, "normalized": True,
        "input_height": 1, "input_width": 1, "objectness_score": 0.4}  # fmt: skip
    changes: list[dict[str, Any]] = [
        {}, {"code_type": corner, "clip_after_nms": True}, {"share_location": False, "keep_top_k": [40]},
        {"variance_encoded_in_target": True, "top_k": -1}, {"keep_top_k": [-1], "clip_before_nms": True},
        {"keep_top_k": [-1], "top_k": -1, "share_location": False, "background_label_id": -1},
        {"normalized": False, "input_height": 30, "input_width": 40}, {"decrease_label_id": True},
        {"decrease_label_id": True, "top_k": 3, "keep_top_k": [-1]}]  # fmt: skip
    cases, count, classes = [], 8, 3
    for seed, change in enumerate(changes):
        data = usual | change
        locations = 1 if data["share_location"] else classes
        for of_priors in (1, 2):
            rng = np.random.default_rng(seed)
            low, side = rng.random((of_priors, count, 2)) * 0.7, 0.1 + 0.3 * rng.random((of_priors, count, 2))
            boxes = np.concatenate([low, low + side], 2)
            if not data["normalized"]:
                boxes = np.concatenate([np.zeros((of_priors, count, 1)), boxes * [40, 30, 40, 30]], 2)
            boxes = boxes.reshape(of_priors, 1, -1)
            spread = np.resize([0.1, 0.1, 0.2, 0.2], boxes.shape)
            priors = boxes if data["variance_encoded_in_target"] else np.concatenate([boxes, spread], 1)
            operands = [predictions(seed, 2, count * locations * 4), chances(seed, 2, count * classes),
                        priors.astype(np.float32)]  # fmt: skip
            more = [chances(seed + 50, 2, count * 2), predictions(seed + 50, 2, count * locations * 4)]
            if of_priors == 2:
                operands += more
            made = detected(*operands[:3], operands[3:], data, classes)
            for version in (1, 8):
                own = data | ({"num_classes": classes} if version == 1 else {})
                cases.append(case("DetectionOutput", version, operands, made, tolerance=1e-5, **own))
    return cases


def detectron_cases() -> list[Case]:
    cases = []
    for seed, most, per_class, threshold in ((1, 6, 4, 0.3), (2, 20, 3, 0.1), (3, 3, 10, 0.5), (4, 40, 1000, 0.4)):
        count, classes = 9, 4
        regions, scores = some_anchors(seed, count), chances(seed, count, classes)
        regions[2, 2] = regions[2, 0]  # without an area
        deltas = predictions(seed, count, classes * 4) * 5
        of = functools.partial(overlap, margin=1, touching=True)
        boxes = np.zeros((classes, count, 4))
        boxes[:] = np.maximum(moved(regions, (deltas.reshape(count, classes, 4) / [10, 10, 5, 5]).transpose(1, 0, 2),
                                    1, 1, 4.135), 0)  # fmt: skip
        kept = []
        for k in range(1, classes):
            own = np.where(np.arange(count) == 2, 0, scores[:, k])
            kept += [(k, p, s) for p, s in suppress(boxes[k], own, threshold, 0.05, of, most=per_class)]
        if len(kept) > most:
            kept = sorted(kept, key=lambda one: -one[2])[:most]
        cases.append(case("ExperimentalDetectronDetectionOutput", 6,
                          [regions, deltas, scores, np.float32([[48, 40, 1]])],
                          filled([boxes[k, p] for k, p, _ in kept], most, 4),
                          filled([k for k, _, _ in kept], most).astype(np.int32),
                          filled([s for _, _, s in kept], most), tolerance=1e-4, num_classes=classes,
                          score_threshold=0.05, nms_threshold=threshold, max_detections_per_image=most,
                          post_nms_count=per_class, class_agnostic_box_regression=False, max_delta_log_wh=4.135,
                          deltas_weights=[10.0, 10.0, 5.0, 5.0]))  # fmt: skip
    return cases


# Prior boxes.


def prior_boxes(cells: Sequence[int], image: Sequence[int], data: dict[str, Any]) -> np.ndarray:
    height, width = image
    ratios = []
    for ratio in data["aspect_ratio"]:
        if all(abs(ratio - x) > 1e-6 for x in [1, *ratios]):
            ratios += [ratio, 1 / ratio] if data["flip"] else [ratio]
    whole, sizes, step = data["scale_all_sizes"], list(data["min_size"]), data["step"]
    if not whole:
        step = height / cells[0] if step == -1 else step * height
        sizes = [size * height for size in sizes]
    rows: list[list[float]] = []
    for y in range(cells[0]):
        for x in range(cells[1]):
            if step == 0:
                middle = ((x + 0.5) * width / cells[1], (y + 0.5) * height / cells[0])
            else:
                middle = ((data["offset"] + x) * step, (data["offset"] + y) * step)

            def add(w: float, h: float, dx: float = 0, dy: float = 0, inside: bool = False,
                    middle: tuple[float, float] = middle) -> None:  # fmt: skip
                a, b = middle[0] + dx, middle[1] + dy
                box = [(a - w) / width, (b - h) / height, (a + w) / width, (b + h) / height]
                rows.append([max(box[0], 0), max(box[1], 0), min(box[2], 1), min(box[3], 1)] if inside else box)

            for size, density in zip(data["fixed_size"], data["density"]):
                apart = int(size / int(density))
                for ratio in data["fixed_ratio"] or [1, *ratios]:
                    own = int(size) if not data["fixed_ratio"] and ratio == 1 else size
                    for r in range(int(density)):
                        for k in range(int(density)):
                            start = apart / 2 - int(size) // 2
                            add(own / 2 * math.sqrt(ratio), own / 2 / math.sqrt(ratio), start + k * apart,
                                start + r * apart, True)  # fmt: skip
            for i, size in enumerate(sizes):
                add(size / 2, size / 2)
                parts: list[list[float]] = [[math.sqrt(size * most) / 2] * 2 for most in data["max_size"][i : i + 1]]
                shapes = []
                if whole or i == len(sizes) - 1:
                    own = sizes[i if whole else 0]
                    shapes = [[own / 2 * math.sqrt(r), own / 2 / math.sqrt(r)] for r in ratios]
                for w, h in parts + shapes if data["min_max_aspect_ratios_order"] else shapes + parts:
                    add(w, h)
    boxes = np.array(rows)
    boxes = np.clip(boxes, 0, 1) if data["clip"] else boxes
    spread = np.broadcast_to(data["variance"] or [0.1], boxes.shape)
    return np.stack([boxes.ravel(), spread.ravel()]).astype(np.float32)


def prior_cases() -> list[Case]:
    usual: dict[str, Any] = {
        "min_size": [4.0, 9.0], "max_size": [8.0, 12.0], "aspect_ratio": [2.0, 3.0, 1.0, 2.0], "density": [],
        "fixed_ratio": [], "fixed_size": [], "clip": False, "flip": True, "step": 0.0, "offset": 0.5,
        "variance": [0.1, 0.1, 0.2, 0.2], "scale_all_sizes": True, "min_max_aspect_ratios_order": True}  # fmt: skip
    dense = {"min_size": [], "max_size": [], "fixed_size": [7.0, 10.0], "density": [2.0, 3.0]}
    changes: list[dict[str, Any]] = [
        {}, {"clip": True, "flip": False, "step": 7.0, "offset": 0.25}, {"variance": [0.3], "max_size": []},
        {"min_max_aspect_ratios_order": False}, {"scale_all_sizes": False, "min_size": [0.2, 0.3], "max_size": [], "step": 0.3},
        {"scale_all_sizes": False, "min_size": [0.2, 0.3], "max_size": [], "step": -1.0, "offset": 0.75},
        dense | {"aspect_ratio": [2.0]}, dense | {"fixed_ratio": [2.0], "aspect_ratio": []}]  # fmt: skip
    cases = []
    for change in changes:
        data = usual | change
        for version in (1, 8):
            if version == 1 and not data["min_max_aspect_ratios_order"]:
                continue
            own = {k: v for k, v in data.items() if version == 8 or k != "min_max_aspect_ratios_order"}
            cases.append(case("PriorBox", version, [fixed([2, 3]), fixed([20, 45])],
                              prior_boxes([2, 3], [20, 45], data), tolerance=1e-5, **own))  # fmt: skip
    return cases


GROUPS = {"proposals": proposal_cases(), "generated proposals": generated_cases(),
          "proposals of one image": single_image_cases(), "detections": detection_cases(),
          "detections of classes": detectron_cases(), "prior boxes": prior_cases()}  # fmt: skip


@pytest.mark.parametrize("title", GROUPS)
def test_here(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_here(GROUPS[title], title, tmp_path, report)


@pytest.mark.parametrize("title", GROUPS)
def test_as_openvino(title: str, tmp_path: pathlib.Path, report: Report) -> None:
    check_peer(GROUPS[title], title, tmp_path, report)


SCORES, DELTAS, IMAGE = chances(1, 1, 8, 3, 4), predictions(1, 1, 16, 3, 4), np.float32([48, 64, 1])
PROPOSAL = proposal_cases()[0].data
PRIOR = prior_cases()[0].data
DETECTION = detection_cases()[0]


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (case("Proposal", 4, [SCORES, DELTAS, IMAGE], SCORES, SCORES, **(PROPOSAL | {"post_nms_topn": 0})),
         "'pre_nms_topn' and 'post_nms_topn' are 20 and 0"),
        (case("Proposal", 4, [SCORES, DELTAS, IMAGE], SCORES, SCORES, **(PROPOSAL | {"ratio": [1.0]})),
         "input 0 has 8 channels, but 2 anchors need 4"),
        (case("Proposal", 4, [SCORES, DELTAS, IMAGE[:2]], SCORES, SCORES, **PROPOSAL),
         "input 2 has 2 numbers, but 3 or 4 are needed"),
        (case("PriorBox", 8, [fixed([2, 3]), fixed([20, 45])], SCORES, **(PRIOR | {"min_size": []})),
         "'min_size' and 'fixed_size' are both empty"),
        (case("PriorBox", 8, [fixed([2, 3]), fixed([20, 45])], SCORES, **(PRIOR | {"scale_all_sizes": False})),
         "its attributes make 8 boxes per cell, but its result has 6"),
        (case("PriorBox", 8, [fixed([2, 3]), fixed([20, 45])], SCORES, **(PRIOR | {"fixed_size": [3.0]})),
         "'fixed_size' and 'density' have 1 and 0 numbers"),
        (case("DetectionOutput", 8, DETECTION.operands, SCORES, **(DETECTION.data | {"keep_top_k": []})),
         "'keep_top_k' is missing"),
        (case("DetectionOutput", 8, DETECTION.operands, SCORES, **(DETECTION.data | {"code_type": "corner"})),
         "'code_type'"),
    ],
    ids=lambda value: f"{value.kind}-{value.version}" if isinstance(value, Case) else None,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(one: Case, message: str, tmp_path: pathlib.Path) -> None:
    check_refused(one, message, tmp_path)
