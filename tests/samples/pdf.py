"""Papers in PDF: text drawn line by line, with running heads and page numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tests.samples.batches import batches
from tests.samples.packing import zipped
from tests.samples.pieces import Article, spoken

_PAPERS_A_FILE = 30
_WIDTH = 76  # letters of a line: Courier at 10 points has 6 for each
_LINES_A_PAGE = 24
_LEFT, _TOP, _LEADING = 72, 700, 12
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>"


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Zips of papers, of two pages and more."""
    for file, batch in batches(articles, _PAPERS_A_FILE):
        papers = [(f"paper{number:04}.pdf", _paper(article)) for number, article in batch]
        yield f"papers-{file:03}.zip", zipped(papers)


def _paper(article: Article) -> bytes:
    """A document of the fewest objects: catalogue, pages, font, and two for each page."""
    lines = _lines(article)
    starts = range(0, len(lines), _LINES_A_PAGE)
    pages = [lines[start : start + _LINES_A_PAGE] for start in starts]
    kids = b" ".join(b"%d 0 R" % (4 + 2 * place) for place in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(pages)),
        _FONT,
    ]
    for place, page in enumerate(pages):
        drawing = _drawing(page, place + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * place)
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing))
    return _file(objects)


def _lines(article: Article) -> list[str]:
    """Headings and paragraphs, a blank line before each."""
    lines: list[str] = []
    for piece in article.pieces:
        lines += ["", *textwrap.wrap(spoken(piece.name), _WIDTH)]
        for paragraph in piece.paragraphs:
            lines += ["", *textwrap.wrap(paragraph, _WIDTH, break_on_hyphens=False)]
    return lines[1:]


def _drawing(lines: list[str], page: int) -> bytes:
    drawn = [_drawn("Pocket Papers, Volume 1", _TOP + 40), _drawn(str(page), 60)]
    drawn += [_drawn(line, _TOP - _LEADING * place) for place, line in enumerate(lines) if line]
    return "\n".join(("BT /F1 10 Tf", *drawn, "ET")).encode("ascii")


def _drawn(line: str, height: int) -> str:
    escaped = line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"1 0 0 1 {_LEFT} {height} Tm ({escaped}) Tj"


def _file(objects: list[bytes]) -> bytes:
    """The objects, the table of where each begins, and where the table is."""
    data = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n"
        b"%%%%EOF\n" % (size, table, size, len(data))
    )
