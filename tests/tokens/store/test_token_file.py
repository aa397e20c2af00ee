from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from barrow.errors import StoreError
from barrow.files.safetensors import Column
from barrow.tokens.store.array_file import write_arrays
from barrow.tokens.store.pieces import Piece, to_table
from barrow.tokens.store.token_file import TokenFile, write_token_file

U16, U64 = np.dtype("<u2"), np.dtype("<u8")
PIECES = [Piece("a" * 32, 0, 0, "A", 2, 5, 9), Piece("a" * 32, 0, 0, "B", 1, 1, 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.safetensors"
    write_token_file(
        path,
        PIECES,
        offsets=[np.array([0, 3, 5, 6], np.uint64)],
        identity=[np.arange(6, dtype=np.uint64).reshape(3, 2)],
        number=[np.array([4, 6, 5], np.uint64)],
        ids=[np.array([1, 2, 3], U16), np.array([4, 5, 6], U16)],
        dtype=U16,
    )
    return path


def test_what_is_written_is_read(path: Path) -> None:
    file = TokenFile.open(path, U16)
    assert file.pieces == tuple(PIECES)
    assert (file.document_starts, file.token_starts) == ((0, 2, 3), (0, 5, 6))
    assert [rows.tolist() for rows in file.rows("ids", 1, 4)] == [[2, 3, 4]]
    mapped = file.mapped()
    assert mapped["number"].tolist() == [4, 6, 5]
    loaded = load_file(path)
    assert sorted(loaded) == ["identity", "ids", "number", "offsets", "pieces"]
    for name, array in loaded.items():
        np.testing.assert_array_equal(array, mapped[name])


def test_ids_of_another_width(path: Path) -> None:
    with pytest.raises(StoreError, match="expected the arrays of a token file"):
        TokenFile.open(path, np.dtype("<u4"))


def other(path: Path, note: Any, **changes: Any) -> None:
    _, table = to_table(PIECES)
    arrays = {
        "pieces": table,
        "offsets": np.array([0, 3, 5, 6], U64),
        "identity": np.zeros((3, 2), U64),
        "number": np.zeros(3, U64),
        "ids": np.zeros(6, U16),
        **changes,
    }
    columns = {name: Column(array.dtype, array.shape, [array]) for name, array in arrays.items()}
    path.unlink(missing_ok=True)
    write_arrays(path, columns, note=note)


def test_arrays_that_do_not_fit_together(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    names = {"domains": ["A", "B"]}
    other(path, names)
    TokenFile.open(path, U16)
    for note in ({"domains": ["A"]}, None, {}):
        other(path, note)
        with pytest.raises(StoreError, match="its pieces name no domain"):
            TokenFile.open(path, U16)
    for changes in (
        {"offsets": np.zeros(3, U64)},
        {"identity": np.zeros((2, 2), U64)},
        {"identity": np.zeros((3, 3), U64)},
        {"number": np.zeros(4, U64)},
        {"ids": np.zeros(7, U16)},
    ):
        other(path, names, **changes)
        with pytest.raises(StoreError, match="expected arrays of lengths .* found"):
            TokenFile.open(path, U16)
    other(path, names, pieces=np.zeros((2, 7), U64))
    with pytest.raises(StoreError, match=r"expected 8 numbers for a piece, found \(7,\)"):
        TokenFile.open(path, U16)
