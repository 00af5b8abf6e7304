"""Fitted models of scikit-learn, by name, with data to convert and run them on."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np
from sklearn import (
    calibration,
    compose,
    datasets,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.utils import all_estimators
from skl2onnx._supported_operators import sklearn_operator_name_map
from skl2onnx.common.data_types import (
    DictionaryType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)


class Case(NamedTuple):
    """A model, the feeds of its ONNX form by input, and how to convert it."""

    model: Any
    feeds: dict[str, Any]
    types: list[tuple[str, Any]]
    options: dict[Any, Any] = {}  #: for the model, or by class of estimator


Make = Callable[[], Case]

# Have tests of their own below, because they need other estimators or other data.
COMPOSED = {
    "BaggingClassifier", "BaggingRegressor", "CalibratedClassifierCV", "ColumnTransformer",
    "CountVectorizer", "DictVectorizer", "FeatureHasher", "FeatureUnion", "FunctionTransformer",
    "GridSearchCV", "KernelCenterer", "LabelBinarizer", "LabelEncoder", "MultiOutputClassifier",
    "MultiOutputRegressor", "OneHotEncoder", "OneVsOneClassifier", "OneVsRestClassifier",
    "OrdinalEncoder", "Pipeline", "RFE", "RFECV", "SelectFromModel", "StackingClassifier",
    "StackingRegressor", "TargetEncoder", "TfidfTransformer", "TfidfVectorizer",
    "TunedThresholdClassifierCV", "VotingClassifier", "VotingRegressor",
}  # fmt: skip

# Arguments that make estimators small, or work on this data at all.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "BayesianGaussianMixture": {"n_components": 2},
    "GaussianMixture": {"n_components": 2},
    "GaussianProcessClassifier": {},
    "GaussianRandomProjection": {"n_components": 3},
    "HistGradientBoostingClassifier": {"max_iter": 10},
    "HistGradientBoostingRegressor": {"max_iter": 10},
    "KBinsDiscretizer": {"encode": "ordinal"},
    "KMeans": {"n_clusters": 4},
    "LocalOutlierFactor": {"novelty": True},
    "MiniBatchKMeans": {"n_clusters": 4},
    "MLPClassifier": {"max_iter": 50},
    "MLPRegressor": {"max_iter": 50},
    "NearestNeighbors": {"radius": None},
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.1},
    "QuantileTransformer": {"n_quantiles": 20},
    "RadiusNeighborsClassifier": {"radius": 20.0},
    "RadiusNeighborsRegressor": {"radius": 20.0},
    "SelectFdr": {"alpha": 0.9},
    "SelectFpr": {"alpha": 0.9},
    "SelectFwe": {"alpha": 0.9},
    "SelectKBest": {"k": 3},
}
for _name in (
    "AdaBoostClassifier AdaBoostRegressor ExtraTreesClassifier ExtraTreesRegressor "
    "GradientBoostingClassifier GradientBoostingRegressor IsolationForest RandomForestClassifier "
    "RandomForestRegressor RandomTreesEmbedding"
).split():
    ARGUMENTS[_name] = {"n_estimators": 10}
ARGUMENTS["RandomTreesEmbedding"]["sparse_output"] = False

# Take no negative numbers.
POSITIVE = {"CategoricalNB", "ComplementNB", "MultinomialNB"}
# Targets are positive.
POSITIVE_TARGETS = {"GammaRegressor", "PoissonRegressor", "TweedieRegressor"}


def classes(count: int, strings: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Points of a few classes that overlap."""
    x, y = datasets.make_classification(
        120, 6, n_informative=4, n_redundant=1, n_classes=count, random_state=count
    )
    return x.astype(np.float32), np.array([f"class {i}" for i in y]) if strings else y


def targets(count: int = 1) -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.make_regression(120, 6, n_targets=count, noise=1.0, random_state=count)
    return x.astype(np.float32), (y / 50).astype(np.float64)


def floats(x: np.ndarray, double: bool = False) -> dict[str, Any]:
    kind = DoubleTensorType if double else FloatTensorType
    dtype = np.float64 if double else np.float32
    return {"feeds": {"X": x[:40].astype(dtype)}, "types": [("X", kind([None, x.shape[1]]))]}


