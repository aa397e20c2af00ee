"""What one call of a model reads and writes."""

from __future__ import annotations

import pytest

from barrow.nn.trace import Trace


def trace(**changes):
    given = {"params": {}, "collections": {}, "keys": {}, "mutable": (), "constrain": None}
    return Trace(**(given | changes))


def test_describing() -> None:
    assert trace(params=None).is_describing
    assert not trace().is_describing


def test_find_sees_what_was_written_last_and_counts_depth() -> None:
    found = trace(collections={"c": {"x": {"y": 1}}}, depth=1)
    assert found.find("c", ("part", "x", "y")) == (True, 1)
    assert found.find("c", ("part", "x", "z")) == (False, None)
    assert found.find("d", ("part", "x", "y")) == (False, None)
    assert found.find("c", ("part", "x", "y", "deeper")) == (False, None)
    found.written["c"] = {"part/x/y": 2}
    assert found.find("c", ("part", "x", "y")) == (True, 2)


def test_new_collections_merge() -> None:
    found = trace(
        collections={"c": {"x": {"y": 1, "z": 5}}, "d": {"k": 7}}, mutable=("c", "e"), depth=1
    )
    found.written["c"] = {"part/x/y": 2, "part/w": {"inner": 3}}
    assert found.new_collections() == {
        "c": {"x": {"y": 2, "z": 5}, "w": {"inner": 3}},
        "d": {"k": 7},
        "e": {},
    }


def test_a_value_cannot_be_a_folder_as_well() -> None:
    found = trace(collections={"c": {"x": 1}}, mutable=("c",))
    found.written["c"] = {"x/y": 2}
    with pytest.raises(ValueError, match="a leaf and a folder at once"):
        found.new_collections()


def test_kinds_are_noted_once() -> None:
    found = trace(params=None)
    for kind in ("Repeat", "Block", "Repeat"):
        found.note("layers", kind)
    assert found.modules == {"layers": ["Repeat", "Block"]}
