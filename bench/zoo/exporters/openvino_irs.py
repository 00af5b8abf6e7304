"""OpenVINO IRs of models that are in the data folder, converted by OpenVINO. Needs openvino; run
`fetch` and the exporters first. Results are compared with OpenVINO's, so none are stored."""

import pathlib
import sys

sys.modules["openvino_telemetry"] = None  # would start a process that sends reports

import numpy as np  # noqa: E402
import openvino  # noqa: E402
from _making import make_all  # noqa: E402

DATA = pathlib.Path(sys.argv[1]).parents[1]
PACKAGES = ("silero_vad_16k_op15", "silero_vad_openvino_16k", "ppocr_v4_detection",
            "ppocr_v4_recognition", "ppocr_v2_direction", "magika_v3_3", "basic_pitch",
            "nudenet_320n", "ddddocr_common", "dnsmos_model_v8", "aecmos_1663829550", "plcmos_v2",
            "silero_vad_v6", "ppocr_v6_recognition", "tashkeel", "swift_f0",
            "reachy_forward_int8", "lac_encoder", "asr_nemo80_conv", "minimol")
MADE = ("torch_classic/moving_average", "torch_classic/mobilenet_v3_small",
        "torch_classic/lstm_tagger", "torch_dynamo/swin_t", "transformers_models/bert",
        "transformers_models/gpt2", "keras_models/while_loop", "keras_models/mobilenet_v3")


def converted(model, feeds):
    """Converts a model for the sizes of its inputs; feeds are by the names of the IR."""

    def make(path):
        with np.load(feeds) as stored:
            values = {name: stored[name] for name in stored.files}
        read = openvino.Core().read_model(str(model))
        read.reshape({name: list(x.shape) for name, x in values.items()})
        openvino.save_model(read, str(path), compress_to_fp16=False)
        return values, None

    return make


MODELS = {
    **{name: converted(DATA / "models" / f"{name}.onnx", DATA / "feeds" / f"{name}.npz")
       for name in PACKAGES},
    **{name.replace("/", "_"): converted(
        DATA / "made" / f"{name}.onnx", DATA / "made" / f"{name}.feeds.npz") for name in MADE},
}

if __name__ == "__main__":
    make_all(MODELS, ".xml")
