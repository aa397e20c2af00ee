"""A part of an image to a square of RGB pixels, by bicubic interpolation.

As in OpenAI's recipe, an image is resized in its own mode and then converted to RGB. Palettes and
1-bit images are converted to RGB, RGBA or grey before; 16-bit grey is divided by 257. Transparent
pixels show their hidden colour, or a background if one is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.errors import BadImage
from barrow.images.decode import pillow

if TYPE_CHECKING:
    from PIL.Image import Image
import math
from typing import NamedTuple

Colour = tuple[int, int, int]

# Modes in which Pillow's bicubic resize computes; it takes the nearest pixel in palettes and bits.
_SMOOTH = ("RGB", "RGBA", "L", "LA", "CMYK")
# If the long side is more than so many times the short one, only the middle is resized.
_LONG = 16


def centre_square(
    image: Image, *, resolution: int, background: Colour | None = None, name: str = "image"
) -> npt.NDArray[np.uint8]:
    """The short side resized to `resolution`, and the middle, as uint8 [resolution, resolution, 3].

    The whole is resized and then cropped, as in the recipe, though cropping first would be less
    work: Pillow chooses the order of its two passes by the sizes, and clips between them, so
    cropping first gives a different result.
    """
    pil = pillow("resizing images")
    width, height = image.size
    short = min(width, height)
    if max(width, height) > _LONG * short:
        box = centre_box(width, height, resolution)
        return square(image, box, resolution=resolution, background=background, name=name)
    image = smooth(image, background=background, name=name)
    resized = image.resize(
        (resolution * width // short, resolution * height // short), pil.Resampling.BICUBIC
    )
    left, top = (round((size - resolution) / 2) for size in resized.size)
    cut = resized.crop((left, top, left + resolution, top + resolution))
    return np.asarray(cut.convert("RGB"))


def square(
    image: Image,
    box: Box,
    *,
    resolution: int,
    background: Colour | None = None,
    name: str = "image",
) -> npt.NDArray[np.uint8]:
    """A box, resized, as uint8 [resolution, resolution, 3]."""
    pil = pillow("resizing images")
    image = smooth(image, background=background, name=name)
    resized = image.resize((resolution, resolution), pil.Resampling.BICUBIC, box=box)
    return np.asarray(resized.convert("RGB"))


def has_alpha(image: Image) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa")


def smooth(image: Image, *, background: Colour | None = None, name: str = "image") -> Image:
    """The image in a mode that bicubic interpolation can compute in."""
    pil = pillow("resizing images")
    if background is not None and (has_alpha(image) or "transparency" in image.info):
        ground: Image = pil.new("RGBA", image.size, (*background, 255))
        ground.alpha_composite(image.convert("RGBA"))
        return ground.convert("RGB")
    if image.mode in _SMOOTH:
        return image
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("PA", "La", "RGBa"):
        return image.convert("RGBA")
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _grey(pil, image, name)
    # What is left: YCbCr, LAB and HSV, which have a known range, and floats, which have none.
    return _refuse(image, name) if image.mode == "F" else image.convert("RGB")


def _grey(pil: Any, image: Image, name: str) -> Image:
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 0xFFFF:
        return _refuse(image, name)
    # Pillow would clip to 255, which makes nearly every such picture white.
    grey: Image = pil.fromarray(((values + 128) // 257).astype(np.uint8))
    return grey


def _refuse(image: Image, name: str) -> Image:
    raise BadImage(
        f"pixels of mode {image.mode!r} have no known range: save the image as RGB or grey",
        reason="unsupported",
        name=name,
    )


class Box(NamedTuple):
    """Left, upper, right and lower edge."""

    left: float
    top: float
    right: float
    bottom: float


def centre_box(width: int, height: int, resolution: int) -> Box:
    """The box that remains when the short side is resized to `resolution` and the middle cropped.

    The long side is rounded down to whole pixels; the crop begins at the pixel of the resized image
    nearest to the middle, of two the even one.
    """
    short = min(width, height)
    resized = (resolution * width // short, resolution * height // short)
    left, right = _edges(width, resized[0], resolution)
    top, bottom = _edges(height, resized[1], resolution)
    return Box(left, top, right, bottom)


def random_box(
    width: int, height: int, *, draws: tuple[float, float, float], min_area: float = 1.0
) -> Box:
    """A square whose area is `min_area` to 1 of the largest one's, anywhere in the image.

    `draws` are three numbers in [0, 1): for the area, the place from left to right, and the place
    from top to bottom.
    """
    if not 0 < min_area <= 1:
        raise ValueError(f"min_area must be > 0 and ≤ 1, got {min_area}")
    area = min_area + (1 - min_area) * draws[0]
    side = min(width, height) * math.sqrt(area)
    left, top = draws[1] * (width - side), draws[2] * (height - side)
    return Box(left, top, min(left + side, width), min(top + side, height))


def _edges(size: int, resized: int, resolution: int) -> tuple[float, float]:
    first = round((resized - resolution) / 2)
    return first * size / resized, min((first + resolution) * size / resized, size)
