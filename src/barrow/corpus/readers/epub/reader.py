"""Books: EPUB 2 and 3, zipped pages, and folders of XHTML or HTML. A book is a document.

Files come in the order of the package's spine; without a package in that of a table of contents, or
else in natural order (chapter 2 before chapter 10) with front matter first and back matter last.
Kept are title page, front matter, chapters with their headings, notes; a break between scenes is
``* * *``, a block quote is indented, marks of notes are in brackets. Left out, each as a reject
``boilerplate``, are covers, tables of contents, half titles, imprints and copyright pages, licences
and colophons, recognised by the package, the page's markup, the file's name, or their words; so is
Project Gutenberg's licence. What the spine marks as not linear is left out but for notes. Text that
was decoded wrongly before (``â€™``) is repaired. Protected books are rejected.

`meta` has ``title``, ``author``, ``language``, ``date``, ``identifier``, ``publisher``, ``rights``,
``licence`` where the rights name one that is known, and ``chapters``, the number of files.

Licence: that of each book. Most books are not free; the user must have the right to use them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw, shown
from barrow.corpus.input.unpack import BadArchive, members
from barrow.corpus.language.codes import language_of_tag
from barrow.corpus.readers.epub.package import Package, is_encrypted, package_place, parse_package
from barrow.corpus.readers.epub.parts import boilerplate, in_order, is_notes, links_of, plain_stem
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.html.printed import printed_text
from barrow.corpus.text.mojibake import repair_controls, repair_mojibake
from barrow.corpus.text.whitespace import is_binary, tidy
from barrow.corpus.text.xml.repair import declared_encoding

_PAGES = (".xhtml", ".html", ".htm", ".xml")
_OTHERS = (".opf", ".ncx")
_BOOK_FOLDERS = frozenset(("text", "epub", "oebps", "ops", "src", "xhtml", "html", "content"))
_CONTENTS = frozenset(("toc", "nav", "contents", "tableofcontents", "index"))
_LANGUAGE = re.compile(r"<html\b[^<>]*?\b(?:xml:)?lang\s*+=\s*+[\"']([\w-]{2,20})", re.IGNORECASE)
_HEADING = re.compile(r"<h1\b[^<>]*+>((?:[^<]++|<(?!/h1))*+)", re.IGNORECASE)
_AUTHOR = re.compile(r"epub:type=\"[^\"]*?z3998:author[^\"]*+\"[^<>]*+>([^<>]{1,200})<")
_DATE = re.compile(r"-?\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d-])")
_START = re.compile(r"^\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG.*$", re.MULTILINE)
_END = re.compile(r"^\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG", re.MULTILINE)
_CREATIVE_COMMONS = re.compile(
    r"creativecommons\.org/(?:licenses/([a-z-]{2,8})/([1-4]\.\d)|publicdomain/zero/(1\.0))"
    r"|\bCC (BY(?:-(?:NC|ND|SA)){0,2}) ([1-4]\.\d)"
)


# About how much memory reading a page takes for a byte; for a tag, a line, and what may have to be
# repaired; and at most in all, as in a build. Called by itself, a reader has no other limit.
_OF_BYTE, _OF_SIGNS = 20, {b"<": 180, b"\n": 50, b"\xc3": 200}
_MOST_MEMORY = 400_000_000


@dataclass
class _Book:
    """The pages of a book and its other files by name, and rejects."""

    files: dict[str, bytes] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def add(self, name: str, data: bytes) -> None:
        """Take a file in, unless reading it would take too much memory."""
        memory = sum(cost * data.count(sign) for sign, cost in _OF_SIGNS.items())
        memory += _OF_BYTE * len(data)
        if memory > _MOST_MEMORY:
            cause = f"it takes about {memory >> 20:,} MiB of memory to read"
            self.rejects.append(Reject("too-large", cause, name))
        else:
            self.files[name] = data


@dataclass(frozen=True)
class Epub(Reader):
    """EPUB books and zipped pages: chapters in reading order, without covers and licence pages.

    Reasons: those of `unpack` and `load_raw`; ``boilerplate``, ``not-linear``, ``not-in-spine``,
    ``missing-file``, ``encrypted``, ``no-text``, ``unknown-encoding``, ``not-text``. `max_bytes`
    bounds all pages of a book together. A page whose tags and lines would take more memory than a
    build allows is ``too-large`` too.
    """

    max_bytes: int = 1 << 26

    extractor = "epub/2"
    patterns = (
        *("**/*.epub", "**/*.zip", "**/*.xhtml", "**/*.html", "**/*.htm"),
        *("**/*.opf", "**/*.ncx"),
    )

    def read(self, path: Path) -> Iterator[Item]:
        if path.suffix.lower() in (".epub", ".zip"):
            book = _unpacked(path, self.max_bytes)
            if book.files:
                yield from _items(book)
            else:
                yield from book.rejects or [Reject("no-text", "there is no page in it")]
        else:
            yield from self.read_group([path])

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        """The book whose pages, and perhaps package and table of contents, these files are."""
        root = os.path.commonpath([path.parent for path in paths])
        book = _Book()
        left = self.max_bytes
        for path in sorted(paths, key=os.fsencode):
            name = shown(os.path.relpath(path, root))
            data = load_raw(path, max_bytes=left)
            if isinstance(data, Reject):
                member = name if len(paths) > 1 else ""
                book.rejects.append(Reject(data.reason, data.cause, member, data.excerpt))
            else:
                book.add(name, data)
                left -= len(data)
        yield from _items(book) if book.files else book.rejects

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Pages by the folder of their book, which may have them in ``OEBPS/text`` or the like."""
        groups: dict[Path, list[Path]] = {}
        for path in paths:
            folder = path if path.suffix.lower() in (".epub", ".zip") else path.parent
            while folder is not path and folder.name.lower() in _BOOK_FOLDERS:
                folder = folder.parent
            groups.setdefault(folder, []).append(path)
        return [tuple(sorted(group, key=os.fsencode)) for group in groups.values()]


