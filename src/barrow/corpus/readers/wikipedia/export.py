"""The XML that MediaWiki exports: what it says of the wiki, and page after page of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from barrow.corpus.language.codes import language_of_tag
from barrow.corpus.text.xml.events import End, Start, Text, xml_events

# Of a title, a number or an address; MediaWiki's titles have 255 bytes.
_MAX_FIELD = 2_000
_FILES, _CATEGORIES = ("6", "-2"), ("14",)
_WIKI = re.compile(r"([a-z]{2,3})wiki")
_HOST = re.compile(r"https?://([^/?#]+)/")
# The simple elements that are read, by their parent's name and their own.
_SITE = {("siteinfo", "dbname"): "name", ("siteinfo", "base"): "base"}
_PAGE = {("page", "title"): "title", ("page", "ns"): "namespace", ("page", "id"): "id"}
_REVISION = {("revision", name): name for name in ("id", "timestamp", "model", "text")}
_READ = frozenset([*_SITE, *_PAGE, *_REVISION, ("namespaces", "namespace")])


@dataclass
class Site:
    """A wiki. `files` and `categories` are the names of these namespaces, in lower case."""

    name: str = ""
    base: str = ""
    tag: str = ""
    files: list[str] = field(default_factory=lambda: ["file", "image", "media"])
    categories: list[str] = field(default_factory=lambda: ["category"])

    @property
    def language(self) -> str:
        """The code of its language; empty if nothing tells it."""
        wiki = "en" if self.name == "simplewiki" else _WIKI.fullmatch(self.name)
        of_name = wiki if isinstance(wiki, str) else language_of_tag(wiki[1]) if wiki else ""
        return language_of_tag(self.tag) or of_name

    @property
    def is_wikipedia(self) -> bool:
        """Whether it is one of the Wikipedias."""
        host = _HOST.match(self.base)
        return host is not None and f".{host[1].lower()}".endswith(".wikipedia.org")


@dataclass
class Revision:
    """A state of a page; its text is None if there is more of it than is allowed, or none."""

    id: str = ""
    timestamp: str = ""
    model: str = ""
    text: str | None = None
    is_too_large: bool = False


@dataclass
class Page:
    """A page with its newest revision, which is the last one of those of the same time."""

    title: str = ""
    namespace: str = ""
    id: str = ""
    is_redirect: bool = False
    revision: Revision | None = None


def export_pages(file: BinaryIO, *, max_text: int) -> Iterator[Site | Page]:
    """The wiki, before the first page, and the pages in the order of the file.

    Raises `BadXml` at the first thing wrong, after the pages before it; the page with the error
    is not among them.
    """
    names = ["", ""]
    site: Site | None = Site()
    page, revision = Page(), Revision()
    key = ""
    pieces: list[str] | None = None  # of the element being read, if it is one of those wanted
    size = limit = 0
    for event in xml_events(file):
        if isinstance(event, Text):
            if pieces is not None:
                size += len(event.data)
                if size <= limit:
                    pieces.append(event.data)
        elif isinstance(event, Start):
            name = event.name
            place = (names[-1], name)
            names.append(name)
            pieces, size = ([] if place in _READ else None), 0
            limit = max_text if name == "text" else _MAX_FIELD
            if name == "page":
                if site is not None:
                    yield site
                    site = None
                page = Page()
            elif name == "revision":
                revision = Revision()
            elif place == ("page", "redirect"):
                page.is_redirect = True
            elif name == "namespace":
                key = event.attributes.get("key", "")
            elif name == "mediawiki" and site is not None:
                site.tag = event.attributes.get("xml:lang", "")
        elif isinstance(event, End):
            names.pop()
            place = (names[-1], event.name)
            if pieces is not None:
                _set(site, page, revision, place, key, "".join(pieces) if size <= limit else None)
                pieces = None
            elif place == ("page", "revision"):
                held = page.revision
                if held is None or revision.timestamp >= held.timestamp:
                    page.revision = revision
            elif event.name == "page":
                yield page
                page = Page()


def _set(
    site: Site | None,
    page: Page,
    revision: Revision,
    place: tuple[str, str],
    key: str,
    value: str | None,
) -> None:
    """Store the text of an element; None if it is longer than allowed."""
    if place == ("revision", "text"):
        revision.text = value
        revision.is_too_large = value is None
    elif value is None:
        pass
    elif place in _PAGE:
        setattr(page, _PAGE[place], value.strip())
    elif place in _REVISION:
        setattr(revision, _REVISION[place], value.strip())
    elif site is not None and place in _SITE:
        setattr(site, _SITE[place], value.strip())
    elif site is not None and value.strip():
        if key in _FILES:
            site.files.append(value.strip().lower())
        elif key in _CATEGORIES:
            site.categories.append(value.strip().lower())
