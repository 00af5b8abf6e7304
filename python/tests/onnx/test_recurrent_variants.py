"""LSTM, GRU and RNN layers with everything beyond the usual (sequence lengths, a clip, peepholes, coupled
gates, other activations, f16 and f64): as loops, in every execution, the bits of the operators."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import scanloom

STEPS, ROWS, UNITS, INPUTS = 9, 3, 5, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
TYPES = {
    "f32": (TensorProto.FLOAT, np.float32),
    "f64": (TensorProto.DOUBLE, np.float64),
    "f16": (TensorProto.FLOAT16, np.float16),
}
PARAMETERS = {"Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2,
              "Elu": 1}
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", *PARAMETERS]


def layer(kind, dtype, lengths=None, initial=False, peepholes=False, **attributes):
    """The model and what it is fed with."""
    onnx_type, numpy_type = TYPES[dtype]
    random = np.random.default_rng(7)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    batch_first = attributes.get("layout") == 1
    constants = {}

    def constant(name, *shape):
        values = (random.standard_normal(shape) * 0.5).astype(numpy_type)
        constants[name] = numpy_helper.from_array(values, name)
        return name

    rows = GATES[kind] * UNITS
    state = (ROWS, directions, UNITS) if batch_first else (directions, ROWS, UNITS)
    inputs = ["x", constant("w", directions, rows, INPUTS), constant("r", directions, rows, UNITS)]
    inputs += [constant("b", directions, 2 * rows), "" if lengths is None else "lengths"]
    inputs.append(constant("h", *state) if initial else "")
    if kind == "LSTM":
        inputs.append(constant("c", *state) if initial else "")
        inputs.append(constant("p", directions, 3 * UNITS) if peepholes else "")
    outputs = ["y", "y_h", "y_c"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, inputs, outputs, hidden_size=UNITS, **attributes)
    shape = [ROWS, "steps", INPUTS] if batch_first else ["steps", ROWS, INPUTS]
    sizes = [STEPS if size == "steps" else size for size in shape]
    feeds = {"x": random.standard_normal(sizes).astype(numpy_type)}
    infos = [helper.make_tensor_value_info("x", onnx_type, shape)]
    if lengths is not None:
        infos.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, [ROWS]))
        feeds["lengths"] = np.array(lengths, np.int32)
    graph = helper.make_graph(
        [node], "layer", infos,
        [helper.make_tensor_value_info(name, onnx_type, None) for name in outputs],
        list(constants.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return model.SerializeToString(), feeds


def expect_same(*arguments, **options):
    model, feeds = layer(*arguments, **options)
    wanted = scanloom.InferenceSession(model, execution="interpreted", optimize=False).run(None, feeds)
    for execution in ("interpreted", "stepped", "compiled"):
        found = scanloom.InferenceSession(model, execution=execution).run(None, feeds)
        for a, b in zip(found, wanted):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), execution


VARIANTS = {
    "plain": {},
    "lengths": {"lengths": [5, 0, 9]},
    "clip": {"clip": 0.3},
    "all": {"lengths": [9, 2, 1], "clip": 0.5, "initial": True},
    "batch_first": {"lengths": [1, 2, 3], "layout": 1, "initial": True},
}
OF_ONE_KIND = {
    ("LSTM", "peepholes"): {"peepholes": True},
    ("LSTM", "coupled"): {"peepholes": True, "input_forget": 1, "lengths": [3, 9, 4]},
    ("GRU", "linear"): {"linear_before_reset": 1, "lengths": [3, 9, 4]},
}
CASES = [(kind, name, options) for kind in GATES for name, options in VARIANTS.items()]
CASES += [(kind, name, options) for (kind, name), options in OF_ONE_KIND.items()]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind, name, options", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_variants(kind, name, options, direction, dtype):
    expect_same(kind, dtype, direction=direction, **options)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, dtype):
    count = PARAMETERS.get(name, 0)
    given = dict(zip(("activation_alpha", "activation_beta"), ([0.7], [0.3])[:count]))
    expect_same("RNN", dtype, activations=[name], **given)


@pytest.mark.parametrize("names", [["Relu", "Softsign", "Softplus"], ["HardSigmoid", "Relu", "Tanh"]])
def test_activations_of_gates(names):
    expect_same("LSTM", "f32", activations=names)


def test_activations_of_two_directions():
    expect_same("GRU", "f32", direction="bidirectional",
                activations=["Sigmoid", "Relu", "HardSigmoid", "Tanh"])


@pytest.mark.parametrize("length", [-1, STEPS + 1])
@pytest.mark.parametrize("execution", ["interpreted", "stepped", "compiled"])
def test_lengths_outside(length, execution):
    model, feeds = layer("LSTM", "f32", lengths=[1, length, 2])
    session = scanloom.InferenceSession(model, execution=execution)
    with pytest.raises(scanloom.InvalidArgument,
                       match=f"LSTM.*sequence length {length} is outside the {STEPS} steps of X"):
        session.run(None, feeds)


def layer_of_open_sizes(kind, batch_first):
    """A layer whose operands name the size of the batch differently."""
    rows, random = GATES[kind] * UNITS, np.random.default_rng(8)
    weights = {"w": (1, rows, INPUTS), "r": (1, rows, UNITS)}
    constants = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
                 for name, shape in weights.items()]  # fmt: skip
    declared = {"x": (["rows", "steps", INPUTS], ["steps", "rows", INPUTS]), "lengths": (["n"], ["n"]),
                "h": ([1, "d", UNITS], ["d", 1, UNITS])}  # fmt: skip
    types = {"x": TensorProto.FLOAT, "lengths": TensorProto.INT32, "h": TensorProto.FLOAT}
    infos = [helper.make_tensor_value_info(name, types[name], shapes[0 if batch_first else 1])
             for name, shapes in declared.items()]  # fmt: skip
    node = helper.make_node(kind, ["x", "w", "r", "", "lengths", "h"], ["y", "y_h"], name="layer",
                            hidden_size=UNITS, layout=int(batch_first))  # fmt: skip
    graph = helper.make_graph(
        [node], "layer", infos,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "y_h")], constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8).SerializeToString()


@pytest.mark.parametrize("execution", ["stepped", "compiled"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", ["GRU", "RNN"])
def test_sizes_that_only_the_run_knows(kind, batch_first, execution):
    """They are checked when the layer runs, and do not keep it from becoming a loop."""
    model, random = layer_of_open_sizes(kind, batch_first), np.random.default_rng(9)
    session = scanloom.InferenceSession(model, execution=execution)
    for steps, rows in ((1, 1), (STEPS, 1), (0, 1)):
        x = random.standard_normal((rows, steps, INPUTS) if batch_first else (steps, rows, INPUTS))
        feeds = {"x": x.astype(np.float32), "lengths": np.array([steps // 2] * rows, np.int32),
                 "h": random.standard_normal((1, 1, UNITS)).astype(np.float32)}  # fmt: skip
        oracle = scanloom.InferenceSession(model, execution="interpreted", optimize=False).run(None, feeds)
        for ours, right in zip(session.run(None, feeds), oracle):
            np.testing.assert_array_equal(ours, right, strict=True)
    assert "loop" in session.explain()
    x = np.zeros((2, 3, INPUTS) if batch_first else (3, 2, INPUTS), np.float32)
    right = {"x": x, "lengths": np.full(2, 3, np.int32), "h": np.zeros((1, 1, UNITS), np.float32)}
    axis = 0 if batch_first else 1
    with pytest.raises(scanloom.InvalidArgument, match=f"'layer'.*initial_h has size 1 on axis {axis}, not 2"):
        session.run(None, right)
    with pytest.raises(scanloom.InvalidArgument, match="'layer'.*sequence_lens has size 3 on axis 0, not 2"):
        session.run(None, {**right, "lengths": np.full(3, 3, np.int32)})