def _unpacked(path: Path, max_bytes: int) -> _Book:
    """The files of a zip that may be text; pictures and fonts are passed over."""
    book = _Book()
    left = max_bytes
    try:
        for member in members(path):
            if isinstance(member, Reject):
                book.rejects.append(member)
            elif not member.name.lower().endswith((*_PAGES, *_OTHERS)):
                book.unread.add(member.name)
            elif member.size > left:
                cause = f"the pages are more than {max_bytes:,} bytes"
                book.rejects.append(Reject("too-large", cause, member.name))
            else:
                try:
                    book.add(member.name, member.read())
                    left -= member.size
                except BadArchive as error:
                    book.rejects.append(error.as_reject(member.name))
    except BadArchive as error:
        book.rejects.append(error.as_reject())
    return book


def _items(book: _Book) -> Iterator[Item]:
    """The document of a book, then the rejects."""
    encryption = book.files.pop("META-INF/encryption.xml", b"")
    if encryption and is_encrypted(encryption):
        yield Reject("encrypted", "the book is protected")
        return
    package = _package(book)
    names = _reading_order(book, package)
    texts: list[str] = []
    notes: list[str] = []
    facts: dict[str, str] = {}
    for name in names:
        page = _decoded(name, book.files[name])
        if isinstance(page, Reject):
            book.rejects.append(page)
            continue
        _learn(facts, name, page)
        text = tidy(_repaired(printed_text(page, scene_breaks=True))).strip("\n")
        is_apart = name in package.not_linear
        if kind := boilerplate(name, page, text, package.roles.get(name, "")):
            book.rejects.append(Reject("boilerplate", kind, name, excerpt(text)))
        elif is_apart and not is_notes(name, page):
            cause = "the spine marks it as not linear"
            book.rejects.append(Reject("not-linear", cause, name, excerpt(text)))
        elif text:
            (notes if is_apart else texts).append(text)
    text = _without_licence("\n\n".join(texts + notes))
    if text:
        yield Document(text, _meta(package, facts, len(texts) + len(notes)))
    elif not book.rejects:
        yield Reject("no-text", "the pages have no text")
    yield from book.rejects


