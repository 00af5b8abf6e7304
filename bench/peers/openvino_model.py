"""OpenVINO over the same model, with float32 inside and as many threads as are asked for: Scan and
Loop of ONNX become its TensorIterator and Loop."""

import sys

import numpy as np

sys.modules["openvino_telemetry"] = None  # it would start a process that reports to its makers

import openvino  # noqa: E402


def model(path, feeds, threads=1):
    core = openvino.Core()
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "EXECUTION_MODE_HINT": "ACCURACY",
        "ENABLE_CPU_PINNING": False,
    }
    request = core.compile_model(str(path), "CPU", options).create_infer_request()
    outputs = request.model_outputs

    def run():
        found = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [np.asarray(found[output]) for output in outputs]

    return run
