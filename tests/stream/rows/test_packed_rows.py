from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from barrow.stream.order.order import Rows
from barrow.stream.rows.packed_rows import BucketedRows, PackedRows, default_buckets, packed_lengths
from barrow.stream.rows.packing import best_fit, one_by_one


def rows_of(domain: list[int], item: list[int]) -> Rows:
    zeros = np.zeros(len(domain), np.int64)
    return Rows(np.array(domain, np.int64), zeros, np.array(item, np.int64), zeros + 1)


def test_pieces_of_rows(stores: Callable) -> None:
    store = stores([[5, 20, 3, 4, 0, 7], [2, 6]])
    packings = {d: best_fit(store.domain_starts(d), 8) for d in range(2)}
    rows = [(1, 0), (0, 3), (-1, 0), (0, 0), (1, 0), (0, 1)]
    spans = PackedRows(store, packings).samples(rows_of(*zip(*rows, strict=True)))
    assert spans.num_rows == len(rows)
    for number, (domain, item) in enumerate(rows):
        mine = spans[number : number + 1]
        if domain < 0:
            assert len(mine) == 0
            continue
        packing = packings[domain]
        pieces = slice(packing.offsets[item], packing.offsets[item + 1])
        assert mine.start.tolist() == packing.start[pieces].tolist()
        lengths = packing.length[pieces].tolist()
        assert mine.length.tolist() == lengths
        assert mine.column.tolist() == [sum(lengths[:k]) for k in range(len(lengths))]
        first = store.domain_range(domain).start
        assert mine.document.tolist() == (first + packing.document[pieces]).tolist()
        assert mine.last.tolist() == (packing.last[pieces] == 1).tolist()


def test_width_is_the_smallest_bucket_for_the_longest_row(stores: Callable) -> None:
    store = stores([[5, 20, 3], [1, 2]])
    packings = {d: one_by_one(store.domain_starts(d), 16) for d in range(2)}
    source = BucketedRows(store, packings, (4, 8, 16))
    for domain, item, width in (
        ([1, 1], [0, 1], 4),
        ([1, 0], [0, 0], 8),
        ([0, 0], [1, 2], 16),
        ([-1], [0], 4),
    ):
        assert source.width(16, lambda d=domain, i=item: rows_of(d, i)) == width
    rows = rows_of([0, 0, 0, 0, -1, 1], [0, 1, 2, 3, 0, 1])
    assert packed_lengths(packings, rows.domain, rows.start).tolist() == [5, 16, 4, 3, 0, 2]
    assert len(source.samples(rows)) == 5


@pytest.mark.parametrize(
    ("seq_len", "buckets"),
    [(1, (1,)), (2, (1, 2)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))],
)
def test_default_buckets(seq_len: int, buckets: tuple[int, ...]) -> None:
    assert default_buckets(seq_len) == buckets