def _package(book: _Book) -> Package:
    """The package that the container names, or the only one."""
    place = package_place(book.files.pop("META-INF/container.xml", b""))
    if place not in book.files:
        place = next((name for name in sorted(book.files) if name.lower().endswith(".opf")), "")
    return parse_package(book.files[place], place) if place else Package()


def _reading_order(book: _Book, package: Package) -> list[str]:
    """The pages of a book in their order; those the spine leaves out, or misses, are rejects."""
    pages = [
        name
        for name in sorted(book.files)
        if name.lower().endswith(_PAGES) and not name.startswith("META-INF/")
    ]
    spine = _found(package.spine, pages)
    if not any(spine.values()):
        listed = [link for name in book.files for link in _listed(book, name)]
        return in_order(pages, listed)
    for name in spine:
        if spine[name] is None and name not in book.unread:
            book.rejects.append(
                Reject("missing-file", "listed in the spine, but not in the book", name)
            )
    names = [page for page in spine.values() if page is not None]
    for name in pages:
        if name not in names:
            page = excerpt(book.files[name])
            book.rejects.append(Reject("not-in-spine", "not listed in the spine", name, page))
    return names


def _found(spine: list[str], pages: list[str]) -> dict[str, str | None]:
    """The page for each name of the spine, whose letter case may differ."""
    spelt = {page.lower(): page for page in reversed(pages)}
    known = set(pages)
    return {name: name if name in known else spelt.get(name.lower()) for name in spine}


def _listed(book: _Book, name: str) -> list[str]:
    if plain_stem(name) not in _CONTENTS:
        return []
    page = _decoded(name, book.files[name])
    return [] if isinstance(page, Reject) else links_of(page, name)


def _decoded(name: str, data: bytes) -> str | Reject:
    found = decode(data, declared_encoding(data))
    if found is None:
        return Reject("unknown-encoding", "unknown encoding", name, excerpt(data))
    if is_binary(found[0]):
        return Reject("not-text", "mostly control characters", name, excerpt(data))
    return found[0]


def _learn(facts: dict[str, str], name: str, page: str) -> None:
    """Read the book's language from its pages, and title and author from the title page."""
    if language := _LANGUAGE.search(page[:2000]):
        facts.setdefault("language", language[1])
    if plain_stem(name) in ("titlepage", "title"):
        if heading := _HEADING.search(page):
            facts.setdefault("title", _line(printed_text(heading[1])))
        if author := _AUTHOR.search(page):
            facts.setdefault("author", _line(printed_text(author[1])))


def _meta(package: Package, facts: dict[str, str], num: int) -> dict[str, str | int]:
    date = _DATE.match(package.first("date"))
    rights = package.first("rights")
    values: dict[str, str | int] = {
        "title": _line(package.first("title")) or facts.get("title", ""),
        "author": _line("; ".join(package.metadata.get("creator", [])[:20]))
        or facts.get("author", ""),
        "language": language_of_tag(package.first("language") or facts.get("language", "")),
        "date": date[0] if date else "",
        "identifier": _line(package.first("identifier")),
        "publisher": _line(package.first("publisher")),
        "rights": _line(rights),
        "licence": _licence(rights),
        "chapters": num,
    }
    return {key: value for key, value in values.items() if value}


def _licence(rights: str) -> str:
    """The SPDX name of a Creative Commons licence named in the rights."""
    found = _CREATIVE_COMMONS.search(rights)
    if found is None:
        return ""
    if found[3]:
        return "CC0-1.0"
    return f"CC-{(found[1] or found[4]).upper()}-{found[2] or found[5]}"


def _without_licence(text: str) -> str:
    """The text between the lines where Project Gutenberg's book begins and ends."""
    if (start := _START.search(text)) and start.start() < len(text) // 2:
        text = text[start.end() :]
    if (end := _END.search(text)) and (end.start() > len(text) // 2 or end.start() > 10_000):
        text = text[: end.start()]
    return text.strip("\n")


def _line(value: str) -> str:
    return " ".join(tidy(_repaired(value[:2000])).split())[:500]


def _repaired(text: str) -> str:
    return repair_controls(repair_mojibake(text)[0])[0]
