"""The digit reader: a 3-nearest-neighbours classifier whose distances are computed by a Scan."""

import time

import numpy as np

TRAINED_ON = 1200  # of the 1797 digits; the others are read. The Scan walks over these
TARGET_OPSET = 18  # named, so that every machine gets the same model


def make_classifier() -> tuple[bytes, np.ndarray, np.ndarray]:
    """The model as ONNX, and the digits to read with what they are."""
    from skl2onnx import to_onnx
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier

    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.float32)
    classifier = KNeighborsClassifier(3).fit(images[:TRAINED_ON], labels[:TRAINED_ON])
    model = to_onnx(
        classifier, images[:1], options={"zipmap": False}, target_opset={"": TARGET_OPSET}
    )
    if not any(node.op_type == "Scan" for node in model.graph.node):
        raise RuntimeError("this version of skl2onnx writes the classifier without a Scan")
    return model.SerializeToString(), images[TRAINED_ON:], labels[TRAINED_ON:]


def read_digits(sessions: list, images: np.ndarray, repeats: int):
    """What each session reads, and its times in seconds; they take turns, so that times compare."""
    feeds = {sessions[0].get_inputs()[0].name: images}
    read = [session.run(None, feeds)[0] for session in sessions]
    seconds: list[list[float]] = [[] for _ in sessions]
    for repeat in range(repeats):
        order = range(len(sessions)) if repeat % 2 == 0 else reversed(range(len(sessions)))
        for which in order:
            begin = time.perf_counter()
            sessions[which].run(None, feeds)
            seconds[which].append(time.perf_counter() - begin)
    return read, seconds
