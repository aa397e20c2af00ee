"""A PDF's pages as lines of text with their positions, by PDFium.

PDFium gives the characters of a page in the order of drawing, with blanks and line ends inserted by
position. Asking for the position of every character would take longer than that; the ends and the
middle of each line are enough to lay out a page.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from barrow.errors import MissingExtra

# PDFium writes U+FFFE, or U+0002, for a hyphen at the end of a line, and then no line end.
_LINE = re.compile(r"[^\r\n\ufffe\x02]++[\ufffe\x02]?")
_WIDE_GAP = 1.0  # of the size of the letters; between words of a justified line it is up to 0.8


@dataclass(slots=True)
class Line:
    """A line of a page: y grows upwards, `y` is its base line, `size` the height of its letters.

    `head` and `tail` are bottom and top of its first and last character, `gaps` its wide blanks:
    where in the text, from x, to x. `hyphen` is set if it ends in the middle of a word.
    """

    text: str
    x0: float
    x1: float
    y: float
    size: float
    head: tuple[float, float] = (0.0, 0.0)
    tail: tuple[float, float] = (0.0, 0.0)
    gaps: list[tuple[int, float, float]] = field(default_factory=list)
    hyphen: bool = False


@dataclass(slots=True)
class Page:
    """Lines in the order they were drawn."""

    width: float
    height: float
    lines: list[Line]


class BadPdf(Exception):
    """Its pages cannot be read; `reason` is ``encrypted`` or ``malformed``."""

    def __init__(self, reason: str, cause: str) -> None:
        self.reason = reason
        self.cause = cause
        super().__init__(cause)


class Pdf:
    """An open PDF."""

    def __init__(self, data: bytes) -> None:
        self._pdfium = _pdfium()
        raw = self._pdfium.raw
        # PDFium reads the pages of a damaged file only later; here one must be there.
        try:
            self._document = self._pdfium.PdfDocument(data)
        except self._pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
                raise BadPdf("encrypted", "it needs a password") from None
            raise BadPdf("malformed", str(error)) from None
        self.num_pages = len(self._document)

    def pages(self) -> Iterator[Page | None]:
        """Its pages; None for one that cannot be read."""
        for number in range(self.num_pages):
            yield _page(self._pdfium.raw, self._document.raw, number)

    def info(self) -> dict[str, str]:
        """The document's metadata, by the names of the format, and its Language."""
        found: dict[str, str] = dict(self._document.get_metadata_dict(skip_empty=True))
        raw = self._pdfium.raw
        size = raw.FPDFCatalog_GetLanguage(self._document.raw, None, 0)
        if 2 < size < 256:
            buffer = (ctypes.c_ushort * size)()
            raw.FPDFCatalog_GetLanguage(self._document.raw, buffer, size)
            found["Language"] = bytes(buffer)[: size - 2].decode("utf-16-le", "replace")
        return found

    def close(self) -> None:
        self._document.close()


def _pdfium() -> Any:
    try:
        import pypdfium2
    except ImportError:
        raise MissingExtra("pypdfium2", "pdf", "reading PDF") from None
    return pypdfium2


def _page(raw: Any, document: Any, number: int) -> Page | None:
    page = raw.FPDF_LoadPage(document, number)
    if not page:
        return None
    try:
        text_page = raw.FPDFText_LoadPage(page)
        if not text_page:
            return None
        try:
            characters = _Characters(raw, text_page)
            width, height = raw.FPDF_GetPageWidthF(page), raw.FPDF_GetPageHeightF(page)
            return Page(width, height, characters.lines())
        finally:
            raw.FPDFText_ClosePage(text_page)
    finally:
        raw.FPDF_ClosePage(page)


