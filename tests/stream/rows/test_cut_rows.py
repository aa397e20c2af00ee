from __future__ import annotations

import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.order.order import Rows
from barrow.stream.rows.cut_rows import CutRows


def rows_of(rows: list[tuple[int, int, int]]) -> Rows:
    domain, start, length = (np.array([r[k] for r in rows], np.int64) for k in range(3))
    return Rows(domain, np.zeros_like(domain), start, length)


@given(st.randoms(use_true_random=True))
def test_spans_of_stretches(stores: Callable, slow: Any, rng: Random) -> None:
    lengths = [
        [rng.choice([0, 1, 2, 5, 9]) for _ in range(rng.randint(1, 8))]
        for _ in range(rng.randint(1, 3))
    ]
    store = stores(lengths)
    rows = []
    for _ in range(rng.randint(0, 6)):
        domain = rng.randrange(-1, len(store.domains))
        total = store.domain_tokens(domain) if domain >= 0 else 0
        if total == 0:
            rows.append((-1, 0, 0))
            continue
        start = rng.randrange(total)
        rows.append((domain, start, rng.randint(1, total - start)))
    spans = CutRows(store).samples(rows_of(rows))
    assert spans.num_rows == len(rows)
    found: list[list[tuple[int, int]]] = [[] for _ in rows]
    for k in range(len(spans)):
        row, document = int(spans.row[k]), int(spans.document[k])
        domain, ids = store.documents[document]
        assert domain == spans.domain[k] == rows[row][0]
        assert spans.length[k] > 0
        assert spans.column[k] == len(found[row])
        number = document - store.domain_range(domain).start
        begin = int(spans.start[k]) - int(store.domain_starts(domain)[number])
        places = range(begin, begin + int(spans.length[k]))
        found[row] += [(document, place) for place in places]
        assert bool(spans.last[k]) == (places.stop == len(ids))
    expected = [slow.cut(store, row) if row[0] >= 0 else [] for row in rows]
    assert found == expected
    assert (np.diff(spans.row) >= 0).all()


def test_the_schedule_says_how_wide(stores: Callable) -> None:
    assert CutRows(stores([[3]])).width(17, lambda: rows_of([])) == 17


def test_where_documents_begin_is_not_kept(stores: Callable) -> None:
    """The store says how many files are mapped at a time, and there may be more domains."""
    store = stores([[9, 9], [9, 9]])
    handed: list[weakref.ref[Any]] = []

    class Watched(type(store)):  # type: ignore[misc]
        def domain_starts(self, domain: int) -> np.ndarray:
            starts: np.ndarray = super().domain_starts(domain)
            handed.append(weakref.ref(starts))
            return starts

    zeros = np.zeros(2, np.int64)
    source = CutRows(Watched(store.documents, store.domains))
    assert len(source.samples(Rows(np.array([0, 1]), zeros, zeros, zeros + 4))) == 2
    assert handed
    assert all(one() is None for one in handed)
