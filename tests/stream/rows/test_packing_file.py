from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from barrow.errors import StoreError, UnsafeName, WriteFailed
from barrow.stream.rows import packing_file
from barrow.stream.rows.packing import Packing, best_fit, one_by_one
from barrow.stream.rows.packing_file import open_packing


def same(a: Packing, b: Packing) -> bool:
    return all((getattr(a, f.name) == getattr(b, f.name)).all() for f in fields(Packing))


def test_made_once_and_mapped(
    stores: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores([[5, 20, 3, 0, 7], [4]], folder=tmp_path)
    made = open_packing(store, 0, kind="fit", seq_len=8)
    assert same(made, best_fit(store.domain_starts(0), 8))
    (file,) = (tmp_path / "packing").iterdir()
    before = file.read_bytes()
    monkeypatch.setattr(packing_file, "_PACK", {})
    again = open_packing(store, 0, kind="fit", seq_len=8)
    assert same(again, made)
    assert not again.start.flags.writeable
    assert file.read_bytes() == before
    library = safetensors.numpy.load_file(file)
    assert library["start"].tolist() == made.start.tolist()


def test_each_for_its_own(stores: Callable, tmp_path: Path) -> None:
    """Another domain, length, kind or store is another packing."""
    store = stores([[5, 20, 3], [4, 4]])
    made: list[Any] = [
        open_packing(store, 0, kind="fit", seq_len=8, folder=tmp_path),
        open_packing(store, 1, kind="fit", seq_len=8, folder=tmp_path),
        open_packing(store, 0, kind="document", seq_len=8, folder=tmp_path),
        open_packing(store, 0, kind="fit", seq_len=9, folder=tmp_path),
        open_packing(replace(store, identity="x"), 0, kind="fit", seq_len=8, folder=tmp_path),
    ]
    assert len(os.listdir(tmp_path)) == len(made)
    assert same(made[2], one_by_one(store.domain_starts(0), 8))
    assert same(made[3], best_fit(store.domain_starts(0), 9))


def test_a_folder_that_cannot_be_written(stores: Callable, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(WriteFailed, match=r"pass another folder: cache="):
        open_packing(stores([[5]]), 0, kind="fit", seq_len=8, folder=file / "packing")


def test_a_truncated_file(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 20, 3]])
    open_packing(store, 0, kind="fit", seq_len=8, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(StoreError, match="cut short"):
        open_packing(store, 0, kind="fit", seq_len=8, folder=tmp_path)


def test_empty_domain(stores: Callable, tmp_path: Path) -> None:
    store = stores([[], [3]])
    assert open_packing(store, 0, kind="fit", seq_len=8, folder=tmp_path).num_rows == 0
    assert np.array_equal(
        open_packing(store, 1, kind="fit", seq_len=8, folder=tmp_path).offsets, [0, 1]
    )


def test_a_link_for_its_folder_is_not_followed(stores: Callable, tmp_path: Path) -> None:
    """A store that came from somebody else must not have files written elsewhere."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "store").mkdir()
    store = stores([[5, 20, 3]], folder=tmp_path / "store")
    (tmp_path / "store" / "packing").symlink_to(tmp_path / "victim")
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        open_packing(store, 0, kind="fit", seq_len=8)
    assert not list((tmp_path / "victim").iterdir())
