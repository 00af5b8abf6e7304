"""Estimators of scikit-learn, fitted to small random data, through skl2onnx. Needs scikit-learn and
skl2onnx."""

import numpy as np
import skl2onnx
from _making import make_all
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import (
    cluster, decomposition, ensemble, feature_extraction, gaussian_process, linear_model, mixture,
    naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree,
)

ROWS, COLUMNS, ASKED = 300, 10, 50
OPSETS = {"": 18, "ai.onnx.ml": 3}


def data():
    generator = np.random.default_rng(5)
    x = generator.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(np.int64)


def rows(estimator, method):
    """An estimator over rows of numbers; `method` gives its last result."""

    def make(path):
        x, y = data()
        if method == "predict" and hasattr(estimator, "alpha"):
            y = y + x[:, 3]
        estimator.fit(x, y)
        options = {"zipmap": False} if method == "predict_proba" else {}
        write(estimator, FloatTensorType([None, COLUMNS]), options, path)
        expected = [np.asarray(getattr(estimator, method)(x[:ASKED]))]
        if method == "predict_proba":
            expected.insert(0, estimator.predict(x[:ASKED]))
            return {"x": x[:ASKED]}, [expected[0], expected[1].astype(np.float32)]
        return {"x": x[:ASKED]}, None

    return make


def write(estimator, kind, options, path):
    model = skl2onnx.to_onnx(estimator, initial_types=[("x", kind)], target_opset=OPSETS,
                             options={id(estimator): options} if options else None)
    path.write_bytes(model.SerializeToString())


def words(path):
    """Sentences to classes: the only model of the zoo that reads strings."""
    sentences = np.array([["the cat sat on the mat"], ["a dog barked at the cat"],
                          ["rain fell on the hills"], ["the sun shone over hills"]] * 5)
    made = pipeline.make_pipeline(
        feature_extraction.text.TfidfVectorizer(), linear_model.LogisticRegression())
    made.fit(sentences[:, 0], np.array([0, 0, 1, 1] * 5))
    model = skl2onnx.to_onnx(made, initial_types=[("x", StringTensorType([None, 1]))],
                             target_opset=OPSETS, options={id(made): {"zipmap": False}})
    path.write_bytes(model.SerializeToString())
    return {"x": sentences[:4]}, None


MODELS = {
    "logistic_regression": rows(linear_model.LogisticRegression(), "predict_proba"),
    "decision_tree": rows(tree.DecisionTreeClassifier(max_depth=8), "predict_proba"),
    "random_forest": rows(
        ensemble.RandomForestClassifier(50, max_depth=8, random_state=1), "predict_proba"),
    "gradient_boosting": rows(
        ensemble.GradientBoostingClassifier(n_estimators=50, random_state=1), "predict_proba"),
    "hist_gradient_boosting": rows(
        ensemble.HistGradientBoostingClassifier(max_iter=30), "predict_proba"),
    "ada_boost": rows(ensemble.AdaBoostClassifier(n_estimators=10), "predict_proba"),
    "nearest_neighbours": rows(neighbors.KNeighborsClassifier(5), "predict_proba"),
    "naive_bayes": rows(naive_bayes.GaussianNB(), "predict_proba"),
    "perceptron": rows(neural_network.MLPClassifier((32, 16), max_iter=50), "predict_proba"),
    "support_vectors": rows(svm.SVC(probability=False), "predict"),
    "gaussian_process": rows(gaussian_process.GaussianProcessRegressor(alpha=0.1), "predict"),
    "ridge": rows(linear_model.Ridge(), "predict"),
    "k_means": rows(cluster.KMeans(4, n_init=2, random_state=1), "predict"),
    "gaussian_mixture": rows(mixture.GaussianMixture(3, random_state=1), "predict"),
    "isolation_forest": rows(ensemble.IsolationForest(n_estimators=20, random_state=1), "predict"),
    "pca_pipeline": rows(pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(5), linear_model.LogisticRegression()),
        "predict_proba"),
    "words": words,
}

if __name__ == "__main__":
    make_all(MODELS)
