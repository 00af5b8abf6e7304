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


@pytest.mark.parametrize("length", [*range(1, 40), 64, 100, 211, 256, 400, 441, 480, 509, 512, 1000, 1018, 4096])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dft_of_every_length(length, dtype):
    x = randoms(3, length, 2, dtype=dtype)
    z = x.astype(np.float64)[..., 0] + 1j * x.astype(np.float64)[..., 1]
    tolerance = 8 * np.finfo(dtype).eps
    for attributes, given, wanted in (
        ({}, x, np.fft.fft(z)),
        ({"inverse": 1}, x, np.fft.ifft(z)),
        ({"onesided": 1}, x[..., :1].copy(), np.fft.rfft(z.real)),
        ({}, x[..., :1].copy(), np.fft.fft(z.real)),
    ):
        (result,) = run("DFT", [given], opset=20, **attributes)
        assert result.dtype == dtype and result.shape == (*wanted.shape, 2)
        error = np.abs(result - parts(wanted)).max()
        assert error <= tolerance * max(np.abs(wanted).max(), 1e-30)


def test_dft_of_a_huge_length_is_refused():
    for length in (2**24 + 1, 2**62):
        proto = model("DFT", [randoms(1, 8, 1)], opset=17)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(length), "n"))
        proto.graph.node[0].input.append("n")
        with pytest.raises(scanloom.Error, match=f"the length of the transform is {length}, more than"):
            scanloom.InferenceSession(proto.SerializeToString())


def test_dft_has_the_same_bits_alone_and_among_others():
    for length in (24, 100, 509):
        x = randoms(40, length, 2)
        (together,) = run("DFT", [x], opset=20)
        (turned,) = run("DFT", [np.ascontiguousarray(x.swapaxes(0, 1)), None, np.array(0)], opset=20)
        for i in range(0, 40, 7):
            (alone,) = run("DFT", [x[i : i + 1]], opset=20)
            assert np.array_equal(alone[0], together[i])
            assert np.array_equal(alone[0], turned[:, i])


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


@SYMBOLIC
@pytest.mark.parametrize("onesided", [0, 1])
def test_stft_of_a_signal_without_the_axis_of_its_parts(onesided, symbolic):
    """onnxruntime takes it as real, also if it has two samples."""
    for length, size in ((40, 16), (2, 2)):
        inputs = [randoms(3, length), np.array(5), np.hanning(size + 2)[1:-1].astype(np.float32)]
        frames = [inputs[0][:, i : i + size] * inputs[2] for i in range(0, length - size + 1, 5)]
        wanted = (np.fft.rfft if onesided else np.fft.fft)(np.stack(frames, 1))
        proto = model("STFT", inputs, opset=17, onesided=onesided, symbolic=symbolic)
        (result,) = scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds(inputs))
        close(result, parts(wanted).astype(np.float32))


def stft_of_constants(signal, step, size, symbolic):
    """The spectrum if the model itself says how frames follow each other."""
    proto = model("STFT", [signal], opset=17, onesided=0, symbolic=symbolic)
    if symbolic:
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = signal.shape[2]
    for name, value in (("step", step), ("", None), ("size", size)):
        proto.graph.node[0].input.append(name)
        if value is not None:
            proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(value), name))
    return scanloom.InferenceSession(proto.SerializeToString()).run(None, feeds([signal]))[0]


@SYMBOLIC
@pytest.mark.parametrize("parts_of", [1, 2])
@pytest.mark.parametrize("length", [5, 12, 41, 48])
@pytest.mark.parametrize("size, step", [(8, 4), (12, 8), (9, 3), (8, 3), (6, 12), (4, 4)])
def test_stft_of_frames_of_whole_blocks(size, step, length, parts_of, symbolic):
    """A step and a length with a common divisor are known when the model is read, or not."""
    signal = randoms(2, length, parts_of)
    got = stft_of_constants(signal, step, size, symbolic)
    count = max(0, (length - size) // step + 1)
    assert got.shape == (2, count, size, 2)
    (want,) = run("STFT", [signal, np.array(step), None, np.array(size)], opset=17, onesided=0)
    np.testing.assert_array_equal(got, want)
    values = signal[..., 0] if parts_of == 1 else signal[..., 0] + 1j * signal[..., 1]
    for i in range(count):
        frame = np.fft.fft(values[:, i * step : i * step + size])
        close(got[:, i], parts(frame).astype(np.float32))


@pytest.mark.parametrize("step", [2**63 - 1, 2**63 - 984, 41, 40, 39])
def test_steps_beyond_the_signal_give_one_frame(step):
    signal = randoms(1, 40, 1)
    for frames in ([signal, np.array(step), None, np.array(16)], [signal, np.array(step), randoms(16)]):
        (got,) = run("STFT", frames, opset=17)
        assert got.shape == (1, 1, 9, 2)


def test_steps_and_lengths_that_are_fed_are_checked():
    signal = randoms(1, 40, 1)
    for step in (0, -1, -(2**63)):
        refused("STFT", [signal, np.array(step), None, np.array(16)],
                f"at least 1 is needed as the step of frames, not {step}", opset=17)
    refused("STFT", [signal, np.array(4), None, np.array(-1)],
            "at least 1 is needed as the length of frames, not -1", opset=17)
    refused("STFT", [signal, np.array(4), None, np.array(2**31)],
            "a transform has at most 16777216 elements, not 2147483648", opset=17)
    refused("DFT", [signal, np.array(0)], "at least 1 is needed as the length of a transform, not 0",
            opset=17)


def test_stft_errors():
    refused("STFT", [randoms(8), np.array(2)], "has 1 axes, but at least 2 are needed", opset=17)
    refused("STFT", [randoms(1, 8, 1, 1), np.array(2)], "has 4 axes, not 2 or 3", opset=17)
    refused("STFT", [randoms(1, 8, 3), np.array(2)], "has 3 elements, not 1 or 2", opset=17)


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
