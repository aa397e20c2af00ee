"""Small books as EPUB: a zip of a package and its chapters in XHTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.packing import zipped
from tests.samples.people import full_name
from tests.samples.pieces import Article, Piece, spoken

_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
_IMPRINT = (
    "<p>Published by nobody. All rights reserved.</p><p>ISBN 000-0-00-000000-0. First edition.</p>"
    "<p>No part of this publication may be reproduced.</p>"
)


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """A book for each article, a chapter for each piece, and a copyright page."""
    for number, article in enumerate(articles, 1):
        chapters = [
            (f"chapter{place}.xhtml", _chapter(piece, place))
            for place, piece in enumerate(article.pieces, 1)
        ]
        pages = [("copyright.xhtml", _page("Copyright", _IMPRINT)), *chapters]
        book = [
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", _CONTAINER),
            ("OEBPS/content.opf", _package(article, number, [name for name, _ in pages])),
            *((f"OEBPS/{name}", page) for name, page in pages),
        ]
        yield f"book{number:04}.epub", zipped((name, text.encode()) for name, text in book)


def _chapter(piece: Piece, place: int) -> str:
    said = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in piece.paragraphs)
    head = f"<h2>Chapter {place}</h2>\n<h3>{escape(spoken(piece.name))}</h3>\n"
    return _page(f"Chapter {place}", f'{head}{said}<span epub:type="pagebreak">{place}</span>')


def _page(title: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops" lang="en"><head><title>{title}</title></head>'
        f"<body>{body}</body></html>\n"
    )


def _package(article: Article, number: int, pages: list[str]) -> str:
    items = "".join(
        f'<item id="i{place}" href="{name}" media-type="application/xhtml+xml"/>\n'
        for place, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="i{place}"/>' for place in range(len(pages)))
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">pocket:{number}
</dc:identifier><dc:title>{escape(article.title)}</dc:title><dc:language>en</dc:language>
<dc:creator>{full_name(number)}</dc:creator><dc:date>2020-01-01</dc:date></metadata>
<manifest>{items}</manifest><spine>{spine}</spine></package>
"""
