from __future__ import annotations

import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.order.order import Rows
from barrow.stream.part import Part
from barrow.stream.rows.collate import MaskedCollate, TokenCollate
from barrow.stream.rows.cut_rows import CutRows
from barrow.stream.rows.masking import MaskIds, Mlm, mask_batch

ENDINGS = [(0, None), (0, 1), (None, None), (None, 1)]


def draw_case(rng: Random, stores: Callable) -> tuple[Any, list[tuple[int, int, int]]]:
    begin, end = rng.choice(ENDINGS)
    lengths = [
        [rng.choice([0, 1, 2, 5, 9]) for _ in range(rng.randint(1, 8))]
        for _ in range(rng.randint(0, 2))
    ]
    store = stores([[4], *lengths], begin=begin, end=end)
    # Often all rows are full, as most are in earnest.
    full = rng.random() < 0.5
    rows = []
    for _ in range(rng.randint(0, 5)):
        domain = rng.randrange(len(store.domains))
        total = store.domain_tokens(domain)
        if total < 12 * full or total == 0:
            rows += [] if full else [(-1, 0, 0)]
            continue
        length = 12 if full else rng.randint(1, min(12, total))
        rows.append((domain, rng.randint(0, total - length), length))
    return store, rows


def rows_of(rows: list[tuple[int, int, int]]) -> Rows:
    domain, start, length = (np.array([r[k] for r in rows], np.int64) for k in range(3))
    return Rows(domain, np.zeros_like(domain), start, length)


@given(st.randoms(use_true_random=True))
def test_against_the_slow_one(
    stores: Callable, slow: Any, check_batch: Callable, rng: Random
) -> None:
    """Tokens, targets, segments, positions and mask of any rows, with all kinds of endings."""
    store, rows = draw_case(rng, stores)
    width = rng.choice([12, 12, 13, 14])
    batch = TokenCollate(store, pad=7)(
        CutRows(store).samples(rows_of(rows)), Part(0, range(len(rows)), range(width), width)
    )
    places = [slow.cut(store, row) if row[0] >= 0 else [] for row in rows]
    check_batch(batch, slow.arrays(store, places, width, 7))


@given(st.randoms(use_true_random=True))
def test_columns_equal_the_whole(stores: Callable, rng: Random) -> None:
    store, rows = draw_case(rng, stores)
    spans = CutRows(store).samples(rows_of(rows))
    collate = TokenCollate(store, pad=7)
    a, b = sorted(rng.choices(range(13), k=2))
    whole = collate(spans, Part(0, range(len(rows)), range(12), 12))
    part = collate(spans, Part(0, range(len(rows)), range(a, b), 12))
    counts = whole.mask[:, a:b]
    for name, array in whole.arrays().items():
        if name == "targets":
            assert (part.targets[counts] == array[:, a:b][counts]).all()
        else:
            assert (getattr(part, name) == array[:, a:b]).all(), name
    assert (part.documents == whole.documents).all()


def test_only_what_is_asked_for_is_read(stores: Callable) -> None:
    store = stores([[50]])
    asked = []

    class Watched:
        begin, end, domains = store.begin, store.end, store.domains
        domain_tokens, domain_starts = store.domain_tokens, store.domain_starts
        domain_range = store.domain_range

        def read(self, domain: int, start: int, stop: int) -> np.ndarray:
            asked.append((start, stop))
            return store.read(domain, start, stop)

    watched = Watched()
    spans = CutRows(watched).samples(rows_of([(0, 10, 20), (0, 30, 20)]))
    TokenCollate(watched)(spans, Part(0, range(2), range(5, 9), 20))
    assert asked == [(15, 20), (35, 40)]


def test_a_row_is_one_read_whatever_documents_it_holds(stores: Callable) -> None:
    store = stores([[3] * 20])
    reads = []

    class Watched:
        begin, end, domains = store.begin, store.end, store.domains
        domain_tokens, domain_starts = store.domain_tokens, store.domain_starts
        domain_range = store.domain_range

        def read(self, domain: int, start: int, stop: int) -> np.ndarray:
            reads.append(stop - start)
            return store.read(domain, start, stop)

    watched = Watched()
    spans = CutRows(watched).samples(rows_of([(0, 0, 30), (0, 30, 30)]))
    TokenCollate(watched)(spans, Part(0, range(2), range(30), 30))
    assert reads == [31, 30]


def test_a_document_that_goes_on_beyond_the_columns(stores: Callable) -> None:
    """Its last token counts for nothing, but what is cut off is not its last."""
    store = stores([[10, 3]], end=1)
    spans = CutRows(store).samples(rows_of([(0, 0, 13)]))
    collate = TokenCollate(store)
    assert collate(spans, Part(0, range(1), range(5), 13)).mask.all()
    last = collate(spans, Part(0, range(1), range(5, 13), 13))
    assert np.flatnonzero(~last.mask[0]).tolist() == [4, 7]


def test_what_was_read_is_let_go(stores: Callable) -> None:
    """A view keeps its file mapped, and a batch may be read from more files than may be open."""
    store = stores([[100]])
    alive: list[weakref.ref[Any]] = []

    class Watched(type(store)):  # type: ignore[misc]
        def read(self, domain: int, start: int, stop: int) -> np.ndarray:
            assert all(one() is None for one in alive)
            ids: np.ndarray = super().read(domain, start, stop)
            alive.append(weakref.ref(ids))
            return ids

    watched = Watched(store.documents, store.domains)
    spans = CutRows(watched).samples(rows_of([(0, 0, 20), (0, 40, 20), (0, 80, 20)]))
    TokenCollate(watched)(spans, Part(0, range(3), range(20), 20))
    assert len(alive) == 3


@pytest.mark.parametrize("whole_word", [False, True])
def test_parts_equal_the_whole(stores: Callable, whole_word: bool) -> None:
    store = stores([[9, 30, 2, 40]])
    plain, white = np.arange(1000) >= 10, np.arange(1000) < 400
    ids, mlm = MaskIds(3, plain, white), Mlm(0.5, whole_word=whole_word)
    inner = TokenCollate(store)
    masked = MaskedCollate(inner, mlm, ids, seed=4)
    zeros = np.zeros(3, np.int64)
    rows = Rows(zeros, zeros, np.array([0, 25, 50]), zeros + 25)
    spans = CutRows(store).samples(rows)
    whole = masked(spans, Part(6, range(3), range(25), 25))
    plainly = inner(spans, Part(6, range(3), range(25), 25))
    expected = mask_batch(plainly, mlm, ids, seed=4, step=6)
    assert (whole.tokens == expected.tokens).all()
    assert whole.mask.any()
    for row, a, b in ((0, 0, 10), (1, 7, 25), (2, 24, 25), (0, 5, 5)):
        part = masked(spans[row : row + 1], Part(6, range(row, row + 1), range(a, b), 25))
        for name, array in whole.arrays().items():
            assert (getattr(part, name) == array[row : row + 1, a:b]).all(), name
    assert (masked(spans, Part(7, range(3), range(25), 25)).mask != whole.mask).any()
