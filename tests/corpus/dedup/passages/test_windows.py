"""Seeds and windows: equal windows have equal seeds and equal hashes (PILE-12)."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.passages.windows import Seeds, select_seeds, window_hashes
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Words

Documents = list[list[int]]


def words_of(documents: Documents) -> Words:
    """A letter is a word; its hash looks like one."""
    letters = [letter for document in documents for letter in document]
    hashes = (np.array(letters, np.uint64) + np.uint64(1)) * np.uint64(0x9FB21C651E98DF25)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    return Words(hashes, np.cumsum([0, *map(len, documents)], dtype=np.int64))


def seed_of_each_window(seeds: Seeds, documents: Documents, size: int) -> list[list[int]]:
    """Of every window of every document, by the definition of `Seeds`."""
    found: list[list[int]] = [[-1] * max(0, len(d) - size + 1) for d in documents]
    for value, document, start in zip(*(column.tolist() for column in seeds), strict=True):
        rest = found[document]
        rest[start:] = [value] * (len(rest) - start)
    return found


DOCUMENTS = st.lists(
    st.one_of(
        st.lists(st.integers(0, 1), max_size=60),
        st.lists(st.integers(0, 50), max_size=60),
        st.builds(lambda unit, times: unit * times, st.lists(st.integers(0, 9)), st.integers(0, 9)),
    ),
    max_size=4,
)


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(2, 13))
def test_equal_windows_have_equal_seeds_at_places_of_their_own(
    documents: Documents, size: int
) -> None:
    words = words_of(documents)
    seeds = select_seeds(words, size, Scratch())
    starts: dict[int, list[tuple[int, int]]] = {}
    for value, document, start in zip(*(column.tolist() for column in seeds), strict=True):
        starts.setdefault(value, []).append((document, start))
    known: dict[tuple[int, ...], int] = {}
    for number, values in enumerate(seed_of_each_window(seeds, documents, size)):
        assert -1 not in values, "every window has a seed"
        for start, value in enumerate(values):
            window = tuple(documents[number][start : start + size])
            # What is repeated has a seed that is selected twice, even if the two overlap.
            assert window not in known or len(starts[value]) >= 2
            assert known.setdefault(window, value) == value


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(2, 13), st.randoms(use_true_random=False))
def test_windows_of_chosen_seeds_are_hashed(
    documents: Documents, size: int, rng: random.Random
) -> None:
    words = words_of(documents)
    seeds = select_seeds(words, size, Scratch())
    chosen = np.array([rng.random() < 0.5 for _ in seeds.value], np.bool_)
    windows = window_hashes(words, seeds, chosen, size)
    picked = [[False] * max(0, len(d) - size + 1) for d in documents]
    for document, start, flag in zip(seeds.document, seeds.start, chosen, strict=True):
        picked[document][start:] = [bool(flag)] * (len(picked[document]) - start)
    expected = [(d, s) for d, flags in enumerate(picked) for s, flag in enumerate(flags) if flag]
    assert list(zip(windows.document.tolist(), windows.start.tolist(), strict=True)) == expected
    for half in (windows.first, windows.second):
        by_hash = {}
        for value, (document, start) in zip(half.tolist(), expected, strict=True):
            window = tuple(documents[document][start : start + size])
            assert by_hash.setdefault(value, window) == window
        assert len(by_hash) == len(set(by_hash.values())), "equal windows, equal hashes"
    assert (windows.first != windows.second).all(), "two halves, not one twice"


def test_seeds_are_few() -> None:
    rng = np.random.default_rng(0)
    words = Words(rng.integers(0, 2**63, 100_000).astype(np.uint64), np.array([0, 100_000]))
    seeds = select_seeds(words, 100, Scratch())
    assert len(seeds.value) == pytest.approx(100_000 * 2 / 52, rel=0.05)
    none = window_hashes(words, seeds, np.zeros(len(seeds.value), np.bool_), 100)
    assert [len(column) for column in none] == [0, 0, 0, 0]
