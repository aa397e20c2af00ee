"""Books (PILE-7)."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus import Recipe
from barrow.corpus.readers.epub import reader
from barrow.corpus.readers.epub.reader import Epub
from barrow.corpus.readers.reader import Item, Reject

CONTAINER = (
    '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
)
OPF = """<package xmlns:dc="x"><metadata><dc:title>The Mound</dc:title><dc:creator>Ann</dc:creator>
<dc:creator>Bob</dc:creator><dc:language>en-GB</dc:language><dc:date>1901-02-03T00:00:00Z</dc:date>
<dc:identifier>urn:x</dc:identifier><dc:publisher>House</dc:publisher>
<dc:rights>https://creativecommons.org/licenses/by-sa/4.0/</dc:rights></metadata><manifest>
<item id="nav" href="nav.xhtml" properties="nav"/><item id="c" href="cover.xhtml"/>
<item id="two" href="text/two.xhtml"/><item id="one" href="text/one.xhtml"/>
<item id="notes" href="text/notes.xhtml"/><item id="ad" href="ad.xhtml"/>
<item id="gone" href="gone.xhtml"/><item id="pic" href="pic.svg"/></manifest><spine>
<itemref idref="c"/><itemref idref="nav"/><itemref idref="notes" linear="no"/>
<itemref idref="two"/><itemref idref="one"/><itemref idref="ad" linear="no"/>
<itemref idref="gone"/><itemref idref="pic"/></spine></package>"""


def page(body: str, kind: str = "bodymatter") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xml:lang="en-GB"><head><title>t</title>'
        f'<script src="x.js"/></head><body epub:type="{kind}">{body}</body></html>'
    )


BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/content.opf": OPF,
    "OEBPS/nav.xhtml": page('<nav epub:type="toc"><a href="text/one.xhtml">One</a></nav>'),
    "OEBPS/cover.xhtml": page("<img alt='Cover'/>"),
    "OEBPS/text/one.xhtml": page("<h2>One</h2><p>donâ€™t<hr/></p><p>Café <i>end</i>.</p>"),
    "OEBPS/text/two.xhtml": page(
        "<h2>Two</h2><p>Verse<br/>line<a href='notes.xhtml#n' epub:type='noteref'>1</a></p>"
    ),
    "OEBPS/text/notes.xhtml": page("<ol><li>A note.</li></ol>", "endnotes"),
    "OEBPS/ad.xhtml": page("<p>Buy more.</p>"),
    "OEBPS/extra.xhtml": page("<p>Extra.</p>"),
    "OEBPS/pic.svg": "<svg/>",
    "OEBPS/image.png": "x",
}
TEXT = "Two\n\nVerse\nline[1]\n\nOne\n\ndon’t\n\n* * *\n\nCafé end.\n\n1. A note."

Save = Callable[..., Path]


def test_the_caps_are_those_of_a_build() -> None:
    assert Epub().max_bytes == Recipe.max_text
    assert Recipe.memory_per_document == reader._MOST_MEMORY


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(files: dict[str, str], name: str = "book.epub") -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in files.items():
                archive.writestr(member, text)
        return path

    return save


def sorted_out(items: list[Item]) -> tuple[list[Document], list[Reject]]:
    documents = [item for item in items if isinstance(item, Document)]
    rejects = [item for item in items if isinstance(item, Reject)]
    assert len(documents) + len(rejects) == len(items)
    for document in documents:
        document.text.encode()
    return documents, rejects


def test_an_epub(save: Save) -> None:
    (document,), rejects = sorted_out(list(Epub().read(save(BOOK))))
    assert document == Document(
        TEXT,
        {
            "title": "The Mound",
            "author": "Ann; Bob",
            "language": "en",
            "date": "1901-02-03",
            "identifier": "urn:x",
            "publisher": "House",
            "rights": "https://creativecommons.org/licenses/by-sa/4.0/",
            "licence": "CC-BY-SA-4.0",
            "chapters": 3,
        },
    )
    assert sorted((reject.reason, reject.cause, reject.member) for reject in rejects) == [
        ("boilerplate", "contents", "OEBPS/nav.xhtml"),
        ("boilerplate", "cover", "OEBPS/cover.xhtml"),
        ("missing-file", "listed in the spine, but not in the book", "OEBPS/gone.xhtml"),
        ("not-in-spine", "not listed in the spine", "OEBPS/extra.xhtml"),
        ("not-linear", "the spine marks it as not linear", "OEBPS/ad.xhtml"),
    ]
    assert list(Epub().read(save(BOOK))) == list(Epub().read(save(BOOK)))


def test_names_in_other_letter_case(save: Save) -> None:
    files = {name.replace("one.xhtml", "ONE.xhtml"): text for name, text in BOOK.items()}
    (document,), _ = sorted_out(list(Epub().read(save(files))))
    assert document.text == TEXT


def test_zipped_pages_and_a_package_without_container(save: Save) -> None:
    pages = {f"c{n}.html": f"<p>Part {n}</p>" for n in (10, 9, 1)} | {"preface.html": "<p>First"}
    assert list(Epub().read(save(pages, "book.zip"))) == [
        Document("First\n\nPart 1\n\nPart 9\n\nPart 10", {"chapters": 4})
    ]
    bare = {name: text for name, text in BOOK.items() if not name.startswith("META-INF")}
    (document,), _ = sorted_out(list(Epub().read(save(bare))))
    assert document.text == TEXT


def write(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in files]


def test_folders_of_pages(tmp_path: Path) -> None:
    title = (
        '<section epub:type="titlepage"><h1>The <i>Diary</i></h1><p>By '
        '<b epub:type="z3998:author z3998:personal-name">Ann Ash</b>.</p></section>'
    )
    first = write(
        tmp_path / "diary/src/epub",
        {
            "text/chapter-10.xhtml": page("<p>Ten"),
            "text/chapter-2.xhtml": page("<p>Two"),
            "text/titlepage.xhtml": page(title),
            "text/imprint.xhtml": page("<p>Imprint"),
            "text/uncopyright.xhtml": page("<p>Free"),
            "text/endnotes.xhtml": page("<p>Notes"),
        },
    )
    second = write(tmp_path / "other", {"b.html": "<p>B", "a.html": "<p>A"})
    book = write(tmp_path, {"x.epub": ""})
    groups = Epub().group([*first, *second, *book])
    assert [set(members) for members in groups] == [set(first), set(second), set(book)]
    (document,), rejects = sorted_out(list(Epub().read_group(groups[0])))
    assert document == Document(
        "The Diary\n\nBy Ann Ash.\n\nTwo\n\nTen\n\nNotes",
        {"title": "The Diary", "author": "Ann Ash", "language": "en", "chapters": 4},
    )
    assert [(r.reason, r.cause, r.member) for r in rejects] == [
        *(
            ("boilerplate", "imprint", "imprint.xhtml"),
            ("boilerplate", "licence", "uncopyright.xhtml"),
        ),
    ]
    assert list(Epub().read(second[1])) == [Document("A", {"chapters": 1})]


def test_folders_with_package_or_contents(tmp_path: Path) -> None:
    files = {name: text for name, text in BOOK.items() if name.endswith(("xhtml", "opf"))}
    (members,) = Epub().group(write(tmp_path / "book", files))
    (document,), _ = sorted_out(list(Epub().read_group(members)))
    assert document.text == TEXT
    toc = page(
        '<nav epub:type="toc"><a href="text/b.xhtml">B</a><a href="text/a.xhtml">A</a></nav>'
    )
    pages = {"toc.xhtml": toc, "text/a.xhtml": page("<p>A"), "text/b.xhtml": page("<p>B")}
    (members,) = Epub().group(write(tmp_path / "listed", pages))
    (document,), _ = sorted_out(list(Epub().read_group(members)))
    assert document.text == "B\n\nA"


def test_licence_of_project_gutenberg_is_off(save: Save) -> None:
    body = (
        "<p>The Project Gutenberg eBook</p><p>*** START OF THE PROJECT GUTENBERG EBOOK X ***</p>"
        + "<p>Text.</p>" * 50
        + "<p>*** END OF THE PROJECT GUTENBERG EBOOK X ***</p><p>Licence.</p>"
    )
    (document,) = Epub().read(save({"a.html": body}, "book.zip"))
    assert isinstance(document, Document)
    assert set(document.text.split("\n\n")) == {"Text."}


def test_protected_books(save: Save) -> None:
    def listing(algorithm: str) -> dict[str, str]:
        method = f'<EncryptionMethod Algorithm="{algorithm}"/>'
        return {"META-INF/encryption.xml": f"<e><EncryptedData>{method}</EncryptedData></e>"}

    aes = listing("http://www.w3.org/2001/04/xmlenc#aes256-cbc")
    assert list(Epub().read(save(BOOK | aes))) == [Reject("encrypted", "the book is protected")]
    fonts = listing("http://www.idpf.org/2008/embedding")
    assert isinstance(next(iter(Epub().read(save(BOOK | fonts)))), Document)


def test_bad_input(save: Save, tmp_path: Path) -> None:
    def reasons(path: Path, **options: int) -> list[str]:
        documents, rejects = sorted_out(list(Epub(**options).read(path)))
        assert documents == []
        return [reject.reason for reject in rejects]

    assert reasons(save({})) == ["no-text"]
    assert reasons(save({"mimetype": "application/epub+zip"})) == ["no-text"]
    assert reasons(save({"a.html": " "}, "a.zip")) == ["no-text"]
    assert reasons(save({"../a.html": "<p>x"}, "a.zip")) == ["unsafe-name"]
    assert reasons(save({"a.html": "<p>x" * 100}, "a.zip"), max_bytes=10) == ["too-large"]
    assert reasons(save({"a.html": "\x01\x02" * 99}, "a.zip")) == ["not-text"]
    (tmp_path / "folder.epub").mkdir()
    (tmp_path / "link.epub").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty.epub").touch()
    (tmp_path / "text.epub").write_text("not a zip")
    (tmp_path / "empty.html").touch()
    for name in ("folder.epub", "link.epub", "empty.epub", "text.epub", "gone.epub", "empty.html"):
        assert len(reasons(tmp_path / name)) == 1
    bomb = save({"a.html": " " * (300 << 20)}, "bomb.epub")
    assert reasons(bomb)[0] in ("bomb", "too-large")
    many = save({"a.html": "<b>" * 2_000_000, "b.html": "<p>x"}, "many.epub")
    document, reject = Epub().read(many)
    assert (document.text, reject.reason, reject.member) == ("x", "too-large", "a.html")
    assert many.stat().st_size < 10_000
    deep = save({"a.html": "<div>" * 100_000 + "x", "c.opf": "<a>" * 100_000}, "deep.epub")
    (document,) = Epub().read(deep)
    assert isinstance(document, Document)
    assert document.text == "x"
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.html"))
    odd.write_text("<p>x")
    assert list(Epub().read(odd)) == [Document("x", {"chapters": 1})]


def test_damage_costs_one_page(save: Save) -> None:
    path = save({"a.html": "<p>" + "abc " * 50, "b.html": "<p>second"}, "a.zip")
    data = bytearray(path.read_bytes())
    data[45] ^= 0xFF
    path.write_bytes(bytes(data))
    documents, rejects = sorted_out(list(Epub().read(path)))
    assert [document.text for document in documents] == ["second"]
    assert [reject.member for reject in rejects] == ["a.html"]
    whole = save(BOOK).read_bytes()
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        sorted_out(list(Epub().read(path)))


@settings(max_examples=60)
@given(st.sampled_from(["OEBPS/content.opf", "OEBPS/text/one.xhtml", ""]), st.data())
def test_whatever_the_bytes(tmp_path: Path, member: str, data: st.DataObject) -> None:
    path = tmp_path / "fuzz.epub"
    changes = data.draw(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=20))

    def changed(raw: bytes) -> bytes:
        mutable = bytearray(raw)
        for at, value in changes:
            mutable[at % len(mutable)] = value
        return bytes(mutable)

    with zipfile.ZipFile(path, "w") as archive:
        for name, text in BOOK.items():
            archive.writestr(name, changed(text.encode()) if name == member else text)
    if not member:
        path.write_bytes(changed(path.read_bytes()))
    first = list(Epub().read(path))
    sorted_out(first)
    assert first == list(Epub().read(path))
