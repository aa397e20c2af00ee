"""The index: written and read back equal; anything else is refused with the reason."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.checkpoint.index import (
    Index,
    Leaf,
    Piece,
    StoredFile,
    index_bytes,
    is_covered,
    parse_index,
    read_index,
)
from barrow.checkpoint.leaves import Kind
from barrow.errors import CheckpointError

FOLDER = Path("run/step-000000007")
FILE = "arrays-00000.safetensors"


def example() -> Index:
    half = [Piece(FILE, f"w@{i}", (i, 0), (2, 3)) for i in (0, 2)]
    return Index(
        7,
        {"naïve": [1, None, {"deep": "日本語"}]},
        {
            "w": Leaf(Kind("F32", (4, 3)), tuple(half)),
            "key": Leaf(
                Kind("U32", (2,), "threefry2x32", "key<fry>"), (Piece(FILE, "key", (0,), (2,)),)
            ),
            "step": Leaf(Kind("I32", ()), (Piece(FILE, "step", (), ()),)),
        },
        {FILE: StoredFile(123, "ab" * 32)},
    )


def signed(table: dict[str, Any]) -> bytes:
    """An index whose checksum is right, whatever it says; made apart from the code."""
    table = {key: value for key, value in table.items() if key != "sha256"}
    text = json.dumps(table, sort_keys=True, separators=(",", ":"))
    return json.dumps(table | {"sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def test_back_and_forth(tmp_path: Path) -> None:
    index = example()
    assert parse_index(index_bytes(index), FOLDER) == index
    assert parse_index(signed(json.loads(index_bytes(index))), FOLDER) == index
    assert index.num_bytes == 123
    bare = Index(None, {}, {}, {})
    assert parse_index(index_bytes(bare), FOLDER) == bare
    (tmp_path / "index.json").write_bytes(index_bytes(index))
    assert read_index(tmp_path) == index
    # People look at it: a line for a leaf.
    assert index_bytes(index).decode().count("\n") == 15


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected a checkpoint, found no index.json"):
        read_index(tmp_path)


@pytest.mark.parametrize(
    ("data", "reason", "message"),
    [
        (b"", "damaged", "is not JSON"),
        (b"[" * 100_000, "damaged", "is not JSON"),
        (b"\xff\xfe", "damaged", "is not JSON"),
        (b"[]", "none", "is not of a checkpoint"),
        (b'{"weight_map": {}}', "none", "is not of a checkpoint"),
        (b'{"format": "barrow checkpoint", "version": 2}', "version", "of version 2, .*upgrade"),
        (b'{"format": "barrow checkpoint"}', "version", "of version None"),
        (b'{"format": "barrow checkpoint", "version": 1}', "damaged", "its checksum differs"),
    ],
)
def test_files_that_are_no_index(data: bytes, reason: str, message: str) -> None:
    with pytest.raises(CheckpointError, match=message) as raised:
        parse_index(data, FOLDER)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    "change",
    [
        {"leaves": None},
        {"files": {"../x": {"bytes": 1, "sha256": ""}}},
        {"files": {}},
        {"step": -1},
        {"step": "7"},
        {"about": 3},
        {"about": {"run": json.loads("[" * 700 + "]" * 700)}},
        {"leaves": {"w": {"dtype": "F31", "shape": [], "pieces": []}}},
        {"leaves": {"w": {"dtype": "F32", "shape": [-1], "pieces": []}}},
        {"leaves": {"w": {"dtype": "F32", "shape": "4", "pieces": []}}},
    ],
)
def test_tables_that_say_nonsense(change: dict[str, Any]) -> None:
    table = json.loads(index_bytes(example())) | change
    with pytest.raises(CheckpointError, match="is malformed") as raised:
        parse_index(signed(table), FOLDER)
    assert raised.value.reason == "damaged"


def test_pieces_that_are_not_the_whole() -> None:
    table = json.loads(index_bytes(example()))
    table["leaves"]["w"]["pieces"].pop()
    with pytest.raises(CheckpointError, match="the pieces of w do not cover it"):
        parse_index(signed(table), FOLDER)
    kind = Kind("F32", (4,))
    assert is_covered(Leaf(kind, (Piece(FILE, "a", (1,), (3,)), Piece(FILE, "b", (0,), (1,)))))
    assert not is_covered(Leaf(kind, (Piece(FILE, "a", (1,), (4,)),)))
    assert not is_covered(Leaf(kind, (Piece(FILE, "a", (0, 0), (4, 1)),)))
    assert is_covered(Leaf(Kind("F32", (0, 3)), (Piece(FILE, "a", (0, 0), (0, 3)),)))


@given(st.data())
def test_no_changed_character_goes_unseen(data: st.DataObject) -> None:
    whole = index_bytes(example()).decode()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.characters(codec="utf-8"))
    changed = (whole[:at] + other + whole[at + 1 :]).encode()
    try:
        found = parse_index(changed, FOLDER)
    except CheckpointError:
        return
    assert found == example()  # white space
