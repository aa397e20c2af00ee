"""A batch of token rows, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PLACED = ("tokens", "targets", "segments", "positions", "mask")


@dataclass(frozen=True, eq=False)
class Batch:
    """B rows of L tokens, and what a model needs to know about each.

    `targets` is the id that follows a token in its document; after the last token of a document it
    is the id that begins the next one: "the document ends here". `mask` is true where the target
    counts; elsewhere it is ignored. With masked language modelling `tokens` has masks, `targets`
    has the original tokens, and `mask` is true at the tokens to predict.

    `segments` numbers the documents of a row 1, 2, …; padding has 0. `positions` counts from 0 in
    every segment. `documents[b, s - 1]` is the document, by its number in the store, of segment s
    of row b; −1 where the row has no such segment.
    """

    tokens: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]
    segments: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int32]
    mask: npt.NDArray[np.bool_]
    documents: npt.NDArray[np.int64]

    def arrays(self) -> dict[str, npt.NDArray[np.int32] | npt.NDArray[np.bool_]]:
        """The arrays of shape [B, L], by name: what goes to a device."""
        return {name: getattr(self, name) for name in PLACED}

    @property
    def num_tokens(self) -> int:
        """Tokens without padding."""
        return int(np.count_nonzero(self.segments))
