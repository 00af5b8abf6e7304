"""Gradient of ai.onnx.preview.training, against formulas and differences of numpy."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from single_node import EXECUTIONS, randoms, run_every_way

import scanloom

DOMAIN = "ai.onnx.preview.training"
DOUBLE = onnx.TensorProto.DOUBLE


def gradient(inputs: list[str], outputs: list[str], y: str, xs: list[str],
             zs: Optional[list[str]] = None, name: str = "slope") -> onnx.NodeProto:  # fmt: skip
    rest = {"zs": zs} if zs else {}
    return oh.make_node("Gradient", inputs, outputs, name, domain=DOMAIN, y=y, xs=xs, **rest)


def model(nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: list[str],
          constants: Optional[dict[str, np.ndarray]] = None, kind: int = DOUBLE) -> onnx.ModelProto:  # fmt: skip
    graph = oh.make_graph(
        nodes,
        "gradients",
        [oh.make_tensor_value_info(name, kind, sizes) for name, sizes in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    opsets = [oh.make_opsetid("", 20), oh.make_opsetid(DOMAIN, 1)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=9)


def differences(f: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """The gradient of f by central differences."""
    found = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-6
        found[index] = (f(at + step) - f(at - step)) / 2e-6
    return found


def loss(w: np.ndarray, x: np.ndarray, b: np.ndarray, t: np.ndarray) -> float:
    """What MODEL computes."""
    return float(((np.tanh(x @ w + b) - t) ** 2).sum())


PARTS = [
    oh.make_node("MatMul", ["x", "w"], ["h"]),
    oh.make_node("Add", ["h", "b"], ["a"]),
    oh.make_node("Tanh", ["a"], ["p"]),
    oh.make_node("Sub", ["p", "t"], ["d"]),
    oh.make_node("ReduceSumSquare", ["d"], ["y"], keepdims=0),
]
SIZES = {"x": ["N", 4], "w": [4, 3], "b": [3], "t": ["N", 3]}
FEEDS = {"x": randoms(5, 4, dtype=np.float64), "w": randoms(4, 3, dtype=np.float64, seed=1),
         "b": randoms(3, dtype=np.float64), "t": randoms(5, 3, dtype=np.float64, seed=2)}  # fmt: skip


def test_a_layer_and_its_loss() -> None:
    nodes = [*PARTS, gradient(["w", "b", "x", "t"], ["dw", "db"], "y", ["w", "b"], ["x", "t"])]
    y, dw, db = run_every_way(model(nodes, SIZES, ["y", "dw", "db"]), FEEDS)
    w, x, b, t = (FEEDS[name] for name in "wxbt")
    np.testing.assert_allclose(y, loss(w, x, b, t))
    np.testing.assert_allclose(dw, differences(lambda at: loss(at, x, b, t), w), rtol=1e-6)
    np.testing.assert_allclose(db, differences(lambda at: loss(w, x, at, t), b), rtol=1e-6)


def test_an_intermediate_value_as_variable() -> None:
    nodes = [*PARTS, gradient(["a", "t"], ["da"], "y", ["a"], ["t"])]
    a, da = run_every_way(model(nodes, SIZES, ["a", "da"]), FEEDS)
    p = np.tanh(a)
    np.testing.assert_allclose(da, 2 * (p - FEEDS["t"]) * (1 - p * p), rtol=1e-9)


def test_other_values_in_place_of_the_variables() -> None:
    nodes = [*PARTS, oh.make_node("Neg", ["w"], ["minus_w"]),
             gradient(["minus_w", "x", "b", "t"], ["dw"], "y", ["w"], ["x", "b", "t"])]  # fmt: skip
    (dw,) = run_every_way(model(nodes, SIZES, ["dw"]), FEEDS)
    w, x, b, t = (FEEDS[name] for name in "wxbt")
    np.testing.assert_allclose(dw, differences(lambda at: loss(at, x, b, t), -w), rtol=1e-6)


def test_what_is_not_named_is_constant() -> None:
    nodes = [*PARTS, gradient(["b"], ["db"], "y", ["b"])]
    (db,) = run_every_way(model(nodes, SIZES, ["db"]), FEEDS)
    w, x, b, t = (FEEDS[name] for name in "wxbt")
    np.testing.assert_allclose(db, differences(lambda at: loss(w, x, at, t), b), rtol=1e-6)


def test_second_derivatives() -> None:
    nodes = [
        oh.make_node("Mul", ["a", "a"], ["aa"]),
        oh.make_node("Mul", ["aa", "b"], ["y"]),
        gradient(["a", "b"], ["ya", "yb"], "y", ["a", "b"], name="first"),
        gradient(["a", "b"], ["yaa", "yab"], "ya", ["a", "b"], name="second"),
        gradient(["a", "b"], ["", "yaab"], "yaa", ["a", "b"], name="third"),
    ]
    names = ["ya", "yb", "yaa", "yab", "yaab"]
    feeds = {"a": np.array(3.0), "b": np.array(5.0)}
    results = run_every_way(model(nodes, {"a": [], "b": []}, names), feeds)
    assert [float(value) for value in results] == [30, 9, 10, 6, 2]


def test_the_elements_of_y_are_added_up() -> None:
    nodes = [oh.make_node("Exp", ["x"], ["y"]), gradient(["x"], ["dx"], "y", ["x"])]
    feeds = {"x": randoms(2, 3, dtype=np.float64)}
    (dx,) = run_every_way(model(nodes, {"x": ["N", "M"]}, ["dx"]), feeds)
    np.testing.assert_allclose(dx, np.exp(feeds["x"]))


def test_zeros_where_y_does_not_depend_on_a_variable() -> None:
    nodes = [oh.make_node("Exp", ["x"], ["y"]), gradient(["x", "u"], ["", "du"], "y", ["x", "u"])]
    feeds = {"x": randoms(2, dtype=np.float64), "u": randoms(3, dtype=np.float64)}
    (du,) = run_every_way(model(nodes, {"x": ["N"], "u": ["M"]}, ["du"]), feeds)
    assert du.tolist() == [0, 0, 0]


def test_gradients_in_the_body_of_a_scan() -> None:
    """Newton's method for a cube root, one per step."""
    body = oh.make_graph(
        [
            oh.make_node("Mul", ["x", "x"], ["xx"]),
            oh.make_node("Mul", ["xx", "x"], ["xxx"]),
            oh.make_node("Sub", ["xxx", "of"], ["f"]),
            gradient(["x", "of"], ["df"], "f", ["x"], ["of"]),
            oh.make_node("Div", ["f", "df"], ["by"]),
            oh.make_node("Sub", ["x", "by"], ["next"]),
            oh.make_node("Identity", ["next"], ["row"]),
        ],
        "newton",
        [oh.make_tensor_value_info(name, DOUBLE, []) for name in ("x", "of")],
        [oh.make_tensor_value_info(name, DOUBLE, []) for name in ("next", "row")],
    )
    scan = oh.make_node("Scan", ["start", "ofs"], ["last", "all"], body=body, num_scan_inputs=1)
    feeds = {"start": np.array(2.0), "ofs": np.full(8, 17.0)}
    last, rows = run_every_way(model([scan], {"start": [], "ofs": ["T"]}, ["last", "all"]), feeds)
    np.testing.assert_allclose(last, np.cbrt(17.0), rtol=1e-12)
    assert rows.shape == (8,)


