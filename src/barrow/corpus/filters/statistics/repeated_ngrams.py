"""Repeated n-grams of words in a text.

An n-gram can occur twice only where both its (n-1)-grams do, so each length is searched only at the
places where the one before was found. In prose these soon become few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.words import SpacedWords
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Hashes, Offsets

# Lengths of n-grams for the most frequent one, and for all repeated ones.
TOP_LENGTHS = range(2, 5)
REPEATED_LENGTHS = range(5, 11)

_NONE = np.uint32(0xFFFFFFFF)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Numbers = npt.NDArray[np.uint32]


class RepeatedNgrams(NamedTuple):
    """`characters[n]` of each text.

    For n of 2 to 4, the most frequent n-gram's characters, with single spaces, times how often it
    occurs; of several, the first. For n of 5 to 10, the characters, without spaces, of n-grams that
    came before, read from left to right: after such an n-gram the next begins after it, and one
    that would begin inside it is neither counted nor remembered.
    """

    characters: npt.NDArray[np.int64]


def repeated_ngrams(words: SpacedWords, scratch: Scratch) -> RepeatedNgrams:
    """The counts of texts whose words are given."""
    num_texts = len(words.offsets) - 1
    most = int(words.num_words.max(initial=0))
    characters = np.zeros((REPEATED_LENGTHS.stop, num_texts), np.int64)
    _measure(
        words.hashes,
        words.lengths,
        words.offsets,
        scratch.take("ngram-table", 1 << (2 * most + 1).bit_length(), np.uint32),
        scratch.take("ngram-classes", most + 1, np.uint32),
        scratch.take("ngram-places", most + 1, np.uint32),
        scratch.take("ngram-firsts", most + 1, np.uint32),
        scratch.take("ngram-counts", most + 1, np.uint32),
        scratch.take("ngram-keys", most + 1, np.uint64),
        characters,
    )
    return RepeatedNgrams(characters)


@compiled
def _measure(
    hashes: Hashes,
    lengths: Numbers,
    offsets: Offsets,
    table: Numbers,
    classes: Numbers,
    places: Numbers,
    firsts: Numbers,
    counts: Numbers,
    keys: Hashes,
    characters: npt.NDArray[np.int64],
) -> None:
    """Per text: words get classes (the first place with the same word), then pairs of classes.

    `classes[p]` is the class of the n-gram at place p, or none if it occurs once only.
    """
    for document in range(len(offsets) - 1):
        base = np.uint64(offsets[document])
        num_words = np.uint64(offsets[document + 1]) - base
        num_left = _repeated_words(hashes, base, num_words, table, classes, places, counts)
        for n in range(2, 11):
            size = np.uint64(n)
            num_left = _repeated_pairs(num_left, table, classes, places, firsts, counts, keys)
            if n < 5:
                if num_words < size:
                    break
                first, often = np.uint64(0), np.uint64(1)
                for k in range(num_left):
                    if np.uint64(counts[firsts[k]]) > often:
                        first = np.uint64(places[k])
                        often = np.uint64(counts[firsts[k]])
                total = _characters(lengths, base + first, size) + np.int64(n - 1)
                characters[n, document] = total * np.int64(often)
            else:
                characters[n, document] = _said_again(
                    lengths, base, size, num_left, places, firsts, counts
                )
            if num_left == 0 and n >= 4:
                break


@compiled
def _characters(lengths: Numbers, first: np.uint64, number: np.uint64) -> np.int64:
    total = np.int64(0)
    for k in range(first, first + number):
        total += np.int64(lengths[k])
    return total


@compiled
def _clear(table: Numbers, number: np.uint64) -> np.uint64:
    """Clear as much of the table as so many n-grams need; returns the shift of a product."""
    bits = np.uint64(2)
    while np.uint64(1) << bits < np.uint64(2) * number:
        bits += np.uint64(1)
    table[: np.uint64(1) << bits] = 0
    return np.uint64(64) - bits


@compiled
def _repeated_words(
    hashes: Hashes,
    base: np.uint64,
    num_words: np.uint64,
    table: Numbers,
    classes: Numbers,
    places: Numbers,
    counts: Numbers,
) -> np.uint64:
    """Fill `classes` and the `places` of words that occur more than once; returns how many."""
    one = np.uint64(1)
    shift = _clear(table, num_words)
    mask = (one << (np.uint64(64) - shift)) - one
    for at in range(num_words):
        value = hashes[base + at]
        slot = value * _MULTIPLIER >> shift
        found = np.uint64(table[slot])
        # One branch that is mostly not taken: whether a word is new cannot be predicted.
        while (found != 0) & (hashes[base + max(found, one) - one] != value):
            slot = (slot + one) & mask
            found = np.uint64(table[slot])
        first = found - one if found else at
        table[slot] = first + one
        classes[at] = first
        counts[at] = 0
        counts[first] += 1
    num_left = np.uint64(0)
    for at in range(num_words):
        places[num_left] = at
        again = counts[classes[at]] > 1
        num_left += np.uint64(again)
        classes[at] = classes[at] if again else _NONE
    classes[num_words] = _NONE
    return num_left


@compiled
def _repeated_pairs(
    num_left: np.uint64,
    table: Numbers,
    classes: Numbers,
    places: Numbers,
    firsts: Numbers,
    counts: Numbers,
    keys: Hashes,
) -> np.uint64:
    """From the n-grams that occur more than once to those one word longer; returns the places.

    An n-gram is identified by the classes of its two parts. Afterwards n-gram k of those left is at
    ``places[k]``, and ``counts[firsts[k]]`` is how often it occurs.
    """
    one = np.uint64(1)
    number = np.uint64(0)
    for k in range(num_left):  # by itself: which are left cannot be predicted
        place = np.uint64(places[k])
        other = classes[place + one]
        keys[number] = np.uint64(classes[place]) << np.uint64(32) | np.uint64(other)
        places[number] = place
        classes[place] = _NONE
        number += np.uint64(other != _NONE)
    shift = _clear(table, number)
    mask = (one << (np.uint64(64) - shift)) - one
    for k in range(number):
        key = keys[k]
        slot = key * _MULTIPLIER >> shift
        found = np.uint64(table[slot])
        while (found != 0) & (keys[max(found, one) - one] != key):
            slot = (slot + one) & mask
            found = np.uint64(table[slot])
        first = found - one if found else k
        table[slot] = first + one
        firsts[k] = first
        counts[k] = 0
        counts[first] += 1
    num_repeated = np.uint64(0)
    for k in range(number):
        place, first = places[k], firsts[k]
        again = counts[first] > 1
        classes[place] = first if again else _NONE
        places[num_repeated], firsts[num_repeated] = place, first
        num_repeated += np.uint64(again)
    return num_repeated


@compiled
def _said_again(
    lengths: Numbers,
    base: np.uint64,
    size: np.uint64,
    num_left: np.uint64,
    places: Numbers,
    firsts: Numbers,
    counts: Numbers,
) -> np.int64:
    """Characters of n-grams that came before; their counts are used up."""
    after = np.uint64(0)
    total = np.int64(0)
    for k in range(num_left):
        place = np.uint64(places[k])
        if place < after:
            continue
        if counts[firsts[k]] == 0:
            total += _characters(lengths, base + place, size)
            after = place + size
        else:
            counts[firsts[k]] = 0
    return total
