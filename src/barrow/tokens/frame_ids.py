"""Documents between their begin and end ids."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.tokens.offsets import offsets_of


def frame_ids(
    ids: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    *,
    begin: int | None,
    end: int | None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Each document's ids with `begin` before and `end` after them, and where they are now.

    A document without ids stays without: there is nothing in it to learn or to predict.
    """
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    ends = [(place, id_) for place, id_ in ((0, begin), (1, end)) if id_ is not None]
    # Between two documents the end of one comes first; insert keeps the order of equal places.
    places = np.stack([offsets[full + place] for place, _ in ends], 1) if ends else offsets[:0]
    values = np.tile(np.array([id_ for _, id_ in ends], np.uint32), len(full))
    lengths[full] += len(ends)
    return np.insert(ids, places.ravel(), values), offsets_of(lengths)
