"""Words in scripts that have no blanks between them: one letter a word.

A word of Chinese, Japanese, Thai, Lao, Khmer or Burmese text is a letter with what follows it up to
the next: the vowel signs and marks that belong to it, and punctuation. One of Tibetan is a syllable
with the point after it. Letters and digits of other scripts among them are words of their own. All
that counts words, their lengths and n-grams then works as it does for English.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import (
    DIGIT,
    LETTER,
    MARK,
    SPACE,
    Classes,
    character_classes,
)
from barrow.corpus.filters.statistics.words import SpacedWords, spaced_words
from barrow.corpus.kernels.byte_hashes import START, finish, hash_bytes, mix
from barrow.corpus.kernels.characters import NUM_CODES
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Hashes, Offsets

# What a character is, and what it does to a word: in one table, looked up once.
_SPACE, _LETTER, _DIGIT, _PLAIN, _BEGINS, _ENDS, _JOINS = (1 << bit for bit in range(7))
# What a word ends before: without a letter of such a script in it, and with one.
_BEFORE, _AFTER = np.uint8(_SPACE | _BEGINS), np.uint8(_SPACE | _BEGINS | _LETTER | _DIGIT)
# Thai, Lao, Burmese, Khmer, kana, bopomofo, Han; of these, what is a letter.
_RANGES = (
    *((0xE00, 0xE80), (0xE80, 0xF00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3005, 0x3008)),
    *((0x3040, 0x3130), (0x31A0, 0x31C0), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000)),
    *((0xA9E0, 0xAA00), (0xAA60, 0xAA80), (0xF900, 0xFB00), (0xFF66, 0xFFA0), (0x20000, 0x323B0)),
)
_TIBETAN_POINTS = (0xF0B, 0xF0C)
_JOINERS = (0x17D2, 0x1039)  # the next letter is written below: Khmer, Burmese


@cache
def _classes() -> Classes:
    known = character_classes()
    classes = np.zeros(NUM_CODES, np.uint8)
    for flag, of_known in ((_SPACE, SPACE), (_LETTER, LETTER), (_DIGIT, DIGIT)):
        classes[(known & of_known) != 0] |= flag
    classes[(known & MARK) == 0] |= _PLAIN
    for first, last in _RANGES:
        codes = [c for c in range(first, last) if unicodedata.category(chr(c))[0] == "L"]
        classes[codes] |= _BEGINS
    classes[list(_TIBETAN_POINTS)] |= _ENDS
    classes[list(_JOINERS)] |= _JOINS
    return classes


def unspaced_words(text: npt.NDArray[np.uint8], offsets: Offsets, scratch: Scratch) -> SpacedWords:
    """The words of texts in one UTF-8 buffer; valid until the scratch is used again."""
    return spaced_words(text, offsets, scratch, scan=_scan, classes=_classes())


@compiled
def _scan(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    classes: Classes,
    hashes: Hashes,
    lengths: npt.NDArray[np.uint32],
    word_offsets: Offsets,
    counts: npt.NDArray[np.int64],
) -> np.uint64:
    one, eight, number = np.uint64(1), np.uint64(8), np.uint64(0)
    whole = np.uint64(len(eights))  # from here on there are fewer than eight bytes
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        plain_words = plain_characters = alphabetic_words = np.int64(0)
        while at < end:
            start, length, seen, ends = at, np.uint32(0), np.uint8(0), np.uint8(_SPACE)
            while at < end:
                byte = text[at]
                kind = classes[byte] if byte < 0x80 else classes[code_at(text, at)]
                if kind & ends:
                    break
                seen |= kind
                length += np.uint32(1)
                at += code_size(byte)
                # A letter of such a script begins a word, any other one too that follows it.
                if kind & (_ENDS | _JOINS):
                    if kind & _ENDS:
                        break
                    ends = np.uint8(_SPACE)
                else:
                    ends = _AFTER if seen & _BEGINS else _BEFORE
            size = at - start
            if size == 0:
                at += code_size(text[at])
                continue
            if size < eight and start < whole:  # most: the same hash without a loop
                chunk = eights[start] & ((one << size * eight) - one)
                hashes[number] = finish(mix(START, chunk), size)
            else:
                hashes[number] = hash_bytes(text, eights, start, at)
            lengths[number] = length
            number += one
            plain = (seen & _PLAIN) != 0
            plain_words += plain
            plain_characters += np.int64(length) * plain
            alphabetic_words += (seen & _LETTER) != 0
        word_offsets[document + 1] = number
        counts[0, document], counts[1, document] = plain_words, plain_characters
        counts[2, document] = alphabetic_words
    return number
