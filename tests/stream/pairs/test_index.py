from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stream.pairs.conftest import png

from barrow.errors import StoreError
from barrow.stream.pairs import index_pairs, open_index


def test_numbers_outside(make: Callable, tmp_path: Path) -> None:
    index = index_pairs(make("folder"), tmp_path / "index")
    for call in (index.read, index.name, index.captions, index.domain_of):
        for number in (-1, 20):
            with pytest.raises(IndexError, match=f"the number of a pair, 0 to 19, got {number}"):
                call(number)


def test_it_goes_to_other_processes(make: Callable, tmp_path: Path) -> None:
    source = make("folder")
    index_pairs(source, tmp_path / "index")
    source.rename(tmp_path / "there")
    index = open_index(tmp_path / "index", roots={"source": tmp_path / "there"})
    again = pickle.loads(pickle.dumps(index))
    assert again.read(3) == png(3)
    assert again.identity == index.identity
    assert "20 pairs, 1 sources" in repr(again)


def test_damage_is_told(make: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    index_pairs(make("folder"), folder)
    told = json.loads((folder / "pairs.json").read_text())
    whole = (folder / "pairs.safetensors").read_bytes()
    (folder / "pairs.json").write_text(json.dumps({**told, "pairs": 21}))
    with pytest.raises(StoreError, match=r"expected 21 pairs, found columns of \[20, 21\]|\[20\]"):
        open_index(folder)
    (folder / "pairs.json").write_text(json.dumps({**told, "format": "other"}))
    with pytest.raises(
        StoreError, match="pairs.json: not written by barrow tokens pairs index .*format"
    ):
        open_index(folder)
    for bad in (b"{", b"[1]", b"{}", b"\xff"):
        (folder / "pairs.json").write_bytes(bad)
        with pytest.raises(StoreError, match="pairs.json: not written .*; make the index again"):
            open_index(folder)
    (folder / "pairs.json").write_text(json.dumps(told))
    (folder / "pairs.safetensors").write_bytes(whole[:-1])
    with pytest.raises(StoreError, match="cut short"):
        open_index(folder)
    (folder / "pairs.safetensors").unlink()
    with pytest.raises(StoreError, match="the table is missing"):
        open_index(folder)
