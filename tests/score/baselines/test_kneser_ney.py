"""Kneser–Ney, against its definition in plain Python; probabilities sum to 1."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.score.baselines.test_ngram_counts import block

from barrow.score.baselines.kneser_ney import (
    NgramTables,
    discounts,
    distribution,
    ngram_tables,
    text_nats,
)
from barrow.score.baselines.ngram_counts import NgramCounts, count_ngrams


def tables(texts: list[bytes], order: int) -> NgramTables:
    return ngram_tables(count_ngrams([block(*texts)], order))


class Slow:
    """The recursion of the definition, over dictionaries of byte strings."""

    def __init__(self, texts: list[bytes], order: int) -> None:
        self.order = order
        self.counts: list[Counter[bytes]] = [Counter() for _ in range(order + 1)]
        for text in texts:
            padded = bytes(order - 1) + text
            for end in range(order, len(padded) + 1):
                self.counts[order][padded[end - order : end]] += 1
        for length in range(order - 1, 0, -1):
            for ngram in self.counts[length + 1]:
                self.counts[length][ngram[1:]] += 1
        self.followers: list[dict[bytes, list[bytes]]] = []
        for counted in self.counts:
            by_context: dict[bytes, list[bytes]] = defaultdict(list)
            for ngram in counted:
                by_context[ngram[:-1]].append(ngram)
            self.followers.append(by_context)

    def discount(self, length: int, count: int) -> float:
        if not count:
            return 0.0
        n = Counter(self.counts[length].values())
        fixed = (0.5, 1.0, 1.5)[min(count, 3) - 1]
        if not (n[1] and n[2] and n[3]):
            return fixed
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        if not all(0 < value <= k for k, value in enumerate(found, start=1)):
            return fixed
        return found[min(count, 3) - 1]

    def p(self, ngram: bytes) -> float:
        if not ngram:
            return 1 / 256
        length = len(ngram)
        counts, seen = self.counts[length], self.followers[length][ngram[:-1]]
        shorter = self.p(ngram[1:])
        if not seen:
            return shorter
        total = sum(counts[each] for each in seen)
        taken = sum(self.discount(length, counts[each]) for each in seen)
        own = counts[ngram] - self.discount(length, counts[ngram])
        return own / total + taken / total * shorter

    def nats(self, text: bytes) -> list[float]:
        padded = bytes(self.order - 1) + text
        return [-math.log(self.p(padded[i : i + self.order])) for i in range(len(text))]


def nats(made: NgramTables, text: bytes) -> list[float]:
    out = np.empty(len(text))
    data = np.frombuffer(text, np.uint8)
    text_nats(data, made.order, made.slots, made.values, made.begins, out)
    return out.tolist()


def words(seed: int, num: int) -> bytes:
    rng = random.Random(seed)
    return " ".join(rng.choices(["one", "two", "three", "naïve", "a", "barrow"], k=num)).encode()


@pytest.mark.parametrize("order", [1, 2, 3, 5, 8])
def test_equals_the_definition(order: int) -> None:
    texts = [words(1, 60), words(2, 40), b"\x00\x00zero", b""]
    made, slow = tables(texts, order), Slow(texts, order)
    for text in (words(3, 12), b"\x00", b"never seen: \xfe\xff", texts[2]):
        assert nats(made, text) == pytest.approx(slow.nats(text), rel=1e-12)


@settings(max_examples=30)
@given(
    texts=st.lists(st.binary(max_size=30), min_size=1, max_size=5).filter(any),
    order=st.integers(1, 8),
    context=st.binary(max_size=9),
)
def test_probabilities_sum_to_one(texts: list[bytes], order: int, context: bytes) -> None:
    made = tables(texts, order)
    # A context from the texts too, which is seen more often than one that was drawn.
    for before in (context, max(texts)[:5], b""):
        found = distribution(made, before)
        assert found.min() > 0
        assert math.fsum(found) == pytest.approx(1, abs=1e-13)


def test_a_distribution_is_that_of_the_scores() -> None:
    made = tables([words(4, 80)], 4)
    text = words(5, 5)
    for at, found in enumerate(nats(made, text)):
        assert -math.log(distribution(made, text[:at])[text[at]]) == pytest.approx(found)


def test_sums_hold_where_ngrams_were_dropped() -> None:
    counts = count_ngrams([block(words(6, 500))], 5, max_ngrams=60, piece=64)
    assert counts.num_dropped > 0
    made = ngram_tables(counts)
    for context in (b"", b"one tw", b"\xff\xff\xff\xff"):
        assert math.fsum(distribution(made, context)) == pytest.approx(1, abs=1e-13)


def test_the_beginning_of_a_document_is_known() -> None:
    """Every training text begins with T, which is nowhere else."""
    made = tables([b"Text of a kind"] * 20, 3)
    found = distribution(made, b"")
    assert found.argmax() == ord("T")
    assert found.max() > 0.9


def test_discounts() -> None:
    """Chen and Goodman's formula; n1 … n4 are 8, 4, 2, 1."""
    counts = np.repeat([1, 2, 3, 4], [8, 4, 2, 1])
    assert discounts(counts) == pytest.approx((0.5, 1.25, 2.0))
    assert discounts(np.array([1, 1, 2])) == (0.5, 1.0, 1.5)
    # More twos than ones, which no language has: nothing would be left over for what is new.
    assert discounts(np.repeat([1, 2, 3, 4], [1, 1, 9, 9])) == (0.5, 1.0, 1.5)


def test_no_text() -> None:
    with pytest.raises(ValueError, match="no text"):
        ngram_tables(NgramCounts(3, np.empty(0, np.uint64), np.empty(0, np.int64), 0, 0))
