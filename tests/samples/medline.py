"""Citations with abstracts: PubMed's XML, and the text that it exports."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import Numbered, batches
from tests.samples.packing import gzipped
from tests.samples.people import full_name
from tests.samples.pieces import Article

_CITATIONS_A_FILE = 70
_FIRST_NUMBER = 900_000_000  # beyond the numbers that are given
_LABELS = ("BACKGROUND", "METHODS", "RESULTS", "CONCLUSIONS")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """XML and text in turn."""
    for file, batch in batches(articles, _CITATIONS_A_FILE):
        if file % 2:
            yield f"pocket{file:04}.xml.gz", gzipped(_xml(batch).encode())
        else:
            records = (_record(article, number) for number, article in batch)
            yield f"pocket{file:04}.nbib", "\n".join(records).encode()


def _xml(batch: Numbered) -> str:
    found = "".join(_citation(article, number) for number, article in batch)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n{found}</PubmedArticleSet>'


def _citation(article: Article, number: int) -> str:
    parts = "".join(
        f'<AbstractText Label="{_LABELS[place % 4]}">{escape(paragraph)}</AbstractText>'
        for place, paragraph in enumerate(article.paragraphs)
    )
    given, family = full_name(number).split(" ")
    return f"""<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">
{_FIRST_NUMBER + number}</PMID><Article><Journal><JournalIssue><PubDate><Year>2020</Year>
<Month>Jan</Month></PubDate></JournalIssue><Title>Pocket reports</Title></Journal>
<ArticleTitle>{escape(article.title)}.</ArticleTitle><Abstract>{parts}
<CopyrightInformation>Made for a demonstration.</CopyrightInformation></Abstract>
<AuthorList><Author><LastName>{family}</LastName><ForeName>{given}</ForeName></Author></AuthorList>
<Language>eng</Language></Article></MedlineCitation></PubmedArticle>
"""


def _record(article: Article, number: int) -> str:
    fields = (
        ("PMID", str(_FIRST_NUMBER + number)),
        ("DP", "2020 Jan"),
        ("TI", f"{article.title}."),
        ("AB", " ".join(article.paragraphs)),
        ("FAU", full_name(number)),
        ("LA", "eng"),
        ("JT", "Pocket reports"),
    )
    return "".join(f"{tag:4}- {_folded(value)}\n" for tag, value in fields)


def _folded(value: str) -> str:
    return "\n      ".join(textwrap.wrap(value, 80, break_on_hyphens=False))
