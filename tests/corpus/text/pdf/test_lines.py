"""Lines and their places, as PDFium gives them (PILE-6)."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from barrow.corpus.text.pdf.lines import BadPdf, Page, Pdf
from barrow.errors import MissingExtra


def pages(data: bytes) -> list[Page]:
    return [page for page in Pdf(data).pages() if page is not None]


def test_lines(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> None:
    content = placed("A line of text", 72, 700) + placed("another, lower", 80, 680, size=8)
    (page,) = pages(write_pdf([content]))
    assert (page.width, page.height) == (612, 792)
    first, second = page.lines
    assert (first.text, second.text) == ("A line of text", "another, lower")
    assert (first.x0, first.y, second.x0, second.y) == pytest.approx((72, 700, 80, 680))
    assert first.x1 == pytest.approx(72 + 14 * 6)
    assert second.size / first.size == pytest.approx(0.8, rel=0.01)
    assert first.head[0] < 700 < first.head[1]
    assert not first.gaps


def test_a_divided_word(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> None:
    content = placed("it was a mul-", 72, 700) + placed("titude of stones", 72, 688)
    (page,) = pages(write_pdf([content]))
    assert [(line.text, line.hyphen) for line in page.lines] == [
        ("it was a mul", True),
        ("titude of stones", False),
    ]
    assert [line.y for line in page.lines] == [700, 688]


def test_wide_blanks(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> None:
    content = placed("left of it all", 72, 700) + placed("right of it all", 300, 700)
    (line,) = pages(write_pdf([content]))[0].lines
    assert line.text == "left of it all right of it all"
    assert line.gaps == [(14, pytest.approx(72 + 14 * 6), 300)]


def test_turned_pages(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> None:
    """A page laid on its side reads as if it stood; a stamp along the edge of one is left out."""
    upright = placed("first line of text", 100, 500) + placed("second line of text", 100, 488)
    turned = {
        90: upright.replace("1 0 0 1 100 500", "0 1 -1 0 100 100").replace(
            "1 0 0 1 100 488", "0 1 -1 0 112 100"
        ),
        180: upright.replace("1 0 0 1 100 500", "-1 0 0 -1 500 100").replace(
            "1 0 0 1 100 488", "-1 0 0 -1 500 112"
        ),
        270: upright.replace("1 0 0 1 100 500", "0 -1 1 0 112 500").replace(
            "1 0 0 1 100 488", "0 -1 1 0 100 500"
        ),
    }
    stamp = placed("1 Jan 2001", 0, 0).replace("1 0 0 1 0 0", "0 1 -1 0 20 300")
    for turn, content in ({0: upright + stamp} | turned).items():
        lines = pages(write_pdf([content], page=f"/Rotate {turn}"))[0].lines
        assert [line.text for line in lines] == ["first line of text", "second line of text"]
        assert lines[0].x1 - lines[0].x0 == pytest.approx(18 * 6)
        assert lines[0].y - lines[1].y == pytest.approx(12)
        assert lines[0].size == pytest.approx(10.5, abs=0.1)


def test_characters_beyond_16_bits(write_pdf: Callable[..., bytes]) -> None:
    table = b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange\n"
    table += b"2 beginbfchar <41> <d835dc00> <42> <0062> endbfchar endcmap"
    stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(table), table)
    font = "/Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 10 0 R"
    content = "BT /F1 10 Tf 1 0 0 1 72 700 Tm (ABA BB) Tj ET"
    (line,) = pages(write_pdf([content], extra=[stream], font=font))[0].lines
    assert line.text.replace(" ", "") == "\U0001d400b\U0001d400bb"
    assert line.x1 - line.x0 > 25  # the last character's place, not one that is off by a few


def test_info(write_pdf: Callable[..., bytes]) -> None:
    data = write_pdf([""], info="/Title <feff004e00e4> /Author ()", catalog="/Lang (de-AT)")
    assert Pdf(data).info() == {"Title": "Nä", "Language": "de-AT"}
    assert Pdf(write_pdf([""])).info() == {}


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4", b"nothing", b"%PDF-1.4\n%%EOF"])
def test_no_pdf(data: bytes) -> None:
    with pytest.raises(BadPdf) as caught:
        Pdf(data)
    assert caught.value.reason == "malformed"


def test_a_password(write_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(BadPdf) as caught:
        Pdf(write_pdf([""], password=b"secret"))
    assert caught.value.reason == "encrypted"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtra, match="pypdfium2"):
        Pdf(b"")
