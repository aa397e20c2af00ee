from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.batch import Batch
from barrow.stream.rows.masking import MaskIds, Mlm, mask_batch, mask_ids

VOCAB, MASK, SPECIALS = 500, 3, range(5)


def ids(white: range = range(5, 200)) -> MaskIds:
    plain, spaced = np.ones(VOCAB, np.bool_), np.zeros(VOCAB, np.bool_)
    plain[list(SPECIALS)] = False
    spaced[list(white)] = True
    return MaskIds(MASK, plain, spaced)


def batch_of(rows: int, columns: int, *, seed: int = 0) -> Batch:
    """Rows of two documents, each with a special at its head, and some padding."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(5, VOCAB, (rows, columns)).astype(np.int32)
    segments = np.ones((rows, columns), np.int32)
    half = columns // 2
    segments[:, half:] = 2
    tokens[:, [0, half]] = 0
    if columns > 4:
        segments[:, -2:] = 0
    positions = np.zeros_like(tokens)
    mask = segments > 0
    return Batch(tokens, tokens, segments, positions, mask, np.zeros((rows, 2), np.int64))


def within(count: int, total: int, share: float, sigmas: float = 3) -> bool:
    return abs(count - total * share) <= sigmas * math.sqrt(total * share * (1 - share))


def test_shares() -> None:
    """15 % are chosen; of these 80 % are masked, 10 % random, 10 % kept: within 3 σ."""
    batch = batch_of(200, 500)
    out = mask_batch(batch, Mlm(), ids(), seed=1, step=2)
    can = (batch.tokens >= 5) & (batch.segments > 0)
    chosen = int(out.mask.sum())
    assert within(chosen, int(can.sum()), 0.15)
    masked = int((out.tokens[out.mask] == MASK).sum())
    kept = int((out.tokens[out.mask] == batch.tokens[out.mask]).sum())
    assert within(masked, chosen, 0.8)
    assert within(kept, chosen, 0.1 + 0.1 / (VOCAB - 5))
    assert within(chosen - masked - kept, chosen, 0.1 * (1 - 1 / (VOCAB - 5)))


def test_what_may_not_change_does_not() -> None:
    batch = batch_of(50, 100)
    out = mask_batch(batch, Mlm(probability=1.0, replace=0.5, random=0.5), ids(), seed=1, step=2)
    can = (batch.tokens >= 5) & (batch.segments > 0)
    assert (out.mask == can).all()
    assert (out.targets == batch.tokens).all()
    assert (out.tokens[~can] == batch.tokens[~can]).all()
    drawn = out.tokens[can & (out.tokens != MASK)]
    assert set(drawn.tolist()) <= set(range(5, VOCAB))
    assert out.segments is batch.segments


def test_random_tokens_are_even() -> None:
    out = mask_batch(batch_of(300, 500), Mlm(1.0, replace=0.0, random=1.0), ids(), seed=3, step=0)
    counts = np.bincount(out.tokens[out.mask], minlength=VOCAB)[5:]
    expected = counts.sum() / len(counts)
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    free = len(counts) - 1
    assert abs(chi_square - free) < 4 * math.sqrt(2 * free)


def test_a_function_of_seed_and_step() -> None:
    batch = batch_of(20, 100)
    first = mask_batch(batch, Mlm(), ids(), seed=1, step=2)
    again = mask_batch(batch, Mlm(), ids(), seed=1, step=2)
    assert (first.tokens == again.tokens).all()
    for other in ({"seed": 2, "step": 2}, {"seed": 1, "step": 3}, {"seed": 2, "step": 1}):
        masks = mask_batch(batch, Mlm(), ids(), **other).mask
        both = int((masks & first.mask).sum())
        assert within(both, int((batch.tokens >= 5).sum()), 0.15**2, 4)


def test_neighbours_are_independent() -> None:
    batch = batch_of(200, 500)
    mask = mask_batch(batch, Mlm(0.5), ids(), seed=5, step=0).mask[:, 1:240]
    for pair in (mask[:, 1:] & mask[:, :-1], mask[1:] & mask[:-1]):
        assert within(int(pair.sum()), pair.size, 0.25, 4)


def cut(batch: Batch, rows: slice, columns: slice) -> Batch:
    arrays = {name: array[rows, columns] for name, array in batch.arrays().items()}
    return dataclasses.replace(batch, **arrays)


@given(st.data())
def test_slices_equal_the_whole(data: st.DataObject) -> None:
    """Any rows and columns are masked as in the whole batch."""
    batch = batch_of(12, 30)
    a, b = sorted(data.draw(st.tuples(st.integers(0, 12), st.integers(0, 12))))
    c, d = sorted(data.draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    whole_word = data.draw(st.booleans())
    mlm = Mlm(probability=0.4, whole_word=whole_word)
    columns = slice(None) if whole_word else slice(c, d)
    whole = mask_batch(batch, mlm, ids(), seed=7, step=9)
    part = mask_batch(
        cut(batch, slice(a, b), columns),
        mlm,
        ids(),
        seed=7,
        step=9,
        row=a,
        column=0 if whole_word else c,
    )
    for name, array in cut(whole, slice(a, b), columns).arrays().items():
        assert (getattr(part, name) == array).all()


def test_whole_words() -> None:
    """All tokens of a word are chosen, or none; words are chosen at the same rate."""
    batch = batch_of(300, 400)
    out = mask_batch(batch, Mlm(whole_word=True), ids(), seed=1, step=0)
    words: dict[tuple[int, int], set[bool]] = {}
    tokens, segments, mask = (a.tolist() for a in (batch.tokens, batch.segments, out.mask))
    for r, row in enumerate(tokens):
        word = -1
        for c, token in enumerate(row):
            if token < 5 or segments[r][c] == 0:
                assert not mask[r][c]
                continue
            new = c == 0 or row[c - 1] < 5 or segments[r][c] != segments[r][c - 1]
            if new or token < 200:
                word = c
            words.setdefault((r, word), set()).add(mask[r][c])
    assert all(len(kinds) == 1 for kinds in words.values())
    assert within(sum(kinds == {True} for kinds in words.values()), len(words), 0.15)
    singles = mask_batch(batch, Mlm(), ids(), seed=1, step=0)
    assert (singles.mask != out.mask).any()


def test_a_word_ends_with_its_document() -> None:
    tokens = np.full((200, 10), 300, np.int32)  # no white space, no specials
    segments = np.repeat([[1] * 4 + [2] * 6], 200, axis=0).astype(np.int32)
    batch = dataclasses.replace(batch_of(200, 10), tokens=tokens, segments=segments)
    mask = mask_batch(batch, Mlm(0.5, whole_word=True), ids(), seed=1, step=0).mask
    left, right = mask[:, :4], mask[:, 4:]
    assert (left == left[:, :1]).all()
    assert (right == right[:, :1]).all()
    assert within(int((left[:, 0] != right[:, 0]).sum()), 200, 0.5, 4)


def test_golden() -> None:
    """What a saved run saw stays what it was."""
    out = mask_batch(batch_of(2, 24), Mlm(), ids(), seed=11, step=5)
    chosen = [np.flatnonzero(row).tolist() for row in out.mask]
    assert chosen == [[4, 8, 9, 15], [3, 6, 10, 14, 15, 17]]
    assert out.tokens[out.mask].tolist() == [3, 3, 3, 371, 3, 3, 3, 3, 3, 104]
    out = mask_batch(batch_of(2, 24), Mlm(whole_word=True), ids(), seed=11, step=5)
    assert [np.flatnonzero(row).tolist() for row in out.mask] == [[5], [8, 9]]
    assert out.tokens[out.mask].tolist() == [25, 9, 432]


class FakeTokenizer:
    vocab_size = 6
    specials: ClassVar[dict[str, int]] = {"<s>": 0, "<mask>": 1}
    mask: int | None = 1

    def token_bytes(self, token: int) -> bytes:
        return [b"", b"", b" a", b"b", b"\n", b""][token]


def test_what_a_tokenizer_says() -> None:
    made = mask_ids(FakeTokenizer(), whole_word=True)
    assert made.mask == 1
    assert made.plain.tolist() == [False, False, True, True, True, True]
    assert made.white.tolist() == [False, False, True, False, True, False]
    assert made.plain_ids.tolist() == [2, 3, 4, 5]
    assert not mask_ids(FakeTokenizer(), whole_word=False).white.any()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="mlm.probability must be from 0 to 1, got 15"):
        Mlm(probability=15)
    with pytest.raises(ValueError, match="sum to at most 1, got 1.3"):
        Mlm(replace=0.8, random=0.5)
    without = FakeTokenizer()
    without.mask = None
    with pytest.raises(ValueError, match="a tokenizer with a mask token"):
        mask_ids(without, whole_word=False)
    with pytest.raises(ValueError, match="whole rows, got columns from 3"):
        mask_batch(batch_of(2, 8), Mlm(whole_word=True), ids(), seed=0, step=0, column=3)
    with pytest.raises(ValueError, match="carry the white space"):
        mask_batch(batch_of(2, 8), Mlm(whole_word=True), ids(range(0)), seed=0, step=0)
    with pytest.raises(ValueError, match="the vocabulary has none"):
        MaskIds(0, np.zeros(4, np.bool_), np.zeros(4, np.bool_))
