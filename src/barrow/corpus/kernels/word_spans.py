"""The bytes of words in texts: where each begins, and the one after its last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.characters import (
    ALONE,
    KIND_SHIFT,
    LETTER,
    NOTHING,
    SEPARATOR,
    characters,
)
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Offsets


class Spans(NamedTuple):
    """The words of text i are those from ``offsets[i]`` to ``offsets[i + 1]``; `starts` and `ends`
    are places in the buffer. They are the words of `word_hashes`, one by one.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    offsets: Offsets


def word_spans(text: npt.NDArray[np.uint8], offsets: Offsets, scratch: Scratch) -> Spans:
    """The spans of the words of texts in one UTF-8 buffer, from letter to letter.

    Marks of the last letter (accents, vowel signs) are after the word's end.
    """
    size = int(offsets[-1] - offsets[0]) // 2 + 2 * len(offsets)
    starts = scratch.take("word starts", size, np.int64)
    ends = scratch.take("word ends", size, np.int64)
    word_offsets = np.empty(len(offsets), np.int64)
    number = _find_words(text, offsets, characters().entries, starts, ends, word_offsets)
    return Spans(starts[:number], ends[:number], word_offsets)


@compiled
def _find_words(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    entries: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    word_offsets: Offsets,
) -> np.uint64:
    num_words = np.uint64(0)
    one = np.uint64(1)
    for document in range(len(offsets) - 1):
        word_offsets[document] = num_words
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        inside = False
        while at < end:
            byte, start = text[at], at
            code = code_at(text, at)
            at += code_size(byte)
            kind = entries[code] >> np.uint32(KIND_SHIFT)
            if kind == NOTHING:
                continue
            if inside and kind != LETTER:
                num_words += one
                inside = False
            if kind == SEPARATOR:
                continue
            if not inside:
                starts[num_words] = start
            ends[num_words] = at
            inside = True
            if kind == ALONE:
                num_words += one
                inside = False
        if inside:
            num_words += one
    word_offsets[len(offsets) - 1] = num_words
    return num_words
