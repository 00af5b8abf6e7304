"""OpenVINO on the same model, with float32 inside and the requested number of threads. Its Scan and
Loop of ONNX become TensorIterator and Loop."""

import sys

import numpy as np

sys.modules["openvino_telemetry"] = None  # would start a process that sends reports

import openvino  # noqa: E402


class Session:
    """A compiled model with the interface of onnxruntime's sessions."""

    def __init__(self, path, threads=1):
        options = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "EXECUTION_MODE_HINT": "ACCURACY",
            "ENABLE_CPU_PINNING": False,
        }
        compiled = openvino.Core().compile_model(str(path), "CPU", options)
        self._request = compiled.create_infer_request()

    def run(self, _outputs, feeds):
        found = self._request.infer(feeds, share_inputs=True, share_outputs=True)
        return [np.asarray(found[output]) for output in self._request.model_outputs]


def model(path, feeds, threads=1):
    session = Session(path, threads)
    return lambda: session.run(None, feeds)
