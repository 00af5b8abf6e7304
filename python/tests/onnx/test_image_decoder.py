"""ImageDecoder, against Pillow, and with bytes that are no images."""

from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import PIL.Image
import pytest
from single_node import EXECUTIONS

import scanloom


def model(**attributes: Any) -> bytes:
    graph = oh.make_graph(
        [oh.make_node("ImageDecoder", ["file"], ["pixels"], "decoder", **attributes)],
        "images",
        [oh.make_tensor_value_info("file", onnx.TensorProto.UINT8, ["N"])],
        [oh.make_tensor_value_info("pixels", onnx.TensorProto.UINT8, ["H", "W", "C"])],
    )
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=9)
    return bytes(proto.SerializeToString())


SESSIONS = {
    pixels: scanloom.InferenceSession(model(pixel_format=pixels))
    for pixels in ("RGB", "BGR", "Grayscale")
}


def decoded(data: bytes, pixels: str = "RGB") -> np.ndarray:
    (result,) = SESSIONS[pixels].run(None, {"file": np.frombuffer(data, np.uint8)})
    assert result.dtype == np.uint8 and result.ndim == 3
    return result


def picture(mode: str, height: int = 37, width: int = 21) -> PIL.Image.Image:
    """Smooth shades with some noise."""
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:height, :width]
    shades = np.stack([rows * 5, columns * 9, 255 - rows - columns], -1) + rng.integers(0, 20, 3)
    shades = np.clip(shades, 0, 255).astype(np.uint8)
    return PIL.Image.fromarray(shades).convert(mode)


def saved(image: PIL.Image.Image, kind: str, **options: Any) -> bytes:
    with io.BytesIO() as file:
        image.save(file, kind, **options)
        return file.getvalue()


