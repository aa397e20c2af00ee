"""CLIP-9: what comes in. Broken images and bombs are rejected by name, with a reason."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from barrow.errors import BadImage, MissingExtra
from barrow.images import Limits, decode


def picture(height: int = 24, width: int = 36) -> Image.Image:
    """Smooth, so that JPEG keeps it, and different in every corner."""
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([x * 6, y * 9, 255 - x * 4 - y * 3], -1)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def packed(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def reason(data: bytes, **options: object) -> str:
    with pytest.raises(BadImage, match="^the cat.png: ") as caught:
        decode(data, name="the cat.png", **options)  # type: ignore[arg-type]
    return caught.value.reason


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_the_usual_formats(kind: str) -> None:
    assert decode(packed(picture(), kind), name="x").size == (36, 24)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied(kind: str, orientation: int) -> None:
    image = picture()
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = packed(image, kind, exif=exif)
    ours = np.asarray(decode(data, name="x").convert("RGB"))
    theirs = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    assert ours.shape == theirs.shape == ((24, 36, 3) if orientation < 5 else (36, 24, 3))
    assert (ours == theirs).all()


def test_bad_exif_beside_good_pixels_is_no_reason() -> None:
    data = packed(picture(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert decode(data, name="x").size == (36, 24)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_the_first_frame_of_an_animation(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime", "blue")]
    data = packed(frames[0], kind, save_all=True, append_images=frames[1:])
    pixel = np.asarray(decode(data, name="x").convert("RGB"))[4, 4]
    assert pixel[0] > 200 > 60 > pixel[1:].max()


def png_of(width: int, height: int, data: bytes = b"") -> bytes:
    """A PNG of 8-bit grey that claims a size."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_bombs_are_refused_before_they_are_decoded() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert reason(png_of(10_000, 9_000)) == "bomb"  # Pillow warns
        assert reason(png_of(100_000, 100_000)) == "bomb"  # Pillow refuses
    assert reason(png_of(20, 10, bytes(210)), limits=Limits(pixels=199)) == "bomb"
    assert decode(png_of(20, 10, bytes(210)), name="x", limits=Limits(pixels=200)).size == (20, 10)
    assert reason(png_of(20, 10, bytes(210)), limits=Limits(bytes=30)) == "bomb"


def test_a_bomb_says_how_large_it_is() -> None:
    with pytest.raises(BadImage, match=r"cat.png: 20 × 10 pixels, but at most 199 pixels are dec"):
        decode(png_of(20, 10, bytes(210)), name="cat.png", limits=Limits(pixels=199))


def test_what_is_no_image() -> None:
    assert reason(b"") == "empty"
    assert reason(b"<html>404</html>") == "not-an-image"
    assert reason(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n") == "not-an-image"
    assert reason(b"\x89PNG\r\n\x1a\n") == "corrupt"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_a_file_that_was_cut_off(kind: str) -> None:
    data = packed(picture(60, 90), kind)
    assert reason(data[: len(data) // 2]) in ("truncated", "corrupt")


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_cut_off_is_told_from_damaged(kind: str) -> None:
    data = packed(picture(60, 90), kind)
    assert reason(data[: len(data) * 3 // 4]) == "truncated"


def test_a_changed_byte_in_a_png() -> None:
    data = bytearray(
        packed(
            Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40), np.uint8)), "PNG"
        )
    )
    data[len(data) // 2] ^= 0xFF
    assert reason(bytes(data)) in ("truncated", "corrupt")


def test_no_changed_pixel_of_a_png_goes_unseen() -> None:
    """CLIP-9: in drawings, which deflate to little, Pillow alone passes over most of them."""
    plain = packed(Image.new("RGB", (90, 300), (9, 120, 40)), "PNG")
    begin, end = plain.index(b"IDAT") + 4, plain.index(b"IEND") - 8
    for at in range(begin, end, 3):
        changed = bytearray(plain)
        changed[at] ^= 0x10
        assert reason(bytes(changed)) in ("truncated", "corrupt"), at
    assert decode(plain + b"more", name="x").size == (90, 300)


@settings(max_examples=60)
@given(
    st.sampled_from(["PNG", "JPEG", "WEBP", "GIF", "TIFF"]),
    st.integers(0, 4000),
    st.binary(max_size=6),
)
def test_whatever_is_in_a_file_gives_an_image_or_one_error(kind: str, at: int, junk: bytes) -> None:
    data = bytearray(packed(picture(), kind))
    at %= len(data)
    data[at : at + len(junk)] = junk
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = decode(bytes(data), name="x", limits=Limits(pixels=1 << 20))
        except BadImage:
            return
    assert image.size[0] * image.size[1] <= 1 << 20


def test_errors_cross_processes_whole() -> None:
    error = BadImage("cut off", reason="truncated", name="a.png")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.reason, again.name) == ("a.png: cut off", "truncated", "a.png")


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "PIL" or name.startswith("PIL.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r"decoding x needs Pillow: pip install '.\[images\]'"):
        decode(b"1", name="x")
