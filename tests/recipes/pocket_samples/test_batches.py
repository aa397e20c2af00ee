from __future__ import annotations

from typing import Any

from barrow.recipes.pocket_samples.batches import batches


def test_files_and_articles_are_numbered_from_one() -> None:
    articles: list[Any] = ["a", "b", "c", "d", "e"]
    assert list(batches(articles, 2)) == [
        (1, [(1, "a"), (2, "b")]),
        (2, [(3, "c"), (4, "d")]),
        (3, [(5, "e")]),
    ]
    assert list(batches([], 2)) == []
