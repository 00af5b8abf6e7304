"""Transforms, windows and mel weights, against numpy and onnx's evaluator."""

import numpy as np
import onnx
import pytest
from onnx import helper

import scanloom
from single_node import REALS, SYMBOLIC, by_reference, close, feeds, model, randoms, refused, run

# Signals.


def parts(values):
    return np.stack([values.real, values.imag], -1)


@SYMBOLIC
@pytest.mark.parametrize("axis", [1, 2, -2])
@pytest.mark.parametrize("length", [None, 4, 9])
@pytest.mark.parametrize("kind", ["real", "complex", "inverse", "onesided", "inverse_onesided"])
@pytest.mark.parametrize("opset", [17, 20])
def test_dft(kind, length, axis, opset, symbolic):
    real = kind in ("real", "onesided")
    x = randoms(2, 5, 7, 1 if real else 2)
    values = x[..., 0] if real else x[..., 0] + 1j * x[..., 1]
    at = axis if axis > 0 else 2
    functions = {
        "real": np.fft.fft,
        "complex": np.fft.fft,
        "inverse": np.fft.ifft,
        "onesided": np.fft.rfft,
        "inverse_onesided": np.fft.irfft,
    }
    wanted = functions[kind](values, length, axis=at)
    wanted = wanted[..., None] if kind == "inverse_onesided" else parts(wanted)
    attributes = {"inverse": int("inverse" in kind), "onesided": int("onesided" in kind)}
    inputs = [x, None if length is None else np.array(length)]
    proto = model("DFT", inputs, opset=opset, symbolic=symbolic, **attributes)
    if symbolic:  # the last axis tells real from complex numbers
        proto.graph.input[0].type.tensor_type.shape.dim[3].dim_value = x.shape[-1]
    if opset == 17:
        proto.graph.node[0].attribute.append(helper.make_attribute("axis", at))
    else:
        tensor = onnx.numpy_helper.from_array(np.array(axis), "axis")
        proto.graph.initializer.append(tensor)
        node = proto.graph.node[0]
        node.input[:] = [*node.input, "axis"]
    (result,) = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
    close(result, wanted.astype(np.float32))


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -4])
def test_dft_along_a_computed_axis(axis):
    x = randoms(3, 4, 5, 1)
    inputs = [x, np.array(6), np.array(axis)]
    (result,) = run("DFT", inputs, opset=20, onesided=1)
    at = axis if axis >= 0 else axis + 4
    close(result, parts(np.fft.rfft(x[..., 0], 6, axis=at)).astype(np.float32))


def test_dft_along_no_axis():
    for axis in (3, -1, 7):
        with pytest.raises(scanloom.Error):
            run("DFT", [randoms(3, 4, 5, 1), None, np.array(axis)], opset=20)


def test_dft_of_a_long_signal():
    x = randoms(1, 1000, 1)
    (result,) = run("DFT", [x], opset=20)
    close(result, parts(np.fft.fft(x[..., 0])).astype(np.float32), scale=10)


@pytest.mark.parametrize("dtype", REALS, ids=lambda dtype: np.dtype(dtype).name)
def test_dft_types(dtype):
    x = randoms(2, 6, 2, dtype=dtype)
    wide = x.astype(np.float64)
    wanted = parts(np.fft.fft(wide[..., 0] + 1j * wide[..., 1]))
    (result,) = run("DFT", [x], opset=20)
    close(result, wanted.astype(dtype), scale=2)


def test_dft_errors():
    refused("DFT", [randoms(2, 5, 3)], "has 3 elements, not 1 or 2", opset=20)
    refused("DFT", [randoms(2, 5, 2)], "one-sided spectrum needs a real", opset=20, onesided=1)
    refused("DFT", [randoms(2, 5, 1)], "axis 2 is not an axis", opset=17, axis=2)


def test_lengths_and_steps_are_positive():
    for op, signal in (("STFT", randoms(1, 8, 1)), ("DFT", randoms(1, 8, 1))):
        proto = model(op, [signal], opset=17)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0), "zero"))
        proto.graph.node[0].input.append("zero")
        with pytest.raises(scanloom.Error, match="'zero' is 0, but at least 1 is needed"):
            scanloom.InferenceSession(proto.SerializeToString())


@SYMBOLIC
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("length", [20, 8, 7])
def test_stft(onesided, window, length, symbolic):
    signal, step, size = randoms(2, length, 1), 3, 8
    weights = np.hanning(size).astype(np.float32) if window else np.ones(size, np.float32)
    inputs = [signal, np.array(step), weights if window else None, np.array(size)]
    count = max(0, (length - size) // step + 1)
    frames = np.zeros((2, count, size), np.float32)
    for i in range(count):
        frames[:, i] = signal[:, i * step : i * step + size, 0] * weights
    wanted = (np.fft.rfft if onesided else np.fft.fft)(frames)
    proto = model("STFT", inputs, opset=17, onesided=onesided, symbolic=symbolic)
    if symbolic:
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1
    (result,) = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
    close(result, parts(wanted).astype(np.float32))


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size", [0, 2, 10])
def test_windows(op, periodic, size):
    n = np.arange(size)
    turns = 2 * np.pi * n / (size if periodic else size - 1)
    wanted = {
        "HannWindow": 0.5 - 0.5 * np.cos(turns),
        "HammingWindow": 25 / 46 - 21 / 46 * np.cos(turns),
        "BlackmanWindow": 0.42 - 0.5 * np.cos(turns) + 0.08 * np.cos(2 * turns),
    }[op]
    for dtype in (np.float32, np.float64, np.float16):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        attributes = {"periodic": periodic, "output_datatype": kind}
        (result,) = run(op, [np.array(size)], opset=17, **attributes)
        close(result, wanted.astype(dtype))


def test_mel_weight_matrix():
    inputs = [
        np.array(8, np.int32),
        np.array(64, np.int32),
        np.array(16000, np.int32),
        np.array(60, np.float32),
        np.array(7600, np.float32),
    ]
    (result,) = run("MelWeightMatrix", inputs, opset=17)
    close(result, by_reference("MelWeightMatrix", inputs, opset=17)[0])
