"""Operators of ai.onnx.ml that make or read classes, trees and maps, against onnxruntime."""

from __future__ import annotations

import pathlib
from typing import Any

import classical_models
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from classical_models import ML, X, model
from onnx import TensorProto, ValueInfoProto, helper
from single_node import EXECUTIONS, refused
from version_rows import VERSIONS

import scanloom

MODELS = classical_models.all_models()


def alike(result: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(result) == len(wanted)
        for one, other in zip(result, wanted):
            alike(one, other)
    elif isinstance(wanted, dict):
        assert list(result) == list(wanted)
        assert list(map(type, result)) == list(map(type, wanted))
        np.testing.assert_allclose(list(result.values()), list(wanted.values()), rtol=1e-6)
    elif wanted.dtype.kind in "OUST":
        assert result.tolist() == wanted.tolist()
    else:
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def bits(value: Any) -> Any:
    if isinstance(value, list):
        return [bits(item) for item in value]
    if isinstance(value, dict):
        return list(value.items())
    return value.tolist() if value.dtype.kind == "O" else (value.dtype, value.tobytes())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_gives_what_onnxruntime_gives(name: str) -> None:
    data, feeds = MODELS[name]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    wanted = ort.InferenceSession(data, options).run(None, feeds)
    first = None
    for execution in EXECUTIONS:
        for threads in (1, 2, 7):
            options = scanloom.SessionOptions(execution=execution, threads=threads)
            results = scanloom.InferenceSession(data, options).run(None, feeds)
            alike(results, wanted)
            first = first or bits(results)
            assert bits(results) == first, (execution, threads)


@pytest.mark.parametrize("seed", range(4))
def test_nodes_of_trees_may_have_any_numbers_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(8)
    rows = classical_models.nodes()
    leaves = classical_models.weights("target", 1, -0.5)
    for name in ("nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "target_nodeids"):
        numbers = rows if name in rows else leaves
        numbers[name] = [7 * node + 3 for node in numbers[name]]
    for numbers, name in ((rows, "nodes_treeids"), (leaves, "target_treeids")):
        numbers[name] = [5 - 3 * tree for tree in numbers[name]]
    rows = {name: [values[i] for i in order] for name, values in rows.items()}
    data, feeds = model("TreeEnsembleRegressor", X, **rows, **leaves, n_targets=1)
    plain, _ = model("TreeEnsembleRegressor", X, **classical_models.nodes(),
                     **classical_models.weights("target", 1, -0.5), n_targets=1)  # fmt: skip
    (result,) = scanloom.InferenceSession(data).run(None, feeds)
    (wanted,) = ort.InferenceSession(plain).run(None, feeds)
    alike(result, wanted)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linear-left-over-regressor",
         "'coefficients' has 5 entries for 1 target of 3 features, which need 3: the others are ignored"),
        ("linear-left-over-classifier",
         "'coefficients' has 12 entries for 3 scores of 3 features, which need 9: the others are"),
    ],
)  # fmt: skip
def test_coefficients_that_are_left_over_are_told(name: str, words: str) -> None:
    with pytest.warns(scanloom.ModelWarning, match=words):
        session = scanloom.InferenceSession(MODELS[name].data)
    assert any(words in warning for warning in session.warnings())


def test_the_model_of_flowers_that_onnxruntime_brings() -> None:
    # Importing onnxruntime.datasets would change what onnxruntime has for tests of its names.
    path = pathlib.Path(ort.__file__).parent / "datasets" / "logreg_iris.onnx"  # of 2 features, with coefficients for 4
    x = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)
    with pytest.warns(scanloom.ModelWarning, match="12 entries"):
        ours = scanloom.InferenceSession(path)
    alike(ours.run(None, {"float_input": x}), ort.InferenceSession(path).run(None, {"float_input": x}))


ONE_OF_EACH = {
    "CastMap": "maps-cast-TO_FLOAT",
    "CategoryMapper": "features-categories-strings",
    "DictVectorizer": "maps-dictionary",
    "FeatureVectorizer": "features-vectorizer",
    "LinearClassifier": "linear-two-scores-LOGISTIC",
    "OneHotEncoder": "features-one-hot-strings",
    "SVMClassifier": "support_vectors-classifier-RBF-3-3-NONE",
    "SVMRegressor": "support_vectors-regressor-RBF-3",
    "TreeEnsembleClassifier": "tree_classifiers-3-mixed-SOFTMAX",
    "TreeEnsembleRegressor": "tree_regressors-SUM-3",
    "ZipMap": "features-zip-strings",
}
# Version 5 deprecates these and leaves them as they are in version 3; onnxruntime refuses it.
DEPRECATED_IN_5 = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")