def test_gradients_through_a_scan() -> None:
    body = oh.make_graph(
        [oh.make_node("Mul", ["s", "w"], ["sw"]), oh.make_node("Add", ["sw", "x"], ["next"])],
        "decay",
        [oh.make_tensor_value_info(name, DOUBLE, []) for name in ("s", "x")],
        [oh.make_tensor_value_info("next", DOUBLE, [])],
    )
    nodes = [
        oh.make_node("Scan", ["start", "xs"], ["y"], body=body, num_scan_inputs=1),
        gradient(["w", "start", "xs"], ["dw"], "y", ["w"], ["start", "xs"]),
    ]
    proto = model(nodes, {"w": [], "start": [], "xs": ["T"]}, ["dw"])
    feeds = {"w": np.array(0.5), "start": np.array(2.0), "xs": np.array([1.0, -1.0, 3.0])}

    def last(w: np.ndarray) -> float:
        state = feeds["start"]
        for x in feeds["xs"]:
            state = state * w + x
        return float(state)

    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(proto.SerializeToString(), execution=execution)
        np.testing.assert_allclose(session.run(None, feeds)[0], differences(last, feeds["w"]), 1e-6)


def test_models_with_gradients_are_written_without_them(tmp_path: Any) -> None:
    nodes = [*PARTS, gradient(["w", "x", "b", "t"], ["dw"], "y", ["w"], ["x", "b", "t"])]
    data = model(nodes, SIZES, ["y", "dw"]).SerializeToString()
    scanloom.convert(data, tmp_path / "plain.onnx")
    assert "Gradient" not in {node.op_type for node in onnx.load(tmp_path / "plain.onnx").graph.node}
    wanted = scanloom.InferenceSession(data).run(None, FEEDS)
    for found, right in zip(
        scanloom.InferenceSession(tmp_path / "plain.onnx").run(None, FEEDS), wanted
    ):
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (gradient(["w"], ["dw"], "nothing", ["w"]), "names 'nothing', which nothing before"),
        (gradient(["w"], ["dw"], "y", ["nothing"]), "'xs' names 'nothing'"),
        (gradient(["w", "b"], ["dw"], "y", ["w"]), "2 inputs, but 'xs' and 'zs' name 1"),
        (gradient(["w"], ["dw", "db"], "y", ["w"]), "2 outputs, but 'xs' names 1"),
        (gradient(["b"], ["dw"], "y", ["w"]), r"operand 0 is f64\[3\], but takes the place of"),
        (gradient(["w", "w"], ["dw"], "y", ["w"], ["w"]), "'w' is named twice"),
        (oh.make_node("Gradient", ["w"], ["dw"], domain=DOMAIN, xs=["w"]), "'y' is missing"),
        (oh.make_node("Gradient", ["w"], ["dw"], domain=DOMAIN, y="y"), "'xs' is missing"),
    ],
)
def test_mistakes_are_errors(node: onnx.NodeProto, words: str) -> None:
    data = model([*PARTS, node], SIZES, ["dw"]).SerializeToString()
    with pytest.raises(scanloom.Error, match=words) as raised:
        scanloom.InferenceSession(data)
    assert "Gradient" in str(raised.value)


