from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.tokens.store.encode import frame_ids
from barrow.tokens.tokenizer import offsets_of

LISTS = st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=4), max_size=6)


@pytest.mark.parametrize(("begin", "end"), [(7, None), (0, 0), (7, 8), (None, 8), (None, None)])
@given(texts=LISTS)
def test_every_document_is_framed(
    texts: list[list[int]], begin: int | None, end: int | None
) -> None:
    wanted = [
        [*([] if begin is None else [begin]), *text, *([] if end is None else [end])]
        if text
        else []
        for text in texts
    ]
    ids = np.array([id_ for text in texts for id_ in text], np.uint32)
    lengths = np.array([len(text) for text in texts], np.int64)
    found, offsets = frame_ids(ids, offsets_of(lengths), begin=begin, end=end)
    assert found.dtype == np.uint32
    assert [found[a:b].tolist() for a, b in pairwise(offsets)] == wanted
    assert offsets[-1] == len(found)
