"""What OpenVINO's detection layers give, in plain numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Overlap = Callable[[np.ndarray, np.ndarray], float]
# image, class, box, score
Kept = tuple[int, int, int, float]


def overlap(a: np.ndarray, b: np.ndarray, margin: float = 0, touching: bool = False) -> float:
    """Intersection over union of x0, y0, x1, y1."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if touching and (width < 0 or height < 0):
        return 0
    common = max(width + margin, 0) * max(height + margin, 0)
    areas = [(x[2] - x[0] + margin) * (x[3] - x[1] + margin) if x[2] >= x[0] and x[3] >= x[1] else 0 for x in (a, b)]
    return common / (sum(areas) - common) if min(areas) > 0 else 0


def turned_corners(box: np.ndarray) -> list[np.ndarray]:
    x, y, width, height, angle = (float(v) for v in box)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return [np.array([x, y]) + turn @ np.array([sx * width / 2, sy * height / 2])
            for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip


def clipped_polygon(polygon: list[np.ndarray], a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The part on the left of the line from a to b (Sutherland and Hodgman)."""
    def side(p: np.ndarray) -> float:
        return float((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]))

    result = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1]):
        if side(p) >= 0:
            result.append(p)
        if side(p) * side(q) < 0:
            result.append(p + (q - p) * side(p) / (side(p) - side(q)))
    return result


def polygon_area(polygon: list[np.ndarray]) -> float:
    return abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in zip(polygon, polygon[1:] + polygon[:1]))) / 2


def turned_overlap(a: np.ndarray, b: np.ndarray) -> float:
    polygon, other = turned_corners(a), turned_corners(b)
    for p, q in zip(other, other[1:] + other[:1]):
        polygon = clipped_polygon(polygon, p, q)
    common = polygon_area(polygon) if polygon else 0
    return common / (float(a[2] * a[3] + b[2] * b[3]) - common)


def suppress(boxes: np.ndarray, scores: np.ndarray, threshold: float, least: float, of: Overlap = overlap, *,
             most: int | None = None, candidates: int = -1, sigma: float = 0, eta: float = 1,
             inclusive: bool = False) -> list[tuple[int, float]]:  # fmt: skip
    """The boxes kept in one class, and their scores, the best first."""
    left = [i for i in range(len(scores)) if (scores[i] >= least if inclusive else scores[i] > least)]
    left.sort(key=lambda i: (-scores[i], i))
    if candidates >= 0:
        left = left[:candidates]
    now = {i: float(scores[i]) for i in left}
    kept: list[tuple[int, float]] = []
    while now and (most is None or len(kept) < most):
        best = min(now, key=lambda i: (-now[i], i))
        score = now.pop(best)
        if not sigma:
            common = [of(boxes[best], boxes[i]) for i, _ in kept]
            if any(x >= threshold if inclusive else x > threshold for x in common):
                continue
        kept.append((best, score))
        if eta < 1 and threshold > 0.5:
            threshold *= eta
        if sigma:
            now = {i: s * math.exp(-0.5 * of(boxes[i], boxes[best]) ** 2 / sigma) for i, s in now.items()}
            now = {i: s for i, s in now.items() if s > least}
    return kept


def decayed(boxes: np.ndarray, scores: np.ndarray, least: float, of: Overlap, candidates: int,
            sigma: float | None) -> list[tuple[int, float]]:  # fmt: skip
    """The scores of one class after the decay of MatrixNms."""
    order = [i for i in range(len(scores)) if scores[i] > least]
    order.sort(key=lambda i: (-scores[i], i))
    order = order[:candidates] if candidates >= 0 else order
    result, covered = [], []
    for n, i in enumerate(order):
        common = [of(boxes[i], boxes[k]) for k in order[:n]]
        factors = [(1 - o) / (1 - c + 1e-10) if sigma is None else math.exp((c * c - o * o) * sigma)
                   for o, c in zip(common, covered)]  # fmt: skip
        result.append((i, float(scores[i]) * min([1, *factors])))
        covered.append(max([0, *common]))
    return result


def best_of_images(kept: Iterable[Kept], limit: int, order: str, across: bool) -> list[Kept]:
    """As MulticlassNms and MatrixNms arrange them."""
    by_score = sorted(kept, key=lambda k: (k[0], -k[3], k[1], k[2]))
    images = sorted({k[0] for k in by_score})
    result = [k for i in images for k in [x for x in by_score if x[0] == i][: limit if limit >= 0 else None]]
    if across and order == "score":
        result.sort(key=lambda k: (-k[3], k[0], k[1], k[2]))
    elif across and order == "classid":
        result.sort(key=lambda k: (k[1], k[0], -k[3], k[2]))
    elif order == "classid":
        result.sort(key=lambda k: (k[0], k[1], -k[3], k[2]))
    return result


def moved(boxes: np.ndarray, deltas: np.ndarray, margin: float = 0, end: float = 0, most: float = np.inf) -> np.ndarray:
    """Boxes and deltas [..., 4]."""
    boxes, deltas = boxes.astype(np.float64), deltas.astype(np.float64)
    sides = boxes[..., 2:] - boxes[..., :2] + margin
    middles = boxes[..., :2] + sides / 2 + deltas[..., :2] * sides
    new = np.exp(np.minimum(deltas[..., 2:], most)) * sides
    return np.concatenate([middles - new / 2, middles + new / 2 - end], -1)


def clip(boxes: np.ndarray, width: float, height: float) -> np.ndarray:
    return np.clip(boxes, 0, np.array([width, height, width, height]))


def filled(rows: Any, count: int, width: int | None = None) -> np.ndarray:
    """The rows, followed by zeros."""
    rows = np.array(rows, np.float64).reshape(-1, *([width] if width else []))[:count]
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]))]).astype(np.float32)


def best_first(scores: np.ndarray, count: int) -> np.ndarray:
    return np.argsort(-scores, kind="stable")[:count]

