"""OpenVINO over the same model: Scan and Loop become its TensorIterator and Loop; float32 and
one thread."""

import sys

import numpy as np

sys.modules["openvino_telemetry"] = None  # it would start a process that reports to its makers

import openvino  # noqa: E402


def model(path, feeds):
    core = openvino.Core()
    options = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    request = core.compile_model(str(path), "CPU", options).create_infer_request()
    outputs = request.model_outputs

    def run():
        found = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [np.asarray(found[output]) for output in outputs]

    return run
