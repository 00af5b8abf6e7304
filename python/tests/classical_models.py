"""Small models of one operator of ai.onnx.ml, by name, with feeds."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

ML = "ai.onnx.ml"
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
X = np.random.default_rng(5).standard_normal((13, 3)).astype(np.float32)


class Model(NamedTuple):
    data: bytes
    feeds: dict[str, Any]


def model(
    op: str,
    feed: Any,
    outputs: int = 1,
    kind: Any = None,
    opset: int = 3,
    domain: str = ML,
    **attributes: Any,
) -> Model:
    """A model of one node. `kind` is the type of the input, if it is not that of an array."""
    names = [f"y{i}" for i in range(outputs)]
    feeds = feed if isinstance(feed, list) else [feed]
    node = helper.make_node(
        op, [f"x{i}" for i in range(len(feeds))], names, domain=domain, **attributes
    )
    inputs = []
    for i, value in enumerate(feeds):
        if kind is not None:
            inputs.append(helper.make_value_info(f"x{i}", kind))
            continue
        text = value.dtype.kind in "OUST"
        element = TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(value.dtype)
        sizes = [f"n{i}_{axis}" for axis in range(value.ndim)]
        inputs.append(helper.make_tensor_value_info(f"x{i}", element, sizes))
    graph = helper.make_graph([node], op, inputs, [ValueInfoProto(name=name) for name in names])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, opset)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return Model(proto.SerializeToString(), {f"x{i}": value for i, value in enumerate(feeds)})


# Trees.


def nodes(modes: str = "BRANCH_LEQ") -> dict[str, Any]:
    """Two trees of three features: one with two inner nodes, and one with a single node."""
    return {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 2, 0, 0, 0, 1, 0, 0],
        "nodes_modes": [modes, modes, "LEAF", "LEAF", "LEAF", modes, "LEAF", "LEAF"],
        "nodes_values": [0.25, -0.5, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 2, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 1, 0, 0],
    }


LEAVES = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]  # tree, node


def weights(
    what: str, targets: int, low: float, only: Any = None, seed: int = 0
) -> dict[str, Any]:
    """Random weights, from `low` on, of all leaves: for all targets, or for one only."""
    rng = np.random.default_rng(seed)
    rows = [
        (tree, node, target, float(np.float32(rng.uniform(low, low + 1))))
        for tree, node in LEAVES
        for target in ([only] if only is not None else range(targets))
    ]
    return {
        f"{what}_treeids": [row[0] for row in rows],
        f"{what}_nodeids": [row[1] for row in rows],
        f"{what}_ids": [row[2] for row in rows],
        f"{what}_weights": [row[3] for row in rows],
    }


def tree_regressors() -> Iterator[tuple[str, Model]]:
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for targets in (1, 3):
            attributes = {**nodes(), **weights("target", targets, -0.5), "n_targets": targets}
            attributes["aggregate_function"] = aggregate
            yield f"{aggregate}-{targets}", model("TreeEnsembleRegressor", X, **attributes)
            attributes["base_values"] = [0.5, 0.25, -1.0][:targets]
            yield f"{aggregate}-{targets}-base", model("TreeEnsembleRegressor", X, **attributes)
    for transform in TRANSFORMS:
        for targets in (1, 2):
            # Averages of these weights are probabilities, for which PROBIT is defined.
            attributes = {**nodes(), **weights("target", targets, 0.0), "n_targets": targets}
            attributes["aggregate_function"] = "AVERAGE"
            attributes["post_transform"] = transform
            yield f"{transform}-{targets}", model("TreeEnsembleRegressor", X, **attributes)
    x = np.concatenate([X, [[0.25, 0.1, -0.5], [np.nan, 0, 0], [0, np.nan, np.nan]]])
    for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"):
        for missing in (0, 1):
            attributes = {**nodes(f"BRANCH_{mode}"), **weights("target", 1, -0.5), "n_targets": 1}
            attributes["nodes_missing_value_tracks_true"] = [missing] * 8
            fed = x.astype(np.float32)
            yield f"{mode}-{missing}", model("TreeEnsembleRegressor", fed, **attributes)
    attributes = {**nodes(), **weights("target", 2, -0.5), "n_targets": 2}
    for name in ("nodes_values", "target_weights"):
        values = np.array(attributes.pop(name), np.float64) + 1e-9
        attributes[f"{name}_as_tensor"] = numpy_helper.from_array(values, name)
    fed = (X * 3).astype(np.float64)
    yield "float64", model("TreeEnsembleRegressor", fed, **attributes)
    attributes = {**nodes(), **weights("target", 1, -0.5), "n_targets": 1, "opset": 1}
    yield "version-1", model("TreeEnsembleRegressor", X, **attributes)


def tree_classifiers() -> Iterator[tuple[str, Model]]:
    def made(labels: list[Any], **attributes: Any) -> Model:
        kind = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
        return model("TreeEnsembleClassifier", X, 2, **{**nodes(), kind: labels, **attributes})

    for transform in TRANSFORMS[:-1]:
        for low in (0.05, -0.6):
            sign = "positive" if low > 0 else "mixed"
            for only in (0, 1, None):
                for base in (None, [0.1], [0.1, 0.25]):
                    attributes = weights("class", 2, low, only)
                    attributes["post_transform"] = transform
                    if base is not None:
                        attributes["base_values"] = base
                    name = f"2-{sign}-{only}-{len(base or [])}-{transform}"
                    yield name, made([0, 1], **attributes)
            attributes = {**weights("class", 3, low), "post_transform": transform}
            yield f"3-{sign}-{transform}", made(["a", "b", "c"], **attributes)
            attributes["base_values"] = [0.5, 0.25, -0.5]
            yield f"3-{sign}-{transform}-base", made([7, 5, 3], **attributes)
    yield "2-strings", made(["no", "yes"], **weights("class", 2, 0.05, 0))
    yield "2-numbers", made([4, 9], **weights("class", 2, -0.6, 1))


# Lines and support vectors.


def sized(made: Model) -> Model:
    """The model with the sizes of the feeds instead of symbols."""
    proto = onnx.load_from_string(made.data)
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, made.feeds[value.name].shape):
            dim.dim_value = size
    return Model(proto.SerializeToString(), made.feeds)


def plane_of(features: int, targets: int) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {
        "coefficients": rng.standard_normal(features * targets).astype(np.float32).tolist(),
        "intercepts": rng.standard_normal(targets).astype(np.float32).tolist(),
    }


def linear() -> Iterator[tuple[str, Model]]:
    line = {"coefficients": [0.3, -0.2, 0.5], "intercepts": [0.1]}
    plane = {"coefficients": [0.3, -0.2, 0.5, 0.1, 0.4, -0.6], "intercepts": [0.1, -0.2]}
    for transform in TRANSFORMS[:-1]:
        given = {"post_transform": transform}
        yield f"one-{transform}", model("LinearRegressor", X, **line, **given)
        yield f"two-{transform}", model("LinearRegressor", X, targets=2, **plane, **given)
        labels = {"classlabels_ints": [5, 7], **given}
        yield f"one-score-{transform}", model("LinearClassifier", X, 2, **line, **labels)
        yield f"two-scores-{transform}", model("LinearClassifier", X, 2, **plane, **labels)
    # Coefficients of features that the rows do not have.
    yield "left-over-regressor", sized(model("LinearRegressor", X, targets=1, **plane_of(5, 1)))
    yield "left-over-classifier", sized(
        model("LinearClassifier", X, 2, classlabels_ints=[3, 1, 2], **plane_of(4, 3)))  # fmt: skip
    for dtype in (np.float64, np.int32, np.int64):
        fed = (X * 3).astype(dtype)
        name = np.dtype(dtype).name
        yield name, model("LinearClassifier", fed, 2, classlabels_strings=["a", "b"], **plane)


def support_vectors() -> Iterator[tuple[str, Model]]:
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((6, 3)).astype(np.float32).ravel().tolist()

    def floats(count: int) -> list[float]:
        return rng.uniform(-1, 1, count).astype(np.float32).tolist()

    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for degree in (2.0, 3.0, 4.0) if kernel == "POLY" else (3.0,):
            common = {"kernel_type": kernel, "kernel_params": [0.5, 0.2, degree],
                      "support_vectors": vectors}  # fmt: skip
            name = f"{kernel}-{degree:.0f}"
            given = {"coefficients": floats(6), "rho": floats(1), "n_supports": 6, **common}
            yield f"regressor-{name}", model("SVMRegressor", X, **given)
            yield f"one-class-{name}", model("SVMRegressor", X, one_class=1, **given)
            for sizes in ([2, 4], [1, 2, 3], [1, 1, 2, 2]):
                count = len(sizes)
                pairs = count * (count - 1) // 2
                given = {"coefficients": floats(6 * (count - 1)), "rho": floats(pairs),
                         "vectors_per_class": sizes, **common}  # fmt: skip
                labels = {"classlabels_ints": list(range(3, 3 + count))}
                for transform in TRANSFORMS[:-1]:
                    given["post_transform"] = transform
                    label = f"classifier-{name}-{count}-{transform}"
                    yield label, model("SVMClassifier", X, 2, **given, **labels)
                given["post_transform"] = "NONE"
                chances = {"prob_a": floats(pairs), "prob_b": floats(pairs)}
                labels = {"classlabels_strings": [f"c{i}" for i in range(count)]}
                yield (
                    f"classifier-{name}-{count}-chances",
                    model("SVMClassifier", X, 2, **given, **chances, **labels),
                )
    for count in (2, 3):
        given = {"coefficients": floats(3 * count), "rho": [0.1], "kernel_params": [0.0, 0.0, 3.0]}
        given["classlabels_ints"] = list(range(count))
        yield f"linear-{count}", model("SVMClassifier", X, 2, **given)


# Features and maps.


def features() -> Iterator[tuple[str, Model]]:
    texts = np.array([["a", "b"], ["c", "?"]], object)
    numbers = np.array([[1, 2], [3, 9]], np.int64)
    hot = {"cats_strings": ["c", "a", "b"]}
    yield "one-hot-strings", model("OneHotEncoder", texts, **hot)
    yield "one-hot-list", model("OneHotEncoder", texts[0], zeros=0, **hot)
    for dtype in (np.int64, np.float32, np.float64):
        fed = (numbers * 1.5).astype(dtype)
        name = f"one-hot-{np.dtype(dtype).name}"
        yield name, model("OneHotEncoder", fed, cats_int64s=[1, 3, 4])
    mapped = {"cats_strings": ["a", "b", "c"], "cats_int64s": [3, 1, 2]}
    yield "categories-strings", model("CategoryMapper", texts, default_int64=-7, **mapped)
    yield "categories-integers", model("CategoryMapper", numbers, default_string="other", **mapped)
    feeds = [X, X[:, :2], X[:, :1]]
    yield "vectorizer", model("FeatureVectorizer", feeds, inputdimensions=[2, 3, 1])
    lines = [(row * 9).astype(np.int64) for row in X[:2]]
    yield "vectorizer-lists", model("FeatureVectorizer", lines, inputdimensions=[3, 5])
    labels = {"classlabels_strings": ["b", "c", "a"]}
    yield "zip-strings", model("ZipMap", X, **labels)
    yield "zip-integers", model("ZipMap", X, classlabels_int64s=[4, 2, 9])
    yield "zip-list", model("ZipMap", X[0], **labels)


def maps() -> Iterator[tuple[str, Model]]:
    def kind(key: int, element: int) -> Any:
        value = helper.make_tensor_type_proto(element, None)
        return helper.make_map_type_proto(key, value)

    text, integer = TensorProto.STRING, TensorProto.INT64
    words = {"b": 2.0, "?": 7.0, "a": 1.5}
    vocabulary = {"string_vocabulary": ["a", "b", "c"]}
    yield "dictionary", model("DictVectorizer", words, kind=kind(text, TensorProto.FLOAT),
                              **vocabulary)  # fmt: skip
    yield "dictionary-of-integers", model(
        "DictVectorizer", {4: 2.0, 1: 7.0}, kind=kind(integer, TensorProto.FLOAT),
        int64_vocabulary=[1, 2, 4])  # fmt: skip
    sparse = {3: 1.5, 0: -2.0, 9: 4.0}
    float_map = kind(integer, TensorProto.FLOAT)
    for cast in ("TO_FLOAT", "TO_INT64"):
        given = {"cast_to": cast}
        yield f"cast-{cast}", model("CastMap", sparse, kind=float_map, **given)
        given.update(map_form="SPARSE", max_map=5)
        yield f"cast-sparse-{cast}", model("CastMap", sparse, kind=float_map, **given)


# Models that onnxruntime cannot run, or not be fed with in Python, and their results.


def others() -> Iterator[tuple[str, Model, Any]]:
    def kind(key: int, element: int) -> Any:
        return helper.make_map_type_proto(key, helper.make_tensor_type_proto(element, None))

    text, integer = TensorProto.STRING, TensorProto.INT64
    vocabulary = {"string_vocabulary": ["a", "b", "c"]}
    yield ("double", model("DictVectorizer", {"b": 2.0, "?": 7.0},
                           kind=kind(text, TensorProto.DOUBLE), **vocabulary),
           np.array([[0.0, 2.0, 0.0]]))  # fmt: skip
    yield ("integers", model("DictVectorizer", {"a": 3, "c": -4}, kind=kind(text, integer),
                             **vocabulary), np.array([[3, 0, -4]]))  # fmt: skip
    yield ("strings", model("DictVectorizer", {2: "two"}, kind=kind(integer, text),
                            int64_vocabulary=[1, 2]), np.array([["", "two"]], object))  # fmt: skip
    named = {3: "7", 0: "-2"}
    texts = kind(integer, text)
    yield ("text-to-float", model("CastMap", named, kind=texts, cast_to="TO_FLOAT"),
           np.array([[-2, 7]], np.float32))  # fmt: skip
    yield ("text-to-integer", model("CastMap", named, kind=texts, cast_to="TO_INT64"),
           np.array([[-2, 7]]))  # fmt: skip
    yield ("text", model("CastMap", named, kind=texts, cast_to="TO_STRING"),
           np.array([["-2", "7"]], object))  # fmt: skip
    feeds = [X, (X[:, :2] * 9).astype(np.int64), X[:, :1].astype(np.float64)]
    zeros = np.zeros((13, 1), np.float32)
    yield ("vectorizer", model("FeatureVectorizer", feeds, inputdimensions=[2, 3, 1]),
           np.concatenate([X[:, :2], feeds[1].astype(np.float32), zeros, X[:, :1]], 1))  # fmt: skip
    given = {**nodes(), **weights("target", 1, -0.5), "n_targets": 1}
    whole = np.round(X * 3)
    for dtype in (np.int32, np.int64):
        trees = model("TreeEnsembleRegressor", whole.astype(dtype), **given)
        yield np.dtype(dtype).name, trees, ("TreeEnsembleRegressor", whole, given)


def all_models() -> dict[str, Model]:
    families = (tree_regressors, tree_classifiers, linear, support_vectors, features, maps)
    return {f"{family.__name__}-{name}": made for family in families for name, made in family()}
