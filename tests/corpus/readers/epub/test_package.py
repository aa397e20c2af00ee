from __future__ import annotations

import pytest

from barrow.corpus.readers.epub.package import is_encrypted, package_place, parse_package, resolved

OPF = """<?xml version="1.0"?>
<!DOCTYPE package PUBLIC "+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN" "http://x/oeb.dtd">
<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="x" unique-identifier="u">
<metadata><dc:title>A <i>Book</i></dc:title><dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator>
<dc:language>en-GB</dc:language><meta property="x">y</meta><dc:rights/></metadata>
<manifest><item id="a" href="text/a%20b.xhtml"/><item id="b" href="../b.xhtml"/>
<item id="n" href="nav.xhtml" properties="nav scripted"/></manifest>
<spine toc="ncx"><itemref idref="b"/><itemref idref="a" linear="no"/><itemref idref="gone"/>
<itemref idref="b"/></spine>
<guide><reference type="cover" href="cover.xhtml#top"/></guide></package>"""


def test_a_package() -> None:
    package = parse_package(OPF.encode(), "OEBPS/content.opf")
    assert package.metadata["creator"] == ["Ann", "Bob"]
    assert (package.first("title"), package.first("language")) == ("A Book", "en-GB")
    assert (package.first("rights"), package.first("publisher")) == ("", "")
    assert package.spine == ["b.xhtml", "OEBPS/text/a b.xhtml"]
    assert package.not_linear == {"OEBPS/text/a b.xhtml"}
    assert package.roles == {"OEBPS/nav.xhtml": "nav", "OEBPS/cover.xhtml": "cover"}


def test_the_old_form_of_metadata() -> None:
    old = OPF.replace("<metadata>", "<metadata><dc-metadata>").replace(
        "</metadata>", "</dc-metadata></metadata>"
    )
    assert parse_package(old.encode(), "x.opf").first("title") == "A Book"


@pytest.mark.parametrize("cut", [0, 100, 400, 700])
def test_what_can_be_read_of_it(cut: int) -> None:
    parse_package(OPF.encode()[:cut], "x.opf")
    bomb = b'<!DOCTYPE p [<!ENTITY a "b">]><package><metadata>&a;</metadata></package>'
    assert parse_package(bomb, "x.opf").spine == []
    assert parse_package(b"\xff\xfe\0\xd8", "x.opf").spine == []


def test_container_and_links() -> None:
    container = b'<container><rootfiles><rootfile full-path="a%20b/c.opf"/></rootfiles></container>'
    assert package_place(container) == "a b/c.opf"
    assert package_place(b"") == ""
    assert resolved("OEBPS/text", "../a.xhtml#x") == "OEBPS/a.xhtml"
    assert resolved("", "/a.xhtml") == "a.xhtml"
    assert resolved("", "../../a.xhtml") == "../../a.xhtml"


def test_encryption() -> None:
    def listing(algorithm: str) -> bytes:
        method = f'<e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherReference URI="a"/>'
        return f"<encryption><e:EncryptedData>{method}</e:EncryptedData></encryption>".encode()

    assert is_encrypted(listing("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))
    assert not is_encrypted(listing("http://www.idpf.org/2008/embedding"))
    assert not is_encrypted(listing("http://ns.adobe.com/pdf/enc#RC"))
    assert not is_encrypted(b"<encryption/>")
