"""Operators that ONNX's reference evaluator lacks, or that it does not run as models use them, in
numpy. Sums of products of bytes are exact; onnxruntime's saturate on machines that have AVX2 but not
VNNI. Spectra are computed in f64."""

import numpy as np
from onnx.reference.op_run import OpRun


def quantized(x: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """The numbers as whole multiples of a step, which is as in DynamicQuantizeLinear."""
    low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    step = np.float32((high - low) / np.float32(255)) or np.float32(1)
    zero = np.clip(np.rint(-low / step), 0, 255)
    return (np.clip(np.rint(x / step) + zero, 0, 255) - zero).astype(np.int64), step


def product(x: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    whole, step = quantized(x)
    return (whole @ weights).astype(np.float32) * (step * scale)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class DynamicQuantizeLSTM(OpRun):
    """An LSTM without peepholes and lengths, with the default activations."""

    op_domain = "com.microsoft"

    def _run(self, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None, w_scale=None,
             w_zero=None, r_scale=None, r_zero=None, direction=None, hidden_size=None, **options):
        if lengths is not None or peepholes is not None or any(
                options.get(name) for name in ("activations", "clip", "input_forget")):
            raise NotImplementedError("an option of DynamicQuantizeLSTM")
        w, r = (whole.astype(np.int64) - zero.reshape(len(whole), 1, -1).astype(np.int64)
                for whole, zero in ((w, w_zero), (r, r_zero)))
        outputs, states = [], []
        for d in range(len(w)):
            first = [np.zeros((x.shape[1], hidden_size), np.float32) if state is None else state[d]
                     for state in (h, c)]
            added = 0 if b is None else b[d].reshape(2, -1).sum(0)
            backwards = direction == "reverse" or d == 1
            inputs = product(x, w[d], w_scale.reshape(len(w), -1)[d]) + added
            steps = self._steps(inputs[::-1] if backwards else inputs, *first, r[d],
                                r_scale.reshape(len(r), -1)[d])
            outputs.append(steps[0][::-1] if backwards else steps[0])
            states.append(steps[1:])
        return (np.stack(outputs, 1), *(np.stack(state) for state in zip(*states)))

    @staticmethod
    def _steps(inputs, h, c, r, scale):
        rows = []
        for row in inputs:
            i, o, f, g = np.split(row + product(h, r, scale), 4, axis=-1)
            c = (sigmoid(f) * c + sigmoid(i) * np.tanh(g)).astype(np.float32)
            h = (sigmoid(o) * np.tanh(c)).astype(np.float32)
            rows.append(h)
        return np.stack(rows), h, c


class STFT(OpRun):
    """Spectra of frames, also of a signal without an axis for its parts, which is real."""

    def _run(self, signal, step, window=None, length=None, onesided=None):
        x = signal.astype(np.float64)
        if x.ndim == 3:
            x = x[..., 0] + 1j * x[..., 1] if x.shape[2] == 2 else x[..., 0]
        size = int(length) if length is not None else len(window)
        frames = np.lib.stride_tricks.sliding_window_view(x, size, 1)[:, ::int(step)]
        spectra = (np.fft.rfft if onesided != 0 else np.fft.fft)(
            frames if window is None else frames * window)
        return (np.stack([spectra.real, spectra.imag], -1).astype(signal.dtype),)


OPERATORS = (DynamicQuantizeLSTM, STFT)
