"""MinHash signatures, folded into band hashes: documents that share one are candidates.

A shingle is `SHINGLE` words in a row; a text with fewer words is one shingle. The signature of a
set of shingles has, for each of 112 permutations, the smallest value of any of them; two sets agree
at a permutation with the probability of their Jaccard similarity J. The signature is cut into 14
bands of 8; a band is kept as one hash. Two documents share a band with probability
1 − (1 − J⁸)¹⁴: 0.9996 at J = 0.9, 0.92 at 0.8, 0.05 at 0.5.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, Words, finish_hash

SHINGLE = 5
NUM_BANDS, NUM_ROWS = 14, 8
NUM_PERMUTATIONS = NUM_BANDS * NUM_ROWS

# Any odd number would do, but all machines must use the same.
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def _permutations() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    state = np.arange(1, 2 * NUM_PERMUTATIONS + 1, dtype=np.uint64) * _PRIME
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    values = (state >> np.uint64(32)).astype(np.uint32)
    return values[:NUM_PERMUTATIONS] | np.uint32(1), values[NUM_PERMUTATIONS:]


_FACTORS, _TERMS = _permutations()


def shingle_hashes(words: Words, scratch: Scratch) -> Words:
    """The shingles of every document, in order, with repetitions."""
    hashes = scratch.take("shingles", len(words.hashes), np.uint64)
    offsets = np.empty(len(words.offsets), np.int64)
    num_shingles = _shingles(words.hashes, words.offsets, hashes, offsets)
    return Words(hashes[:num_shingles], offsets)


def band_hashes(shingles: Words) -> npt.NDArray[np.uint64]:
    """An array of [documents, bands]; a document without words has zeros, and no candidates."""
    bands = np.zeros((len(shingles.offsets) - 1, NUM_BANDS), np.uint64)
    _bands(shingles.hashes, shingles.offsets, _FACTORS, _TERMS, bands)
    return bands


@compiled
def _shingles(words: Hashes, word_offsets: Offsets, hashes: Hashes, offsets: Offsets) -> np.uint64:
    num_shingles = np.uint64(0)
    one = np.uint64(1)
    for document in range(len(word_offsets) - 1):
        offsets[document] = num_shingles
        first, last = np.uint64(word_offsets[document]), np.uint64(word_offsets[document + 1])
        if first == last:
            continue
        if last - first < SHINGLE:
            value = np.uint64(0)
            for at in range(first, last):
                value = value * _PRIME + words[at]
            hashes[num_shingles] = finish_hash(value)
            num_shingles += one
            continue
        for at in range(first, last - np.uint64(SHINGLE - 1)):
            value = words[at]
            for k in range(1, SHINGLE):
                value = value * _PRIME + words[at + np.uint64(k)]
            hashes[num_shingles] = finish_hash(value)
            num_shingles += one
    offsets[len(word_offsets) - 1] = num_shingles
    return num_shingles


@compiled
def _bands(
    shingles: Hashes,
    offsets: Offsets,
    factors: npt.NDArray[np.uint32],
    terms: npt.NDArray[np.uint32],
    bands: npt.NDArray[np.uint64],
) -> None:
    signature = np.empty(NUM_PERMUTATIONS, np.uint32)
    for document in range(len(offsets) - 1):
        first, last = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        if first == last:
            continue
        signature[:] = np.uint32(0xFFFFFFFF)
        # Four at a time: the signature, factors and terms are loaded and stored a quarter as often.
        at = first
        while at + np.uint64(4) <= last:
            a, b = np.uint32(shingles[at]), np.uint32(shingles[at + np.uint64(1)])
            c, d = np.uint32(shingles[at + np.uint64(2)]), np.uint32(shingles[at + np.uint64(3)])
            for k in range(NUM_PERMUTATIONS):
                factor, term = factors[k], terms[k]
                # Products of two 32-bit numbers are 64-bit ones until they are cut.
                least = min(np.uint32(a * factor + term), np.uint32(b * factor + term))
                other = min(np.uint32(c * factor + term), np.uint32(d * factor + term))
                signature[k] = min(signature[k], min(least, other))
            at += np.uint64(4)
        while at < last:
            a = np.uint32(shingles[at])
            for k in range(NUM_PERMUTATIONS):
                signature[k] = min(signature[k], np.uint32(a * factors[k] + terms[k]))
            at += np.uint64(1)
        for band in range(NUM_BANDS):
            value = np.uint64(band + 1)
            for row in range(NUM_ROWS):
                value = (value ^ np.uint64(signature[band * NUM_ROWS + row])) * _PRIME
                value ^= value >> np.uint64(29)
            bands[document, band] = finish_hash(value)
