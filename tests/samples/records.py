"""Records that are documents already: JSON lines with text and meta."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.samples.batches import batches
from tests.samples.packing import gzipped
from tests.samples.pieces import Article

_RECORDS_A_FILE = 100


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """One article a line; each file ends with a record that has no text."""
    for file, batch in batches(articles, _RECORDS_A_FILE):
        records = [
            {
                "text": "\n\n".join((article.title, *article.paragraphs)),
                "meta": {"title": article.title, "number": number},
            }
            for number, article in batch
        ]
        lines = "".join(json.dumps(record) + "\n" for record in (*records, {"meta": {}}))
        yield f"records-{file:03}.jsonl.gz", gzipped(lines.encode())
