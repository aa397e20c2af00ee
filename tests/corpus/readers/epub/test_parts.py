from __future__ import annotations

import pytest

from barrow.corpus.readers.epub.parts import boilerplate, in_order, is_notes, links_of, natural_key


def test_natural_order() -> None:
    names = ["chapter-10", "chapter-2", "Chapter-1-10", "chapter-1-9", "10", "2", "a"]
    assert sorted(names, key=natural_key) == [
        *("2", "10", "a", "chapter-1-9", "Chapter-1-10", "chapter-2", "chapter-10"),
    ]
    assert sorted(["c10", "c9", "c1-10", "c1-9"], key=natural_key) == ["c1-9", "c1-10", "c9", "c10"]
    sorted(["1" * 5000, "a1", "1a"], key=natural_key)


def test_order_of_a_book() -> None:
    """PILE-7: chapter order kept."""
    names = [
        *("text/appendix-1.xhtml", "text/chapter-10.xhtml", "text/chapter-2.xhtml"),
        *("text/colophon.xhtml", "text/endnotes.xhtml", "text/introduction.xhtml"),
        *("text/preface.xhtml", "text/titlepage.xhtml", "text/epilogue.xhtml"),
    ]
    assert [name[5:-6] for name in in_order(names)] == [
        *("titlepage", "preface", "introduction", "chapter-2", "chapter-10"),
        *("epilogue", "appendix-1", "endnotes", "colophon"),
    ]
    listed = ["text/chapter-10.xhtml", "text/appendix-1.xhtml", "text/chapter-2.xhtml"]
    assert [name[5:-6] for name in in_order(names, listed)][3:6] == [
        *("chapter-10", "appendix-1", "chapter-2"),
    ]


def test_links_of_contents() -> None:
    toc = '<nav><a href="text/b.xhtml#x">B</a><a href="text/a.xhtml">A</a><a name="y">C</a></nav>'
    assert links_of(toc, "epub/toc.xhtml") == ["epub/text/b.xhtml", "epub/text/a.xhtml"]
    assert links_of('<navPoint><content src="a.html"/></navPoint>', "toc.ncx") == ["a.html"]


LINKS = "".join(f'<p><a href="c{n}.xhtml">Chapter {n}</a></p>' for n in range(6))
RIGHTS = "Copyright © 2003 by Ann. All rights reserved. ISBN 1-234. Printed in Norway."


@pytest.mark.parametrize(
    ("name", "markup", "text", "role", "kind"),
    [
        ("imprint.xhtml", "", "x", "", "imprint"),
        ("a/Copyright_Page.html", "", "x", "", "imprint"),
        ("p1.xhtml", "", "x", "cover", "cover"),
        ("p1.xhtml", '<body epub:type="frontmatter"><section epub:type="imprint">', "x", "",
         "imprint"),
        ("p1.xhtml", '<body><nav epub:type="toc">', "x", "", "contents"),
        ("p1.xhtml", "", RIGHTS, "", "imprint"),
        ("p1.xhtml", "", RIGHTS + "word " * 2000, "", ""),
        ("p1.xhtml", LINKS, "\n".join(f"Chapter {n}" for n in range(6)), "", "contents"),
        ("p1.xhtml", LINKS, "\n".join(f"Chapter {n}" for n in range(6)) + "word " * 100, "", ""),
        ("titlepage.xhtml", '<section epub:type="titlepage">', "A Book", "title-page", ""),
        ("c-1.xhtml", '<body epub:type="bodymatter">', "All rights reserved, he said.", "", ""),
        ("coverdale.xhtml", "", "x", "text", ""),
    ],
)  # fmt: skip
def test_boilerplate(name: str, markup: str, text: str, role: str, kind: str) -> None:
    assert boilerplate(name, markup, text, role) == kind


def test_notes() -> None:
    assert is_notes("text/endnotes.xhtml", "")
    assert is_notes("b7.xhtml", '<section epub:type="footnotes">')
    assert not is_notes("notebook.xhtml", '<section epub:type="chapter">')
