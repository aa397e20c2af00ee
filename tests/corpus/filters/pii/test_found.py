from __future__ import annotations

from barrow.corpus.filters.pii.found import CATEGORIES, Found


def test_categories_are_told_apart() -> None:
    assert len(set(CATEGORIES)) == len(CATEGORIES) == 7
    assert Found("ip", 1, 2).category in CATEGORIES