def _fitted(name: str, estimator: Any, double: bool, **how: Any) -> Case:
    kind = estimator.__sklearn_tags__().estimator_type
    if kind == "classifier":
        x, y = classes(how.get("classes", 3), how.get("strings", False))
    elif name.startswith("MultiTask") or how.get("targets", 1) > 1:
        x, y = targets(2)
    elif name in ("NeighborhoodComponentsAnalysis", "LinearDiscriminantAnalysis"):
        x, y = classes(3)
    else:
        x, y = targets()
    if name in POSITIVE:
        x = np.floor(np.abs(x) * 2)
    if name in POSITIVE_TARGETS:
        y = np.exp(y / 4)
    if name in ("SelectKBest", "SelectPercentile", "GenericUnivariateSelect", "SelectFdr",
                "SelectFpr", "SelectFwe"):
        x, y = classes(3)
    options = how.get("options", {})
    return Case(estimator.fit(x, y), options=options, **floats(x, double))


def plain_estimators() -> dict[str, Make]:
    """Every estimator that works on a matrix: classifiers of two and of three classes."""
    made: dict[str, Make] = {}
    known = {cls.__name__ for cls in sklearn_operator_name_map}
    for name, cls in all_estimators():
        if name not in known or name in COMPOSED:
            continue
        arguments = dict(ARGUMENTS.get(name, {}))
        if "random_state" in cls().get_params():
            arguments["random_state"] = 0

        def make(how: dict[str, Any], name: str = name, cls: Any = cls,
                 arguments: dict[str, Any] = arguments) -> Case:
            return _fitted(name, cls(**arguments), how.pop("double", False), **how)

        def add(label: str, make: Any = make, **how: Any) -> None:
            made[label] = lambda: make(dict(how))

        if cls().__sklearn_tags__().estimator_type == "classifier":
            add(f"{name}-2", classes=2)
            add(f"{name}-3", classes=3)
            add(f"{name}-maps", classes=3, strings=True, options={"zipmap": True})
            add(f"{name}-integer-maps", classes=2, options={"zipmap": True})
            add(f"{name}-columns", classes=3, options={"zipmap": "columns"})
            if hasattr(cls, "decision_function"):
                add(f"{name}-raw", classes=3, options={"raw_scores": True, "zipmap": False})
        else:
            add(name)
            add(f"{name}-double", double=True)
    return made


def _classifier(estimator: Any, count: int = 3, strings: bool = False, **options: Any) -> Make:
    def make() -> Case:
        x, y = classes(count, strings)
        return Case(estimator.fit(x, y), options=options, **floats(x))

    return make


def _regressor(estimator: Any, count: int = 1, double: bool = False) -> Make:
    def make() -> Case:
        x, y = targets(count)
        return Case(estimator.fit(x, y), **floats(x, double))

    return make


def _two_labels(estimator: Any, **options: Any) -> Make:
    def make() -> Case:
        x, y = classes(3)
        both = np.stack([y, (x[:, 0] > 0).astype(y.dtype)], axis=1)
        return Case(estimator.fit(x, both), options=options, **floats(x))

    return make


def _gram() -> Case:
    x, _ = targets()
    gram = (x @ x.T)[:, :40]
    model = preprocessing.KernelCenterer().fit(gram[:40])
    return Case(model, {"X": gram[:40]}, [("X", FloatTensorType([None, 40]))])


WORDS = np.array(
    ["to be or not to be", "that is the question", "Whether 'tis nobler in the mind", "to suffer",
     "the slings and arrows of outrageous fortune", "or to take arms", "be be be", "x"]
)  # fmt: skip


# onnxruntime only has the locales that the machine has.
LOCALE = {"locale": "C"}


def _texts(model: Any) -> Make:
    def make() -> Case:
        fed = {"X": WORDS.reshape(-1, 1).astype(object)}
        types = [("X", StringTensorType([None, 1]))]
        return Case(model.fit(WORDS), fed, types, {type(model): LOCALE})

    return make


def _text_classifier(vectoriser: Any) -> Make:
    def make() -> Case:
        model = pipeline.make_pipeline(vectoriser, linear_model.LogisticRegression())
        labels = ["short" if len(text) < 20 else "long" for text in WORDS]
        fed = {"X": WORDS.reshape(-1, 1).astype(object)}
        types = [("X", StringTensorType([None, 1]))]
        return Case(model.fit(WORDS, labels), fed, types, {type(vectoriser): LOCALE})

    return make


