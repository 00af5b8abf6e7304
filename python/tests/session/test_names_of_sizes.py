"""Names of sizes as the model gives them, in shapes and in the options that fix sizes."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scanloom


def added(path: pathlib.Path, *sizes: str) -> pathlib.Path:
    def tensor(name: str, shape: list) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Concat", ["x", "x"], ["z"], axis=0)], "g",
        [tensor("x", list(sizes))], [tensor("y", list(sizes)), tensor("z", [None, *sizes[1:]])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), path)
    return path


NAMES = ("batch size", "seq-len", "N+1", "past_sequence_length + 1", 'a"b\\c', "1st")


def test_shapes_have_the_names_of_the_model(tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(added(tmp_path / "m.onnx", *NAMES))
    assert tuple(session.get_inputs()[0].shape) == NAMES
    y, z = session.get_outputs()
    assert tuple(y.shape) == NAMES
    assert tuple(z.shape) == ('2*"batch size"', *NAMES[1:])  # an expression, as the text form writes it


@pytest.mark.parametrize("given", ["batch size", '"batch size"'])
def test_sizes_are_fixed_by_name(tmp_path: pathlib.Path, given: str) -> None:
    options = scanloom.SessionOptions()
    options.add_free_dimension_override_by_name(given, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = scanloom.InferenceSession(added(tmp_path / "m.onnx", "batch size"), options)
    assert session.get_inputs()[0].shape == [3]
    with pytest.raises(scanloom.InvalidArgument, match="size 3 on axis 0, but the feed has 4"):
        session.run(None, {"x": np.zeros(4, np.float32)})


def test_a_name_that_the_model_lacks(tmp_path: pathlib.Path) -> None:
    options = scanloom.SessionOptions()
    options.add_free_dimension_override_by_name("bacth", 3)
    message = "the model has no size named 'bacth', which the options fix"
    with pytest.warns(scanloom.ModelWarning, match=message):
        session = scanloom.InferenceSession(added(tmp_path / "m.onnx", "batch"), options)
    assert message in session.warnings()


def test_sizes_of_a_conversion_are_lists_by_input(tmp_path: pathlib.Path) -> None:
    model = added(tmp_path / "m.onnx", "batch size")
    with pytest.raises(scanloom.InvalidType, match="sizes\\['batch size'\\] must be a sequence"):
        scanloom.convert(model, tmp_path / "n.onnx", sizes={"batch size": 3})
    with pytest.raises(scanloom.InvalidArgument, match="a size of input 'x' is 1.5"):
        scanloom.convert(model, tmp_path / "n.onnx", sizes={"x": [1.5]})


def test_python_may_end_while_a_daemon_thread_runs_a_model() -> None:
    """The thread waits for the GIL when Python ends, and must not end the process with an abort."""
    code = """if True:
        import threading, time, numpy, scanloom, scanloom.tensor as T
        x = T.vector("x")
        f = scanloom.function([x], scanloom.scan(lambda a, h: T.tanh(a + h), x, T.zeros(()))[0])
        def run():
            given = numpy.ones(20000)
            while True:
                f(given)
        for _ in range(3):
            threading.Thread(target=run, daemon=True).start()
        time.sleep(0.5)
    """
    for _ in range(3):
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert (answer.returncode, answer.stderr) == (0, "")