def test_operators_without_a_gradient_are_named() -> None:
    nodes = [
        oh.make_node("GridSample", ["x", "g"], ["s"], "sampler"),
        gradient(["x", "g"], ["dx"], "s", ["x"], ["g"]),
    ]
    data = model(nodes, {"x": [1, 1, 3, 3], "g": [1, 2, 2, 2]}, ["dx"]).SerializeToString()
    with pytest.raises(scanloom.Unsupported, match="slope.*gradient"):
        scanloom.InferenceSession(data)


def test_integers_have_no_gradients() -> None:
    nodes = [oh.make_node("Mul", ["x", "x"], ["y"]), gradient(["x"], ["dx"], "y", ["x"])]
    data = model(nodes, {"x": [2]}, ["dx"], kind=onnx.TensorProto.INT64).SerializeToString()
    with pytest.raises(scanloom.Error, match="floating-point variables, but operand 0 is i64"):
        scanloom.InferenceSession(data)


def test_gradients_of_gradients_are_limited() -> None:
    """Each multiplies the nodes, so a small file could ask for very many."""
    nodes = [oh.make_node("Tanh", ["x"], ["y0"])]
    for i in range(30):
        nodes.append(gradient(["x"], [f"y{i + 1}"], f"y{i}", ["x"], name=f"g{i}"))
    data = model(nodes, {"x": [2]}, ["y30"]).SerializeToString()
    with pytest.raises(scanloom.LimitReached, match="g[0-9]+.*nodes"):
        scanloom.InferenceSession(data)