@pytest.mark.parametrize(
    ("op", "version"), [(op, version) for op in ONE_OF_EACH for version in VERSIONS[op, ML]]
)
def test_every_version_gives_what_onnxruntime_gives(op: str, version: int) -> None:
    data, feeds = MODELS[ONE_OF_EACH[op]]
    proto = onnx.load_from_string(data)
    assert [node.op_type for node in proto.graph.node] == [op]
    (opset,) = (opset for opset in proto.opset_import if opset.domain == ML)

    def at(number: int) -> bytes:
        opset.version = number
        return proto.SerializeToString()

    theirs = 3 if version == 5 and op in DEPRECATED_IN_5 else version
    wanted = ort.InferenceSession(at(theirs)).run(None, feeds)
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(at(version), execution=execution)
        assert session.warnings() == []
        alike(session.run(None, feeds), wanted)


@pytest.mark.parametrize("name", [name for name, _, _ in classical_models.others()])
def test_what_onnxruntime_cannot_run(name: str) -> None:
    found = {name: (made, wanted) for name, made, wanted in classical_models.others()}
    (data, feeds), wanted = found[name]
    if isinstance(wanted, tuple):  # the same model of another type
        op, fed, attributes = wanted
        other = model(op, fed, **attributes)
        (wanted,) = scanloom.InferenceSession(other.data).run(None, other.feeds)
    alike(scanloom.InferenceSession(data).run(None, feeds), [wanted])


def test_types_of_maps_are_those_of_onnxruntime() -> None:
    for name in ("features-zip-strings", "features-zip-integers", "maps-dictionary",
                 "maps-cast-TO_FLOAT"):  # fmt: skip
        ours = scanloom.InferenceSession(MODELS[name].data)
        theirs = ort.InferenceSession(MODELS[name].data)
        for mine, other in ((ours.get_inputs(), theirs.get_inputs()),
                            (ours.get_outputs(), theirs.get_outputs())):  # fmt: skip
            assert [arg.type for arg in mine] == [arg.type for arg in other]


def test_feeds_of_maps_are_checked() -> None:
    data, _ = MODELS["maps-dictionary"]
    session = scanloom.InferenceSession(data)
    with pytest.raises(scanloom.Error, match="must be a dict for a map"):
        session.run(None, {"x0": [1.0]})
    with pytest.raises(scanloom.Error, match="keys of x0"):
        session.run(None, {"x0": {3: 1.0}})
    assert session.run(None, {"x0": {}})[0].tolist() == [[0, 0, 0]]


def test_a_category_that_is_unknown() -> None:
    data, feeds = model("OneHotEncoder", np.array(["a", "?"], object), zeros=0, cats_strings=["a"])
    with pytest.raises(scanloom.Error, match="outside"):
        scanloom.InferenceSession(data).run(None, feeds)


def tree(**changes: Any) -> dict[str, Any]:
    given = {**classical_models.nodes(), **classical_models.weights("target", 1, 0.0)}
    return {**given, "n_targets": 1, **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes_truenodeids": [1, 1, 0, 0, 0, 2, 0, 0]}, "leads back to itself"),
        ({"nodes_truenodeids": [9, 3, 0, 0, 0, 2, 0, 0]}, "tree 0 has no node 9"),
        ({"nodes_truenodeids": [-1, 3, 0, 0, 0, 2, 0, 0]}, "tree 0 has no node -1"),
        ({"nodes_nodeids": [0, 1, 2, 3, 3, 0, 1, 2]}, "node 3 of tree 0 is described twice"),
        ({"nodes_modes": ["BRANCH_LIKE"] * 8}, "unknown mode 'BRANCH_LIKE'"),
        ({"nodes_values": [0.0]}, "'nodes_values' has 1 entry, but 8 are needed"),
        ({"target_ids": [0, 0, 0, 0, 4]}, "has 4, but there is 1"),
        ({"nodes_featureids": [0, 2, 0, 0, 0, -1, 0, 0]}, "tests feature -1"),
        ({"nodes_featureids": [0, 2**40, 0, 0, 0, 1, 0, 0]}, "tests feature 1099511627776"),
        ({"aggregate_function": "MEDIAN"}, "'aggregate_function' is 'MEDIAN'"),
        ({"post_transform": "TANH"}, "'post_transform' is 'TANH'"),
        ({"base_values": [1.0, 2.0]}, "'base_values' has 2 entries, but 1 is needed"),
        ({"n_targets": 0}, "there are 0"),
    ],
)
def test_broken_trees(changes: dict[str, Any], words: str) -> None:
    refused("TreeEnsembleRegressor", [X], words, opset=3, domain=ML, **tree(**changes))


