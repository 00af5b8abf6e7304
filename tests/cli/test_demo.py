"""The parts of the demo that need no model."""

import sys

import numpy as np
import pytest
from command_line import MODELS, PROJECT

sys.path.insert(0, str(PROJECT / "demo"))

import fetch_models  # noqa: E402
import recording  # noqa: E402
import voice  # noqa: E402

CHUNK_SECONDS = voice.CHUNK / recording.RATE


def segments(*probabilities):
    return [
        (round(segment.begin / CHUNK_SECONDS), round(segment.end / CHUNK_SECONDS))
        for segment in voice.find_segments(list(probabilities))
    ]


@pytest.mark.parametrize(
    "probabilities, expected",
    [
        ([], []),
        ([0.49] * 9, []),
        ([0, 0.5, 0.9] + [0.1] * 9, [(1, 3)]),
        ([0, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4] + [0.1] * 9, [(1, 8)]),  # neither quiet nor speech
        ([0.9, 0.1, 0.1, 0.1, 0.9] + [0.1] * 9, [(0, 5)]),  # under 100 ms of silence
        ([0.9] + [0.1] * 5 + [0.9] * 2, [(0, 1), (6, 8)]),  # speech up to the end
    ],
)
def test_segments(probabilities, expected):
    assert segments(*probabilities) == expected


def test_the_recording_is_the_same_every_time():
    sentences = [np.ones(1000, np.float32), np.ones(500, np.float32)]
    once, again = recording.with_pauses(sentences), recording.with_pauses(sentences)
    np.testing.assert_array_equal(once, again)
    assert len(once) == 3 * 2 * recording.RATE + 1500
    assert once.dtype == np.float32 and 0 < np.abs(once[:32000]).max() < 0.01


def test_chunks_cover_everything():
    chunks = voice.chunks_of(np.ones(voice.CHUNK + 1, np.float32))
    assert chunks.shape == (2, voice.CHUNK) and chunks.sum() == voice.CHUNK + 1


def test_the_cache_holds_the_models():
    assert fetch_models.fetch_models() == MODELS
    assert len(list(MODELS.glob("*.onnx"))) == 6


@pytest.fixture
def no_network(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_models, "CACHE", tmp_path)
    monkeypatch.setattr(fetch_models, "MODELS", tmp_path / "silero-vad")
    monkeypatch.setattr(fetch_models, "RECORDINGS", tmp_path / "recordings")
    monkeypatch.setattr(fetch_models, "_run", lambda command, folder: "no network")
    return tmp_path


def test_says_what_is_missing_without_network_and_cache(no_network, capsys, monkeypatch):
    assert fetch_models.main() == 2
    errors = capsys.readouterr().err
    assert "silero-vad==6.2.3 is missing" in errors and "no network" in errors
    monkeypatch.setattr(fetch_models, "_installed_recordings", lambda: [])
    with pytest.raises(fetch_models.Missing, match="pocketsphinx-testdata is neither installed"):
        fetch_models.fetch_recordings()


def test_a_wrong_wheel_is_refused(no_network):
    import zipfile

    with zipfile.ZipFile(no_network / "silero_vad-6.2.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("silero_vad/data/silero_vad.onnx", b"something else")
    with pytest.raises(fetch_models.Missing, match="checksum differs"):
        fetch_models.fetch_models()
    assert not (no_network / "silero-vad").exists()
