"""Several articles to a file, numbered through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tests.samples.pieces import Article

Numbered = list[tuple[int, Article]]


def batches(articles: Iterable[Article], size: int) -> Iterator[tuple[int, Numbered]]:
    """The number of each file, and its articles with their own numbers, all from 1."""
    numbered = iter(enumerate(articles, 1))
    file = 0
    while batch := list(islice(numbered, size)):
        file += 1
        yield file, batch
