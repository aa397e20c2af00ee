from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from barrow.stream.order.order import Rows
from barrow.stream.part import Part
from barrow.stream.rows.collate import TokenCollate
from barrow.stream.rows.cut_rows import CutRows
from barrow.stream.rows.masked_collate import MaskedCollate
from barrow.stream.rows.masking import MaskIds, Mlm, mask_batch


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
