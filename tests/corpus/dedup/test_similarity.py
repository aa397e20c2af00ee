from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.similarity import similarities
from barrow.corpus.kernels.word_hashes import Words


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=40), min_size=2, max_size=6))
def test_it_is_the_jaccard_index(documents: list[list[int]]) -> None:
    """PILE-12: pairs are verified by their true similarity."""
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    flat = np.array([value for document in documents for value in document], np.uint64)
    first, second = np.triu_indices(len(documents))
    found = similarities(Words(flat, offsets), first.astype(np.int64), second.astype(np.int64))
    for a, b, value in zip(first, second, found, strict=True):
        one, other = set(documents[a]), set(documents[b])
        expected = len(one & other) / len(one | other) if one | other else 0.0
        assert value == expected
