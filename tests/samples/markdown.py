"""Notes in Markdown, with front matter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tests.samples.pieces import Article, spoken


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """A note for each article, a heading for each further piece, code between fences."""
    for number, article in enumerate(articles, 1):
        parts: list[str] = []
        for place, piece in enumerate(article.pieces):
            parts.append(f"{'##' if place else '#'} {spoken(piece.name)}")
            parts += [_wrapped(paragraph) for paragraph in piece.paragraphs]
            if piece.code:
                parts.append(f"```python\n{piece.code}\n```")
        head = f'---\ntitle: "{article.title}"\ndate: 2020-01-01\nlang: en\n---\n\n'
        yield f"notes/note{number:04}.md", (head + "\n\n".join(parts) + "\n").encode()


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 88, break_on_hyphens=False))
