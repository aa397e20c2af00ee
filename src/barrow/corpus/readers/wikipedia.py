"""Wikipedia: a MediaWiki export, the XML of a dump, one document per page.

Plain, or packed with bzip2 (multistream, too), gzip, xz or zstandard. As in The Pile, the text is
the title, a blank line, and the page as one would read it: `barrow.corpus.text.wikitext` tells what
becomes of the markup. Of several revisions the newest counts. Redirects, pages outside the
namespace of articles, disambiguation pages, and pages that are not wikitext are dropped.

Licence: Wikipedia is CC BY-SA 4.0, which ``licence`` says where the file names a Wikipedia as its
source; whoever passes the text on has to name the authors, to whom ``url`` leads. Other wikis have
other licences, and the export does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal
from urllib.parse import quote

from barrow.archive import Document
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.language.codes import language_of_tag
from barrow.corpus.readers.reader import EXCERPT, Item, Reader, Reject, excerpt
from barrow.corpus.text.whitespace import tidy
from barrow.corpus.text.wikitext import DROPPED_SECTIONS, WikiStyle, wikitext_to_text
from barrow.corpus.text.xml.events import BadXml, End, Start, Text, xml_events

_MAX_PAGE = 1 << 23  # MediaWiki itself allows 2 MiB
_SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_REDIRECT = re.compile(r"\s*+#\s*+(?:redirect|redirection|weiterleitung)\s*+:?\s*+\[\[", re.I)
_DISAMBIGUATION = re.compile(
    r"\{\{\s*+(?:(?:[a-z]{1,20} ){0,2}+disambig|(?:dab|hndis|geodis|schooldis|hospitaldis)\s*+[|}]"
    r"|mil-unit-dis|begriffskl\u00e4rung|homonymie|desambig|disambigua|doorverwijspagina"
    r"|ujednoznacznienie|\u043d\u0435\u043e\u0434\u043d\u043e\u0437\u043d\u0430\u0447"
    r"|\u043f\u043e\u044f\u0441\u043d\u0435\u043d\u0438\u0435)",
    re.IGNORECASE,
)
_DISAMBIGUATION_TITLE = re.compile(r"\((?:disambiguation|begriffskl\u00e4rung|homonymie)\)\Z", re.I)
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


@dataclass(frozen=True)
class Wikipedia(Reader):
    """Wikipedia XML dumps: articles as plain text, templates, references and links resolved.

    `namespaces` are the numbers of those that are read, 0 that of articles. `disambiguation` keeps
    disambiguation pages. `tables` are dropped, or written one row per line; `captions` of files are
    dropped or kept. Sections in `dropped_sections` (lower-case names) are left out. A page of more
    than `max_page` characters is rejected.
    """

    namespaces: tuple[int, ...] = (0,)
    disambiguation: bool = False
    tables: Literal["drop", "rows"] = "drop"
    captions: bool = False
    dropped_sections: tuple[str, ...] = DROPPED_SECTIONS
    max_page: int = _MAX_PAGE

    extractor = "wikipedia/2"
    patterns = tuple(
        f"**/{name}{packed}"
        for name in ("*.xml", "*.xml-p*")
        for packed in ("", ".bz2", ".gz", ".xz", ".zst", ".7z")
        if name + packed != "*.xml-p*"
    )

    def read(self, path: Path) -> Iterator[Item]:
        wanted = frozenset(map(str, self.namespaces))
        site, style = Site(), WikiStyle()
        last = ""
        num_pages = 0
        try:
            _refuse_seven_zip(path)
            with open_unpacked(path) as file:
                for found in export_pages(file, max_text=self.max_page):
                    if isinstance(found, Site):
                        site = found
                        style = WikiStyle(
                            language=site.language or "en",
                            files=tuple(site.files),
                            categories=tuple(site.categories),
                            captions=self.captions,
                            tables=self.tables == "rows",
                            dropped_sections=frozenset(self.dropped_sections),
                        )
                        continue
                    num_pages += 1
                    last = excerpt(found.id)
                    yield _item(found, site, style, wanted, self.disambiguation)
        except BadXml as error:
            where = f"after page {last}" if last else ""
            yield Reject("bad-xml", f"{error}; what precedes it was read", where)
        except BadArchive as error:
            yield Reject(error.reason, str(error), f"after page {last}" if last else "")
        else:
            if not num_pages:
                yield Reject("no-pages", "XML without a single <page>: not a MediaWiki export")


def _refuse_seven_zip(path: Path) -> None:
    with open_unpacked(path) as file:
        if file.read(len(_SEVEN_ZIP)) == _SEVEN_ZIP:
            raise BadArchive("a 7z archive, which has to be unpacked first", reason="unsupported")


def _item(
    page: Page, site: Site, style: WikiStyle, wanted: Collection[str], disambiguation: bool
) -> Item:
    """The document of a page, or why there is none."""
    title = tidy(" ".join(page.title.split()))
    revision = page.revision
    source = revision.text if revision else None

    def reject(reason: str, cause: str) -> Reject:
        return Reject(
            reason, cause, excerpt(page.id), excerpt(f"{title}\n\n{(source or '')[:EXCERPT]}")
        )

    # Old exports do not number namespaces, and hold articles only.
    if (page.namespace or "0") not in wanted:
        return reject("other-namespace", f"in namespace {page.namespace[:20]}")
    if page.is_redirect or (source and _REDIRECT.match(source)):
        return reject("redirect", "a redirect")
    if revision and revision.is_too_large:
        return reject("too-large", "the page has more text than is allowed")
    if not source or revision is None:
        return reject("no-text", "the page is empty, or its text was deleted")
    if revision.model not in ("wikitext", ""):
        return reject("not-wikitext", f"the page is {revision.model[:40]}")
    if not disambiguation and (
        _DISAMBIGUATION_TITLE.search(title)
        or "__DISAMBIG__" in source
        or _DISAMBIGUATION.search(source)
    ):
        return reject("disambiguation", "a disambiguation page")
    body = wikitext_to_text(source, style)
    if not body:
        return reject("no-text", "nothing to read is left of the page")
    meta = {
        "title": title,
        "url": _url(site.base, page.title),
        "date": revision.timestamp if _TIMESTAMP.fullmatch(revision.timestamp) else "",
        "language": site.language,
        "licence": "CC-BY-SA-4.0" if site.is_wikipedia else "",
        "member": excerpt(page.id),
        "revision": excerpt(revision.id),
    }
    text = f"{title}\n\n{body}" if title else body
    return Document(text, {key: value for key, value in meta.items() if value})


def _url(base: str, title: str) -> str:
    """The page's address, which differs from that of the main page in its last part."""
    folder, slash, _ = base.rpartition("/")
    if not title or not slash or not base.startswith(("https://", "http://")) or "?" in base:
        return ""
    name = title.replace(" ", "_").encode("utf-8", "replace")
    return f"{folder}/{quote(name, safe=chr(39) + '/:@$!*(),;~')}"


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
