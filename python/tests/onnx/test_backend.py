"""scanloom.backend: the interface of onnx.backend.base beyond what ONNX's runner calls."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.backend.base import Backend, BackendRep

import scanloom
import scanloom.backend
from loop_models import parse

SUM = parse("g (float[2] x, float[2] y) => (float[2] sum, float[2] difference) "
            "{ sum = Add(x, y) difference = Sub(x, y) }")  # fmt: skip
X, Y = np.float32([1, 2]), np.float32([3, 5])


def test_it_is_a_backend_of_onnx():
    assert issubclass(scanloom.backend.ScanloomBackend, Backend)
    assert isinstance(scanloom.backend.prepare(SUM), BackendRep)


@pytest.mark.parametrize("inputs", [[X, Y], (X, Y), {"y": Y, "x": X}], ids=["list", "tuple", "names"])
def test_results_by_position_and_by_name(inputs):
    results = scanloom.backend.run_model(onnx.load_from_string(SUM), inputs)
    assert len(results) == 2
    np.testing.assert_array_equal(results[0], X + Y)
    np.testing.assert_array_equal(results["difference"], X - Y)
    np.testing.assert_array_equal(results.sum, X + Y)


def test_one_value_needs_no_list():
    model = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    (y,) = scanloom.backend.run_model(model, X)
    np.testing.assert_array_equal(y, -X)


def test_defaults_follow_the_inputs():
    model = parse("g (float[2] w, float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Sub(x, w) }")
    prepared = scanloom.backend.prepare(model)
    np.testing.assert_array_equal(prepared.run([X])[0], X - np.float32([3, 4]))
    np.testing.assert_array_equal(prepared.run([X, Y])[0], X - Y)


def test_options_of_sessions_and_runs():
    prepared = scanloom.backend.prepare(SUM, threads=1, execution="interpreted", rtol=1e-3)
    assert prepared.session.get_session_options().threads == 1
    options = scanloom.RunOptions(max_memory=1)
    with pytest.raises(scanloom.LimitReached):
        prepared.run([X, Y], run_options=options)
    with pytest.raises(TypeError, match="depth"):
        prepared.run([X, Y], depth=1)


def test_too_many_values_are_counted():
    with pytest.raises(scanloom.InvalidArgument, match="2 inputs, and 3 values"):
        scanloom.backend.run_model(SUM, [X, Y, X])


@pytest.mark.parametrize("device, supported", [
    ("CPU", True), ("CPU:0", True), ("CPU:1", False), ("CUDA", False), ("TPU", False), ("CPU:x", False),
])  # fmt: skip
def test_devices(device, supported):
    assert scanloom.backend.supports_device(device) is supported
    assert scanloom.backend.is_compatible(SUM, device) is supported
    if not supported:
        with pytest.raises(scanloom.InvalidArgument, match=f"'{device}'"):
            scanloom.backend.prepare(SUM, device)


def test_a_model_that_cannot_be_loaded():
    model = parse("g (float[2] x) => (float[2] y) { y = NoSuchOperator(x) }")
    assert not scanloom.backend.is_compatible(model)
    with pytest.raises(scanloom.Error, match="NoSuchOperator"):
        scanloom.backend.prepare(model)


NODES = {
    "types as fed": (helper.make_node("Add", ["x", "y"], ["z"]), [X, Y], X + Y),
    "numbers": (helper.make_node("Add", ["x", "y"], ["z"]), [2, 3], np.int64(5)),
    "an input is left out": (helper.make_node("Clip", ["x", "", "high"], ["z"]), [X, np.float32(1.5)],
                             np.float32([1, 1.5])),
    "texts": (helper.make_node("StringConcat", ["x", "y"], ["z"]), [["a"], ["b"]], np.array(["ab"])),
    "a sequence": (helper.make_node("ConcatFromSequence", ["s"], ["z"], axis=0), [[X, Y]],
                   np.concatenate([X, Y])),
}  # fmt: skip


@pytest.mark.parametrize("node, inputs, expected", NODES.values(), ids=NODES)
def test_one_node(node, inputs, expected):
    (found,) = scanloom.backend.run_node(node, inputs)
    assert np.asarray(found).shape == np.asarray(expected).shape
    np.testing.assert_array_equal(found, expected)


def test_one_node_of_another_domain_and_version():
    node = helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=1.5)
    np.testing.assert_array_equal(scanloom.backend.run_node(node, [X])["y"], np.float32([0, 1]))
    old = helper.make_node("ReduceSum", ["x"], ["y"], axes=[0], keepdims=0)  # axes until version 12
    assert scanloom.backend.run_node(old, X, opset_version=11)["y"] == 3


def test_one_node_with_bodies():
    body = [helper.make_graph([helper.make_node(op, ["outer", "outer"], [f"y_{op}"])], op, [],
                              [onnx.ValueInfoProto(name=f"y_{op}")]) for op in ("Add", "Mul")]  # fmt: skip
    node = helper.make_node("If", ["which"], ["y"], then_branch=body[0], else_branch=body[1])
    feeds = {"which": np.bool_(False), "outer": Y}
    np.testing.assert_array_equal(scanloom.backend.run_node(node, feeds)["y"], Y * Y)


def test_declared_outputs_of_a_node_are_checked():
    node = helper.make_node("Add", ["x", "y"], ["z"], name="sum")
    (z,) = scanloom.backend.run_node(node, [X, Y], outputs_info=[(np.float32, [2])])
    np.testing.assert_array_equal(z, X + Y)
    with pytest.raises(scanloom.Error, match="'z'"):
        scanloom.backend.run_node(node, [X, Y], outputs_info=[(np.float64, [2])])
    with pytest.raises(scanloom.InvalidArgument, match="'sum'.*1 outputs, and outputs_info names 2"):
        scanloom.backend.run_node(node, [X, Y], outputs_info=[(np.float32, [2])] * 2)


def test_mistakes_about_a_node():
    node = helper.make_node("Add", ["x", "y"], ["z"], name="sum")
    with pytest.raises(scanloom.InvalidArgument, match="'sum'.*2 inputs, and 1 values"):
        scanloom.backend.run_node(node, [X])
    with pytest.raises(scanloom.InvalidType, match="'y'.*timedelta64"):
        scanloom.backend.run_node(node, [X, np.timedelta64(1)])


def test_onnx_is_imported_with_the_backend_only():
    program = ("import sys, scanloom; assert 'onnx' not in sys.modules; assert 'backend' not in dir(scanloom);"
               "scanloom.backend.prepare; assert 'onnx' in sys.modules")  # fmt: skip
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_onnx_the_import_says_so():
    program = ("import sys; sys.modules['onnx'] = None; import scanloom\n"
               "try: scanloom.backend\nexcept ImportError as missing: print(missing)")  # fmt: skip
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "scanloom.backend needs the package onnx, which is not installed: pip install onnx" in answer.stdout
