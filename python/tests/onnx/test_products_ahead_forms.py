"""Products that are pipelined with the steps of a loop (test_products_ahead.py), for other forms of
the rows that the loop scans, and of the operand of the product of a step."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_products_ahead import blocks_of, expect_equal, tensor, weights


def plain_body(hidden: int, nodes: list, *initializers) -> onnx.GraphProto:
    """A body of h and x, both of that size, to h_next and y."""
    nodes = [*nodes, helper.make_node("Identity", ["h_next"], ["y"])]
    arguments = [tensor("h", hidden), tensor("x", hidden)]
    results = [tensor("h_next", hidden), tensor("y", hidden)]
    return helper.make_graph(nodes, "body", arguments, results, list(initializers))


def scan_over_rows(hidden: int, steps: int, rows: list, body: onnx.GraphProto, **values) -> bytes:
    """A Scan over 'rows', which the nodes make of xs, with the values as initializers."""
    node = helper.make_node("Scan", ["h0", "rows"], ["h", "ys"], num_scan_inputs=1, body=body)
    graph = helper.make_graph(
        [*rows, node], "g", [tensor("h0", hidden), tensor("xs", steps, 40)],
        [tensor("h", hidden), tensor("ys", steps, hidden)],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


def recurrent_sum(hidden: int) -> onnx.GraphProto:
    """h' = tanh(x + h R)"""
    nodes = [
        helper.make_node("MatMul", ["h", "r"], ["hr"]),
        helper.make_node("Add", ["x", "hr"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["h_next"]),
    ]
    return plain_body(hidden, nodes, numpy_helper.from_array(weights(hidden, hidden), "r"))


def flat_feeds(hidden: int, steps: int) -> dict[str, np.ndarray]:
    return {"h0": weights(hidden), "xs": weights(steps, 40)}


@pytest.mark.parametrize("steps", [31, 32, 75, 600])
def test_the_bias_is_added_where_the_rows_are_made(steps):
    rows = [
        helper.make_node("MatMul", ["xs", "w"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["rows"]),
    ]
    model = scan_over_rows(
        100, steps, rows, recurrent_sum(100), w=weights(40, 100), bias=weights(100)
    )
    block = 0 if steps < 512 else 176
    assert blocks_of(model, flat_feeds(100, steps)) in (None, block)
    expect_equal(model, flat_feeds(100, steps))


@pytest.mark.parametrize("bias", [False, True])
def test_rows_that_cannot_be_made_in_blocks(bias):
    # Each row of xs xs' depends on all of xs.
    rows = [
        helper.make_node("Transpose", ["xs"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["xs", "turned"], ["similar"]),
        helper.make_node("MatMul", ["similar", "w"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["rows"])
        if bias
        else helper.make_node("Identity", ["product"], ["rows"]),
    ]
    model = scan_over_rows(
        100, 90, rows, recurrent_sum(100), w=weights(90, 100), bias=weights(100)
    )
    assert blocks_of(model, flat_feeds(100, 90)) in (None, 0)
    expect_equal(model, flat_feeds(100, 90))


def operand_of_product(kind: str) -> list:
    """Nodes that make 'state', the operand of a step's product, of h."""
    step = helper.make_graph(
        [helper.make_node("Neg", ["s"], ["s_next"]), helper.make_node("Identity", ["c"], ["going"])],
        "step",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("c", TensorProto.BOOL, []), tensor("s", 100)],
        [helper.make_tensor_value_info("going", TensorProto.BOOL, []), tensor("s_next", 100)],
    )  # fmt: skip
    either = [
        helper.make_graph([helper.make_node(op, ["h"], [op])], op, [], [tensor(op, 100)])
        for op in ("Neg", "Abs")
    ]
    return {
        "view": [
            helper.make_node("Unsqueeze", ["h", "zero"], ["row"]),
            helper.make_node("Squeeze", ["row", "zero"], ["state"]),
        ],
        "every second": [
            helper.make_node("Concat", ["h", "h"], ["twice"], axis=0),
            helper.make_node("Slice", ["twice", "zero", "end", "zero", "two"], ["state"]),
        ],
        "branch": [
            helper.make_node("ReduceSum", ["h"], ["total"], keepdims=0),
            helper.make_node("Cast", ["total"], ["any"], to=TensorProto.BOOL),
            helper.make_node("If", ["any"], ["state"], then_branch=either[0], else_branch=either[1]),
        ],
        "loop": [
            helper.make_node("Constant", [], ["three"], value_int=3),
            helper.make_node("Loop", ["three", "", "h"], ["state"], body=step),
        ],
    }[kind]


@pytest.mark.parametrize("kind", ["view", "every second", "branch", "loop"])
def test_a_product_of_any_operand_of_the_body(kind):
    body = plain_body(
        100,
        [
            *operand_of_product(kind),
            helper.make_node("MatMul", ["state", "r"], ["hr"]),
            helper.make_node("Add", ["x", "hr"], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["h_next"]),
        ],
        numpy_helper.from_array(weights(100, 100), "r"),
        *[
            numpy_helper.from_array(np.array([value]), name)
            for name, value in (("zero", 0), ("two", 2), ("end", 200))
        ],
    )
    model = scan_over_rows(
        100, 75, [helper.make_node("MatMul", ["xs", "w"], ["rows"])], body, w=weights(40, 100)
    )
    assert blocks_of(model, flat_feeds(100, 75)) in (None, 0)
    expect_equal(model, flat_feeds(100, 75))
