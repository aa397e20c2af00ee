"""PILE-7: Project Gutenberg."""

from __future__ import annotations

import io
import os
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.archive import Document
from barrow.corpus.readers.gutenberg.reader import Gutenberg
from barrow.corpus.readers.reader import Reject

BOOK = "CHAPTER I\n\nCaf\u00e9s in \u00c5rhus, _said_ she.\n\nTHE END"


def whole(book: str = BOOK, encoding: str = "UTF-8", extra: str = "") -> str:
    return (
        "\r\nThe Project Gutenberg EBook of A Mound, by Ann Lee\r\n\r\n"
        "This eBook is for the use of anyone anywhere at no cost.\r\n\r\n"
        f"{extra}Title: A Mound\r\n       or, The Barrow\r\n\r\nAuthor: Ann Lee\r\n\r\n"
        "Release Date: August 16, 2013  [EBook #345]\r\nLast Updated: May 1, 2015\r\n\r\n"
        f"Language: English\r\n\r\nCharacter set encoding: {encoding}\r\n\r\n"
        "*** START OF THIS PROJECT GUTENBERG EBOOK A MOUND ***\r\n\r\nProduced by Bob Roe\r\n\r\n"
        + book.replace("\n", "\r\n")
        + "\r\n\r\nEnd of Project Gutenberg's A Mound\r\n\r\n"
        "*** END OF THIS PROJECT GUTENBERG EBOOK A MOUND ***\r\n\r\n"
        "THE FULL PROJECT GUTENBERG LICENSE\r\n"
    )


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def one(path: Path, **options: bool) -> Document:
    [item] = Gutenberg(**options).read(path)  # type: ignore[arg-type]
    assert isinstance(item, Document), item
    return item


def reasons(path: Path, **options: int) -> list[str]:
    return [
        i.reason if isinstance(i, Reject) else "document" for i in Gutenberg(**options).read(path)
    ]  # type: ignore[arg-type]


def test_a_book(tmp_path: Path) -> None:
    """PILE-7: text without licence header and footer; what the header says."""
    assert one(write(tmp_path / "345-0.txt", "\ufeff" + whole())) == Document(
        BOOK,
        {
            "title": "A Mound or, The Barrow",
            "author": "Ann Lee",
            "language": "en",
            "date": "2013-08-16",
            "url": "https://www.gutenberg.org/ebooks/345",
            "ebook": 345,
            "gutenberg_header": "stars",
            "gutenberg_footer": "stars",
            "encoding": "utf-8",
        },
    )


@pytest.mark.parametrize(
    ("name", "label", "encoding", "found"),
    [
        ("345-8.txt", "ISO-8859-1", "latin-1", "iso8859-1"),
        ("345-8.txt", "ISO Latin-1", "latin-1", "iso8859-1"),
        ("345-8.txt", "", "latin-1", "iso8859-1"),
        ("345.txt", "Windows-1252", "cp1252", "cp1252"),
        ("345.txt", "Unicode UTF-8", "utf-8", "utf-8"),
        ("345.txt", "no such", "utf-8", "utf-8"),
        ("345.txt", "ISO-8859-1", "utf-8", "utf-8"),
    ],
)
def test_encodings(tmp_path: Path, name: str, label: str, encoding: str, found: str) -> None:
    item = one(write(tmp_path / name, whole(encoding=label).encode(encoding)))
    assert item.text == BOOK
    assert item.meta["encoding"] == found


def test_quotes_of_windows_in_what_is_called_latin_1(tmp_path: Path) -> None:
    data = whole("\u201cYes\u201d \u2013 no", "ISO-8859-1").encode("cp1252")
    assert one(write(tmp_path / "1-8.txt", data)).text == "\u201cYes\u201d \u2013 no"


def test_ascii(tmp_path: Path) -> None:
    item = one(write(tmp_path / "345.txt", whole("Plain", "ASCII")))
    assert item.meta["encoding"] == "ascii"


def test_a_file_without_header(tmp_path: Path) -> None:
    item = one(write(tmp_path / "book.txt", BOOK))
    assert item == Document(
        BOOK, {"gutenberg_header": "none", "gutenberg_footer": "none", "encoding": "utf-8"}
    )


