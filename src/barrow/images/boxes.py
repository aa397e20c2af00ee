"""Which square of an image is looked at.

A box is in the image's own pixels and may begin and end between two. An image is resized and cut at
once: only what is in the box is computed, and a picture a million pixels wide costs no more than
its middle.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Box(NamedTuple):
    """Left, upper, right and lower edge."""

    left: float
    top: float
    right: float
    bottom: float


def centre_box(width: int, height: int, resolution: int) -> Box:
    """What is left when the short side is resized to `resolution` and the middle is cut out.

    The long side becomes a whole number of pixels, rounded down; the cut begins at a whole pixel of
    the resized image, the nearest to the middle, and the even one of two.
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
        raise ValueError(f"min_area is a share above 0 and up to 1, not {min_area}")
    area = min_area + (1 - min_area) * draws[0]
    side = min(width, height) * math.sqrt(area)
    left, top = draws[1] * (width - side), draws[2] * (height - side)
    return Box(left, top, min(left + side, width), min(top + side, height))


def _edges(size: int, resized: int, resolution: int) -> tuple[float, float]:
    first = round((resized - resolution) / 2)
    return first * size / resized, min((first + resolution) * size / resized, size)
