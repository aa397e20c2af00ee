"""Questions and answers: the Posts.xml of a site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from xml.sax.saxutils import quoteattr

from tests.samples.pieces import Article

_ASIDES = ("I would like to know this, too.", "Have you looked into the manual?")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """The first paragraph is the question; the rest, with code, the accepted answer.

    Below it stands an answer that nobody voted for.
    """
    rows: list[str] = []
    for number, article in enumerate(articles):
        question, answer, aside = range(3 * number + 1, 3 * number + 4)
        first, *rest = article.paragraphs
        asked = f"<p>{escape(first)}</p>\n<p>Can somebody tell me more about it?</p>"
        said = [f"<p>{escape(paragraph)}</p>" for paragraph in rest]
        codes = [piece.code for piece in article.pieces if piece.code]
        said += [f"<pre><code>{escape(code)}\n</code></pre>" for code in codes]
        title = f"What is {article.title}?"
        rows += [
            _row(
                *(question, 1, asked),
                f' Title={quoteattr(title)} AcceptedAnswerId="{answer}" Tags="&lt;python&gt;"',
            ),
            _row(answer, 2, "\n".join(said) or "<p>There is no more to it.</p>", _to(question)),
            _row(aside, 2, f"<p>{_ASIDES[number % 2]}</p>", _to(question), score=0),
        ]
    body = "".join(rows)
    yield (
        "pocket/Posts.xml",
        f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{body}</posts>'.encode(),
    )


def _to(question: int) -> str:
    return f' ParentId="{question}"'


def _row(number: int, kind: int, body: str, more: str, *, score: int = 5) -> str:
    return (
        f'  <row Id="{number}" PostTypeId="{kind}" Score="{score}" '
        f'CreationDate="2020-01-01T00:00:00.000" ContentLicense="CC BY-SA 4.0" '
        f"Body={quoteattr(body)}{more} />\n"
    )
