"""Bicubic interpolation in float64, from its definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def kernel(x: npt.NDArray[np.float64], a: float = -0.5) -> npt.NDArray[np.float64]:
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def weights(size: int, first: float, last: float, out: int) -> npt.NDArray[np.float64]:
    """[out, size]: what each source pixel adds to each pixel of the stretch [first, last)."""
    scale = (last - first) / out
    support = max(scale, 1.0)
    centres = first + (np.arange(out) + 0.5) * scale
    raw = kernel((np.arange(size) + 0.5 - centres[:, None]) / support)
    return raw / raw.sum(1, keepdims=True)


def resized(
    pixels: npt.NDArray[np.uint8], box: tuple[float, float, float, float], out: int
) -> npt.NDArray[np.float64]:
    """[h, w, c] to [out, out, c]: rows of pixels first, clipped as bytes are, then columns."""
    left, top, right, bottom = box
    across = weights(pixels.shape[1], left, right, out)
    down = weights(pixels.shape[0], top, bottom, out)
    half = np.clip(np.einsum("ow,hwc->hoc", across, pixels.astype(np.float64)), 0, 255)
    return np.clip(np.einsum("oh,hwc->owc", down, half), 0, 255)


def levels_apart(
    ours: npt.NDArray[np.uint8],
    pixels: npt.NDArray[np.uint8],
    box: tuple[float, float, float, float],
) -> float:
    """The most that pixels differ by, in the order of the passes that is nearer: clipping between
    them makes their order show, and Pillow chooses it by the sizes.
    """
    left, top, right, bottom = box
    size = len(ours)
    one = resized(pixels, box, size)
    other = resized(pixels.swapaxes(0, 1), (top, left, bottom, right), size).swapaxes(0, 1)
    return float(min(np.abs(ours - one).max(), np.abs(ours - other).max()))
