"""The sentences of a text, by its punctuation.

A sentence ends with its line, or with a word whose last character, closing quotes and brackets
aside, is a mark that ends sentences. A full stop does not end one after another full stop, nor
after a single letter: ``J. Smith``, ``e.g.``, ``wait...``. In texts without blanks between words,
any such mark that is not ASCII ends a sentence, wherever it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import (
    BREAK,
    LETTER,
    SPACE,
    TERMINAL,
    Classes,
    Counts,
    character_classes,
)
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Offsets

_DOT = 0x2E
_CLOSERS = np.array([ord(c) for c in "\"')]}»”’"], np.uint32)


def num_sentences(
    text: npt.NDArray[np.uint8], offsets: Offsets, enough: int, *, unspaced: bool = False
) -> Counts:
    """The sentences of texts in one UTF-8 buffer; counting ends at `enough`."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    nowhere = np.empty(0, np.int64)
    _count(text, offsets, character_classes(), _CLOSERS, enough, unspaced, counts, nowhere)
    return counts


def sentence_starts(text: npt.NDArray[np.uint8], offsets: Offsets) -> Offsets:
    """Where sentences begin in texts in one UTF-8 buffer, with or without blanks between words."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    # A sentence takes two bytes at least; a text may end with one that takes one.
    starts = np.empty(int(offsets[-1] - offsets[0]) // 2 + len(offsets), np.int64)
    every = np.iinfo(np.int64).max
    _count(text, offsets, character_classes(), _CLOSERS, every, True, counts, starts)
    return starts[: counts.sum()]


@compiled
def _count(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    classes: Classes,
    closers: npt.NDArray[np.uint32],
    enough: int,
    unspaced: bool,
    counts: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
) -> None:
    """Count the sentences of each text; `starts`, unless it is empty, gets where they begin."""
    total = 0
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        inside = False  # a sentence
        # The last three characters of the word, and the flags of the last two.
        third = second = last = np.uint32(0)
        second_flags = last_flags = np.uint8(0)
        while at < end:
            byte = text[at]
            code = np.uint32(byte) if byte < 0x80 else code_at(text, at)
            flags = classes[code]
            here = at
            at += code_size(byte)
            if not flags & SPACE:
                if not inside and not (unspaced and flags & TERMINAL):
                    if counts[document] >= enough:
                        break
                    inside = True
                    counts[document] += 1
                    if len(starts) > 0:
                        starts[total] = here
                        total += 1
                closes = False
                if not flags & LETTER:
                    for closer in closers:
                        closes |= code == closer
                if not closes:
                    third, second, last = second, last, code
                    second_flags, last_flags = last_flags, flags
                if unspaced and flags & TERMINAL and code >= 0x80:
                    inside = False
                continue
            if last_flags & TERMINAL:
                short = second == _DOT or (second_flags & LETTER and (third == 0 or third == _DOT))
                if last != _DOT or not short:
                    inside = False
            if flags & BREAK:
                inside = False
            third = second = last = np.uint32(0)
            second_flags = last_flags = np.uint8(0)
