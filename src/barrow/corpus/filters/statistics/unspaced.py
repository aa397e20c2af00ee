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
from barrow.corpus.filters.statistics.words import SpacedWords
from barrow.corpus.kernels.byte_hashes import START, finish, hash_bytes, mix
from barrow.corpus.kernels.characters import NUM_CODES
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, eight_byte_view

_PLAIN, _BEGINS, _ENDS, _JOINS = range(4)  # what a character does to a word
# Thai, Lao, Burmese, Khmer, kana, bopomofo, Han; of these, what is a letter.
_RANGES = (
    *((0xE00, 0xE80), (0xE80, 0xF00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3005, 0x3008)),
    *((0x3040, 0x3130), (0x31A0, 0x31C0), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000)),
    *((0xA9E0, 0xAA00), (0xAA60, 0xAA80), (0xF900, 0xFB00), (0xFF66, 0xFFA0), (0x20000, 0x323B0)),
)
_TIBETAN_POINTS = (0xF0B, 0xF0C)
_JOINERS = (0x17D2, 0x1039)  # the next letter is written below: Khmer, Burmese


@cache
def _roles() -> npt.NDArray[np.uint8]:
    roles = np.zeros(NUM_CODES, np.uint8)
    for first, last in _RANGES:
        codes = [c for c in range(first, last) if unicodedata.category(chr(c))[0] == "L"]
        roles[codes] = _BEGINS
    roles[list(_TIBETAN_POINTS)] = _ENDS
    roles[list(_JOINERS)] = _JOINS
    return roles


def unspaced_words(text: npt.NDArray[np.uint8], offsets: Offsets, scratch: Scratch) -> SpacedWords:
    """The words of texts in one UTF-8 buffer; valid until the scratch is used again."""
    most = int(offsets[-1] - offsets[0]) // 2 + len(offsets)
    hashes = scratch.take("spaced-words", most, np.uint64)
    lengths = scratch.take("spaced-word-lengths", most, np.uint32)
    word_offsets = np.zeros(len(offsets), np.int64)
    counts = np.zeros((3, len(offsets) - 1), np.int64)
    number = _scan(
        text,
        eight_byte_view(text),
        offsets,
        _roles(),
        character_classes(),
        hashes,
        lengths,
        word_offsets,
        counts,
    )
    return SpacedWords(hashes[:number], lengths[:number], word_offsets, *counts)


@compiled
def _scan(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    roles: npt.NDArray[np.uint8],
    classes: Classes,
    hashes: Hashes,
    lengths: npt.NDArray[np.uint32],
    word_offsets: Offsets,
    counts: npt.NDArray[np.int64],
) -> np.uint64:
    one, eight, number = np.uint64(1), np.uint64(8), np.uint64(0)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        while at < end:
            start, length, value = at, np.uint32(0), np.uint64(0)
            plain = alphabetic = begun = joined = False
            while at < end:
                byte = text[at]
                code = np.uint32(byte) if byte < 0x80 else code_at(text, at)
                flags, role = classes[code], roles[code]
                # A letter of such a script begins a word, any other one too that follows it.
                if flags & SPACE or (
                    at > start
                    and not joined
                    and (role == _BEGINS or (begun and (flags & (LETTER | DIGIT))))
                ):
                    break
                begun |= role == _BEGINS
                joined = role == _JOINS
                plain |= not flags & MARK
                alphabetic |= (flags & LETTER) != 0
                length += np.uint32(1)
                for _ in range(code_size(byte)):
                    value |= np.uint64(text[at]) << ((at - start) & np.uint64(7)) * eight
                    at += one
                if role == _ENDS:
                    break
            if at == start:
                at += code_size(text[at])
                continue
            size = at - start
            short = size < eight  # most are: the same hash without a second look
            hashes[number] = (
                finish(mix(START, value), size) if short else hash_bytes(text, eights, start, at)
            )
            lengths[number] = length
            number += one
            counts[0, document] += plain
            counts[1, document] += np.int64(length) * plain
            counts[2, document] += alphabetic
        word_offsets[document + 1] = number
    return number
