"""Scattering, recurrent layers, pools, transposed and deformed convolutions, resizing, sampling and
what else has an operator of its own: against onnx's reference evaluator, onnxruntime or numpy, run
in both ways, with sizes known and unknown when the model is loaded."""

from __future__ import annotations

import numpy as np
import picking_cases
import pytest
import window_cases
from operator_cases import F32, case, compare, expected_of, feeds_of, floats, i64, model_of, whole

import scanloom

CASES = (
    picking_cases.scatter_cases()
    + picking_cases.recurrent_cases()
    + picking_cases.rearranging_cases()
    + picking_cases.arranging_cases()
    + picking_cases.selecting_cases()
    + window_cases.pool_cases()
    + window_cases.convolution_cases()
    + window_cases.quantized_cases()
    + window_cases.quantized_product_cases()
    + window_cases.deformed_cases()
    + window_cases.resize_cases()
    + window_cases.resize_variants()
    + window_cases.old_resize_cases()
    + window_cases.sampling_cases()
)
EXPECTED: dict[str, list[np.ndarray]] = {}


def results_of(one: Case) -> list[np.ndarray]:
    if one.name not in EXPECTED:
        EXPECTED[one.name] = expected_of(one)
    return EXPECTED[one.name]


def test_case_names_are_unique():
    names = [one.name for one in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("symbolic", [False, True], ids=["sizes_known", "sizes_open"])
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_right(one, symbolic):
    wanted = results_of(one)
    bits = []
    for execution in ("automatic", "interpreted"):
        session = scanloom.InferenceSession(model_of(one, symbolic), execution=execution)
        results = session.run(None, feeds_of(one))
        assert len(results) == len(wanted)
        for result, right in zip(results, wanted):
            compare(result, right, one.tolerance)
        bits.append([result.tobytes() for result in results if result.dtype != object])
    assert bits[0] == bits[1]


MISTAKES = [
    (case("a", "ScatterElements", floats(3), i64(3), floats(1)), "index 3 is outside an axis of 3"),
    (case("b", "ScatterND", floats(3), i64(-4).reshape(1, 1), floats(1)), "index -4 is outside"),
    (case("c", "ScatterND", floats(3), i64(0).reshape(1, 1), floats(1), reduction="mean"), "'mean'"),
    (case("d", "GatherND", floats(3, 2), whole(2, 3)), "point into data of 2 axes"),
    (case("e", "MaxPool", floats(1, 1, 4), kernel_shape=[2, 2]), "has 2 sizes"),
    (case("f", "MaxPool", floats(1, 1, 4)), "'kernel_shape' is missing"),
    (case("g", "AveragePool", floats(1, 1, 4), kernel_shape=[7]), "a window over 7 elements"),
    (case("h", "LpPool", floats(1, 1, 4), kernel_shape=[2], p=0, opset=18), "'p' is 0"),
    (case("i", "DepthToSpace", floats(1, 3, 2, 2), blocksize=2), "size 3 on axis 1"),
    (case("j", "SpaceToDepth", floats(1, 1, 3, 2), blocksize=2), "size 3 on axis 2"),
    (
        case(
            "k",
            "RNN",
            floats(2, 1, 1),
            floats(1, 1, 1),
            floats(1, 1, 1),
            activations=["Sine"],
            hidden_size=1,
        ),
        "'Sine'",
    ),
    (
        case("l", "GRU", floats(2, 1, 1), floats(1, 2, 1), floats(1, 3, 1), hidden_size=1),
        "W has size 2 on axis 1, not 3",
    ),
    (case("m", "ConvTranspose", floats(1, 2, 3), floats(3, 1, 2)), "has sizes 2 and 3"),
    (
        case("n", "Resize", floats(2), None, np.array([0], F32), constants=(2,)),
        "scale of axis 0 is 0",
    ),
    (case("o", "Resize", floats(2), None, np.array([1], F32), i64(2)), "both scales and sizes"),
    (case("p", "GridSample", floats(1, 1, 2, 2), floats(1, 1, 1, 3)), "3 coordinates for 2"),
    (case("q", "ReverseSequence", floats(3, 2), i64(4, 1)), "sequence length 4 is outside the 3"),
    (case("r", "Unique", floats(3), axis=1), "axis 1 is outside"),
    (
        case("s", "Col2Im", floats(1, 4, 6), i64(3, 3), i64(2, 2), opset=18),
        "6 blocks, but the image takes 4",
    ),
    (case("t", "CenterCropPad", floats(3), i64(1, 2), opset=18), "2 entries for 1 axes"),
    (case("u", "OneHot", whole(2), np.array(3), floats(2), axis=3), "'axis' is 3"),
    (case("v", "Det", floats(2, 3)), "sizes 2 and 3"),
]


@pytest.mark.parametrize("one,text", MISTAKES, ids=[one.name for one, _ in MISTAKES])
def test_mistakes_are_named(one, text):
    with pytest.raises(scanloom.Error, match="(?s)node.*"):
        try:
            session = scanloom.InferenceSession(model_of(one))
            session.run(None, feeds_of(one))
        except scanloom.Error as error:
            assert text in str(error)
            raise
