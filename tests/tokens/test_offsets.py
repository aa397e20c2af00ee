from __future__ import annotations

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.tokens.tokenizer import offsets_of


@given(st.lists(st.integers(0, 2**40)))
def test_offsets_are_running_sums(lengths: list[int]) -> None:
    found = offsets_of(np.array(lengths, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == list(accumulate(lengths, initial=0))
