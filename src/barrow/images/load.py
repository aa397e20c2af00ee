"""Many images at once, decoded on threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from barrow.ahead import available_cores, map_ahead
from barrow.errors import BadImage
from barrow.images.decode import LIMITS, Limits, decode, pillow
from barrow.images.square import Colour, centre_square

if TYPE_CHECKING:
    from PIL.Image import Image

ImageLike: TypeAlias = Union[str, os.PathLike[str], bytes, "Image", npt.NDArray[np.uint8]]


def load_images(
    images: Sequence[ImageLike],
    *,
    resolution: int,
    background: Colour | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
) -> npt.NDArray[np.uint8]:
    """The middle squares of images as uint8 [n, resolution, resolution, 3].

    An image is a path, the bytes of a file, a Pillow image, or an array of pixels [height, width,
    3]. Raises `BadImage` with the name of the first that cannot be used. Pillow releases the GIL,
    so `threads`, by default one per core, decode in parallel.
    """
    if isinstance(images, str | bytes | os.PathLike):
        raise TypeError("expected several images, got one: put it in a list")
    if resolution < 1:
        raise ValueError(f"resolution: expected 1 or more pixels, got {resolution}")
    out = np.empty((len(images), resolution, resolution, 3), np.uint8)

    def one(number: int) -> None:
        image, name = _opened(images[number], number, limits)
        out[number] = centre_square(image, resolution=resolution, background=background, name=name)

    on_threads(one, len(images), threads=threads)
    return out


def on_threads(function: Callable[[int], None], count: int, *, threads: int | None) -> None:
    """Call a function with 0 to count − 1; of several errors the first by number is raised."""
    threads = available_cores() if threads is None else threads
    if threads < 1:
        raise ValueError(f"threads must be ≥ 1, got {threads}")
    for _ in map_ahead(function, range(count), threads=min(threads, count), depth=count):
        pass


def _opened(image: ImageLike, number: int, limits: Limits) -> tuple[Image, str]:
    if isinstance(image, bytes):
        name = f"image {number}"
        return decode(image, name=name, limits=limits), name
    if isinstance(image, str | os.PathLike):
        name = os.fspath(image)
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise BadImage(str(error.strerror), reason="missing", name=name) from None
        return decode(data, name=name, limits=limits), name
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise ValueError(
                f"image {number}: expected uint8 pixels [height, width, 3], got {image.dtype} "
                f"{list(image.shape)}"
            )
        converted: Image = pillow("resizing images").fromarray(image)
        return converted, f"image {number}"
    if not hasattr(image, "resize"):
        raise TypeError(
            f"image {number}: expected a path, bytes, a Pillow image or pixels, got "
            f"{type(image).__name__}"
        )
    return image, getattr(image, "filename", "") or f"image {number}"
