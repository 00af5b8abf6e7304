"""OpenVINO's products, normalizations, windows, samplings and orders against numpy's formulas, and
against OpenVINO's own results where its CPU plugin is right."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import openvino_layers
import pytest
from openvino_layers import Case, const


def randoms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + 7 * sum(shape)).standard_normal(shape).astype(np.float32)


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    exp = np.exp(x - x.max(axis, keepdims=True))
    return exp / exp.sum(axis, keepdims=True)


def matmul_cases() -> list[Case]:
    a, b, line = randoms(2, 3, 4), randoms(4, 5), randoms(4)
    at, bt = np.swapaxes(a, 1, 2).copy(), b.T.copy()
    return [
        Case("MatMul", 1, [a, b], a @ b),
        Case("MatMul", 1, [at, bt], a @ b, {"transpose_a": True, "transpose_b": True}, note="ab"),
        Case("MatMul", 1, [a, bt], a @ b, {"transpose_b": True}, note="b"),
        Case("MatMul", 1, [line, b], line @ b, {"transpose_a": True}, note="line"),
        Case("MatMul", 1, [a, line], a @ line, {"transpose_b": True}, note="by_line"),
        Case("MatMul", 1, [line, line], np.array(line @ line), note="lines"),
    ]


def attention(query: Any, key: Any, value: Any, bias: Any = 0, scale: Any = None) -> np.ndarray:
    scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * np.float32(scale)
    return softmax((scores + bias).astype(np.float32), -1) @ value


def attention_cases() -> list[Case]:
    kind, version = "ScaledDotProductAttention", 13
    q, k, v = randoms(2, 3, 4, 8), randoms(2, 3, 5, 8, seed=1), randoms(2, 3, 5, 6)
    mask = np.random.default_rng(5).random((4, 5)) < 0.7
    mask[:, 0] = True
    triangle = np.where(np.tri(4, 5, dtype=bool), 0, -np.inf).astype(np.float32)
    bias, scale = randoms(2, 1, 4, 5), np.float32(0.3)
    return [
        Case(kind, version, [q, k, v], attention(q, k, v), {"causal": False}),
        Case(kind, version, [q, k, v], attention(q, k, v, triangle), {"causal": True}, note="causal"),
        Case(kind, version, [q, k, v, mask], attention(q, k, v, np.where(mask, 0, -np.inf)),
             {"causal": False}, note="mask"),
        Case(kind, version, [q, k, v, bias, np.array(scale)], attention(q, k, v, bias, scale),
             {"causal": False}, note="scale"),
    ]  # fmt: skip


def product_cases() -> list[Case]:
    a, b, c = randoms(2, 3, 4), randoms(4, 5), randoms(5, 2)
    return [
        *matmul_cases(),
        *attention_cases(),
        Case("Einsum", 7, [a, b], np.einsum("bij,jk->bki", a, b), {"equation": "bij,jk->bki"}),
        Case("Einsum", 7, [a], np.einsum("bij->ji", a), {"equation": "bij->ji"}, note="sum"),
        Case("Einsum", 7, [a, b, c], np.einsum("bij,jk,kl->bil", a, b, c),
             {"equation": "bij,jk,kl->bil"}, note="chain"),
        Case("Softmax", 1, [a], softmax(a, 1), differs="OpenVINO takes a missing axis for 0, not 1"),
        Case("Softmax", 1, [a], softmax(a, 2), {"axis": 2}, note="axis"),
        Case("Softmax", 8, [a], softmax(a, -3), {"axis": -3}),
        Case("LogSoftmax", 5, [a], np.log(softmax(a, -1)), {"axis": -1}),
    ]  # fmt: skip


CASES = product_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_openvino(case: Case, tmp_path: pathlib.Path) -> None:
    openvino_layers.check_peer(case, tmp_path)


REFUSED = [
    (Case("MatMul", 1, [randoms(2, 3), randoms(4, 5)], randoms(1)), "3.*4"),
    (Case("Einsum", 7, [randoms(2, 3)], randoms(1), {"equation": "ij,jk->ik"}), "2 operands.*1 inputs"),
    (Case("Softmax", 8, [randoms(2, 3)], randoms(1), {"axis": 2}), "axis"),
]


@pytest.mark.parametrize(("case", "words"), REFUSED, ids=lambda one: one if isinstance(one, str) else str(one))
def test_refused(case: Case, words: str, tmp_path: pathlib.Path) -> None:
    openvino_layers.refused(case, tmp_path, words)
