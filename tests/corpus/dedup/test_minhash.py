"""Planted near-duplicates share a band; different documents hardly ever do (PILE-12)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from barrow.corpus.dedup.minhash import NUM_BANDS, SHINGLE, band_hashes, shingle_hashes
from barrow.corpus.dedup.similarity import similarities
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Words, word_hashes

PROSE = [f"word{k}" for k in range(2000)]
CODE = ["if", "else", "return", "for", "x", "y", "i", "n", "self", "None", *map(str, range(90))]


def shingles_of(texts: list[str]) -> Words:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return shingle_hashes(
        word_hashes(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch()), Scratch()
    )


def pair(rng: random.Random, vocabulary: list[str], size: int) -> tuple[str, str]:
    """A text, and the same with a few words replaced: about 0.9 alike."""
    words = rng.choices(vocabulary, k=size)
    other = list(words)
    for _ in range(max(1, round(size * 0.05 / SHINGLE))):
        other[rng.randrange(size)] = rng.choice(vocabulary)
    join = " ".join if vocabulary is PROSE else "; ".join
    return join(words), join(other)


@pytest.mark.parametrize("vocabulary", [PROSE, CODE], ids=["text", "code"])
@pytest.mark.parametrize("size", [120, 400, 3000])
def test_planted_pairs_share_a_band(vocabulary: list[str], size: int) -> None:
    rng = random.Random(size)
    texts = [text for _ in range(150) for text in pair(rng, vocabulary, size)]
    shingles = shingles_of(texts)
    even = np.arange(0, 300, 2)
    true = similarities(shingles, even, even + 1)
    near = true >= 0.9
    assert near.sum() > 50
    bands = band_hashes(shingles)
    shared = (bands[even] == bands[even + 1]).any(axis=1)
    assert shared[near].mean() >= 0.97
    # Those that are not each other's copies share none.
    strangers = (bands[even[:-1]] == bands[even[1:]]).any(axis=1)
    assert strangers.mean() <= 0.01


def test_the_share_of_bands_follows_the_similarity() -> None:
    rng = random.Random(1)
    words = rng.choices(PROSE, k=4000)
    texts = [" ".join(words[:2000]), " ".join(words[400:2400]), " ".join(words[1000:3000])]
    shingles = shingles_of(texts * 1)
    first = np.array([0, 0])
    assert similarities(shingles, first, np.array([1, 2])) == pytest.approx(
        [2 / 3, 1 / 3], abs=0.01
    )
    bands = band_hashes(shingles)
    assert (bands[0] == bands[0]).sum() == NUM_BANDS
    assert (bands[0] == bands[2]).sum() <= 1


def test_short_and_empty_documents() -> None:
    bands = band_hashes(shingles_of(["", "one", "two words", "ONE!", "five words are one shingle"]))
    assert not bands[0].any()
    assert (bands[1] == bands[3]).all()
    assert not (bands[1] == bands[2]).any()
    assert bands[4].all()


def test_known_values() -> None:
    """A changed hash would make every saved index useless: that needs a new version of it."""
    bands = band_hashes(shingles_of(["The quick brown fox jumps over the lazy dog"]))
    assert bands[0, :2].tolist() == [4388091670259832425, 5854834731309969764]
