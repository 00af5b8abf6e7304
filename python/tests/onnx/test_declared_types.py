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


STATE = """g (int64 n, bool go, float[2, 3] x) => (float[2, 3] y) {
    [doubling] y = Loop(n, go, x) <body = b (int64 i, bool c, DECLARED a) => (bool d, float[R, C] e)
        { d = Identity(c) e = Add(a, a) }> }"""
ROWS = """g (float[2, 3] x, float[3] h) => (float[3] y, float[2, 3] z) {
    [sums] y, z = Scan <num_scan_inputs = 1, body = b (STATE a, ROW r) => (float[C] e, float[C] q)
        { e = Add(a, r) q = Identity(r) }> (h, x) }"""
MAPPED = """g (float[2, 3] x) => (float[2, 6] y) {
    s = SequenceConstruct(x, x)
    [each] t = SequenceMap(s) <body = b (DECLARED a) => (float[R, C] e) { e = Neg(a) }>
    y = ConcatFromSequence <axis = 1> (t) }"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loaded_with_warning(text, *words, **options):
    """The session of a model whose reading ends in one warning."""
    session = scanloom.InferenceSession(model(text), **options)
    [warning] = session.warnings()
    assert all(word in warning for word in words), warning
    return session


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("declared, axes", [("float", 0), ("float[6]", 1), ("float[1, 2, 3]", 3)])
def test_axes_of_a_state_of_a_loop(execution, declared, axes):
    session = loaded_with_warning(
        STATE.replace("DECLARED", declared), "'doubling' (Loop-16)", "body input 2 'a'",
        f"declared with {axes} axes, but its value has 2", execution=execution)
    [y] = session.run(None, {"n": np.int64(3), "go": np.bool_(True), "x": X})
    np.testing.assert_array_equal(y, X * 8)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("which, other", [("STATE", "ROW"), ("ROW", "STATE")])
@pytest.mark.parametrize("declared", ["float", "float[1, 3]"])
def test_axes_of_a_scan(execution, which, other, declared):
    text = ROWS.replace(which, declared).replace(other, "float[3]")
    session = loaded_with_warning(text, "'sums' (Scan-16)", "axes, but its value has 1",
                                  execution=execution)
    y, z = session.run(None, {"x": X, "h": np.ones(3, np.float32)})
    np.testing.assert_array_equal(y, X.sum(0) + 1)
    np.testing.assert_array_equal(z, X)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_axes_of_an_item_of_a_sequence(execution):
    session = loaded_with_warning(MAPPED.replace("DECLARED", "float[6]"), "'each' (SequenceMap-17)",
                                  "declared with 1 axes, but its value has 2", execution=execution)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], -np.hstack([X, X]))


@pytest.mark.parametrize("text, words", [
    (STATE.replace("DECLARED", "int64[2, 3]"), "body input 2 'a' is declared int64"),
    (MAPPED.replace("DECLARED", "int64[2, 3]"), "body input 0 'a' is declared int64"),
    (STATE.replace("DECLARED", "float[2, 3]").replace("float[R, C] e", "int64[R, C] e"),
     "output 'e' is declared int64, but the node produces float"),
])
def test_errors_about_elements_name_the_option(text, words):
    with pytest.raises(scanloom.InvalidModel, match="option lenient") as caught:
        scanloom.InferenceSession(model(text))
    assert words in str(caught.value)
    loaded_with_warning(text, words, lenient=True)


def test_errors_about_names_and_versions_name_the_option():
    hiding = """g (float[2] x) => (float[2] y) {
        t = Neg(x) n = Constant <value_int = 2> ()
        y = Loop(n, , t) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] x)
            { d = Identity(c) x = Neg(a) }> }"""
    with pytest.raises(scanloom.InvalidModel, match="the option lenient lets it hide that value"):
        scanloom.InferenceSession(model(hiding))
    early = onnx.load_from_string(model("g (float[2] x) => (float[2] y) { y = Gelu(x) }"))
    with pytest.raises(scanloom.InvalidModel, match="exists since version 20.*\n.*option lenient"):
        scanloom.InferenceSession(early.SerializeToString())
