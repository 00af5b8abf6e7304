"""Operators of ai.onnx.ml that are arithmetic, against numpy."""

import numpy as np
import onnx
import pytest
from single_node import close, randoms, refused, run

# Machine learning.

ML = "ai.onnx.ml"


def test_binarizer_and_scaler():
    x = randoms(3, 4)
    (result,) = run("Binarizer", [x], opset=3, domain=ML, threshold=0.25)
    close(result, (x > 0.25).astype(np.float32))
    attributes = {"offset": [0.5, 1.0, -1.0, 2.0], "scale": [2.0, 3.0, 0.5, 1.0]}
    (result,) = run("Scaler", [x], opset=3, domain=ML, **attributes)
    close(result, ((x - attributes["offset"]) * attributes["scale"]).astype(np.float32))


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm):
    x = np.abs(randoms(3, 4))
    x[1] = 0
    divisor = {"MAX": x.max(1), "L1": x.sum(1), "L2": np.sqrt((x**2).sum(1))}[norm][:, None]
    (result,) = run("Normalizer", [x], opset=3, domain=ML, norm=norm)
    close(result, np.where(divisor == 0, x, x / np.where(divisor == 0, 1, divisor)))


def test_imputer():
    x = np.array([[1, np.nan], [np.nan, 4]], np.float32)
    attributes = {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": float("nan")}
    (result,) = run("Imputer", [x], opset=3, domain=ML, **attributes)
    assert result.tolist() == [[1, 8], [7, 4]]
    attributes = {"imputed_value_int64s": [9], "replaced_value_int64": 2}
    (result,) = run("Imputer", [np.array([[1, 2], [2, 3]])], opset=3, domain=ML, **attributes)
    assert result.tolist() == [[1, 9], [9, 3]]


def test_label_encoder():
    attributes = {"keys_int64s": [3, 5, 3], "values_floats": [0.5, 1.5, 2.5]}
    (result,) = run("LabelEncoder", [np.array([[3, 4], [5, 3]])], opset=4, domain=ML, **attributes)
    assert result.tolist() == [[2.5, 0.0], [1.5, 2.5]]
    attributes = {"keys_floats": [float("nan"), 1.0], "values_int64s": [10, 20]}
    x = np.array([1, np.nan, 2], np.float32)
    (result,) = run("LabelEncoder", [x], opset=4, domain=ML, default_int64=-3, **attributes)
    assert result.tolist() == [20, 10, -3]


def test_linear_regressor():
    x, weights = randoms(3, 4), randoms(2, 4, seed=1)
    attributes = {"targets": 2, "coefficients": weights.reshape(-1).tolist()}
    (result,) = run("LinearRegressor", [x], opset=1, domain=ML, intercepts=[1.0, 2.0], **attributes)
    close(result, (x @ weights.T + [1, 2]).astype(np.float32))
    attributes["targets"] = 3
    refused("LinearRegressor", [x], "8 entries for 3 targets", opset=1, domain=ML, **attributes)


def trees(**changes):
    """Two trees over two features; leaves 0 to 4."""
    tensor = onnx.numpy_helper.from_array
    attributes = {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 1],
        "nodes_splits": tensor(np.array([0.5, -1, 0], np.float32)),
        "nodes_modes": tensor(np.array([0, 3, 1], np.uint8)),
        "nodes_truenodeids": [1, 1, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [0, 2, 4],
        "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": [0, 1, 0, 1, 0],
        "leaf_weights": tensor(np.array([1, 2, 4, 8, 16], np.float32)),
    }
    return {**attributes, **changes}


def test_tree_ensemble():
    x = np.array([[0, 0], [0, -2], [1, -2], [np.nan, 3]], np.float32)
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees())
    # Leaves: (1, 4), (2, 3), (0, 3), (0, 4).
    assert result.tolist() == [[16, 2], [4, 8], [1, 8], [17, 0]]
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees(aggregate_function=0))
    assert result.tolist() == [[8, 1], [2, 4], [0.5, 4], [8.5, 0]]
    tracks = trees(nodes_missing_value_tracks_true=[1, 0, 0])
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **tracks)
    assert result[3].tolist() == [16, 2]


def test_tree_ensemble_members():
    members = onnx.numpy_helper.from_array(np.array([3, 5, np.nan], np.float32))
    modes = onnx.numpy_helper.from_array(np.array([6, 3, 1], np.uint8))
    changes = {"nodes_modes": modes, "membership_values": members}
    x = np.array([[3, 0], [4, 0], [5, 0]], np.float32)
    (result,) = run("TreeEnsemble", [x], opset=5, domain=ML, **trees(**changes))
    assert result.tolist() == [[16, 2], [17, 0], [16, 2]]


def test_tree_ensemble_errors():
    x = randoms(2, 2)

    def broken(words, **changes):
        refused("TreeEnsemble", [x], words, opset=5, domain=ML, **trees(**changes))

    broken("leads back to itself", nodes_truenodeids=[0, 1, 3])
    broken("leads to leaf 9, but there are 5", nodes_falsenodeids=[0, 9, 4])
    broken("node 7, but there are 3", tree_roots=[7])
    broken("target 4, but there are 2", leaf_targetids=[0, 1, 0, 1, 4])
    broken("'nodes_trueleafs' has 2 entries, but 3 are needed", nodes_trueleafs=[0, 1])
    broken("tests feature 9, but x has 2", nodes_featureids=[0, 1, 9])
