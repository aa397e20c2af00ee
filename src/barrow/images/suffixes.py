"""Files that are images, by their names."""

from __future__ import annotations

from pathlib import PurePath

SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".avif", ".gif"),
    *(".bmp", ".tif", ".tiff", ".ppm", ".pgm"),
)


def is_image(name: str | PurePath) -> bool:
    """Whether a file is an image, by its name."""
    return PurePath(name).suffix.lower() in SUFFIXES
