"""A sample of what was tokenized, tokenized again by the reference.

A fast encoder may differ from the reference on some texts; so every task compares a sample of its
texts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.archive import Block
from barrow.errors import StoreError
from barrow.tokens.tokenizer import Tokenizer

# The reference may be sixty times slower: of a task's bytes, one in so many is checked, and at
# least so many.
_SHARE = 4096
_AT_LEAST = 1 << 14

_ODD = 0x9E3779B97F4A7C15


class ReferenceCheck:
    """The check of one task; the documents it checks depend on their sizes and numbers."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._budget = _AT_LEAST * _SHARE

    def look_at(
        self, block: Block, ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64]
    ) -> None:
        """Compare at most one document of a block with the reference."""
        self._budget += block.num_text_bytes
        i = chosen(np.diff(block.offsets), block.numbers[0], self._budget // _SHARE)
        if i is None:
            return
        text = block.text_of(i)
        self._budget -= int(block.offsets[i + 1] - block.offsets[i]) * _SHARE
        wanted = self._tokenizer.encode_by_reference(text)
        found = ids[offsets[i] : offsets[i + 1]]
        if np.array_equal(wanted, found):
            return
        same = min(len(wanted), len(found))
        at = int(np.argmax(np.append(wanted[:same] != found[:same], True)))
        raise StoreError(
            f"document {block.numbers[i]:,}: the reference gives {len(wanted):,} ids, "
            f"{_shown(wanted, at)} from token {at:,} on; the fast encoder {len(found):,} ids, "
            f"{_shown(found, at)}. The encoder is wrong for this text: nothing was kept",
            reason="differs-from-reference",
            file=block.shard,
        )


def chosen(sizes: npt.NDArray[np.int64], number: int, budget: int) -> int | None:
    """Which document of a block to look at: one of at most `budget` bytes, or none.

    It is the first that fits after a place that varies with the `number` of the block's first.
    """
    fitting = np.flatnonzero((sizes > 0) & (sizes <= budget))
    if not len(fitting):
        return None
    scattered = (((number + 1) * _ODD) >> 32 & 0xFFFFFFFF) % len(sizes)
    return int(fitting[np.searchsorted(fitting, scattered) % len(fitting)])


def _shown(ids: npt.NDArray[np.uint32], at: int) -> str:
    return " ".join(map(str, ids[at : at + 5].tolist())) or "none"
