"""PILE-1: Wikipedia."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import tracemalloc
from html import escape
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.archive import Document
from barrow.corpus.readers.reader import Reject
from barrow.corpus.readers.wikipedia import Page, Site, Wikipedia, export_pages
from barrow.corpus.text.xml.events import BadXml

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en">
  <siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <namespaces><namespace key="6">File</namespace><namespace key="0" /></namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def revision(
    text: str, *, date: str = "2020-01-02T03:04:05Z", number: int = 9, extra: str = ""
) -> str:
    return (
        f"<revision><id>{number}</id><timestamp>{date}</timestamp>"
        f"<contributor><username>U</username><id>77</id></contributor>{extra}"
        f'<text xml:space="preserve">{escape(text)}</text></revision>'
    )


def page(text: str, *, title: str = "Barrow", number: int = 1, ns: int = 0, extra: str = "") -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{number}</id>{extra}"
        f"{revision(text)}</page>\n"
    )


def write(folder: Path, *pages: str, name: str = "dump.xml", head: str = HEAD) -> Path:
    path = folder / name
    path.write_text(head + "".join(pages) + TAIL, "utf-8")
    return path


def reasons(path: Path, **options: object) -> list[str]:
    items = list(Wikipedia(**options).read(path))  # type: ignore[arg-type]
    return [item.reason if isinstance(item, Reject) else "document" for item in items]


def test_a_page(tmp_path: Path) -> None:
    """PILE-1: title, blank line, body; what the file says of it."""
    source = "'''Barrows''' & [[mound]]s < {{convert|5|m}}.\n\n== See also ==\n* x"
    [item] = Wikipedia().read(write(tmp_path, page(source, title="Long barrow (Ü)", number=12)))
    assert item == Document(
        "Long barrow (Ü)\n\nBarrows & mounds < 5 m.",
        {
            "title": "Long barrow (Ü)",
            "url": "https://en.wikipedia.org/wiki/Long_barrow_(%C3%9C)",
            "date": "2020-01-02T03:04:05Z",
            "language": "en",
            "licence": "CC-BY-SA-4.0",
            "member": "12",
            "revision": "9",
        },
    )


def test_another_wiki_has_no_licence(tmp_path: Path) -> None:
    head = '<mediawiki xml:lang="fr"><siteinfo><dbname>x</dbname><base>http://w.org/A</base></siteinfo>'
    [item] = Wikipedia().read(write(tmp_path, page("Text"), head=head))
    assert isinstance(item, Document)
    assert item.meta["url"] == "http://w.org/Barrow"
    assert item.meta["language"] == "fr"
    assert "licence" not in item.meta


def test_without_siteinfo(tmp_path: Path) -> None:
    [item] = Wikipedia().read(write(tmp_path, page("Text"), head="<mediawiki>"))
    assert isinstance(item, Document)
    assert set(item.meta) == {"title", "date", "member", "revision"}


def test_what_is_dropped(tmp_path: Path) -> None:
    """PILE-1: each with its reason."""
    path = write(
        tmp_path,
        page("x", extra='<redirect title="y" />', number=1),
        page("#REDIRECT [[y]]", number=2),
        page("#Weiterleitung [[y]]", number=3),
        page("Text", ns=1, number=4),
        page("'''Ada''' may be\n* [[x]]\n{{disambiguation}}", number=5),
        page("x __DISAMBIG__", number=60),
        page("{{Human name disambiguation}}", number=6),
        page("Text", title="Ada (disambiguation)", number=7),
        page("{{stub}}", number=8),
        page("", number=9),
        page("x" * 101, number=10),
        "<page><title>t</title><ns>0</ns><id>11</id>"
        f"{revision('a', extra='<model>css</model>')}</page>",
        "<page><title>t</title><ns>0</ns><id>12</id></page>",
        page("About disambiguation, the word", number=13),
    )
    items = list(Wikipedia(max_page=100).read(path))
    found = [(i.member, i.reason) for i in items if isinstance(i, Reject)]
    assert found == [
        *(("1", "redirect"), ("2", "redirect"), ("3", "redirect"), ("4", "other-namespace")),
        *(
            ("5", "disambiguation"),
            ("60", "disambiguation"),
            ("6", "disambiguation"),
            ("7", "disambiguation"),
        ),
        *(("8", "no-text"), ("9", "no-text"), ("10", "too-large"), ("11", "not-wikitext")),
        ("12", "no-text"),
    ]
    assert len(items) == 14
    assert reasons(path, disambiguation=True, max_page=100).count("document") == 4
    assert reasons(path, namespaces=(1,)).count("document") == 1


def test_the_newest_revision_counts(tmp_path: Path) -> None:
    texts = revision("old", date="2019-01-01T00:00:00Z", number=1)
    texts += revision("new", date="2021-01-01T00:00:00Z", number=2)
    texts += revision("middle", date="2020-01-01T00:00:00Z", number=3)
    [item] = Wikipedia().read(
        write(tmp_path, f"<page><title>T</title><ns>0</ns><id>1</id>{texts}</page>")
    )
    assert isinstance(item, Document)
    assert item.text == "T\n\nnew"
    assert item.meta["revision"] == "2"


def test_options(tmp_path: Path) -> None:
    source = "[[File:a.jpg|thumb|A cap]]\nText\n{|\n| a || b\n|}\n== Notes ==\nnote"
    path = write(tmp_path, page(source))
    [item] = Wikipedia(tables="rows", captions=True, dropped_sections=()).read(path)
    assert isinstance(item, Document)
    assert item.text == "Barrow\n\nA cap\n\nText\n\na | b\n\nNotes\n\nnote"


@pytest.mark.parametrize("packed", ["bz2", "multistream", "gz", "zst"])
def test_packed(tmp_path: Path, packed: str) -> None:
    parts = [
        HEAD.encode(),
        page("One", number=1).encode(),
        page("Two", number=2).encode() + TAIL.encode(),
    ]
    data = b"".join(parts)
    packing = {
        "bz2": lambda: bz2.compress(data),
        "multistream": lambda: b"".join(map(bz2.compress, parts)),
        "gz": lambda: gzip.compress(data),
        "zst": lambda: zstandard.compress(data),
    }
    path = tmp_path / "dump"
    path.write_bytes(packing[packed]())
    assert reasons(path) == ["document", "document"]
    path.write_bytes(path.read_bytes()[:-30])
    assert reasons(path)[-1] in ("truncated", "corrupt", "bad-xml")


def test_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes((HEAD + page("Häuser") + TAIL).encode("utf-16"))
    [item] = Wikipedia().read(path)
    assert isinstance(item, Document)
    assert item.text == "Barrow\n\nHäuser"


def test_what_precedes_damage_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    for damage in ("<page><title>x", "</wrong>", "\x00", "<page>&bogus;</page>"):
        path.write_text(HEAD + page("One") + damage)
        assert reasons(path) == ["document", "bad-xml"]


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    cases = {
        b"": "empty",
        b"7z\xbc\xaf\x27\x1c\x00\x04": "unsupported",
        b"not xml": "bad-xml",
        b"<html></html>": "no-pages",
        b"\xff\xfe": "bad-xml",
        b'<!DOCTYPE x [<!ENTITY a "b">]><mediawiki>&a;</mediawiki>': "bad-xml",
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]><x>&a;</x>': "bad-xml",
        b"<a>" * 100_000: "bad-xml",
    }
    for data, reason in cases.items():
        path.write_bytes(data)
        assert reasons(path) == [reason]
    assert reasons(tmp_path) == ["unreadable"]
    assert reasons(tmp_path / "missing.xml") == ["unreadable"]
    assert reasons(tmp_path / "bad\0name") == ["unreadable"]


def test_a_seven_zip_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.7z"
    path.write_bytes(b"7z\xbc\xaf\x27\x1c rest")
    [item] = Wikipedia().read(path)
    assert isinstance(item, Reject)
    assert "unpacked first" in item.cause


def test_patterns() -> None:
    names = ["enwiki.xml", "enwiki.xml.bz2", "enwiki-articles1.xml-p1p9.bz2", "a.xml.7z"]
    for name in names:
        assert any(Path(f"x/{name}").match(pattern) for pattern in Wikipedia.patterns), name


def test_nested_deep(tmp_path: Path) -> None:
    """No recursion, whatever the page."""
    deep = 100_000
    path = write(tmp_path, page("{{a|" * deep + "x" + "}}" * deep), page("{{" * deep + "\nText"))
    assert reasons(path) == ["no-text", "document"]


def test_same_bytes_same_items(tmp_path: Path) -> None:
    path = write(tmp_path, page("a [[b]] {{c}}"), page("d", ns=3))
    assert list(Wikipedia().read(path)) == list(Wikipedia().read(path))


def check(path: Path) -> None:
    for item in Wikipedia().read(path):
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()
        else:
            (item.reason + item.cause + item.member + item.excerpt).encode()


@settings(max_examples=40)
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.xml"
    path.write_bytes(data)
    check(path)


@settings(max_examples=60)
@given(st.integers(0, 1 << 30))
def test_damaged_dumps(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray((HEAD + page("{{lang|fr|[[a|b]]}} ''c''\n{|\n|d\n|}") + TAIL).encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        data[at : at + rng.randint(0, 4)] = rng.randbytes(rng.randint(0, 3))
    path = tmp_path / "damaged.xml"
    path.write_bytes(bytes(data))
    check(path)


def pages(xml: str, max_text: int = 1000) -> list[Site | Page]:
    return list(export_pages(io.BytesIO(xml.encode()), max_text=max_text))


def test_the_site_comes_first() -> None:
    site, page = pages(
        '<mediawiki xml:lang="de"><siteinfo><dbname>dewiki</dbname>'
        "<base>https://de.wikipedia.org/wiki/Haupt</base><namespaces>"
        '<namespace key="6">Datei</namespace><namespace key="14">Kategorie</namespace>'
        '<namespace key="0" /></namespaces></siteinfo><page><title>A</title></page></mediawiki>'
    )
    assert isinstance(site, Site)
    assert site.language == "de"
    assert site.is_wikipedia
    assert "datei" in site.files
    assert "kategorie" in site.categories
    assert isinstance(page, Page)
    assert page.title == "A"


@pytest.mark.parametrize(
    ("name", "language"),
    [("enwiki", "en"), ("simplewiki", "en"), ("frwiki", "fr"), ("xyzwiki", ""), ("enwikt", "")],
)
def test_languages_by_name(name: str, language: str) -> None:
    assert Site(name=name).language == language


@pytest.mark.parametrize(
    "base", ["", "https://wikipedia.org.evil.org/x", "https://notwikipedia.org/x", "wikipedia.org"]
)
def test_not_a_wikipedia(base: str) -> None:
    assert not Site(base=base).is_wikipedia


def test_ids_of_others_are_not_taken_for_the_page_s() -> None:
    _, page = pages(
        "<mediawiki><page><id>1</id><revision><id>2</id><contributor><id>3</id></contributor>"
        "<text>x</text></revision></page></mediawiki>"
    )
    assert isinstance(page, Page)
    assert page.id == "1"
    assert page.revision is not None
    assert page.revision.id == "2"


def test_a_page_that_is_too_large_is_not_held() -> None:
    """PILE-4: memory does not grow with it."""
    head = b"<mediawiki><page><title>A</title><revision><text>"
    file = io.BytesIO(head + b"x" * 20_000_000 + b"</text></revision></page></mediawiki>")
    tracemalloc.start()
    _, page = export_pages(file, max_text=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(page, Page)
    assert page.revision is not None
    assert page.revision.is_too_large
    assert page.revision.text is None
    assert peak < 5_000_000


def test_what_precedes_an_error_comes() -> None:
    found = export_pages(
        io.BytesIO(b"<mediawiki><page><title>A</title></page><page><title>B"), max_text=10
    )
    assert isinstance(next(found), Site)
    page = next(found)
    assert isinstance(page, Page)
    assert page.title == "A"
    with pytest.raises(BadXml):
        next(found)
