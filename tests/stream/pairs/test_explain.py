from __future__ import annotations

import pytest
from tests.stream.pairs.conftest import said, stream_of

from barrow.stream import Mixture
from barrow.stream.pairs import PairIndex, pairs_at


def test_explained(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, mixture=Mixture(epochs={"two": 1.0}))
    seen = pairs_at(stream, 0)
    batch = stream.batch(0)
    assert [one.pair for one in seen] == batch.pairs[:6].tolist()
    assert [one.text for one in seen] == [said(row) for row in batch.texts[:6]]
    assert pairs_at(stream, 0, row=2) == [seen[2]]
    assert str(seen[0]) == f"row 0: two, {seen[0].name}, {seen[0].text!r}"
    with pytest.raises(ValueError, match="step 0 has rows 0 to 7, not 8"):
        pairs_at(stream, 0, row=8)
