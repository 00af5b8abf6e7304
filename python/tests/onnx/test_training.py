"""Steps of optimisers, and dropout while training."""

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx.reference import ReferenceEvaluator

import scanloom
from single_node import close, randoms

DOMAIN = "ai.onnx.preview.training"
STATES = {"Adagrad": 1, "Adam": 2, "Momentum": 1}


def optimiser(op, tensors, dtype, **attributes):
    """A model with one step of `op` for tensors of different sizes, and its feeds."""
    kind = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    groups = ["X", "G", "V", "H"][: 2 + STATES[op]]
    sizes = [(3, 2 + i) for i in range(tensors)]
    inputs = [oh.make_tensor_value_info("R", kind, []), oh.make_tensor_value_info("T", onnx.TensorProto.INT64, [])]
    names = [f"{group}{i}" for group in groups for i in range(tensors)]
    inputs += [oh.make_tensor_value_info(name, kind, sizes[int(name[1])]) for name in names]
    results = [f"{group}{i}_new" for group in groups if group != "G" for i in range(tensors)]
    outputs = [oh.make_tensor_value_info(name, kind, sizes[int(name[1])]) for name in results]
    node = oh.make_node(op, ["R", "T", *names], results, domain=DOMAIN, **attributes)
    graph = oh.make_graph([node], "step", inputs, outputs)
    imports = [oh.make_opsetid("", 20), oh.make_opsetid(DOMAIN, 1)]
    proto = oh.make_model(graph, opset_imports=imports, ir_version=9)
    feeds = {name: np.abs(randoms(*sizes[int(name[1])], dtype=dtype)) + dtype(0.1) for name in names}
    return proto, {**feeds, "R": np.array(0.1, dtype)}


CASES = [
    ("Adagrad", {}),
    ("Adagrad", {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}),
    ("Adam", {}),
    ("Adam", {"alpha": 0.8, "beta": 0.9, "epsilon": 1e-2, "norm_coefficient": 0.1,
              "norm_coefficient_post": 0.05}),
    ("Momentum", {"alpha": 0.9, "beta": 0.3, "mode": "standard", "norm_coefficient": 0.01}),
    ("Momentum", {"alpha": 0.9, "beta": 0.3, "mode": "nesterov", "norm_coefficient": 0.0}),
]  # fmt: skip


@pytest.mark.parametrize("op, attributes", CASES)
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("tensors", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps(op, attributes, steps, tensors, dtype):
    proto, feeds = optimiser(op, tensors, dtype, **attributes)
    feeds["T"] = np.array(steps)
    found = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds)
    wanted = ReferenceEvaluator(proto).run(None, feeds)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)
        assert ours.dtype == dtype


def test_misuse_of_optimisers():
    proto, _ = optimiser("Adam", 2, np.float32)
    del proto.graph.node[0].input[-1]
    with pytest.raises(scanloom.Error, match="7 operands after R and T, not 4 for each tensor"):
        scanloom.InferenceSession(proto.SerializeToString())
    proto, _ = optimiser("Momentum", 1, np.float32, alpha=0.9, beta=0.3, mode="fast", norm_coefficient=0.0)
    with pytest.raises(scanloom.Error, match="'mode' is 'fast', neither nesterov nor standard"):
        scanloom.InferenceSession(proto.SerializeToString())
    proto, _ = optimiser("Momentum", 1, np.float32, alpha=0.9, beta=0.3)
    with pytest.raises(scanloom.Error, match="attribute 'mode' is missing"):
        scanloom.InferenceSession(proto.SerializeToString())


def dropout(dtype=np.float32, seed=None, training=None, ratio=None):
    kind = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    initialisers = []
    if training is not None:
        initialisers.append(onnx.numpy_helper.from_array(np.array(training), "t"))
    if ratio is not None:
        initialisers.append(onnx.numpy_helper.from_array(np.array(ratio, np.float32), "r"))
    inputs = [oh.make_tensor_value_info("x", kind, ["N"])]
    if ratio is None:
        inputs.append(oh.make_tensor_value_info("r", onnx.TensorProto.FLOAT, []))
    if training is None:
        inputs.append(oh.make_tensor_value_info("t", onnx.TensorProto.BOOL, []))
    attributes = {} if seed is None else {"seed": seed}
    node = oh.make_node("Dropout", ["x", "r", "t"], ["y", "mask"], **attributes)
    outputs = [oh.make_tensor_value_info("y", kind, ["N"]),
               oh.make_tensor_value_info("mask", onnx.TensorProto.BOOL, ["N"])]
    graph = oh.make_graph([node], "dropout", inputs, outputs, initialisers)
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=9)
    return scanloom.InferenceSession(proto.SerializeToString())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.75, 1.0])
def test_dropout_while_training(ratio, dtype):
    x = randoms(20000, dtype=dtype)
    for session, feeds in (
        (dropout(dtype, training=True, ratio=ratio), {}),
        (dropout(dtype), {"r": np.array(ratio, np.float32), "t": np.array(True)}),
    ):
        y, mask = session.run(None, {"x": x, **feeds})
        assert abs(mask.mean() - (1 - ratio)) < 0.02
        assert not np.any(y[~mask])
        if ratio < 1:
            close(y[mask], (x[mask] / dtype(1 - ratio)).astype(dtype), scale=2)


def test_a_run_decides_whether_it_trains():
    x = randoms(1000)
    session = dropout(ratio=0.5)
    y, mask = session.run(None, {"x": x, "t": np.array(False)})
    assert np.array_equal(y, x) and mask.all()
    y, mask = session.run(None, {"x": x, "t": np.array(True)})
    assert 400 < mask.sum() < 600


def test_seeds_of_dropout():
    x = np.ones(200, np.float32)
    first, second, other = (dropout(seed=seed, training=True, ratio=0.5) for seed in (7, 7, 8))
    drawn = first.run(None, {"x": x})[1]
    assert np.array_equal(drawn, second.run(None, {"x": x})[1])
    assert not np.array_equal(drawn, other.run(None, {"x": x})[1])
    assert not np.array_equal(drawn, first.run(None, {"x": x})[1])  # each run draws anew
