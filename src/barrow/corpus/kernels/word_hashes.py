"""The words of texts as 64-bit hashes, without an object for each.

A word is a run of letters and digits of `barrow.corpus.kernels.characters`. Shingles, signatures
and n-gram matches are all computed from these hashes, so a text is read once.
"""

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
    SEQUENCE,
    VALUE_MASK,
    characters,
)
from barrow.corpus.kernels.jit import compiled, trailing_zeros
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

_HIGH = np.uint64(0x8080808080808080)
_CASE = np.uint64(0x2020202020202020)
_FROM_A, _AFTER_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _AFTER_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_GATHER = np.uint64(0x0102040810204080)  # moves the lowest bits of eight bytes into the highest
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Words(NamedTuple):
    """The words of text i are ``hashes[offsets[i]:offsets[i + 1]]``."""

    hashes: Hashes
    offsets: Offsets


def word_hashes(text: npt.NDArray[np.uint8], offsets: Offsets, scratch: Scratch) -> Words:
    """Hashes of the words of texts in one UTF-8 buffer, as in a block."""
    table = characters()
    num_bytes = int(offsets[-1] - offsets[0])
    # Every word takes two bytes at least; a text may end with one that takes one.
    hashes = scratch.take("words", num_bytes // 2 + 2 * len(offsets), np.uint64)
    word_offsets = np.empty(len(offsets), np.int64)
    num_words = _hash_words(
        text,
        eight_byte_view(text),
        offsets,
        table.entries,
        table.sequences,
        hashes,
        word_offsets,
    )
    return Words(hashes[:num_words], word_offsets)


def eight_byte_view(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """The 8 bytes from each place as a little-endian number."""
    return np.ndarray(max(0, len(text) - 7), "<u8", buffer=text.data, strides=(1,))


@compiled
def finish_hash(value: np.uint64) -> np.uint64:
    """Spread every bit over all (the finaliser of MurmurHash3)."""
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value


@compiled
def _letters(chunk: np.uint64) -> np.uint64:
    """The highest bit of every byte that is an ASCII letter or digit; of eight ASCII bytes."""
    folded = chunk | _CASE
    letters = (folded + _FROM_A) & ~(folded + _AFTER_Z)
    return (letters | (chunk + _FROM_0) & ~(chunk + _AFTER_9)) & _HIGH


@compiled
def _hash_words(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    entries: npt.NDArray[np.uint32],
    sequences: npt.NDArray[np.uint32],
    hashes: Hashes,
    word_offsets: Offsets,
) -> np.uint64:
    """Fill `hashes` and `word_offsets`; `eights[i]` is the number of the 8 bytes from i.

    The hash of a word mixes in its folded characters in order: those below 128 eight at a time,
    others one by one. Where 64 bytes are ASCII, words are found as runs in a bitmap, and most are
    hashed from one number; everything else is read character by character.
    """
    num_words = np.uint64(0)
    one, eight = np.uint64(1), np.uint64(8)
    last_word = max(0, len(text) - 72)
    for document in range(len(offsets) - 1):
        word_offsets[document] = num_words
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        slow_until = at
        word, held, num_held = _START, np.uint64(0), np.uint64(0)
        inside = False
        while at < end:
            if not inside and at >= slow_until and at + np.uint64(64) <= end and at < last_word:
                high, runs = np.uint64(0), np.uint64(0)
                for k in range(8):
                    chunk = eights[at + np.uint64(8 * k)]
                    high |= chunk
                    runs |= (
                        (_letters(chunk) >> np.uint64(7)) * _GATHER >> np.uint64(56)
                    ) << np.uint64(8 * k)
                slow_until = at + np.uint64(64)
                if high & _HIGH == 0:
                    next_at = slow_until
                    while runs != 0:
                        first = np.uint64(trailing_zeros(runs))
                        rest = runs + (runs & (~runs + one))
                        if rest == 0:  # it may continue after these bytes
                            next_at = at + first
                            break
                        start, size = at + first, np.uint64(trailing_zeros(rest)) - first
                        value = _START
                        while size > eight:
                            value = (value ^ (eights[start] | _CASE)) * _PRIME
                            start += eight
                            size -= eight
                        kept = (eights[start] | _CASE) & (_ALL >> (np.uint64(64) - size * eight))
                        hashes[num_words] = finish_hash((value ^ kept) * _PRIME)
                        num_words += one
                        runs &= rest
                    if next_at > at:
                        at = slow_until = next_at
                        continue
            code = code_at(text, at)
            at += code_size(text[at])
            entry = entries[code]
            kind = entry >> np.uint32(KIND_SHIFT)
            if kind == NOTHING:
                continue
            if kind != LETTER and inside:
                hashes[num_words] = finish_hash(word if num_held == 0 else (word ^ held) * _PRIME)
                num_words += one
                word, held, num_held, inside = _START, np.uint64(0), np.uint64(0), False
            if kind == SEPARATOR:
                continue
            value = entry & np.uint32(VALUE_MASK)
            place = np.uint64(value)
            while True:
                if entry & np.uint32(SEQUENCE):
                    value = sequences[place]
                    place += one
                    if value == 0:
                        break
                if value < 128:
                    held |= np.uint64(value) << (num_held * eight)
                    num_held += one
                else:
                    if num_held > 0:
                        word = (word ^ held) * _PRIME
                        held, num_held = np.uint64(0), np.uint64(0)
                    word = (word ^ np.uint64(value)) * _PRIME
                if num_held == eight:
                    word = (word ^ held) * _PRIME
                    held, num_held = np.uint64(0), np.uint64(0)
                if not entry & np.uint32(SEQUENCE):
                    break
            inside = True
            if kind == ALONE:
                hashes[num_words] = finish_hash(word if num_held == 0 else (word ^ held) * _PRIME)
                num_words += one
                word, held, num_held, inside = _START, np.uint64(0), np.uint64(0), False
        if inside:
            hashes[num_words] = finish_hash(word if num_held == 0 else (word ^ held) * _PRIME)
            num_words += one
    word_offsets[len(offsets) - 1] = num_words
    return num_words