def _strings(model: Any, columns: int = 2) -> Make:
    def make() -> Case:
        rng = np.random.default_rng(0)
        x = rng.choice(np.array(["red", "green", "blue", "black"]), (40, columns)).astype(object)
        y = rng.integers(0, 2, 40)
        return Case(model.fit(x, y), {"X": x}, [("X", StringTensorType([None, columns]))])

    return make


def _integers(model: Any) -> Make:
    def make() -> Case:
        x = np.random.default_rng(0).integers(0, 4, (40, 3)).astype(np.int64)
        return Case(model.fit(x), {"X": x}, [("X", Int64TensorType([None, 3]))])

    return make


def _dictionaries() -> Case:
    rows = [{"a": 1.0, "b": 2.0}, {"b": 3.0, "c": -1.0}, {"d": 0.5}]
    model = feature_extraction.DictVectorizer().fit(rows)
    return Case(model, {"X": {"c": 4.0, "a": 2.5, "?": 1.0}},
                [("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))])


def _labels(model: Any, labels: np.ndarray, kind: Any) -> Make:
    return lambda: Case(model.fit(labels), {"X": labels}, [("X", kind([None]))])


def _columns() -> Case:
    """A table of numbers with gaps and of categories, as in scikit-learn's examples."""
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal((60, 3)).astype(np.float32)
    numbers[rng.random((60, 3)) < 0.1] = np.nan
    colours = rng.choice(np.array(["red", "green", "blue"]), (60, 1)).astype(object)
    prepared = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()
    )
    table = compose.ColumnTransformer(
        [
            ("numbers", prepared, [0, 1, 2]),
            ("colour", preprocessing.OneHotEncoder(handle_unknown="ignore"), [3]),
        ]
    )
    model = pipeline.make_pipeline(table, ensemble.RandomForestClassifier(10, random_state=0))
    labels = (np.nan_to_num(numbers[:, 0]) > 0).astype(int)
    model.fit(np.concatenate([numbers.astype(object), colours], axis=1), labels)
    types = [("numbers", FloatTensorType([None, 3])), ("colour", StringTensorType([None, 1]))]
    return Case(model, {"numbers": numbers, "colour": colours}, types)


def composed_estimators() -> dict[str, Make]:
    """Estimators of other estimators, and those of texts, categories and dictionaries."""
    logistic = linear_model.LogisticRegression
    forest = ensemble.RandomForestClassifier
    stump = tree.DecisionTreeRegressor(max_depth=3, random_state=0)
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), logistic())
    made: dict[str, Make] = {
        "BaggingClassifier": _classifier(ensemble.BaggingClassifier(logistic(), 3, random_state=0)),
        "BaggingRegressor": _regressor(ensemble.BaggingRegressor(stump, 3, random_state=0)),
        "CalibratedClassifierCV-sigmoid": _classifier(
            calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2)),
        "CalibratedClassifierCV-isotonic": _classifier(
            calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2, method="isotonic")),
        "ColumnTransformer": _columns,
        "CountVectorizer": _texts(feature_extraction.text.CountVectorizer()),
        "CountVectorizer-pairs": _texts(feature_extraction.text.CountVectorizer(ngram_range=(1, 2))),
        "CountVectorizer-characters": _texts(
            feature_extraction.text.CountVectorizer(analyzer="char", ngram_range=(1, 2))),
        "CountVectorizer-pattern": _texts(
            feature_extraction.text.CountVectorizer(token_pattern="[a-z]{3,}", lowercase=False)),
        "CountVectorizer-stop-words": _texts(
            feature_extraction.text.CountVectorizer(stop_words=["the", "to"])),
        "TfidfVectorizer": _texts(feature_extraction.text.TfidfVectorizer()),
        "TfidfVectorizer-pairs": _texts(
            feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), norm="l1")),
        "TfidfVectorizer-pipeline": _text_classifier(feature_extraction.text.TfidfVectorizer()),
        "DictVectorizer": _dictionaries,
        "FeatureUnion": _regressor(pipeline.make_pipeline(
            pipeline.make_union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler()),
            linear_model.Ridge())),
        "FunctionTransformer": _regressor(pipeline.make_pipeline(
            preprocessing.FunctionTransformer(), linear_model.Ridge())),
        "GridSearchCV": _classifier(
            model_selection.GridSearchCV(logistic(), {"C": [0.5, 1.0]}, cv=2)),
        "KernelCenterer": _gram,
        "LabelBinarizer": _labels(
            preprocessing.LabelBinarizer(), np.array([1, 2, 6, 2]), Int64TensorType),
        "LabelEncoder": _labels(preprocessing.LabelEncoder(),
                                np.array(["b", "a", "c"], object), StringTensorType),
        "LabelEncoder-integers": _labels(
            preprocessing.LabelEncoder(), np.array([4, 2, 9]), Int64TensorType),
        "MultiOutputClassifier": _two_labels(
            multioutput.MultiOutputClassifier(logistic()), zipmap=False),
        "RandomForestClassifier-two-outputs": _two_labels(
            forest(5, random_state=0), zipmap=False),
        "KNeighborsClassifier-two-outputs": _two_labels(
            neighbors.KNeighborsClassifier(), zipmap=False),
        "MultiOutputRegressor": _regressor(
            multioutput.MultiOutputRegressor(linear_model.Ridge()), 2),
        "OneHotEncoder": _strings(preprocessing.OneHotEncoder(handle_unknown="ignore")),
        "OneHotEncoder-integers": _integers(preprocessing.OneHotEncoder()),
        "OneVsOneClassifier": _classifier(multiclass.OneVsOneClassifier(logistic())),
        "OneVsRestClassifier": _classifier(multiclass.OneVsRestClassifier(logistic())),
        "OrdinalEncoder": _strings(preprocessing.OrdinalEncoder()),
        "OrdinalEncoder-integers": _integers(preprocessing.OrdinalEncoder()),
        "Pipeline": _classifier(scaled),
        "Pipeline-maps": _classifier(scaled, strings=True, zipmap=True),
        "RFE": _regressor(feature_selection.RFE(linear_model.Ridge(), n_features_to_select=3)),
        "RFECV": _regressor(feature_selection.RFECV(linear_model.Ridge(), cv=2)),
        "SelectFromModel": _regressor(feature_selection.SelectFromModel(linear_model.Ridge())),
        "StackingClassifier": _classifier(ensemble.StackingClassifier(
            [("a", logistic()), ("b", forest(3, random_state=0))], cv=2)),
        "StackingRegressor": _regressor(
            ensemble.StackingRegressor([("a", linear_model.Ridge()), ("b", stump)], cv=2)),
        "TargetEncoder": _strings(preprocessing.TargetEncoder(random_state=0)),
        "TfidfTransformer": _regressor(feature_extraction.text.TfidfTransformer()),
        "TunedThresholdClassifierCV": _classifier(
            model_selection.TunedThresholdClassifierCV(logistic(), cv=2), 2),
        "VotingClassifier-hard": _classifier(ensemble.VotingClassifier(
            [("a", logistic()), ("b", naive_bayes.GaussianNB())], flatten_transform=False)),
        "VotingClassifier-soft": _classifier(ensemble.VotingClassifier(
            [("a", logistic()), ("b", naive_bayes.GaussianNB())], voting="soft",
            flatten_transform=False)),
        "VotingRegressor": _regressor(
            ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", stump)])),
        "GaussianProcessRegressor-kernel": _regressor(
            gaussian_process.GaussianProcessRegressor(
                gaussian_process.kernels.RBF() + gaussian_process.kernels.WhiteKernel())),
    }  # fmt: skip
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        for count in (2, 3):
            made[f"SVC-{kernel}-{count}"] = _classifier(svm.SVC(kernel=kernel), count)
            made[f"SVC-{kernel}-{count}-probability"] = _classifier(
                svm.SVC(kernel=kernel, probability=True, random_state=0), count)
        made[f"SVR-{kernel}"] = _regressor(svm.SVR(kernel=kernel))
        made[f"OneClassSVM-{kernel}"] = _regressor(svm.OneClassSVM(kernel=kernel))
    for name, cls in (("DecisionTree", tree.DecisionTreeRegressor),
                      ("ExtraTrees", ensemble.ExtraTreesRegressor),
                      ("KNeighbors", neighbors.KNeighborsRegressor),
                      ("MLP", neural_network.MLPRegressor),
                      ("RandomForest", ensemble.RandomForestRegressor)):  # fmt: skip
        made[f"{name}Regressor-two-targets"] = _regressor(cls(), 2)
    return made
