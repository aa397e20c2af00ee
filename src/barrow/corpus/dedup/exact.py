"""A 128-bit hash of a text's content: the same for texts that differ in white space only.

Case, punctuation and accents count: a+b is not a-b. Texts that differ in those are near-duplicates,
which have stages of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled, trailing_zeros
from barrow.corpus.kernels.word_hashes import Offsets, eight_byte_view, finish_hash

_HIGH = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_AFTER_SPACE = np.uint64(0x5F5F5F5F5F5F5F5F)  # carries into the highest bit from 0x21 on
_GATHER = np.uint64(0x0102040810204080)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_OTHER_PRIME = np.uint64(0xD6E8FEB86659FD93)


def content_hashes(text: npt.NDArray[np.uint8], offsets: Offsets) -> npt.NDArray[np.uint64]:
    """An array of [documents, 2]. Bytes up to 0x20 are white space; all empty texts hash alike."""
    hashes = np.empty((len(offsets) - 1, 2), np.uint64)
    _hash_contents(text, eight_byte_view(text), offsets, hashes)
    return hashes


@compiled
def _hash_contents(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    hashes: npt.NDArray[np.uint64],
) -> None:
    one, eight = np.uint64(1), np.uint64(8)
    last_word = max(0, len(text) - 72)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        first_half, second_half = _START, _PRIME
        while at < end:
            if at + np.uint64(64) <= end and at < last_word:
                runs = np.uint64(0)
                for k in range(8):
                    chunk = eights[at + np.uint64(8 * k)]
                    black = (((chunk & _LOW_BITS) + _AFTER_SPACE) | chunk) & _HIGH
                    gathered = (black >> np.uint64(7)) * _GATHER >> np.uint64(56)
                    runs |= gathered << np.uint64(8 * k)
                next_at = at + np.uint64(64)
                while runs != 0:
                    first = np.uint64(trailing_zeros(runs))
                    rest = runs + (runs & (~runs + one))
                    if rest == 0:
                        next_at = at + first
                        break
                    start, size = at + first, np.uint64(trailing_zeros(rest)) - first
                    word = _START
                    while size > eight:
                        word = (word ^ eights[start]) * _PRIME
                        start += eight
                        size -= eight
                    kept = eights[start] & (_ALL >> (np.uint64(64) - size * eight))
                    word = finish_hash((word ^ kept) * _PRIME)
                    first_half = (first_half ^ word) * _PRIME
                    second_half = (second_half + word) * _OTHER_PRIME
                    runs &= rest
                if next_at > at:
                    at = next_at
                    continue
            # A run longer than 64 bytes, or near the end.
            if text[at] <= 0x20:
                at += one
                continue
            word, held, num_held = _START, np.uint64(0), np.uint64(0)
            while at < end and text[at] > 0x20:
                if num_held == eight:
                    word = (word ^ held) * _PRIME
                    held, num_held = np.uint64(0), np.uint64(0)
                held |= np.uint64(text[at]) << (num_held * eight)
                num_held += one
                at += one
            word = finish_hash((word ^ held) * _PRIME)
            first_half = (first_half ^ word) * _PRIME
            second_half = (second_half + word) * _OTHER_PRIME
        hashes[document, 0] = finish_hash(first_half)
        hashes[document, 1] = finish_hash(second_half)
