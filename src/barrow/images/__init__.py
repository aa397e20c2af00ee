"""Image files to square arrays, the input of image models."""

from __future__ import annotations

from barrow.images.decode import FORMATS, LIMITS, Limits, decode
from barrow.images.load import ImageLike, load_images
from barrow.images.normalise import MEAN, STD, normalise
from barrow.images.square import Box, centre_box, centre_square, random_box, square

__all__ = [
    "FORMATS",
    "LIMITS",
    "MEAN",
    "STD",
    "Box",
    "ImageLike",
    "Limits",
    "centre_box",
    "centre_square",
    "decode",
    "load_images",
    "normalise",
    "random_box",
    "square",
]
