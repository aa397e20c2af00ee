"""Pages that people shared: JSON lines of stored pages, and the list of links with their scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.samples.batches import batches
from tests.samples.packing import gzipped
from tests.samples.pieces import Article
from tests.samples.web_page import address_of, web_page

_PAGES_A_FILE = 100


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Every page was shared twice, once with a tracking address; some copies nobody liked."""
    links: list[dict[str, object]] = []
    for file, batch in batches(articles, _PAGES_A_FILE):
        pages: list[dict[str, str]] = []
        for number, article in batch:
            url, page = address_of(number), web_page(article, number)
            pages.append({"url": url, "html": page})
            links.append({"url": url, "score": 2 + number % 7, "over_18": False})
            links.append({"url": f"{url}?utm_source=pocket", "score": 1, "over_18": False})
            if number % 20 == 0:
                pages.append({"url": f"{url}/copy", "html": page})
                links.append({"url": f"{url}/copy", "score": 1, "over_18": False})
        yield f"pages-{file:03}.jsonl.gz", gzipped(_lines(pages))
    yield "RS_2020-01.jsonl", _lines(links)


def _lines(records: Iterable[object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()