def test_an_old_header(tmp_path: Path) -> None:
    text = (
        "**The Project Gutenberg Etext of A Mound, by Ann Lee**\n\nJanuary, 1994  [Etext #98]\n\n"
        f"*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n{BOOK}\n\n"
        "End of Project Gutenberg's A Mound\n"
    )
    item = one(write(tmp_path / "mound10.txt", text))
    assert item.text == BOOK
    assert item.meta["title"] == "A Mound"
    assert item.meta["author"] == "Ann Lee"
    assert item.meta["ebook"] == 98
    assert item.meta["gutenberg_header"] == "small-print"


@pytest.mark.parametrize(
    ("words", "date"),
    [
        ("August 16, 2013", "2013-08-16"),
        ("September, 2001", "2001-09"),
        ("2004-05-06", "2004-05-06"),
        ("Febuary 3, 2001", "2001-02-03"),
        ("unknown", None),
        ("Foo 1, 2000", None),
        ("May 99, 2000", "2000-05"),
    ],
)
def test_dates(tmp_path: Path, words: str, date: str | None) -> None:
    text = whole().replace("August 16, 2013", words)
    assert one(write(tmp_path / "a.txt", text)).meta.get("date") == date


def test_copyrighted(tmp_path: Path) -> None:
    extra = "** This is a COPYRIGHTED Project Gutenberg eBook, Details Below **\r\n\r\n"
    book = one(write(tmp_path / "a.txt", whole(extra=extra)))
    assert book.meta["licence"] == "LicenseRef-all-rights-reserved"


def test_unwrap(tmp_path: Path) -> None:
    prose = "This is a line of prose that is long enough to be one,\nand this follows it."
    verse = "  Short lines,\n  of verse"
    path = write(tmp_path / "a.txt", whole(f"{prose}\n\n{verse}"))
    assert one(path).text == f"{prose}\n\n{verse.lstrip(chr(0))}"
    assert one(path, unwrap=True).text == f"{prose.replace(chr(10), ' ')}\n\n{verse}"


def test_html_where_there_is_no_text(tmp_path: Path) -> None:
    page = "<html><head><title>x</title></head><body><pre>" + whole("@@").partition("@@")[0]
    page += "</pre><h1>CHAPTER I</h1><p>A <i>mound</i>.</p><pre>" + whole("@@").partition("@@")[2]
    path = write(tmp_path / "345-h.htm", page + "</pre></body></html>")
    assert one(path).text == "CHAPTER I\n\nA mound."
    write(tmp_path / "345.txt", whole())
    (forms,) = Gutenberg().group([path, tmp_path / "345.txt"])
    text, page = Gutenberg().read_group(forms)
    assert isinstance(text, Document)
    assert text.text == BOOK
    assert page == Reject("other-form", "the same book as 345.txt", "345-h.htm")


def test_a_book_in_several_forms_is_read_once(tmp_path: Path) -> None:
    """PILE-7: the best form is read, and the others have a reason."""
    names = ("98.txt", "98-8.txt", "98-0.txt", "pg98.txt", "98-h/98-h.htm", "98-epub/part1.html")
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        write(path, whole())
    paths.append(zipped(tmp_path / "98-8.zip", {"98-8.txt": whole()}))
    others = [write(tmp_path / "99.txt", whole()), write(tmp_path / "notes.txt", whole())]
    groups = Gutenberg().group([*paths, *others])
    assert groups[1:] == [(path,) for path in others]
    items = list(Gutenberg().read_group(groups[0]))
    assert isinstance(items[0], Document)
    assert groups[0][0].name == "98-0.txt"
    assert "member" not in items[0].meta
    assert {item.reason for item in items[1:] if isinstance(item, Reject)} == {"other-form"}
    assert len(items) == 7

    groups[0][0].write_bytes(b"")
    empty, second, *rest = Gutenberg().read_group(groups[0])
    assert isinstance(empty, Reject)
    assert (empty.reason, empty.member) == ("empty", "98-0.txt")
    assert isinstance(second, Document)
    assert second.meta["member"] == "pg98.txt"
    assert len(rest) == 5


