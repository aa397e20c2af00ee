"""Proceedings of a made-up assembly: tagged text, and XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from html import escape

from tests.samples.people import full_name
from tests.samples.pieces import Article, Piece, spoken

_FIRST_DAY = date(2000, 1, 17)


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """A chapter a day; each piece is a speech. Every third sitting was published in XML."""
    for number, article in enumerate(articles):
        day = _FIRST_DAY + timedelta(days=number)
        if number % 3 == 2:
            yield f"en/{day:%Y%m%d}.EN.xml", _xml(article, number, day).encode()
        else:
            yield f"en/ep-{day:%y-%m-%d}.txt", _tagged(article, number).encode()


def _tagged(article: Article, number: int) -> str:
    speeches = []
    for place, piece in enumerate(article.pieces, 1):
        said = "".join(f"<P>\n{escape(said, quote=False)}\n" for said in piece.paragraphs)
        name = full_name(number + place)
        speeches.append(f'<SPEAKER ID={place} LANGUAGE="EN" NAME="{name}">\n{said}')
    title = escape(spoken(article.pieces[0].name), quote=False)
    return f"<CHAPTER ID={number + 1}>\n{title}\n{''.join(speeches)}<P>\n(Applause)\n"


def _xml(article: Article, number: int, day: date) -> str:
    speeches = "".join(_speech(piece, number + k) for k, piece in enumerate(article.pieces, 1))
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<session date="{day}" lang="en">\n'
        f'  <section title="{escape(article.title)}">\n{speeches}'
        '    <p><a text="(Applause)"/></p>\n  </section>\n</session>\n'
    )


def _speech(piece: Piece, number: int) -> str:
    said = "".join(f"      <p>{escape(paragraph)}</p>\n" for paragraph in piece.paragraphs)
    return (
        f'    <intervention name="{full_name(number)}" role="Member">\n{said}    </intervention>\n'
    )
