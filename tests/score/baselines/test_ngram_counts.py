"""Counts of byte n-grams, against a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.archive import Block
from barrow.score.baselines.ngram_counts import count_ngrams, mask_of, merged, run_lengths


def block(*texts: bytes) -> Block:
    """A block that begins in the middle of its buffer, as slices of blocks do."""
    offsets = np.cumsum([2, *map(len, texts)], dtype=np.int64)
    text = np.frombuffer(b"??" + b"".join(texts) + b"!", np.uint8)
    nothing = np.empty(0, np.uint8)
    return Block(text, offsets, nothing, offsets, "s", 0, range(len(texts)), 0)


def slow_counts(texts: list[bytes], order: int) -> dict[int, int]:
    found: Counter[int] = Counter()
    for text in texts:
        padded = bytes(order - 1) + text
        for end in range(order, len(padded) + 1):
            found[int.from_bytes(padded[end - order : end], "big")] += 1
    return dict(sorted(found.items()))


@given(
    texts=st.lists(st.lists(st.sampled_from(b"ab\x00\xff"), max_size=12).map(bytes), max_size=6),
    order=st.integers(1, 8),
    piece=st.sampled_from([1, 3, 7, 100]),
    cut=st.integers(0, 6),
)
def test_equals_a_dictionary(texts: list[bytes], order: int, piece: int, cut: int) -> None:
    blocks = [block(*texts[:cut]), block(*texts[cut:])]
    found = count_ngrams(blocks, order, piece=piece)
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == slow_counts(
        texts, order
    )
    assert found.keys.tolist() == sorted(found.keys.tolist())
    assert (found.num_bytes, found.num_dropped) == (sum(map(len, texts)), 0)


def test_the_rarest_go_when_there_are_too_many() -> None:
    text = b"aaaaaaaaaabbbbbbccd"
    found = count_ngrams([block(text)], 1, max_ngrams=3, piece=100)
    assert found.keys.tolist() == [ord("a")]
    assert found.num_dropped == len(text) - 10
    assert found.num_bytes == len(text)


def test_of_those_that_are_all_as_rare_half_go() -> None:
    found = count_ngrams([block(bytes(range(10)))], 1, max_ngrams=6, piece=100)
    assert (len(found.keys), found.num_dropped) == (5, 5)


def test_run_lengths_and_merging_of_nothing() -> None:
    nothing = np.empty(0, np.uint64)
    keys, counts = run_lengths(nothing)
    assert (len(keys), len(counts)) == (0, 0)
    some = np.array([1, 5], np.uint64), np.array([2, 3])
    for got in (merged(*some, keys, counts), merged(keys, counts, *some)):
        assert [part.tolist() for part in got] == [[1, 5], [2, 3]]


def test_masks() -> None:
    assert [int(mask_of(k)) for k in (1, 2, 8)] == [0xFF, 0xFFFF, 2**64 - 1]


@pytest.mark.parametrize("order", [0, 9])
def test_orders_that_do_not_fit(order: int) -> None:
    with pytest.raises(ValueError, match=f"order must be from 1 to 8, got {order}"):
        count_ngrams([], order)


def test_room_for_nothing() -> None:
    with pytest.raises(ValueError, match="must be ≥ 1"):
        count_ngrams([], 2, max_ngrams=0)
