"""Documents for filters: their texts in one buffer, and statistics that filters share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.archive.block import Block
from barrow.corpus.filters.statistics.statistics import Statistics
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Words, word_hashes


class Texts:
    """The texts of some documents.

    Text i is ``text[offsets[i]:offsets[i + 1]]``, in UTF-8, and `metas[i]` its metadata. What
    several filters need is computed once, on first use. Texts that are `unspaced` are in scripts
    without blanks between words.
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        metas: Sequence[dict[str, Any]],
        scratch: Scratch,
        *,
        unspaced: bool = False,
    ) -> None:
        self.text = text
        self.unspaced = unspaced
        self.offsets = offsets
        self.metas = metas
        self.scratch = scratch
        self.remembered: dict[Any, Any] = {}  # results that may be needed again

    @classmethod
    def of_block(cls, block: Block, scratch: Scratch) -> Texts:
        """The documents of a block."""
        return cls(block.text, block.offsets, block.metas(), scratch)

    @classmethod
    def of_strings(
        cls, texts: Sequence[str], metas: Sequence[dict[str, Any]], scratch: Scratch
    ) -> Texts:
        """Documents that are strings."""
        data = [text.encode() for text in texts]
        offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(data), np.uint8), offsets, metas, scratch)

    def replaced(self, new: Mapping[int, str]) -> Texts:
        """The same documents, some of them with other texts."""
        pieces: list[npt.NDArray[np.uint8]] = []
        sizes = self.sizes
        at = 0
        for i in sorted(new):
            data = np.frombuffer(new[i].encode(), np.uint8)
            pieces += (self.text[self.offsets[at] : self.offsets[i]], data)
            sizes[i] = len(data)
            at = i + 1
        pieces.append(self.text[self.offsets[at] : self.offsets[-1]])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Texts(np.concatenate(pieces), offsets, self.metas, self.scratch)

    def chosen(self, rows: npt.NDArray[np.int64], *, unspaced: bool = False) -> Texts:
        """Some of the documents; valid until some are chosen again."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes[rows])])
        scratch = self.scratch.part("chosen")
        text = scratch.take("text", int(offsets[-1]), np.uint8)
        for row, start, end in zip(rows.tolist(), offsets, offsets[1:], strict=False):
            text[start:end] = self.text[self.offsets[row] : self.offsets[row + 1]]
        metas = [self.metas[row] for row in rows.tolist()]
        return Texts(text, offsets, metas, scratch, unspaced=unspaced)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text_of(self, i: int) -> str:
        """Text i."""
        return self.text[self.offsets[i] : self.offsets[i + 1]].tobytes().decode()

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """UTF-8 bytes of each text."""
        return np.diff(self.offsets)

    @cached_property
    def words(self) -> Words:
        """Hashes of the words; valid until those of other texts in the same scratch are made."""
        return word_hashes(self.text, self.offsets, self.scratch)

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of characters, words, lines and n-grams."""
        return Statistics(self.text, self.offsets, self.scratch, unspaced=self.unspaced)
