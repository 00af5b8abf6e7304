"""Nearest neighbours, with the distances as a Scan over the known points: skl2onnx's export for
scikit-learn's digits, and the regressor in the shared folder."""

import numpy as np

import engines
from harness import Peer, Question, Skip

NAMES = ("knn_",)

KNOWN, NEIGHBOURS, QUERIES = 1_000, 3, 100
REGRESSOR_POINTS, REGRESSOR_QUERIES = 20, 300


def _digits(place):
    """The exported classifier and 100 digits that it was not trained on."""
    try:
        import skl2onnx
        from sklearn.datasets import load_digits
        from sklearn.neighbors import KNeighborsClassifier
    except ImportError as error:
        raise Skip(f"{error.name} is not installed") from error

    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.float32)
    classifier = KNeighborsClassifier(NEIGHBOURS).fit(images[:KNOWN], labels[:KNOWN])
    model = skl2onnx.to_onnx(
        classifier, images[:1], target_opset=17, options={"zipmap": False}
    )
    path = place.build / "knn_digits.onnx"
    path.write_bytes(model.SerializeToString())
    return path, model.graph.input[0].name, images[KNOWN : KNOWN + QUERIES]


def questions(place, clock):
    path, name, queries = _digits(place)
    feeds = {name: queries}
    yield Question(
        name="knn_digits",
        about=f"distances of {QUERIES} digits to one of {KNOWN} known ones per step",
        unit="step",
        units=KNOWN,
        ours=engines.ours(path, feeds),
        peers=[Peer(engines.peer(path, feeds))],
        reference=engines.unoptimised_results(path, feeds),
        reference_name="onnxruntime without rewrites",
        tolerance=1e-5,
    )
    path = place.shared / "knn_cdist_scan.onnx"
    if not path.exists():
        return
    queries = np.random.default_rng(8).standard_normal((REGRESSOR_QUERIES, 4)).astype(np.float32)
    feeds = {"input": queries}
    yield Question(
        name="knn_cdist",
        about="distances of 300 points to one of 20 known ones per step, and what follows",
        unit="step",
        units=REGRESSOR_POINTS,
        ours=engines.ours(path, feeds),
        peers=[Peer(engines.peer(path, feeds))],
        reference=engines.unoptimised_results(path, feeds),
        reference_name="onnxruntime without rewrites",
        tolerance=1e-4,
    )
