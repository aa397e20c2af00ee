"""A batch of image–text pairs, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PLACED = ("images", "texts", "mask")


@dataclass(frozen=True, eq=False)
class PairBatch:
    """B images of R × R pixels, and a text for each.

    `images` is uint8 [B, R, R, 3] (`barrow.images.normalise` makes model inputs of it, on the
    device), `texts` int32 [B, context] ids. `mask` is true for a pair; the end of a last, partial
    batch is padding: black images, texts of no words. `pairs` has the number of each pair in the
    index and `captions` which of its captions was taken; −1 in padding.
    """

    images: npt.NDArray[np.uint8]
    texts: npt.NDArray[np.int32]
    mask: npt.NDArray[np.bool_]
    pairs: npt.NDArray[np.int64]
    captions: npt.NDArray[np.int64]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What goes to a device, by name."""
        return {name: getattr(self, name) for name in PLACED}

    @property
    def num_pairs(self) -> int:
        """Pairs without padding."""
        return int(np.count_nonzero(self.mask))