def _in_full(text: str) -> str:
    """Text with surrogate pairs joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Characters:
    """The characters of a page, by number."""

    def __init__(self, raw: Any, text_page: Any) -> None:
        self._raw = raw
        self._page = text_page
        self._box = raw.FS_RECTF()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._turn = 0
        self.text = self._text()

    def _text(self) -> str:
        num = max(0, self._raw.FPDFText_CountChars(self._page))
        buffer = (ctypes.c_ushort * (num + 1))()
        written = self._raw.FPDFText_GetText(self._page, 0, num, buffer)
        text = bytes(buffer)[: max(0, written - 1) * 2].decode("utf-16-le", "replace")
        if len(text) == num and written == num + 1:
            return text
        # Characters beyond 16 bits, or without a code: indices into the text would be wrong.
        one = self._raw.FPDFText_GetUnicode
        codes = (one(self._page, k) for k in range(num))
        return "".join(chr(code) if 0 < code <= 0x10FFFF else "\ufffd" for code in codes)

    def lines(self) -> list[Line]:
        """Lines of the direction that most of the page is written in."""
        spans = []
        turns = [0, 0, 0, 0]
        for found in _LINE.finditer(self.text):
            text = found.group()
            start = found.start() + len(text) - len(text.lstrip())
            end = found.start() + len(text.rstrip())
            if start < end:
                angle = self._raw.FPDFText_GetCharAngle(self._page, start)
                turn = round(angle / (math.pi / 2)) % 4 if angle >= 0 else 0
                turns[turn] += end - start
                spans.append((start, end, turn))
        self._turn = turns.index(max(turns))
        return [self._line(*span[:2]) for span in spans if span[2] == self._turn]

    def _line(self, start: int, end: int) -> Line:
        text = self.text[start:end]
        hyphen = text[-1] in "\ufffe\x02"
        middle = (start + end - 1) // 2
        while self.text[middle].isspace():
            middle += 1
        first, centre, last = self._loose(start), self._loose(middle), self._loose(end - 1)
        # The first may be a large initial, or the raised number of a note.
        sizes = sorted(box[3] - box[1] for box in (first, centre, last))
        base = self._origin(middle)[1]
        line = Line(
            text=_in_full(text[:-1] if hyphen else text),
            x0=first[0],
            x1=max(last[2], first[0]),
            y=base,
            size=sizes[1],
            head=(first[1], first[3]),
            tail=(last[1], last[3]),
            hyphen=hyphen,
        )
        if line.x1 - line.x0 > 8 * line.size:
            line.gaps = self._gaps(line, text, start)
        return line

    def _gaps(self, line: Line, text: str, start: int) -> list[tuple[int, float, float]]:
        """The wide blanks.

        Words of equally many letters have about the same width: only the end of a wider one is
        asked for.
        """
        gaps = []
        usual = (line.x1 - line.x0) / len(text)
        slack = 0.6 * line.size
        word, word_x = 0, line.x0
        at = text.find(" ")
        while 0 < at < len(text) - 1:
            right = self._loose(start + at + 1)[0]
            if right - word_x > (at + 1 - word) * usual + slack:
                left = self._loose(start + at - 1)[2]
                if right - left > _WIDE_GAP * line.size:
                    gaps.append((at, left, right))
            word, word_x = at + 1, right
            at = text.find(" ", word)
        return gaps

    def _loose(self, index: int) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a character by its font size, in the text's direction."""
        box = self._box
        if not self._raw.FPDFText_GetLooseCharBox(self._page, index, box):
            return (0.0, 0.0, 0.0, 0.0)
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if self._turn == 0:
            return left, bottom, right, top
        if self._turn == 1:
            return -top, left, -bottom, right
        if self._turn == 2:
            return -right, -top, -left, -bottom
        return bottom, -right, top, -left

    def _origin(self, index: int) -> tuple[float, float]:
        self._raw.FPDFText_GetCharOrigin(self._page, index, self._x, self._y)
        x, y = self._x.value, self._y.value
        return ((x, y), (-y, x), (-x, -y), (y, -x))[self._turn]
