"""Trilu against numpy, also of large matrices, of each step of a loop, and its gradient."""

from __future__ import annotations

from typing import Optional

import numpy as np
import onnx.helper as oh
import pytest
from single_node import SYMBOLIC, feeds, model, randoms, refused, run, run_every_way

import scanloom


def by_numpy(x: np.ndarray, k: int, upper: int) -> np.ndarray:
    return np.triu(x, k) if upper else np.tril(x, k)


@SYMBOLIC
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -9, -2, 0, 1, 4, 2**63 - 1, -(2**63)])
def test_parts_of_matrices(k: Optional[int], upper: int, symbolic: bool) -> None:
    for shape in ((3, 4), (2, 3, 5, 4), (1, 7), (7, 1), (2, 0, 3)):
        x = randoms(*shape)
        inputs = [x] if k is None else [x, np.int64(k)]
        (y,) = run("Trilu", inputs, symbolic=symbolic, upper=upper)
        wanted = by_numpy(x, 0 if k is None else max(min(k, 100), -100), upper)
        np.testing.assert_array_equal(y, wanted, strict=True)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float64])
def test_element_types(dtype: type) -> None:
    x = np.ones((5, 6), dtype)
    np.testing.assert_array_equal(run("Trilu", [x], upper=0)[0], np.tril(x), strict=True)


def test_nan_outside_of_the_triangle_is_not_kept() -> None:
    x = np.full((3, 3), np.nan, np.float32)
    (y,) = run("Trilu", [x])
    np.testing.assert_array_equal(y, np.triu(x))


@pytest.mark.parametrize("shape", [(700, 501), (40, 90, 33)])
def test_threads_share_large_matrices(shape: tuple[int, ...]) -> None:
    x = randoms(*shape)
    for upper in (0, 1):
        (y,) = run("Trilu", [x, np.int64(7)], upper=upper)
        np.testing.assert_array_equal(y, by_numpy(x, 7, upper), strict=True)


def test_of_a_transposed_matrix() -> None:
    nodes = [oh.make_node("Transpose", ["x"], ["t"]), oh.make_node("Trilu", ["t"], ["y"])]
    graph = oh.make_graph(nodes, "turned", [oh.make_tensor_value_info("x", 1, ["R", "C"])],
                          [oh.make_tensor_value_info("y", 1, None)])  # fmt: skip
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=8)
    x = randoms(300, 401)
    (y,) = run_every_way(proto, {"x": x})
    np.testing.assert_array_equal(y, np.triu(x.T), strict=True)


@pytest.mark.parametrize("size", [3, 60])
def test_each_step_of_a_loop(size: int) -> None:
    """Triangles of all steps of a scan are computed at once, as one axis more."""
    body = oh.make_graph(
        [oh.make_node("Trilu", ["m", "k"], ["t"], upper=0),
         oh.make_node("Add", ["s", "t"], ["s_next"]),
         oh.make_node("Identity", ["s_next"], ["row"])],
        "body",
        [oh.make_tensor_value_info("s", 1, [size, size]),
         oh.make_tensor_value_info("m", 1, [size, size])],
        [oh.make_tensor_value_info("s_next", 1, [size, size]),
         oh.make_tensor_value_info("row", 1, [size, size])],
    )  # fmt: skip
    graph = oh.make_graph(
        [oh.make_node("Scan", ["s0", "x"], ["s", "y"], body=body, num_scan_inputs=1)],
        "steps",
        [oh.make_tensor_value_info("s0", 1, [size, size]),
         oh.make_tensor_value_info("x", 1, ["T", size, size]),
         oh.make_tensor_value_info("k", 7, [])],
        [oh.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=8)
    x = randoms(5, size, size)
    (y,) = run_every_way(
        proto, {"s0": np.zeros((size, size), np.float32), "x": x, "k": np.int64(1)}
    )
    np.testing.assert_allclose(y, np.cumsum(np.tril(x, 1), 0), rtol=1e-6, atol=1e-6)


def test_gradient() -> None:
    """Only what is kept has a gradient."""
    domain = "ai.onnx.preview.training"
    nodes = [
        oh.make_node("Trilu", ["x"], ["t"], upper=0),
        oh.make_node("ReduceSumSquare", ["t"], ["y"], keepdims=0),
        oh.make_node("Gradient", ["x"], ["g"], domain=domain, xs=["x"], y="y"),
    ]
    graph = oh.make_graph(nodes, "slope", [oh.make_tensor_value_info("x", 1, [3, 4])],
                          [oh.make_tensor_value_info("g", 1, None)])  # fmt: skip
    opsets = [oh.make_opsetid("", 18), oh.make_opsetid(domain, 1)]
    x = randoms(3, 4)
    (g,) = run_every_way(oh.make_model(graph, opset_imports=opsets, ir_version=8), {"x": x})
    np.testing.assert_allclose(g, 2 * np.tril(x), rtol=1e-6)


def test_what_is_refused() -> None:
    refused("Trilu", [randoms(3)], r"axis -2 is outside \[-1, 1\)")
    refused("Trilu", [randoms(3, 3), np.array([0, 1])], "2 elements, but 1 is needed")


def test_one_number_in_a_list_is_a_diagonal() -> None:
    proto = model("Trilu", [randoms(3, 3), np.array([1])])
    (y,) = scanloom.InferenceSession(proto.SerializeToString()).run(
        None, feeds([randoms(3, 3), np.array([1])])
    )
    np.testing.assert_array_equal(y, np.triu(randoms(3, 3), 1))
