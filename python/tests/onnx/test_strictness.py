"""Violations of ONNX's rules are an error if onnxruntime refuses them, and a warning if it does
not."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import scanloom
from loop_models import parse
from single_node import run, run_every_way

X = np.array([1, 2, 3, 4], np.float32)


def sparse(indices: Any, values: list[float], dims: list[int]) -> onnx.SparseTensorProto:
    made = onnx.SparseTensorProto(dims=dims)
    made.values.CopyFrom(numpy_helper.from_array(np.array(values, np.float32), "w"))
    made.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64), "at"))
    return made


def sum_with(tensor: onnx.SparseTensorProto, as_constant: bool) -> onnx.ModelProto:
    shape = list(tensor.dims)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    if as_constant:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=tensor))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        sparse_initializer=[] if as_constant else [tensor],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("as_constant", [False, True], ids=["initialiser", "constant"])
@pytest.mark.parametrize(
    ("indices", "values", "dims", "dense", "words"),
    [
        ([0, 2], [10, 20], [4], [10, 0, 20, 0], None),
        ([2, 0], [10, 20], [4], [20, 0, 10, 0], "element 0 comes after element 2"),
        ([3, 1, 2], [1, 2, 3], [4], [0, 2, 3, 1], "element 1 comes after element 3"),
        ([2, 2], [10, 20], [4], [0, 0, 20, 0], "two values for element 2"),
        ([3, 0, 3], [1, 2, 3], [4], [2, 0, 0, 3], "two values for element 3"),
        ([[0, 1], [1, 0]], [10, 20], [2, 2], [0, 10, 20, 0], None),
        ([[1, 0], [0, 1]], [10, 20], [2, 2], [0, 20, 10, 0], "element 1 comes after element 2"),
        ([[0, 1], [0, 1]], [10, 20], [2, 2], [0, 20, 0, 0], "two values for element 1"),
        ([], [], [4], [0, 0, 0, 0], None),
    ],
)
def test_sparse_tensors_out_of_order(
    indices: Any, values: list[float], dims: list[int], dense: list[float], words: Optional[str],
    as_constant: bool,
) -> None:
    model = sum_with(sparse(indices, values, dims), as_constant)
    x = X[: int(np.prod(dims))].reshape(dims)
    (result,) = run_every_way(model, {"x": x})
    np.testing.assert_array_equal(result, x + np.array(dense, np.float32).reshape(dims))
    warnings = scanloom.InferenceSession(model.SerializeToString()).warnings()
    assert len(warnings) == (0 if words is None else 1)
    if words is not None:
        assert "sparse tensor 'w'" in warnings[0] and words in warnings[0]


def negative(**versions: int) -> bytes:
    model = onnx.load_from_string(parse("g (float[4] x) => (float[4] y) { [minus] y = Neg(x) }"))
    for name, version in versions.items():
        if name == "ir":
            model.ir_version = version
        elif name == "main":
            model.opset_import[0].version = version
        else:
            model.opset_import.add(domain="ai.onnx.ml", version=version)
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ({"main": 33}, ("version 33", "'ai.onnx'", "27")),
        ({"main": 999}, ("version 999", "'ai.onnx'", "27")),
        ({"main": 2**62}, (str(2**62), "27")),
        ({"ml": 11}, ("version 11", "'ai.onnx.ml'", "5")),
        ({"ir": 20}, ("IR version 20", "14")),
        ({"ir": 2**40}, (f"IR version {2**40}", "14")),
    ],
)
def test_newer_versions_are_refused_unless_the_reading_is_lenient(
    versions: dict[str, int], words: tuple[str, ...]
) -> None:
    with pytest.raises(scanloom.Unsupported, match="newer than") as caught:
        scanloom.InferenceSession(negative(**versions))
    assert all(word in str(caught.value) for word in (*words, "lenient"))
    session = scanloom.InferenceSession(negative(**versions), lenient=True)
    (warning,) = session.warnings()
    assert all(word in warning for word in words)
    assert session.run(None, {"x": X})[0].tolist() == (-X).tolist()


@pytest.mark.parametrize("versions", [{"main": 28}, {"main": 32}, {"ml": 6}, {"ir": 15}])
def test_versions_of_the_next_releases_are_noted(versions: dict[str, int]) -> None:
    session = scanloom.InferenceSession(negative(**versions))
    (warning,) = session.warnings()
    assert "newer than" in warning and str(*versions.values()) in warning
    assert session.run(None, {"x": X})[0].tolist() == (-X).tolist()


def test_the_newest_versions_are_read_without_a_word() -> None:
    assert scanloom.InferenceSession(negative(main=27, ml=5, ir=14)).warnings() == []


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ("g (float[4] x) => (float[4] y) { [minus] y = Neg <hidden = 1> (x) }", ("'minus' (Neg-13)", "'hidden'")),
        ("g (float[4] x) => (float[4] y) { [s] y = Softmax <axes = [0]> (x) }", ("'s' (Softmax-13)", "'axes'")),
        (
            """g (float[4] x) => (float y) {
              [sums] y, z = Scan <num_scan_inputs = 1, body = b (float h, float e) => (float n, float m) {
                n = Sin(h)
                [inner] m = Neg <factor = 2.0> (e)
              }, scan_input_direction = [1]> (x0, x)
              x0 = Constant <value_float = 0.0> ()
            }""",
            ("'sums' (Scan-16)", "'scan_input_direction'"),
        ),
        (
            """g (float[4] x) => (float[4] y) {
              c = Constant <value = bool {1}> ()
              y = If (c) <then_branch = t () => (a) { [deep] a = Neg <text = "t"> (x) },
                          else_branch = e () => (b) { b = Abs(x) }>
            }""",
            ("'deep' (Neg-13)", "'text'"),
        ),
    ],
    ids=["neg", "softmax", "scan", "branch"],
)  # fmt: skip
def test_unknown_attributes_are_refused(graph: str, words: tuple[str, ...]) -> None:
    with pytest.raises(scanloom.InvalidModel, match="is unknown") as caught:
        scanloom.InferenceSession(parse(graph))
    assert all(word in str(caught.value) for word in (*words, "lenient"))


def test_unknown_attributes_are_ignored_by_a_lenient_reading() -> None:
    data = parse('g (float[4] x) => (float[4] y) { y = Neg <hidden = 1, more = "a"> (x) }')
    session = scanloom.InferenceSession(data, lenient=True)
    assert ["'hidden'" in w or "'more'" in w for w in session.warnings()] == [True, True]
    assert session.run(None, {"x": X})[0].tolist() == (-X).tolist()
    errors = scanloom.check(data).errors
    assert len(errors) == 2


def test_attributes_with_two_underscores_are_notes_of_tools() -> None:
    data = parse("g (float[4] x) => (float[4] y) { y = Neg <__note = 1> (x) }")
    session = scanloom.InferenceSession(data)
    assert session.warnings() == []
    assert session.run(None, {"x": X})[0].tolist() == (-X).tolist()


def declared(size: int, where: str) -> bytes:
    model = onnx.load_from_string(
        parse(
            """g (float[4,2] x, float[2] h0) => (float[2] h, float[4,2] y) {
              z = Neg(x)
              h, y = Scan <num_scan_inputs = 1,
                body = step (float[2] h1, float[2] x1) => (float[2] n, float[2] y1) {
                  n = Add(h1, x1)
                  y1 = Identity(n)
                }> (h0, z)
            }"""
        )
    )
    (body,) = [a.g for a in model.graph.node[1].attribute if a.name == "body"]
    model.graph.value_info.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [4, 2]))
    info = {"input": model.graph.input[0], "output": model.graph.output[1], "value": model.graph.value_info[0],
            "body_input": body.input[1], "body_output": body.output[1]}[where]  # fmt: skip
    info.type.tensor_type.shape.dim[0].dim_value = size
    return model.SerializeToString()


@pytest.mark.parametrize("where", ["input", "output", "value", "body_input", "body_output"])
@pytest.mark.parametrize("size", [-1, -2, -(2**63)])
def test_negative_sizes_are_unknown_ones(size: int, where: str) -> None:
    session = scanloom.InferenceSession(declared(size, where))
    warnings = [w for w in session.warnings() if "is declared with size" in w]
    assert len(warnings) == (0 if size == -1 else 1)
    assert size == -1 or (str(size) in warnings[0] and "axis 0" in warnings[0])
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    h, y = session.run(None, {"x": x, "h0": np.zeros(2, np.float32)})
    np.testing.assert_array_equal(y, np.cumsum(-x, 0))
    np.testing.assert_array_equal(h, -x.sum(0))


@pytest.mark.parametrize(
    "texts",
    [["", "a", " ", "0"], [["", "b"], ["c", ""]], [], [["", ""]], ["\0"]],
)
def test_non_zero_of_strings_are_those_that_are_not_empty(texts: Any) -> None:
    x = np.array(texts, object)
    wanted = np.array(np.nonzero(x), np.int64)
    for opset in (9, 13):
        (result,) = run("NonZero", [x], opset=opset)
        np.testing.assert_array_equal(result, wanted)
        assert result.dtype == np.int64


def test_non_zero_of_strings_in_a_loop() -> None:
    data = parse(
        """g (string[T,3] x) => (int64[T] counts) {
          counts = Scan <num_scan_inputs = 1, body = b (string[3] row) => (int64 n) {
            at = NonZero(row)
            one = Constant <value_ints = [1]> ()
            size = Shape <start = 1> (at)
            n = Squeeze(size)
          }> (x)
        }"""
    )
    x = np.array([["", "a", "b"], ["", "", ""], ["c", "d", "e"]], object)
    for execution in ("automatic", "stepped", "interpreted"):
        (counts,) = scanloom.InferenceSession(data, execution=execution).run(None, {"x": x})
        assert counts.tolist() == [2, 0, 3]