def test_a_feature_that_a_row_lacks() -> None:
    words = "tests feature 2, but x has 2"
    refused("TreeEnsembleRegressor", [X[:, :2]], words, opset=3, domain=ML, **tree())


@pytest.mark.parametrize(
    ("op", "words", "attributes"),
    [
        ("SVMRegressor", "12 entries for 5 support vectors",
         {"support_vectors": [0.0] * 12, "n_supports": 5, "coefficients": [1.0], "rho": [0.0]}),
        ("SVMRegressor", "'rho' is missing", {"coefficients": [1.0] * 3}),
        ("SVMRegressor", "'kernel_type' is 'TREE'",
         {"coefficients": [1.0] * 3, "rho": [0.0], "kernel_type": "TREE"}),
        ("SVMClassifier", "'rho' has 1 entry, but 3 are needed",
         {"support_vectors": [0.0] * 9, "vectors_per_class": [1, 1, 1], "coefficients": [0.0] * 6,
          "rho": [0.0], "classlabels_ints": [0, 1, 2]}),
        ("SVMClassifier", "are both missing", {"coefficients": [0.0] * 6, "rho": [0.0]}),
        ("LinearClassifier", "4 entries for 3 scores",
         {"coefficients": [0.0] * 4, "intercepts": [0.0] * 3, "classlabels_ints": [0, 1, 2]}),
        ("ZipMap", "has 3 columns for 2 labels", {"classlabels_int64s": [0, 1]}),
        ("OneHotEncoder", "is float, but the categories are strings", {"cats_strings": ["a"]}),
        ("DictVectorizer", "is not a map", {"string_vocabulary": ["a"]}),
        ("FeatureVectorizer", "'inputdimensions' has 2 entries, but 1 is needed",
         {"inputdimensions": [1, 2]}),
    ],
)  # fmt: skip
def test_broken_models(op: str, words: str, attributes: dict[str, Any]) -> None:
    outputs = 2 if "Classifier" in op else 1
    refused(op, [X], words, outputs, opset=3, domain=ML, **attributes)


