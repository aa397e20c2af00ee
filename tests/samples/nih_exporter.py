"""Abstracts of funded projects: two CSV files a year, one of abstracts and one of titles."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from tests.samples.batches import batches
from tests.samples.pieces import Article

_PROJECTS_A_YEAR = 70
_OPENINGS = (
    "DESCRIPTION (provided by applicant): ",
    "PROJECT SUMMARY/ABSTRACT\n",
    "Abstract: ",
    "",
)


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Abstracts begin as the forms made them begin; some were never given."""
    for year, batch in batches(articles, _PROJECTS_A_YEAR):
        abstracts, titles = (
            [["APPLICATION_ID", "ABSTRACT_TEXT"]],
            [["APPLICATION_ID", "PROJECT_TITLE"]],
        )
        for number, article in batch:
            text = _OPENINGS[number % len(_OPENINGS)] + "\n".join(article.paragraphs)
            abstracts.append([str(number), text])
            titles.append([str(number), article.title.upper()])
        abstracts.append([str(1_000_000 + year), "No abstract available."])
        name = f"C_FY{1999 + year}.csv"
        yield f"RePORTER_PRJABS_{name}", _table(abstracts)
        yield f"RePORTER_PRJ_{name}", _table(titles)


def _table(rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("cp1252")
