"""Small books in plain text, with a header and a footer in the form Project Gutenberg gives them.

The words of both are ours; only the lines that the reader looks for are as in real files.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tests.samples.packing import zipped
from tests.samples.people import full_name
from tests.samples.pieces import Article, Piece, spoken

_FIRST_NUMBER = 900_000  # beyond the numbers of real books
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """A book for each article, a chapter for each piece; every tenth is zipped."""
    for number, article in enumerate(articles, _FIRST_NUMBER + 1):
        data = _book(article, number).replace("\n", "\r\n").encode()
        if number % 10:
            yield f"{number}.txt", data
        else:
            yield f"{number}.zip", zipped([(f"{number}.txt", data)])


def _book(article: Article, number: int) -> str:
    title, author = article.title, full_name(number)
    chapters = (_chapter(piece, place) for place, piece in enumerate(article.pieces))
    return f"""The Project Gutenberg EBook of {title}, by {author}

This is no book of that project. It has its form, for a demonstration.

Title: {title}

Author: {author}

Release Date: January 1, 2020 [EBook #{number}]

Language: English

*** START OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***




{"".join(chapters)}


*** END OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***

***** This file should be named {number}.txt *****

Here a licence would stand.
"""


def _chapter(piece: Piece, place: int) -> str:
    said = ("\n".join(_wrapped(paragraph)) for paragraph in piece.paragraphs)
    numeral = _ROMAN[place % len(_ROMAN)]
    return f"CHAPTER {numeral}\n\n{spoken(piece.name)}\n\n" + "\n\n".join(said) + "\n\n\n\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 70, break_on_hyphens=False)
