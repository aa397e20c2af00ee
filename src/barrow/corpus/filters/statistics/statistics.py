"""Statistics for heuristics: characters, words, lines, n-grams; each is computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import CharacterCounts, character_counts
from barrow.corpus.filters.statistics.lines import Lines, line_counts
from barrow.corpus.filters.statistics.repeated_ngrams import RepeatedNgrams, repeated_ngrams
from barrow.corpus.filters.statistics.unspaced import unspaced_words
from barrow.corpus.filters.statistics.words import SpacedWords, spaced_words
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Offsets


class Statistics:
    """Statistics of the texts of a buffer, computed when first used.

    Hashes and lengths are valid until statistics of other texts are computed with the same scratch;
    counts, one per text, for ever.
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        offsets: Offsets,
        scratch: Scratch,
        *,
        unspaced: bool = False,
    ) -> None:
        self._text = text
        self._unspaced = unspaced
        self._offsets = offsets
        self._scratch = scratch

    @cached_property
    def characters(self) -> CharacterCounts:
        """Characters by kind."""
        return character_counts(self._text, self._offsets)

    @cached_property
    def words(self) -> SpacedWords:
        """Words between white space; in scripts without it letters, if the texts are such."""
        words = unspaced_words if self._unspaced else spaced_words
        return words(self._text, self._offsets, self._scratch)

    @cached_property
    def lines(self) -> Lines:
        """Lines and paragraphs."""
        return line_counts(self._text, self._offsets, self.characters, self._scratch)

    @cached_property
    def ngrams(self) -> RepeatedNgrams:
        """Repeated sequences of words."""
        return repeated_ngrams(self.words, self._scratch)


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """``part / whole``, and 0 where `whole` is 0."""
    return np.asarray(part / np.maximum(whole, 1), np.float64)
