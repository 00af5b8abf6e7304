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
    monkeypatch.setattr(fetch_models, "BACKEND_SUITE", tmp_path / "backend-suite")
    monkeypatch.setattr(fetch_models, "_run", lambda command, folder: "no network")
    return tmp_path


def test_says_what_is_missing_without_network_and_cache(no_network, capsys, monkeypatch):
    assert fetch_models.main() == 2
    errors = capsys.readouterr().err
    assert "silero-vad==6.2.3 is missing" in errors and "no network" in errors
    monkeypatch.setattr(fetch_models, "_installed_recordings", lambda: [])
    with pytest.raises(fetch_models.Missing, match="pocketsphinx-testdata is neither installed"):
        fetch_models.fetch_recordings()


def test_parts_are_fetched_by_name(no_network, capsys):
    assert fetch_models.main(["models", "everything"]) == 2
    assert "'everything' is none of backend-suite, models" in capsys.readouterr().err
    assert fetch_models.main(["backend-suite"]) == 2
    assert "PyPI's wheel onnx==1.22.0 is missing" in capsys.readouterr().err


def test_other_backend_tests_are_refused(no_network):
    import zipfile

    with zipfile.ZipFile(no_network / "onnx-1.22.0-any.whl", "w") as wheel:
        wheel.writestr("onnx/backend/test/data/node/test_abs/model.onnx", b"something else")
    with pytest.raises(fetch_models.Missing, match="checksum differs.*no network"):
        fetch_models.fetch_backend_suite()
    assert not (no_network / "backend-suite").exists()


def write_wheel(folder, voice_model):
    import zipfile

    path = folder / "silero_vad-6.2.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for index in range(5):
            wheel.writestr(f"silero_vad/data/other{index}.onnx", b"")
        wheel.writestr("silero_vad/data/silero_vad.onnx", voice_model)
    return path


def test_a_wrong_wheel_is_refused(no_network):
    write_wheel(no_network, b"something else")
    with pytest.raises(fetch_models.Missing, match="checksum differs.*no network"):
        fetch_models.fetch_models()
    assert not (no_network / "silero-vad").exists()


def break_wheel(path, how):
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])


@pytest.mark.parametrize("how", ["cut", "empty", "flipped"])
def test_a_broken_wheel_without_network(no_network, capsys, how):
    break_wheel(write_wheel(no_network, bytes(4000)), how)
    assert fetch_models.main() == 2
    errors = capsys.readouterr().err
    assert "silero_vad-6.2.3-py3-none-any.whl is broken" in errors and "no network" in errors
    assert f"put silero_vad-6.2.3-*.whl into {no_network}" in errors


def test_a_broken_wheel_is_fetched_again(no_network, monkeypatch):
    model = (MODELS / "silero_vad.onnx").read_bytes()
    break_wheel(write_wheel(no_network, model), "cut")
    downloads = []

    def download(command, folder):
        downloads.append(command)
        write_wheel(folder, model)
        return ""

    monkeypatch.setattr(fetch_models, "_run", download)
    assert fetch_models.fetch_models() == no_network / "silero-vad"
    assert fetch_models.fetch_models() == no_network / "silero-vad"
    assert len(downloads) == 1 and "--timeout" in downloads[0]
    left = sorted(path.name for path in no_network.iterdir())
    assert left == ["silero-vad", "silero_vad-6.2.3-py3-none-any.whl"]


def test_no_network_is_named(tmp_path):
    told = "import sys; sys.exit('WARNING: [Errno -3] Temporary failure in name resolution\\nERROR')"
    assert fetch_models._run([sys.executable, "-c", told], tmp_path) == "there is no network"
    other = "import sys; sys.exit('first\\nlast')"
    assert fetch_models._run([sys.executable, "-c", other], tmp_path) == "last"
    assert fetch_models._run([sys.executable, "-c", ""], tmp_path) == ""


def test_a_recording_that_is_cut_off(tmp_path):
    import wave

    path = tmp_path / "cut.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, recording.RATE, 0, "NONE", ""))
        file.writeframes(bytes(4000))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="promises 4000 bytes of samples, it holds 956"):
        recording.read_wav(path)
