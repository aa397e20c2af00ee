"""Pixels to the input of CLIP's image towers."""

from __future__ import annotations

from typing import Any

import numpy as np

# Mean and standard deviation of the channels, red, green, blue, of pixels from 0 to 1.
MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)


def normalise(images: Any) -> Any:
    """uint8 [..., 3] to float32, (x / 255 − mean) / std by channel.

    NumPy arrays become NumPy arrays, and JAX arrays JAX arrays: normalised on the device, only a
    quarter of the bytes is sent there.
    """
    if images.dtype != np.uint8 or images.shape[-1] != 3:
        raise ValueError(
            f"expected uint8 pixels with 3 channels last, got {images.dtype} {images.shape}"
        )
    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)
    return (images.astype(np.float32) / np.float32(255) - mean) / std
