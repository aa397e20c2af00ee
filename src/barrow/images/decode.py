"""Bytes to an image, from untrusted files.

Pillow decodes, restricted to formats that are only pixels (for others it would start Ghostscript).
The size in the header is checked before anything is decoded, and every failure of a decoder
becomes one error with the image's name.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barrow.errors import BadImage, MissingExtra

if TYPE_CHECKING:
    from PIL.Image import Image
from pathlib import PurePath

FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF", "PPM")

_PNG = b"\x89PNG\r\n\x1a\n"
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"RIFF", b"II*\0", b"MM\0*")

_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Limits:
    """The most pixels an image may claim, and the most bytes its file may have.

    The default is the size at which Pillow warns of a bomb; it refuses twice as many itself.
    """

    pixels: int = 89_478_485
    bytes: int = 1 << 28


LIMITS = Limits()


def decode(data: bytes, *, name: str, limits: Limits = LIMITS) -> Image:
    """The first frame of an image, in its own mode, rotated by its EXIF orientation.

    Raises `BadImage` with the image's name and a reason.
    """
    pil = pillow(f"decoding {name}")
    if not data:
        raise BadImage("the file is empty", reason="empty", name=name)
    if len(data) > limits.bytes:
        raise BadImage(
            f"expected at most {limits.bytes:,} bytes, got {len(data):,}: make the image "
            "smaller, or raise the limit",
            reason="bomb",
            name=name,
        )
    image = _opened(pil, data, name)
    width, height = image.size
    if width * height > limits.pixels:
        raise _bomb(f"{width:,} × {height:,} pixels", limits, name)
    try:
        image.load()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (decoders raise whatever they stumble over)
        raise _unreadable(error, name) from None
    if image.format == "PNG" and not _has_sound_pixels(data):
        raise _unreadable(ValueError("a checksum does not match its pixels"), name)
    return _turned(pil, image)


def pillow(purpose: str) -> Any:
    """`PIL.Image`."""
    try:
        import PIL.Image
    except ImportError:
        raise MissingExtra("Pillow", "images", purpose) from None
    return PIL.Image


def _opened(pil: Any, data: bytes, name: str) -> Image:
    import PIL

    pil.init()  # only the first call does something
    known = [kind for kind in FORMATS if kind in pil.OPEN]  # AVIF is not in every Pillow
    try:
        image: Image = pil.open(io.BytesIO(data), formats=known)
    except PIL.UnidentifiedImageError:
        if data.startswith(_MAGIC):
            raise _unreadable(ValueError("its header cannot be read"), name) from None
        raise BadImage(
            f"expected an image ({', '.join(FORMATS)}), found bytes that begin {data[:8]!r}",
            reason="not-an-image",
            name=name,
        ) from None
    except pil.DecompressionBombError:
        raise _bomb("more pixels than Pillow opens", LIMITS, name) from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001
        raise _unreadable(error, name) from None
    return image


def _has_sound_pixels(png: bytes) -> bool:
    """Whether the checksums of a PNG's pixels match: Pillow ignores them."""
    at = len(_PNG)
    while at + 12 <= len(png) and png[at + 4 : at + 8] != b"IEND":
        end = at + 8 + int.from_bytes(png[at : at + 4], "big")
        said = int.from_bytes(png[end : end + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT" and zlib.crc32(memoryview(png)[at + 4 : end]) != said:
            return False
        at = end + 4
    return True


def _bomb(what: str, limits: Limits, name: str) -> BadImage:
    return BadImage(
        f"{what}, but at most {limits.pixels:,} pixels are decoded: make the image smaller",
        reason="bomb",
        name=name,
    )


def _unreadable(error: Exception, name: str) -> BadImage:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    is_cut = isinstance(error, EOFError) or "truncat" in said.lower()
    reason, word = ("truncated", "cut off") if is_cut else ("corrupt", "damaged")
    return BadImage(
        f"the image is {word} ({said}): download it again, or leave it out",
        reason=reason,
        name=name,
    )


def _turned(pil: Any, image: Image) -> Image:
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 (bad EXIF beside good pixels: there is no orientation)
        orientation = 1
    turns = {
        2: pil.Transpose.FLIP_LEFT_RIGHT,
        3: pil.Transpose.ROTATE_180,
        4: pil.Transpose.FLIP_TOP_BOTTOM,
        5: pil.Transpose.TRANSPOSE,
        6: pil.Transpose.ROTATE_270,
        7: pil.Transpose.TRANSVERSE,
        8: pil.Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".avif", ".gif"),
    *(".bmp", ".tif", ".tiff", ".ppm", ".pgm"),
)


def is_image(name: str | PurePath) -> bool:
    """Whether a file is an image, by its name."""
    return PurePath(name).suffix.lower() in SUFFIXES
