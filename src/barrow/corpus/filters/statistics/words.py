"""Words between white space: their hashes and lengths, and what they consist of.

Words are those of ``str.split()``, with case and punctuation, as the published heuristics count
them. (For comparing texts, `barrow.corpus.kernels.word_hashes` ignores both.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import (
    LETTER,
    MARK,
    SPACE,
    Classes,
    Counts,
    character_classes,
)
from barrow.corpus.kernels.byte_hashes import START, finish, hash_bytes, mix
from barrow.corpus.kernels.jit import compiled, trailing_zeros
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, eight_byte_view

_HIGH = np.uint64(0x8080808080808080)
_CASE = np.uint64(0x2020202020202020)
_FROM_A, _AFTER_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _AFTER_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_FROM_TAB, _AFTER_RETURN = np.uint64(0x7777777777777777), np.uint64(0x7272727272727272)
_FROM_FS, _AFTER_SPACE = np.uint64(0x6464646464646464), np.uint64(0x5F5F5F5F5F5F5F5F)
_GATHER = np.uint64(0x0102040810204080)  # moves the lowest bits of eight bytes into the highest
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)


def _eight_times(byte: int) -> np.uint64:
    return np.uint64(0x0101010101010101 * byte)


_C2, _E1, _E2, _E3 = map(_eight_times, (0xC2, 0xE1, 0xE2, 0xE3))
_80, _81, _85, _9A, _A0, _10 = map(_eight_times, (0x80, 0x81, 0x85, 0x9A, 0xA0, 0x10))


class SpacedWords(NamedTuple):
    """The words of text i are ``hashes[offsets[i]:offsets[i + 1]]``, of `lengths` characters.

    For each text: `plain_words` have a character that is not punctuation, and `plain_characters`
    in all; `alphabetic_words` have a letter.
    """

    hashes: Hashes
    lengths: npt.NDArray[np.uint32]
    offsets: Offsets
    plain_words: Counts
    plain_characters: Counts
    alphabetic_words: Counts

    @property
    def num_words(self) -> Counts:
        """Words of each text."""
        return np.diff(self.offsets)


@compiled
def _spaces(chunk: np.uint64) -> np.uint64:
    """The highest bit of every byte that is white space; of eight ASCII bytes."""
    low = (chunk + _FROM_TAB) & ~(chunk + _AFTER_RETURN)
    return (low | (chunk + _FROM_FS) & ~(chunk + _AFTER_SPACE)) & _HIGH


@compiled
def _letters(chunk: np.uint64) -> np.uint64:
    """The highest bit of every byte that is a letter; of eight ASCII bytes."""
    folded = chunk | _CASE
    return (folded + _FROM_A) & ~(folded + _AFTER_Z) & _HIGH


@compiled
def _digits(chunk: np.uint64) -> np.uint64:
    """The highest bit of every byte that is a digit; of eight ASCII bytes."""
    return (chunk + _FROM_0) & ~(chunk + _AFTER_9) & _HIGH


@compiled
def _gather(marks: np.uint64) -> np.uint64:
    """The highest bits of eight bytes as one byte."""
    return (marks >> np.uint64(7)) * _GATHER >> np.uint64(56)


@compiled
def _filled(chunk: np.uint64) -> np.uint64:
    """The highest bit of every byte that is not zero."""
    return ((chunk & _SEVENS) + _SEVENS) | chunk


@compiled
def _other_spaces(eights: npt.NDArray[np.uint64], at: np.uint64) -> np.uint64:
    """Nonzero if white space that is not ASCII may begin in eight bytes: U+0085, U+00A0, U+1680,
    U+2000 to U+202F (not the dashes and quotation marks there), U+205F, U+3000.
    """
    first, second = eights[at], eights[at + np.uint64(1)]
    third = eights[at + np.uint64(2)]
    other = _filled(first ^ _C2 | second ^ _85) & _filled(first ^ _C2 | second ^ _A0)
    other &= _filled(first ^ _E1 | second ^ _9A) & _filled(first ^ _E3 | second ^ _80)
    other &= _filled(first ^ _E2 | second ^ _80 | third & _10)
    other &= _filled(first ^ _E2 | second ^ _81)
    return ~other & _HIGH


@compiled
def _num_bits(value: np.uint64) -> np.uint64:
    value -= value >> np.uint64(1) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    value = (value & pairs) + (value >> np.uint64(2) & pairs)
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return value * np.uint64(0x0101010101010101) >> np.uint64(56)


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
    """Fill the arrays. Words are runs in a bitmap of 64 bytes; one by one, where these may have
    white space that is not ASCII, and for words that are longer.
    """
    one, eight, window = np.uint64(1), np.uint64(8), np.uint64(64)
    number = np.uint64(0)
    last = np.uint64(max(0, len(text) - 72))
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        plain_words = plain_characters = alphabetic_words = np.int64(0)
        slow_until = at
        while at < end:
            if at >= slow_until and at + window <= end and at < last:
                high = spaces = letters = digits = np.uint64(0)
                for k in range(8):
                    chunk = eights[at + np.uint64(8 * k)]
                    high |= chunk
                    low, shift = chunk & _SEVENS, np.uint64(8 * k)
                    spaces |= _gather(_spaces(low) & ~chunk) << shift
                    letters |= _gather(_letters(low) & ~chunk) << shift
                    digits |= _gather(_digits(low) & ~chunk) << shift
                runs, digits = ~spaces, letters | digits
                begun = inner = other = np.uint64(0)  # bytes of characters that are not ASCII
                if high & _HIGH:
                    for k in range(8):
                        shift = np.uint64(8 * k)
                        chunk = eights[at + shift]
                        other |= _other_spaces(eights, at + shift)
                        begun |= _gather(chunk & chunk << one & _HIGH) << shift
                        inner |= _gather(chunk & ~(chunk << one) & _HIGH) << shift
                next_at = at + window
                if other == 0:
                    while runs != 0:
                        first = np.uint64(trailing_zeros(runs))
                        rest = runs + (runs & (~runs + one))
                        if rest == 0:  # it may continue after these bytes
                            next_at = at + first
                            break
                        word = runs & ~rest
                        length = np.uint64(trailing_zeros(rest)) - first
                        start, size, value = at + first, length, START
                        while size >= eight:
                            value = mix(value, eights[start])
                            start += eight
                            size -= eight
                        kept = eights[start] & ((one << size * eight) - one)
                        hashes[number] = finish(mix(value, kept), length)
                        alphabetic, plain = (letters & word) != 0, (digits & word) != 0
                        if inner & word:
                            length = _num_bits(word & ~inner)
                            left = begun & word
                            while left != 0 and not alphabetic:
                                place = at + np.uint64(trailing_zeros(left))
                                flags = classes[code_at(text, place)]
                                plain |= not flags & MARK
                                alphabetic |= (flags & LETTER) != 0
                                left &= left - one
                        lengths[number] = length
                        number += one
                        alphabetic_words += alphabetic
                        plain_words += plain
                        plain_characters += np.int64(length) * plain
                        runs &= rest
                    if next_at > at:
                        at = next_at
                        continue
                else:
                    slow_until = next_at
            byte = text[at]
            flags = classes[byte] if byte < 0x80 else classes[code_at(text, at)]
            if flags & SPACE:
                at += code_size(byte)
                continue
            start, length = at, np.uint64(0)
            plain = alphabetic = False
            while not flags & SPACE:
                plain |= not flags & MARK
                alphabetic |= (flags & LETTER) != 0
                length += one
                at += code_size(byte)
                if at >= end:
                    break
                byte = text[at]
                flags = classes[byte] if byte < 0x80 else classes[code_at(text, at)]
            hashes[number] = hash_bytes(text, eights, start, at)
            lengths[number] = length
            number += one
            alphabetic_words += alphabetic
            plain_words += plain
            plain_characters += np.int64(length) * plain
        word_offsets[document + 1] = number
        counts[0, document], counts[1, document] = plain_words, plain_characters
        counts[2, document] = alphabetic_words
    return number


def spaced_words(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    scratch: Scratch,
    *,
    scan: Callable[..., np.uint64] = _scan,
    classes: Classes | None = None,
) -> SpacedWords:
    """The words of texts in one UTF-8 buffer; valid until the scratch is used again.

    `scan` finds them, with its classes of characters: by default those between white space.
    """
    most = int(offsets[-1] - offsets[0]) // 2 + len(offsets)
    hashes = scratch.take("spaced-words", most, np.uint64)
    lengths = scratch.take("spaced-word-lengths", most, np.uint32)
    word_offsets = np.zeros(len(offsets), np.int64)
    counts = np.empty((3, len(offsets) - 1), np.int64)
    number = scan(
        text,
        eight_byte_view(text),
        offsets,
        character_classes() if classes is None else classes,
        hashes,
        lengths,
        word_offsets,
        counts,
    )
    return SpacedWords(hashes[:number], lengths[:number], word_offsets, *counts)
