"""Recurrent loops of one row whose weights do not fit L1: the products of inputs are pipelined with
those of the state, some steps ahead, where that pays. Every way to execute gives the interpreter's
bits."""

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import scanloom

RANDOM = np.random.default_rng(5)
WAYS = [
    {"threads": 1},
    {"threads": 2},
    {"threads": 7},
    {"threads": 1, "execution": "compiled"},
    {"threads": 1, "execution": "stepped"},
]


def weights(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def tensor(name: str, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def cell(widths: list[int], hidden: int, bias: bool = False) -> onnx.GraphProto:
    """h' = tanh(x W + the sum of what the products of h with matrices of those widths begin with)."""
    nodes, values = [], [("w", weights(40, widths[0]))]
    nodes.append(helper.make_node("MatMul", ["x", "w"], ["xw0" if bias else "xw"]))
    if bias:
        values.append(("bias", weights(widths[0])))
        nodes.append(helper.make_node("Add", ["bias", "xw0"], ["xw"]))
    sums = "xw"
    for i, width in enumerate(widths):
        values.append((f"r{i}", weights(hidden, width)))
        nodes.append(helper.make_node("MatMul", ["h", f"r{i}"], [f"hr{i}"]))
        nodes.append(helper.make_node("Slice", [f"hr{i}", "zero", "hidden", "one"], [f"part{i}"]))
        if i == 0:
            nodes.append(helper.make_node("Slice", ["xw", "zero", "hidden", "one"], ["begin"]))
            sums = "begin"
        nodes.append(helper.make_node("Add", [sums, f"part{i}"], [f"sum{i}"]))
        sums = f"sum{i}"
    nodes.append(helper.make_node("Tanh", [sums], ["h_next"]))
    nodes.append(helper.make_node("Identity", ["h_next"], ["y"]))
    numbers = {"zero": [0], "one": [1], "hidden": [hidden]}
    initializers = [numpy_helper.from_array(array, name) for name, array in values]
    initializers += [numpy_helper.from_array(np.array(n), name) for name, n in numbers.items()]
    arguments = [tensor("h", 1, hidden), tensor("x", 1, 40)]
    results = [tensor("h_next", 1, hidden), tensor("y", 1, hidden)]
    return helper.make_graph(nodes, "cell", arguments, results, initializers)


def scan(widths: list[int], hidden: int, backwards: bool = False, bias: bool = False) -> bytes:
    node = helper.make_node(
        "Scan", ["h0", "xs"], ["h", "ys"], num_scan_inputs=1, body=cell(widths, hidden, bias),
        scan_input_directions=[int(backwards)], scan_output_directions=[int(backwards)],
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [tensor("h0", 1, hidden), tensor("xs", "T", 1, 40)],
        [tensor("h", 1, hidden), tensor("ys", "T", 1, hidden)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


def feeds(hidden: int, steps: int) -> dict[str, np.ndarray]:
    return {"h0": weights(1, hidden), "xs": weights(steps, 1, 40)}


def blocks_of(model: bytes, given: dict[str, np.ndarray]) -> int | None:
    """Returns how many steps one block of rows holds, or None if the products are not pipelined."""
    session = scanloom.InferenceSession(model, threads=1)
    session.run(None, given)
    explained = session.explain()
    if "beside the steps" not in explained:
        return None
    found = re.search(r"are made in blocks of (\d+) steps", explained)
    return int(found.group(1)) if found else 0


def expect_equal(model: bytes, given: dict[str, np.ndarray]) -> None:
    expected = scanloom.InferenceSession(model, execution="interpreted").run(None, given)
    for way in WAYS:
        session = scanloom.InferenceSession(model, **way)
        for _ in range(2):
            for got, wanted in zip(session.run(None, given), expected):
                np.testing.assert_array_equal(got, wanted, err_msg=str(way))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("widths", [[200], [64, 128], [192, 60, 130], [50]])
def test_every_way_gives_the_same_bits(widths, backwards):
    model = scan(widths, 50, backwards)
    for steps in (0, 1, 16, 31, 32, 33, 48, 75):
        expect_equal(model, feeds(50, steps))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_bias_of_the_inputs(backwards):
    model = scan([200, 60], 50, backwards, bias=True)
    for steps in (31, 32, 50, 75):
        expect_equal(model, feeds(50, steps))


@pytest.mark.parametrize("backwards", [False, True])
def test_rows_that_are_made_in_blocks(backwards):
    model = scan([200], 50, backwards, bias=True)
    # Rows of 800 bytes: blocks of 176 steps and more, the first of 32 and more.
    for steps, block in ((177, 0), (207, 0), (208, 176), (383, 192), (704, 176)):
        assert blocks_of(model, feeds(50, steps)) in (None, block)
    for steps in (177, 207, 208, 352, 353, 383, 705, 737, 880, 1563):
        expect_equal(model, feeds(50, steps))


def test_one_step_is_told_as_one_step_whatever_ran_before():
    model = scan([200], 50)
    session = scanloom.InferenceSession(model, threads=1, execution="compiled")
    for steps in (300, 1):
        session.run(None, feeds(50, steps))
    explained = session.explain()
    assert "takes over at the second step (1 step)" in explained
    assert "over 1 step\n" in explained


def test_products_that_threads_share():
    for steps in (45, 300):  # in one block and in blocks of 64
        expect_equal(scan([640, 200], 170), feeds(170, steps))


def test_a_session_takes_sequences_of_any_length():
    model = scan([200], 50)
    session = scanloom.InferenceSession(model, threads=1)
    interpreted = scanloom.InferenceSession(model, execution="interpreted")
    for steps in (70, 3, 32, 200, 16, 800, 70, 900):
        given = feeds(50, steps)
        for got, wanted in zip(session.run(None, given), interpreted.run(None, given)):
            np.testing.assert_array_equal(got, wanted)


def test_pieces_of_a_stream_give_the_bits_of_the_whole():
    model = scan([200], 50)
    steps = 1600
    given = feeds(50, steps)
    session = scanloom.InferenceSession(model, threads=1)
    _, whole = session.run(None, given)
    for cuts in ([40, 100], [1, 33, 80], [75, 107], [705, 800]):
        stream, pieces = session.stream(), []
        for first, last in zip([0, *cuts], [*cuts, steps]):
            piece = {"xs": given["xs"][first:last]}
            if first == 0:
                piece["h0"] = given["h0"]
            pieces.append(stream.push(piece, ["ys"])[0])
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


def stopping() -> bytes:
    """A loop over rows of one product that ends after step `last`."""
    nodes = [
        helper.make_node("Gather", ["xws", "i"], ["xw"]),
        helper.make_node("MatMul", ["h", "r"], ["hr"]),
        helper.make_node("Slice", ["hr", "zero", "width", "one"], ["hr1"]),
        helper.make_node("Slice", ["xw", "zero", "width", "one"], ["xw1"]),
        helper.make_node("Add", ["hr1", "xw1"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["h_next"]),
        helper.make_node("Less", ["i", "last"], ["go"]),
    ]
    constants = {
        "r": weights(50, 200), "zero": np.array([0]), "one": np.array([1]), "width": np.array([50])
    }  # fmt: skip
    body = helper.make_graph(
        nodes, "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("c", TensorProto.BOOL, []), tensor("h", 1, 50)],
        [helper.make_tensor_value_info("go", TensorProto.BOOL, []), tensor("h_next", 1, 50)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    outer = [
        helper.make_node("MatMul", ["xs", "w"], ["xws"]),
        helper.make_node("Shape", ["xs"], ["shape"], end=1),
        helper.make_node("Squeeze", ["shape"], ["steps"]),
        helper.make_node("Loop", ["steps", "", "h0"], ["h"], body=body),
    ]
    graph = helper.make_graph(
        outer, "g",
        [tensor("h0", 1, 50), tensor("xs", "T", 1, 40),
         helper.make_tensor_value_info("last", TensorProto.INT64, [])],
        [tensor("h", 1, 50)], [numpy_helper.from_array(weights(40, 200), "w")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


@pytest.mark.parametrize("steps, last", [
    (90, 0), (90, 40), (90, 500),
    # Blocks end with steps 96, 272, 448, 624 and 800.
    (800, 0), (800, 95), (800, 260), (800, 270), (800, 271), (800, 272), (800, 300), (800, 5000),
])  # fmt: skip
def test_a_loop_that_may_end_early(steps, last):
    expect_equal(stopping(), feeds(50, steps) | {"last": np.array(last)})


def several_scans(pre: str | None, shared: bool, backwards: bool) -> bytes:
    """h' = tanh(x W + z V + h R), the second of which one that is read backwards, or also x."""
    z = "x" if shared else "z"
    nodes, names = [], ["h", "x"] if shared else ["h", "x", "z"]
    if pre is not None:
        nodes.append(helper.make_node(pre, ["x"], ["x_made"]))
    nodes += [
        helper.make_node("MatMul", ["x" if pre is None else "x_made", "w"], ["xw"]),
        helper.make_node("MatMul", [z, "v"], ["zv"]),
        helper.make_node("MatMul", ["h", "r"], ["hr"]),
        helper.make_node("Sum", ["xw", "zv", "hr"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["h_next"]),
        helper.make_node("Identity", ["h_next"], ["y"]),
    ]
    constants = {"w": weights(40, 100), "v": weights(40, 100), "r": weights(100, 100)}
    body = helper.make_graph(
        nodes, "body", [tensor(name, 1, 100 if name == "h" else 40) for name in names],
        [tensor("h_next", 1, 100), tensor("y", 1, 100)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    scanned = [f"{name}s" for name in names[1:]]
    node = helper.make_node(
        "Scan", ["h0", *scanned], ["h", "ys"], num_scan_inputs=len(scanned), body=body,
        scan_input_directions=[int(backwards), 0][: len(scanned)],
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [tensor("h0", 1, 100), *[tensor(name, "T", 1, 40) for name in scanned]],
        [tensor("h", 1, 100), tensor("ys", "T", 1, 100)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("pre", [None, "Exp"])
def test_several_values_that_are_scanned(pre, shared, backwards):
    model = several_scans(pre, shared, backwards)
    for steps in (40, 700, 1700):
        given = feeds(100, steps)
        if not shared:
            given["zs"] = weights(steps, 1, 40)
        expect_equal(model, given)


@pytest.mark.parametrize("steps", [40, 300, 2000])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("constant", ["xs", "w", None])
def test_which_operand_is_constant(constant, bias, steps):
    nodes = [
        helper.make_node("MatMul", ["h", "r"], ["hr"]),
        helper.make_node("Add", ["xw", "hr"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["h_next"]),
        helper.make_node("Identity", ["h_next"], ["y"]),
    ]
    body = helper.make_graph(
        nodes, "body", [tensor("h", 1, 100), tensor("xw", 1, 100)],
        [tensor("h_next", 1, 100), tensor("y", 1, 100)],
        [numpy_helper.from_array(weights(100, 100), "r")],
    )  # fmt: skip
    given = {"h0": weights(1, 100), "xs": weights(steps, 1, 40), "w": weights(40, 100)}
    outer = [helper.make_node("MatMul", ["xs", "w"], ["product"])]
    if bias:
        given["bias"] = weights(100)
        outer.append(helper.make_node("Add", ["product", "bias"], ["with_bias"]))
    rows = "with_bias" if bias else "product"
    outer.append(helper.make_node("Scan", ["h0", rows], ["h", "ys"], num_scan_inputs=1, body=body))
    known = [numpy_helper.from_array(given.pop(constant), constant)] if constant else []
    graph = helper.make_graph(
        outer, "g", [tensor(name, *array.shape) for name, array in given.items()],
        [tensor("h", 1, 100), tensor("ys", steps, 1, 100)], known,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    expect_equal(
        helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString(), given
    )


@pytest.mark.parametrize("steps", [3, 16, 40, 100, 383, 800, 3000])
def test_steps_that_read_two_rows_of_a_product(steps):
    """Scans an axis that is not the first, so the rows of a step do not follow those of the step
    before."""
    nodes = [
        helper.make_node("MatMul", ["h", "r"], ["hr"]),
        helper.make_node("Add", ["xw", "hr"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["all"]),
        helper.make_node("ReduceMean", ["all", "zero"], ["mean"], keepdims=1),
        helper.make_node("Slice", ["mean", "zero", "width", "one"], ["h_next"]),
        helper.make_node("Identity", ["h_next"], ["y"]),
    ]
    constants = {
        "r": weights(50, 200), "zero": np.array([0]), "one": np.array([1]), "width": np.array([50])
    }  # fmt: skip
    body = helper.make_graph(
        nodes, "body", [tensor("h", 1, 50), tensor("xw", 2, 200)],
        [tensor("h_next", 1, 50), tensor("y", 1, 50)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    outer = [
        helper.make_node("MatMul", ["xs", "w"], ["xws"]),
        helper.make_node(
            "Scan", ["h0", "xws"], ["h", "ys"], num_scan_inputs=1, body=body, scan_input_axes=[1]
        ),
    ]
    graph = helper.make_graph(
        outer, "g", [tensor("h0", 1, 50), tensor("xs", 2, "T", 40)],
        [tensor("h", 1, 50), tensor("ys", "T", 1, 50)],
        [numpy_helper.from_array(weights(40, 200), "w")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    expect_equal(model, {"h0": weights(1, 50), "xs": weights(2, steps, 40)})


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator, gates", [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_layers(operator, gates, direction):
    hidden, directions = 100, 2 if direction == "bidirectional" else 1
    node = helper.make_node(
        operator, ["xs", "w", "r"], ["ys"], hidden_size=hidden, direction=direction
    )
    constants = {
        "w": weights(directions, gates * hidden, 40),
        "r": weights(directions, gates * hidden, hidden) * np.float32(0.1),
    }
    graph = helper.make_graph(
        [node], "g", [tensor("xs", "T", 1, 40)], [tensor("ys", "T", directions, 1, hidden)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    for steps in (20, 64, 85, 1300):
        expect_equal(model, {"xs": weights(steps, 1, 40)})


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator, gates", [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_last_states_alone_take_the_memory_of_a_row(operator, gates, direction, layout):
    hidden, batch, directions = 24, 2, 2 if direction == "bidirectional" else 1
    shape = lambda size: ["T", batch, size] if layout == 0 else [batch, "T", size]  # noqa: E731
    state = (directions, batch, hidden) if layout == 0 else (batch, directions, hidden)

    def model(outputs: list[str]) -> bytes:
        names = ["ys" if "ys" in outputs else "", "last"]
        node = helper.make_node(
            operator, ["xs", "w", "r"], names, hidden_size=hidden, direction=direction, layout=layout
        )
        ys = ["T", directions, batch, hidden] if layout == 0 else [batch, "T", directions, hidden]
        infos = {"ys": tensor("ys", *ys), "last": tensor("last", *state)}
        graph = helper.make_graph(
            [node], "g", [tensor("xs", *shape(4))], [infos[name] for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 18)]
        return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()

    constants = {
        "w": weights(directions, gates * hidden, 4),
        "r": weights(directions, gates * hidden, hidden) * np.float32(0.1),
    }
    with_rows, alone = model(["ys", "last"]), model(["last"])
    for steps in (1, 33):
        xs = weights(*[steps if size == "T" else size for size in shape(4)])
        for way in [*WAYS, {"execution": "interpreted"}]:
            options = scanloom.SessionOptions(**way)
            expected = scanloom.InferenceSession(with_rows, options).run(["last"], {"xs": xs})
            found = scanloom.InferenceSession(alone, options).run(None, {"xs": xs})
            np.testing.assert_array_equal(found[0], expected[0])
    if operator == "LSTM":
        steps = 20_000
        xs = np.zeros([steps if size == "T" else size for size in shape(4)], np.float32)
        little = scanloom.RunOptions(max_memory=steps * batch * hidden * 4 // 4)
        scanloom.InferenceSession(alone).run(None, {"xs": xs}, little)
