from __future__ import annotations

from barrow.train.trackers.tracker import flat, numbers


def test_numbers() -> None:
    assert numbers({"loss": 1.5, "tokens": 3, "overflow": "embed"}) == {"loss": 1.5, "tokens": 3.0}


def test_flat() -> None:
    assert flat({"a": {"b": 1, "c": {"d": None}}, "e": [1, 2]}) == {
        "a.b": 1,
        "a.c.d": None,
        "e": [1, 2],
    }
