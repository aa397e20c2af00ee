from __future__ import annotations

import io
import tracemalloc

import pytest

from barrow.corpus.readers.wikipedia.export import Page, Site, export_pages
from barrow.corpus.text.xml.events import BadXml


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
