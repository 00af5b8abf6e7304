"""Real models: the recorded probabilities, and onnxruntime's results."""

import numpy as np
import onnxruntime
import pytest

import scanloom
from places import read_wave
from real_models import CHUNK, LENGTHS, RATE, chunks, feeds_for, randoms

WHEEL_CHUNKED = (
    "silero_vad.onnx",
    "silero_vad_16k_op15.onnx",
    "silero_vad_half.onnx",
    "silero_vad_op18_ifless.onnx",
    "silero_vad_openvino_16k.onnx",
)


def listen(session, samples, names=("output", "stateN")):
    """The probability of speech of every chunk, the state carried by hand."""
    known = {value.name for value in session.get_inputs()}
    state = np.zeros((2, 1, 128), np.float32)
    heard = []
    for chunk in chunks(samples):
        feeds = {"input": chunk[None], "state": state, "sr": np.array(RATE, np.int64)}
        feeds = {name: value for name, value in feeds.items() if name in known}
        output, state = session.run(list(names), feeds)
        heard.append(output[0, 0])
    return np.array(heard)


def speech_segments(probabilities):
    """(first chunk, one past the last): begun at 0.5, ended under 0.35 once 100 ms have passed."""
    segments, begin, quiet = [], None, None
    for index, probability in enumerate(probabilities):
        if probability >= 0.5:
            begin, quiet = (index if begin is None else begin), None
        elif begin is not None and probability < 0.35:
            quiet = index if quiet is None else quiet
            if (index - quiet) * CHUNK >= 0.1 * RATE:
                segments.append((begin, quiet))
                begin, quiet = None, None
    return segments if begin is None else [*segments, (begin, len(probabilities))]


def runs_at_half(probabilities):
    loud = np.concatenate([[False], probabilities >= 0.5])
    return int(np.count_nonzero(loud[1:] & ~loud[:-1]))


@pytest.fixture(scope="module")
def speech(shared):
    return read_wave(shared / "audio" / "speech.wav")


@pytest.fixture(scope="module")
def recorded(shared):
    return np.load(shared / "audio" / "speech_probabilities.npy")


def test_speech_gives_the_recorded_probabilities(shared, speech, recorded):
    heard = listen(scanloom.InferenceSession(shared / "silero_vad.onnx"), speech)
    assert heard.shape == recorded.shape == (982,)
    assert np.abs(heard - recorded).max() < 1e-4
    assert runs_at_half(heard) == 6
    assert len(speech_segments(heard)) == 4


def test_the_oracle_gives_the_recorded_probabilities(shared, speech, recorded):
    session = scanloom.InferenceSession(shared / "silero_vad.onnx", execution="interpreted")
    heard = listen(session, speech[: 60 * CHUNK])
    assert np.abs(heard - recorded[:60]).max() < 1e-4


def test_a_stream_hears_the_same(shared, speech, recorded):
    session = scanloom.InferenceSession(shared / "silero_vad.onnx")
    stream = session.stream(states={"state": "stateN"})
    stream.set("state", np.zeros((2, 1, 128), np.float32))
    heard = [stream.push({"input": chunk[None], "sr": RATE})[0, 0] for chunk in chunks(speech)]
    assert np.abs(np.array(heard) - recorded).max() < 1e-4


def test_qlstm_gives_its_reference(shared):
    reference = np.load(shared / "qlstm" / "io.npz")
    session = scanloom.InferenceSession(shared / "qlstm" / "model.onnx")
    (output,) = session.run(["output"], {"input": reference["input"]})
    assert output.shape == reference["output"].shape
    np.testing.assert_allclose(output, reference["output"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize(
    "name", ["qlstm/model.onnx", "cntk_bilstm_scan.onnx", "knn_cdist_scan.onnx"]
)
def test_scans_give_the_results_of_onnxruntime(shared, name, steps):
    feeds = feeds_for(name, steps)
    expected = onnxruntime.InferenceSession(str(shared / name)).run(None, feeds)
    results = scanloom.InferenceSession(shared / name).run(None, feeds)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", WHEEL_CHUNKED)
def test_voice_detectors_give_the_results_of_onnxruntime(voice_models, recording, name):
    tolerance = 2e-3 if "half" in name else 1e-4
    path = voice_models / name
    heard = listen(scanloom.InferenceSession(path), recording)
    expected = listen(onnxruntime.InferenceSession(str(path)), recording)
    assert expected.max() > 0.9  # speech is heard at all
    assert np.abs(heard - expected).max() < tolerance


@pytest.mark.parametrize("name", WHEEL_CHUNKED)
def test_voice_detectors_give_the_same_bits_in_every_way(voice_models, recording, name):
    second = recording[RATE : 2 * RATE]

    def heard(execution):
        session = scanloom.InferenceSession(voice_models / name, execution=execution)
        return listen(session, second)

    expected = heard("interpreted")
    np.testing.assert_array_equal(heard("stepped"), expected)
    np.testing.assert_array_equal(heard("automatic"), expected)


@pytest.mark.parametrize("name", ["silero_vad.onnx", "silero_vad_op18_ifless.onnx"])
def test_the_8_kHz_side_gives_the_results_of_onnxruntime(voice_models, name):
    state = np.zeros((2, 1, 128), np.float32)
    feeds = {"input": randoms(1, 288) / 10, "state": state, "sr": np.array(8000, np.int64)}
    expected = onnxruntime.InferenceSession(str(voice_models / name)).run(None, feeds)
    results = scanloom.InferenceSession(voice_models / name).run(None, feeds)
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_batches_give_the_results_of_onnxruntime(voice_models, batch):
    path = voice_models / "silero_vad.onnx"
    state = randoms(2, batch, 128, seed=3) / 10
    feeds = {"input": randoms(batch, 576) / 10, "state": state, "sr": np.array(RATE, np.int64)}
    expected = onnxruntime.InferenceSession(str(path)).run(None, feeds)
    results = scanloom.InferenceSession(path).run(None, feeds)
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_a_whole_recording_at_once_equals_its_chunks(voice_models, recording):
    path = voice_models / "silero_vad_16k_sequence.onnx"
    zeros = np.zeros((1, 1, 128), np.float32)
    feeds = {"input": chunks(recording), "h": zeros, "c": zeros}
    session = scanloom.InferenceSession(path)
    whole, h_end, c_end = session.run(["speech_probs", "hn", "cn"], feeds)
    chunked = listen(scanloom.InferenceSession(voice_models / "silero_vad.onnx"), recording)
    assert np.abs(whole - chunked).max() < 1e-4
    peer = onnxruntime.InferenceSession(str(path))
    expected = peer.run(["speech_probs", "hn", "cn"], feeds)
    for result, wanted in zip((whole, h_end, c_end), expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-4)
    states = {"h": "hn", "c": "cn"}
    stream = session.stream(states=states)
    pushed = [stream.push({"input": chunk[None]}) for chunk in feeds["input"]]
    assert np.abs(np.concatenate(pushed) - whole).max() < 1e-4
    for execution in ("stepped", "interpreted"):
        other = scanloom.InferenceSession(path, execution=execution)
        np.testing.assert_array_equal(other.run(["speech_probs"], feeds)[0], whole)
