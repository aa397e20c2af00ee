"""Windows of the least length of a passage, and how equal ones are found.

A window is compared by a hash of 128 bits, which is computed only if the window may be repeated. So
its seed is found first: of the shorter runs of words in it, the one with the least hash (winnowing:
Schleimer, Wilkerson and Aiken 2003). Equal windows have equal seeds, neighbours mostly share one,
and a window whose seed is nowhere else in the corpus is nowhere else either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, Words, finish_hash

Places = npt.NDArray[np.int64]

_PRIMES = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F)
_FIRST, _SECOND, _THIRD = (np.uint64(prime) for prime in _PRIMES)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)


class Seeds(NamedTuple):
    """Seed k is that of the windows of `document` from `start` on, up to the next seed's."""

    value: Hashes
    document: Places
    start: Places


class Windows(NamedTuple):
    """Hashes of windows, in two halves, and the documents and numbers of words they start at."""

    first: Hashes
    second: Hashes
    document: Places
    start: Places


def select_seeds(words: Words, min_words: int, scratch: Scratch) -> Seeds:
    """The seeds of all windows of `min_words` words, in order.

    The same run of words may be chosen at two places of a text, never twice at one. About one word
    in ``min_words / 4`` is the beginning of a seed. What is returned is valid until seeds are
    selected in the same scratch again.
    """
    gram = max(1, min_words // 2)
    size = len(words.hashes)
    value = scratch.take("seed values", size, np.uint64)
    document = scratch.take("seed documents", size, np.int64)
    start = scratch.take("seed starts", size, np.int64)
    number = _select(
        words.hashes,
        words.offsets,
        np.uint64(gram),
        np.uint64(min_words - gram + 1),
        _power(0, gram),
        value,
        document,
        start,
    )
    return Seeds(value[:number], document[:number], start[:number])


def window_hashes(
    words: Words, seeds: Seeds, chosen: npt.NDArray[np.bool_], min_words: int
) -> Windows:
    """The windows of `min_words` words whose seeds are among those chosen."""
    last = np.maximum(np.diff(words.offsets) - min_words + 1, 0)[seeds.document]
    same = np.r_[seeds.document[1:] == seeds.document[:-1], False][: len(last)]
    stop = np.where(same, np.r_[seeds.start[1:], 0][: len(last)], last)
    total = int((stop - seeds.start)[chosen].sum())
    found = Windows(
        np.empty(total, np.uint64),
        np.empty(total, np.uint64),
        np.empty(total, np.int64),
        np.empty(total, np.int64),
    )
    _hash_windows(
        words.hashes,
        words.offsets,
        np.uint64(min_words),
        _power(1, min_words),
        _power(2, min_words),
        seeds.document[chosen],
        seeds.start[chosen],
        stop[chosen],
        *found,
    )
    return found


def _power(prime: int, exponent: int) -> np.uint64:
    return np.uint64(pow(_PRIMES[prime], exponent, 1 << 64))


@compiled
def _select(
    words: Hashes,
    word_offsets: Offsets,
    gram: np.uint64,
    window: np.uint64,
    power: np.uint64,
    values: Hashes,
    documents: Places,
    starts: Places,
) -> np.uint64:
    """Of every `window` hashes of `gram` words in a row, the least, and of equals the leftmost.

    A key is half a hash with the position in its low bits. Keys are taken in blocks of `window`;
    the least of a window is that of the end of one block and the beginning of the next, so it takes
    two comparisons, whatever the text (van Herk's algorithm).
    """
    one = np.uint64(1)
    num_seeds = np.uint64(0)
    keys = np.empty(window, np.uint64)
    ending = np.empty(window + one, np.uint64)  # least from each place of the last block on
    hashes = np.empty(np.uint64(2) * window, np.uint64)  # of the last block and this, by turns
    for document in range(len(word_offsets) - 1):
        first, last = np.uint64(word_offsets[document]), np.uint64(word_offsets[document + 1])
        if last - first < gram + window - one:
            continue
        num_grams = last - first - gram + one
        value = np.uint64(0)
        for k in range(gram):
            value = value * _FIRST + words[first + np.uint64(k)]
        ending[:] = _ALL
        here, there = np.uint64(0), window
        chosen_last = _ALL
        block = np.uint64(0)
        while block < num_grams:
            size = min(window, num_grams - block)
            least = _ALL
            for j in range(size):
                at = block + j
                hashes[here + j] = value
                key = (value & ~_LOW) | at
                keys[j] = key
                least = min(least, key)
                if at + one >= window:
                    chosen = min(least, ending[j + one]) & _LOW
                    if chosen != chosen_last:
                        chosen_last = chosen
                        if chosen >= block:
                            values[num_seeds] = finish_hash(hashes[here + (chosen - block)])
                        else:
                            values[num_seeds] = finish_hash(
                                hashes[there + (chosen + window - block)]
                            )
                        documents[num_seeds] = document
                        starts[num_seeds] = at + one - window
                        num_seeds += one
                if at + one < num_grams:
                    value = value * _FIRST + words[first + at + gram] - words[first + at] * power
            least = _ALL
            for k in range(size):
                back = size - one - k
                least = min(least, keys[back])
                ending[back] = least
            here, there = there, here
            block += size
    return num_seeds


@compiled
def _hash_windows(
    words: Hashes,
    word_offsets: Offsets,
    size: np.uint64,
    second_power: np.uint64,
    third_power: np.uint64,
    documents: Places,
    starts: Places,
    stops: Places,
    first_half: Hashes,
    second_half: Hashes,
    found_documents: Places,
    found_starts: Places,
) -> None:
    one = np.uint64(1)
    k = np.uint64(0)
    at = np.uint64(0)  # the window that the two values are of
    last_document = -1
    a = b = np.uint64(0)
    for span in range(len(documents)):
        document = documents[span]
        origin = np.uint64(word_offsets[document])
        start, stop = np.uint64(starts[span]), np.uint64(stops[span])
        if document != last_document or start > at + size:
            last_document, at = document, start
            a = b = np.uint64(0)
            for j in range(size):
                word = words[origin + start + np.uint64(j)]
                a, b = a * _SECOND + word, b * _THIRD + word
        while at < stop:
            if at >= start:
                first_half[k], second_half[k] = finish_hash(a), finish_hash(b)
                found_documents[k], found_starts[k] = document, at
                k += one
            at += one
            if at == stop and at + size > np.uint64(word_offsets[document + 1]) - origin:
                break
            new, old = words[origin + at + size - one], words[origin + at - one]
            a = a * _SECOND + new - old * second_power
            b = b * _THIRD + new - old * third_power
