from __future__ import annotations

import numpy as np
from tests.stream.pairs.conftest import stream_of

from barrow.stream.pairs import PairIndex


def test_items_of_each_source_are_its_pairs(index: PairIndex) -> None:
    """Sources stand one behind another in the index; what is past the end is −1."""
    batches = stream_of(index, batch=20).batches
    source, order = batches.source, batches.order
    pairs = source.samples(order.rows(0, 0, 20))
    assert pairs.dtype == np.int64
    assert sorted(pairs.tolist()) == list(range(20))
    assert source.width(1, lambda: order.rows(0, 0, 20)) == 24
