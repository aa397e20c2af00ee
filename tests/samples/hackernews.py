"""Stories with comments: items of Hacker News' interface, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import batches
from tests.samples.people import nick
from tests.samples.pieces import Article
from tests.samples.web_page import address_of

_STORIES_A_FILE = 100
_ITEMS_A_STORY = 100


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Each piece's first paragraph begins a thread; every further one answers the one before.

    On each story hangs something that was deleted.
    """
    for file, batch in batches(articles, _STORIES_A_FILE):
        items = (item for number, article in batch for item in _story(article, number))
        yield f"items-{file:03}.jsonl", "".join(json.dumps(item) + "\n" for item in items).encode()


def _story(article: Article, number: int) -> Iterator[dict[str, object]]:
    story = number * _ITEMS_A_STORY
    comments: list[dict[str, object]] = []
    for piece in article.pieces:
        above = story
        for paragraph in piece.paragraphs:
            at = story + len(comments) + 1
            comments.append(_comment(at, above, nick(at), paragraph))
            above = at
    last = story + len(comments) + 1
    yield {
        "id": story,
        "type": "story",
        "by": nick(number),
        "time": 1577836800 + 3600 * number,
        "title": article.title,
        "url": address_of(number),
        "score": 3 + number % 50,
        "kids": [comment["id"] for comment in comments if comment["parent"] == story],
    }
    yield from comments
    yield {"id": last, "type": "comment", "parent": story, "deleted": True}


def _comment(number: int, parent: int, by: str, text: str) -> dict[str, object]:
    return {
        "id": number,
        "type": "comment",
        "parent": parent,
        "by": by,
        "time": 1577836800 + number,
        "text": escape(text).replace("/", "&#x2F;"),
    }