def test_trees_and_lines_in_the_body_of_a_scan() -> None:
    steps = np.random.default_rng(3).standard_normal((5, 4, 3)).astype(np.float32)
    body = helper.make_graph(
        [
            helper.make_node("TreeEnsembleRegressor", ["x"], ["trees"], domain=ML, **tree()),
            helper.make_node(
                "LinearRegressor", ["x"], ["line"], domain=ML, coefficients=[0.5, -1.0, 0.25]
            ),
            helper.make_node("Add", ["trees", "line"], ["score"]),
            helper.make_node("Add", ["state", "score"], ["next"]),
            helper.make_node("Identity", ["next"], ["row"]),
        ],
        "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
         for name, sizes in (("state", [4, 1]), ("x", [4, 3]))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 1]) for name in ("next", "row")],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Scan", ["start", "xs"], ["last", "all"], body=body, num_scan_inputs=1)],
        "scan",
        [helper.make_tensor_value_info("start", TensorProto.FLOAT, [4, 1]),
         helper.make_tensor_value_info("xs", TensorProto.FLOAT, ["T", 4, 3])],
        [ValueInfoProto(name="last"), ValueInfoProto(name="all")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    data = proto.SerializeToString()
    feeds = {"start": np.zeros((4, 1), np.float32), "xs": steps}
    wanted = ort.InferenceSession(data).run(None, feeds)
    first = None
    for execution in EXECUTIONS:
        options = scanloom.SessionOptions(execution=execution)
        results = scanloom.InferenceSession(data, options).run(None, feeds)
        alike(results, wanted)
        first = first or bits(results)
        assert bits(results) == first, execution


@pytest.mark.parametrize(
    "name",
    ["support_vectors-regressor-RBF-3", "support_vectors-regressor-POLY-2",
     "linear-two-scores-LOGISTIC", "linear-two-SOFTMAX", "tree_regressors-SUM-1"],
)  # fmt: skip
def test_gradients(name: str) -> None:
    data, _ = MODELS[name]
    expressions = scanloom.from_onnx(data)
    (x,) = expressions.inputs.values()
    y = list(expressions.outputs.values())[-1]
    scale = np.random.default_rng(1).standard_normal(y.ndim and (13, 3)).astype(np.float32)
    at = X.astype(np.float32)
    value = scanloom.function([x], y)
    weights = scale[:, : value(at).shape[1]]
    slope = scanloom.function([x], scanloom.grad((y * weights).sum(), x))(at)
    if name.startswith("tree"):
        assert not slope.any()
        return
    step = np.float32(1 / 64)
    for column in range(3):
        moved = np.zeros_like(at)
        moved[:, column] = step
        change = ((value(at + moved) - value(at - moved)) * weights).sum(1) / (2 * step)
        np.testing.assert_allclose(slope[:, column], change, rtol=0.02, atol=0.005)


@pytest.mark.parametrize(
    "name",
    ["tree_regressors-SUM-3", "tree_regressors-MIN-1", "tree_regressors-EQ-1",
     "tree_regressors-GT-0", "tree_classifiers-3-mixed-SOFTMAX", "features-zip-strings",
     "maps-dictionary", "maps-dictionary-of-integers", "maps-cast-TO_FLOAT", "linear-two-NONE",
     "tree_regressors-float64",
     "support_vectors-classifier-RBF-3-3-NONE"],
)  # fmt: skip
def test_models_are_written_back(name: str, tmp_path: Any) -> None:
    data, feeds = MODELS[name]
    wanted = scanloom.InferenceSession(data).run(None, feeds)
    scanloom.convert(data, tmp_path / "again.onnx")
    alike(scanloom.InferenceSession(str(tmp_path / "again.onnx")).run(None, feeds), wanted)
    alike(ort.InferenceSession(str(tmp_path / "again.onnx")).run(None, feeds), wanted)


def trees_of_both_types(weights: int) -> onnx.ModelProto:
    """The trees of a model of f32 and those of a model of f64, in one model. Leaves have so many
    weights."""
    small = onnx.load_from_string(MODELS[f"tree_regressors-SUM-{weights}"].data)
    large = onnx.load_from_string(MODELS["tree_regressors-float64"].data)
    both = onnx.compose.add_prefix(small, "small_")
    added = onnx.compose.add_prefix(large, "large_").graph
    for part in ("node", "input", "output"):
        getattr(both.graph, part).extend(getattr(added, part))
    return both


@pytest.mark.parametrize("weights", [1, 3])
def test_trees_of_both_types_are_written_for_onnxruntime(weights: int, tmp_path: Any) -> None:
    data = trees_of_both_types(weights).SerializeToString()
    fed = {"small_x0": X, "large_x0": (X * 3).astype(np.float64)}
    wanted = scanloom.InferenceSession(data).run(None, fed)
    path = tmp_path / "again.onnx"
    scanloom.convert(data, path)
    written = onnx.load(path)
    assert {opset.version for opset in written.opset_import if opset.domain == ML} == {5}
    assert {node.op_type for node in written.graph.node if node.domain == ML} == {"TreeEnsemble"}
    alike(scanloom.InferenceSession(path).run(None, fed), wanted)
    alike(ort.InferenceSession(str(path)).run(None, fed), wanted)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_leaves_with_several_weights_are_written_in_f64(aggregate: str, tmp_path: Any) -> None:
    attributes = {**classical_models.nodes(), **classical_models.weights("target", 2, -0.5)}
    for name in ("nodes_values", "target_weights"):
        values = np.array(attributes.pop(name), np.float64)
        attributes[f"{name}_as_tensor"] = onnx.numpy_helper.from_array(values, name)
    fed = X.astype(np.float64)
    data, feeds = model(
        "TreeEnsembleRegressor", fed, n_targets=2, aggregate_function=aggregate, **attributes
    )
    wanted = scanloom.InferenceSession(data).run(None, feeds)
    scanloom.convert(data, tmp_path / "again.onnx")
    alike(scanloom.InferenceSession(tmp_path / "again.onnx").run(None, feeds), wanted)
    alike(ort.InferenceSession(str(tmp_path / "again.onnx")).run(None, feeds), wanted)


@pytest.mark.parametrize(
    ("name", "words"),
    [("support_vectors-classifier-RBF-3-3-chances", "pairwise_coupling")],
)
def test_models_that_cannot_be_written(name: str, words: str, tmp_path: Any) -> None:
    with pytest.raises(scanloom.Error, match=words):
        scanloom.convert(MODELS[name].data, tmp_path / "again.onnx")
    with pytest.raises(scanloom.Error, match="cannot be written|no equivalent|has no"):
        scanloom.convert(MODELS[name].data, tmp_path / "again.xml")
