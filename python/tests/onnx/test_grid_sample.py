"""ONNX's GridSample in each of its versions: every mode, padding and kind of corner against the
formula, whose border rows onnxruntime and OpenVINO share."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx.parser
import openvino_formulas as formulas
import pytest

import scanloom

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

# By opset: how it spells the modes.
MODES = {16: {}, 20: {"bilinear": "linear", "bicubic": "cubic"}, 22: {"bilinear": "linear", "bicubic": "cubic"}}
COMBINATIONS = list(itertools.product(("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"), (0, 1)))


def model(opset: int, mode: str, padding: str, align: int) -> bytes:
    spelt = MODES[opset].get(mode, mode)
    return onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : {opset}]>
        g (float[N, C, H, W] x, float[N, R, S, 2] grid) => (float[N, C, R, S] y)
        {{ y = GridSample <mode = "{spelt}", padding_mode = "{padding}", align_corners = {align}> (x, grid) }}
    """).SerializeToString()


def feeds(height: int = 5, width: int = 7) -> dict[str, np.ndarray]:
    random = np.random.default_rng(height)
    return {"x": random.standard_normal((2, 3, height, width), np.float32),
            "grid": random.uniform(-1.9, 1.9, (2, 6, 8, 2)).astype(np.float32)}  # fmt: skip


@pytest.mark.parametrize("opset", MODES)
@pytest.mark.parametrize(("mode", "padding", "align"), COMBINATIONS)
def test_every_combination(opset: int, mode: str, padding: str, align: int) -> None:
    fed = feeds()
    wanted = formulas.grid_sample(fed["x"], fed["grid"], mode, padding, bool(align))
    data = model(opset, mode, padding, align)
    for execution in ("automatic", "interpreted"):
        (y,) = scanloom.InferenceSession(data, execution=execution).run(None, fed)
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    if onnxruntime is not None:
        np.testing.assert_allclose(onnxruntime.InferenceSession(data).run(None, fed)[0], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 2)])
@pytest.mark.parametrize("padding", ["border", "zeros"])
def test_cubic_taps_of_small_images(shape: tuple[int, int], padding: str) -> None:
    """More taps than elements: those beyond the border are the border's element, or 0."""
    fed: Any = feeds(*shape)
    wanted = formulas.grid_sample(fed["x"], fed["grid"], "bicubic", padding, False)
    (y,) = scanloom.InferenceSession(model(20, "bicubic", padding, 0)).run(None, fed)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


def test_a_constant_image_stays_constant_beyond_its_border() -> None:
    """The weights of the taps sum to 1 at every location."""
    fed = feeds()
    fed["x"] = np.full((2, 3, 5, 7), 2, np.float32)
    (y,) = scanloom.InferenceSession(model(20, "bicubic", "border", 0)).run(None, fed)
    np.testing.assert_allclose(y, np.full_like(y, 2), rtol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_threads_share_large_images(mode: str) -> None:
    random = np.random.default_rng(3)
    fed = {"x": random.standard_normal((2, 9, 30, 41), np.float32),
           "grid": random.uniform(-1.2, 1.2, (2, 33, 45, 2)).astype(np.float32)}  # fmt: skip
    data = model(20, mode, "zeros", 1)
    (wanted,) = scanloom.InferenceSession(data, threads=1).run(None, fed)
    np.testing.assert_allclose(
        wanted, formulas.grid_sample(fed["x"], fed["grid"], mode, "zeros", True), rtol=1e-4, atol=1e-5
    )
    for threads in (2, 7):
        (y,) = scanloom.InferenceSession(data, threads=threads).run(None, fed)
        assert y.tobytes() == wanted.tobytes()
