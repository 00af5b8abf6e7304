"""DynamicQuantizeLSTM against onnxruntime: every option, and layers that its quantizer writes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scanloom
from microsoft_cases import (
    DOMAIN,
    Case,
    by_onnxruntime,
    case,
    ends_of,
    feeds_of,
    model_of,
    with_input,
)
from onnx import TensorProto, helper, numpy_helper
from single_node import close, refused, run_every_way

F32 = np.float32


def layer(
    steps=7, batch=1, inputs=3, hidden=5, directions=1, weights=np.int8, per_column=False,
    lengths=None, state=False, peepholes=False, bias=True, outputs=3, direction=None, seed=0,
    **attributes,
) -> Case:
    """Small weights, because in a chaotic layer one different rounding changes everything."""
    random = np.random.default_rng(seed)
    gates = 4 * hidden

    def numbers(*shape):
        return random.standard_normal(shape).astype(F32)

    def quantized(rows):
        shape = [directions, gates] if per_column else [directions]
        middle = 0 if weights == np.int8 else 125
        return (
            random.integers(*ends_of(weights), (directions, rows, gates)).astype(weights),
            (random.random(shape) * 0.004 + 0.001).astype(F32),
            np.full(shape, middle, weights),
        )

    x = numbers(steps, batch, inputs)
    w, w_scale, w_zero = quantized(inputs)
    r, r_scale, r_zero = quantized(hidden)
    first = [numbers(directions, batch, hidden) if state else None for _ in "hc"]
    if direction is None:
        direction = "bidirectional" if directions == 2 else "forward"
    return case(
        "layer", "DynamicQuantizeLSTM", x, w, r, numbers(directions, 2 * gates) if bias else None,
        lengths, *first, numbers(directions, 3 * hidden) if peepholes else None, w_scale, w_zero,
        r_scale, r_zero, outputs=outputs, constants=(1, 2, 8, 9, 10, 11), hidden_size=hidden,
        direction=direction, **attributes,
    )


def lengths(*values):
    return np.array(values, np.int32)


OPTIONS = {
    "one row": {},
    "rows": {"batch": 3},
    "both directions": {"batch": 3, "directions": 2},
    "reverse": {"direction": "reverse", "batch": 2},
    "uint8": {"weights": np.uint8, "batch": 2},
    "by column": {"per_column": True, "directions": 2, "state": True},
    "uint8 by column": {"per_column": True, "weights": np.uint8},
    "peepholes": {"peepholes": True, "batch": 2},
    "peepholes, coupled": {"peepholes": True, "input_forget": 1},
    "clip": {"clip": 0.25, "batch": 2},
    "without bias": {"bias": False},
    "lengths": {"batch": 3, "lengths": lengths(7, 0, 3), "state": True},
    "short lengths": {"batch": 3, "lengths": lengths(4, 2, 5)},
    "lengths, both directions": {"batch": 3, "directions": 2, "lengths": lengths(4, 7, 2)},
    "lengths, reverse": {"batch": 2, "direction": "reverse", "lengths": lengths(4, 7)},
    "activations": {"activations": ["HardSigmoid", "Relu", "Softsign"], "batch": 2},
    "activations with parameters": {
        "activations": ["Sigmoid", "Affine", "LeakyRelu"], "activation_alpha": [0.5, 0.125],
        "activation_beta": [0.25]},
    "large": {"hidden": 40, "inputs": 24, "batch": 4, "steps": 30},
}


@pytest.mark.parametrize("symbolic", [False, True], ids=["sizes", "symbols"])
@pytest.mark.parametrize("name", OPTIONS)
def test_layers_agree_with_onnxruntime(name, symbolic):
    one = layer(**OPTIONS[name])
    proto, fed = model_of(one, symbolic), feeds_of(one)
    for result, wanted in zip(run_every_way(proto, fed), by_onnxruntime(proto, fed)):
        close(result, wanted, 2)


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_single_results(wanted):
    """onnxruntime keeps rows apart when the sequence of states is not asked for."""
    one = layer(batch=2, state=True)
    proto, fed = model_of(one), feeds_of(one)
    every = run_every_way(proto, fed)
    for i in range(3):
        if i != wanted:
            proto.graph.node[0].output[i] = ""
    kept = proto.graph.output[wanted]
    del proto.graph.output[:]
    proto.graph.output.append(kept)
    [result] = run_every_way(proto, fed)
    assert result.tobytes() == every[wanted].tobytes()


def test_a_layer_in_a_body():
    """A Scan over several sequences, whose body is a layer."""
    one = layer(steps=4, batch=2, hidden=6)
    proto = model_of(one)
    [node] = proto.graph.node
    info = helper.make_tensor_value_info
    shape = list(one.inputs[0].shape)
    body = helper.make_graph(
        [node, helper.make_node("Add", ["sum", "y1"], ["next"])], "body",
        [info("sum", TensorProto.FLOAT, [1, 2, 6]), info("x0", TensorProto.FLOAT, shape)],
        [info("next", TensorProto.FLOAT, [1, 2, 6]), info("y0", TensorProto.FLOAT, None)])
    scan = helper.make_node("Scan", ["first", "xs"], ["last", "all"], body=body, num_scan_inputs=1)
    constants = [i for i in (3,) if one.inputs[i] is not None]
    graph = helper.make_graph(
        [scan], "scan",
        [info("first", TensorProto.FLOAT, [1, 2, 6]), info("xs", TensorProto.FLOAT, ["N", *shape])],
        [info("last", TensorProto.FLOAT, [1, 2, 6]), info("all", TensorProto.FLOAT, None)],
        [*proto.graph.initializer,
         *(numpy_helper.from_array(one.inputs[i], f"x{i}") for i in constants)])
    whole = helper.make_model(graph, opset_imports=proto.opset_import, ir_version=8)
    fed = {"first": np.zeros((1, 2, 6), F32),
           "xs": np.random.default_rng(1).standard_normal((3, *shape)).astype(F32)}
    for result, wanted in zip(run_every_way(whole, fed), by_onnxruntime(whole, fed)):
        close(result, wanted, 2)


def test_products_of_bytes_do_not_make_compiling_pay():
    """In machine code they are the same calls, so the steps of large layers save no more."""
    def steps_to_compile(hidden):
        given = layer(steps=20, inputs=16, hidden=hidden)
        session = scanloom.InferenceSession(model_of(given).SerializeToString())
        session.run(None, feeds_of(given))
        found = re.search(r"compiled after (\d+) steps; 20 steps taken so far", session.explain())
        assert found, session.explain()
        return int(found[1])

    small, large = steps_to_compile(64), steps_to_compile(512)
    assert small / 8 < large < small


MISTAKES = [
    ({"hidden_size": 6}, r"axis 2|axis 1"),
    ({"hidden_size": 0}, "number of units is 0"),
    ({"hidden_size": 2**62}, f"number of units is {2**62}"),
    ({"direction": "sideways"}, "'sideways'"),
    ({"activations": ["Sigmoid"]}, "has 1 names, but 3"),
    ({"activations": ["Sigmoid", "Sine", "Tanh"]}, "'Sine'"),
]


@pytest.mark.parametrize("attributes, words", MISTAKES)
def test_mistakes_are_errors(attributes, words):
    given = layer()
    refused("DynamicQuantizeLSTM", given.inputs, words, 3, domain=DOMAIN, opset=1,
            **{**given.attributes, **attributes})


def test_wrong_operands_are_errors():
    given = layer(batch=2)
    rest = {"domain": DOMAIN, "opset": 1, **given.attributes}

    for i, value, words in (
        (4, lengths(8, 1), "sequence length 8 is outside the 7 steps"),
        (4, lengths(-1, 1), "sequence length -1 is outside the 7 steps"),
        (4, lengths(1), "has 1 elements along axis 0, not 2"),
        (8, np.ones(2, F32), "has 2 elements along axis 0, not 1"),
        (9, np.zeros(1, np.uint8), "uint8, not int8"),
        (1, np.zeros((1, 3, 20), F32), "not uint8 or int8"),
        (0, np.zeros((7, 2), F32), "has 2 axes, not 3"),
        (0, np.zeros((7, 2, 4), F32), "has 4 elements along axis 2, not 3"),
        (7, np.zeros((1, 20), F32), "has 20 elements along axis 1, not 15"),
    ):
        refused("DynamicQuantizeLSTM", with_input(given, i, value), words, 3, **rest)
