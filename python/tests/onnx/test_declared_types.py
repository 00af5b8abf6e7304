"""Types that a file declares for its own values are shown to users and never relied on."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import scanloom

EXECUTIONS = ("automatic", "interpreted")


def model(text, **declared):
    """With value_info: {name: sizes}."""
    proto = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]>\n' + text)
    proto.graph.value_info.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
        for name, sizes in declared.items()
    )
    return proto.SerializeToString()


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("sizes", [[2, 2], ["A", "A"], [4], [1, 2, 2]])
def test_sizes_of_values_between(execution, sizes):
    reshaped_twice = model(
        """g (float[4] x, int64[K] s) => (float[R, C] z)
        { two = Constant <value_ints = [2, 2]> () u = Reshape(x, s) z = Reshape(u, two) }""",
        u=sizes,
    )
    session = scanloom.InferenceSession(reshaped_twice, execution=execution)
    x = np.arange(4, dtype=np.float32)
    for shape in ([4], [2, 2], [1, 4], [4, 1, 1]):
        [z] = session.run(None, {"x": x, "s": np.array(shape)})
        np.testing.assert_array_equal(z, x.reshape(2, 2))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_sizes_of_outputs(execution):
    reshaped = model("g (float[4] x, int64[K] s) => (float[N, 2] y) { y = Reshape(x, s) }")
    session = scanloom.InferenceSession(reshaped, execution=execution)
    [declared] = session.get_outputs()
    assert (declared.name, declared.shape, declared.type) == ("y", ["N", 2], "tensor(float)")
    x = np.arange(4, dtype=np.float32)
    for shape in ([2, 2], [4], [1, 4]):
        [y] = session.run(None, {"x": x, "s": np.array(shape)})
        np.testing.assert_array_equal(y, x.reshape(shape))


def test_what_is_inferred_is_shown_where_it_says_more():
    doubled = model("g (float[N, 3] x) => (float[A, B] y) { y = Concat <axis = 1> (x, x) }")
    assert scanloom.InferenceSession(doubled).get_outputs()[0].shape == ["N", 6]
