"""Scan of version 8, which has a batch axis and a length for each sequence, against plain numpy."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto as TP

import scanloom

WIDTH = 2
EXECUTIONS = ("automatic", "interpreted")


def floats(*shape):
    seed = 7 + sum((i + 1) * size for i, size in enumerate(shape))
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)


def step_graph(states, inputs, declared=True):
    """State k becomes itself plus every element plus k. The rows are the sum of all new states (of
    the elements if there are no states), and the first element doubled."""
    type_of = {"elem_type": TP.FLOAT, "shape": [WIDTH]} if declared else None

    def value(name):
        if type_of is None:
            return onnx.ValueInfoProto(name=name)
        return oh.make_tensor_value_info(name, **type_of)

    elements = [f"e{i}" for i in range(inputs)]
    nodes = [oh.make_node("Sum", elements, ["all"])]
    made = []
    for k in range(states):
        number = oh.make_tensor(f"number{k}", TP.FLOAT, [], [float(k)])
        nodes.append(oh.make_node("Constant", [], [f"k{k}"], value=number))
        nodes.append(oh.make_node("Sum", [f"s{k}", "all", f"k{k}"], [f"t{k}"]))
        made.append(f"t{k}")
    nodes.append(oh.make_node("Sum", made or ["all"], ["row"]))
    nodes.append(oh.make_node("Add", ["e0", "e0"], ["twice"]))
    graph = onnx.GraphProto(name="step")
    graph.node.extend(nodes)
    graph.input.extend(value(name) for name in [f"s{k}" for k in range(states)] + elements)
    graph.output.extend(value(name) for name in [*made, "row", "twice"])
    return graph


def scan_model(states, inputs, directions, with_lengths, sizes, declared=True):
    """`sizes`: of batch and steps, numbers or names."""
    batch, steps = sizes
    names = [f"h{k}" for k in range(states)] + [f"x{i}" for i in range(inputs)]
    attributes = {"directions": directions} if directions is not None else {}
    node = oh.make_node(
        "Scan",
        ["lengths" if with_lengths else "", *names],
        [*(f"last{k}" for k in range(states)), "rows", "twice_rows"],
        name="gru",
        num_scan_inputs=inputs,
        body=step_graph(states, inputs, declared),
        **attributes,
    )
    graph_inputs = [oh.make_tensor_value_info(n, TP.FLOAT, [batch, WIDTH]) for n in names[:states]]
    graph_inputs += [
        oh.make_tensor_value_info(n, TP.FLOAT, [batch, steps, WIDTH]) for n in names[states:]
    ]
    if with_lengths:
        graph_inputs.append(oh.make_tensor_value_info("lengths", TP.INT64, [batch]))
    outputs = [oh.make_tensor_value_info(n, TP.FLOAT, None) for n in node.output]
    graph = oh.make_graph([node], "g", graph_inputs, outputs)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 8)], ir_version=4)
    return model.SerializeToString()


def feeds_of(states, inputs, batch, steps, lengths):
    feeds = {f"h{k}": floats(batch, WIDTH) + k for k in range(states)}
    feeds |= {f"x{i}": floats(batch, steps, WIDTH) * (i + 1) for i in range(inputs)}
    if lengths is not None:
        feeds["lengths"] = np.array(lengths, np.int64)
    return feeds


def expected(states, inputs, directions, feeds):
    """The rule in plain numpy, one sequence and one step after the other."""
    batch, steps, _ = feeds["x0"].shape
    last = [feeds[f"h{k}"].copy() for k in range(states)]
    rows = np.zeros((batch, steps, WIDTH), np.float32)
    twice = np.zeros((batch, steps, WIDTH), np.float32)
    for b in range(batch):
        length = int(feeds["lengths"][b]) if "lengths" in feeds else steps
        for t in range(length):
            elements = [
                feeds[f"x{i}"][b, length - 1 - t if directions and directions[i] else t]
                for i in range(inputs)
            ]
            total = np.sum(elements, 0)
            for k in range(states):
                last[k][b] = last[k][b] + total + k
            rows[b, t] = sum(last[k][b] for k in range(states)) if states else total
            twice[b, t] = 2 * elements[0]
    return [*last, rows, twice]


def lengths_of(kind, batch, steps):
    return {
        "none": None,
        "equal": [steps] * batch,
        "ragged": [(2 * b + 1) % (steps + 1) for b in range(batch)],
        "zeros": [0] * batch,
    }[kind]


def check(model, feeds, wanted, execution, **options):
    session = scanloom.InferenceSession(model, execution=execution, **options)
    for _ in range(2):  # a second run finds the memory of the first
        results = session.run(None, feeds)
        for result, want in zip(results, wanted, strict=True):
            assert (result.shape, result.dtype) == (want.shape, want.dtype)
            np.testing.assert_array_equal(result, want)
    return session


GRID = [
    (states, inputs, directions)
    for states, inputs in itertools.product((0, 1, 2), (1, 2))
    for directions in [None, *itertools.product((0, 1), repeat=inputs)]
]


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("kind", ["none", "equal", "ragged", "zeros"])
@pytest.mark.parametrize(("states", "inputs", "directions"), GRID)
def test_grid(states, inputs, directions, kind, execution):
    """One model for all sizes: batch 0, 1, 3 and 0, 1, 2, 5 steps."""
    model = scan_model(states, inputs, directions, kind != "none", ("B", "T"))
    session = scanloom.InferenceSession(model, execution=execution)
    for batch, steps in itertools.product((0, 1, 3), (0, 1, 2, 5)):
        feeds = feeds_of(states, inputs, batch, steps, lengths_of(kind, batch, steps))
        wanted = expected(states, inputs, directions, feeds)
        for result, want in zip(session.run(None, feeds), wanted, strict=True):
            assert (result.shape, result.dtype) == (want.shape, want.dtype)
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("kind", ["none", "ragged"])
def test_sizes_in_the_model(kind, execution):
    for batch, steps in itertools.product((1, 3), (1, 5)):
        feeds = feeds_of(1, 2, batch, steps, lengths_of(kind, batch, steps))
        model = scan_model(1, 2, (1, 0), kind != "none", (batch, steps))
        check(model, feeds, expected(1, 2, (1, 0), feeds), execution)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("kind", ["none", "ragged", "zeros"])
def test_body_without_types(kind, execution):
    model = scan_model(2, 2, (0, 1), kind != "none", ("B", "T"), declared=False)
    for batch, steps in ((0, 3), (3, 0), (3, 5)):
        feeds = feeds_of(2, 2, batch, steps, lengths_of(kind, batch, steps))
        check(model, feeds, expected(2, 2, (0, 1), feeds), execution)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("optimize", [True, False])
def test_passes_change_nothing(execution, optimize):
    feeds = feeds_of(2, 2, 3, 5, [5, 0, 3])
    model = scan_model(2, 2, (0, 1), True, ("B", "T"))
    check(model, feeds, expected(2, 2, (0, 1), feeds), execution, optimize=optimize)


def outer_names_model(with_lengths):
    """The body reads a value of the main graph, an initialiser, and one through an If."""
    branch = {
        name: oh.make_graph(
            [oh.make_node(op, ["e", "shift"], ["chosen_" + name])],
            name,
            [],
            [oh.make_tensor_value_info("chosen_" + name, TP.FLOAT, [WIDTH])],
        )
        for name, op in (("yes", "Add"), ("no", "Sub"))
    }
    step = oh.make_graph(
        [
            oh.make_node(
                "If", ["flag"], ["moved"], then_branch=branch["yes"], else_branch=branch["no"]
            ),
            oh.make_node("Mul", ["moved", "factor"], ["row"]),
            oh.make_node("Add", ["s", "row"], ["t"]),
        ],
        "step",
        [oh.make_tensor_value_info(n, TP.FLOAT, [WIDTH]) for n in ("s", "e")],
        [oh.make_tensor_value_info(n, TP.FLOAT, [WIDTH]) for n in ("t", "row")],
    )
    nodes = [
        oh.make_node("Add", ["base", "base"], ["shift"]),
        oh.make_node(
            "Scan",
            ["lengths" if with_lengths else "", "h", "x"],
            ["last", "rows"],
            num_scan_inputs=1,
            body=step,
        ),
    ]
    inputs = [
        oh.make_tensor_value_info("h", TP.FLOAT, ["B", WIDTH]),
        oh.make_tensor_value_info("x", TP.FLOAT, ["B", "T", WIDTH]),
        oh.make_tensor_value_info("base", TP.FLOAT, [WIDTH]),
        oh.make_tensor_value_info("flag", TP.BOOL, []),
    ]
    if with_lengths:
        inputs.append(oh.make_tensor_value_info("lengths", TP.INT64, ["B"]))
    factor = oh.make_tensor("factor", TP.FLOAT, [WIDTH], [2.0, 3.0])
    outputs = [oh.make_tensor_value_info(n, TP.FLOAT, None) for n in ("last", "rows")]
    graph = oh.make_graph(nodes, "g", inputs, outputs, initializer=[factor])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 8)], ir_version=4)
    return model.SerializeToString()


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("lengths", [None, [2, 0, 4]])
@pytest.mark.parametrize("flag", [True, False])
def test_body_reads_outer_names(flag, lengths, execution):
    h, x, base = floats(3, WIDTH), floats(3, 4, WIDTH), floats(WIDTH)
    feeds = {"h": h, "x": x, "base": base, "flag": np.array(flag)}
    if lengths is not None:
        feeds["lengths"] = np.array(lengths, np.int64)
    rows = (x + 2 * base if flag else x - 2 * base) * np.array([2, 3], np.float32)
    for b, length in enumerate(lengths or []):
        rows[b, length:] = 0
    wanted = [h + rows.sum(1), rows]
    check(outer_names_model(lengths is not None), feeds, wanted, execution)


def formal_model(kind):
    """The body yields what it is given: its state, its element, and the state it had."""
    step = oh.make_graph(
        [],
        "step",
        [oh.make_tensor_value_info(n, kind, []) for n in ("s", "e")],
        [oh.make_tensor_value_info(n, kind, []) for n in ("e", "s", "e")],
    )
    node = oh.make_node(
        "Scan", ["lengths", "h", "x"], ["last", "before", "rows"], num_scan_inputs=1, body=step,
        directions=[1],
    )  # fmt: skip
    graph = oh.make_graph(
        [node],
        "g",
        [
            oh.make_tensor_value_info("lengths", TP.INT64, ["B"]),
            oh.make_tensor_value_info("h", kind, ["B"]),
            oh.make_tensor_value_info("x", kind, ["B", "T"]),
        ],
        [oh.make_tensor_value_info(n, kind, None) for n in node.output],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 8)], ir_version=4)
    return model.SerializeToString()


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (TP.BOOL, np.bool_),
        (TP.COMPLEX64, np.complex64),
        (TP.INT8, np.int8),
        (TP.FLOAT16, np.float16),
        (TP.DOUBLE, np.float64),
    ],
)
def test_element_types(kind, dtype, execution):
    def of(values):
        return np.array(values).astype(dtype)

    x = of([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    feeds = {"lengths": np.array([3, 0, 2], np.int64), "h": of([0, 1, 0]), "x": x}
    before, rows, last = np.zeros_like(x), np.zeros_like(x), feeds["h"].copy()
    for b, length in enumerate(feeds["lengths"]):
        for t in range(length):
            before[b, t] = last[b]
            last[b] = rows[b, t] = x[b, length - 1 - t]
    check(formal_model(kind), feeds, [last, before, rows], execution)


def error_of(model, feeds, execution="automatic"):
    with pytest.raises(scanloom.Error) as caught:
        scanloom.InferenceSession(model, execution=execution).run(None, feeds)
    return str(caught.value)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("length", [6, -1, 2**62, -(2**62)])
def test_lengths_outside(length, execution):
    feeds = feeds_of(1, 1, 2, 5, [5, length])
    text = error_of(scan_model(1, 1, None, True, ("B", "T")), feeds, execution)
    nearest = 5 if length > 0 else 0
    assert "node 'gru' (Scan-8)" in text
    assert f"{length} steps, but the nearest possible number is {nearest}" in text


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_sizes_that_differ(execution):
    model = scan_model(1, 2, None, True, ("B", "T"))
    good = feeds_of(1, 2, 3, 4, [1, 2, 3])
    cases = {
        "lengths": (
            np.array([1, 2], np.int64), "has 2 sequences on axis 0, scan input 0 'x0' has 3"
        ),
        "h0": (floats(2, WIDTH), "state 0 'h0' has 2 sequences on axis 0, scan input 0 'x0' has 3"),
        "x1": (
            floats(3, 3, WIDTH), "scan input 1 'x1' has 3 steps on axis 1, scan input 0 'x0' has 4"
        ),
    }
    for name, (array, part) in cases.items():
        feeds = {**good, name: array}
        # Names of sizes would refuse the feeds before the node can.
        text = error_of(unnamed(model), feeds, execution)
        assert part in text and "node 'gru' (Scan-8)" in text


def unnamed(model):
    proto = onnx.load_from_string(model)
    for info in proto.graph.input:
        for dim in info.type.tensor_type.shape.dim[: -1 if info.name != "lengths" else None]:
            dim.ClearField("dim_param")
    return proto.SerializeToString()


def test_counts_and_attributes():
    def refused(change):
        proto = onnx.load_from_string(scan_model(1, 1, (0,), True, ("B", "T")))
        change(proto.graph.node[0])
        with pytest.raises(scanloom.Error) as caught:
            scanloom.InferenceSession(proto.SerializeToString())
        return str(caught.value)

    def attribute(node, name):
        return next(a for a in node.attribute if a.name == name)

    def two_directions(node):
        attribute(node, "directions").ints.append(1)

    def strange_direction(node):
        attribute(node, "directions").ints[0] = 2

    def too_many(node):
        attribute(node, "num_scan_inputs").i = 3

    def none_scanned(node):
        attribute(node, "num_scan_inputs").i = 0

    def lengths_of_floats(node):
        node.input[0] = "h0"

    assert "'directions' has 2 entries, but the node has 1 scan inputs" in refused(two_directions)
    assert "'directions' has 2 at position 0" in refused(strange_direction)
    assert "is 3, but the node has 2 inputs besides sequence_lens" in refused(too_many)
    assert "'num_scan_inputs' is 0, but at least 1" in refused(none_scanned)
    assert "input 0 'h0', the lengths of the sequences, is float of 2 axes" in refused(
        lengths_of_floats
    )
