"""Words in scripts that have no blanks between them: blanks are put there, one character a word.

A word of Chinese, Japanese, Thai, Lao, Khmer or Burmese text is a letter with the marks that belong
to it, vowel signs and punctuation after it included. One of Tibetan is a syllable, with the point
after it. Latin letters and digits among them are words of their own. All that counts words, their
lengths, n-grams and sentences then works as it does for English.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import LETTER, SPACE, Classes, character_classes
from barrow.corpus.kernels.characters import NUM_CODES
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Offsets

_PLAIN, _BEFORE, _AFTER, _JOINS = range(4)  # where a blank goes
# Thai, Lao, Burmese, Khmer, kana, bopomofo, Han; of these, what is a letter.
_RANGES = (
    *((0xE00, 0xE80), (0xE80, 0xF00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3005, 0x3008)),
    *((0x3040, 0x3130), (0x31A0, 0x31C0), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000)),
    *((0xA9E0, 0xAA00), (0xAA60, 0xAA80), (0xF900, 0xFB00), (0xFF66, 0xFFA0), (0x20000, 0x323B0)),
)
_TIBETAN_POINTS = (0xF0B, 0xF0C)
_JOINERS = (0x17D2, 0x1039)  # the next letter is written below: Khmer, Burmese


@cache
def _places() -> npt.NDArray[np.uint8]:
    places = np.zeros(NUM_CODES, np.uint8)
    for first, last in _RANGES:
        codes = [c for c in range(first, last) if unicodedata.category(chr(c))[0] == "L"]
        places[codes] = _BEFORE
    places[list(_TIBETAN_POINTS)] = _AFTER
    places[list(_JOINERS)] = _JOINS
    return places


def with_blanks(
    text: npt.NDArray[np.uint8], offsets: Offsets, scratch: Scratch
) -> tuple[npt.NDArray[np.uint8], Offsets]:
    """The texts of a UTF-8 buffer with blanks between words; valid until the scratch is reused."""
    # A letter of such a script has 3 bytes; a letter that follows one may have 1.
    out = scratch.take("with-blanks", 2 * len(text) + 1, np.uint8)
    new = np.zeros(len(offsets), np.int64)
    size = _spread(text, offsets, _places(), character_classes(), out, new)
    return out[:size], new


@compiled
def _spread(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    places: npt.NDArray[np.uint8],
    classes: Classes,
    out: npt.NDArray[np.uint8],
    new: Offsets,
) -> np.uint64:
    one, size = np.uint64(1), np.uint64(0)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        in_word = after_blank = False  # of such a script
        while at < end:
            byte = text[at]
            if byte < 0x80:
                letter = 0x30 <= byte <= 0x39 or 0x41 <= byte & 0xDF <= 0x5A
                if in_word and letter:
                    out[size] = 0x20
                    size += one
                in_word &= not letter
                out[size] = byte
                size += one
                at += one
                after_blank = byte <= 0x20
                continue
            code = code_at(text, at)
            place, flags = places[code], classes[code]
            if (place == _BEFORE and not after_blank) or (
                in_word and place == _PLAIN and flags & LETTER
            ):
                out[size] = 0x20
                size += one
            in_word = place == _BEFORE or (in_word and not flags & LETTER)
            after_blank = place >= _AFTER or (flags & SPACE) != 0
            for _ in range(code_size(byte)):
                out[size] = text[at]
                size += one
                at += one
            if place == _AFTER and at < end:
                out[size] = 0x20
                size += one
        new[document + 1] = size
    return size