FILES = {
    "bmp": lambda: saved(picture("RGB"), "BMP"),
    "bmp-bits": lambda: saved(picture("1"), "BMP"),
    "bmp-gray": lambda: saved(picture("L"), "BMP"),
    "bmp-palette": lambda: saved(picture("P"), "BMP"),
    "jpeg": lambda: saved(picture("RGB"), "JPEG"),
    "jpeg-444": lambda: saved(picture("RGB"), "JPEG", subsampling=0),
    "jpeg-gray": lambda: saved(picture("L"), "JPEG"),
    "jpeg-progressive": lambda: saved(picture("RGB"), "JPEG", progressive=True),
    "jpeg2000": lambda: saved(picture("RGB"), "JPEG2000"),
    "jpeg2000-gray": lambda: saved(picture("L"), "JPEG2000"),
    "jpeg2000-stream": lambda: saved(picture("RGB"), "JPEG2000", no_jp2=True),
    "pbm": lambda: saved(picture("1"), "PPM"),
    "pgm": lambda: saved(picture("L"), "PPM"),
    "png": lambda: saved(picture("RGB"), "PNG"),
    "png-bits": lambda: saved(picture("1"), "PNG"),
    "png-gray": lambda: saved(picture("L"), "PNG"),
    "png-palette": lambda: saved(picture("P"), "PNG"),
    "png-transparent": lambda: saved(picture("RGBA"), "PNG"),
    "ppm": lambda: saved(picture("RGB"), "PPM"),
    "ppm-text": lambda: b"P3 # by hand\n3 2\n#\n255 255 0 0  0 255 0  0 0 255\n1 2 3 4 5 6 7 8 9\n",
    "tiff": lambda: saved(picture("RGB"), "TIFF"),
    "tiff-gray": lambda: saved(picture("L"), "TIFF"),
    "tiff-lzw": lambda: saved(picture("RGB"), "TIFF", compression="tiff_lzw"),
    "webp": lambda: saved(picture("RGB"), "WEBP"),
    "webp-lossless": lambda: saved(picture("RGB"), "WEBP", lossless=True),
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_pixels_are_those_of_pillow(name: str) -> None:
    data = FILES[name]()
    colours = np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
    result = decoded(data)
    assert np.array_equal(result, colours)
    assert np.array_equal(decoded(data, "BGR"), result[:, :, ::-1])
    gray = np.asarray(PIL.Image.fromarray(result).convert("L"))
    assert np.array_equal(decoded(data, "Grayscale"), gray[:, :, None])


def test_every_execution_decodes() -> None:
    data = np.frombuffer(FILES["png"](), np.uint8)
    for execution in EXECUTIONS:
        (result,) = scanloom.InferenceSession(model(), execution=execution).run(None, {"file": data})
        assert np.array_equal(result, np.asarray(picture("RGB")))


def test_16_bits_keep_the_high_ones() -> None:
    gray = (np.arange(48, dtype=np.uint16).reshape(6, 8) * 1365).astype(np.uint16)
    result = decoded(saved(PIL.Image.fromarray(gray), "PNG"))
    assert np.array_equal(result, np.repeat((gray >> 8).astype(np.uint8)[:, :, None], 3, 2))


@pytest.mark.parametrize("data", [b"", b"P", b"GIF89a", b"BM", b"P6 2 2 255 abc", b"\xff\xd8\xff", b"II*\0"])
@pytest.mark.parametrize("pixels", sorted(SESSIONS))
def test_what_is_no_image_gives_no_pixels(data: bytes, pixels: str) -> None:
    assert decoded(data, pixels).shape == (0, 0, 1 if pixels == "Grayscale" else 3)


@pytest.mark.parametrize("name", sorted(FILES))
def test_damaged_files(name: str) -> None:
    """They are refused or decoded to something; nothing crashes or takes long."""
    data = FILES[name]()
    rng = np.random.default_rng(len(data))
    for length in {0, 1, 10, *range(0, len(data), max(1, len(data) // 20))}:
        assert decoded(data[:length]).shape[2] == 3
    for _ in range(60):
        broken = bytearray(data)
        for at in rng.integers(0, min(len(data), 200 if rng.random() < 0.7 else len(data)), 3):
            broken[at] = rng.integers(0, 256)
        try:
            result = decoded(bytes(broken))
        except scanloom.LimitReached:
            continue  # a header of an enormous image
        assert result.shape[2] == 3


def test_enormous_images_meet_the_limit_of_memory() -> None:
    data = b"P5 60000 60000 255\n" + bytes(1)
    assert decoded(data).shape == (0, 0, 3)
    header = b"BM" + bytes(8) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    header += (3000).to_bytes(4, "little") * 2 + b"\1\0\1\0" + bytes(24)
    data = header + bytes(8) + bytes(3000 * 376)
    assert decoded(data).shape == (3000, 3000, 3)
    feeds = {"file": np.frombuffer(data, np.uint8)}
    with pytest.raises(scanloom.LimitReached, match="decoder"):
        SESSIONS["RGB"].run(None, feeds, scanloom.RunOptions(max_memory=1 << 20))


def test_mistakes_are_errors() -> None:
    with pytest.raises(scanloom.InvalidModel, match="pixel_format is 'CMYK', not 'RGB'"):
        scanloom.InferenceSession(model(pixel_format="CMYK"))


def test_models_are_written_back(tmp_path: Any) -> None:
    scanloom.convert(model(pixel_format="BGR"), tmp_path / "again.onnx")
    (node,) = onnx.load(tmp_path / "again.onnx").graph.node
    assert node.op_type == "ImageDecoder"
    session = scanloom.InferenceSession(tmp_path / "again.onnx")
    data = FILES["bmp"]()
    (result,) = session.run(None, {"file": np.frombuffer(data, np.uint8)})
    assert np.array_equal(result, decoded(data, "BGR"))


def test_without_the_plug_in_the_error_says_where_it_is(tmp_path: pathlib.Path) -> None:
    """As with a wheel, which does not hold it."""
    (tmp_path / "m.onnx").write_bytes(model())
    answer = subprocess.run(
        [sys.executable, "-c", "import scanloom; scanloom.InferenceSession('m.onnx')"],
        env={**os.environ, "SCANLOOM_IMAGES_PLUGIN": str(tmp_path / "none.so")},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert "the decoder of images (libscanloom_images.so) is not installed" in answer.stderr
    assert "wheels, Debian packages and archives leave it out; a build from source has it" in answer.stderr
