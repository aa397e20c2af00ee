"""A manual in HTML, a page a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.pieces import Article, spoken


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Pages with styles, scripts, hidden parts and, on some, the character set of old."""
    for number, article in enumerate(articles, 1):
        title = escape(article.title)
        charset = "windows-1252" if number % 4 == 0 else "utf-8"
        body: list[str] = []
        for place, piece in enumerate(article.pieces):
            said = [f"<p>{_marked(paragraph)}</p>" for paragraph in piece.paragraphs]
            head = f"<dt id='entry{place}'>{escape(spoken(piece.name))}</dt>" if place else ""
            body.append(f"{head}<dd>{''.join(said)}</dd>")
            if piece.code:
                body.append(f"<dd><pre>{escape(piece.code)}</pre></dd>")
        page = f"""<html lang="en"><head><meta charset="{charset}"><title>{title}</title>
<style>dt {{ font-weight: bold }}</style></head>
<body><h1>{title}</h1>
<!-- page {number} of the manual -->
<div hidden>Your browser is too old to show the index.</div>
<dl>
{chr(10).join(body)}
</dl>
<p>Page&nbsp;{number} \N{EN DASH} end</p>
<script>document.title += " (manual)";</script>
</body></html>
"""
        yield f"manual/page{number:04}.html", page.encode(charset)


def _marked(paragraph: str) -> str:
    """The first word set apart, as manuals do."""
    first, blank, rest = paragraph.partition(" ")
    return f"<em>{escape(first)}</em>{blank}{escape(rest)}"
