"""The examples: in C++, C and Python over the demo's recordings, recurrences in C++, the Mandelbrot set
and digits from a Boltzmann machine in Python."""

import importlib.util
import os
import pathlib
import re
import struct
import subprocess
import sys
import wave
import zlib

import numpy as np
import pytest
from command_line import BUILD, MODELS, PROJECT, RECORDINGS

MODEL = MODELS / "silero_vad.onnx"
LANGUAGES = {
    "c++": [str(BUILD / "bin" / "voice_detection")],
    "c": [str(BUILD / "bin" / "voice_detection_c")],
    "python": [sys.executable, str(PROJECT / "examples" / "voice_detection.py")],
}


def detect(language, *arguments):
    return subprocess.run(
        [*LANGUAGES[language], *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


def write_wav(path, frames, channels=1, width=2, rate=16000):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return path


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """Two sentences with two seconds of silence before, between and after."""
    pause = bytes(2 * 2 * 16000)
    frames = pause
    for path in sorted(RECORDINGS.glob("*.wav"))[:2]:
        with wave.open(str(path)) as file:
            frames += file.readframes(file.getnframes()) + pause
    return write_wav(tmp_path_factory.mktemp("speech") / "speech.wav", frames)


@pytest.mark.parametrize("language", LANGUAGES)
def test_prints_a_segment_per_sentence(language, speech):
    answer = detect(language, MODEL, speech)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert len(lines) == 2
    begins = [float(line.split()[2]) for line in lines]
    assert 2.0 <= begins[0] <= 2.5 and 11.1 <= begins[1] <= 11.6
    assert answer.stdout == detect("c++", MODEL, speech).stdout
    shown = (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")
    assert answer.stdout in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_speech_up_to_the_end_and_no_sound_at_all(language, tmp_path, speech):
    with wave.open(str(speech)) as file:
        frames = file.readframes(5 * 16000)
    answer = detect(language, MODEL, write_wav(tmp_path / "cut.wav", frames))
    assert answer.stdout.splitlines()[-1].endswith("to   5.02 s"), answer.stdout
    assert detect(language, MODEL, write_wav(tmp_path / "empty.wav", b"")).stdout == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_segments_that_cannot_be_written(language, speech):
    with open("/dev/full", "w") as full:
        answer = subprocess.run([*LANGUAGES[language], str(MODEL), str(speech)], stdout=full,
                                stderr=subprocess.PIPE, text=True, timeout=120)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: cannot write the segments")


@pytest.mark.parametrize("language", LANGUAGES)
def test_says_what_is_wrong(language, tmp_path, speech):
    stereo = write_wav(tmp_path / "stereo.wav", bytes(8), channels=2, rate=44100)
    (tmp_path / "text.wav").write_text("this is a text, not a recording")
    cases = [
        ((MODEL, stereo), "2 channel(s) of 16 bits at 44100 Hz"),
        ((MODEL, tmp_path / "text.wav"), "text.wav"),
        ((MODEL, tmp_path / "nothere.wav"), "nothere.wav"),
        ((tmp_path / "nothere.onnx", speech), "nothere.onnx"),
        ((MODEL,), "usage: "),
    ]
    for arguments, message in cases:
        answer = detect(language, *arguments)
        assert answer.returncode == 2
        assert message in answer.stderr and "Traceback" not in answer.stderr


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kept", [1000, 1001])
def test_a_recording_that_is_cut_off(language, tmp_path, speech, kept):
    cut = tmp_path / "cut.wav"
    cut.write_bytes(speech.read_bytes()[:kept])
    answer = detect(language, MODEL, cut)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "cut.wav: it is cut off: its header promises" in answer.stderr
    assert f"it holds {kept - 44}" in answer.stderr


def test_recurrences():
    answer = subprocess.run(
        [str(BUILD / "bin" / "recurrence")], capture_output=True, text=True, timeout=120
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    h, sum_of_h = 0.0, []
    a = [0.5, 0.5, 2.0, 1.0]
    for factor in a:
        sum_of_h.append(h := factor * h + 1)
    # What a[t] multiplies, times what a step later on makes of it.
    slopes = [sum(np.prod(a[t + 1 : s + 1]) for s in range(t, 4)) for t in range(4)]
    slopes = np.array(slopes) * [0, *sum_of_h[:-1]]
    lines = [line.split("  ", 1) for line in answer.stdout.splitlines()]
    assert np.allclose([float(x) for x in lines[0][1].split()], sum_of_h)
    assert np.allclose([float(x) for x in lines[1][1].split()], slopes)
    steps = 0
    for limit, line, counted in zip((10, 1000), answer.stdout.splitlines()[2::2],
                                    answer.stdout.splitlines()[3::2]):
        x = [1.0, 1.0]
        while x[-1] <= limit:
            x.append(x[-2] + 0.5 * x[-1])
        steps += len(x) - 2
        assert line.split() == ["last", "x", f"{x[-1]:.4f}"]
        assert counted.split() == ["steps", "so", "far", str(steps)]
    assert answer.stdout in (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")


def test_the_mandelbrot_set():
    program = str(PROJECT / "examples" / "mandelbrot.py")
    answer = subprocess.run(
        [sys.executable, program, "--width", "48"], capture_output=True, text=True, timeout=120
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = [line.ljust(48) for line in answer.stdout.splitlines()]
    shades = " .:-=+*#%@"
    for line, y in zip(lines, np.linspace(1.1, -1.1, 16), strict=True):
        for letter, x in zip(line, np.linspace(-2.1, 0.7, 48), strict=True):
            z, steps, stays = 0j, 0, True
            while stays and steps < 200:
                stays = abs(z) <= 2
                z, steps = z * z + complex(x, y), steps + 1
            assert letter == shades[int(np.log(steps) / np.log(200) * 9)], (x, y)
    assert answer.stdout in (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")


def train_digits(*arguments, **environment):
    program = str(PROJECT / "examples" / "digits_rbm.py")
    return subprocess.run(
        [sys.executable, program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """A folder with a module `sklearn` that has the digits alone: importing all of scikit-learn takes
    longer than learning them does."""
    folder = tmp_path_factory.mktemp("light")
    (place,) = importlib.util.find_spec("sklearn").submodule_search_locations
    (folder / "sklearn").mkdir()
    (folder / "sklearn" / "__init__.py").touch()
    (folder / "sklearn" / "datasets.py").write_text(f"""
import types
import numpy as np

def load_digits():
    table = np.loadtxt({str(pathlib.Path(place, "datasets", "data", "digits.csv.gz"))!r}, delimiter=",")
    return types.SimpleNamespace(data=table[:, :-1])
""")
    return {"PYTHONPATH": str(folder)}


def errors_of(text):
    found = re.findall(r"^epoch +(\d+)  reconstruction error (0\.\d{4})$", text, re.MULTILINE)
    return {int(epoch): float(error) for epoch, error in found}


def read_grey_png(path):
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        chunks[kind] = content[at + 8 : at + 8 + size]
        (check,) = struct.unpack_from(">I", content, at + 8 + size)
        assert check == zlib.crc32(kind + chunks[kind])
        at += size + 12
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert form == [8, 0, 0, 0, 0] and not lines[:, 0].any()
    return lines[:, 1:]


def test_a_boltzmann_machine_learns_digits(tmp_path):
    picture = tmp_path / "made" / "digits.png"
    answer = train_digits(picture)
    assert (answer.returncode, answer.stderr) == (0, "")
    errors = errors_of(answer.stdout)
    assert list(errors) == list(range(1, 41)) and errors[40] < errors[1] / 2.5
    shown = errors_of((PROJECT / "examples" / "README.md").read_text(encoding="utf-8"))
    assert 1 in shown and 40 in shown
    # Where products have other last bits, without fused multiply-add, a draw may fall otherwise.
    assert all(abs(errors[epoch] - error) < 0.003 for epoch, error in shown.items())

    pixels = read_grey_png(picture)[2::4, 2::4]
    assert pixels.shape == (100, 204)
    digits, samples = (
        half.reshape(10, 10, 10, 10).transpose(0, 2, 1, 3)[:, :, 1:9, 1:9].reshape(100, 64)
        for half in (pixels[:, :100], pixels[:, 104:])
    )
    assert set(np.unique(digits)) == {0, 255}
    # Samples are as unlike each other as digits are, and most pixels of them are decided.
    assert abs(samples.mean() - digits.mean()) < 25
    assert samples.std(axis=0).mean() > 0.6 * digits.std(axis=0).mean()
    assert ((samples < 64) | (samples > 191)).mean() > 0.75


def test_digits_follow_from_the_seed(light, tmp_path):
    def learned(name, seed, threads):
        path = tmp_path / name
        answer = train_digits("--epochs", 2, "--seed", seed, path, SCANLOOM_THREADS=threads, **light)
        assert (answer.returncode, answer.stderr) == (0, "")
        errors = errors_of(answer.stdout)
        assert len(errors) == 2 and errors[2] < 0.9 * errors[1]
        return errors, path.read_bytes()

    first = learned("a.png", 7, "1")
    assert learned("b.png", 7, "3") == first
    assert learned("c.png", 8, "1") != first


def test_digits_say_what_is_wrong(tmp_path):
    (tmp_path / "sklearn.py").write_text("raise ImportError")
    answer = train_digits(PYTHONPATH=str(tmp_path))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: ") and "pip install scikit-learn" in answer.stderr
    answer = train_digits("--epochs", "-1")
    assert answer.returncode == 2 and "invalid natural value: '-1'" in answer.stderr


def test_digits_without_a_place_for_the_picture(light, tmp_path):
    answer = train_digits("--epochs", 0, tmp_path, **light)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ") and str(tmp_path) in answer.stderr