def test_another_book_of_that_name_is_read_too(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}.txt", whole().replace("345", number))
        for name, number in (("7-0", "7"), ("7", "7"), ("7-8", "1234"))
    ]
    items = list(Gutenberg().read_group(Gutenberg().group(paths)[0]))
    assert [type(item) for item in items] == [Document, Document, Reject]


@pytest.mark.parametrize(
    "credit",
    [
        "Produced by Ann Volunteer, and Bob Helper",
        "This etext was produced by Ann Volunteer <ann@mail.org>",
        "Transcribed by Ann Volunteer, email ann@mail.org, from the edition\nof 1892.",
        "E-text prepared by Ann Volunteer",
        "e-mail: Ann Volunteer <ann@mail.org>",
    ],
)
def test_volunteers_are_not_named(tmp_path: Path, credit: str) -> None:
    """PILE-7: credits after the title page and before the end."""
    title, end = "THE MOUND\n\nby A. Digger", "THE END"
    story = "\n\n".join(f"Paragraph {n} of a story, produced by {n} moles." for n in range(300))
    book = f"{title}\n\n{credit}\n\n{story}\n\n{end}\n\n{credit}"
    assert one(write(tmp_path / "a.txt", whole(book))).text == f"{title}\n\n{story}\n\n{end}"
    inside = f"{title}\n\n{story}\n\n{credit}\n\n{story}"
    assert one(write(tmp_path / "a.txt", whole(inside))).text == inside


def zipped(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_zip(tmp_path: Path) -> None:
    path = zipped(tmp_path / "345.zip", {"345.txt": whole(), "345-h.htm": "x", "a.jpg": "x"})
    items = list(Gutenberg().read(path))
    assert isinstance(items[0], Document)
    assert items[0].text == BOOK
    assert items[0].meta["member"] == "345.txt"
    assert reasons(path) == ["document", "has-text", "not-a-book"]
    assert reasons(zipped(tmp_path / "h.zip", {"h/1-h.htm": whole("<p>x</p>")})) == ["document"]
    assert reasons(zipped(tmp_path / "e.zip", {})) == ["empty"]
    assert reasons(zipped(tmp_path / "s.zip", {"../a.txt": "x"})) == ["unsafe-name", "empty"]
    data = path.read_bytes()
    assert reasons(write(tmp_path / "cut.zip", data[: len(data) // 2]))[-1] != "document"
    assert reasons(zipped(tmp_path / "bomb.zip", {"a.txt": "0" * 70_000_000})) == ["too-large"]


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert reasons(write(path, b"")) == ["empty"]
    assert reasons(write(path, b"\x01\x02\x03\x04" * 50)) == ["not-text"]
    assert reasons(write(path, whole(""))) == ["empty"]
    assert reasons(write(path, whole()), max_bytes=100) == ["too-large"]
    assert reasons(tmp_path) == ["not-a-file"]
    assert reasons(tmp_path / "missing.txt") == ["unreadable"]
    assert reasons(tmp_path / "a\0b.txt") == ["unreadable"]
    assert reasons(write(tmp_path / "a.zip", b"not a zip")) == ["not-an-archive"]
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    assert reasons(write(odd, BOOK)) == ["document"]


def test_same_bytes_same_items(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", whole())
    assert list(Gutenberg().read(path)) == list(Gutenberg().read(path))
    assert Gutenberg.extractor == "gutenberg/2"


def check(path: Path) -> None:
    for item in Gutenberg().read(path):
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()
            assert "\r" not in item.text
            assert "\0" not in item.text


@settings(max_examples=40)
@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.zip", "a.htm"]))
def test_any_bytes(tmp_path: Path, data: bytes, name: str) -> None:
    check(write(tmp_path / name, data))


@settings(max_examples=60)
@given(st.integers(0, 1 << 30))
def test_damaged_files(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", whole())
    for name, whole_data in (("a.txt", whole().encode()), ("a.zip", packed.getvalue())):
        data = bytearray(whole_data)
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 9)] = rng.randbytes(rng.randint(0, 9))
        check(write(tmp_path / name, bytes(data)))
