"""Every estimator of scikit-learn that skl2onnx converts, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import scikit_models
from skl2onnx import convert_sklearn

import scanloom

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = {**scikit_models.plain_estimators(), **scikit_models.composed_estimators()}

# The newest that skl2onnx knows converters for.
OPSETS = {"": 21, "ai.onnx.ml": 3}

# Cases that cannot be compared, and why.
_MIXED = "skl2onnx mixes float and double in its result, which onnxruntime refuses"
_MISSING = "onnxruntime does not have the operator for double"
_NO_OPTION = "skl2onnx has no such option for it"
_UNSIGNED = "skl2onnx 1.20 writes unsigned attributes, which onnx 1.23 refuses"
SKIPPED: dict[str, str] = {
    "AdaBoostRegressor-double": _MIXED,
    "BayesianGaussianMixture-double": "skl2onnx fails on the option of its precision",
    "DecisionTreeRegressor-double": _MIXED,
    "ExtraTreeRegressor-double": _MIXED,
    "ExtraTreesRegressor-double": _MIXED,
    "GaussianMixture-double": "skl2onnx fails on the option of its precision",
    "GaussianProcessClassifier-2": "onnxruntime has no Solve, which skl2onnx writes",
    "GaussianProcessClassifier-3": "skl2onnx converts it for two classes only",
    "GaussianProcessClassifier-columns": _NO_OPTION,
    "GaussianProcessClassifier-integer-maps": "onnxruntime has no Solve, which skl2onnx writes",
    "GaussianProcessClassifier-maps": "skl2onnx converts it for two classes only",
    "GradientBoostingRegressor-double": _MIXED,
    "HistGradientBoostingClassifier-2": _UNSIGNED,
    "HistGradientBoostingClassifier-3": _UNSIGNED,
    "HistGradientBoostingClassifier-columns": _UNSIGNED,
    "HistGradientBoostingClassifier-integer-maps": _UNSIGNED,
    "HistGradientBoostingClassifier-maps": _UNSIGNED,
    "HistGradientBoostingClassifier-raw": _UNSIGNED,
    "HistGradientBoostingRegressor": _UNSIGNED,
    "HistGradientBoostingRegressor-double": _UNSIGNED,
    "IsolationForest-double": _MIXED,
    "KBinsDiscretizer-double": _MIXED,
    "KNNImputer-double": "skl2onnx converts it for float only",
    "KNeighborsClassifier-two-outputs": "skl2onnx declares sizes that onnxruntime refuses",
    "LinearSVC-columns": _NO_OPTION,
    "LinearSVC-integer-maps": _NO_OPTION,
    "LinearSVC-maps": _NO_OPTION,
    "LinearSVC-raw": _NO_OPTION,
    "NuSVR-double": _MISSING,
    "OneClassSVM-double": _MISSING,
    "PolynomialFeatures-double": _MIXED,
    "PowerTransformer-double": _MIXED,
    "QuadraticDiscriminantAnalysis-raw": _NO_OPTION,
    "RandomForestRegressor-double": _MIXED,
    "SVR-double": _MISSING,
    "SimpleImputer-double": _MISSING,
}


def converted(case: scikit_models.Case) -> bytes:
    options = case.options
    if options and isinstance(next(iter(options)), str):
        options = {id(case.model): options}
    proto = convert_sklearn(
        case.model, initial_types=case.types, options=options or None, target_opset=OPSETS
    )
    return bytes(proto.SerializeToString())


def by_onnxruntime(data: bytes, feeds: dict[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return list(ort.InferenceSession(data, options).run(None, feeds))


def agree(result: Any, wanted: Any, double: bool) -> None:
    if isinstance(wanted, list):
        assert len(result) == len(wanted)
        for one, other in zip(result, wanted):
            agree(one, other, double)
    elif isinstance(wanted, dict):
        assert list(result) == list(wanted)
        agree(np.array(list(result.values())), np.array(list(wanted.values())), double)
    elif wanted.dtype.kind in "OUST":
        assert result.tolist() == wanted.tolist()
    else:
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        tolerance = 1e-9 if double and wanted.dtype == np.float64 else 2e-4
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(CASES))
def test_gives_what_onnxruntime_gives(name: str) -> None:
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    case = CASES[name]()
    data = converted(case)
    wanted = by_onnxruntime(data, case.feeds)
    results = scanloom.InferenceSession(data).run(None, case.feeds)
    agree(results, wanted, "double" in name)
