from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stream.pairs.conftest import Words, same, stream_of

from barrow.errors import NotFound, StoreError
from barrow.stream.pairs import PairIndex, PairStream, index_pairs


def test_saved_and_loaded(index: PairIndex, tmp_path: Path) -> None:
    stream = stream_of(index, min_area=0.5, templates=("a {}",), background=(1, 2, 3))
    stream.save(tmp_path / "pairs_stream.json")
    again = PairStream.load(tmp_path, texts=Words())
    assert again.settings == stream.settings
    assert same(again.batch(3), stream.batch(3))
    other = Words()
    other.hash = "others"
    with pytest.raises(StoreError, match="saved with encoder words, this one is others"):
        PairStream.load(tmp_path, texts=other)
    with pytest.raises(NotFound, match="no saved stream of pairs: no such file"):
        PairStream.load(tmp_path / "none.json", texts=Words())


def test_another_index_is_refused(index: PairIndex, make: Callable, tmp_path: Path) -> None:
    stream_of(index).save(tmp_path / "s.json")
    other = index_pairs(make("folder", "three"), tmp_path / "index 3")
    with pytest.raises(StoreError, match="its pairs have changed, and so would every batch"):
        PairStream.load(tmp_path / "s.json", texts=Words(), index=other)
