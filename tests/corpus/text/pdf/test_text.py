"""A PDF's bytes to text and meta (PILE-6); bad files are in the tests of the reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barrow.corpus.text.pdf.text import _garbage, pdf_text

LINE = "a line of words that is long enough to be a line"


@pytest.fixture
def text_of(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> Callable[..., str]:
    def text_of(*lines: str) -> str:
        content = "".join(placed(text, 72, 700 - 30 * n) for n, text in enumerate(lines))
        return str(pdf_text(write_pdf([content]), max_pages=10)["text"])

    return text_of


def test_accents_drawn_by_themselves(text_of: Callable[..., str]) -> None:
    assert text_of(f"na¨ive caf´e ˆile ma˜nana gar¸con {LINE}") == (
        f"naïve café île mañana garçon {LINE}"
    )
    assert text_of(f"it´s so, {LINE}") == f"it´s so, {LINE}"


def test_blanks(text_of: Callable[..., str]) -> None:
    assert text_of(f"barrow   and\xa0stone {LINE}") == f"barrow and stone {LINE}"


def test_ligatures_and_soft_hyphens(write_pdf: Callable[..., bytes]) -> None:
    table = b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange\n"
    table += b"1 beginbfrange <20> <7c> <0020> endbfrange\n"
    table += b"3 beginbfchar <7d> <00ad> <7e> <fb01> <7f> <fb03> endbfchar endcmap"
    stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(table), table)
    font = "/Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 10 0 R"
    content = f"BT /F1 10 Tf 1 0 0 1 72 700 Tm (the ~eld and the o\\177ce of}}ten {LINE}) Tj ET"
    data = write_pdf([content], extra=[stream], font=font)
    assert pdf_text(data, max_pages=1)["text"] == f"the field and the office often {LINE}"


def test_two_pages_with_heads_and_columns(
    placed: Callable[..., str], write_pdf: Callable[..., bytes]
) -> None:
    pages = []
    for number in (1, 2):
        left, right = ("abcdefghij", "klmnopqrst") if number == 1 else ("ABCDEFGHIJ", "KLMNOPQRST")
        content = placed(f"The Barrow Review {number + 40}", 200, 750)
        for n in range(20):
            y = 700 - 12 * n
            content += placed(f"{left[n % 10]}{n} left side of the pag" + "e" * 9, 72, y)
            content += placed(f"{right[n % 10]}{n} right one of the pag" + "e" * 9, 320, y)
        pages.append(content + placed(str(number), 300, 40))
    text = pdf_text(write_pdf(pages), max_pages=2)["text"]
    assert "Review" not in text
    assert text.index("j19 left") < text.index("k0 right") < text.index("A0 left")
    assert len(text.split()) == 2 * 40 * 6


@pytest.mark.parametrize(
    ("info", "meta"),
    [
        ("/Title (Microsoft Word - paper.doc) /Author (jsmith)", {}),
        ("/Title (untitled) /CreationDate (yesterday)", {}),
        ("/Title (paper.dvi) /CreationDate (D:00000000)", {}),
        (
            "/Title (On  the\\nbarrow) /CreationDate (D:2004)",
            {"title": "On the barrow", "date": "2004"},
        ),
        ("/CreationDate (20040230)", {}),
        ("/CreationDate (D:20040229)", {"date": "2004-02-29"}),
        ("/Author (A. Digger, B. Spade)", {"author": "A. Digger, B. Spade"}),
    ],
)
def test_meta(
    placed: Callable[..., str],
    write_pdf: Callable[..., bytes],
    info: str,
    meta: dict[str, str],
) -> None:
    data = write_pdf([placed(LINE, 72, 700)], info=info)
    assert pdf_text(data, max_pages=1)["meta"] == {**meta, "pages": 1}


def test_too_many_pages(write_pdf: Callable[..., bytes]) -> None:
    found = pdf_text(write_pdf([""] * 3), max_pages=2)
    assert (found["reason"], found["cause"]) == ("too-large", "3 pages, more than 2")


@pytest.mark.parametrize("odd", ["\ue012", "\ufffd", "\x05"])
def test_some_letters_that_mean_nothing(odd: str) -> None:
    assert "mean nothing" in _garbage(f"{LINE} {odd * 8} " * 50)
    assert not _garbage(f"{LINE} {odd} " * 50)
