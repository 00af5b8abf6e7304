"""Boosted trees of LightGBM, XGBoost and CatBoost, fitted to small random data, through onnxmltools
and CatBoost's own exporter. Needs lightgbm, xgboost, catboost and onnxmltools."""

import catboost
import lightgbm
import numpy as np
import onnxmltools
import xgboost
from _making import make_all
from onnxmltools.convert.common.data_types import FloatTensorType

ROWS, COLUMNS, ASKED = 400, 12, 64
TREES = {"n_estimators": 60, "max_depth": 6, "random_state": 1}


def data(classes):
    """Rows and their classes, or numbers for 0 classes."""
    generator = np.random.default_rng(5)
    x = generator.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    return x, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if classes else y


def results(model, x, classes):
    """Numbers; or the classes, and the probabilities."""
    if not classes:
        return [model.predict(x).astype(np.float32).reshape(-1, 1)]
    return [model.predict(x).astype(np.int64).reshape(-1),
            model.predict_proba(x).astype(np.float32)]


def converted(convert, model, classes, **options):
    def make(path):
        x, y = data(classes)
        model.fit(x, y)
        made = convert(model, initial_types=[("x", FloatTensorType([None, COLUMNS]))], **options)
        path.write_bytes(made.SerializeToString())
        return {"x": x[:ASKED]}, results(model, x[:ASKED], classes)

    return make


def by_lightgbm(kind, classes, **options):
    model = kind(verbose=-1, **TREES)
    return converted(onnxmltools.convert_lightgbm, model, classes,
                     **({"zipmap": False} if classes else {}), **options)


def by_xgboost(kind, classes):
    return converted(onnxmltools.convert_xgboost, kind(**TREES), classes)


def by_catboost(kind, classes):
    """CatBoost writes the probabilities of a class as a sequence of maps."""

    def make(path):
        x, y = data(classes)
        model = kind(iterations=60, depth=6, random_seed=1, verbose=False,
                     allow_writing_files=False)
        model.fit(x, y)
        model.save_model(str(path), format="onnx")
        expected = results(model, x[:ASKED], classes)
        return {"features": x[:ASKED]}, None if classes else expected

    return make


MODELS = {
    "lightgbm_regression": by_lightgbm(lightgbm.LGBMRegressor, 0),
    "lightgbm_split": by_lightgbm(lightgbm.LGBMRegressor, 0, split=20),
    "lightgbm_two_classes": by_lightgbm(lightgbm.LGBMClassifier, 2),
    "lightgbm_four_classes": by_lightgbm(lightgbm.LGBMClassifier, 4),
    "xgboost_regression": by_xgboost(xgboost.XGBRegressor, 0),
    "xgboost_two_classes": by_xgboost(xgboost.XGBClassifier, 2),
    "xgboost_four_classes": by_xgboost(xgboost.XGBClassifier, 4),
    "catboost_regression": by_catboost(catboost.CatBoostRegressor, 0),
    "catboost_two_classes": by_catboost(catboost.CatBoostClassifier, 2),
    "catboost_four_classes": by_catboost(catboost.CatBoostClassifier, 4),
}

if __name__ == "__main__":
    make_all(MODELS)
