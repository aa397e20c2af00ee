"""Images as CLIP's image towers take them.

OpenAI's recipe: the short side resized to the model's resolution by bicubic interpolation, the
middle cut out, RGB, channels normalised.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from barrow.images import LIMITS, ImageLike, Limits, load_images, normalise


def preprocess(
    images: Sequence[ImageLike],
    *,
    resolution: int,
    background: tuple[int, int, int] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
) -> npt.NDArray[np.float32]:
    """Images as float32 [n, resolution, resolution, 3], normalised; see `barrow.images`.

    Paths, bytes of files, Pillow images or arrays of pixels. `BadImage` names one that is corrupt,
    cut off or too large.
    """
    pixels = load_images(
        images, resolution=resolution, background=background, limits=limits, threads=threads
    )
    normalised: npt.NDArray[np.float32] = normalise(pixels)
    return normalised
